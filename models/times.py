"""Times of rows, robust against clock errors."""

from __future__ import annotations

from itertools import accumulate

from models.tolerances import int_tolerance
from models.units import US_PER_SECOND

WITNESSES_US = int_tolerance("times.witnesses_us")
"""Tolerance between the times of two witnesses of one moment."""


def seconds(start: int | None, end: int | None) -> float | None:
    """Seconds between two times in microseconds, None if one is unknown.

    Never negative, because witnesses may differ by a few ms.
    """
    return None if start is None or end is None else max(0.0, (end - start) / US_PER_SECOND)


def first_known(*times: int | None) -> int:
    """The first known time, 0 if none is known."""
    for at in times:
        if at is not None:
            return at
    return 0


def raised_in_order(*times: int | None) -> list[int | None]:
    """Raise times of consecutive steps so that none precedes an earlier one.

    A clock may be set back between two lines, by NTP or at the end of summer time, and lines of two brokers have two
    clocks. Unknown times stay unknown.
    """
    latest = accumulate((at for at in times if at is not None), max)
    return [at if at is None else next(latest) for at in times]


def begin_of(start: int | None, end: int | None) -> int | None:
    """The start of an interval, None if its length is unknown.

    It is if a clock was set back meanwhile. Witnesses may differ by a few ms.
    """
    return None if start is not None and end is not None and end < start - WITNESSES_US else start
