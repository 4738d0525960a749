"""Times of rows, whatever the clocks did that they were read from."""

from __future__ import annotations

from itertools import accumulate

from models.units import US_PER_SECOND


def seconds(start: int | None, end: int | None) -> float | None:
    """Seconds between two times in microseconds; None where one is unknown. Never negative: witnesses may disagree by a few ms."""
    return None if start is None or end is None else max(0.0, (end - start) / US_PER_SECOND)


def first_known(*times: int | None) -> int:
    """The first of these times that is known; 0 where none is."""
    for at in times:
        if at is not None:
            return at
    return 0


def in_order(*times: int | None) -> list[int | None]:
    """Times of steps that follow each other, none before an earlier one: a clock may be set back between their lines, by NTP or at the
    end of summer time, and lines of two brokers have two clocks. Steps of which no time is known stay without one."""
    latest = accumulate((at for at in times if at is not None), max)
    return [at if at is None else next(latest) for at in times]
