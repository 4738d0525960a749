"""Periods of time, and how much of each the logs cover."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from dashboards.view.row_access import column
from dashboards.wording.units import MICROSECONDS, Clock

_STEPS = ("hour", "day", "week")


@dataclass(frozen=True, slots=True)
class Period:
    """A period; the end does not belong to it."""

    name: str
    begin: int
    end: int


def periods(begin: int, end: int, step: str, clock: Clock) -> list[Period]:
    """Hours, days or weeks that contain an interval.

    They are those of the clock's zone; weeks begin on Monday.
    """
    at = clock.at(begin).replace(minute=0, second=0, microsecond=0)
    if step != "hour":
        at = at.replace(hour=0)
    if step == "week":
        at -= timedelta(days=at.weekday())
    lengths = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
    spans = []
    while _micros(at) <= end:
        after = at + lengths[step]
        spans.append(Period(f"{at:%Y-%m-%d %H:%M}" if step == "hour" else f"{at:%Y-%m-%d}", _micros(at), _micros(after)))
        at = after
    return spans


def between(begin: int, end: int, cuts: Iterable[int], clock: Clock) -> list[Period]:
    """Periods between cuts, such as releases."""
    edges = [begin, *sorted(cut for cut in set(cuts) if begin < cut <= end), end + 1]
    return [Period(clock.stamp(first).partition(".")[0], first, last) for first, last in pairwise(edges)]


def cover_of(files: Iterable[Any]) -> dict[str, list[tuple[int, int]]]:
    """Stretches that recognised files cover, by cluster, merged."""
    stretches: dict[str, list[tuple[int, int]]] = {}
    for row in files:
        first, last = column(row, "first_at"), column(row, "last_at")
        if column(row, "recognised") and first is not None and last is not None:
            stretches.setdefault(column(row, "cluster") or "", []).append((first, last))
    return {cluster: _merged(spans) for cluster, spans in stretches.items()}


def covered_seconds(stretches: Sequence[tuple[int, int]], begin: int, end: int) -> float:
    """Seconds of a period that the stretches cover."""
    return sum(max(0, min(last, end) - max(first, begin)) for first, last in stretches) / MICROSECONDS


def _merged(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(stretches):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def _micros(at: datetime) -> int:
    return round(at.timestamp()) * MICROSECONDS
