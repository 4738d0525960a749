"""Tenures of member ids: when and how each came and went."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from models.causes import Cause
from models.incidents.absences import act_of, actor_of
from models.incidents.person_reasons import (
    AWAITED_LAST,
    NEVER_SYNCED,
    NEW_MEMBER_ID,
    NOT_BACK,
    NOT_IN_TIME,
    REASON_EVICTED,
    REASON_EXPIRED_MEANWHILE,
    REASON_JOINED,
    REASON_LEFT,
    REASON_POLLED_LATE,
    REASON_REMOVED,
    REASON_SESSION_EXPIRED,
    REJOINED_LAST,
)
from models.kafka.reconstruction.epochs.lines import cause_of_fence
from models.kafka.simulation.scenario import MODERN
from models.rows import MemberSession, Person, Rebalance, RebalanceMember
from models.units import US_PER_MS

_HOW: Mapping[str, str] = {
    REASON_LEFT: "leave",
    REASON_POLLED_LATE: "poll",
    REASON_SESSION_EXPIRED: "expiry",
    REASON_EXPIRED_MEANWHILE: "expiry",
    REASON_EVICTED: "evicted",
    NOT_IN_TIME: "evicted",
    NOT_BACK: "evicted",
    NEVER_SYNCED: "unsynced",
    REASON_REMOVED: "leave",
    NEW_MEMBER_ID: "replaced",
}
"""Kind of departure by the reason of an offender or blocker."""
_FENCED: Mapping[Cause, str] = {
    Cause.SESSION_TIMEOUT: "expiry",
    Cause.REBALANCE_TIMEOUT: "poll",  # it did not do in time what it was asked for
    Cause.SYNC_TIMEOUT: "unsynced",
}
"""Kind of departure by why a consumer group fenced a member."""
ENDED: Mapping[str, str] = {
    "left": "leave",
    "removed": "leave",
    "expired": "expiry",
    "fenced": "expiry",  # it heard that it is no member any more, so that its session was over
    "evicted": "evicted",
    "replaced": "replaced",
}
"""Kind of departure by how a member's session ended."""
AT_THE_END = frozenset({REASON_EXPIRED_MEANWHILE, REASON_EVICTED, NOT_IN_TIME, NOT_BACK})
"""Reasons whose departure ends the join phase instead of beginning it."""
NAMELESS_MEMBER = "a member without a name"
UNNAMED_REASONS: Mapping[str, str] = {
    "member_join": REASON_JOINED,
    "member_leave": REASON_LEFT,
    "poll_timeout": REASON_POLLED_LATE,
    "session_timeout": REASON_SESSION_EXPIRED,
    "rebalance_timeout": REASON_EVICTED,
}
"""Reasons of offenders that no line names, by cause."""
CAME = frozenset({REASON_JOINED, NEW_MEMBER_ID})
COMES = CAME | {REJOINED_LAST, AWAITED_LAST}


@dataclass(slots=True)
class Tenure:
    """A member id of an actor.

    `came_ms` is None if it was there before the logs.
    """

    actor: str
    member_id: str | None
    client_id: str | None
    instance: str | None
    came_ms: int | None = None
    gone_ms: int | None = None
    how: str | None = None
    row: Rebalance | None = None
    """Rebalance in which it went."""
    late: list[tuple[int, int | None]] = field(default_factory=list)
    """Join phases that waited for it: begin of the phase and its own return."""


def departure(act: str) -> str | None:
    """Kind of departure that an act is.

    None if nobody went.
    """
    return _HOW.get(act) or _FENCED.get(cause_of_fence(act))


class Roll:
    """Collects tenures from a group's rows."""

    def __init__(self, parts: Mapping[str, Sequence[RebalanceMember]], sessions: Iterable[MemberSession] = ()) -> None:
        self.parts = parts
        self.sessions = {session.member_id: session for session in sessions}
        self.seen_ms = {
            key: session.first_seen_at // US_PER_MS for key, session in self.sessions.items() if session.first_seen_at is not None
        }
        self.tenures: dict[str, Tenure] = {}
        """Current and former tenures by member id, or by actor without one."""
        self._again = 0
        self._first: Rebalance | None = None
        self._starts_ms: list[int] = []

    def add(self, row: Rebalance) -> None:
        """Take one rebalance, in order of time."""
        phase = JoinPhase(row, *_times(row))
        self._first = self._first or row
        self._starts_ms.append(phase.start_ms)
        for part in sorted(self.parts.get(row.rebalance_id, ()), key=lambda member: member.role == "bystander"):
            self._take(phase, part)
        for person in phase.people:
            if (actor_of(person), person.act in CAME) not in phase.done:
                self._take_person(phase, person)

    def by_actor(self) -> Iterator[tuple[str, list[Tenure]]]:
        """Each actor with its tenures in order of time."""
        tenures_by_actor: defaultdict[str, list[Tenure]] = defaultdict(list)
        for tenure in self.tenures.values():
            tenures_by_actor[tenure.actor].append(tenure)
        for actor, tenures in tenures_by_actor.items():
            tenures.sort(key=lambda stay: -1 if stay.came_ms is None else stay.came_ms)
            for number, lane in enumerate(_lanes(tenures)):
                yield (actor if number == 0 else f"{actor} ({number + 1})"), lane

    def bound(self) -> None:
        """Take from members' sessions what no rebalance tells of tenures.

        To be called after the last rebalance. A coordinator's log names those that come and go, and seldom all members.
        """
        for tenure in self.tenures.values():
            session = self.sessions.get(tenure.member_id or "")
            if tenure.gone_ms is None and session is not None and session.last_seen_at is not None and session.ended_how in ENDED:
                tenure.gone_ms, tenure.how = session.last_seen_at // US_PER_MS, ENDED[session.ended_how]
        room = self._room()
        if room is not None:
            always = [tenure for tenure in self.tenures.values() if tenure.came_ms is None]
            always.sort(key=lambda stay: self.seen_ms.get(stay.member_id or "", -1))
            for tenure in always[room:]:
                tenure.came_ms = self._came_ms(tenure)

    def _room(self) -> int | None:
        """How many members without a known arrival the first rebalance has room for.

        None if it does not tell: a group that is empty afterwards.
        """
        if self._first is None or not (self._first.members_before or self._first.members_after):
            return None
        if self._first.members_before:
            return self._first.members_before
        _, joined_ms = _times(self._first)
        came = sum(tenure.came_ms is not None and tenure.came_ms <= joined_ms for tenure in self.tenures.values())
        return max(0, (self._first.members_after or 0) - came)

    def _came_ms(self, tenure: Tenure) -> int | None:
        """When a member came for which there was no room at first.

        As it is named first, or with the last rebalance before it went.
        """
        seen_ms, gone_ms = self.seen_ms.get(tenure.member_id or ""), tenure.gone_ms
        if seen_ms is None or gone_ms is None or seen_ms < gone_ms:
            return seen_ms
        number = bisect_left(self._starts_ms, gone_ms)
        return self._starts_ms[number - 1] if number else None

    def _take(self, phase: JoinPhase, part: RebalanceMember) -> None:
        before, after = part.session_before, part.session_after
        gone, back = phase.person(part, before, departure), phase.person(part, after, COMES.__contains__)
        if before:
            self._present(before, part)
        if after and after != before and after not in self.tenures:
            self._come(after, part, phase.start_ms + _delay_ms(part), phase)
        if before and before != after and self.tenures[before].gone_ms is None and (part.role != "bystander" or gone is not None):
            session = self.sessions.get(before)
            has_left = session is not None and session.ended_how == "left"
            self._go(self.tenures[before], phase, gone, awaited=gone is None and not has_left and phase.is_return(actor_of(part)))
        if back is not None and back.act == REJOINED_LAST and after and after == before and part.join_delay_seconds is not None:
            self.tenures[after].late.append((phase.start_ms, phase.start_ms + _delay_ms(part)))
        elif back is not None and back.act == AWAITED_LAST and before and before == after:
            self.tenures[before].late.append((phase.start_ms, None))

    def _take_person(self, phase: JoinPhase, person: Person) -> None:
        """Take someone whom only the verdict names."""
        key = person.member_id or actor_of(person)
        if person.act in CAME:
            if key in self.tenures and self.tenures[key].gone_ms is not None:
                self._again += 1
                self.tenures[f"{key}#{self._again}"] = self.tenures.pop(key)
            if key not in self.tenures:
                self._come(key, person, phase.start_ms, phase)
        elif departure(person.act) is not None:
            self._present(key, person)
            if self.tenures[key].gone_ms is None:
                self._go(self.tenures[key], phase, person)

    def _present(self, key: str, who: Person | RebalanceMember) -> None:
        if key not in self.tenures:
            self.tenures[key] = Tenure(actor_of(who), key, who.client_id, who.instance_id)

    def _come(self, key: str, who: Person | RebalanceMember, at_ms: int, phase: JoinPhase) -> None:
        if phase.row.members_before == 0 and at_ms <= phase.start_ms and self.seen_ms.get(key, phase.joined_ms) < phase.joined_ms:
            # Several ids may be handed out before the first of them begins the join phase. One that is first seen after
            # its end joined in it all the same.
            ids = (part.member_id or "" for part in self.parts.get(phase.row.rebalance_id, ()))
            earliest = min((self.seen_ms.get(member_id, phase.start_ms) for member_id in ids), default=phase.start_ms)
            at_ms = phase.start_ms + max(0, self.seen_ms[key] - earliest)
        self.tenures[key] = Tenure(actor_of(who), key, who.client_id, who.instance_id, came_ms=at_ms)
        phase.done.add((actor_of(who), True))

    @staticmethod
    def _go(tenure: Tenure, phase: JoinPhase, person: Person | None, *, awaited: bool = False) -> None:
        """End a tenure; `awaited` is whether the join phase lasted until its session ended."""
        unnamed = REASON_EXPIRED_MEANWHILE if awaited else REASON_SESSION_EXPIRED if phase.is_expiry(tenure.actor) else REASON_LEFT
        reason = person.act if person is not None else unnamed
        how = departure(reason) or "leave"
        if how == "leave" and phase.row.cause == "poll_timeout" and phase.row.protocol == MODERN:
            how = "poll"  # a group epoch has one member, whose own log tells why it left
        tenure.how, tenure.row = how, phase.row
        tenure.gone_ms = phase.joined_ms if reason in AT_THE_END else phase.start_ms
        phase.done.add((tenure.actor, False))


@dataclass(slots=True)
class JoinPhase:
    """A rebalance with the times of its join phase."""

    row: Rebalance
    start_ms: int
    joined_ms: int
    done: set[tuple[str, bool]] = field(default_factory=set)
    """Actors whose departure (False) or arrival (True) was taken."""

    @property
    def people(self) -> tuple[Person, ...]:
        """Offenders and blockers; one without a name where nobody is named."""
        offenders = tuple(self.row.offenders)
        if not offenders and self.row.cause in UNNAMED_REASONS:
            offenders = (Person(None, NAMELESS_MEMBER, None, None, UNNAMED_REASONS[self.row.cause], True),)
        return (*offenders, *self.row.blockers)

    def is_return(self, actor: str) -> bool:
        """Whether a new process began it while its former id was a member."""
        first = next(iter(self.row.offenders), None)
        return act_of(self.row) == "member_restart" and first is not None and first.reason == "joined" and actor_of(first) == actor

    def is_expiry(self, actor: str) -> bool:
        """Whether the member's session ended, and its process came back in the same rebalance."""
        return act_of(self.row) == "session_timeout" and any(actor_of(person) == actor for person in self.row.offenders)

    def person(self, part: RebalanceMember, member_id: str | None, is_meant: Callable[[str], object]) -> Person | None:
        """Offender or blocker for one of some acts, by id or by name."""
        candidates = [person for person in self.people if is_meant(person.act)]
        exact = (person for person in candidates if member_id is not None and person.member_id == member_id)
        return next(exact, next((person for person in candidates if actor_of(person) == actor_of(part)), None))


def _delay_ms(part: RebalanceMember) -> int:
    return round((part.join_delay_seconds or 0.0) * 1000)


def _lanes(tenures: Sequence[Tenure]) -> list[list[Tenure]]:
    """Tenures of one name that can be of one member; names may be shared.

    A tenure follows the one that ended last before it, else one that was already dead.
    """
    lanes: list[list[Tenure]] = []
    for tenure in tenures:
        came_ms = -1 if tenure.came_ms is None else tenure.came_ms
        ended = [lane for lane in lanes if (gone_ms := lane[-1].gone_ms) is not None and gone_ms <= came_ms]
        dead = [lane for lane in lanes if lane not in ended and lane[-1].how in {"expiry", "evicted", "replaced"}]
        lane = max(ended, key=_gone_ms, default=None) or min(dead, key=_gone_ms, default=None)
        if lane is None or tenure.came_ms is None:
            lanes.append([tenure])
        else:
            lane.append(tenure)
    return lanes


def _gone_ms(lane: Sequence[Tenure]) -> int:
    return lane[-1].gone_ms or 0


def _times(row: Rebalance) -> tuple[int, int]:
    """Begin of a rebalance and end of its join phase."""
    start_ms = row.began // US_PER_MS
    joined = row.joined_at if row.joined_at is not None else row.ended_at
    return start_ms, start_ms if joined is None else joined // US_PER_MS
