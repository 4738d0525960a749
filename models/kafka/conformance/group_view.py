"""Knowledge about a group at one moment, with certainties.

Certain, inferred and unknown, each by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from models.kafka.conformance.explanation import Explanation, is_named
from models.kafka.conformance.learning import may_lose_members
from models.kafka.conformance.tracker import Tracker
from models.kafka.coordinator.classic.group import Group, Member
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.runtime.timers import TimerKind

T = TypeVar("T")
CERTAIN, INFERRED, UNKNOWN = "certain", "inferred", "unknown"


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """A value and how sure it is; None where unknown or absent."""

    value: T | None
    certainty: str


def _fact(value: T | None, *, is_certain: bool) -> Fact[T]:
    return Fact(value, CERTAIN if is_certain else INFERRED)


NOT_KNOWN: Fact[bool] = Fact(None, UNKNOWN)


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member; without an id where no line has named it.

    `rejoined` counts in a join phase, `synced` after it.
    """

    member_id: str | None
    instance_id: str | None
    certainty: str
    rejoined: Fact[bool]
    synced: Fact[bool]
    awaited: Fact[bool]
    """Whether the group waits for its JoinGroup or SyncGroup.

    For the first in a join phase, for the second after it.
    """


@dataclass(frozen=True, slots=True)
class TimerView:
    """A timer that is armed.

    Deadlines hang on timeouts and on heartbeats, which lines seldom tell.
    """

    kind: str
    member_id: str | None
    deadline_ms: int | None
    certainty: str
    is_initial: bool = False
    """Whether it is a step of the initial delay.

    No member's timeout decides that.
    """


@dataclass(frozen=True, slots=True)
class View:
    """A group directly after a line."""

    state: Fact[State]
    generation: Fact[int]
    leader: Fact[str]
    member_count: Fact[int]
    members: tuple[MemberView, ...]
    pending: Fact[tuple[str, ...]]
    static: Fact[dict[str, str | None]]
    """Member id by instance id; None where the id is not told."""
    protocol: Fact[str]
    votes: Fact[dict[str, int]]
    timers: tuple[TimerView, ...]
    rivals: int


def view_of(tracker: Tracker) -> View:
    """Show the group by the best explanation; disputed facts are uncertain.

    Between two lines of one step the model is ahead: only state and generation are those of that moment.
    """
    best, (state, generation) = tracker.best, tracker.state_and_generation
    certainty, group = best.certainty, best.group
    is_unanimous = all(other.state_and_generation == best.state_and_generation for other in tracker.beam[1:])
    known = state is not None or certainty.is_state_sure
    return View(
        state=_fact(state, is_certain=certainty.is_state_sure and is_unanimous) if known else Fact(None, UNKNOWN),
        generation=_fact(generation, is_certain=certainty.is_generation_sure and is_unanimous)
        if generation is not None
        else Fact(None, UNKNOWN),
        leader=_leader(tracker, group),
        member_count=_count(tracker, group),
        members=tuple(_member(best, group, member) for member in group.members.values()) if group is not None else (),
        pending=_pending(best, group),
        static=_static(best, group),
        protocol=Fact(None, UNKNOWN),
        votes=Fact(None, UNKNOWN),
        timers=tuple(_timers(best, group)) if group is not None else (),
        rivals=len(tracker.beam) - 1,
    )


def _leader(tracker: Tracker, group: Group | None) -> Fact[str]:
    best = tracker.best
    if group is None or (group.leader is not None and not is_named(group.leader)):
        return Fact(None, UNKNOWN)
    is_unanimous = all(other.group is not None and other.group.leader == group.leader for other in tracker.beam)
    if group.leader is not None and best.certainty.was_leader_chosen:
        return Fact(None, UNKNOWN)
    is_member = group.leader is None or _is_certain(best, group, group.leader)
    return _fact(group.leader, is_certain=best.certainty.is_leader_sure and is_unanimous and is_member and not best.announced)


def _is_in_phase(group: Group) -> bool:
    return group.state is State.PREPARING_REBALANCE


def _count(tracker: Tracker, group: Group | None) -> Fact[int]:
    best = tracker.best
    if group is None:
        return Fact(0, CERTAIN if best.certainty.is_state_sure else UNKNOWN)
    is_unanimous = all(other.group is not None and len(other.group.members) == len(group.members) for other in tracker.beam)
    certain = best.certainty.is_count_sure and is_unanimous and not best.announced
    if _is_in_phase(group):
        certain = certain and best.sight.shows_joins and not may_lose_members(best)
    return _fact(len(group.members), is_certain=certain)


def _is_certain(explanation: Explanation, group: Group, member_id: str) -> bool:
    """Whether a member surely is one now."""
    certainty = explanation.certainty
    if explanation.announced:
        return False
    if member_id in certainty.waiting or (member_id in certainty.synced and not _is_in_phase(group)):
        return True
    return certainty.is_roster_sure and not (_is_in_phase(group) and may_lose_members(explanation))


def _member(explanation: Explanation, group: Group, member: Member) -> MemberView:
    named = is_named(member.id)
    certain = named and _is_certain(explanation, group, member.id)
    instance = member.instance if member.instance is None or is_named(member.instance) else None
    rejoined, synced = _rejoined(explanation, group, member), _synced(explanation, group, member)
    has_answered = rejoined if _is_in_phase(group) else synced
    awaited = NOT_KNOWN if has_answered.value is None else Fact(not has_answered.value, has_answered.certainty)
    kind = CERTAIN if certain else INFERRED if named else UNKNOWN
    return MemberView(member.id if named else None, instance, kind, rejoined, synced, awaited)


def _rejoined(explanation: Explanation, group: Group, member: Member) -> Fact[bool]:
    certainty = explanation.certainty
    if not _is_in_phase(group) or explanation.announced:
        return NOT_KNOWN
    if member.id in certainty.waiting:
        return Fact(True, CERTAIN)
    if certainty.none_rejoined:
        return Fact(False, CERTAIN if certainty.is_roster_sure else INFERRED)
    return NOT_KNOWN


def _synced(explanation: Explanation, group: Group, member: Member) -> Fact[bool]:
    certainty = explanation.certainty
    if group.state not in (State.COMPLETING_REBALANCE, State.STABLE):
        return NOT_KNOWN
    if member.id in certainty.synced:
        return Fact(True, CERTAIN)
    if certainty.none_synced:
        return Fact(False, CERTAIN if certainty.is_roster_sure else INFERRED)
    return NOT_KNOWN


def _pending(explanation: Explanation, group: Group | None) -> Fact[tuple[str, ...]]:
    sight = explanation.sight
    if group is None:
        return Fact((), CERTAIN if explanation.certainty.is_state_sure else UNKNOWN)
    named = tuple(sorted(name for name in group.pending_join if is_named(name)))
    if not sight.policy.hands_out_member_ids:
        return Fact((), CERTAIN)
    if not sight.shows("MemberIdHandedOut"):
        return Fact(named or None, UNKNOWN)
    return _fact(named, is_certain=sight.shows_pending and not explanation.certainty.is_size_doubted)


def _static(explanation: Explanation, group: Group | None) -> Fact[dict[str, str | None]]:
    """Instances that lines name.

    Before 3.0 a newcomer's line does not tell whether it is a static member.
    """
    if group is None:
        return Fact({}, CERTAIN if explanation.certainty.is_state_sure else UNKNOWN)
    named = {instance: member if is_named(member) else None for instance, member in sorted(group.static.items()) if is_named(instance)}
    if not explanation.sight.policy.knows_static_members:
        return Fact({}, CERTAIN)
    return Fact(named, INFERRED)


def _timers(explanation: Explanation, group: Group) -> Iterator[TimerView]:
    """Timers of the group and of pending ids, by assumed timeouts.

    Sessions are renewed by heartbeats that no line tells.
    """
    waiting = {TimerKind.JOIN: State.PREPARING_REBALANCE, TimerKind.SYNC: State.COMPLETING_REBALANCE}
    for timer in sorted(explanation.coordinator.timers.of_group(group.id), key=lambda timer: (timer.at_ms, timer.kind, timer.member)):
        member = timer.member if is_named(timer.member) else None
        if timer.kind in waiting and group.state in (waiting[timer.kind], State.STABLE):
            yield TimerView(timer.kind.value, None, timer.at_ms, INFERRED, group.is_initial)
        elif timer.kind is TimerKind.CLASSIC_SESSION and timer.member in group.pending_join:
            yield TimerView("pending_member", member, timer.at_ms, INFERRED)
        elif timer.kind is TimerKind.CLASSIC_SESSION and timer.member in group.members:
            if group.members[timer.member].is_new:
                yield TimerView("new_member_join", member, timer.at_ms, INFERRED)
            else:
                yield TimerView("session", member, None, UNKNOWN)
