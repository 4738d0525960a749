"""Exit codes and their precedence.

Each command decides its own code; `decisive` picks one of several.
"""

from __future__ import annotations

from collections.abc import Iterable

GOOD = 0
FINDINGS = 1
USAGE = 2
NOTHING_READABLE = 3
SOME_REJECTED = 4
QUALITY_GATE_FAILED = 5
WAREHOUSE_BUSY = 6
OUR_BUG = 70
CANNOT_WRITE = 74
INTERRUPTED = 130

PRECEDENCE = (OUR_BUG, INTERRUPTED, USAGE, CANNOT_WRITE, WAREHOUSE_BUSY, NOTHING_READABLE, QUALITY_GATE_FAILED, FINDINGS, SOME_REJECTED)


def decisive(codes: Iterable[int]) -> int:
    """The exit code that takes precedence."""
    given = set(codes)
    return next((code for code in PRECEDENCE if code in given), GOOD)
