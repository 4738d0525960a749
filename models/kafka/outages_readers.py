"""Which consumer groups suffer when a partition has no leader: those that read it, and those whose coordinator it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

OFFSETS_TOPIC = "__consumer_offsets"

READER_EVENTS = frozenset({"ClientSubscribed", "ClientAssigned", "JoinGroupCompleted"})
"""Events of groups that name topics which the group reads."""


@dataclass(slots=True)
class Readers:
    """Groups of one cluster, by what they need."""

    by_topic: dict[str, set[str]] = field(default_factory=dict)
    by_offsets_partition: dict[int, set[str]] = field(default_factory=dict)

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

    def of(self, topic: str, partition: int) -> list[str]:
        """Groups that stand still while a partition has no leader."""
        known = self.by_offsets_partition.get(partition) if topic == OFFSETS_TOPIC else self.by_topic.get(topic)
        return sorted(known or ())


def _names(value: object) -> Iterable[str]:
    return (item for item in value if isinstance(item, str)) if isinstance(value, (list, tuple)) else ()
