"""A classic group in the coordinator's memory (GroupMetadata.scala, ClassicGroup.java).

Facts that requests are checked against are kept as counts: waiting members, supporters of each protocol, preferences,
and rebalance timeouts. A check therefore costs the same for ten members as for ten thousand.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from models.kafka.coordinator.protocol.errors import Fault
from models.kafka.coordinator.protocol.group_states import EMPTY, PREPARING_REBALANCE, VALID_PREVIOUS, State
from models.kafka.coordinator.protocol.requests import Protocol
from models.kafka.coordinator.protocol.subscription import CONSUMER, subscribed_topics
from models.kafka.coordinator.runtime.offsets import Offsets

T = TypeVar("T")


class Tally(Counter[T]):
    """A counter without entries at zero."""

    def drop(self, item: T) -> None:
        """Subtract one."""
        if self[item] > 1:
            self[item] -= 1
        else:
            del self[item]


@dataclass(slots=True, eq=False)
class Member:
    """A member (MemberMetadata.scala, ClassicGroupMember.java).

    `join` and `sync` are the ids of its parked requests.
    """

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
        """Names of its protocols, preferred first."""
        return tuple(protocol.name for protocol in self.protocols)

    @property
    def is_excused(self) -> bool:
        """Whether a parked request replaces heartbeats (hasSatisfiedHeartbeat).

        Never before the first join was answered.
        """
        return not self.is_new and (self.join is not None or self.sync is not None)

    def metadata(self, protocol: str | None) -> bytes:
        """Subscription metadata sent for a protocol."""
        first = self.protocols[0] if self.protocols else None
        if first is not None and first.name == protocol:  # nearly always: most members have one
            return first.metadata
        for known in self.protocols:
            if known.name == protocol:
                return known.metadata
        raise LookupError(protocol)  # no StopIteration, which a generator around it would turn into another error


@dataclass(slots=True, eq=False)
class Group:
    """A classic group.

    Requests change it only through the handlers; its methods keep the counts consistent.
    """

    id: str
    state_since_ms: int | None
    state: State = EMPTY
    generation: int = 0
    leader: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    """Member id by instance id."""
    pending_join: set[str] = field(default_factory=set)
    """Ids that were handed out but not used yet (KIP-394)."""
    pending_sync: set[str] = field(default_factory=set)
    """Members with an outstanding SyncGroup in this generation."""
    is_initial: bool = False
    """Whether this join phase began in Empty and has an initial delay."""
    new_member_added: bool = False
    """Whether a member joined during the initial delay.

    Only an extension of the delay clears it, not the end of the phase.
    """
    subscribed: frozenset[str] | None = None
    """Topics subscribed by the last generation's members, None if unknown."""
    offsets: Offsets = field(default_factory=Offsets)
    waiting: int = 0
    """Number of members with a parked JoinGroup."""
    _supported: Tally[str] = field(default_factory=Tally)
    _preferences: Tally[tuple[str, ...]] = field(default_factory=Tally)
    _rebalance_ms: Tally[int] = field(default_factory=Tally)

    def fork(self) -> Group:
        """Copy the group to explore another course of events.

        Members are copied; the data they sent is shared.
        """
        made = copy.copy(self)
        made.members = {member_id: copy.copy(member) for member_id, member in self.members.items()}
        for name in ("static", "pending_join", "pending_sync", "_supported", "_preferences", "_rebalance_ms"):
            setattr(made, name, copy.copy(getattr(self, name)))
        made.offsets = self.offsets.written()
        return made

    @property
    def have_all_joined(self) -> bool:
        """Whether all members have joined and no id is pending (hasAllMembersJoined)."""
        return self.waiting == len(self.members) and not self.pending_join

    @property
    def rebalance_ms(self) -> int:
        """Longest rebalance timeout of the members, 0 without members."""
        return max(self._rebalance_ms, default=0)

    @property
    def can_rebalance(self) -> bool:
        """Whether a join phase may begin in the current state."""
        return self.state in VALID_PREVIOUS[PREPARING_REBALANCE]

    def move(self, after: State, at_ms: int) -> State:
        """Change the state and return the previous one (transitionTo).

        Raises Fault if Kafka does not allow the transition.
        """
        before = self.state
        if before not in VALID_PREVIOUS[after]:
            raise Fault(f"group {self.id} can't move from {before} to {after}")
        self.state = after
        self.state_since_ms = at_ms
        return before

    def supports(self, protocol_type: str, protocols: Iterable[Protocol]) -> bool:
        """Whether all members support one of the protocols (supportsProtocols)."""
        if self.state is EMPTY:
            return bool(protocol_type) and any(True for _ in protocols)
        size = len(self.members)
        return self.protocol_type == protocol_type and any(self._supported[protocol.name] == size for protocol in protocols)

    def add(self, member: Member) -> None:
        """Add a member.

        The first member sets the group's protocol type; a member of a group without a leader becomes its leader.
        """
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
        """Remove a member with its parked requests.

        The caller chooses a new leader.
        """
        self.pending_sync.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is not None:
            self._discount(member)
            self.waiting -= member.join is not None
            if member.instance is not None:
                self.static.pop(member.instance, None)
        return member

    def update(self, member: Member, protocols: tuple[Protocol, ...], timeouts: tuple[int, int] | None, join: int | None) -> None:
        """Replace a member's protocols, parked join and timeouts (updateMember).

        `timeouts` are session and rebalance timeout; None leaves them unchanged.
        """
        if protocols is member.protocols and (timeouts is None or timeouts == (member.session_ms, member.rebalance_ms)):
            self.park_join(member, join)  # the usual rejoin, which changes no count
            return
        self._discount(member)
        member.protocols = protocols
        if timeouts is not None:
            member.session_ms, member.rebalance_ms = timeouts
        self._count(member)
        self.park_join(member, join)

    def rename(self, member: Member, instance: str, member_id: str) -> None:
        """Give a static member a new id (replaceStaticMember).

        It keeps leadership and assignment; `pending_sync` keeps the old id.
        """
        del self.members[member.id]
        if self.leader == member.id:
            self.leader = member_id
        member.id = member_id
        self.members[member_id] = member
        self.static[instance] = member_id

    def park_join(self, member: Member, join: int | None) -> None:
        """Park a join until the phase ends.

        A join that was parked before is dropped without a response.
        """
        self.waiting += (join is not None) - (member.join is not None)
        member.join = join

    def vote(self) -> list[str]:
        """Protocols with most votes (selectProtocol).

        Each member votes for its first protocol that all members support.
        """
        size = len(self.members)
        votes: Counter[str] = Counter()
        for names, voters in self._preferences.items():
            votes[next(name for name in names if self._supported[name] == size)] += voters
        votes_max = max(votes.values())
        return [name for name, count in votes.items() if count == votes_max]

    def subscribe(self) -> None:
        """Update the subscribed topics (computeSubscribedTopics)."""
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
