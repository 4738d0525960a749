"""Rules for the causes of a rebalance, by what triggered it.

The coordinator's reason decides which rule applies, or else the member's action that it answered with "Preparing to
rebalance". A rule takes the action, if it is known, and proposes hypotheses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from models import weights
from models.causes import Cause
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.context.stated_reasons import listed_actions, reason_id_in
from models.kafka.hypotheses.departures import propose_departure, propose_expiry
from models.kafka.hypotheses.hypothesis import Hypothesis
from models.kafka.hypotheses.joins import propose_join
from models.kafka.hypotheses.rejoins import propose_rejoin
from models.kafka.hypotheses.removals import by_refused_commit
from models.kafka.observations.actions import ActionKind, MemberAction

Rule = Callable[[RebalanceContext, MemberAction | None], list[Hypothesis]]


def _replaced(_context: RebalanceContext, action: MemberAction | None) -> list[Hypothesis]:
    return [Hypothesis(Cause.STATIC_MEMBER_REPLACED, weights.REPLACED.value, [action] if action else [])]


def _assignor_changed(_context: RebalanceContext, action: MemberAction | None) -> list[Hypothesis]:
    return [Hypothesis(Cause.ASSIGNOR_CHANGE, weights.ASSIGNOR_CHANGED.value, [action] if action else [])]


def _sync_missed(context: RebalanceContext, action: MemberAction | None) -> list[Hypothesis]:
    line = context.window.started
    listed = listed_actions(ActionKind.SYNC_MISSED, line) if line is not None else []
    missing = list(context.phase.first_by_actor(ActionKind.SYNC_MISSED).values()) or listed or ([action] if action else [])
    return [Hypothesis(Cause.SYNC_TIMEOUT, weights.SYNC_MISSED.value, missing)]


def store_failed(context: RebalanceContext, _action: MemberAction | None) -> list[Hypothesis]:
    """Propose that the assignment could not be stored, or that the coordinator moved."""
    sure = (weights.STORE_FAILED_TOLD if reason_id_in(context.window.started) else weights.STORE_FAILED_UNTOLD).value
    return [Hypothesis(Cause.ASSIGNMENT_STORE_FAILED, sure), Hypothesis(Cause.COORDINATOR_FAILOVER, 1 - sure)]


def _over_capacity(_context: RebalanceContext, _action: MemberAction | None) -> list[Hypothesis]:
    return [Hypothesis(Cause.COORDINATOR_FAILOVER, weights.OVER_CAPACITY.value)]


def _downgraded(_context: RebalanceContext, _action: MemberAction | None) -> list[Hypothesis]:
    return [Hypothesis(cause, share) for cause, share in weights.DOWNGRADED.of.items()]


def _rejoined(context: RebalanceContext, action: MemberAction | None) -> list[Hypothesis]:
    if action is not None and context.members.is_new(action):
        return propose_join(context, action)
    return by_refused_commit(context.phase, action) or propose_rejoin(context, action)


def _joined(context: RebalanceContext, action: MemberAction | None) -> list[Hypothesis]:
    """A join, unless a commit that was refused shows more."""
    is_first = context.phase.previous is None and not context.members.before
    return (by_refused_commit(context.phase, action) if is_first else []) or propose_join(context, action)


RULES_BY_REASON: Mapping[str, Rule] = {
    "new_member": propose_join,
    "leave": propose_departure,
    "heartbeat_expiration": propose_expiry,
    "update_metadata": propose_rejoin,
    "member_joining": propose_rejoin,
    "leader_rejoin": propose_rejoin,
    "static_member_protocol_change": _assignor_changed,
    "static_member_update": _replaced,
    "pending_sync_expiration": _sync_missed,
    "sync_store_error": store_failed,
    "over_capacity_on_load": _over_capacity,
    "downgrade_from_consumer": _downgraded,
    "downgrade_from_consumer_member_leaving": _downgraded,
    "downgrade_from_consumer_stale_assignment": _downgraded,
}
"""Rules by the id of the reason in `kafka_rebalance_reasons.yaml`."""

RULES_BY_ACTION: Mapping[ActionKind, Rule] = {
    ActionKind.JOIN: _joined,
    ActionKind.LEAVE: propose_departure,
    ActionKind.EXPIRE: propose_expiry,
    ActionKind.REPLACE: _replaced,
    ActionKind.REJOIN: _rejoined,
}
"""Rules by the kind of the action that triggered the rebalance."""
