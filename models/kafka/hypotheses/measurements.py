"""Measurements of the member that acted first, which advice needs, in milliseconds."""

from __future__ import annotations

from models.causes import Cause
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.phase_deadline import PhaseDeadline
from models.kafka.hypotheses.context.timeouts_in_force import POLL_TIMEOUT_TO_LEAVE_US, TimeoutsInForce
from models.kafka.observations.actions import ActionKind, MemberAction
from models.units import US_PER_MS


def numbers_of(
    phase: LoggedJoinPhase,
    timeouts: TimeoutsInForce,
    deadline: PhaseDeadline,
    cause: Cause,
    actions: list[MemberAction],
    gone_at: dict[str, int],
) -> dict[str, float]:
    """Known measurements of the member that acted first, by name.

    `gone_at` holds earlier leaves and expiries of members.
    """
    action = actions[0] if actions else None
    actor = phase.actor(action) if action else None
    measurements = {
        "session_timeout_ms": timeouts.session_ms(action, actor),
        "max_poll_interval_ms": timeouts.max_poll_interval_ms(action, actor),
        "rebalance_timeout_ms": _in_ms(timeouts.longest_rebalance_us or deadline.passed_after_us),
    }
    if action is not None and actor is not None:
        if cause is Cause.POLL_TIMEOUT and timeouts.is_longer_than_membership(action, measurements["max_poll_interval_ms"]):
            measurements["max_poll_interval_ms"] = None  # the value from other members' configuration is not in force here
        elif cause is Cause.POLL_TIMEOUT:
            measurements["polled_after_ms"] = _polled_after_ms(phase, action, actor, measurements["max_poll_interval_ms"])
        elif cause is Cause.SESSION_TIMEOUT:
            measurements["silent_ms"] = _silent_ms(phase, action, actor, measurements["session_timeout_ms"])
        elif cause is Cause.MEMBER_RESTART:
            measurements["absent_ms"] = _restarted_ms(phase, actions, actor)
        elif cause in {Cause.MEMBER_JOIN, Cause.NEW_GROUP} and actor in gone_at:
            measurements["absent_ms"] = _in_ms(action.at - gone_at[actor])
    return {name: float(value) for name, value in measurements.items() if value is not None and value >= 0}


def _in_ms(span_us: int | None) -> int | None:
    return None if span_us is None else span_us // US_PER_MS


def _polled_after_ms(phase: LoggedJoinPhase, action: MemberAction, actor: str, allowed_ms: int | None) -> int | None:
    """Milliseconds between two polls.

    The allowed time, plus the time from its end until the member rejoins in poll().
    """
    if allowed_ms is None:
        return None
    polls = (action.at for action in phase.all_of(ActionKind.POLL_TIMEOUT) if phase.actor(action) == actor)
    noticed = next((at for at in polls if abs(at - action.at) <= POLL_TIMEOUT_TO_LEAVE_US), action.at)
    back = _next_join(phase, actor, action.at)
    return None if back is None else allowed_ms + (back - noticed) // US_PER_MS


def _silent_ms(phase: LoggedJoinPhase, action: MemberAction, actor: str, allowed_ms: int | None) -> int | None:
    """Milliseconds between the last heartbeat and the return of a member."""
    if allowed_ms is None:
        return None
    later = (a.at for a in phase.actions if a.at > action.at and a.kind in {ActionKind.JOIN, ActionKind.FENCED} and phase.actor(a) == actor)
    back = next(later, None)
    return None if back is None else allowed_ms + (back - action.at) // US_PER_MS


def _restarted_ms(phase: LoggedJoinPhase, actions: list[MemberAction], actor: str) -> int | None:
    departure_times = [a.at for a in actions if a.kind in {ActionKind.LEAVE, ActionKind.EXPIRE} and phase.actor(a) == actor]
    arrival_times = [a.at for a in actions if a.kind in {ActionKind.JOIN, ActionKind.REJOIN} and phase.actor(a) == actor]
    return _in_ms(max(arrival_times) - min(departure_times)) if departure_times and arrival_times else None


def _next_join(phase: LoggedJoinPhase, actor: str, after: int) -> int | None:
    return next((a.at for a in phase.all_of(ActionKind.JOIN) if a.at > after and phase.actor(a) == actor), None)
