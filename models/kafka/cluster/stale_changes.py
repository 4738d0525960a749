"""Changes of in-sync replicas that ZooKeeper refused to a broker with an outdated state."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from models.events import Event


@dataclass(slots=True)
class StaleChanges:
    """First and last refused change of each partition, by broker.

    A broker asks anew every few seconds, so all lines would be too many.
    """

    by_broker: defaultdict[str, dict[tuple[str, int], tuple[Event, Event]]] = field(default_factory=lambda: defaultdict(dict))

    def learn(self, event: Event) -> None:
        """Take a refusal, in any order."""
        partitions = self.by_broker[event.node or ""]
        key = (event.topic or "", event.partition or 0)
        lines = (*partitions.get(key, ()), event)
        partitions[key] = (min(lines, key=_order), max(lines, key=_order))


def _order(event: Event) -> tuple[int, str, int]:
    return event.time_us, event.place.file, event.place.byte_offset
