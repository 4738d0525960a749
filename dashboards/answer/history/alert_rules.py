"""Alert rules: more than 3 rebalances an hour, slower than last week."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import median
from typing import TYPE_CHECKING

from dashboards.wording.durations import duration
from dashboards.wording.units import MICROSECONDS, counted

if TYPE_CHECKING:
    from dashboards.view.answer import Rebalance  # each start of the command line parses rules, and seldom applies them

COMPARED_MIN = 3
"""Minimum number of rebalances on each side of a comparison."""

MEASURES = ("rebalances", "unexpected", "stopped", "duration")


@dataclass(frozen=True, slots=True)
class AlertRule:
    """A limit for each group whose name matches.

    `limit` is a count, or seconds for `stopped`, within each stretch of `span_seconds`. For `duration` it is a factor:
    the median of the last stretch is compared with that of the one before it.
    """

    text: str
    groups: str
    measure: str
    limit: float
    span_seconds: float


@dataclass(frozen=True, slots=True)
class Breach:
    """A stretch in which a group was above a limit.

    It began with its first rebalance. `ended_at` is None if it goes on when the logs end.
    """

    rule: AlertRule
    cluster: str
    system: str
    group: str
    started_at: int
    ended_at: int | None
    value: float

    @property
    def headline(self) -> str:
        """The exceeded limit, as a sentence."""
        span = duration(self.rule.span_seconds)
        if self.rule.measure == "duration":
            slower = f"the median rebalance took {self.value:.1f} times as long in the last {span} as in those before"
            return f"{self.group}: {slower}, more than {self.rule.limit:g} times"
        if self.rule.measure == "stopped":
            return f"{self.group}: {duration(self.value)} stopped within {span}, more than {duration(self.rule.limit)}"
        kind = "unexpected rebalance" if self.rule.measure == "unexpected" else "rebalance"
        return f"{self.group}: {counted(int(self.value), kind)} within {span}, more than {self.rule.limit:g}"


def breaches(rules: Sequence[AlertRule], rebalances: Iterable[Rebalance], logs_end: int | None) -> list[Breach]:
    """Breaches of all rules, by time."""
    by_group: defaultdict[tuple[str, str, str], list[Rebalance]] = defaultdict(list)
    for item in rebalances:
        if item.started_at is not None:
            by_group[item.cluster, item.system, item.group].append(item)
    breaches_of_rules: list[Breach] = []
    for key, items in by_group.items():
        items.sort(key=lambda item: (item.started_at or 0, item.id))
        end = max(logs_end or 0, items[-1].started_at or 0)
        for rule in rules:
            if fnmatchcase(key[2], rule.groups):
                breaches_of_rules += _slower(rule, key, items, end) if rule.measure == "duration" else _above(rule, key, items, end)
    return sorted(breaches_of_rules, key=lambda breach: (breach.started_at, breach.cluster, breach.group, breach.rule.text))


def _above(rule: AlertRule, key: tuple[str, str, str], items: Sequence[Rebalance], end: int) -> Iterator[Breach]:
    """Stretches in which the sum of the last `span_seconds` was above the limit.

    Two that share a rebalance are one.
    """
    began = fell_at = 0
    worst = 0.0
    for at, first_at, value in _sums(rule, items):
        if value <= rule.limit:
            fell_at = fell_at or at
            continue
        if fell_at and first_at > fell_at:
            yield from _breach(rule, key, began, fell_at, worst, end)
            worst = 0.0
        began, fell_at, worst = began if worst else first_at, 0, max(worst, value)
    yield from _breach(rule, key, began, fell_at, worst, end)


def _breach(rule: AlertRule, key: tuple[str, str, str], began: int, fell_at: int, worst: float, end: int) -> Iterator[Breach]:
    if worst:
        yield Breach(rule, *key, began, fell_at if fell_at <= end else None, round(worst, 6))


def _sums(rule: AlertRule, items: Sequence[Rebalance]) -> Iterator[tuple[int, int, float]]:
    """Time, start of the first rebalance, and sum of each window.

    There is one whenever a rebalance enters or leaves.
    """
    span, inside = int(rule.span_seconds * MICROSECONDS), deque[tuple[int, float]]()
    starts = [(item.started_at or 0, _share(rule.measure, item)) for item in items]
    for at, share in [*starts, (starts[-1][0] + span + 1, None)]:
        while inside and inside[0][0] + span < at:
            left_at = inside.popleft()[0] + span
            yield left_at, inside[0][0] if inside else left_at, sum(amount for _, amount in inside)
        if share is not None:
            inside.append((at, share))
            yield at, inside[0][0], sum(amount for _, amount in inside)


def _share(measure: str, item: Rebalance) -> float:
    if measure == "stopped":
        return item.stopped_seconds
    return float(measure == "rebalances" or not item.expected)


def _slower(rule: AlertRule, key: tuple[str, str, str], items: Sequence[Rebalance], end: int) -> Iterator[Breach]:
    """The last stretch, if rebalances took longer than in the one before it."""
    span = int(rule.span_seconds * MICROSECONDS)
    now = [item for item in items if end - span <= (item.started_at or 0)]
    before = [item for item in items if end - 2 * span <= (item.started_at or 0) < end - span]
    if min(len(now), len(before)) < COMPARED_MIN:
        return
    usual = median(item.lasted_seconds for item in before)
    ratio = median(item.lasted_seconds for item in now) / usual if usual else 0.0
    if ratio > rule.limit:
        yield Breach(rule, *key, now[0].started_at or 0, None, round(ratio, 6))
