"""Members without a log, and whether they may have begun a rebalance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from models import weights
from models.causes import Cause
from models.events import Witness, names_field, partition_name
from models.kafka.hypotheses.context.arrived_members import ArrivedMembers
from models.kafka.hypotheses.context.departed_members import DepartedMembers
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.hypothesis import EARLIER_LINES, Hypothesis
from models.kafka.observations.actions import JOIN_REQUESTS, ActionKind, MemberAction, is_rebalance_notice
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.line_delays import HEARD_US

WHOLE_ASSIGNORS = frozenset({"range", "roundrobin", "sticky"})
"""Assignors that give out every partition at once (RangeAssignor, RoundRobinAssignor, StickyAssignor).

Members of a cooperative one name only what they get anew, and some partitions wait for the next generation.
"""


def gaps_in_assignment(phase: LoggedJoinPhase, members: GenerationMembers, known: GroupKnowledge) -> list[MemberAction]:
    """Assignments of all known members between which a partition is missing.

    A member that no line names has it: partitions are numbered from 0, and who gets one of a topic shares it with its other subscribers.
    Those that earlier assignments name are there still. Empty if each is there, or may be.
    """
    generation, began = phase.window.generation_before, phase.window.previous_joined_at
    if generation is None or began is None or not _is_given_out_whole(phase, known.assignors.get(generation)):
        return []
    assigned: dict[str | None, MemberAction] = {}
    for action in phase.actions_of(ActionKind.ASSIGNED, start=began, end=phase.start):
        assigned.setdefault(phase.actor(action), action)
    actors = members.before
    if not actors or any(actor not in assigned or "partitions" not in assigned[actor].event.fields for actor in actors):
        return []
    taken = [assigned[actor] for actor in actors]
    return taken if _has_gap((name for action in taken for name in names_field(action.event, "partitions")), known.last_partitions) else []


def _is_given_out_whole(phase: LoggedJoinPhase, assignor: str | None) -> bool:
    """Whether all partitions are given out at once.

    Clients before 2.4 name no assignor. Where one gives up all that it had once it hears of a rebalance, its assignor is an eager one;
    and only those of that time say that they give up nothing.
    """
    if assignor is not None:
        return assignor in WHOLE_ASSIGNORS
    had: dict[str | None, frozenset[str]] = {}
    heard_by: set[str | None] = set()
    for action in phase.actions:
        actor = phase.actor(action)
        if action.kind is ActionKind.ASSIGNED:
            had[actor] = frozenset(names_field(action.event, "partitions"))
        elif action.kind in JOIN_REQUESTS:
            heard_by.discard(actor)  # a cooperative one gives up after it, as the assignment says
        elif is_rebalance_notice(action):
            heard_by.add(actor)
        elif action.kind is ActionKind.REVOKE and "partitions" in action.event.fields:
            given_up = frozenset(names_field(action.event, "partitions"))
            if not given_up:
                return True
            if actor in heard_by and actor in had:
                return given_up == had[actor]
    return False


def has_one_gone(phase: LoggedJoinPhase, members: GenerationMembers, known: GroupKnowledge) -> bool:
    """Whether a member without a log was in the generation before alone.

    Its partitions are missing there; all members of the next one are known, and each newcomer tells in its log that it came.
    """
    newcomers = members.after.keys() - members.before.keys()
    return members.are_all_known_after and newcomers <= known.tell_joins and bool(gaps_in_assignment(phase, members, known))


def _has_gap(partitions: Iterable[str], last_partitions: Mapping[str, int]) -> bool:
    """Whether a number up to a topic's last one is missing."""
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    for topic, number in filter(None, map(partition_name, partitions)):
        numbers[topic].add(number)
    if not numbers:
        return bool(last_partitions)  # others have them all
    return any(max(*known, last_partitions.get(topic, 0)) >= len(known) for topic, known in numbers.items())


def unless_others_began(context: RebalanceContext, trigger: MemberAction | None, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Leave room for members without a log that may have acted first."""
    rival = _unseen_rival(context, trigger)
    if any(hypothesis.cause is rival for hypothesis in hypotheses) or not _others_unseen(context, trigger):
        return hypotheses
    has_come = trigger is not None and not _may_have_failed(context, trigger)
    share = (weights.SEEN_FIRST_OF_ALL if has_come and _have_unlogged_stayed(context) else weights.SEEN_FIRST).value
    for hypothesis in hypotheses:
        hypothesis.probability *= share
        hypothesis.supporting_actions = [
            *hypothesis.supporting_actions,
            *gaps_in_assignment(context.phase, context.members, context.known),
        ]
    return [*hypotheses, Hypothesis(rival, 1 - share, settled_by=EARLIER_LINES)]


def _unseen_rival(context: RebalanceContext, trigger: MemberAction | None) -> Cause:
    """What began it instead, if the trigger did not."""
    if _has_one_vanished(context.phase, context.members, context.departures):
        return Cause.SESSION_TIMEOUT
    if context.window.outcome == "empty":
        return Cause.MEMBER_RESTART
    if trigger is None or trigger.kind is not ActionKind.LEAVE:
        return Cause.MEMBER_LEAVE
    is_unheard = _is_heard_by_nobody(context.phase, context.members, context.arrivals, trigger)
    return Cause.MEMBER_RESTART if is_unheard and context.arrivals.by_actor.keys() <= context.members.before.keys() else Cause.MEMBER_JOIN


def _others_unseen(context: RebalanceContext, trigger: MemberAction | None) -> bool:
    """Whether members without a log may have started the rebalance."""
    window, members = context.window, context.members
    if not window.generation_before or context.phase.was_empty:
        return False
    if trigger is None or trigger.kind is ActionKind.EXPIRE:
        return False
    if _may_have_failed(context, trigger):
        return True
    is_soon = trigger.at - context.phase.previous_end <= HEARD_US
    leaves_soon = trigger.kind is ActionKind.LEAVE and is_soon  # no heartbeat would have told of an earlier join yet
    if _have_all_logs(context):
        return leaves_soon and _do_others_act(context.phase, members, context.known)
    is_alone = (window.outcome == "empty" or window.joined is None) and len(members.before) < 2
    is_doubtful = trigger.kind not in {ActionKind.JOIN, ActionKind.LEAVE} or is_alone or leaves_soon
    return is_doubtful or _do_others_act(context.phase, members, context.known)


def _may_have_failed(context: RebalanceContext, trigger: MemberAction) -> bool:
    """Whether the trigger may have come to nothing, or too late."""
    return _may_be_unheard(context, trigger) or _has_one_vanished(context.phase, context.members, context.departures)


def _are_all_known(context: RebalanceContext) -> bool:
    """Whether all members of both generations are known by name."""
    members = context.members
    return members.are_all_known_before and (members.are_all_known_after or context.window.outcome == "empty")


def _have_all_logs(context: RebalanceContext) -> bool:
    """Whether all members of both generations have logs."""
    members = context.members
    return _are_all_known(context) and {*members.before, *members.after} <= context.known.clients


def _have_unlogged_stayed(context: RebalanceContext) -> bool:
    """Whether all that have no log are in both generations, under the same id."""
    members, clients = context.members, context.known.clients
    unlogged = {*members.before, *members.after} - clients
    have_stayed = all(members.before.get(actor) == members.after.get(actor) is not None for actor in unlogged)
    return bool(unlogged) and have_stayed and _are_all_known(context)


def _has_one_vanished(phase: LoggedJoinPhase, members: GenerationMembers, departures: DepartedMembers) -> bool:
    """Whether a group went empty though one of its members did not leave.

    Its session may have ended before others left.
    """
    if phase.window.outcome != "empty":
        return False
    late = {phase.actor(action) for action in phase.actions_of(ActionKind.POLL_TIMEOUT)}  # some libraries tell no leave besides
    return any(actor not in departures.by_actor and actor not in late for actor in members.before)


def _may_be_unheard(context: RebalanceContext, trigger: MemberAction) -> bool:
    """Whether a leave may have reached no coordinator, or a former one.

    Or a join may have come after it gave up waiting for assignments.
    """
    phase, known = context.phase, context.known
    if trigger.kind is ActionKind.JOIN:
        is_next = phase.previous is not None and phase.previous.generation_after == phase.window.generation_before
        return is_next and _is_coordinator_silent(phase, known, trigger)
    if trigger.kind is not ActionKind.LEAVE:
        return False
    is_unheard = _is_heard_by_nobody(phase, context.members, context.arrivals, trigger)
    return is_unheard or _is_heard_late(phase, trigger) or _is_coordinator_silent(phase, known, trigger)


def _is_heard_by_nobody(phase: LoggedJoinPhase, members: GenerationMembers, arrivals: ArrivedMembers, leave: MemberAction) -> bool:
    """Whether newcomers joined after a leave that no other member heard of.

    The one that left may have been cut off from its coordinator.
    """
    if leave.event.witness is not Witness.CLIENT or len(members.before) < 2 or phase.window.outcome == "empty":
        return False
    heard = phase.actions_of(ActionKind.REBALANCE_NOTICED, ActionKind.WANTS_REJOIN, start=leave.at)
    return bool(arrivals.by_actor) and not any(map(is_rebalance_notice, heard))


def _is_heard_late(phase: LoggedJoinPhase, trigger: MemberAction) -> bool:
    """Whether nobody heard of the rebalance within a heartbeat interval."""
    kinds = (ActionKind.REBALANCE_NOTICED, ActionKind.WANTS_REJOIN)
    notices = [notice for notice in phase.actions_of(*kinds, start=trigger.at) if is_rebalance_notice(notice)]
    actors = {phase.actor(notice) for notice in notices}
    return len(actors) > 1 and min(notice.at for notice in notices) - trigger.at > HEARD_US


def _is_coordinator_silent(phase: LoggedJoinPhase, known: GroupKnowledge, trigger: MemberAction) -> bool:
    """Whether no SyncGroup of the members was answered until one left."""
    began = phase.window.previous_joined_at
    if began is None or trigger.at - began <= HEARD_US or not known.has_assignments:
        return False
    return not any(phase.actions_of(ActionKind.SYNCED, ActionKind.ASSIGNED, start=began, end=trigger.at))


def _do_others_act(phase: LoggedJoinPhase, members: GenerationMembers, known: GroupKnowledge) -> bool:
    """Whether members without a log came, went, have names or partitions."""
    before = phase.window.generation_before or 0
    earlier = (actors for generation, actors in known.generations.items() if generation <= before)
    named = {*members.after, *(actor for actors in earlier for actor in actors)}
    return known.others_act or any(actor not in known.clients for actor in named) or bool(gaps_in_assignment(phase, members, known))
