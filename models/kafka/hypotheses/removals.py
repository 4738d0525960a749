"""Members that their coordinator removed, as only they tell."""

from __future__ import annotations

from dataclasses import replace

from models import weights
from models.causes import Cause
from models.events import Witness
from models.kafka.hypotheses.context.departed_members import DepartedMembers
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.context.timeouts_in_force import TimeoutsInForce
from models.kafka.hypotheses.coordinator_changes import had_coordinator_moved
from models.kafka.hypotheses.hypothesis import CLIENT_LOG, EARLIER_LINES, LOOK_BACK_US, Hypothesis
from models.kafka.observations.actions import (
    ActionKind,
    MemberAction,
    is_rebalance_notice,
    says_group_went_on,
    says_unknown_member,
)
from models.tolerances import GROUP_MIN_SESSION_US, USUAL_REBALANCE_TIMEOUTS_MS, int_tolerance
from models.units import FOREVER, US_PER_MS

LINE_LAG_US = int_tolerance("kafka.elimination.line_lag_us")
"""Maximum delay of a client's line after its last request."""


def by_removed_members(context: RebalanceContext) -> list[Hypothesis]:
    """Weigh removals that only members' logs show; none elsewhere."""
    removed = heard_too_late(context) if context.window.witness is Witness.CLIENT else []
    if not removed and (late := _committed_too_late(context.phase, context.members)):
        return [_too_late(cause, share, late) for cause, share in weights.COMMIT_CAME_TOO_LATE.of.items()]
    shares = weights.HEARD_TOO_LATE if len(removed) < 2 else weights.HEARD_TOO_LATE_TOGETHER
    if removed and all(had_coordinator_moved(context.phase, action) for action in removed):
        shares = weights.HEARD_AFTER_FAILOVER
    elif removed and all(_was_awaited_too_long(context.phase, context.timeouts, action) for action in removed):
        shares = weights.HEARD_AFTER_JOIN_PHASE
    elif removed and context.members.before and not any(_may_have_expired(context.phase, action) for action in removed):
        shares = weights.REMOVED_TOO_SOON_TO_EXPIRE
    return [Hypothesis(cause, share, removed, EARLIER_LINES) for cause, share in shares.of.items()] if removed else []


def by_refused_commit(phase: LoggedJoinPhase, rejoin: MemberAction | None) -> list[Hypothesis]:
    """Weigh a member that rejoins since its commit was refused; none else.

    The group had gone on without it, so that nothing of its own had changed.
    """
    if rejoin is None or phase.window.witness is not Witness.CLIENT:
        return []
    actor, since = phase.actor(rejoin), max(phase.previous_end, rejoin.at - LOOK_BACK_US)
    refused = phase.actions_of(ActionKind.COMMIT_REFUSED, start=since, end=rejoin.at + 1)
    late = next((action for action in refused if says_group_went_on(action) and phase.actor(action) == actor), None)
    return [] if late is None else [_too_late(cause, share, [late]) for cause, share in weights.COMMIT_CAME_TOO_LATE.of.items()]


def _too_late(cause: Cause, share: float, late: list[MemberAction]) -> Hypothesis:
    return Hypothesis(cause, share, [] if cause is Cause.MEMBER_JOIN else late, CLIENT_LOG)


def _committed_too_late(phase: LoggedJoinPhase, members: GenerationMembers) -> list[MemberAction]:
    """Members shown out by refused commits or lost partitions alone.

    The group went on without them.
    """
    shown = (action for action in phase.actions if action.kind is ActionKind.LOST or says_group_went_on(action))
    late = [action for action in shown if _begins_unseen(phase, members, action)]
    return list({phase.actor(action): action for action in reversed(late)}.values())


def _was_awaited_too_long(phase: LoggedJoinPhase, timeouts: TimeoutsInForce, removed: MemberAction) -> bool:
    """Whether a member heard of a rebalance, and rejoined too late for it."""
    actor, timeout = phase.actor(removed), timeouts.longest_rebalance_us or USUAL_REBALANCE_TIMEOUTS_MS[0] * US_PER_MS
    actions = [action for action in phase.actions if action.at > phase.previous_end and phase.actor(action) == actor]
    heard = next((action.at for action in actions if is_rebalance_notice(action)), None)
    told_out = next((action.at for action in actions if says_unknown_member(action)), None)
    return heard is not None and told_out is not None and told_out - heard >= timeout


def _may_have_expired(phase: LoggedJoinPhase, removed: MemberAction) -> bool:
    """Whether a session may have passed since the last answer."""
    actor = phase.actor(removed)
    signs = (action for kind in _ANSWERS for action in phase.all_of(kind) if action.at < removed.at)
    answers = (action.at for action in signs if phase.actor(action) == actor)
    return removed.at - max(answers, default=-FOREVER) >= GROUP_MIN_SESSION_US - LINE_LAG_US


_ANSWERS = (ActionKind.JOINED, ActionKind.SYNCED, ActionKind.ASSIGNED)
"""Actions that a member logs as its coordinator has answered."""


def heard_too_late(context: RebalanceContext) -> list[MemberAction]:
    """Members that the coordinator no longer knew, as expiries.

    They heard of it when they next spoke to it.
    """
    first_late: dict[str | None, MemberAction] = {}
    before, after = context.window.generation_before, context.window.generation_after
    following = after if after is not None else (before or 0) + 1
    for action in context.phase.actions:
        actor = context.phase.actor(action)
        if (
            (actor is None and not _begins_unseen(context.phase, context.members, action))
            or action.at <= context.phase.previous_end
            or actor in first_late
        ):
            continue
        if action.kind is ActionKind.JOINED and (action.generation or 0) >= following:
            break
        if (
            _is_out(context.phase, context.members, context.departures, actor, action)
            and says_unknown_member(action)
            and actor not in context.known.shared
        ):
            member_id = context.members.before.get(actor or "", action.member_id)
            first_late[actor] = replace(action, kind=ActionKind.EXPIRE, at=min(action.at, context.phase.start), member_id=member_id)
    return list(first_late.values())


def _is_out(
    phase: LoggedJoinPhase, members: GenerationMembers, departures: DepartedMembers, actor: str | None, action: MemberAction
) -> bool:
    """Whether a member is not in the new generation, and did not leave.

    Some libraries name no generation; there a group that went empty has lost all that were seen.
    """
    unnamed = phase.window.generation_before is None
    was_there = actor in members.before or (unnamed and phase.window.outcome == "empty") or _begins_unseen(phase, members, action)
    return was_there and actor not in members.after and actor not in departures.by_actor


def _begins_unseen(phase: LoggedJoinPhase, members: GenerationMembers, action: MemberAction) -> bool:
    """Whether an action first shows a rebalance of unknown members."""
    window = phase.window
    return not members.before and window.outcome in {"open", "superseded"} and action.at == phase.start
