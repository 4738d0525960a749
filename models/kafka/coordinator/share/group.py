"""A share group in the coordinator's memory (4.1 to 4.4, ShareGroup.java)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from models.kafka.coordinator.consumer.group import ConsumerGroupState
from models.kafka.coordinator.consumer.topic_partitions import NO_PARTITIONS, PartitionSet
from models.kafka.coordinator.share.initialization import SharePartitions


@dataclass(frozen=True, slots=True)
class ShareMember:
    """A member after its last heartbeat; it moves to each target at once."""

    id: str
    epoch: int = 0
    previous_epoch: int = -1
    topics: frozenset[str] = frozenset()
    assigned: PartitionSet = NO_PARTITIONS
    without: frozenset[str] = frozenset()
    """Topics that its assignment names without a partition."""
    client_id: str = ""


@dataclass(slots=True, eq=False)
class ShareGroup:
    """A share group; several members may have the same partition."""

    id: str
    epoch: int = 0
    target_epoch: int = 0
    target_ms: int | None = None
    """Time of the last target, if it is known."""
    members: dict[str, ShareMember] = field(default_factory=dict)
    targets: dict[str, PartitionSet] = field(default_factory=dict)
    without: dict[str, frozenset[str]] = field(default_factory=dict)
    """Topics that targets of members name without a partition."""
    metadata: dict[str, int] = field(default_factory=dict)
    """Partition counts of subscribed topics when the group last looked."""
    refresh_requested: bool = True
    """Whether the group has yet to look at its topics."""
    partitions: SharePartitions = field(default_factory=SharePartitions)

    @property
    def state(self) -> ConsumerGroupState:
        """Empty without members, otherwise Stable: nobody waits for others."""
        return ConsumerGroupState.STABLE if self.members else ConsumerGroupState.EMPTY

    @property
    def topics(self) -> frozenset[str]:
        """Topics that any member subscribes to."""
        return frozenset(topic for member in self.members.values() for topic in member.topics)

    def topics_with(self, member: ShareMember) -> frozenset[str]:
        """Topics subscribed to once this member is as given."""
        others = (other.topics for other in self.members.values() if other.id != member.id)
        return frozenset(member.topics.union(*others))

    def topics_without(self, members: Iterable[str]) -> frozenset[str]:
        """Topics subscribed to once these members are gone."""
        gone = set(members)
        return frozenset(topic for member in self.members.values() if member.id not in gone for topic in member.topics)

    def target(self, member_id: str) -> PartitionSet:
        """Target of a member, empty without one."""
        return self.targets.get(member_id, NO_PARTITIONS)

    def retarget(self, targets: Mapping[str, PartitionSet], *, of_topics: AbstractSet[str] | None) -> None:
        """Replace all targets.

        They go on naming topics without a partition that a member keeps; `of_topics` may be named, all if None.
        """
        without: dict[str, frozenset[str]] = {}
        for member, target in targets.items():
            named = {topic for topic, _ in self.target(member)} | self.without.get(member, frozenset())
            left = named - {topic for topic, _ in target}
            without[member] = frozenset(left if of_topics is None else left & of_topics)
        self.targets, self.without = dict(targets), {member: topics for member, topics in without.items() if topics}

    def forget(self, member_id: str) -> None:
        """Drop the target of a member that is gone."""
        self.targets.pop(member_id, None)
        self.without.pop(member_id, None)

    def awaits_target(self, *, of_any_topic: bool) -> bool:
        """Whether initialised partitions of its topics lack a member (initializedAssignmentPending).

        `of_any_topic`: partitions of topics without a subscriber count, too.
        """
        if not self.members:
            return False
        given: dict[str, set[int]] = {}
        for target in self.targets.values():
            for topic, number in target:
                given.setdefault(topic, set()).add(number)
        if of_any_topic:
            return given != self.partitions.initialized
        topics = self.topics - self.partitions.nameless
        return any(topic in topics and given.get(topic) != numbers for topic, numbers in self.partitions.initialized.items())


def seen(topics: Iterable[str], counts: Mapping[str, int]) -> dict[str, int]:
    """Partition counts of those topics that exist."""
    return {topic: counts[topic] for topic in topics if topic in counts}
