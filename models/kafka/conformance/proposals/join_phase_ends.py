"""Proposes how a join phase ended."""

from __future__ import annotations

from collections.abc import Iterator

from models.events import Event, int_field, text_field
from models.kafka.conformance.explanation import HiddenInput, is_named
from models.kafka.conformance.scene import Scene, Script
from models.kafka.coordinator.protocol.group_states import State
from models.tolerances import PHASE_OVERRUN_US, PHASE_UNDERRUN_US, USUAL_REBALANCE_TIMEOUTS_MS
from models.units import US_PER_MS

UNSEEN_MAX = 10_000
"""Newcomers proposed at most, whatever count a line states."""

DEADLINE = HiddenInput("end_join_phase")
"""Comes for whoever has not joined."""


def propose_generation(scene: Scene) -> Iterator[Script]:
    """Propose the end of a join phase.

    The last awaited member joined, or one that was awaited left, or the deadline came.
    """
    count = int_field(scene.line, "member_count")
    leaving, roster = _leaves_last(scene), scene.names("roster")
    if roster:  # another witness names them all
        yield Script((HiddenInput("hold_open"), HiddenInput("be_only", (*roster, *leaving)), *_all_rejoined(scene, leaving)))
        return
    surplus = 0 if count is None else count + len(leaving) - len(scene.members)
    if surplus > 0:
        yield Script((*_joined_unseen(scene, surplus), *_all_rejoined(scene, leaving)), "unnamed")
    elif surplus < 0:
        gone = unproven_members(scene, -surplus, leaving)
        yield Script((HiddenInput("vanish", gone), *_all_rejoined(scene, (*leaving, *gone))), "vanished")
    else:
        deadline_members = () if leaving else tuple(_deadline_met(scene))
        yield from deadline_members
        yield Script(_all_rejoined(scene, leaving), "held_up" if deadline_members else "stated")


def _deadline_met(scene: Scene) -> Iterator[Script]:
    """The deadline of a phase that lasted a usual rebalance timeout.

    Before 2.7 no line tells who was removed.
    """
    group = scene.group
    if group is None or group.is_initial or group.state_since_ms is None or scene.explanation.sight.shows("MembersNotRejoined"):
        return
    lasted_us = scene.line.time_us - group.state_since_ms * US_PER_MS
    if not any(-PHASE_UNDERRUN_US <= lasted_us - usual * US_PER_MS <= PHASE_OVERRUN_US for usual in USUAL_REBALANCE_TIMEOUTS_MS):
        return
    another = (HiddenInput("be_another"),) if len(scene.members) < 2 else ()
    absent = unproven_members(scene, 1, ())
    yield Script((*another, HiddenInput("park_none", absent), HiddenInput("rejoin_rest", absent), DEADLINE), "usual")


def _leaves_last(scene: Scene) -> tuple[str, ...]:
    """Propose whose departure ended the phase.

    From 3.0 to 3.9 the line of the leave follows what it sets off.
    """
    following = scene.ahead[0] if scene.ahead else None
    if not scene.explanation.sight.policy.tells_leave_last or following is None or following.name != "MemberLeft":
        return ()
    return (following.member_id or "",)


def _joined_unseen(scene: Scene, count: int) -> Iterator[HiddenInput]:
    """Propose newcomers without a line.

    Ids that were handed out, as far as they reach, else unnamed ones.
    """
    count = min(count, UNSEEN_MAX)
    group = scene.group
    pending = sorted(name for name in group.pending_join if is_named(name)) if group is not None else []
    named = tuple(pending) if len(pending) <= count else ()
    if count > 0:
        yield HiddenInput("hold_open")
    if named:
        yield HiddenInput("join_pending", named)
    for _ in range(count - len(named)):
        yield HiddenInput("join_unseen")


def unproven_members(scene: Scene, count: int, but: tuple[str, ...]) -> tuple[str, ...]:
    """Propose members that went unseen.

    Those of whom nothing is proven, unnamed ones and the latest first, the leader last.
    """
    proven, group = scene.explanation.certainty.waiting, scene.group
    leader = None if group is None else group.leader
    latest = list(scene.members)[::-1]
    latest.sort(key=lambda member: (member in but, member in proven, member == leader, is_named(member)))
    return tuple(latest[:count])


def _all_rejoined(scene: Scene, but: tuple[str, ...]) -> tuple[HiddenInput, ...]:
    leaving = _leaves_last(scene)
    ended = (HiddenInput("release"), HiddenInput("leave", leaving)) if leaving else ()
    return (*scene.missing(*leaving), HiddenInput("rejoin_rest", but), *ended, HiddenInput("end_if_open"))


def propose_removals(scene: Scene) -> Iterator[Script]:
    """Propose who missed the deadline; everybody else had joined.

    Static members stay, whether they had or not.
    """
    absent = scene.names("members")
    replaced = scene.next("LeaderReplaced", "NoMemberRejoined", "GenerationStarted", "GroupEmptied")
    inputs: list[HiddenInput] = [*scene.missing(*absent), HiddenInput("be_dynamic", absent)]
    if any(member not in scene.members for member in absent):
        inputs.append(HiddenInput("park_none", absent))
    if replaced is not None and replaced.name == "GenerationStarted":
        count = int_field(replaced, "member_count")
        known = len(set(scene.members) | set(absent)) - len(absent)
        inputs += _joined_unseen(scene, max(0, (count or 0) - known))
    if replaced is not None and replaced.name == "NoMemberRejoined":
        inputs.append(HiddenInput("be_static", tuple(member for member in scene.members if member not in absent)))
    elif replaced is not None and replaced.name == "LeaderReplaced":
        inputs += _election(scene, replaced, absent)
    else:
        inputs.append(HiddenInput("rejoin_rest", absent))
    yield Script((*inputs, HiddenInput("park_none", absent), DEADLINE))


def _election(scene: Scene, line: Event, absent: tuple[str, ...] = ()) -> Iterator[HiddenInput]:
    """Propose that a static leader stayed away.

    Who leads now had joined, and so had all others that are no static members.
    """
    old, new = line.member_id or "", text_field(line, "new_leader") or ""
    yield HiddenInput("lead", (old,))
    yield HiddenInput("be_static", (old,), line.instance_id)
    yield from scene.missing(new)
    yield HiddenInput("elect", (new,))
    yield HiddenInput("rejoin_rest", (*absent, old))


def propose_leader_change(scene: Scene) -> Iterator[Script]:
    """Its line names no group: only members can tell whose it is."""
    new = text_field(scene.line, "new_leader")
    if scene.state is State.PREPARING_REBALANCE and (scene.line.member_id in scene.members or new in scene.members):
        yield Script((*_election(scene, scene.line), HiddenInput("park_none", (scene.line.member_id or "",)), DEADLINE))


def propose_static_absence(scene: Scene) -> Iterator[Script]:
    """Propose that only static members were left, and none rejoined."""
    yield Script((HiddenInput("be_static", tuple(scene.members)), HiddenInput("park_none", tuple(scene.members)), DEADLINE))


def propose_empty_group(scene: Scene) -> Iterator[Script]:
    """Propose how the group became empty.

    The line of who went is missing, or a pending id held the phase open until now.
    """
    leaving = _leaves_last(scene)
    gone = tuple(member for member in scene.members if member not in leaving)
    ended = (*scene.missing(*leaving), HiddenInput("leave", leaving)) if leaving else ()
    yield Script(((HiddenInput("vanish", gone), *ended) if gone else ended) + (HiddenInput("end_if_open"),))
