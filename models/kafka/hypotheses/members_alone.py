"""Causes that remain possible where members' logs alone show a rebalance."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from models import weights
from models.causes import Cause
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.coordinator_changes import follows_load
from models.kafka.hypotheses.departures import is_static
from models.kafka.hypotheses.hypothesis import EARLIER_LINES, LOOK_BACK_US, Hypothesis
from models.kafka.hypotheses.joins import removed_and_back, returned_unseen
from models.kafka.hypotheses.removals import LINE_LAG_US
from models.kafka.observations.actions import (
    ActionKind,
    MemberAction,
)
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.libraries import known_library
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US, HEARD_US
from models.kafka.observations.roster import Roster
from models.tolerances import GROUP_MIN_SESSION_US


def by_members_alone(context: RebalanceContext) -> list[Hypothesis]:
    """Hypotheses by members' logs alone; none where they show nothing.

    Without the coordinator's lines no line shows expiries.
    """
    if follows_load(context.phase, context.timeouts) and not (
        context.arrivals.by_actor or context.departures.by_actor or context.departures.inferred or context.arrivals.inferred
    ):
        return [Hypothesis(cause, share, settled_by=EARLIER_LINES) for cause, share in weights.AFTER_MOVE.of.items()]
    returned = [
        action
        for actor, action in context.arrivals.by_actor.items()
        if actor in context.members.before and not context.known.is_ambiguous(actor)
    ]
    if returned:
        return [Hypothesis(cause, share, returned, EARLIER_LINES) for cause, share in returned_unseen(context, returned).of.items()]
    known_before = context.members.before
    newcomers = [action for actor, action in context.arrivals.by_actor.items() if known_before and actor not in known_before]
    silent, new = context.departures.inferred, [*context.arrivals.inferred, *newcomers]
    if context.departures.by_actor or len(newcomers) < len(context.arrivals.by_actor):
        return []
    if not (silent or new):
        return _work_lost(context.phase, context.known) or removed_and_back(context.phase, context.members)
    if new:
        weight = weights.APPEARED if not silent else weights.APPEARED_AND_SILENT
        of = {Cause.MEMBER_JOIN: new, Cause.MEMBER_RESTART: new}
        return [Hypothesis(cause, share, of.get(cause, silent), EARLIER_LINES) for cause, share in weight.of.items()]
    closed = [action for action in silent if _was_closed(context.phase, action)]
    if closed:
        return [Hypothesis(Cause.MEMBER_LEAVE, weights.CLOSED_AS_IT_WENT.value, closed, EARLIER_LINES)]
    would_tell = all(
        _would_tell_its_leave(context.phase, context.known, context.roster, action)
        or has_missed_a_loss(context.phase, context.members.before.keys() & context.known.clients, action)
        for action in silent
    )
    shares = weights.SILENT_WHERE_LEAVES_ARE_LOGGED if would_tell else weights.SILENT
    if all(context.phase.start - last_heard(context.phase, action) < GROUP_MIN_SESSION_US - LINE_LAG_US for action in silent):
        shares = weights.SILENT_TOO_BRIEFLY_TO_EXPIRE if would_tell else weights.VANISHED
    expired = [replace(action, kind=ActionKind.EXPIRE) for action in silent]
    return [
        Hypothesis(cause, share, expired if cause is Cause.SESSION_TIMEOUT else silent, EARLIER_LINES) for cause, share in shares.of.items()
    ]


def _was_closed(phase: LoggedJoinPhase, departure: MemberAction) -> bool:
    """Whether a client missing from the next generation was closed right before.

    One that is closed without a leave, as static members and Streams are, expires a session later.
    """
    closings = phase.actions_of(ActionKind.CLOSE, start=phase.start - LOOK_BACK_US, end=phase.start + CLOCK_TOLERANCE_US)
    return any(phase.actor(action) == phase.actor(departure) for action in closings)


def _would_tell_its_leave(phase: LoggedJoinPhase, known: GroupKnowledge, roster: Roster, departure: MemberAction) -> bool:
    """Whether the member's log would show its leave, had it left."""
    if is_static(roster, departure):
        return True  # it never leaves by itself (KIP-345)
    actor = phase.actor(departure) or ""
    log = roster.logs.get(actor)
    tells = log is not None and known_library(log.library).logs_leaves
    return tells or (known.leaves_logged and actor in known.tell_joins)


def has_missed_a_loss(phase: LoggedJoinPhase, logged: Set[str], departure: MemberAction) -> bool:
    """Whether all but one member logged the loss of a coordinator.

    It was dead by then, and the next coordinator takes it for a member until its session ends (GroupMetadataManager.loadGroup).
    """
    actor, others = phase.actor(departure), logged - {phase.actor(departure)}
    since, until = last_heard(phase, departure), phase.start - HEARD_US
    losses = phase.actions_of(ActionKind.LOST_COORDINATOR, start=since + 1, end=until)
    return actor in logged and len(others) > 1 and others <= set(map(phase.actor, losses))


def _work_lost(phase: LoggedJoinPhase, known: GroupKnowledge) -> list[Hypothesis]:
    """Hypotheses if Connect waits for a worker that no line names."""
    if phase.window.generation_after not in known.work_lost_in:
        return []
    return [Hypothesis(cause, share, settled_by=EARLIER_LINES) for cause, share in weights.WORKER_LOST.of.items()]


def last_heard(phase: LoggedJoinPhase, vanished: MemberAction) -> int:
    """Time of the last action of a member that vanished."""
    actor = phase.actor(vanished)
    return max(
        (action.at for action in phase.actions if action.at <= phase.start and phase.actor(action) == actor),
        default=0,
    )
