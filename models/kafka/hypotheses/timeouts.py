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
from models.kafka.hypotheses.hypothesis import EARLIER_LINES, Hypothesis
from models.kafka.hypotheses.window import RebalanceContext
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.libraries import default_timeouts
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.kafka.observations.roster import RosterMember
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.tolerances import (
    CONNECT_DELAY_US,
    DEFAULT_SESSION_TIMEOUTS_MS,
    ECHO_SLACK_US,
    PHASE_OVERRUN_US,
    PHASE_UNDERRUN_US,
    POLL_SLACK_SHARE,
    POLL_SLACK_US,
    PROBING_US,
    STORE_SLACK_US,
    STORE_TIMEOUT_US,
    USUAL_REBALANCE_TIMEOUTS_MS,
    WHOLE_SECONDS_MIN_US,
    whole,
)
from models.units import US_PER_MS, US_PER_SECOND

TIMEOUT_TOLERANCE_US = whole("kafka.timeouts.timeout_tolerance_us")

LAST_MOMENT_US = whole("kafka.timeouts.last_moment_us")
"""Longest time from the last missing member to the phase's end."""

MOVED_US = whole("kafka.timeouts.moved_us")
"""Longest time from the news of another coordinator to an unknown member id."""

LIKE_IT_MAX = 20
"""Number of other members searched for a timeout that the acting member lacks."""

SYNC_REFUSED = "REBALANCE_IN_PROGRESS"
"""Error of a SyncGroup that waited for one that never came."""

COMMIT_RHYTHM_US = whole("kafka.timeouts.commit_rhythm_us")
"""Maximum delay of a poll timeout beyond one interval since the last commit."""

POLL_TIMEOUT_TO_LEAVE_US = whole("kafka.timeouts.noticed_us")
"""Maximum distance of a client's poll timeout line from its LeaveGroup."""


def rebalance_timeout_us(context: RebalanceContext) -> int | None:
    """The longest rebalance timeout of the members, as far as known.

    From lines or assumptions.
    """
    timeouts = [
        member.rebalance_timeout_ms
        for member_id in context.members_before.values()
        if member_id and (member := context.roster.members.get(member_id)) and member.rebalance_timeout_ms
    ]
    if not timeouts and context.window.witness is Witness.CLIENT:  # a consumer's request names its poll interval
        configured = (context.known.settings.get(actor, {}) for actor in context.members_before)
        timeouts = [settings["max_poll_interval_ms"] for settings in configured if "max_poll_interval_ms" in settings]
    longest = max(timeouts, default=context.facts.rebalance_timeout_ms)
    return longest * US_PER_MS if longest else None


def session_timeout_us(context: RebalanceContext) -> int:
    """The longest session of the members, else the longest default of their libraries."""
    timeouts_ms = [member.session_timeout_ms for member in context.roster.members.values() if member.session_timeout_ms]
    timeouts_ms += [settings["session_timeout_ms"] for settings in context.known.settings.values() if "session_timeout_ms" in settings]
    if not timeouts_ms and context.facts.session_timeout_ms is None:
        logs = context.roster.logs.values()
        usual = [default_timeouts(log.library, context.facts.versions.get(log.file)) for log in logs]
        timeouts_ms = [defaults.session_ms for defaults in usual if defaults is not None]
    return max(timeouts_ms, default=context.facts.session_timeout_ms or DEFAULT_SESSION_TIMEOUTS_MS[0]) * US_PER_MS


def had_coordinator_moved(context: RebalanceContext, action: MemberAction) -> bool:
    """Whether a member heard shortly before that its coordinator is another."""
    actor, lost = context.actor(action), ActionKind.LOST_COORDINATOR
    moved = (action for action in context.actions if action.kind is lost and "NOT_COORDINATOR" in f"{action.why or ''}{action.event.text}")
    return any(0 <= action.at - move.at <= MOVED_US and context.actor(move) == actor for move in moved)


def follows_load(context: RebalanceContext) -> bool:
    """Whether this is the first rebalance after a load, within a session.

    Members that live are back by then.
    """
    loaded_at, before = when(context.window.load_before), context.window.previous_ended_at
    if loaded_at is None or (before is not None and before > loaded_at):
        return False
    return 0 <= context.start - loaded_at <= session_timeout_us(context)


def phase_deadline_us(context: RebalanceContext) -> int | None:
    """The rebalance timeout that ended the join phase, or None.

    None where something else may have ended it.

    From Empty a phase ends by the initial delay, which the Scala coordinator waits for once at generations above 0.
    """
    window = context.window
    if window.started_at is None or window.joined_at is None or context.was_empty or window.outcome == "empty":
        return None
    deadline = _deadline_after(context, window.joined_at - window.started_at)
    return None if deadline is None or _has_ended_otherwise(context, window.joined_at) else deadline


def _deadline_after(context: RebalanceContext, lasted: int) -> int | None:
    """The rebalance timeout that is just as long as the join phase."""
    timeout = rebalance_timeout_us(context)
    if timeout is not None:
        return timeout if abs(lasted - timeout) <= TIMEOUT_TOLERANCE_US else None
    delay = context.facts.initial_delay_ms * US_PER_MS
    if context.window.state_before is None and _is_just(lasted, delay):
        return None
    usual = next((timeout_ms * US_PER_MS for timeout_ms in USUAL_REBALANCE_TIMEOUTS_MS if _is_just(lasted, timeout_ms * US_PER_MS)), None)
    return usual if usual is not None else _revealed(context, lasted)


def _is_just(lasted: int, timeout: int) -> bool:
    return -PHASE_UNDERRUN_US <= lasted - timeout <= PHASE_OVERRUN_US


def _revealed(context: RebalanceContext, lasted: int) -> int | None:
    """An unusual timeout, from logs that would list removals.

    Whoever writes head counts (2.8 and later) would list those that it removed.
    """
    whole = (lasted + PHASE_UNDERRUN_US) // US_PER_SECOND * US_PER_SECOND
    evictions_listed = context.window.members_after is not None
    return whole if lasted >= WHOLE_SECONDS_MIN_US and _is_just(lasted, whole) and not evictions_listed else None


def _has_ended_otherwise(context: RebalanceContext, end: int) -> bool:
    """Whether something else ended the join phase.

    The last one that was missing came, or went, or all old members are known to have come.
    """
    if context.first_by_actor(ActionKind.EVICT):
        return False
    departures = [*context.departed.values(), *context.actions_of(ActionKind.ID_EXPIRED)]
    arrivals = (
        action
        for action in context.actions_of(ActionKind.REJOIN, ActionKind.JOIN, start=context.start, end=end)
        if not context.is_new(action)
    )
    if any(abs(end - action.at) <= LAST_MOMENT_US for action in (*departures, *arrivals)):
        return True
    before = context.members_before
    return bool(before) and context.window.state_before is not State.EMPTY and all(actor in context.members_after for actor in before)


def evicted_unlogged(context: RebalanceContext) -> list[MemberAction]:
    """Expiries by which 1.1 names members removed by the join phase.

    Who is in the new generation has a timer that began anew with it, and can't expire within one session.
    """
    end = context.window.joined_at
    if end is None or phase_deadline_us(context) is None:
        return []
    within = session_timeout_us(context) - ECHO_SLACK_US
    return [action for action in context.actions if action.kind is ActionKind.EXPIRE and end < action.at < end + within]


def is_echo(context: RebalanceContext, expiry: MemberAction) -> bool:
    """Whether an expiry is of a member removed by the last phase."""
    previous = context.previous
    if previous is None or previous.joined_at is None or previous.started_at is None or previous.state_before is State.EMPTY:
        return False
    since = expiry.at - previous.joined_at
    if since <= 0 or not _has_lasted_a_timeout(context, previous, previous.joined_at - previous.started_at):
        return False
    return since < session_timeout_us(context) - ECHO_SLACK_US


def _has_lasted_a_timeout(context: RebalanceContext, previous: RebalanceWindow, lasted: int) -> bool:
    """Whether a rebalance timeout ended the join phase before."""
    timeout = rebalance_timeout_us(context)
    if timeout is not None:
        return abs(lasted - timeout) <= TIMEOUT_TOLERANCE_US
    return any(_is_just(lasted, timeout_ms * US_PER_MS) for timeout_ms in USUAL_REBALANCE_TIMEOUTS_MS) or (
        lasted >= WHOLE_SECONDS_MIN_US and lasted % US_PER_SECOND <= PHASE_OVERRUN_US and previous.members_after is None
    )


def poll_rhythm(context: RebalanceContext) -> int:
    """Number of rebalances that began one poll interval after an assignment.

    This one among them; 0 if this one did not.
    """
    lag = _since_assignment(context)
    if lag is None:
        return 0
    timeout = rebalance_timeout_us(context)
    intervals = [timeout] if timeout is not None else [timeout_ms * US_PER_MS for timeout_ms in USUAL_REBALANCE_TIMEOUTS_MS]
    interval = next((candidate for candidate in intervals if 0 <= lag - candidate <= _poll_slack_us(candidate)), None)
    return _alike(context, interval, _poll_slack_us(interval)) if interval is not None else 0


def _poll_slack_us(interval: int) -> int:
    """Longest time from a poll interval's end to the leave.

    After a short interval, others leave so late by chance.
    """
    return min(POLL_SLACK_US, round(interval * POLL_SLACK_SHARE))


def store_rhythm(context: RebalanceContext) -> int:
    """Number of rebalances in a row that writes given up began.

    Each begins one commit timeout after an assignment, whose write is given up then. So is the next one as long as replicas are missing.
    Members that are restarted one after the other leave so long after a rebalance, too, but each of them comes back in between.
    """
    return lags_in_a_row(context, _is_commit_timeout)


def lags_in_a_row(context: RebalanceContext, is_alike: Callable[[int], bool]) -> int:
    """Number of rebalances in a row that follow an assignment alike, this one included."""
    lag = _since_assignment(context)
    lags = context.known.lags
    if lag is None or not is_alike(lag):
        return 0
    at = next((i for i in reversed(range(len(lags))) if lags[i] == lag), None)
    if at is None:
        return 1
    before = sum(1 for _ in takewhile(is_alike, reversed(lags[:at])))
    return before + sum(1 for _ in takewhile(is_alike, lags[at:]))


def _is_commit_timeout(lag: int) -> bool:
    return 0 <= lag - STORE_TIMEOUT_US <= STORE_SLACK_US


def ends_planned_delay(context: RebalanceContext) -> bool:
    """Whether Connect's delay after a departure ends with this rebalance."""
    lag = _since_assignment(context)
    return lag is not None and 0 <= lag - CONNECT_DELAY_US <= POLL_SLACK_US


def ends_probing_interval(context: RebalanceContext) -> bool:
    """Whether Streams' interval between probes ends here."""
    lag = _since_assignment(context)
    return lag is not None and 0 <= lag - PROBING_US <= POLL_SLACK_US


def _since_assignment(context: RebalanceContext) -> int | None:
    previous = context.previous
    ended_at = previous.ended_at if previous is not None and previous.outcome == "stable" else None
    return None if ended_at is None else context.start - ended_at


def _alike(context: RebalanceContext, span: int, slack: int) -> int:
    return max(1, sum(0 <= lag - span <= slack for lag in context.known.lags))


def by_missed_syncs(context: RebalanceContext) -> list[Hypothesis]:
    """Weigh members that sent no SyncGroup, where the coordinator's log is missing.

    It removes them once the rebalance timeout is over, and refuses the SyncGroup of those that waited (ClassicGroup, KAFKA-13688).
    """
    began, previous = context.window.previous_joined_at, context.previous
    if context.window.witness is Witness.COORDINATOR or began is None or previous is None:
        return []
    answers = context.actions_of(ActionKind.SYNCED, ActionKind.ASSIGNED, start=began, end=context.start)
    was_assigned = any(answers) if context.window.witness is Witness.CLIENT else previous.outcome == "stable"
    if was_assigned:
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


# -- measurements for advice -------------------------------------------------------------------------------------


def numbers_of(context: RebalanceContext, cause: Cause, actions: list[MemberAction], gone_at: dict[str, int]) -> dict[str, float]:
    """Known measurements of the member that acted first, by name.

    `gone_at` holds earlier leaves and expiries of members.
    """
    action = actions[0] if actions else None
    actor = context.actor(action) if action else None
    measurements = {
        "session_timeout_ms": session_timeout_ms(context, action, actor),
        "max_poll_interval_ms": max_poll_interval_ms(context, action, actor),
        "rebalance_timeout_ms": _in_ms(rebalance_timeout_us(context) or phase_deadline_us(context)),
    }
    if action is not None and actor is not None:
        if cause is Cause.POLL_TIMEOUT and _is_too_long(context, action, measurements["max_poll_interval_ms"]):
            measurements["max_poll_interval_ms"] = None  # the value from other members' configuration is not in force here
        elif cause is Cause.POLL_TIMEOUT:
            measurements["polled_after_ms"] = _polled_after_ms(context, action, actor, measurements["max_poll_interval_ms"])
        elif cause is Cause.SESSION_TIMEOUT:
            measurements["silent_ms"] = _silent_ms(context, action, actor, measurements["session_timeout_ms"])
        elif cause is Cause.MEMBER_RESTART:
            measurements["absent_ms"] = _restarted_ms(context, actions, actor)
        elif cause in {Cause.MEMBER_JOIN, Cause.NEW_GROUP} and actor in gone_at:
            measurements["absent_ms"] = _in_ms(action.at - gone_at[actor])
    return {name: float(value) for name, value in measurements.items() if value is not None and value >= 0}


def _is_too_long(context: RebalanceContext, action: MemberAction, interval_ms: int | None) -> bool:
    """Whether the member joined less than the interval before its late poll."""
    member = context.roster.members.get(action.member_id or "")
    joined = context.known.first_generation.get(action.member_id or "") is not None
    if interval_ms is None or member is None or member.first_seen_at is None or not joined:
        return False
    return action.at - member.first_seen_at < interval_ms * US_PER_MS - POLL_TIMEOUT_TO_LEAVE_US


def has_polled_in_time(context: RebalanceContext, action: MemberAction | None, actor: str | None) -> bool:
    """Whether a member that left had polled within its poll interval.

    JoinGroup is sent in poll() (KIP-62), so each member of the generation before polled after that one's rebalance began.
    False where the interval is not known.
    """
    interval_ms = max_poll_interval_ms(context, action, actor)
    if interval_ms is None or actor is None:
        return False
    left_at = action.at if action is not None else context.start
    since = left_at - interval_ms * US_PER_MS + POLL_TIMEOUT_TO_LEAVE_US
    began = context.previous.started_at if context.previous is not None and actor in context.members_before else None
    joins = context.actions_of(ActionKind.JOIN, ActionKind.REJOIN, start=since, end=left_at)
    return (began is not None and since < began <= left_at) or any(context.actor(join) == actor and join.at <= left_at for join in joins)


def has_committed_in_time(context: RebalanceContext, action: MemberAction | None, actor: str | None) -> bool | None:
    """Whether a member that left had committed within its poll interval.

    False where its commits ended just one interval before, None where neither is so. By default poll() sends them every 5 s
    (enable.auto.commit), and close() sends a last one.
    """
    interval_ms = max_poll_interval_ms(context, action, actor)
    committed_at = context.known.committed_at.get(action.member_id or "") if action is not None else None
    if action is None or committed_at is None or interval_ms is None:
        return None
    beyond = action.at - committed_at - interval_ms * US_PER_MS
    return beyond < 0 or (False if beyond <= COMMIT_RHYTHM_US else None)


def session_timeout_ms(context: RebalanceContext, action: MemberAction | None, actor: str | None) -> int | None:
    """Session timeout from coordinator or request, client's configuration, or assumption."""
    capped = context.facts.session_ms_of(context.group)
    if capped is not None:
        return capped
    members = _nearest_first(context, action, actor)
    timeout_ms = next((member.session_timeout_ms for member in members if member.session_timeout_ms), None)
    return timeout_ms or _configured(context, actor, "session_timeout_ms") or context.facts.session_timeout_ms


def max_poll_interval_ms(context: RebalanceContext, action: MemberAction | None, actor: str | None) -> int | None:
    """Maximum poll interval; the Java consumer sends it as rebalance timeout (KIP-62)."""
    members = _nearest_first(context, action, actor)
    timeout_ms = next((member.rebalance_timeout_ms for member in members if member.rebalance_timeout_ms), None)
    return timeout_ms or _configured(context, actor, "max_poll_interval_ms") or context.facts.rebalance_timeout_ms


def _nearest_first(context: RebalanceContext, action: MemberAction | None, actor: str | None) -> list[RosterMember]:
    """The member itself, then others of its group.

    Members of a group usually have the same configuration.
    """
    ids = [action.member_id if action else None, context.members_before.get(actor or "")]
    ids += [*context.members_before.values(), *context.members_after.values()][:LIKE_IT_MAX]
    return [member for member_id in ids if (member := context.roster.members.get(member_id or ""))]


def _configured(context: RebalanceContext, actor: str | None, name: str) -> int | None:
    settings = context.known.settings
    return settings.get(actor or "", {}).get(name) or next((setting[name] for setting in settings.values() if name in setting), None)


def _in_ms(span_us: int | None) -> int | None:
    return None if span_us is None else span_us // US_PER_MS


def _polled_after_ms(context: RebalanceContext, action: MemberAction, actor: str, allowed_ms: int | None) -> int | None:
    """Milliseconds between two polls.

    The allowed time, plus the time from its end until the member rejoins in poll().
    """
    if allowed_ms is None:
        return None
    polls = (action.at for action in context.all_of(ActionKind.POLL_TIMEOUT) if context.actor(action) == actor)
    noticed = next((at for at in polls if abs(at - action.at) <= POLL_TIMEOUT_TO_LEAVE_US), action.at)
    back = _next_join(context, actor, action.at)
    return None if back is None else allowed_ms + (back - noticed) // US_PER_MS


def _silent_ms(context: RebalanceContext, action: MemberAction, actor: str, allowed_ms: int | None) -> int | None:
    """Milliseconds between the last heartbeat and the return of a member."""
    if allowed_ms is None:
        return None
    later = (
        a.at for a in context.actions if a.at > action.at and a.kind in {ActionKind.JOIN, ActionKind.FENCED} and context.actor(a) == actor
    )
    back = next(later, None)
    return None if back is None else allowed_ms + (back - action.at) // US_PER_MS


def _restarted_ms(context: RebalanceContext, actions: list[MemberAction], actor: str) -> int | None:
    departure_times = [a.at for a in actions if a.kind in {ActionKind.LEAVE, ActionKind.EXPIRE} and context.actor(a) == actor]
    arrival_times = [a.at for a in actions if a.kind in {ActionKind.JOIN, ActionKind.REJOIN} and context.actor(a) == actor]
    return _in_ms(max(arrival_times) - min(departure_times)) if departure_times and arrival_times else None


def _next_join(context: RebalanceContext, actor: str, after: int) -> int | None:
    return next((a.at for a in context.all_of(ActionKind.JOIN) if a.at > after and context.actor(a) == actor), None)
