"""Which consumer groups suffer when a partition has no leader: those that read it, and those whose coordinator it is.

And which rebalances stand on the loss of a coordinator, so that the outage behind them can name them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    """Groups of one cluster, by what they need."""

    by_topic: dict[str, set[str]] = field(default_factory=dict)
    by_offsets_partition: dict[int, set[str]] = field(default_factory=dict)
    following: set[Following] = field(default_factory=set)

    def note(self, group: str, fields: Mapping[str, object]) -> None:
        """Take what one of READER_EVENTS says."""
        for name in _names(fields.get("topics")):
            self.by_topic.setdefault(name, set()).add(group)
        for name in _names(fields.get("partitions")):
            topic, dash, number = name.rpartition("-")
            if dash and number.isdecimal():
                self.by_topic.setdefault(topic, set()).add(group)

    def note_home(self, group: str, partition: int) -> None:
        """A coordinator's line names the offsets partition that holds the group."""
        self.by_offsets_partition.setdefault(partition, set()).add(group)

    def note_rebalances(self, rebalances: Iterable[Rebalance]) -> None:
        """Take the rebalances that the loss of a coordinator stands behind."""
        for row in rebalances:
            started_at = row.started_at if row.started_at is not None else row.joined_at
            if row.root_cause in FOLLOWING and started_at is not None:
                self.following.add(Following(started_at, row.group, row.rebalance_id))

    def of(self, topic: str, partition: int) -> list[str]:
        """Groups that stand still while a partition has no leader."""
        known = self.by_offsets_partition.get(partition) if topic == OFFSETS_TOPIC else self.by_topic.get(topic)
        return sorted(known or ())


def _names(value: object) -> Iterable[str]:
    return (item for item in value if isinstance(item, str)) if isinstance(value, (list, tuple)) else ()
