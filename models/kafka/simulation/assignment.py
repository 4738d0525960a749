"""Client-side assignors of classic groups: range and cooperative-sticky."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from models.kafka.coordinator.consumer.assignors import Subscriber, Subscription, uniform_target
from models.kafka.coordinator.consumer.topic_partitions import PartitionSet, flat
from models.kafka.coordinator.protocol.embedded_consumer import Partition, owned_of

Wanted = Mapping[str, Collection[str]]
OwnedPartitions = Mapping[str, PartitionSet]


@lru_cache(maxsize=4096)
def owned_partitions(metadata: bytes) -> PartitionSet:
    """Partitions that a subscription says are owned, which most repeat."""
    return flat(owned_of(metadata))


def range_assignment(members: Sequence[str], wanted: Wanted, topics: Mapping[str, int]) -> dict[str, list[Partition]]:
    """Consecutive partitions of each topic by member (RangeAssignor).

    Members are in the given order.
    """
    made: dict[str, list[Partition]] = {member: [] for member in members}
    for topic in sorted(topics):
        takers = [member for member in members if topic in wanted[member]]
        start = 0
        for index, member in enumerate(takers):
            size, larger = divmod(topics[topic], len(takers))
            end = start + size + (index < larger)
            made[member].extend((topic, number) for number in range(start, end))
            start = end
    return made


def cooperative_sticky_assignment(wanted: Wanted, topics: Mapping[str, int], owned: OwnedPartitions) -> dict[str, list[Partition]]:
    """Balanced shares with as little movement as possible (CooperativeStickyAssignor).

    A partition that another member still owns is left out; it is assigned in the next rebalance, after its owner has
    revoked it.
    """
    subscribers = {member: Subscriber(frozenset(topics_wanted), target=owned[member]) for member, topics_wanted in wanted.items()}
    balanced = uniform_target(Subscription("", 0, "uniform", subscribers, topics))
    owners = {partition: member for member in wanted for partition in owned[member]}
    return {
        member: sorted(partition for partition in share if owners.get(partition, member) == member) for member, share in balanced.items()
    }
