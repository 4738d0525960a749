"""A consumer group in the coordinator's memory (4.0.0, ModernGroup.java, ConsumerGroup.java).

Facts about the whole group are kept as counts: subscribers of a topic or pattern, votes for an assignor, partitions in
use. A heartbeat therefore costs the same for ten members as for ten thousand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from models.kafka.coordinator.classic.group import Tally
from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.consumer.member import Member, MemberState
from models.kafka.coordinator.consumer.topic_partitions import NO_PARTITIONS, PartitionSet, TopicPartition
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.subscription import CONSUMER
from models.kafka.coordinator.runtime.offsets import Offsets

# Looked up more quickly as names of the module (see `group_states`).
_STABLE = MemberState.STABLE


class ConsumerGroupState(StrEnum):
    """State of a consumer group, derived from members and epochs."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"  # no target for the group epoch yet
    RECONCILING = "Reconciling"  # members have not reached their targets
    STABLE = "Stable"


@dataclass(slots=True, eq=False)
class SimpleGroup:
    """A classic group created by a commit that never had members."""

    id: str
    offsets: Offsets = field(default_factory=Offsets)


@dataclass(frozen=True, slots=True)
class Resolution:
    """Topics that matched a pattern at `at_ms`.

    `created` is the number of topics created by then.
    """

    topics: tuple[str, ...]
    at_ms: int
    created: int


@dataclass(slots=True, eq=False)
class ConsumerGroup:
    """A consumer group.

    Its members change only through `put`, `move`, `replace` and `drop`.
    """

    id: str
    epoch: int = 0
    target_epoch: int = 0
    members: dict[str, Member] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    """Member ids by instance id."""
    targets: dict[str, PartitionSet] = field(default_factory=dict)
    metadata: dict[str, int] = field(default_factory=dict)
    """Partition counts of subscribed topics when the group last looked."""
    resolutions: dict[str, Resolution] = field(default_factory=dict)
    """Resolved patterns, all resolved at the same time."""
    refresh_requested: bool = False
    """Whether a subscribed topic changed since the group last looked."""
    offsets: Offsets = field(default_factory=Offsets)
    assigned_partitions: set[TopicPartition] = field(default_factory=set)
    """Partitions that members have or have yet to revoke."""
    _topics: Tally[str] = field(default_factory=Tally)
    _regexes: Tally[str] = field(default_factory=Tally)
    _assignors: Tally[str] = field(default_factory=Tally)
    _classic: int = 0
    """Number of members with the classic protocol."""
    _supported: Tally[str] = field(default_factory=Tally)

    @property
    def state(self) -> ConsumerGroupState:
        """Current state; checks every member, so use it for inspection only."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.target_epoch:
            return ConsumerGroupState.ASSIGNING
        reached = all(self.has_reached_target(member) for member in self.members.values())
        return ConsumerGroupState.STABLE if reached else ConsumerGroupState.RECONCILING

    @property
    def assignor(self) -> str | None:
        """The assignor named by most members, None if none names any.

        Ties go to the last by name.
        """
        return max(self._assignors, key=lambda name: (self._assignors[name], name), default=None)

    @property
    def regexes(self) -> Mapping[str, int]:
        """Number of members by pattern."""
        return self._regexes

    def has_reached_target(self, member: Member) -> bool:
        """Whether the member has its whole target."""
        return member.state is _STABLE and member.epoch == self.target_epoch

    def supports_classic(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether all classic members support one of the join's assignors.

        Source: supportsClassicProtocols.
        """
        return protocol_type == CONSUMER and any(self._supported[name] == self._classic for name in names)

    def is_classic_without(self, leaving: Collection[Member]) -> bool:
        """Whether members remain and all use the classic protocol.

        Source: allMembersUseClassicProtocolExcept.
        """
        remaining = len(self.members) - len(leaving)
        return remaining > 0 and remaining == self._classic - sum(member.classic is not None for member in leaving)

    def waits_for_others(self, member: Member) -> bool:
        """Whether another member still holds partitions of the member's target.

        Source: waitingOnUnreleasedPartition.
        """
        return any(partition in self.assigned_partitions for partition in self.target(member.id) - member.assigned)

    def static_member(self, instance: str) -> Member | None:
        """The member of an instance, None if the instance is unknown.

        Refuses with UNKNOWN_MEMBER_ID if the member no longer exists, as Kafka's lookup does.
        """
        member_id = self.static.get(instance)
        if member_id is not None and member_id not in self.members:
            raise Refusal(Error.UNKNOWN_MEMBER_ID)
        return None if member_id is None else self.members[member_id]

    def target(self, member_id: str) -> PartitionSet:
        """The member's target assignment."""
        return self.targets.get(member_id, NO_PARTITIONS)

    def subscribed(self) -> set[str]:
        """All topics subscribed by name or resolved pattern, existing or not."""
        return {*self._topics, *(topic for resolution in self.resolutions.values() for topic in resolution.topics)}

    def subscribes(self, topic: str) -> bool:
        """Whether any member subscribes to the topic."""
        return topic in self._topics or any(topic in resolution.topics for resolution in self.resolutions.values())

    def topics_of(self, member: Member) -> set[str]:
        """Topics that one member subscribes to."""
        resolution = self.resolutions.get(member.regex or "")
        return {*member.topics, *(resolution.topics if resolution else ())}

    def look_at(self, topics: Mapping[str, int]) -> bool:
        """Update the partition counts of subscribed topics; True if they changed."""
        before, self.metadata = self.metadata, {topic: topics[topic] for topic in sorted(self.subscribed()) if topic in topics}
        return before != self.metadata

    def put(self, member: Member) -> None:
        """Add a member, or replace the one with its id."""
        before = self.members.get(member.id)
        if before is not None:
            self._uncount(before)
        self.members[member.id] = member
        if member.instance is not None:
            self.static[member.instance] = member.id
        self._topics.update(member.topics)
        if member.regex:
            self._regexes[member.regex] += 1
        if member.assignor is not None:
            self._assignors[member.assignor] += 1
        if member.classic is not None:
            self._classic += 1
            self._supported.update({protocol.name for protocol in member.classic.protocols})
        self.assigned_partitions |= member.assigned
        self.assigned_partitions |= member.pending_revocation

    def move(self, member: Member) -> None:
        """Update a member after a change of its assignment alone."""
        before = self.members[member.id]
        self.assigned_partitions -= before.assigned | before.pending_revocation
        self.assigned_partitions |= member.assigned | member.pending_revocation
        self.members[member.id] = member

    def replace(self, old: Member, new: Member) -> None:
        """Replace a static member's id; the new id keeps the target."""
        target = self.targets.pop(old.id, NO_PARTITIONS)
        self.drop(old)
        self.put(new)
        self.targets[new.id] = target

    def drop(self, member: Member) -> None:
        """Remove a member and its target."""
        del self.members[member.id]
        self._uncount(member)
        self.targets.pop(member.id, None)
        if member.instance is not None and self.static.get(member.instance) == member.id:
            del self.static[member.instance]

    def forget_unused_regex(self, regex: str | None) -> None:
        """Delete the resolution of a pattern that no member uses."""
        if regex and regex not in self._regexes:
            self.resolutions.pop(regex, None)

    def _uncount(self, member: Member) -> None:
        for topic in member.topics:
            self._topics.drop(topic)
        if member.regex:
            self._regexes.drop(member.regex)
        if member.assignor is not None:
            self._assignors.drop(member.assignor)
        if member.classic is not None:
            self._classic -= 1
            for name in {protocol.name for protocol in member.classic.protocols}:
                self._supported.drop(name)
        self.assigned_partitions -= member.assigned
        self.assigned_partitions -= member.pending_revocation
