"""Sets of partitions and their representation in requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

TopicPartition = tuple[str, int]
PartitionSet = frozenset[TopicPartition]

NO_PARTITIONS: PartitionSet = frozenset()


def flat(by_topic: Mapping[str, Iterable[int]]) -> PartitionSet:
    """Flatten partition numbers by topic into one set."""
    return frozenset((topic, number) for topic, numbers in by_topic.items() for number in numbers)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partition numbers by topic, both sorted."""
    listed: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        listed.setdefault(topic, []).append(number)
    return listed
