"""Members that the coordinator had removed, as only their own logs show it."""

from __future__ import annotations

from dataclasses import replace

from models import weights
from models.causes import Cause
from models.events import Witness
from models.kafka.hypotheses.hypothesis import CLIENT_LOG, EARLIER_LINES, Hypothesis
from models.kafka.hypotheses.timeouts import TIMEOUT_TOLERANCE_US, had_coordinator_moved, rebalance_timeout_us
from models.kafka.hypotheses.window import RebalanceContext
from models.kafka.observations.actions import ActionKind, MemberAction, is_rebalance_notice, says_group_went_on, says_unknown_member
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.tolerances import GROUP_MIN_SESSION_US, USUAL_REBALANCE_TIMEOUTS_MS, whole
from models.units import FOREVER, US_PER_MS

LINE_LAG_US = whole("kafka.elimination.line_lag_us")
"""Maximum delay of a client's line after its last request."""


def removed_and_back(context: RebalanceContext) -> list[Hypothesis]:
    """Hypotheses where a member that the coordinator had removed joins anew."""
    if context.members_before:
        return []
    joined = {context.actor(action) for action in context.actions_of(ActionKind.JOINED)}
    back = [
        action
        for action in context.actions_of(ActionKind.FENCED, ActionKind.JOIN_FAILED)
        if context.actor(action) in joined and (says_unknown_member(action) or "UNKNOWN_MEMBER_ID" in (action.why or ""))
    ]
    actors = {context.actor(action): action for action in reversed(back)}
    return [Hypothesis(cause, share, list(actors.values()), EARLIER_LINES) for cause, share in weights.RETURNED_UNSEEN.of.items() if actors]


def by_missed_syncs(context: RebalanceContext) -> list[Hypothesis]:
    """Weigh members that sent no SyncGroup, where the coordinator's log is missing.

    It removes them once the rebalance timeout is over, and refuses the SyncGroup of those that waited (ClassicGroup, KAFKA-13688).
    """
    began, previous = context.window.previous_joined_at, context.previous
    if context.window.witness is Witness.COORDINATOR or began is None or previous is None:
        return []
    answered = context.actions_of(ActionKind.SYNCED, ActionKind.ASSIGNED, start=began, end=context.start)
    if any(answered) if context.window.witness is Witness.CLIENT else previous.outcome == "stable":
        return []
    refused = list(context.actions_of(ActionKind.SYNC_FAILED, start=began, end=context.start + CLOCK_TOLERANCE_US))
    known = rebalance_timeout_us(context)
    timeouts = [known] if known is not None else [timeout_ms * US_PER_MS for timeout_ms in USUAL_REBALANCE_TIMEOUTS_MS]
    waited = [action for action in refused if any(abs(action.at - began - timeout) <= TIMEOUT_TOLERANCE_US for timeout in timeouts)]
    if not waited or any(action.why and SYNC_REFUSED not in action.why for action in waited):
        return []
    sent = {context.actor(action) for action in refused}
    missing = [
        replace(waited[0], kind=ActionKind.SYNC_MISSED, member_id=member_id, client_id=actor, instance_id=None, why=None)
        for actor, member_id in context.members_before.items()
        if actor not in sent and actor not in context.members_after
    ]
    return [Hypothesis(Cause.SYNC_TIMEOUT, weights.SYNC_AWAITED_IN_VAIN.value, missing, EARLIER_LINES)]


SYNC_REFUSED = "REBALANCE_IN_PROGRESS"
"""Error of a SyncGroup that waited for one that never came."""


def by_removed_members(context: RebalanceContext) -> list[Hypothesis]:
    """Weigh removals that only members' logs show; none elsewhere."""
    removed = heard_too_late(context) if context.window.witness is Witness.CLIENT else []
    if not removed and (late := _committed_too_late(context)):
        shares = weights.COMMIT_CAME_TOO_LATE
        return [Hypothesis(cause, share, [] if cause is Cause.MEMBER_JOIN else late, CLIENT_LOG) for cause, share in shares.of.items()]
    return _removals(context, removed)


def _removals(context: RebalanceContext, removed: list[MemberAction]) -> list[Hypothesis]:
    shares = weights.HEARD_TOO_LATE if len(removed) < 2 else weights.HEARD_TOO_LATE_TOGETHER
    if removed and all(had_coordinator_moved(context, action) for action in removed):
        shares = weights.HEARD_AFTER_FAILOVER
    elif removed and all(_was_awaited_too_long(context, action) for action in removed):
        shares = weights.HEARD_AFTER_JOIN_PHASE
    elif removed and not any(_may_have_expired(context, action) for action in removed):
        shares = weights.REMOVED_TOO_SOON_TO_EXPIRE
    return [Hypothesis(cause, share, removed, EARLIER_LINES) for cause, share in shares.of.items()] if removed else []


def _committed_too_late(context: RebalanceContext) -> list[MemberAction]:
    """Members whose refused commits alone show that the group went on without them."""
    refused = (action for action in context.actions if action.kind is ActionKind.COMMIT_REFUSED)
    late = [action for action in refused if says_group_went_on(action) and _begins_unseen(context, action)]
    return list({context.actor(action): action for action in reversed(late)}.values())


def _was_awaited_too_long(context: RebalanceContext, removed: MemberAction) -> bool:
    """Whether a member heard of a rebalance, and rejoined too late for it."""
    actor, timeout = context.actor(removed), rebalance_timeout_us(context) or USUAL_REBALANCE_TIMEOUTS_MS[0] * US_PER_MS
    actions = [action for action in context.actions if action.at > context.join_phase_start and context.actor(action) == actor]
    heard = next((action.at for action in actions if is_rebalance_notice(action)), None)
    told_out = next((action.at for action in actions if says_unknown_member(action)), None)
    return heard is not None and told_out is not None and told_out - heard >= timeout


def _may_have_expired(context: RebalanceContext, removed: MemberAction) -> bool:
    """Whether a session may have passed since the last answer."""
    actor = context.actor(removed)
    signs = (action for kind in _ANSWERS for action in context.all_of(kind) if action.at < removed.at)
    answers = (action.at for action in signs if context.actor(action) == actor)
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
    for action in context.actions:
        actor = context.actor(action)
        if (actor is None and not _begins_unseen(context, action)) or action.at <= context.join_phase_start or actor in first_late:
            continue
        if action.kind is ActionKind.JOINED and (action.generation or 0) >= following:
            break
        if _is_out(context, actor, action) and says_unknown_member(action) and actor not in context.known.shared:
            member_id = context.members_before.get(actor or "", action.member_id)
            first_late[actor] = replace(action, kind=ActionKind.EXPIRE, at=min(action.at, context.start), member_id=member_id)
    return list(first_late.values())


def _is_out(context: RebalanceContext, actor: str | None, action: MemberAction) -> bool:
    """Whether a member is not in the new generation, and did not leave.

    Some libraries name no generation; there a group that went empty has lost all that were seen.
    """
    unnamed = context.window.generation_before is None
    was_there = actor in context.members_before or (unnamed and context.window.outcome == "empty") or _begins_unseen(context, action)
    return was_there and actor not in context.members_after and actor not in context.departed


def _begins_unseen(context: RebalanceContext, action: MemberAction) -> bool:
    """Whether an action first shows a rebalance without a known generation."""
    window = context.window
    return window.generation_before is None and window.outcome == "open" and action.at == context.start
