"""A consumer group as its coordinator holds it (4.0.0, ModernGroup.java and ConsumerGroup.java).

What requests ask of the group as a whole is kept as counts, so that a heartbeat costs the same for ten members and for ten
thousand: how many subscribe to a topic or pattern, how many name an assignor, which partitions are held.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from models.kafka.coordinator.classic.group import Tally
from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.consumer.member import Member, MemberState
from models.kafka.coordinator.consumer.topic_partitions import NO_PARTITIONS, Partitions, TopicPartition
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.subscription import CONSUMER
from models.kafka.coordinator.runtime.offsets import Offsets


class GroupState(StrEnum):
    """Derived from members and epochs, never set."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"  # a target for the group epoch is still to be computed
    RECONCILING = "Reconciling"  # members are on their way to it
    STABLE = "Stable"


@dataclass(slots=True, eq=False)
class SimpleGroup:
    """A classic group that was made by a commit and never had a member."""

    id: str
    offsets: Offsets = field(default_factory=Offsets)


@dataclass(frozen=True, slots=True)
class Resolution:
    """Which topics matched a pattern when it was last looked at; `created` tells how many topics had been created by then."""

    topics: tuple[str, ...]
    at_ms: int
    created: int


@dataclass(slots=True, eq=False)
class ConsumerGroup:
    """A consumer group. `put` and `drop` are the only ways to change its members."""

    id: str
    epoch: int = 0
    target_epoch: int = 0
    members: dict[str, Member] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    """Member id by instance id."""
    targets: dict[str, Partitions] = field(default_factory=dict)
    metadata: dict[str, int] = field(default_factory=dict)
    """Partition counts of subscribed topics, as of when the group last looked."""
    resolutions: dict[str, Resolution] = field(default_factory=dict)
    """Resolved patterns. All are made in one go, so they are of one time."""
    refresh_requested: bool = False
    """Whether a subscribed topic has changed since the group last looked."""
    offsets: Offsets = field(default_factory=Offsets)
    held: set[TopicPartition] = field(default_factory=set)
    """What members have or have yet to revoke."""
    _topics: Tally[str] = field(default_factory=Tally)
    _regexes: Tally[str] = field(default_factory=Tally)
    _assignors: Tally[str] = field(default_factory=Tally)
    _classic: int = 0
    """Members that speak the classic protocol, and how many of them support which assignor."""
    _supported: Tally[str] = field(default_factory=Tally)

    @property
    def state(self) -> GroupState:
        """Looks at each member, so it is meant for looking, not for work."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        reached = all(self.has_reached_target(member) for member in self.members.values())
        return GroupState.STABLE if reached else GroupState.RECONCILING

    @property
    def assignor(self) -> str | None:
        """The assignor that most members name; those that name none don't vote. Of equals the last by name wins."""
        return max(self._assignors, key=lambda name: (self._assignors[name], name), default=None)

    @property
    def regexes(self) -> Mapping[str, int]:
        """Patterns in use, with how many members use them."""
        return self._regexes

    def has_reached_target(self, member: Member) -> bool:
        """Whether the member has all that it is to have."""
        return member.state is MemberState.STABLE and member.epoch == self.target_epoch

    def supports_classic(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a JoinGroup with these assignors fits those that the present classic members support (supportsClassicProtocols)."""
        return protocol_type == CONSUMER and any(self._supported[name] == self._classic for name in names)

    def is_classic_without(self, leaving: Collection[Member]) -> bool:
        """Whether members remain, all of the classic protocol (allMembersUseClassicProtocolExcept)."""
        remaining = len(self.members) - len(leaving)
        return remaining > 0 and remaining == self._classic - sum(member.classic is not None for member in leaving)

    def waits_for_others(self, member: Member) -> bool:
        """Whether somebody still holds what the member is to have (waitingOnUnreleasedPartition)."""
        return any(partition in self.held for partition in self.target(member.id) - member.assigned)

    def static_member(self, instance: str) -> Member | None:
        """The member of an instance. Refuses where the instance leads to a member that is gone, as Kafka's look-up does."""
        member_id = self.static.get(instance)
        if member_id is not None and member_id not in self.members:
            raise Refusal(Error.UNKNOWN_MEMBER_ID)
        return None if member_id is None else self.members[member_id]

    def target(self, member_id: str) -> Partitions:
        """What the member is to have."""
        return self.targets.get(member_id, NO_PARTITIONS)

    def subscribed(self) -> set[str]:
        """Names of all topics that members subscribe to, by name or by a resolved pattern, whether they exist or not."""
        return {*self._topics, *(topic for resolution in self.resolutions.values() for topic in resolution.topics)}

    def subscribes(self, topic: str) -> bool:
        """Whether any member subscribes to the topic."""
        return topic in self._topics or any(topic in resolution.topics for resolution in self.resolutions.values())

    def topics_of(self, member: Member) -> set[str]:
        """Names of the topics that one member subscribes to."""
        resolution = self.resolutions.get(member.regex or "")
        return {*member.topics, *(resolution.topics if resolution else ())}

    def look_at(self, topics: Mapping[str, int]) -> bool:
        """Take the subscribed topics' partition counts over; True if they are other than before."""
        before, self.metadata = self.metadata, {topic: topics[topic] for topic in sorted(self.subscribed()) if topic in topics}
        return before != self.metadata

    def put(self, member: Member) -> None:
        """Take a member in, in place of the one with its id."""
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
        self.held |= member.assigned
        self.held |= member.pending_revocation

    def move(self, member: Member) -> None:
        """Set a member that differs from the one with its id in its assignment only."""
        before = self.members[member.id]
        self.held -= before.assigned | before.pending_revocation
        self.held |= member.assigned | member.pending_revocation
        self.members[member.id] = member

    def replace(self, old: Member, new: Member) -> None:
        """Pass a static member's place to its new id, its target with it."""
        target = self.targets.pop(old.id, NO_PARTITIONS)
        self.drop(old)
        self.put(new)
        self.targets[new.id] = target

    def drop(self, member: Member) -> None:
        """Take a member out, its target with it."""
        del self.members[member.id]
        self._uncount(member)
        self.targets.pop(member.id, None)
        if member.instance is not None and self.static.get(member.instance) == member.id:
            del self.static[member.instance]

    def forget_unused_regex(self, regex: str | None) -> None:
        """Delete what a pattern resolved to once nobody uses it."""
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
        self.held -= member.assigned
        self.held -= member.pending_revocation
