"""Facts about a group from requests and clients, beside its coordinator.

Who rejoined and synced when, rosters, leaders, timeouts.

A request reached the broker when its answer was sent, less the total time, on the broker's own clock; what a client logs is on
the client's, and so it is inferred where it says when.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from models.events import Event, Witness, int_field, names_field, text_field
from models.kafka.conformance.group_view import CERTAIN, INFERRED, Fact, MemberView, TimerView, View
from models.kafka.conformance.search_limits import BURST_GAP_MS
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.observations.actions import arrived_at
from models.kafka.observations.knowledge import assigned_members
from models.units import US_PER_MS

_NO_ERROR = (None, 0)


@dataclass(frozen=True, slots=True)
class MemberSign:
    """Something that a member did: when, and how sure the time is."""

    at_us: int
    certainty: str


@dataclass(slots=True)
class Witnesses:
    """Facts from other witnesses, by generation and by member."""

    rosters: dict[int, tuple[str, ...]] = field(default_factory=dict)
    leaders: dict[int, str] = field(default_factory=dict)
    protocols: dict[int, str] = field(default_factory=dict)
    joins: defaultdict[str, list[MemberSign]] = field(default_factory=lambda: defaultdict(list))
    syncs: dict[tuple[str, int], MemberSign] = field(default_factory=dict)
    alive: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Times at which the broker heard of a member."""
    sessions: dict[str, int] = field(default_factory=dict)
    rebalances: dict[str, int] = field(default_factory=dict)
    preferences: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Learn from a line of a request or of a client."""
        fact = OBSERVERS.get(event.name)
        if fact is not None:
            fact(self, event)

    def enriched(self, line: Event) -> Event:
        """A coordinator's line with other witnesses' facts about its generation."""
        generation = line.generation
        if line.name == "GenerationStarted" and generation in self.rosters:
            roster = self.rosters[generation]
            return replace(line, fields={"member_count": len(roster), **line.fields, "roster": list(roster)})
        if line.name == "AssignmentReceived" and line.member_id is None and generation in self.leaders:
            return replace(line, member_id=self.leaders[generation])
        return line

    def applied(self, view: View, at_us: int, began_us: int) -> View:
        """Apply what they tell to a view of one moment.

        `began_us` is since when the group is in its state.
        """
        generation = view.generation.value
        in_phase = view.state.value is State.PREPARING_REBALANCE
        since = began_us - BURST_GAP_MS * US_PER_MS
        members = tuple(self._member(member, generation, in_phase, since, at_us) for member in view.members)
        protocol = self.protocols.get(generation) if generation is not None and not in_phase else None
        return replace(
            view,
            members=members,
            protocol=Fact(protocol, CERTAIN) if protocol else view.protocol,
            votes=self._votes(members) or view.votes,
            timers=tuple(self._timer(timer, members, began_us, at_us) for timer in view.timers),
        )

    def _member(self, member: MemberView, generation: int | None, in_phase: bool, since: int, at_us: int) -> MemberView:
        if member.member_id is None or generation is None:
            return member
        rejoined, synced = member.rejoined, member.synced
        if in_phase and rejoined.certainty != CERTAIN:
            rejoined = _done(self.joins.get(member.member_id, []), since, at_us) or rejoined
        elif not in_phase and synced.certainty != CERTAIN:
            sign = self.syncs.get((member.member_id, generation))
            synced = _done([sign] if sign is not None else [], since, at_us) or synced
        has_answered = rejoined if in_phase else synced
        awaited: Fact[bool] = Fact(None if has_answered.value is None else not has_answered.value, has_answered.certainty)
        return replace(member, rejoined=rejoined, synced=synced, awaited=awaited)

    def _votes(self, members: tuple[MemberView, ...]) -> Fact[dict[str, int]] | None:
        """The vote as it would be now.

        Each member for its first protocol that all support; None unless all of them are known.
        """
        offered = [self.preferences.get(member.member_id or "") for member in members]
        known = [names for names in offered if names]
        if not known or len(known) < len(offered):
            return None
        votes: dict[str, int] = {}
        for names in known:
            chosen = next((name for name in names if all(name in other for other in known)), None)
            if chosen is not None:
                votes[chosen] = votes.get(chosen, 0) + 1
        return Fact(votes, INFERRED)

    def _timer(self, timer: TimerView, members: tuple[MemberView, ...], began_us: int, at_us: int) -> TimerView:
        if timer.kind == "session" and timer.member_id in self.sessions:
            heard = [time for time in self.alive.get(timer.member_id or "", ()) if time <= at_us]
            if heard:
                return replace(timer, deadline_ms=max(heard) // US_PER_MS + self.sessions[timer.member_id], certainty=INFERRED)
        timeouts = [self.rebalances.get(member.member_id or "") for member in members]
        known = [timeout for timeout in timeouts if timeout is not None]
        if timer.kind == "join" and known and not timer.is_initial:
            certainty = CERTAIN if len(known) == len(timeouts) else INFERRED
            return replace(timer, deadline_ms=began_us // US_PER_MS + max(known), certainty=certainty)
        return timer


def _done(signs: list[MemberSign], since: int, at_us: int) -> Fact[bool] | None:
    """Whether something was done between two times, and not later."""
    within = [sign for sign in signs if since <= sign.at_us <= at_us]
    if within:
        return Fact(True, min((sign.certainty for sign in within), key=(CERTAIN, INFERRED).index))
    later = [sign for sign in signs if sign.at_us > at_us]
    return Fact(False, later[0].certainty) if later else None


def _sign(event: Event) -> MemberSign:
    is_request = event.witness is Witness.REQUEST
    return MemberSign(arrived_at(event) if is_request else event.time_us, CERTAIN if is_request else INFERRED)


def _join(known: Witnesses, event: Event) -> None:
    """Note an answered JoinGroup; a success tells the generation that began."""
    member = event.member_id or text_field(event, "request_member_id")
    if member is None:
        return
    sign = _sign(event)
    known.joins[member].append(sign)
    known.alive[member].append(event.time_us)
    for name, into in (("session_timeout_ms", known.sessions), ("rebalance_timeout_ms", known.rebalances)):
        value = int_field(event, name)
        if value is not None:
            into[member] = value
    offered = tuple(names_field(event, "protocols"))
    if offered:
        known.preferences[member] = offered
    generation = int_field(event, "response_generation")
    if generation is not None and generation >= 0 and int_field(event, "error_code") in _NO_ERROR:
        _generation(known, generation, text_field(event, "leader_id"), text_field(event, "protocol"), tuple(names_field(event, "members")))


def _generation(known: Witnesses, generation: int, leader: str | None, protocol: str | None, roster: tuple[str, ...]) -> None:
    if leader:
        known.leaders[generation] = leader
    if protocol:
        known.protocols[generation] = protocol
    if roster:
        known.rosters[generation] = roster


def _joined(known: Witnesses, event: Event) -> None:
    """A client has been told its generation."""
    if event.generation is not None:
        _generation(known, event.generation, text_field(event, "leader_id"), text_field(event, "protocol"), ())


def _join_sent(known: Witnesses, event: Event) -> None:
    if event.member_id:
        known.joins[event.member_id].append(_sign(event))


def _synced(known: Witnesses, event: Event) -> None:
    if not event.member_id or event.generation is None or int_field(event, "error_code") not in _NO_ERROR:
        return
    known.syncs.setdefault((event.member_id, event.generation), _sign(event))
    if event.witness is Witness.REQUEST:
        known.alive[event.member_id].append(event.time_us)
    assigned = tuple(names_field(event, "assigned_members"))
    if assigned:
        known.leaders.setdefault(event.generation, event.member_id)
        known.rosters.setdefault(event.generation, assigned)


def _heard(known: Witnesses, event: Event) -> None:
    if event.member_id and int_field(event, "error_code") in _NO_ERROR:
        known.alive[event.member_id].append(arrived_at(event))


def _assignment_made(known: Witnesses, event: Event) -> None:
    """The leader logs whom it has given what."""
    members = tuple(assigned_members(event))
    if event.generation is not None and members:
        known.rosters.setdefault(event.generation, members)


OBSERVERS: Mapping[str, Callable[[Witnesses, Event], None]] = {
    "JoinGroupCompleted": _join,
    "SyncGroupCompleted": _synced,
    "HeartbeatCompleted": _heard,
    "OffsetCommitCompleted": _heard,
    "ClientJoinSent": _join_sent,
    "ClientJoined": _joined,
    "ClientSyncSent": _synced,
    "ClientAssignmentMade": _assignment_made,
}
"""By event."""
