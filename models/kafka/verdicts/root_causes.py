"""Root causes of the action that started a rebalance.

Those that only other rebalances or partitions show are set later: a rolling restart by `incidents.incidents`, a broker's
outage by `outages.outage_incidents`, for whole episodes (`groups.episode_incidents`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from models.causes import Cause, RootCause
from models.events import Witness, when
from models.incidents.person_reasons import (
    AWAITED_LAST,
    GHOST,
    HEARD_OF_NOTHING,
    LATE,
    NEVER_SYNCED,
    REASON_EVICTED,
    REASON_EXPIRED_MEANWHILE,
    REJOINED_LAST,
    SYNCED_LATE,
)
from models.kafka.cluster.expiry_bursts import bursts_near
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.context.timeouts_in_force import TimeoutsInForce
from models.kafka.hypotheses.coordinator_changes import follows_load, had_coordinator_moved, times_of_moves
from models.kafka.hypotheses.evictions import is_echo
from models.kafka.observations.actions import TOLD_OUT, ActionKind, MemberAction, is_rebalance_notice, says_unknown_member
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.line_delays import HEARD_US
from models.kafka.verdicts.lone_pauses import has_expired_alive
from models.rows import Person
from models.tolerances import USUAL_SESSION_TIMEOUTS_MS, int_tolerance
from models.units import US_PER_MS, US_PER_SECOND

CAUSED_TAKEOVER_US = int_tolerance("kafka.root_causes.takeover_us")
"""Time until a lost broker's partitions have new leaders.

6 s zookeeper.session.timeout.ms, 9 s broker.session.timeout.ms.
"""

RETURN_US = int_tolerance("kafka.root_causes.return_us")
"""Maximum time until a paused process returns; later events are unrelated."""

CUT_OFF_US = int_tolerance("kafka.root_causes.cut_off_us")
"""Shortest search for a coordinator that a client's pause does not explain."""

_TELLING = frozenset({ActionKind.LOST_COORDINATOR, ActionKind.SUBSCRIBE, ActionKind.JOIN, ActionKind.FENCED})
"""Actions that show whether a silent process was only paused."""


HARMFUL_WAIT_US = int_tolerance("kafka.root_causes.harmful_wait_us")
"""Minimum wait that is worse than the trigger of the rebalance."""


def root_cause(context: RebalanceContext, cause: Cause, actions: list[MemberAction], blockers: Sequence[Person] = ()) -> str | None:
    """Root cause of the trigger, else of a long wait, None if unknown."""
    root = next((root.value for root, holds in _ROOTS if holds(context, cause, actions)), None)
    return root or behind_the_wait(context.phase, blockers)


def behind_the_wait(phase: LoggedJoinPhase, blockers: Sequence[Person]) -> str | None:
    """Root cause of a harmful wait, None if unknown."""
    if not blockers:
        return None
    window, blocker = phase.window, blockers[0]
    until = window.ended_at if blocker.act in {NEVER_SYNCED, SYNCED_LATE} else window.joined_at
    if until is None or until - phase.start < HARMFUL_WAIT_US:
        return None
    if blocker.act == LATE and window.witness is Witness.CLIENT:
        return None  # it may have been dead: members' logs tell of no expiry
    return next((root for words, root in _WAITS.items() if words in blocker.reason), None)


_WAITS: Mapping[str, str] = {
    HEARD_OF_NOTHING: RootCause.CLIENT_PAUSE.value,
    GHOST: RootCause.GHOST_MEMBER.value,
    REASON_EXPIRED_MEANWHILE: Cause.SESSION_TIMEOUT.value,
    REASON_EVICTED: RootCause.SLOW_PROCESSING.value,
    AWAITED_LAST: RootCause.SLOW_PROCESSING.value,
    REJOINED_LAST: RootCause.SLOW_PROCESSING.value,
    LATE: RootCause.SLOW_PROCESSING.value,
    NEVER_SYNCED: Cause.SYNC_TIMEOUT.value,
    SYNCED_LATE: RootCause.SLOW_ASSIGNMENT.value,
}
"""Root cause of a wait, by the blocker's reason."""


def _has_store_failed(_case: RebalanceContext, cause: Cause, _actions: list[MemberAction]) -> bool:
    return cause is Cause.ASSIGNMENT_STORE_FAILED


def _has_coordinator_moved(context: RebalanceContext, cause: Cause, actions: list[MemberAction]) -> bool:
    if cause is Cause.COORDINATOR_FAILOVER:
        return True
    previous = context.phase.previous
    if previous is not None and previous.outcome == "coordinator_lost" and previous.generation_before == context.window.generation_before:
        return True  # restarted where it was interrupted
    if cause in {Cause.MEMBER_RESTART, Cause.METADATA_CHANGE, Cause.POLL_TIMEOUT} and follows_load(context.phase, context.timeouts):
        return True
    if cause not in {Cause.SESSION_TIMEOUT, Cause.MEMBER_RESTART}:
        return False
    expiries = [action for action in actions if action.kind is ActionKind.EXPIRE]
    if any(action.event.name in TOLD_OUT and had_coordinator_moved(context.phase, action) for action in expiries):
        return True
    signs = (_has_expired_after_load, _has_expired_after_move, _has_expired_at_the_former, _was_lost_with_a_broker)
    return any(holds(context, action) for action in expiries for holds in signs)


def _has_expired_after_load(context: RebalanceContext, expiry: MemberAction) -> bool:
    """Whether the expiry follows one session timeout after a load.

    On load all timers restart with the full session timeout, so members that vanished before expire then.
    """
    loaded_at = when(context.window.load_before)
    if loaded_at is None:
        return False
    timeouts = _possible_sessions_us(context.timeouts, expiry)
    return any(-US_PER_SECOND // 2 <= expiry.at - loaded_at - timeout <= US_PER_SECOND for timeout in timeouts)


def _has_expired_after_move(context: RebalanceContext, expiry: MemberAction) -> bool:
    """Whether members found another coordinator one session timeout before.

    By their own logs, they find it a while after it loaded the group, and hear of the expiry with their next heartbeats.
    """
    if context.window.witness is not Witness.CLIENT:
        return False
    away = [expiry.at - found_at for found_at in times_of_moves(context.phase, context.members.before)]
    return any(
        -CAUSED_TAKEOVER_US <= time - timeout <= HEARD_US for time in away for timeout in _possible_sessions_us(context.timeouts, expiry)
    )


def _possible_sessions_us(timeouts: TimeoutsInForce, expiry: MemberAction) -> list[int]:
    """A member's session timeout, or those that are usual."""
    known = timeouts.own_session_us(expiry)
    return [known] if known else [timeout * US_PER_MS for timeout in USUAL_SESSION_TIMEOUTS_MS]


def _has_expired_at_the_former(context: RebalanceContext, expiry: MemberAction) -> bool:
    """Whether another broker had loaded the group within that session.

    The member is with that one by then; this broker has not heard yet that it lost the partition.
    """
    load = context.window.load_before
    if load is None or load.node in {None, context.window.node}:
        return False
    timeout = context.timeouts.own_session_us(expiry) or USUAL_SESSION_TIMEOUTS_MS[-1] * US_PER_MS
    return 0 <= expiry.at - load.time_us <= timeout


def _was_lost_with_a_broker(context: RebalanceContext, expiry: MemberAction) -> bool:
    """Whether the member fell silent when a broker was lost.

    The broker's partitions moved to others; both have the same cause.
    """
    timeout = context.timeouts.own_session_us(expiry) or USUAL_SESSION_TIMEOUTS_MS[1] * US_PER_MS
    silent_since = expiry.at - timeout
    return bool(context.facts.taken_over_between(silent_since - US_PER_SECOND, silent_since + timeout // 3 + CAUSED_TAKEOVER_US))


def _has_coordinator_paused(context: RebalanceContext, cause: Cause, actions: list[MemberAction]) -> bool:
    """Whether members of several groups expired at once.

    Or those of one group, if they were alive. The group that forms anew after that has the same root cause.
    """
    if cause is Cause.NEW_GROUP:
        return _forms_after_burst(context.phase, context.facts)
    if cause not in {Cause.SESSION_TIMEOUT, Cause.MEMBER_RESTART}:
        return False
    in_bursts = any(action.kind is ActionKind.EXPIRE and in_burst(context.facts, action.event.group, action.at) for action in actions)
    return in_bursts or has_expired_alive(context.phase, context.facts, context.phase.start)


def _forms_after_burst(phase: LoggedJoinPhase, facts: ClusterFacts) -> bool:
    emptied = phase.previous
    if emptied is None or emptied.outcome != "empty" or emptied.started is None or phase.start - emptied.started.time_us > RETURN_US:
        return False
    at = emptied.started.time_us
    return in_burst(facts, emptied.started.group, at) or has_expired_alive(phase, facts, at)


def in_burst(facts: ClusterFacts, group: str | None, at: int) -> bool:
    """Whether an expiry is one of those that several groups had at once."""
    return group is not None and any(burst.holds(group, at) for burst in bursts_near(facts.expiry_bursts, at))


def _was_paused(context: RebalanceContext, cause: Cause, actions: list[MemberAction]) -> bool:
    """Whether the process was paused and did not die.

    It is rejected later under its old member id, and logged nothing before its session expired.
    """
    if cause is Cause.MEMBER_RESTART:
        return any(_was_told_out(context.phase, context.known, action) for action in actions if action.kind in _ARRIVALS)
    expiries = [action for action in actions if action.kind is ActionKind.EXPIRE] if cause is Cause.SESSION_TIMEOUT else []
    return any(
        _has_heard_of_it(context.phase, action) if action.event.name in TOLD_OUT else _has_come_to(context.phase, context.timeouts, action)
        for action in expiries
    )


_ARRIVALS = frozenset({ActionKind.JOIN, ActionKind.REJOIN})
_HEARD = (ActionKind.FENCED, ActionKind.REBALANCE_NOTICED, ActionKind.WANTS_REJOIN)


def _was_told_out(phase: LoggedJoinPhase, known: GroupKnowledge, arrival: MemberAction) -> bool:
    """Whether a process that comes back is the one that was put out.

    One that had lost its coordinator before was not paused, nor was one that heard of the rebalance before: it was too busy to rejoin.
    """
    actor = phase.actor(arrival)
    if actor is None or known.is_ambiguous(actor):
        return False
    heard = [action for action in phase.actions_of(*_HEARD, end=arrival.at) if phase.actor(action) == actor]
    first = next((action for action in heard if says_unknown_member(action) or is_rebalance_notice(action)), None)
    return first is not None and says_unknown_member(first) and _has_heard_of_it(phase, first)


def _has_heard_of_it(phase: LoggedJoinPhase, expiry: MemberAction) -> bool:
    """Whether a running process hears that its session ended.

    One that had lost its coordinator before was not paused.
    """
    actor, cut_off_at = phase.actor(expiry), None
    for action in phase.actions:
        if phase.actor(action) != actor or action.at > expiry.at:
            continue
        if action.kind is ActionKind.LOST_COORDINATOR:
            cut_off_at = action.at
        elif action.kind is ActionKind.START and cut_off_at is not None and action.at < expiry.at - CAUSED_TAKEOVER_US:
            cut_off_at = None  # found again long before
    return cut_off_at is None


def _was_cut_off(context: RebalanceContext, cause: Cause, actions: list[MemberAction]) -> bool:
    """Whether the process ran on, but reached no coordinator.

    The coordinator, which ended its session, was at work.
    """
    expiries = [action for action in actions if action.kind is ActionKind.EXPIRE and action.is_certain]
    return cause is Cause.SESSION_TIMEOUT and any(_was_apart(context.phase, context.timeouts, action) for action in expiries)


def _was_apart(phase: LoggedJoinPhase, timeouts: TimeoutsInForce, expiry: MemberAction) -> bool:
    """Whether a client looked for its coordinator for long as its session ended."""
    since = expiry.at - (timeouts.own_session_us(expiry) or USUAL_SESSION_TIMEOUTS_MS[-1] * US_PER_MS) - US_PER_SECOND
    actor = phase.actor(expiry)
    lost = [action for action in phase.all_of(ActionKind.LOST_COORDINATOR) if phase.actor(action) == actor and action.at >= since]
    ends = [action.at for action in phase.all_of(ActionKind.START) if phase.actor(action) == actor and lost and action.at > lost[0].at]
    if not ends or ends[0] <= expiry.at or ends[0] - lost[0].at < CUT_OFF_US:
        return False
    # Only a process that ran on is refused under its former member id; another one subscribes.
    later = (action for action in phase.since(lost[0].at) if phase.actor(action) == actor and action.kind in _AFTER_CUT)
    return next((action.kind is ActionKind.FENCED for action in later), False)


_AFTER_CUT = frozenset({ActionKind.FENCED, ActionKind.SUBSCRIBE, ActionKind.JOIN, ActionKind.CLOSE, ActionKind.LEAVE})


def _has_come_to(phase: LoggedJoinPhase, timeouts: TimeoutsInForce, expiry: MemberAction) -> bool:
    actor = phase.actor(expiry)
    silent_since = expiry.at - (timeouts.own_session_us(expiry) or USUAL_SESSION_TIMEOUTS_MS[-1] * US_PER_MS)
    for action in phase.actions:
        if action.at <= silent_since or action.kind not in _TELLING or action is expiry or phase.actor(action) != actor:
            continue
        if action.at < expiry.at and action.kind is ActionKind.LOST_COORDINATOR:
            return False  # it was running, but could not reach its coordinator
        if action.at > expiry.at + RETURN_US:
            return False
        if action.at > expiry.at and action.kind in {ActionKind.SUBSCRIBE, ActionKind.JOIN}:
            return False  # a new consumer
        if action.at > expiry.at and action.kind is ActionKind.FENCED:
            return True
    return False


def _is_ghost(context: RebalanceContext, cause: Cause, actions: list[MemberAction]) -> bool:
    """Whether the expired member id had been given up by its client.

    A repeated JoinGroup left it behind.
    """
    if cause is not Cause.SESSION_TIMEOUT:
        return False
    expiries = [action for action in actions if action.kind is ActionKind.EXPIRE and context.phase.actor(action) in context.known.clients]
    members = context.members.before
    return any(
        action.member_id is not None
        and action.member_id not in context.known.first_generation
        and members.get(context.phase.actor(action) or "") not in {None, action.member_id}
        for action in expiries
    )


def _was_denied(context: RebalanceContext, cause: Cause, actions: list[MemberAction]) -> bool:
    """Whether the broker did not authorize the members that went.

    An authorizer names a principal and no client, so that its denials may concern any of them.
    """
    gone = [action for action in actions if action.kind in {ActionKind.EXPIRE, ActionKind.LEAVE}] if cause in _OF_DENIED else []
    return any(_denials_before(context.phase, context.timeouts, action) for action in gone)


def _denials_before(phase: LoggedJoinPhase, timeouts: TimeoutsInForce, gone: MemberAction) -> bool:
    """Whether a request was denied while a member had no way to stay."""
    timeout = (timeouts.own_session_us(gone) or USUAL_SESSION_TIMEOUTS_MS[-1] * US_PER_MS) if gone.kind is ActionKind.EXPIRE else 0
    since, actor = gone.at - timeout - RETURN_US, phase.actor(gone)
    denials = [action for action in phase.all_of(ActionKind.DENIED) if since <= action.at <= gone.at]
    return any(phase.actor(action) in {None, actor} for action in denials)


_OF_DENIED = frozenset({Cause.SESSION_TIMEOUT, Cause.MEMBER_LEAVE})


def _was_removed_before(context: RebalanceContext, cause: Cause, actions: list[MemberAction]) -> bool:
    """Whether the previous join phase had already removed the member (1.1).

    It was too busy to rejoin, and alive.
    """
    return cause is Cause.SESSION_TIMEOUT and any(
        action.kind is ActionKind.EXPIRE and is_echo(context.phase, context.timeouts, action) for action in actions
    )


def _was_planned(_case: RebalanceContext, cause: Cause, _actions: list[MemberAction]) -> bool:
    """Whether it is a second step that waited for a lost worker (KIP-415)."""
    return cause is Cause.SCHEDULED_REBALANCE


_ROOTS: tuple[tuple[RootCause | Cause, Callable[[RebalanceContext, Cause, list[MemberAction]], bool]], ...] = (
    (Cause.COOPERATIVE_FOLLOWUP, _was_planned),
    (RootCause.ASSIGNMENT_STORE_FAILED, _has_store_failed),
    (RootCause.COORDINATOR_FAILOVER, _has_coordinator_moved),
    (RootCause.COORDINATOR_PAUSE, _has_coordinator_paused),
    (RootCause.SLOW_PROCESSING, _was_removed_before),
    (RootCause.NOT_AUTHORIZED, _was_denied),
    (RootCause.GHOST_MEMBER, _is_ghost),
    (RootCause.NETWORK, _was_cut_off),
    (RootCause.CLIENT_PAUSE, _was_paused),
)
"""Root causes with their rules; the first rule that holds decides."""
