"""Time in which groups stand still during rebalances, and for whom.

Members keep working while partitions move with the newer protocols (KIP-848) and under a cooperative assignor
(KIP-429).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from models.causes import RootCause
from models.rows import ROCKETMQ
from models.tolerances import float_tolerance
from models.units import US_PER_SECOND

if TYPE_CHECKING:
    from models.rows import Rebalance

NAMELESS = "a member that no line names"
"""Stands for such members among the names of others."""

SHORTEST_SECONDS = float_tolerance("incidents.shortest_seconds")
"""Downtimes shorter than this count as none."""

P = TypeVar("P")
"""Person."""
N = TypeVar("N", bound=Hashable)
"""Name of a person."""

PROTOCOLS_WITHOUT_STOP = frozenset({"consumer", "share", "streams"})

COOPERATIVE_PROTOCOLS = frozenset({"compatible", "sessioned", "stream"})
"""Cooperative protocols whose names don't say so.

Connect's since 2.3 (KIP-415, KIP-507), Kafka Streams' since 2.4 (KIP-429).
"""


def is_cooperative(assignor: str | None) -> bool:
    """Whether an assignor lets members keep their partitions during a rebalance."""
    return assignor in COOPERATIVE_PROTOCOLS or "cooperative" in (assignor or "")


def goes_on(row: Rebalance) -> bool:
    """Whether members kept working during a rebalance."""
    return row.protocol in PROTOCOLS_WITHOUT_STOP or is_cooperative(row.assignor)


def stopped_seconds(row: Rebalance) -> float:
    """Seconds that the group stood still, without the expected initial delay.

    0 if the group became empty, because nobody was left to wait. Clients of RocketMQ never wait for each other: there only a queue
    without an owner stops.
    """
    if row.pause_seconds is not None or row.system == ROCKETMQ:
        return row.pause_seconds or 0.0
    lasted = row.duration_seconds if row.duration_seconds is not None else row.at_least_seconds
    if lasted is None or row.outcome == "empty" or goes_on(row):
        return 0.0
    return max(0.0, lasted - expected_delay(row.initial_delay_seconds, row.root_cause))


def expected_delay(initial_delay_seconds: float | None, root_cause: str | None) -> float:
    """Seconds of a rebalance that the initial delay explains; they stop nobody.

    None where a pause of the coordinator emptied the group: its members were at work until then.
    """
    return 0.0 if root_cause == RootCause.COORDINATOR_PAUSE else initial_delay_seconds or 0.0


class RebalanceWait(Protocol):
    """A rebalance with its wait, as a row or on a page."""

    @property
    def cluster(self) -> str:
        """Cluster of the group."""

    @property
    def group(self) -> str:
        """Group that waits."""

    @property
    def protocol(self) -> str:
        """Protocol of the group."""

    @property
    def outcome(self) -> str:
        """Outcome of the rebalance."""

    @property
    def started_at(self) -> int | None:
        """Start."""

    @property
    def joined_at(self) -> int | None:
        """End of the join phase in microseconds."""

    @property
    def join_seconds(self) -> float | None:
        """Length of the join phase."""

    @property
    def reconcile_seconds(self) -> float | None:
        """Time until all members had their target, with the newer protocols."""

    @property
    def duration_seconds(self) -> float | None:
        """Its length, if it ended."""

    @property
    def at_least_seconds(self) -> float | None:
        """Its length up to the end of the logs."""

    @property
    def blockers(self) -> Sequence[Any]:
        """Members that others waited for."""


@dataclass(frozen=True, slots=True)
class Wait(Generic[N]):
    """A stretch in which a group waited, with parts by name.

    Times are microseconds.
    """

    begin: int
    end: int
    parts: Mapping[N, float]


def waited_seconds(item: RebalanceWait) -> float:
    """Seconds that ready members waited for the blockers, 0 without any."""
    if not item.blockers:
        return 0.0
    lasted = (item.duration_seconds if item.duration_seconds is not None else item.at_least_seconds) or 0.0
    if item.outcome == "open" or (item.outcome == "superseded" and item.joined_at is not None):
        return lasted
    waited = item.join_seconds if item.reconcile_seconds is None else item.reconcile_seconds
    if waited is None:
        return lasted
    return lasted - waited if item.reconcile_seconds is None and is_assignment_awaited(waited, lasted - waited) else waited


SLOW_ASSIGNMENT_SECONDS = float_tolerance("downtime.slow_assignment_seconds")
"""Shortest wait for an assignment that is longer than leaders need."""


def is_assignment_awaited(join_seconds: float, sync_seconds: float) -> bool:
    """Whether members waited for the assignment, not for one to rejoin."""
    return sync_seconds >= max(SLOW_ASSIGNMENT_SECONDS, join_seconds)


def waiting_parts(people: Sequence[P], named: Callable[[P], N]) -> dict[N, float]:
    """Part of a wait by name, in the order of people.

    The parts add up to 1.
    """
    return {name: count / len(people) for name, count in Counter(map(named, people)).items()}


@dataclass(slots=True)
class Waits(Generic[N]):
    """Waits of groups, added one by one.

    All members that may have been waited for have equal parts. If rebalances overlap, an instant is divided among the members that
    are waited for then. So the seconds of all members of a group add up to the time that it waited.
    """

    booked: defaultdict[N, float] = field(default_factory=lambda: defaultdict(float))
    """Microseconds by name."""
    kept: defaultdict[tuple[str, str], list[Wait[N]]] = field(default_factory=lambda: defaultdict(list))
    """Waits that others may overlap, by cluster and group.

    Rebalances of a classic group follow one another.
    """

    def add(self, item: RebalanceWait, named: Callable[[Any], N]) -> None:
        """Add the wait of a rebalance for its blockers."""
        begin = item.started_at if item.started_at is not None else item.joined_at
        length = round(waited_seconds(item) * US_PER_SECOND)
        by_name = waiting_parts(item.blockers, named)
        if begin is not None and item.protocol in PROTOCOLS_WITHOUT_STOP and by_name:
            self.kept[item.cluster, item.group].append(Wait(begin, begin + length, by_name))
            return
        for name, part in by_name.items():
            self.booked[name] += part * length

    def seconds(self) -> dict[N, float]:
        """Seconds by name."""
        seconds = defaultdict(float, self.booked)
        for waits in self.kept.values():
            for name, micros in shared_out(waits).items():
                seconds[name] += micros
        return {name: micros / US_PER_SECOND for name, micros in seconds.items()}


def shared_out(waits: Sequence[Wait[N]]) -> dict[N, float]:
    """Microseconds by name, of one group's waits.

    An instant of several waits is divided by the parts that names have in them, for each name the largest. Waits of no length give
    their names none.
    """
    steps = [(at, change, number) for number, wait in enumerate(waits) for at, change in ((wait.begin, 1), (wait.end, -1))]
    shares = {name: 0.0 for wait in waits for name in wait.parts}
    active: Counter[int] = Counter()
    before = 0
    for at, change, number in sorted(steps):
        present: dict[N, float] = {}
        for other in +active if at > before else ():
            for name, part in waits[other].parts.items():
                present[name] = max(part, present.get(name, 0.0))
        total = sum(present.values())
        for name, part in present.items():
            shares[name] += (at - before) * part / total
        active[number] += change
        before = at
    return shares
