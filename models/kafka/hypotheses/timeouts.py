"""Timeouts in force, and comparisons of durations with them.

Lines tell timeouts, and intervals show them; advice needs both, in milliseconds. `departures` weighs late polls and expiries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile

from models import weights
from models.causes import Cause
from models.events import Witness, when
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.phase_deadline import TIMEOUT_TOLERANCE_US, PhaseDeadline, is_just_over
from models.kafka.hypotheses.context.timeouts_in_force import POLL_TIMEOUT_TO_LEAVE_US, TimeoutsInForce
from models.kafka.hypotheses.hypothesis import EARLIER_LINES, Hypothesis
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.tolerances import (
    CONNECT_DELAY_US,
    ECHO_SLACK_US,
    PHASE_OVERRUN_US,
    POLL_SLACK_SHARE,
    POLL_SLACK_US,
    PROBING_US,
    STORE_SLACK_US,
    STORE_TIMEOUT_US,
    USUAL_REBALANCE_TIMEOUTS_MS,
    WHOLE_SECONDS_MIN_US,
    int_tolerance,
)
from models.units import US_PER_MS, US_PER_SECOND

MOVED_US = int_tolerance("kafka.timeouts.moved_us")
"""Longest time from the news of another coordinator to an unknown member id."""


SYNC_REFUSED = "REBALANCE_IN_PROGRESS"
"""Error of a SyncGroup that waited for one that never came."""

COMMIT_RHYTHM_US = int_tolerance("kafka.timeouts.commit_rhythm_us")
"""Maximum delay of a poll timeout beyond one interval since the last commit."""


def had_coordinator_moved(phase: LoggedJoinPhase, action: MemberAction) -> bool:
    """Whether a member heard shortly before that its coordinator is another."""
    actor, lost = phase.actor(action), ActionKind.LOST_COORDINATOR
    moved = (action for action in phase.actions if action.kind is lost and "NOT_COORDINATOR" in f"{action.why or ''}{action.event.text}")
    return any(0 <= action.at - move.at <= MOVED_US and phase.actor(move) == actor for move in moved)


def follows_load(phase: LoggedJoinPhase, timeouts: TimeoutsInForce) -> bool:
    """Whether this is the first rebalance after a load, within a session.

    Members that live are back by then.
    """
    loaded_at, before = when(phase.window.load_before), phase.window.previous_ended_at
    if loaded_at is None or (before is not None and before > loaded_at):
        return False
    return 0 <= phase.start - loaded_at <= timeouts.longest_session_us


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


def poll_rhythm(phase: LoggedJoinPhase, timeouts: TimeoutsInForce, known: GroupKnowledge) -> int:
    """Number of rebalances that began one poll interval after an assignment.

    This one among them; 0 if this one did not.
    """
    lag = _since_assignment(phase)
    if lag is None:
        return 0
    timeout = timeouts.longest_rebalance_us
    intervals = [timeout] if timeout is not None else [timeout_ms * US_PER_MS for timeout_ms in USUAL_REBALANCE_TIMEOUTS_MS]
    interval = next((candidate for candidate in intervals if 0 <= lag - candidate <= _poll_slack_us(candidate)), None)
    return _alike(known, interval, _poll_slack_us(interval)) if interval is not None else 0


def _poll_slack_us(interval: int) -> int:
    """Longest time from a poll interval's end to the leave.

    After a short interval, others leave so late by chance.
    """
    return min(POLL_SLACK_US, round(interval * POLL_SLACK_SHARE))


def store_rhythm(phase: LoggedJoinPhase, known: GroupKnowledge) -> int:
    """Number of rebalances in a row that writes given up began.

    Each begins one commit timeout after an assignment, whose write is given up then. So is the next one as long as replicas are missing.
    Members that are restarted one after the other leave so long after a rebalance, too, but each of them comes back in between.
    """
    return lags_in_a_row(phase, known, _is_commit_timeout)


def lags_in_a_row(phase: LoggedJoinPhase, known: GroupKnowledge, is_alike: Callable[[int], bool]) -> int:
    """Number of rebalances in a row that follow an assignment alike, this one included."""
    lag = _since_assignment(phase)
    lags = known.lags
    if lag is None or not is_alike(lag):
        return 0
    at = next((i for i in reversed(range(len(lags))) if lags[i] == lag), None)
    if at is None:
        return 1
    before = sum(1 for _ in takewhile(is_alike, reversed(lags[:at])))
    return before + sum(1 for _ in takewhile(is_alike, lags[at:]))


def _is_commit_timeout(lag: int) -> bool:
    return 0 <= lag - STORE_TIMEOUT_US <= STORE_SLACK_US


def ends_planned_delay(phase: LoggedJoinPhase) -> bool:
    """Whether Connect's delay after a departure ends with this rebalance."""
    lag = _since_assignment(phase)
    return lag is not None and 0 <= lag - CONNECT_DELAY_US <= POLL_SLACK_US


def ends_probing_interval(phase: LoggedJoinPhase) -> bool:
    """Whether Streams' interval between probes ends here."""
    lag = _since_assignment(phase)
    return lag is not None and 0 <= lag - PROBING_US <= POLL_SLACK_US


def _since_assignment(phase: LoggedJoinPhase) -> int | None:
    previous = phase.previous
    ended_at = previous.ended_at if previous is not None and previous.outcome == "stable" else None
    return None if ended_at is None else phase.start - ended_at


def _alike(known: GroupKnowledge, span: int, slack: int) -> int:
    return max(1, sum(0 <= lag - span <= slack for lag in known.lags))


def by_missed_syncs(phase: LoggedJoinPhase, members: GenerationMembers, timeouts: TimeoutsInForce) -> list[Hypothesis]:
    """Weigh members that sent no SyncGroup, where the coordinator's log is missing.

    It removes them once the rebalance timeout is over, and refuses the SyncGroup of those that waited (ClassicGroup, KAFKA-13688).
    """
    began, previous = phase.window.previous_joined_at, phase.previous
    if phase.window.witness is Witness.COORDINATOR or began is None or previous is None:
        return []
    answers = phase.actions_of(ActionKind.SYNCED, ActionKind.ASSIGNED, start=began, end=phase.start)
    was_assigned = any(answers) if phase.window.witness is Witness.CLIENT else previous.outcome == "stable"
    if was_assigned:
        return []
    refused = list(phase.actions_of(ActionKind.SYNC_FAILED, start=began, end=phase.start + CLOCK_TOLERANCE_US))
    known = timeouts.longest_rebalance_us
    waits = [known] if known is not None else [timeout_ms * US_PER_MS for timeout_ms in USUAL_REBALANCE_TIMEOUTS_MS]
    waited = [action for action in refused if any(abs(action.at - began - wait) <= TIMEOUT_TOLERANCE_US for wait in waits)]
    if not waited or any(action.why and SYNC_REFUSED not in action.why for action in waited):
        return []
    sent = {phase.actor(action) for action in refused}
    missing = [
        replace(waited[0], kind=ActionKind.SYNC_MISSED, member_id=member_id, client_id=actor, instance_id=None, why=None)
        for actor, member_id in members.before.items()
        if actor not in sent and actor not in members.after
    ]
    return [Hypothesis(Cause.SYNC_TIMEOUT, weights.SYNC_AWAITED_IN_VAIN.value, missing, EARLIER_LINES)]


# -- measurements for advice -------------------------------------------------------------------------------------


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
