"""Comparison of two periods or two clusters.

Rebalances are counted one by one, so memory does not grow with the length of the periods.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from conf.causes import cause as cause_entry
from dashboards.answer.rebalance_items import rebalance
from dashboards.answer.totals import by_count
from dashboards.view.answer import Rebalance
from dashboards.view.row_access import AnyRow
from dashboards.wording.units import MICROSECONDS

Pair = tuple[int, int]
Seconds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison.

    Times are microseconds since 1970, None if unknown.
    """

    name: str
    started_at: int | None
    ended_at: int | None

    @property
    def seconds(self) -> float | None:
        """Length of the period, None unless both ends are known."""
        if self.started_at is None or self.ended_at is None:
            return None
        return max(0.0, (self.ended_at - self.started_at) / MICROSECONDS)

    def per_hour(self, number: float) -> float | None:
        """A number per hour of this side."""
        return number * 3600 / self.seconds if self.seconds else None


@dataclass(frozen=True, slots=True)
class CauseComparison:
    """Rebalances of one group with one cause on both sides."""

    system: str
    group: str
    cause: str
    cause_title: str
    is_expected: bool
    counts: Pair
    stopped_seconds: Seconds

    @property
    def weight(self) -> tuple[object, ...]:
        """Sort key: the greatest change first."""
        more_stopped = abs(self.stopped_seconds[1] - self.stopped_seconds[0])
        return (-more_stopped, -abs(self.counts[1] - self.counts[0]), self.group, self.cause)


@dataclass(frozen=True, slots=True)
class Mover:
    """A member that caused trouble on one side only.

    Trouble means unexpected rebalances caused by the member, and rebalances delayed by it.
    """

    system: str
    group: str
    name: str
    caused: int
    blocked: int
    stopped_seconds: float
    causes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class AnalysisComparison:
    """Both sides.

    Changes are sorted by size, members by the downtime of their group.
    """

    sides: tuple[Side, Side]
    rebalances: Pair
    stopped_seconds: Seconds
    changes: tuple[CauseComparison, ...]
    new: tuple[Mover, ...]
    gone: tuple[Mover, ...]

    @property
    def are_alike(self) -> bool:
        """Whether both sides last about equally long.

        Only then may absolute numbers be compared.
        """
        first, second = (side.seconds for side in self.sides)
        return bool(first and second) and max(first or 0, second or 0) <= 1.1 * min(first or 0, second or 0)


@dataclass(slots=True)
class _Trouble:
    caused: int = 0
    blocked: int = 0
    stopped_seconds: float = 0.0
    causes: Counter[str] = field(default_factory=Counter)


def compare(rows: Iterable[AnyRow], sides: tuple[Side, Side], side_of: Callable[[Rebalance], Iterable[int]]) -> AnalysisComparison:
    """Count the rebalances of both sides.

    `side_of` returns the sides (0, 1) that a rebalance belongs to.
    """
    counts: defaultdict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    stopped: defaultdict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    trouble: tuple[dict[tuple[str, str, str], _Trouble], ...] = (defaultdict(_Trouble), defaultdict(_Trouble))
    for row in rows:
        item = rebalance(row)
        for side in side_of(item):
            counts[item.system, item.group, item.cause][side] += 1
            stopped[item.system, item.group, item.cause][side] += item.stopped_seconds
            _charge(trouble[side], item)
    changes = [_change(key, counts[key], stopped[key]) for key in counts]
    return AnalysisComparison(
        sides=sides,
        rebalances=(sum(pair[0] for pair in counts.values()), sum(pair[1] for pair in counts.values())),
        stopped_seconds=(sum(pair[0] for pair in stopped.values()), sum(pair[1] for pair in stopped.values())),
        changes=tuple(sorted(changes, key=lambda change: change.weight)),
        new=_movers(trouble[1], trouble[0]),
        gone=_movers(trouble[0], trouble[1]),
    )


def _charge(members: dict[tuple[str, str, str], _Trouble], item: Rebalance) -> None:
    caused = set() if item.expected else {person.name for person in item.offenders}
    blocked = {person.name for person in item.blockers}
    for name in caused | blocked:
        trouble = members[item.system, item.group, name]
        trouble.caused += name in caused
        trouble.blocked += name in blocked
        trouble.stopped_seconds += item.stopped_seconds
        if name in caused:
            trouble.causes[item.cause] += 1


def _change(key: tuple[str, str, str], counts: list[int], stopped: list[float]) -> CauseComparison:
    system, group, name = key
    entry = cause_entry(system, name)
    pair, seconds = (counts[0], counts[1]), (round(stopped[0], 6), round(stopped[1], 6))
    return CauseComparison(system, group, name, entry.title, entry.expected, pair, seconds)


def _movers(before: dict[tuple[str, str, str], _Trouble], after: dict[tuple[str, str, str], _Trouble]) -> tuple[Mover, ...]:
    movers = [
        Mover(*key, trouble.caused, trouble.blocked, round(trouble.stopped_seconds, 6), by_count(trouble.causes))
        for key, trouble in before.items()
        if key not in after
    ]
    return tuple(sorted(movers, key=lambda mover: (-mover.stopped_seconds, -mover.caused, -mover.blocked, mover.group, mover.name)))
