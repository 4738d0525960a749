"""Expiries of members that the end of a join phase had removed."""

from __future__ import annotations

from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.phase_deadline import TIMEOUT_TOLERANCE_US, PhaseDeadline, is_just_over
from models.kafka.hypotheses.context.timeouts_in_force import TimeoutsInForce
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.tolerances import (
    ECHO_SLACK_US,
    PHASE_OVERRUN_US,
    USUAL_REBALANCE_TIMEOUTS_MS,
    WHOLE_SECONDS_MIN_US,
)
from models.units import US_PER_MS, US_PER_SECOND


def evicted_unlogged(phase: LoggedJoinPhase, timeouts: TimeoutsInForce, deadline: PhaseDeadline) -> list[MemberAction]:
    """Expiries by which 1.1 names members removed by the join phase.

    Who is in the new generation has a timer that began anew with it, and can't expire within one session.
    """
    end = phase.window.joined_at
    if end is None or deadline.passed_after_us is None:
        return []
    within = timeouts.longest_session_us - ECHO_SLACK_US
    return [action for action in phase.actions if action.kind is ActionKind.EXPIRE and end < action.at < end + within]


def is_echo(phase: LoggedJoinPhase, timeouts: TimeoutsInForce, expiry: MemberAction) -> bool:
    """Whether an expiry is of a member removed by the last phase."""
    previous = phase.previous
    if previous is None or previous.joined_at is None or previous.started_at is None or previous.state_before is State.EMPTY:
        return False
    since = expiry.at - previous.joined_at
    if since <= 0 or not _has_lasted_a_timeout(timeouts, previous, previous.joined_at - previous.started_at):
        return False
    return since < timeouts.longest_session_us - ECHO_SLACK_US


def _has_lasted_a_timeout(timeouts: TimeoutsInForce, previous: RebalanceWindow, lasted: int) -> bool:
    """Whether a rebalance timeout ended the join phase before."""
    timeout = timeouts.longest_rebalance_us
    if timeout is not None:
        return abs(lasted - timeout) <= TIMEOUT_TOLERANCE_US
    return any(is_just_over(lasted, timeout_ms * US_PER_MS) for timeout_ms in USUAL_REBALANCE_TIMEOUTS_MS) or (
        lasted >= WHOLE_SECONDS_MIN_US and lasted % US_PER_SECOND <= PHASE_OVERRUN_US and previous.members_after is None
    )
