"""Members of a classic group, as its requests show them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from models.events import Event, int_field
from models.evidence import line_of
from models.tolerances import int_tolerance
from models.units import US_PER_MS

ASSUMED_SESSION_US = int_tolerance("kafka.request_members.assumed_session_us")
"""Session timeout of members whose JoinGroup no line shows.

The longest default: session.timeout.ms since 3.0 (ConsumerConfig, KIP-735).
"""

HANDED_OUT_MAX = 1_000
"""Member ids handed out and unused; beyond it the oldest go."""


@dataclass(frozen=True, slots=True)
class RequestSign:
    """Something that starts a rebalance or shows that one has begun. Microseconds."""

    at: int
    event: Event
    doubt_us: int = 0
    """How much earlier it may have been."""

    def halfway(self) -> RequestSign:
        """The middle of the time in which it may have been."""
        return RequestSign(self.at - self.doubt_us // 2, self.event, self.doubt_us // 2)


@dataclass(slots=True)
class Peer:
    """Last contact of a member, and its allowed silence (microseconds)."""

    heard: Event
    heard_at: int
    session_us: int | None = None
    instance_id: str | None = None
    doubt_us: int = 0
    """How much earlier its session may have begun.

    Its coordinator was replaced at an unknown time.
    """


@dataclass(slots=True)
class Membership:
    """The members of one generation and what became of them."""

    peers: dict[str, Peer] = field(default_factory=dict)
    is_complete: bool = False
    """No member is missing."""
    gone: dict[str, RequestSign] = field(default_factory=dict)
    """Departures by member id."""
    handed_out: dict[str, Peer] = field(default_factory=dict)
    """Member ids that were given out and not used yet (KIP-394)."""
    session_us: int | None = None
    """The longest session timeout that a request named."""
    lost_at: dict[str, int] = field(default_factory=dict)
    """Times at which clients lost their coordinator, since they were last heard.

    Their own logs say so.
    """

    def start(self, members: Iterable[str], answers: Iterable[Event], at: int, *, is_complete: bool) -> None:
        """Begin a new generation, in which all sessions begin anew.

        `answers` are those to its JoinGroups.
        """
        answers_by_member = {event.member_id: event for event in answers if event.member_id}
        before, fallback = self.peers, next(iter(answers_by_member.values()), None)
        self.peers, self.gone, self.lost_at = {}, {}, {}
        self.is_complete = is_complete
        for member in members:
            event = answers_by_member.get(member)
            if event is not None:
                self.admit(member, event, at)
            elif member in before:
                self.peers[member] = Peer(before[member].heard, at, before[member].session_us, before[member].instance_id)
            elif fallback is not None:
                self.peers[member] = Peer(line_of(fallback), at)

    def admit(self, member_id: str, event: Event, at: int) -> None:
        """Add a member by the answer to its JoinGroup.

        A static one takes the place of its former self.
        """
        session = int_field(event, "session_timeout_ms")
        session_us = session * US_PER_MS if session is not None else None
        self.session_us = max(filter(None, (self.session_us, session_us)), default=None)
        if event.instance_id is not None:
            former = [old for old, peer in self.peers.items() if peer.instance_id == event.instance_id and old != member_id]
            for old in former:
                del self.peers[old]
        self.peers[member_id] = Peer(line_of(event), at, session_us, event.instance_id)
        self.handed_out.pop(member_id, None)

    def empty(self) -> None:
        """Nobody is in the group."""
        self.peers, self.gone, self.is_complete = {}, {}, True

    def hear(self, event: Event, at: int) -> None:
        """Note that a member is alive; an unknown one is added."""
        member = event.member_id
        if not member:
            return
        self.lost_at.pop(event.client_id or "", None)
        peer = self.peers.get(member)
        if peer is None:
            self.peers[member] = Peer(line_of(event), at, None, event.instance_id)
        elif at >= peer.heard_at:
            peer.heard, peer.heard_at, peer.doubt_us = line_of(event), at, 0

    def keep(self, instance_id: str | None, event: Event, at: int) -> None:
        """Note that a static member stays though it came back in vain.

        If its new id can't be stored it has the old one again, and a new session (GroupCoordinator.updateStaticMemberAndRebalance).
        """
        for peer in self.peers.values() if instance_id is not None else ():
            if peer.instance_id == instance_id and at >= peer.heard_at:
                peer.heard, peer.heard_at, peer.doubt_us = line_of(event), at, 0

    def without_returns(self, arrivals: Sequence[RequestSign]) -> Sequence[RequestSign]:
        """Requests but those of static members that came back, unless there are no others.

        In a stable group they take their place without a rebalance (KIP-345), if they ask for the same assignors.
        """
        known = {peer.instance_id for peer in self.peers.values()} - {None}
        others = [sign for sign in arrivals if sign.event.instance_id not in known or sign.event.member_id in self.peers]
        return others or arrivals

    def without_replaced(
        self, expired: Iterable[tuple[str, RequestSign]], arrivals: Iterable[RequestSign]
    ) -> Iterator[tuple[str, RequestSign]]:
        """Sessions that ran out, without those of replaced static members (KIP-345)."""
        taken = {sign.event.instance_id: sign.at for sign in arrivals if sign.event.instance_id is not None}
        for member, sign in expired:
            taken_at = taken.get(self.peers[member].instance_id or "")
            if taken_at is None or taken_at > sign.at:
                yield member, sign

    def missing(self, accounted: Container[str], arrivals: Iterable[RequestSign]) -> list[str]:
        """Members that are not accounted for, and whose place none that came took."""
        taken = {sign.event.instance_id for sign in arrivals} - {None}
        return [member for member, peer in self.peers.items() if member not in accounted and peer.instance_id not in taken]

    def hand_out(self, event: Event, at: int) -> None:
        """Note a member id given out with the request to return."""
        if event.member_id:
            session = int_field(event, "session_timeout_ms")
            self.handed_out[event.member_id] = Peer(line_of(event), at, session * US_PER_MS if session is not None else None)
            while len(self.handed_out) > HANDED_OUT_MAX:
                del self.handed_out[next(iter(self.handed_out))]

    def leave(self, who: str, sign: RequestSign) -> str | None:
        """Note that a member left, named by member id or instance id.

        Returns its member id, None if it was no member.
        """
        self.handed_out.pop(who, None)
        member = (
            who
            if who in self.peers
            else next((member_id for member_id, peer in self.peers.items() if peer.instance_id == who and who), None)
        )
        if member is None or member in self.gone:
            return None
        self.gone[member] = sign
        return member

    def deadline(self, peer: Peer) -> int:
        """Time at which a session expires without further contact."""
        return peer.heard_at + (peer.session_us or self.session_us or ASSUMED_SESSION_US)

    def begin_anew(self, earliest: int, latest: int) -> None:
        """Start all sessions at another coordinator.

        Also of members that left: generations alone are stored (storeGroup).
        """
        self.gone = {}
        for peer in self.peers.values():
            if peer.heard_at < latest:
                peer.heard_at, peer.doubt_us = latest, latest - max(earliest, peer.heard_at)

    def lose(self, client_id: str | None, at: int) -> None:
        """Note that a client lost its coordinator."""
        if client_id is not None and self.peers:
            self.lost_at.setdefault(client_id, at)

    def begin_anew_if_lost(self, by: int) -> int:
        """Start all sessions anew if all members had lost their coordinator.

        Another one, or the same again, loaded the group at an unknown time since. A coordinator that merely can't be reached is given
        up as the session ends (AbstractCoordinator.HeartbeatThread), so each must have lost it before. Returns when the first one did,
        0 if none had.
        """
        lost_at = min(self.lost_at.values(), default=0)
        if self.gone or len(self.lost_at) < max(1, len(self.peers)):
            return lost_at
        peers = list(self.peers.values())
        times = [self.lost_at.get(peer.heard.client_id or "", by) for peer in peers]
        if times and all(peer.heard_at <= at < min(by, self.deadline(peer)) for peer, at in zip(peers, times, strict=True)):
            self.lost_at = {}
            self.begin_anew(min(times), by)
        return lost_at

    def silent(self, by: int) -> Iterator[tuple[str, RequestSign]]:
        """Members whose session ran out by a time without a leave."""
        for member, peer in self.peers.items():
            latest, earliest = min(self.deadline(peer), by), self.deadline(peer) - peer.doubt_us
            if member not in self.gone and earliest <= by:
                yield member, RequestSign(latest, peer.heard, latest - earliest)

    def unused(self, by: int) -> Iterator[tuple[str, RequestSign]]:
        """Member ids given out that expired unused by a time."""
        for member, peer in self.handed_out.items():
            if self.deadline(peer) <= by:
                yield member, RequestSign(self.deadline(peer), peer.heard)

    def has_ended(self, by: int, *, is_sure: bool = False, is_rebalancing: bool = False) -> bool:
        """Whether by a time all had gone and nobody was joining.

        Sessions that another coordinator began at a time in doubt may have ended, but not surely. While the group rebalances, a silent
        member may wait for the end of the join phase, and its session does not run (MemberMetadata.hasSatisfiedHeartbeat).
        """
        may_wait = is_sure and is_rebalancing
        silent = {member for member, _ in self.silent(by) if not may_wait and (not is_sure or self.deadline(self.peers[member]) <= by)}
        return (
            self.is_complete
            and bool(self.peers)
            and all(member in self.gone or member in silent for member in self.peers)
            and all(self.deadline(peer) <= by for peer in self.handed_out.values())
        )
