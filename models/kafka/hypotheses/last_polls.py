"""Signs that a member that left had polled in time."""

from __future__ import annotations

from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.timeouts_in_force import POLL_TIMEOUT_TO_LEAVE_US, TimeoutsInForce
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.knowledge import GroupKnowledge
from models.tolerances import (
    int_tolerance,
)
from models.units import US_PER_MS

COMMIT_RHYTHM_US = int_tolerance("kafka.timeouts.commit_rhythm_us")
"""Maximum delay of a poll timeout beyond one interval since the last commit."""


def has_polled_in_time(
    phase: LoggedJoinPhase, members: GenerationMembers, timeouts: TimeoutsInForce, action: MemberAction | None, actor: str | None
) -> bool:
    """Whether a member that left had polled within its poll interval.

    JoinGroup is sent in poll() (KIP-62), so each member of the generation before polled after that one's rebalance began.
    False where the interval is not known.
    """
    interval_ms = timeouts.max_poll_interval_ms(action, actor)
    if interval_ms is None or actor is None:
        return False
    left_at = action.at if action is not None else phase.start
    since = left_at - interval_ms * US_PER_MS + POLL_TIMEOUT_TO_LEAVE_US
    began = phase.previous.started_at if phase.previous is not None and actor in members.before else None
    joins = phase.actions_of(ActionKind.JOIN, ActionKind.REJOIN, start=since, end=left_at)
    return (began is not None and since < began <= left_at) or any(phase.actor(join) == actor and join.at <= left_at for join in joins)


def has_committed_in_time(timeouts: TimeoutsInForce, known: GroupKnowledge, action: MemberAction | None, actor: str | None) -> bool | None:
    """Whether a member that left had committed within its poll interval.

    False where its commits ended just one interval before, None where neither is so. By default poll() sends them every 5 s
    (enable.auto.commit), and close() sends a last one.
    """
    interval_ms = timeouts.max_poll_interval_ms(action, actor)
    committed_at = known.committed_at.get(action.member_id or "") if action is not None else None
    if action is None or committed_at is None or interval_ms is None:
        return None
    beyond = action.at - committed_at - interval_ms * US_PER_MS
    return beyond < 0 or (False if beyond <= COMMIT_RHYTHM_US else None)
