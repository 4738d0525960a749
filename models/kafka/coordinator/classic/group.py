"""A classic group as its coordinator holds it (GroupMetadata.scala, ClassicGroup.java).

Everything that requests are checked against is kept as counts, so that a check costs the same for ten members and for ten
thousand: how many wait, how many support a protocol, how many have which preferences and which rebalance timeout.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from models.kafka.coordinator.protocol.errors import Fault
from models.kafka.coordinator.protocol.group_states import VALID_PREVIOUS, State
from models.kafka.coordinator.protocol.requests import Protocol
from models.kafka.coordinator.protocol.subscription import CONSUMER, subscribed_topics
from models.kafka.coordinator.runtime.offsets import Offsets

T = TypeVar("T")


class Tally(Counter[T]):
    """Counts that vanish at zero."""

    def drop(self, item: T) -> None:
        """Take one away."""
        if self[item] > 1:
            self[item] -= 1
        else:
            del self[item]


@dataclass(slots=True, eq=False)
class Member:
    """A member (MemberMetadata.scala, ClassicGroupMember.java). `join` and `sync` are the ids of its parked requests."""

    id: str
    instance: str | None
    client_id: str
    client_host: str
    session_ms: int
    rebalance_ms: int
    protocol_type: str
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""
    join: int | None = None
    sync: int | None = None
    is_new: bool = False

    @property
    def preferences(self) -> tuple[str, ...]:
        """The names of its protocols, best first."""
        return tuple(protocol.name for protocol in self.protocols)

    @property
    def is_excused(self) -> bool:
        """Whether a parked request stands for a heartbeat (hasSatisfiedHeartbeat); never before the first join is answered."""
        return not self.is_new and (self.join is not None or self.sync is not None)

    def metadata(self, protocol: str | None) -> bytes:
        """The subscription that it sent for a protocol."""
        return next(known.metadata for known in self.protocols if known.name == protocol)


@dataclass(slots=True, eq=False)
class Group:
    """A classic group. Requests change it only through the handlers; the methods here keep its counts right."""

    id: str
    state_since_ms: int | None
    state: State = State.EMPTY
    generation: int = 0
    leader: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    """Member id by instance id."""
    pending_join: set[str] = field(default_factory=set)
    """Ids that were handed out and not used yet (KIP-394)."""
    pending_sync: set[str] = field(default_factory=set)
    """Members whose SyncGroup is still expected in this generation."""
    is_initial: bool = False
    """Whether this join phase began in Empty, so that it waits for more members to come."""
    new_member_added: bool = False
    """Whether somebody joined during the initial delay; only its extension clears this, not the end of the phase."""
    subscribed: frozenset[str] | None = None
    """Topics of all members since the last join phase ended, None if unknown."""
    offsets: Offsets = field(default_factory=Offsets)
    waiting: int = 0
    """Members with a parked JoinGroup."""
    _supported: Tally[str] = field(default_factory=Tally)
    _preferences: Tally[tuple[str, ...]] = field(default_factory=Tally)
    _rebalance_ms: Tally[int] = field(default_factory=Tally)

    def fork(self) -> Group:
        """The same group for another course of events. Members are copied one deep: what they sent is shared."""
        made = copy.copy(self)
        made.members = {member_id: copy.copy(member) for member_id, member in self.members.items()}
        for name in ("static", "pending_join", "pending_sync", "_supported", "_preferences", "_rebalance_ms"):
            setattr(made, name, copy.copy(getattr(self, name)))
        made.offsets = self.offsets.written()
        return made

    @property
    def all_joined(self) -> bool:
        """Whether every member has a parked join and no id is pending (hasAllMembersJoined)."""
        return self.waiting == len(self.members) and not self.pending_join

    @property
    def rebalance_ms(self) -> int:
        """The longest rebalance timeout of its members, 0 without members."""
        return max(self._rebalance_ms, default=0)

    @property
    def can_rebalance(self) -> bool:
        """Whether a join phase may begin now."""
        return self.state in VALID_PREVIOUS[State.PREPARING_REBALANCE]

    def move(self, after: State, at_ms: int) -> State:
        """Set the state and return the one before; nothing else sets it (transitionTo)."""
        before = self.state
        if before not in VALID_PREVIOUS[after]:
            raise Fault(f"group {self.id} can't move from {before} to {after}")
        self.state = after
        self.state_since_ms = at_ms
        return before

    def supports(self, protocol_type: str, protocols: Iterable[Protocol]) -> bool:
        """Whether a join with these protocols fits: all present members must support one of them (supportsProtocols)."""
        if self.state is State.EMPTY:
            return bool(protocol_type) and any(True for _ in protocols)
        size = len(self.members)
        return self.protocol_type == protocol_type and any(self._supported[protocol.name] == size for protocol in protocols)

    def add(self, member: Member) -> None:
        """Take a member in. The first one of a memberless group sets its protocol type; without a leader it becomes it."""
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.id
        if member.instance is not None:
            self.static[member.instance] = member.id
        self.members[member.id] = member
        self.pending_join.discard(member.id)
        self.waiting += member.join is not None
        self._count(member)

    def pop(self, member_id: str) -> Member | None:
        """Take a member out, its parked requests with it. Who leads then is the caller's to decide."""
        self.pending_sync.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is not None:
            self._discount(member)
            self.waiting -= member.join is not None
            if member.instance is not None:
                self.static.pop(member.instance, None)
        return member

    def update(self, member: Member, protocols: tuple[Protocol, ...], timeouts: tuple[int, int] | None, join: int | None) -> None:
        """Replace what a member offers and its parked join, and its session and rebalance timeouts unless None (updateMember)."""
        self._discount(member)
        member.protocols = protocols
        if timeouts is not None:
            member.session_ms, member.rebalance_ms = timeouts
        self._count(member)
        self.park_join(member, join)

    def rename(self, member: Member, instance: str, member_id: str) -> None:
        """Give a static member a new id, with leadership and assignment; `pending_sync` keeps the old one (replaceStaticMember)."""
        del self.members[member.id]
        if self.leader == member.id:
            self.leader = member_id
        member.id = member_id
        self.members[member_id] = member
        self.static[instance] = member_id

    def park_join(self, member: Member, join: int | None) -> None:
        """Keep a join until the phase ends; one that was parked before is dropped without an answer."""
        self.waiting += (join is not None) - (member.join is not None)
        member.join = join

    def vote(self) -> list[str]:
        """The protocols with most votes: each member votes for its first one that all support (selectProtocol)."""
        size = len(self.members)
        votes: Counter[str] = Counter()
        for names, voters in self._preferences.items():
            votes[next(name for name in names if self._supported[name] == size)] += voters
        most = max(votes.values())
        return [name for name, count in votes.items() if count == most]

    def subscribe(self) -> None:
        """Learn the subscribed topics anew (computeSubscribedTopics)."""
        if self.protocol_type != CONSUMER:
            self.subscribed = None
        else:
            self.subscribed = subscribed_topics(member.metadata(self.protocol) for member in self.members.values())

    def _count(self, member: Member) -> None:
        names = member.preferences
        self._supported.update(set(names))
        self._preferences[names] += 1
        self._rebalance_ms[member.rebalance_ms] += 1

    def _discount(self, member: Member) -> None:
        names = member.preferences
        for name in set(names):
            self._supported.drop(name)
        self._preferences.drop(names)
        self._rebalance_ms.drop(member.rebalance_ms)
