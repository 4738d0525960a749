"""The smallest sets of hidden inputs that can make the model say a line, by event, state and version.

Each proposer returns scripts, best first. What another line of the same burst tells is taken from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from models.events import Event
from models.kafka.conformance.explanation import HiddenInput, is_named
from models.kafka.conformance.scene import Scene, Script
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.priors import PHASE_OVERRUN_US, PHASE_UNDERRUN_US, USUAL_REBALANCE_TIMEOUTS_MS
from models.kafka.observations.actions import int_field, names_field, text_field
from models.units import US_PER_MS

Proposer = Callable[[Scene], Iterable[Script]]

PENDING = HiddenInput("be_pending")
"""An id is out that no line has told."""
DEADLINE = HiddenInput("end_join_phase")
"""Comes for whoever has not joined."""


def proposals(scene: Scene) -> Iterator[Script]:
    """Scripts for a line; none where the line changes nothing."""
    proposer = PROPOSERS.get(scene.line.name)
    if proposer is None:
        return
    yield from proposer(scene)


def standing(scene: Scene) -> tuple[HiddenInput, ...]:
    """Where the group must have been for this line, if the model does not have it there."""
    line, certainty = scene.line, scene.explanation.certainty
    if line.group is None or line.name not in PROPOSERS:
        return ()
    told = _told_before(scene)
    state, generation = scene.explanation.standing
    began = line if line.name == "RebalanceStarted" else scene.next("RebalanceStarted")
    told_generation = began.generation if began is not None else _generation_before(line)
    if state is None and told is None and told_generation is None:
        told = None if line.name in CREATING else State.EMPTY if line.name in PENDING_LINES else State.STABLE
    elif state is None and told is None:
        told = State.EMPTY if told_generation == 0 else State.STABLE
    is_elsewhere = told is not None and told is not state
    is_other = told_generation is not None and (generation is None or told_generation != generation)
    if not is_elsewhere and not (is_other and (not certainty.generation or line.name == "RebalanceStarted")):
        return ()
    return (HiddenInput("adopt", generation=told_generation, state=told),)


PENDING_LINES = frozenset({"PendingMemberLeft", "PendingMemberExpired"})
"""All that may ever be written of a group that nobody has joined."""
CREATING = frozenset({"SimpleGroupCreated", "GroupsDeleted", "GroupLoaded", "GroupUnloaded", "GroupDied", "MemberLoaded"})


def _told_before(scene: Scene) -> State | None:
    """The state before a line, where it prints one or allows but one."""
    line = scene.line
    if line.name in ("MemberAdded", "PendingMemberJoined", "MemberIdHandedOut", "StaticMemberReplaced"):
        return scene.told_state
    if line.name == "RebalanceStarted":
        state = scene.state
        return State.STABLE if state is State.PREPARING_REBALANCE else None
    if line.name in ("GenerationStarted", "GroupEmptied", "MembersNotRejoined", "NoMemberRejoined"):
        return State.PREPARING_REBALANCE
    if line.name == "AssignmentReceived" and line.generation is not None and scene.state is State.PREPARING_REBALANCE:
        return State.COMPLETING_REBALANCE
    return None


def _generation_before(line: Event) -> int | None:
    """The generation before a line that tells one."""
    if line.generation is None:
        return None
    if line.name in ("GenerationStarted", "GroupEmptied"):
        return line.generation - 1
    return line.generation if line.name == "AssignmentReceived" else None


# -- who comes ---------------------------------------------------------------------------------------------------


def _added(scene: Scene) -> Iterator[Script]:
    """A newcomer without an id. Before 3.0 the reason alone tells whether it is a static one."""
    began = scene.next("RebalanceStarted")
    named = began if began is not None and text_field(began, "reason_member_id") == scene.member_id else None
    instance = scene.line.instance_id or (text_field(named, "reason_instance_id") if named is not None else None)
    yield from _perhaps_held(scene, HiddenInput("join", (scene.member_id,), instance))


def _pending_joined(scene: Scene) -> Iterator[Script]:
    yield from _perhaps_held(scene, HiddenInput("join_pending", (scene.member_id,)))


def _handed_out(scene: Scene) -> Iterator[Script]:
    yield Script((HiddenInput("hand_out", (scene.member_id,)),))


def _replaced(scene: Scene) -> Iterator[Script]:
    """The new id stands in the line until 2.8, later in the reason of the rebalance that follows, if one does."""
    line, began = scene.line, scene.next("RebalanceStarted")
    old = text_field(line, "old_member_id") or ""
    reason = text_field(began, "reason_id") if began is not None else None
    is_meant = reason in ("static_member_update", "static_member_protocol_change")
    new = line.member_id or (text_field(began, "reason_member_id") if began is not None and is_meant else None)
    pair = (old, new) if new else (old,)
    changes = reason == "static_member_protocol_change"
    yield from _perhaps_held(scene, *scene.missing(old), HiddenInput("replace", pair, line.instance_id, changed=changes))


# -- a join phase begins -----------------------------------------------------------------------------------------


def _began(scene: Scene) -> Iterator[Script]:
    reason = text_field(scene.line, "reason_id")
    by_reason = REASONS.get(reason or "")
    yield from by_reason(scene) if by_reason is not None else _began_somehow(scene)


def _new_member(scene: Scene) -> Iterator[Script]:
    """The newcomer's own line is hidden: it came with an id that was handed out, or before such lines were written."""
    member, instance = scene.member_id, text_field(scene.line, "reason_instance_id")
    sight = scene.explanation.sight
    via_id = sight.policy.hands_out_member_ids and instance is None and sight.shows("MemberAdded")
    if via_id:
        yield from _perhaps_held(scene, HiddenInput("join_pending", (member,)))
    else:
        yield from _perhaps_held(scene, HiddenInput("join", (member,) if member else (), instance))


def _rejoined(scene: Scene) -> Iterator[Script]:
    """A member joined again: the leader, or one with other metadata than before."""
    member = scene.member_id
    leads = text_field(scene.line, "reason_id") == "leader_rejoin"
    known = (HiddenInput("lead", (member,)),) if leads else scene.missing(member)
    yield from _perhaps_held(scene, *known, HiddenInput("rejoin", (member,), changed=not leads))


def _left_by_reason(scene: Scene) -> Iterator[Script]:
    members = scene.names("reason_members") or ((scene.member_id,) if scene.member_id else ())
    if members:
        yield from _perhaps_held(scene, *scene.missing(*members), HiddenInput("leave", members))


def _expired_by_reason(scene: Scene) -> Iterator[Script]:
    yield from _expired(scene)


def _replaced_by_reason(scene: Scene) -> Iterator[Script]:
    """The line of the replacement is lost: who the new id belonged to can't be told unless the instance is known."""
    member, instance = scene.member_id, text_field(scene.line, "reason_instance_id")
    old = scene.group.static.get(instance or "") if scene.group is not None else None
    replaced = HiddenInput("replace", (old, member) if old else (), instance, changed=True)
    yield Script((replaced,) if old else (HiddenInput("be_member", (member,)), HiddenInput("rejoin", (member,), changed=True)))


def _sync_missed(scene: Scene) -> Iterator[Script]:
    """SyncGroup never came. Only members can be removed; ids of members that were replaced may be among those waited for."""
    members = scene.names("reason_members") or scene.names("members")
    unnamed = sum(not is_named(member) for member in scene.members)
    unknown = [member for member in members if member not in scene.members]
    if not scene.explanation.sight.policy.sync_needs_members and len(unknown) < len(members):
        unknown = unknown[:unnamed]
    yield from _perhaps_held(scene, *scene.missing(*unknown), HiddenInput("end_sync_wait", members))


def _not_stored(scene: Scene) -> Iterator[Script]:
    member = scene.member_id
    yield Script((*((HiddenInput("lead", (member,)),) if member else ()), HiddenInput("sync", changed=True)))


def _began_somehow(scene: Scene) -> Iterator[Script]:
    """No reason is given (until 2.0) or known: a newcomer, the leader again, or a member that left unseen."""
    leader = scene.group.leader if scene.group is not None else None
    if scene.state is State.EMPTY or not scene.members:
        yield Script((HiddenInput("join"),), "usual")
        return
    yield Script((HiddenInput("join"),), "unnamed")
    if leader is not None and leader in scene.members:
        yield Script((HiddenInput("rejoin", (leader,), changed=True),), "unnamed")
    if not scene.explanation.sight.shows("MemberLeft"):
        other = next((member for member in scene.members if member != leader), leader)
        yield Script((HiddenInput("leave", (other,) if other else ()),), "unnamed")


REASONS: Mapping[str, Proposer] = {
    "new_member": _new_member,
    "update_metadata": _rejoined,
    "leader_rejoin": _rejoined,
    "member_joining": _rejoined,
    "leave": _left_by_reason,
    "heartbeat_expiration": _expired_by_reason,
    "static_member_update": _replaced_by_reason,
    "static_member_protocol_change": _replaced_by_reason,
    "pending_sync_expiration": _sync_missed,
    "sync_store_error": _not_stored,
}
"""By the reason that the line of a beginning gives."""


# -- who goes ----------------------------------------------------------------------------------------------------


def _left(scene: Scene) -> Iterator[Script]:
    """One member after the other, or, since the coordinator in Java, all of one request in one step."""
    leaving = list(scene.run_of("MemberLeft", "PendingMemberLeft"))
    if scene.explanation.sight.policy.leaves_in_one_step and len(leaving) > 1:
        yield Script(tuple(_all_left(scene, leaving)), "stated")
    yield from _perhaps_held(scene, *_all_left(scene, leaving[:1]))


def _all_left(scene: Scene, lines: list[Event]) -> Iterator[HiddenInput]:
    members = tuple(line.member_id or "" for line in lines)
    pending = tuple(line.member_id or "" for line in lines if line.name == "PendingMemberLeft")
    yield from _pending(scene, *pending)
    yield from scene.missing(*(member for member in members if member not in pending))
    yield HiddenInput("leave", members)


def _expired(scene: Scene) -> Iterator[Script]:
    yield from _perhaps_held(scene, *scene.missing(scene.member_id), HiddenInput("expire", (scene.member_id,)))


def _pending_left(scene: Scene) -> Iterator[Script]:
    yield from _left(scene)


def _pending_expired(scene: Scene) -> Iterator[Script]:
    yield from _perhaps_held(scene, *_pending(scene, scene.member_id), HiddenInput("expire", (scene.member_id,)))


def _pending(scene: Scene, *members: str) -> tuple[HiddenInput, ...]:
    """That these ids were out; one that stands for an id untold is what they were."""
    known = scene.group.pending_join if scene.group is not None else set()
    unknown = tuple(member for member in members if member not in known)
    if not unknown:
        return ()
    unnamed = tuple(sorted(each for each in known if not is_named(each)))[: len(unknown)]
    return (*((HiddenInput("forget_pending", unnamed),) if unnamed else ()), HiddenInput("be_pending", unknown))


TOUCHING = frozenset({"rejoin", "leave", "expire", "replace", "end_sync_wait", "be_member"})
"""Inputs after which fewer members may be awaited."""


def _perhaps_held(scene: Scene, *inputs: HiddenInput) -> Iterator[Script]:
    """The inputs, and the same while an id is out that holds the join phase open, where one may be."""
    yield Script(inputs)
    group, sight = scene.group, scene.explanation.sight
    if group is None or group.state is State.EMPTY:
        return
    named = {member for hidden in inputs for member in hidden.members}
    touched = sum(len(hidden.members) for hidden in inputs if hidden.kind in TOUCHING)
    is_awaiting = len(group.members) - group.waiting > touched or bool(group.pending_join - named)
    if is_awaiting or (group.is_initial and not touched and group.state is State.PREPARING_REBALANCE):
        return  # others are awaited, and the phase goes on anyway
    if sight.policy.hands_out_member_ids:
        yield Script((PENDING, *inputs), "held_up")
    if not sight.shows_joins and not scene.explanation.certainty.roster:
        yield Script((HiddenInput("be_another"), *inputs), "unnamed")


# -- a join phase ends -------------------------------------------------------------------------------------------


def _generation_started(scene: Scene) -> Iterator[Script]:
    """The last awaited member joined, or one that was awaited left, or the deadline came."""
    count = int_field(scene.line, "member_count")
    leaving, roster = _leaves_last(scene), scene.names("roster")
    if roster:  # another witness names them all
        yield Script((HiddenInput("hold_open"), HiddenInput("be_only", (*roster, *leaving)), *_all_rejoined(scene, leaving)))
        return
    more = 0 if count is None else count + len(leaving) - len(scene.members)
    if more > 0:
        yield Script((*_joined_unseen(scene, more), *_all_rejoined(scene, leaving)), "unnamed")
    elif more < 0:
        gone = _vanished(scene, -more, leaving)
        yield Script((HiddenInput("vanish", gone), *_all_rejoined(scene, (*leaving, *gone))), "vanished")
    else:
        met = () if leaving else tuple(_deadline_met(scene))
        yield from met
        yield Script(_all_rejoined(scene, leaving), "held_up" if met else "stated")


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
    absent = _vanished(scene, 1, ())
    yield Script((*another, HiddenInput("park_none", absent), HiddenInput("rejoin_rest", absent), DEADLINE), "usual")


def _leaves_last(scene: Scene) -> tuple[str, ...]:
    """Who left and thereby ended the phase: from 3.0 to 3.9 the line of the leave follows what it sets off."""
    following = scene.ahead[0] if scene.ahead else None
    if not scene.explanation.sight.policy.tells_leave_last or following is None or following.name != "MemberLeft":
        return ()
    return (following.member_id or "",)


def _joined_unseen(scene: Scene, count: int) -> Iterator[HiddenInput]:
    """Newcomers without a line: ids that were handed out, as far as they reach, else unnamed ones."""
    group = scene.group
    pending = sorted(each for each in group.pending_join if is_named(each)) if group is not None else []
    named = tuple(pending) if len(pending) <= count else ()
    if count > 0:
        yield HiddenInput("hold_open")
    if named:
        yield HiddenInput("join_pending", named)
    for _ in range(count - len(named)):
        yield HiddenInput("join_unseen")


def _vanished(scene: Scene, count: int, but: tuple[str, ...]) -> tuple[str, ...]:
    """Members of whom nothing is proven, unnamed ones and the latest first, the leader last."""
    proven, group = scene.explanation.certainty.waiting, scene.group
    leader = None if group is None else group.leader
    latest = list(scene.members)[::-1]
    latest.sort(key=lambda member: (member in but, member in proven, member == leader, is_named(member)))
    return tuple(latest[:count])


def _all_rejoined(scene: Scene, but: tuple[str, ...]) -> tuple[HiddenInput, ...]:
    leaving = _leaves_last(scene)
    ended = (HiddenInput("release"), HiddenInput("leave", leaving)) if leaving else ()
    return (*scene.missing(*leaving), HiddenInput("rejoin_rest", but), *ended, HiddenInput("end_if_open"))


def _not_rejoined(scene: Scene) -> Iterator[Script]:
    """The deadline came; everybody else had joined. Static members stay, whether they had or not."""
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
    """A static leader stayed away; who leads now had joined, and so had all others that are no static members."""
    old, new = line.member_id or "", text_field(line, "new_leader") or ""
    yield HiddenInput("lead", (old,))
    yield HiddenInput("be_static", (old,), line.instance_id)
    yield from scene.missing(new)
    yield HiddenInput("elect", (new,))
    yield HiddenInput("rejoin_rest", (*absent, old))


def _leader_replaced(scene: Scene) -> Iterator[Script]:
    """Its line names no group: only members can tell whose it is."""
    new = text_field(scene.line, "new_leader")
    if scene.state is State.PREPARING_REBALANCE and (scene.line.member_id in scene.members or new in scene.members):
        yield Script((*_election(scene, scene.line), HiddenInput("park_none", (scene.line.member_id or "",)), DEADLINE))


def _nobody_rejoined(scene: Scene) -> Iterator[Script]:
    yield Script((HiddenInput("be_static", tuple(scene.members)), HiddenInput("park_none", tuple(scene.members)), DEADLINE))


def _emptied(scene: Scene) -> Iterator[Script]:
    """Nobody is left: the line of who went is missing, or a pending id held the phase open until now."""
    leaving = _leaves_last(scene)
    gone = tuple(member for member in scene.members if member not in leaving)
    ended = (*scene.missing(*leaving), HiddenInput("leave", leaving)) if leaving else ()
    yield Script(((HiddenInput("vanish", gone), *ended) if gone else ended) + (HiddenInput("end_if_open"),))


# -- the assignment ----------------------------------------------------------------------------------------------


def _assigned(scene: Scene) -> Iterator[Script]:
    """The leader's SyncGroup. Since 3.0 the line names it; whom it left out stands in the next one."""
    member, empty = scene.line.member_id, scene.next("EmptyAssignmentsSet")
    left_out = tuple(names_field(empty, "members")) if empty is not None else ()
    given_none = tuple(line.member_id or "" for line in scene.run_of("EmptyAssignmentSent") if line is not scene.line)
    led = (HiddenInput("lead", (member,)),) if member else ()
    after = scene.next("RebalanceStarted", "GroupStoreFailed")
    fails = after is not None and (after.name == "GroupStoreFailed" or text_field(after, "reason_id") == "sync_store_error")
    if scene.state is not State.COMPLETING_REBALANCE:
        led = (HiddenInput("adopt", generation=scene.line.generation, state=State.COMPLETING_REBALANCE), *led)
    known = scene.missing(*left_out, *given_none)
    count = int_field(scene.line, "member_count")
    more = len({*scene.members, *left_out, *given_none}) - (count or 0)
    if known and count is not None and more > 0:
        named = (member or "", *left_out, *given_none)
        known = (HiddenInput("vanish", _vanished(scene, more, named)), *known)
    yield Script((*led, *known, HiddenInput("sync_empty", given_none) if given_none else HiddenInput("sync", left_out, changed=fails)))


# -- the group itself --------------------------------------------------------------------------------------------


def _deleted(scene: Scene) -> Iterator[Script]:
    if scene.explanation.group_id in names_field(scene.line, "groups"):
        yield Script((HiddenInput("delete") if scene.state is State.EMPTY else HiddenInput("die"),))


def _died(scene: Scene) -> Iterator[Script]:  # noqa: ARG001
    yield Script((HiddenInput("die"),))


def _created(scene: Scene) -> Iterator[Script]:  # noqa: ARG001
    yield Script((HiddenInput("commit"),))


def _cleaned_up(scene: Scene) -> Iterator[Script]:
    """Java's clean-up tells how much it wrote, the end of a group among it, and not of which."""
    sight = scene.explanation.sight
    if scene.state is State.EMPTY and not sight.shows("GroupDied") and (int_field(scene.line, "offsets_count") or 0) > 0:
        yield Script((HiddenInput("die"),), "usual")


def _member_loaded(scene: Scene) -> Iterator[Script]:
    """One record of a member; of older generations, too, before the last one."""
    yield Script((HiddenInput("read_member", (scene.member_id,), scene.line.instance_id, scene.line.generation),))


def _loaded(scene: Scene) -> Iterator[Script]:
    """Another coordinator reads the group: what the old one wrote last, or what lines tell of that."""
    explanation, line = scene.explanation, scene.line
    count, read = int_field(line, "member_count"), explanation.loading
    members = tuple(member for member, generation in read.items() if generation in (None, line.generation))
    if count is None and members:
        count = len(members)
    inputs = [HiddenInput("load")]
    has_members = count > 0 if count is not None else bool(scene.members) or (line.generation or 0) > 0
    inputs.append(HiddenInput("adopt_loaded", members, generation=line.generation, state=State.STABLE if has_members else State.EMPTY))
    yield Script(tuple(inputs))


def _unloaded(scene: Scene) -> Iterator[Script]:
    """An old coordinator may clear what another one has taken over already."""
    if scene.line.node is None or scene.explanation.node in (None, scene.line.node):
        yield Script((HiddenInput("unload"),))


PROPOSERS: Mapping[str, Proposer] = {
    "MemberAdded": _added,
    "PendingMemberJoined": _pending_joined,
    "MemberIdHandedOut": _handed_out,
    "StaticMemberReplaced": _replaced,
    "RebalanceStarted": _began,
    "MemberLeft": _left,
    "MemberFailed": _expired,
    "PendingMemberLeft": _pending_left,
    "PendingMemberExpired": _pending_expired,
    "GenerationStarted": _generation_started,
    "MembersNotRejoined": _not_rejoined,
    "LeaderReplaced": _leader_replaced,
    "NoMemberRejoined": _nobody_rejoined,
    "GroupEmptied": _emptied,
    "AssignmentReceived": _assigned,
    "SyncMissing": _sync_missed,
    "GroupsDeleted": _deleted,
    "GroupDied": _died,
    "SimpleGroupCreated": _created,
    "OffsetsExpired": _cleaned_up,
    "GroupLoaded": _loaded,
    "GroupUnloaded": _unloaded,
    "MemberLoaded": _member_loaded,
}
"""By the event of a line. What is not here changes nothing in the model."""
