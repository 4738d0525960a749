"""Consumer groups affected by a partition without a leader.

They read the partition, or their coordinator is on it. Also lists rebalances caused by a lost coordinator, so that the
outage can refer to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from models.causes import RootCause
from models.kafka.partitions.event_fields import OFFSETS_TOPIC
from models.rows import Rebalance

READER_EVENTS = frozenset({"ClientSubscribed", "ClientAssigned", "ClientJoinSent", "JoinGroupCompleted", "ModernSubscriptionChanged"})
"""Events of groups with topics that the group reads."""

FOLLOWING = frozenset({RootCause.COORDINATOR_FAILOVER.value, RootCause.BROKER_OUTAGE.value})
"""Root causes of rebalances that follow from a lost coordinator."""


@dataclass(frozen=True, order=True, slots=True)
class RebalanceAfterOutage:
    """A rebalance caused by a lost coordinator.

    `started_at` is in microseconds.
    """

    started_at: int
    group: str
    rebalance_id: str


@dataclass(slots=True)
class Readers:
    """Groups of one cluster by topic and by offsets partition.

    Each group has the first time, in microseconds, at which a line shows it.
    """

    by_topic: dict[str, dict[str, int]] = field(default_factory=dict)
    by_offsets_partition: dict[int, dict[str, int]] = field(default_factory=dict)
    following: set[RebalanceAfterOutage] = field(default_factory=set)

    def note(self, group: str, fields: Mapping[str, object], at: int) -> None:
        """Record topics from one of READER_EVENTS."""
        for topic in topics_in(fields):
            self.note_topic(group, topic, at)

    def note_topic(self, group: str, topic: str, at: int) -> None:
        """Record that a group reads a topic; the earliest time counts."""
        _note_first(self.by_topic.setdefault(topic, {}), group, at)

    def note_home(self, group: str, partition: int, at: int) -> None:
        """Record the offsets partition of a group."""
        _note_first(self.by_offsets_partition.setdefault(partition, {}), group, at)

    def note_rebalances(self, rebalances: Iterable[Rebalance]) -> None:
        """Record the rebalances caused by a lost coordinator."""
        for row in rebalances:
            started_at = row.started_at if row.started_at is not None else row.joined_at
            if row.root_cause in FOLLOWING and started_at is not None:
                self.following.add(RebalanceAfterOutage(started_at, row.group, row.rebalance_id))

    def take(self, other: Readers) -> None:
        """Record what another record of the cluster holds."""
        for topic, groups in other.by_topic.items():
            for group, at in groups.items():
                self.note_topic(group, topic, at)
        for home, groups in other.by_offsets_partition.items():
            for group, at in groups.items():
                self.note_home(group, home, at)
        self.following |= other.following

    def blocked_groups(self, topic: str, partition: int, until: int | None = None) -> list[str]:
        """Groups blocked while a partition has no leader.

        With `until`, only those known by that time.
        """
        known = self.by_offsets_partition.get(partition) if topic == OFFSETS_TOPIC else self.by_topic.get(topic)
        return sorted(group for group, at in (known or {}).items() if until is None or at <= until)


def topics_in(fields: Mapping[str, object]) -> Iterator[str]:
    """Topics named in one of READER_EVENTS.

    Names of partitions such as `topic-3` count as well.
    """
    yield from _names(fields.get("topics"))
    for name in _names(fields.get("partitions")):
        topic, dash, number = name.rpartition("-")
        if dash and number.isdecimal():
            yield topic


def _note_first(groups: dict[str, int], group: str, at: int) -> None:
    groups[group] = min(at, groups.get(group, at))


def _names(value: object) -> Iterable[str]:
    return (item for item in value if isinstance(item, str)) if isinstance(value, (list, tuple)) else ()
