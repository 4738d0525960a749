"""Groups by period: rebalances, stopped time, stability, significant changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dashboards.answer.history.change_points import change_points
from dashboards.answer.history.periods import Period, covered_seconds
from dashboards.view.answer import Rebalance

HOUR = 3600.0
HALVING_STOPPED_SHARE = 0.01
"""Share of stopped time that halves the score.

It is 36 s an hour, what an availability of 99 % leaves."""
HALVING_UNEXPECTED_PER_HOUR = 1.0
"""Unexpected rebalances an hour that halve the score.

One in each hour is what people on call describe as unstable."""


@dataclass(frozen=True, slots=True)
class GroupPeriod:
    """A group in one period.

    `score` is None if the logs do not cover it.
    """

    period: Period
    covered_seconds: float
    rebalances: int
    unexpected: int
    stopped_seconds: float
    member_seconds_stopped: float
    score: int | None

    @property
    def rebalances_per_hour(self) -> float | None:
        """Rebalances per covered hour."""
        return self.rebalances / self.covered_seconds * HOUR if self.covered_seconds else None


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """What makes up a score: 100 times both factors."""

    counted_seconds: float
    """Time covered by logs, at least an hour."""
    stopped_share: float
    unexpected: int
    unexpected_per_hour: float
    stopped_factor: float
    unexpected_factor: float

    @property
    def score(self) -> int:
        """From 0 to 100."""
        return round(100 * self.stopped_factor * self.unexpected_factor)


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A period from which on a group is different."""

    begin: int
    before: float
    """Stopped member-seconds per covered hour before it."""
    after: float
    p_value: float


@dataclass(frozen=True, slots=True)
class GroupTrend:
    """A group over time."""

    cluster: str
    system: str
    group: str
    periods: tuple[GroupPeriod, ...]
    changes: tuple[GroupChange, ...]
    parts: ScoreParts | None

    @property
    def score(self) -> int | None:
        """From 0 to 100; None if no log covers the periods."""
        return None if self.parts is None else self.parts.score


@dataclass(slots=True)
class _Sum:
    rebalances: int = 0
    unexpected: int = 0
    stopped: float = 0.0
    member_seconds: float = 0.0

    def add(self, item: Rebalance) -> None:
        self.rebalances += 1
        self.unexpected += not item.expected
        self.stopped += item.stopped_seconds
        # Where the number of members is unknown, the group counts as one.
        self.member_seconds += item.stopped_seconds if item.member_seconds_stopped is None else item.member_seconds_stopped


@dataclass(slots=True)
class _Group:
    sums: defaultdict[int, _Sum] = field(default_factory=lambda: defaultdict(_Sum))


def stability(stopped_seconds: float, unexpected: int, covered: float) -> int | None:
    """Score from 0 to 100.

    100 / (1 + stopped share / 1 %) / (1 + unexpected rebalances per hour); None if nothing is covered.
    """
    parts = score_parts(stopped_seconds, unexpected, covered)
    return None if parts is None else parts.score


def score_parts(stopped_seconds: float, unexpected: int, covered: float) -> ScoreParts | None:
    """What makes up the score; None if nothing is covered."""
    if covered <= 0:
        return None
    # A stretch shorter than an hour counts as an hour, because its rates would be chance.
    counted = max(covered, HOUR)
    share, per_hour = stopped_seconds / counted, unexpected / counted * HOUR
    factors = 1 / (1 + share / HALVING_STOPPED_SHARE), 1 / (1 + per_hour / HALVING_UNEXPECTED_PER_HOUR)
    return ScoreParts(round(counted, 6), share, unexpected, per_hour, *factors)


def trends(items: Iterable[Rebalance], spans: Sequence[Period], cover: Mapping[str, Sequence[tuple[int, int]]]) -> list[GroupTrend]:
    """Trend of each group, the least stable first."""
    groups: defaultdict[tuple[str, str, str], _Group] = defaultdict(_Group)
    for item in items:
        when = item.started_at if item.started_at is not None else item.ended_at
        place = next((number for number, span in enumerate(spans) if when is not None and span.begin <= when < span.end), None)
        if place is not None:
            groups[item.cluster, item.system, item.group].sums[place].add(item)
    trends_of_groups = [_trend(key, group.sums, spans, cover.get(key[0], ())) for key, group in groups.items()]
    return sorted(trends_of_groups, key=lambda trend: (101 if trend.score is None else trend.score, trend.cluster, trend.group))


def _trend(
    key: tuple[str, str, str], sums: Mapping[int, _Sum], spans: Sequence[Period], stretches: Sequence[tuple[int, int]]
) -> GroupTrend:
    rows = []
    for number, span in enumerate(spans):
        total, covered = sums.get(number) or _Sum(), covered_seconds(stretches, span.begin, span.end)
        score = stability(total.stopped, total.unexpected, covered)
        totals = (total.rebalances, total.unexpected, round(total.stopped, 6), round(total.member_seconds, 6))
        rows.append(GroupPeriod(span, round(covered, 6), *totals, score))
    whole = sum(row.covered_seconds for row in rows)
    parts = score_parts(sum(row.stopped_seconds for row in rows), sum(row.unexpected for row in rows), whole)
    changes = tuple(_changes([row for row in rows if row.covered_seconds]))
    return GroupTrend(*key, tuple(rows), changes, parts)


def _changes(rows: Sequence[GroupPeriod]) -> Iterable[GroupChange]:
    """Changes of the rate of stopped member-seconds between covered periods."""
    rates = [row.member_seconds_stopped / row.covered_seconds * HOUR for row in rows]
    points = change_points(rates)
    edges = [0, *(point.place for point in points), len(rates)]
    for number, point in enumerate(points):
        before, after = rates[edges[number] : point.place], rates[point.place : edges[number + 2]]
        yield GroupChange(rows[point.place].period.begin, sum(before) / len(before), sum(after) / len(after), point.p_value)
