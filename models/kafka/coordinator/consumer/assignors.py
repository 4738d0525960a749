"""Server-side assignors for consumer groups (KIP-848).

Source: 4.0.0, RangeAssignor.java and Uniform*AssignmentBuilder.java. The result of `range` depends on its input only.
`uniform` promises balance, and that members keep their partitions as far as balance allows. Kafka chooses among several
valid targets by hash order; this code chooses by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from models.kafka.coordinator.consumer.topic_partitions import NO_PARTITIONS, PartitionSet, TopicPartition


@dataclass(slots=True)
class Subscriber:
    """A member as seen by an assignor.

    `target` is its previous target.
    """

    topics: AbstractSet[str]
    instance: str | None = None
    target: PartitionSet = NO_PARTITIONS


@dataclass(slots=True)
class Subscription:
    """Input of an assignor: members by id, partition counts of existing topics."""

    group: str
    epoch: int
    assignor: str
    members: Mapping[str, Subscriber]
    topics: Mapping[str, int]


Targets = Mapping[str, PartitionSet]
ChooseTarget = Callable[[Subscription], Targets]
"""Assigns a target to each member; members without an entry get none."""


def choose_target(subscription: Subscription) -> Targets:
    """Compute targets with the assignor named in the subscription."""
    return ASSIGNORS[subscription.assignor](subscription)


def range_target(subscription: Subscription) -> Targets:
    """Assign consecutive partitions of each topic.

    Members are ordered by instance id, then by member id; the first ones get one more.
    """
    targets: dict[str, set[TopicPartition]] = {member: set() for member in subscription.members}
    ordered = sorted(subscription.members, key=lambda member: _static_first(member, subscription.members[member].instance))
    for topic, count in subscription.topics.items():
        takers = [member for member in ordered if topic in subscription.members[member].topics]
        if not takers:
            continue
        size, larger = divmod(count, len(takers))
        start = 0
        for index, member in enumerate(takers):
            end = start + size + (index < larger)
            targets[member].update((topic, number) for number in range(start, end))
            start = end
    return _frozen(targets)


def _static_first(member: str, instance: str | None) -> tuple[bool, str]:
    return instance is None, member if instance is None else instance


def uniform_target(subscription: Subscription) -> Targets:
    """Assign shares that differ by one partition at most.

    If subscriptions differ, shares are as even as they allow.
    """
    members = subscription.members
    ordered = sorted(members)
    takers = {topic: [member for member in ordered if topic in members[member].topics] for topic in subscription.topics}
    targets: dict[str, set[TopicPartition]] = {member: set() for member in members}
    limit = _limits(subscription)
    left: list[TopicPartition] = []
    former = {partition: member for member in ordered for partition in members[member].target}
    for topic, count in sorted(subscription.topics.items(), key=lambda pair: (len(takers[pair[0]]), pair[0])):
        for partition in [(topic, number) for number in range(count if takers[topic] else 0)]:
            owner = former.get(partition)
            if owner is not None and topic in members[owner].topics and len(targets[owner]) < limit[owner]:
                targets[owner].add(partition)
            else:
                left.append(partition)
    for partition in left:
        targets[min(takers[partition[0]], key=lambda member: (len(targets[member]), member))].add(partition)
    return _frozen(targets)


def _limits(subscription: Subscription) -> dict[str, int]:
    """Number of partitions that each member may keep.

    Members with equal subscriptions share their topics evenly. Where the share isn't a whole number, members with the
    largest current targets get the extra partition.
    """
    takers_by_topics: dict[frozenset[str], list[str]] = {}
    for member in sorted(subscription.members):
        topics = frozenset(subscription.topics.keys() & subscription.members[member].topics)
        takers_by_topics.setdefault(topics, []).append(member)
    limits: dict[str, int] = {}
    for topics, members in takers_by_topics.items():
        size, larger = divmod(sum(subscription.topics[topic] for topic in topics), len(members))
        most_first = sorted(members, key=lambda member: (-len(subscription.members[member].target), member))
        limits.update({member: size + (index < larger) for index, member in enumerate(most_first)})
    return limits


def _frozen(targets: Mapping[str, set[TopicPartition]]) -> Targets:
    return {member: frozenset(partitions) for member, partitions in targets.items()}


ASSIGNORS: dict[str, ChooseTarget] = {"range": range_target, "uniform": uniform_target}
