"""Which consumer groups suffer when a partition has no leader: those that read it, and those whose coordinator it is.

And which rebalances stand on the loss of a coordinator, so that the outage behind them can name them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from models.causes import RootCause
from models.rows import Rebalance

OFFSETS_TOPIC = "__consumer_offsets"

READER_EVENTS = frozenset({"ClientSubscribed", "ClientAssigned", "ClientJoinSent", "JoinGroupCompleted", "ModernSubscriptionChanged"})
"""Events of groups that name topics which the group reads."""

FOLLOWING = frozenset({RootCause.COORDINATOR_FAILOVER.value, RootCause.BROKER_OUTAGE.value})
"""Root causes of rebalances that follow from the loss of a coordinator."""


@dataclass(frozen=True, order=True, slots=True)
class Following:
    """A rebalance behind which the loss of a coordinator stands. `started_at` is in microseconds."""

    started_at: int
    group: str
    rebalance_id: str


@dataclass(slots=True)
class Readers:
    """Groups of one cluster, by what they need: each with the first time (microseconds) at which a line says so."""

    by_topic: dict[str, dict[str, int]] = field(default_factory=dict)
    by_offsets_partition: dict[int, dict[str, int]] = field(default_factory=dict)
    following: set[Following] = field(default_factory=set)

    def note(self, group: str, fields: Mapping[str, object], at: int) -> None:
        """Take what one of READER_EVENTS says."""
        for topic in topics_in(fields):
            self.note_topic(group, topic, at)

    def note_topic(self, group: str, topic: str, at: int) -> None:
        """A line says that the group reads the topic. Lines come in any order: the first one counts."""
        _note_first(self.by_topic.setdefault(topic, {}), group, at)

    def note_home(self, group: str, partition: int, at: int) -> None:
        """A coordinator's line names the offsets partition that holds the group."""
        _note_first(self.by_offsets_partition.setdefault(partition, {}), group, at)

    def note_rebalances(self, rebalances: Iterable[Rebalance]) -> None:
        """Take the rebalances that the loss of a coordinator stands behind."""
        for row in rebalances:
            started_at = row.started_at if row.started_at is not None else row.joined_at
            if row.root_cause in FOLLOWING and started_at is not None:
                self.following.add(Following(started_at, row.group, row.rebalance_id))

    def of(self, topic: str, partition: int, until: int | None = None) -> list[str]:
        """Groups that stand still while a partition has no leader: all, or those of which that was known by a time."""
        known = self.by_offsets_partition.get(partition) if topic == OFFSETS_TOPIC else self.by_topic.get(topic)
        return sorted(group for group, at in (known or {}).items() if until is None or at <= until)


def topics_in(fields: Mapping[str, object]) -> Iterator[str]:
    """Topics that one of READER_EVENTS names, by themselves or with the number of a partition behind the last dash."""
    yield from _names(fields.get("topics"))
    for name in _names(fields.get("partitions")):
        topic, dash, number = name.rpartition("-")
        if dash and number.isdecimal():
            yield topic


def _note_first(groups: dict[str, int], group: str, at: int) -> None:
    groups[group] = min(at, groups.get(group, at))


def _names(value: object) -> Iterable[str]:
    return (item for item in value if isinstance(item, str)) if isinstance(value, (list, tuple)) else ()
