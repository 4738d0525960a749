"""Returns of members within the rebalance of their departure, though no line tells them."""

from __future__ import annotations

from models import weights
from models.causes import Cause
from models.kafka.hypotheses.hypothesis import CLIENT_LOG, Hypothesis
from models.kafka.hypotheses.window import RebalanceContext
from models.kafka.observations.actions import ActionKind, MemberAction


def unless_it_returned(
    context: RebalanceContext, action: MemberAction | None, hypotheses: list[Hypothesis], usual: float
) -> list[Hypothesis]:
    """Add to the hypotheses that it was a restart.

    As likely as what is not known leaves room for it.
    """
    actor = context.actor(action) if action is not None else None
    share = usual if context.is_ambiguous(actor) else _unseen_return(context, actor, usual)
    if share:
        for hypothesis in hypotheses:
            hypothesis.probability *= 1 - share
        hypotheses.append(Hypothesis(Cause.MEMBER_RESTART, share, [action] if action else [], CLIENT_LOG))
    return hypotheses


def _unseen_return(context: RebalanceContext, actor: str | None, usual: float) -> float:
    """Probability of an unlogged return before the end of the rebalance."""
    would_tell = context.has_client_log(actor) if actor is not None else bool(context.known.clients)
    if context.window.outcome == "coordinator_lost":
        return 0.0 if would_tell else usual  # a request log tells of answers, which its broker gave no more
    joined_at = context.window.joined_at
    if would_tell or context.known.has_requests or joined_at is None or context.window.outcome == "empty":
        return 0.0
    before, after = context.window.members_before, context.window.members_after
    is_counted = bool(before and after)
    is_missing = is_counted and (after or 0) <= (before or 0) - len(context.departed)
    until = joined_at - 1 if is_missing else joined_at  # who asks as the phase ends is in the next generation
    handed = context.actions_of(ActionKind.ID_HANDED_OUT, start=context.start - 1, end=until)
    if actor is not None and any(context.actor(action) == actor for action in handed):
        return weights.HANDED_A_NEW_ID.value
    if not is_counted:
        return usual
    if before == after:
        return weights.AS_MANY_AS_BEFORE.value
    return 0.0 if is_missing else weights.FEWER_WENT_THAN_LEFT.value
