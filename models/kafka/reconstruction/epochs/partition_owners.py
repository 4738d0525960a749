"""Owners of a group's partitions, by members' logs or requests.

Each look-up and change costs as much as the partitions that it names, however many others are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

PARTITIONS_MAX = 200_000
"""Partitions whose owners are remembered; beyond it the oldest go."""

TOPICS_MAX = 10_000
"""Topics whose size is remembered; beyond it the oldest go."""

DIGITS_MAX = 9
"""Digits of a partition's number, an int32."""


@dataclass(slots=True)
class OwnedNumbers:
    """Count of a topic's owned partitions, and the sum of their numbers."""

    count: int = 0
    sum: int = 0

    @property
    def are_all(self) -> bool:
        """Whether none below the highest is missing.

        No other set of as many numbers has so small a sum.
        """
        return self.sum == self.count * (self.count - 1) // 2


@dataclass(slots=True)
class PartitionOwners:
    """Owners by partition, and partitions by owner."""

    owners: dict[str, str] = field(default_factory=dict)
    partitions: dict[str, dict[str, None]] = field(default_factory=dict)
    numbers: dict[str, OwnedNumbers] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    """Last partitions of topics that members had as a whole."""

    def owner(self, partition: str) -> str | None:
        """The member that has a partition."""
        return self.owners.get(partition)

    def take(self, owner: str, partitions: Iterable[str]) -> None:
        """Give partitions to a member."""
        taken = tuple(partitions)
        for partition in taken:
            self._change(partition, owner)
        while len(self.owners) > PARTITIONS_MAX:
            self._remove(next(iter(self.owners)))
        self._measure(taken)

    def give(self, partitions: Iterable[str]) -> None:
        """Leave partitions without an owner."""
        for partition in partitions:
            self._remove(partition)

    def leave(self, owner: str) -> None:
        """Leave all partitions of a member without an owner."""
        self.give(tuple(self.partitions.get(owner, ())))

    def rename(self, owner: str, name: str) -> None:
        """Give a member's partitions to another name of it."""
        for partition in tuple(self.partitions.get(owner, ())):
            self._change(partition, name)

    def is_new(self, partition: str) -> bool:
        """Whether it stands behind all that its topic was known to have."""
        topic, number = _numbered(partition)
        return number is not None and number > self.last.get(topic, number)

    def _change(self, partition: str, owner: str) -> None:
        former = self.owners.get(partition)
        if former is None:
            self._count(partition, 1)
        elif former != owner:
            self._drop(former, partition)
        self.owners[partition] = owner
        self.partitions.setdefault(owner, {})[partition] = None

    def _remove(self, partition: str) -> None:
        owner = self.owners.pop(partition, None)
        if owner is not None:
            self._drop(owner, partition)
            self._count(partition, -1)

    def _drop(self, owner: str, partition: str) -> None:
        del self.partitions[owner][partition]
        if not self.partitions[owner]:
            del self.partitions[owner]

    def _count(self, partition: str, change: int) -> None:
        topic, number = _numbered(partition)
        if number is None:
            return
        numbers = self.numbers.setdefault(topic, OwnedNumbers())
        numbers.count += change
        numbers.sum += change * number
        if not numbers.count:
            del self.numbers[topic]

    def _measure(self, taken: Iterable[str]) -> None:
        """Learn which topics members have as a whole."""
        for topic in {topic for topic, number in map(_numbered, taken) if number is not None and number > self.last.get(topic, -1)}:
            numbers = self.numbers.get(topic)
            if numbers is not None and numbers.are_all:
                self.last[topic] = numbers.count - 1
            elif numbers is not None:
                self.last.pop(topic, None)  # others may have those between
        while len(self.last) > TOPICS_MAX:
            del self.last[next(iter(self.last))]


def _numbered(partition: str) -> tuple[str, int | None]:
    """Topic and number of a partition."""
    topic, _, number = partition.rpartition("-")
    return topic, int(number) if number.isdecimal() and len(number) <= DIGITS_MAX else None
