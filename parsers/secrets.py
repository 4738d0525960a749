"""Masks credentials in what is kept of records, before anything is stored: brokers hide theirs, but programs around them don't.

Every pattern is RE2's (`pyarrow.compute`), so that its time is linear whatever a log holds. What is masked are values
behind names of credentials, passwords in URLs, and forms that are credentials by themselves.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

MASK = "[masked]"
_NAME = (
    r"(?:pass(?:word|wd|phrase)|secret(?:[._-]?(?:access[._-]?)?key)?|(?:api|access|private)[._-]?key"
    r"|(?:auth|access|refresh|bearer)[._-]?token)"
)
_BEHIND = r"""(?i)(""" + _NAME + r"""["']?\s*[=:]\s*)"""

# Kafka's own `[hidden]` and `null` are kept: values begin with neither a bracket nor `n`, but for one that goes on otherwise.
_BARE = r"""(?:[^\s"'\\,;&(){}\[\]n][^\s"'\\,;&(){}\[\]]*|n[^\s"'\\,;&(){}\[\]u][^\s"'\\,;&(){}\[\]]*)"""
PATTERNS: tuple[tuple[str, str], ...] = (
    (_BEHIND + r'"[^"\\\n]*"', r'\1"' + MASK + '"'),
    (_BEHIND + r'\\"[^"\\\n]*\\"', r"\1\\" + '"' + MASK + r"\\" + '"'),
    (_BEHIND + r"'[^'\\\n]*'", r"\1'" + MASK + "'"),
    (_BEHIND + _BARE, r"\1" + MASK),
    (r"(?i)(authorization[\"']?\s*[=:]\s*[\"']?(?:basic|bearer|digest)\s+)[^\s\"'\\,;]+", r"\1" + MASK),
    (r"(://[^/\s:@\"]*:)[^/\s@\"]+@", r"\1" + MASK + "@"),
    (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", MASK),
    (r"\bgh[pousr]_[0-9A-Za-z]{30,}", MASK),
    (r"\bxox[abprs]-[0-9A-Za-z-]{10,}", MASK),
    (r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}", MASK),
    (r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)(?:[^-]|\n)*", r"\1" + MASK),
)
_ANY = "|".join(f"(?:{pattern})" for pattern, _ in PATTERNS)
_COLUMNS = ("text", "template", "fields")


def masked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with credentials masked in the columns that hold what a log says."""
    for name in _COLUMNS:
        place = batch.schema.get_field_index(name)
        if place >= 0 and batch.num_rows:
            column = batch.column(place)
            if pc.any(pc.match_substring_regex(column, _ANY)).as_py():
                batch = batch.set_column(place, batch.schema.field(place), _masked(column))
    return batch


def mask(text: str) -> str:
    """One text with credentials masked."""
    told: str = _masked(pa.array([text], pa.string()))[0].as_py()
    return told


def _masked(column: pa.Array) -> pa.Array:
    for pattern, replacement in PATTERNS:
        column = pc.replace_substring_regex(column, pattern, replacement)
    return column
