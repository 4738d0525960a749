"""Sets of time ranges with lookup by bisection."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from models.units import FOREVER, US_PER_SECOND

TimeRange = tuple[int, int | None]


class Spans:
    """Disjoint time ranges in order; overlapping input is joined.

    An end of None means open.
    """

    def __init__(self, spans: Iterable[TimeRange]) -> None:
        self._lows: list[int] = []
        self._highs: list[int] = []
        for low, high in sorted((low, FOREVER if high is None else high) for low, high in spans):
            if self._highs and low <= self._highs[-1]:
                self._highs[-1] = max(self._highs[-1], high)
            else:
                self._lows.append(low)
                self._highs.append(high)

    def touching(self, begin: int, end: int) -> tuple[int, int]:
        """The interval extended by all ranges that it touches."""
        index = bisect_left(self._highs, begin)
        while index < len(self._lows) and self._lows[index] <= end:
            begin, end = min(begin, self._lows[index]), max(end, self._highs[index])
            index += 1
        return begin, end

    def seconds(self, begin: int, end: int) -> float:
        """Seconds of an interval that the ranges cover."""
        total = 0
        index = bisect_left(self._highs, begin)
        while index < len(self._lows) and self._lows[index] < end:
            total += min(self._highs[index], end) - max(self._lows[index], begin)
            index += 1
        return total / US_PER_SECOND

    def overlaps(self, begin: int, end: int) -> bool:
        """Whether the ranges cover any part of an interval."""
        index = bisect_left(self._highs, begin + 1)
        return index < len(self._lows) and self._lows[index] < end
