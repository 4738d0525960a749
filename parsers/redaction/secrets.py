"""Mask credentials in records before they are stored.

Brokers mask their own, but programs around them do not. Every pattern is for RE2 (`pyarrow.compute`), so its time is
linear for any log. Masked are values after names of credentials, passwords in URLs, and texts with the form of a
credential.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from ahocorasick_rs import BytesAhoCorasick, MatchKind

from parsers.arrow_arrays import flags, strings
from parsers.formats.lines import Buffer, Flags
from parsers.records.row_builders import canonical_json

MASK = "[masked]"
_KEPT = ("", "null", "[hidden]", MASK)
_NAME = (
    r"(?:pass(?:word|wd|phrase)|\bpwd|secret(?:[._-]?(?:access[._-]?)?key)?|(?:access|private|account)[._-]?key"
    r"|[._-]pass|(?:auth|access|refresh|bearer|session|security)[._-]?token|basic[._-]auth[._-]user[._-]info)"
)
_IS = r"""[ \t]*(?:[=:]|->)[ \t]*"""
_BEHIND = r"""(?i)(""" + _NAME + r"""["']?""" + _IS + ")"
_BEHIND_DOTTED = r"""(?i)(\.""" + _NAME + _IS + ")"
"""Names of settings, as in properties and -D.

Their values extend to the end of the word, with any punctuation.
"""

# Kafka's own `[hidden]` and `null` stay: a value must not begin with a bracket, and must differ from `null` if it
# begins with `n`.
_MARKS = r"""\s"'\\,;&"""
_FIRST = rf"(?:[^{_MARKS}\[n]|n[^{_MARKS}u]|nu[^{_MARKS}l]|nul[^{_MARKS}l]|null[^{_MARKS})}}\]]|\\[^\s\"'])"
_NEXT = rf"(?:[^{_MARKS}]|\\[^\s\"']|'\w)"
_ONLY_N = r"n(?:ul?)?"
# End of a value: the next name, or punctuation at the end of a word. Punctuation within a word belongs to the value.
_OVER = r"""([,;&]+\s*[\w.-]+["']?\s*[=:]|[,;&]*(?:[\s"'\\]|$))"""
_BARE = (_BEHIND + rf"(?:{_FIRST}{_NEXT}*(?:[,;&]+{_NEXT}+)*?|{_ONLY_N}){_OVER}", r"\1" + MASK + r"\2")
_IN_QUOTES = r"""(?:[^"\\\n]|\\.)*"""
# Within JSON, quotes are escaped, and escapes within the value are escaped twice.
_IN_ESCAPED = r"""(?:[^"\\\n]|\\[^"\\]|\\\\(?:\\.|[^"\\]))*"""
# Kafka's request log has `apiKey` for the kind of a request, a name in capitals or a small number. So a key must have
# digits and be longer, and so must all kinds of tokens.
_API_KEY = r"""(?i)((?:api[._-]?key|token)["']?\s*(?:[=:]|->)\s*\\?["']?)[a-z_-]*[0-9][0-9a-z._~+/=-]{7,}"""
# A password may follow its name after a blank, as in messages (`with password X`). So may the rest of a sentence.
_SPOKEN = r"""(?i)(pass(?:word|wd|phrase)["']?[ \t]+["']?)"""
_PROSE = (
    "a an and any are as at authentication based because been being but by callback can cannot change changed check config configuration "
    "could credential credentials did do does empty encoder encoding encryption entry error expired expires failed failure field file for "
    "format from given had handler has hash hashing have if in incorrect into invalid is it length login mechanism may mismatch missing "
    "must needs not null of on only option or policy prompt property protected provided provider required reset rotation rules set setting "
    "should so store supplied than that the then this to type unset until using value verification verifier via was were when which while "
    "will with without would wrong"
)
"""Words that continue a sentence about a password; any other word is masked."""
_PROSE_MARK = "\ue0f7\ue0f8"
"""Temporary mark before such a word."""

PATTERNS: tuple[tuple[str, str], ...] = (
    (_BEHIND + '"' + _IN_QUOTES + '"', r'\1"' + MASK + '"'),
    (_BEHIND + r"""'(?:[^'\\\n]|\\.)*'""", r"\1'" + MASK + "'"),
    (_BEHIND + r'\\"' + _IN_ESCAPED + r'(\\"|)', r"\1\\" + '"' + MASK + r"\2"),
    (_BEHIND + r"""["'][^"',;&}\])\n][^"'\n]*$""", r"\1" + MASK),  # cut before its closing quote
    (_BEHIND_DOTTED + rf"(?:{_FIRST}[^\s\"]*|{_ONLY_N}){_OVER}", r"\1" + MASK + r"\2"),
    _BARE,
    _BARE,  # repeated, because a match includes the name of the next value
    # In brackets, as in lists of headers and answers.
    (_BEHIND + r"\[(?:[^\s\[\]hm]|h[^i]|hi[^d]|m[^a]|ma[^s])[^\s\]]*", r"\1[" + MASK),
    (r"(?i)(<[\w.:-]*" + _NAME + r">)[^\s<\[][^\s<]*", r"\1" + MASK),
    (r"""(?i)(--[\w.-]*""" + _NAME + r"""[ \t]+["']?)[^\s"'\[-][^\s"']*""", r"\1" + MASK),
    (_SPOKEN + rf"((?:{_PROSE.replace(' ', '|')})(?:[\s.,;:!?)\"']|$))", r"\1" + _PROSE_MARK + r"\2"),
    (_SPOKEN + rf"[^\s\"'=:<>(){{}}\[,;{_PROSE_MARK}-][^\s\"',;=]*=*(\.?(?:[\s\"',;]|$))", r"\1" + MASK + r"\2"),
    (_PROSE_MARK, ""),
    (_API_KEY, r"\1" + MASK),
    (
        r"(?i)(authorization[\"']?\s*(?:[=:]|->)\s*[\"'\[]*(?:basic|bearer|digest|negotiate|apikey|token)\s+)[^\s\"'\\,;\]]+",
        r"\1" + MASK,
    ),
    (r"(?i)([?&]sig=|[ ,;?&({]sk=)[^\s\"'\\,;&)}\[][^\s\"'\\,;&)}]*", r"\1" + MASK),
    # Up to the last @ of the word, unless it follows a port.
    (r"(://[^/\s:@\"]*:)(?:[0-9]+@|[0-9]*[^\s\"/@,0-9][^\s\"]*@)", r"\1" + MASK + "@"),
    # Users and passwords in login modules of brokers and ZooKeeper, recognised by the module's name.
    (r"(\buser_[\w.@-]+\s*=\s*\")" + _IN_QUOTES + '"', r"\1" + MASK + '"'),
    (r'(\buser_[\w.@-]+\s*=\s*\\")' + _IN_ESCAPED + r'(\\"|)', r"\1" + MASK + r"\2"),
    (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", MASK),
    (r"\bgh[pousr]_[0-9A-Za-z]{30,}", MASK),
    (r"\bxox[abprs]-[0-9A-Za-z-]{10,}", MASK),
    (r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}", MASK),
    (r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)(?:[^-]|\n)*", r"\1" + MASK),
)
SIGNS = (
    *("passw", "passp", "secret", "authorization", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "xox", "eyj", "token", "pwd"),
    *(f"{word}{mark}key" for word in ("access", "private", "account") for mark in (".", "-", "_", "")),
    *(".pass", "_pass", "-pass", "?sig=", "&sig=", *(f"{mark}sk=" for mark in " ,;?&({")),
    *("loginmodule", "://", "-----begin", "user.info", "user_info", "user-info"),
)
"""Words, in lower case, that occur in matches of the patterns.

Each match has one. There are at most 64 with those of keys. More are searched byte by byte, which takes ten times as long.
"""
KEY_SIGNS = tuple(f"api{mark}key" for mark in (".", "-", "_", ""))
"""Signs of keys, as each JSON line of a request log has."""
_KEY_VALUE = re.compile(rb"""(?i)["']?\s*(?:[=:]|->)\s*\\?["']?[a-z_-]*[0-9][0-9a-z._~+/=-]{7}""")
"""What follows such a name in a match of `_API_KEY`."""
_LOWER = 0x20
"""Bit that small letters have; digits and most marks have it, too."""

_TEXTS, _FIELDS = ("text", "template"), "fields"


def mask_credentials(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Mask credentials in the columns with text from logs."""
    for name, mask_column in (*((name, _masked) for name in _TEXTS), (_FIELDS, _fields_masked)):
        place = batch.schema.get_field_index(name)
        if place < 0 or not batch.num_rows:
            continue
        column = batch.column(place)
        suspicious = _suspicious(column, is_json=name == _FIELDS)
        if suspicious.any():
            rows = flags(suspicious)
            changed = pc.replace_with_mask(column, rows, mask_column(column.filter(rows)))
            batch = batch.set_column(place, batch.schema.field(place), changed)
    return batch


@lru_cache(1)
def _signs() -> BytesAhoCorasick:
    # With leftmost-first matching, a few words are searched many bytes at a time.
    words = [bytes(byte | _LOWER for byte in sign.encode()) for sign in (*SIGNS, *KEY_SIGNS)]
    return BytesAhoCorasick(words, matchkind=MatchKind.LeftmostFirst)


def _suspicious(column: pa.Array, *, is_json: bool) -> Flags:
    """Flag texts in which the much slower patterns may match.

    In JSON the name of a key and its value may be escaped in many ways.
    """
    suspicious = np.zeros(len(column), dtype=bool)
    _, offsets, data = column.buffers()
    hits = _places_of_signs(data) if data is not None and len(column) else []
    if not is_json:
        hits = [hit for hit in hits if hit[0] < len(SIGNS) or _KEY_VALUE.match(memoryview(data), hit[2]) is not None]
    if hits:
        ends = np.frombuffer(offsets, dtype=np.int32)[column.offset + 1 :][: len(column)]
        # A word found across the end of a text may hide one in the next.
        places = np.array([(start, end - 1) for _, start, end in hits], dtype=np.int64).ravel()
        rows = np.searchsorted(ends, places, side="right")
        suspicious[rows[rows < len(column)]] = True
    return suspicious


def _places_of_signs(data: Buffer | pa.Buffer) -> list[tuple[int, int, int]]:
    """Signs with start and end."""
    return _signs().find_matches_as_indexes((np.frombuffer(data, dtype=np.uint8) | np.uint8(_LOWER)).data)


def mask(texts: Sequence[str]) -> list[str]:
    """Mask credentials in texts, each pattern in one pass over all of them.

    A pass compiles its pattern, which takes far longer than one text does.
    """
    masked: list[str] = _masked(strings(texts)).to_pylist()
    return masked


def _masked(column: pa.Array) -> pa.Array:
    for pattern, replacement in PATTERNS:
        column = pc.replace_substring_regex(column, pattern, replacement)
    return column


def _fields_masked(column: pa.Array) -> pa.Array:
    """Mask texts within JSON objects, which stay valid."""
    values = column.to_pylist()
    documents = {value: orjson.loads(value) for value in set(values) if value and _has_sign(value)}
    texts = [text for text in {text for document in documents.values() for text in _texts_of(document)} if _has_sign(text)]
    masked_texts = {text: masked for text, masked in zip(texts, mask(texts), strict=True) if masked != text}
    masked_fields = {value: canonical_json(_with_masks(document, masked_texts)) for value, document in documents.items()}
    return strings([masked_fields.get(value, value) for value in values])


def _has_sign(text: str) -> bool:
    return bool(_places_of_signs(text.encode()))


def _texts_of(value: Any) -> Iterator[str]:
    """Texts of a JSON value, and its names as of settings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts_of(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield _as_setting(name)
            yield from _texts_of(item)


def _as_setting(name: str) -> str:
    """A line in which any value of a credential of this name is masked."""
    return f"{name}=x"


def _with_masks(value: Any, masked_texts: Mapping[str, str]) -> Any:
    """A JSON value with masked texts, and without values of names of credentials."""
    if isinstance(value, str):
        return masked_texts.get(value, value)
    if isinstance(value, list):
        return [_with_masks(item, masked_texts) for item in value]
    if isinstance(value, dict):
        return {
            name: MASK
            if isinstance(item, str) and _as_setting(name) in masked_texts and item not in _KEPT
            else _with_masks(item, masked_texts)
            for name, item in value.items()
        }
    return value
