"""Initialisation of share partitions, which precedes their assignment.

The first heartbeat of a subscriber asks the share coordinator to initialise a topic's partitions. Only what it has
initialised is assigned, so a new share group has two epochs at least. Source: 4.1 to 4.4, subscribedTopicsChangeMap,
addInitializingTopicsRecords, initializeShareGroupState, uninitializeShareGroupState.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

Numbers = set[int]


@dataclass(slots=True)
class SharePartitions:
    """Partitions of a share group that are initialised or about to be.

    Each change dates them all anew, as the record that holds them is written as a whole.
    """

    initializing: dict[str, Numbers] = field(default_factory=dict)
    initialized: dict[str, Numbers] = field(default_factory=dict)
    nameless: set[str] = field(default_factory=set)
    """Topics that had been deleted when their initialisation finished; nothing waits for these."""
    changed_ms: int = 0

    def wanted(self, topics: Collection[str], counts: Mapping[str, int], now_ms: int, retry_ms: int) -> dict[str, Numbers]:
        """Partitions to initialise: never asked for, or asked for too long ago."""
        is_fresh = now_ms - self.changed_ms < retry_ms
        numbers_by_topic: dict[str, Numbers] = {}
        for topic in topics:
            if topic not in counts:
                continue
            known = self.initialized.get(topic, set()) | (self.initializing.get(topic, set()) if is_fresh else set())
            if len(known) < counts[topic]:
                numbers_by_topic[topic] = set(range(counts[topic])) - known
        return numbers_by_topic

    def ask(self, numbers_by_topic: Mapping[str, Numbers], now_ms: int) -> None:
        """Note that partitions are being initialised."""
        for topic, numbers in numbers_by_topic.items():
            self.initializing[topic] = self.initializing.get(topic, set()) | numbers
        self._changed(now_ms)

    def finish(self, done: Mapping[str, Collection[int]], topics: Collection[str], now_ms: int) -> None:
        """Note that partitions have been initialised; `topics` are those that exist."""
        for topic, numbers in done.items():
            (self.nameless.discard if topic in topics else self.nameless.add)(topic)
            self.initialized[topic] = self.initialized.get(topic, set()) | set(numbers)
            self._drop(topic, numbers)
        self._changed(now_ms)

    def give_up(self, failed: Mapping[str, Collection[int]], now_ms: int) -> None:
        """Note that an initialisation failed; a later heartbeat asks again."""
        if not self.initializing or not failed:
            return
        for topic, numbers in failed.items():
            self._drop(topic, numbers)
        self._changed(now_ms)

    def forget(self, topic: str, now_ms: int) -> None:
        """Forget a deleted topic (maybeCleanupShareGroupState)."""
        if topic in self.initializing or topic in self.initialized:
            self.initializing.pop(topic, None)
            self.initialized.pop(topic, None)
            self.nameless.discard(topic)
            self._changed(now_ms)

    def _drop(self, topic: str, numbers: Collection[int]) -> None:
        left = self.initializing.get(topic, set()) - set(numbers)
        if left:
            self.initializing[topic] = left
        else:
            self.initializing.pop(topic, None)

    def _changed(self, now_ms: int) -> None:
        self.changed_ms = now_ms
