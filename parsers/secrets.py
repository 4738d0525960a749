"""Masks credentials in what is kept of records, before anything is stored: brokers hide theirs, but programs around them don't.

Every pattern is RE2's (`pyarrow.compute`), so that its time is linear whatever a log holds. What is masked are values
behind names of credentials, passwords in URLs, and forms that are credentials by themselves.
"""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
from ahocorasick_rs import BytesAhoCorasick, MatchKind

MASK = "[masked]"
_NAME = (
    r"(?:pass(?:word|wd|phrase)|secret(?:[._-]?(?:access[._-]?)?key)?|(?:access|private)[._-]?key"
    r"|(?:auth|access|refresh|bearer)[._-]?token)"
)
_BEHIND = r"""(?i)(""" + _NAME + r"""["']?\s*[=:]\s*)"""

# Kafka's own `[hidden]` and `null` are kept: values begin with neither a bracket nor `n`, but for one that goes on otherwise.
_BARE = r"""(?:[^\s"'\\,;&(){}\[\]n][^\s"'\\,;&(){}\[\]]*|n[^\s"'\\,;&(){}\[\]u][^\s"'\\,;&(){}\[\]]*)"""
# Kafka's request log calls the kind of a request `apiKey`, a name in capitals or a small number: a key has digits and is longer.
_API_KEY = r"""(?i)(api[._-]?key["']?\s*[=:]\s*\\?["']?)[a-z_-]*[0-9][0-9a-z._~+/=-]{7,}"""
PATTERNS: tuple[tuple[str, str], ...] = (
    (_BEHIND + r'"[^"\\\n]*"', r'\1"' + MASK + '"'),
    (_BEHIND + r'\\"[^"\\\n]*\\"', r"\1\\" + '"' + MASK + r"\\" + '"'),
    (_BEHIND + r"'[^'\\\n]*'", r"\1'" + MASK + "'"),
    (_BEHIND + _BARE, r"\1" + MASK),
    (_API_KEY, r"\1" + MASK),
    (r"(?i)(authorization[\"']?\s*[=:]\s*[\"']?(?:basic|bearer|digest)\s+)[^\s\"'\\,;]+", r"\1" + MASK),
    (r"(://[^/\s:@\"]*:)[^/\s@\"]+@", r"\1" + MASK + "@"),
    (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", MASK),
    (r"\bgh[pousr]_[0-9A-Za-z]{30,}", MASK),
    (r"\bxox[abprs]-[0-9A-Za-z-]{10,}", MASK),
    (r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}", MASK),
    (r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)(?:[^-]|\n)*", r"\1" + MASK),
)
_SIGNS = (
    *("passw", "passp", "passphrase", "secret", "authorization", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "xox", "eyj"),
    *(f"{word}{mark}{noun}" for word, noun in (("access", "key"), ("private", "key"), ("api", "key")) for mark in (".", "-", "_", "")),
    *(f"{word}{mark}token" for word in ("auth", "access", "refresh", "bearer") for mark in (".", "-", "_", "")),
    *("://", "-----begin"),
)
"""Some of these stands, in small letters, in whatever a pattern matches."""

_COLUMNS = ("text", "template", "fields")


def masked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with credentials masked in the columns that hold what a log says."""
    for name in _COLUMNS:
        place = batch.schema.get_field_index(name)
        if place >= 0 and batch.num_rows and _suspicious(batch.column(place)):
            batch = batch.set_column(place, batch.schema.field(place), _masked(batch.column(place)))
    return batch


@cache
def _signs() -> BytesAhoCorasick:
    # Searched for leftmost first, a few words are found many bytes at a time.
    return BytesAhoCorasick([sign.encode() for sign in _SIGNS], matchkind=MatchKind.LeftmostFirst)


def _suspicious(column: pa.Array) -> bool:
    """Whether the patterns, which take much longer, may find anything in these texts."""
    data = column.buffers()[2]
    return data is not None and bool(_signs().find_matches_as_indexes(data.to_pybytes().lower()))


def mask(text: str) -> str:
    """One text with credentials masked."""
    told: str = _masked(pa.array([text], pa.string()))[0].as_py()
    return told


def _masked(column: pa.Array) -> pa.Array:
    for pattern, replacement in PATTERNS:
        column = pc.replace_substring_regex(column, pattern, replacement)
    return column
