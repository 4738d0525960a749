"""The server-side assignor of share groups.

Source: 4.3, SimpleAssignor.java with its builders for equal and for different subscriptions. Partitions are shared
out evenly; if there are more members than partitions, each partition goes to several. Members keep what they have
as far as that allows. Kafka chooses among several valid targets by hash order; this code chooses by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from models.kafka.coordinator.consumer.topic_partitions import NO_PARTITIONS, PartitionSet, TopicPartition


@dataclass(frozen=True, slots=True)
class Sharing:
    """Input of the assignor: topics and former targets of members, partitions to share out.

    `is_uniform`: all members name the same topics, whether those exist or not.
    """

    group: str
    epoch: int
    members: Mapping[str, AbstractSet[str]]
    former: Mapping[str, PartitionSet]
    partitions: PartitionSet
    is_uniform: bool = True


ChooseShares = Callable[[Sharing], Mapping[str, PartitionSet]]
"""Assigns a target to each member; members without an entry get none."""


def choose_shares(sharing: Sharing) -> Mapping[str, PartitionSet]:
    """Share out all topics at once, or topic by topic if subscriptions differ.

    Topic by topic, what nobody subscribes to any longer stays where it was.
    """
    if sharing.is_uniform:
        return _shared(sorted(sharing.members), sharing.partitions, sharing.former)
    wanted = {topic for topics in sharing.members.values() for topic in topics}
    targets = {
        member: {partition for partition in sharing.former.get(member, NO_PARTITIONS) if partition[0] not in wanted}
        for member in sharing.members
    }
    for topic in sorted(wanted):
        takers = [member for member in sorted(sharing.members) if topic in sharing.members[member]]
        of_topic = frozenset(partition for partition in sharing.partitions if partition[0] == topic)
        for member, target in _shared(takers, of_topic, sharing.former).items():
            targets[member] |= target
    return {member: frozenset(target) for member, target in targets.items()}


def shares(members: int, partitions: int) -> tuple[int, list[int]]:
    """Number of members of each partition, and of partitions of each member."""
    if not members or not partitions:
        return 0, [0] * members
    sharing = -(-members // partitions)
    total = sharing * partitions
    bounds = [-(-total * index // members) for index in range(members + 1)]
    return sharing, [after - before for before, after in pairwise(bounds)]


def _shared(takers: list[str], partitions: PartitionSet, former: Mapping[str, PartitionSet]) -> dict[str, PartitionSet]:
    """Give each partition to as many members, and each member about as many."""
    sharing, sizes = shares(len(takers), len(partitions))
    size = dict(zip(takers, sizes, strict=True))
    targets: dict[str, set[TopicPartition]] = {member: set() for member in takers}
    holders = dict.fromkeys(partitions, 0)
    for member in takers:
        for partition in sorted(former.get(member, NO_PARTITIONS) & partitions):
            if len(targets[member]) < size[member] and holders[partition] < sharing:
                targets[member].add(partition)
                holders[partition] += 1
    for partition in sorted(partitions):
        while holders[partition] < sharing:
            open_to = [member for member in takers if partition not in targets[member]]
            taker = min(open_to, key=lambda member: (len(targets[member]) - size[member], member))
            targets[taker].add(partition)
            holders[partition] += 1
    return {member: frozenset(target) for member, target in targets.items()}
