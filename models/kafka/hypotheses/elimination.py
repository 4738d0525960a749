"""Causes that remain possible if no line names a trigger, with their usual shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from models import weights
from models.causes import Cause
from models.events import BEFORE_ANY_TIME_US, Witness
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.departures import LINE_LAG_US, by_removed_members, is_static
from models.kafka.hypotheses.hypothesis import CLIENT_LOG, EARLIER_LINES, INITIAL_DELAY_OVERRUN, LOOK_BACK_US, REQUEST_LOG, Hypothesis
from models.kafka.hypotheses.joins import first_of_empty, had_members, removed_and_back, returned_unseen
from models.kafka.hypotheses.timeouts import (
    TIMEOUT_TOLERANCE_US,
    follows_load,
    lags_in_a_row,
    phase_deadline_us,
    poll_rhythm,
    rebalance_timeout_us,
    store_rhythm,
)
from models.kafka.hypotheses.window import RebalanceContext
from models.kafka.observations.actions import (
    ActionKind,
    MemberAction,
    is_rebalance_notice,
    is_refused_sync,
    stays_till_expiry,
)
from models.kafka.observations.libraries import known_library
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.tolerances import GROUP_MIN_SESSION_US, RHYTHM_MIN, STORE_SLACK_US, STORE_TIMEOUT_US, whole
from models.units import FOREVER, US_PER_MS

AT_ONCE_US = whole("kafka.elimination.at_once_us")
"""Longest duration of a write that fails at once.

Too few replicas are in sync; before 2.1 no line shows it.
"""

TROUBLE_US = whole("kafka.elimination.trouble_us")
"""Maximum distance of brokers' trouble that explains a failed write.

One that left or came, or offsets partitions that moved.
"""


def by_elimination(context: RebalanceContext) -> list[Hypothesis]:
    """Weigh the causes that are left where no line names one.

    With their usual shares.
    """
    window = context.window
    if context.was_empty:
        return first_of_empty(context, list(context.joiners.values()), weights.FIRST_OF_EMPTY.value)
    removed = by_removed_members(context)
    if removed:
        return removed
    late = _polled_late(context)
    if late:
        return late
    gone = context.departed.values()
    expiries = [action for action in gone if action.kind is ActionKind.EXPIRE]
    leaves = [action for action in gone if action.kind is ActionKind.LEAVE and not _was_begun_before(context, action)]
    leaves += context.inferred_departures
    if window.outcome == "empty":
        return _emptied(leaves, expiries)
    by_members = _by_members_alone(context) if window.witness is Witness.CLIENT else []
    if by_members:
        return by_members
    if leaves and not context.joiners and not _has_timed_out(context):
        actions = dict.fromkeys(weights.VANISHED.of, leaves)
        return [Hypothesis(cause, share, actions[cause], REQUEST_LOG) for cause, share in weights.VANISHED.of.items()]
    if may_follow_failed_write(context):
        shares = weights.FOLLOWED_AT_ONCE if _is_followed_once(context) else weights.STORE_FAILED_AT_ONCE
        return [Hypothesis(cause, share, settled_by=REQUEST_LOG) for cause, share in shares.of.items()]
    if window.state_before is None and _has_initial_delay(context) and not had_members(context):
        first = list(context.joiners.values())
        return [
            Hypothesis(c, share, first if c is Cause.NEW_GROUP else [], REQUEST_LOG) for c, share in weights.ONE_INITIAL_DELAY.of.items()
        ]
    return _usual_shares(context, expiries)


def _was_begun_before(context: RebalanceContext, leave: MemberAction) -> bool:
    """Whether a member that left had heard of the rebalance long before.

    A refused SyncGroup, after which some libraries leave, tells it at once.
    """
    if context.window.witness is not Witness.CLIENT:
        return False
    actor, is_late = context.actor(leave), leave.at - context.start > CLOCK_TOLERANCE_US
    heard = (action for action in context.actions if context.start <= action.at < leave.at and context.actor(action) == actor)
    return any(is_refused_sync(action) or (is_late and is_rebalance_notice(action)) for action in heard)


def _emptied(leaves: list[MemberAction], expiries: list[MemberAction]) -> list[Hypothesis]:
    """Weigh why the group went empty.

    The only members can leave it unlogged, but never expire so.
    """
    if leaves or not expiries:
        late = weights.EMPTIED_BY_LATE_POLLS.value
        by_will = weights.EMPTIED_BY_LEAVE.value - late
        return [Hypothesis(Cause.MEMBER_LEAVE, by_will, leaves), Hypothesis(Cause.POLL_TIMEOUT, late, leaves, CLIENT_LOG)]
    shares = weights.EMPTIED_BY_EXPIRY.of.items()
    return [Hypothesis(cause, share, expiries if cause is Cause.SESSION_TIMEOUT else [], REQUEST_LOG) for cause, share in shares]


def _by_members_alone(context: RebalanceContext) -> list[Hypothesis]:
    """Hypotheses by members' logs alone; none where they show nothing.

    Without the coordinator's lines no line shows expiries.
    """
    if follows_load(context) and not (context.joiners or context.departed or context.inferred_departures or context.appeared):
        return [Hypothesis(cause, share, settled_by=EARLIER_LINES) for cause, share in weights.AFTER_MOVE.of.items()]
    returned = [action for actor, action in context.joiners.items() if actor in context.members_before and not context.is_ambiguous(actor)]
    if returned:
        return [Hypothesis(cause, share, returned, EARLIER_LINES) for cause, share in returned_unseen(context, returned).of.items()]
    known_before = context.members_before
    newcomers = [action for actor, action in context.joiners.items() if known_before and actor not in known_before]
    silent, new = context.inferred_departures, [*context.appeared, *newcomers]
    if context.departed or len(newcomers) < len(context.joiners):
        return []
    if not (silent or new):
        return _work_lost(context) or removed_and_back(context)
    if new:
        weight = weights.APPEARED if not silent else weights.APPEARED_AND_SILENT
        of = {Cause.MEMBER_JOIN: new, Cause.MEMBER_RESTART: new}
        return [Hypothesis(cause, share, of.get(cause, silent), EARLIER_LINES) for cause, share in weight.of.items()]
    closed = [action for action in silent if _was_closed(context, action)]
    if closed:
        return [Hypothesis(Cause.MEMBER_LEAVE, weights.CLOSED_AS_IT_WENT.value, closed, EARLIER_LINES)]
    would_tell = all(_would_tell_its_leave(context, action) for action in silent)
    shares = weights.SILENT_WHERE_LEAVES_ARE_LOGGED if would_tell else weights.SILENT
    if all(context.start - last_heard(context, action) < GROUP_MIN_SESSION_US - LINE_LAG_US for action in silent):
        shares = weights.SILENT_TOO_BRIEFLY_TO_EXPIRE if would_tell else weights.VANISHED
    expired = [replace(action, kind=ActionKind.EXPIRE) for action in silent]
    return [
        Hypothesis(cause, share, expired if cause is Cause.SESSION_TIMEOUT else silent, EARLIER_LINES) for cause, share in shares.of.items()
    ]


def _was_closed(context: RebalanceContext, departure: MemberAction) -> bool:
    """Whether a client missing from the next generation was closed right before.

    One that is closed without a leave, as static members and Streams are, expires a session later.
    """
    closings = context.actions_of(ActionKind.CLOSE, start=context.start - LOOK_BACK_US, end=context.start + CLOCK_TOLERANCE_US)
    return any(context.actor(action) == context.actor(departure) for action in closings)


def _would_tell_its_leave(context: RebalanceContext, departure: MemberAction) -> bool:
    """Whether the member's log would show its leave, had it left."""
    if is_static(context, departure):
        return True  # it never leaves by itself (KIP-345)
    actor = context.actor(departure) or ""
    log = context.roster.logs.get(actor)
    tells = log is not None and known_library(log.library).logs_leaves
    return tells or (context.known.leaves_logged and actor in context.known.tell_joins)


def _polled_late(context: RebalanceContext) -> list[Hypothesis]:
    """Hypotheses where a late poll began it.

    librdkafka leaves by the same line.
    """
    if context.window.witness is not Witness.CLIENT:
        return []
    began, until = context.start - CLOCK_TOLERANCE_US, context.start + CLOCK_TOLERANCE_US
    over = context.window.open_until
    noticed = context.actions_of(ActionKind.POLL_TIMEOUT, start=began, end=until if over is None else min(until, over))
    late = [action for action in noticed if not stays_till_expiry(action)]
    if late and context.window.joined is None and context.window.generation_before is None:
        late = _all_late(context, began)  # such logs show no end
    sure = weights.POLL_TIMEOUT_NOTICED.value
    return [Hypothesis(Cause.POLL_TIMEOUT, sure, late), Hypothesis(Cause.MEMBER_LEAVE, 1 - sure, late)] if late else []


def _all_late(context: RebalanceContext, began: int) -> list[MemberAction]:
    """The first late poll of each member until the next rebalance."""
    over = context.window.open_until
    noticed = context.actions_of(ActionKind.POLL_TIMEOUT, start=began, end=FOREVER if over is None else over - 1)
    first: dict[str | None, MemberAction] = {}
    for action in noticed:
        if not stays_till_expiry(action):
            first.setdefault(context.actor(action), action)
    return list(first.values())


def _work_lost(context: RebalanceContext) -> list[Hypothesis]:
    """Hypotheses if Connect waits for a worker that no line names."""
    if context.window.generation_after not in context.known.work_lost_in:
        return []
    return [Hypothesis(cause, share, settled_by=EARLIER_LINES) for cause, share in weights.WORKER_LOST.of.items()]


def last_heard(context: RebalanceContext, vanished: MemberAction) -> int:
    """Time of the last action of a member that vanished."""
    actor = context.actor(vanished)
    return max((action.at for action in context.actions if action.at <= context.start and context.actor(action) == actor), default=0)


def may_follow_failed_write(context: RebalanceContext) -> bool:
    """Whether the last assignment was not written, or perhaps was not.

    It may not have been if it came just before.
    """
    previous = context.previous
    if was_sync_given_up(context):
        return True
    if previous is None or previous.outcome != "stable" or previous.ended_at is None or context.start < BEFORE_ANY_TIME_US:
        return False
    return 0 <= context.start - previous.ended_at <= AT_ONCE_US


def _is_followed_once(context: RebalanceContext) -> bool:
    """Whether one rebalance alone began as a new group was assigned.

    Its next members may come just then. A write that fails at once often fails again as the members come back, or leaves as many as there
    were; no head counts tell so before 2.2.
    """
    if context.previous is None or context.previous.state_before is not State.EMPTY:
        return False
    if was_sync_given_up(context) or lags_in_a_row(context, lambda lag: 0 <= lag <= AT_ONCE_US) >= RHYTHM_MIN:
        return False
    return context.window.members_before is None or context.window.members_before != context.window.members_after


def start_not_seen(context: RebalanceContext) -> list[Hypothesis]:
    """Weigh that the start lies before the log, or in a gap."""
    lines = EARLIER_LINES
    if context.window.outcome == "empty":
        expired = list(context.first_by_actor(ActionKind.EXPIRE).values())
        shares = weights.EXPIRED_WHILE_REBALANCING if expired else weights.START_NOT_SEEN_EMPTY
        actions = {Cause.SESSION_TIMEOUT: expired}
        return [Hypothesis(cause, share, actions.get(cause, []), lines) for cause, share in shares.of.items()]
    unknown = weights.START_NOT_SEEN.value
    rivals = [Hypothesis(o.cause, o.probability * (1 - unknown), [], lines) for o in _usual_shares(context, [])]
    return [Hypothesis(Cause.UNKNOWN, unknown, settled_by=lines), *rivals]


def _has_timed_out(context: RebalanceContext) -> bool:
    """Whether a member missed the rebalance timeout.

    The join phase ran into it; who is missing then did not rejoin, which started nothing.
    """
    if phase_deadline_us(context) is not None:
        return True
    timeout = rebalance_timeout_us(context)
    return timeout is not None and (context.window.open_until or context.start) - context.start >= timeout - TIMEOUT_TOLERANCE_US


def _has_initial_delay(context: RebalanceContext) -> bool:
    """Whether one initial delay passed; brokers before 2.1 print no reason.

    They wait for it once at generations above 0, however many join meanwhile.
    """
    duration = (context.window.open_until or context.start) - context.start
    delay = context.facts.initial_delay_ms * US_PER_MS
    return bool(delay) and 0 <= duration - delay <= delay * INITIAL_DELAY_OVERRUN


def has_store_failed_silently(context: RebalanceContext) -> bool:
    """Whether the assignment's write failed silently.

    A rebalance one commit timeout after it, that nobody asked for (before 2.1 the failure is not logged).
    """
    previous = context.previous
    if was_sync_given_up(context):
        return True
    if previous is None or previous.outcome != "stable" or previous.ended_at is None:
        return False
    lag = context.start - previous.ended_at
    if 0 <= lag <= STORE_TIMEOUT_US + STORE_SLACK_US and _was_sync_refused(context):
        return True
    if not _as_if_timed_out(context):
        return False
    if any(_refused_syncs(context, context.start - CLOCK_TOLERANCE_US)):
        return True  # storeGroup tells REBALANCE_IN_PROGRESS of a write that timed out
    if context.inferred_departures or context.appeared:
        return False  # who came or went unlogged began it, and that is rarely just when a write is given up
    return store_rhythm(context) >= RHYTHM_MIN  # nobody acts in a row just when a write is given up


def may_have_failed_to_store(context: RebalanceContext) -> bool:
    """Whether a write may have been given up while brokers were in trouble.

    Nobody asked for the rebalance, which began one commit timeout after an assignment.
    """
    if not _as_if_timed_out(context) or context.inferred_departures or context.appeared:
        return False
    since = context.start - TROUBLE_US
    facts = context.facts
    return bool(facts.loads_between(since, context.start) or facts.node_changes_between(since, context.start))


def was_sync_given_up(context: RebalanceContext) -> bool:
    """Whether a SyncGroup was refused because its write failed.

    At once, or when it would have been given up: a request log tells how long each one took.
    """
    began = context.window.previous_joined_at
    if began is None:
        return False
    refused = list(_refused_syncs(context, began))
    if context.window.witness is Witness.CLIENT and context.previous is not None and context.previous.outcome == "superseded":
        given_up_at = began + STORE_TIMEOUT_US
        if any(action.why == NOT_STORED or _is_just(action.at, given_up_at) for action in refused):
            return True
        return _is_sync_answered_by_loss(context) or (_is_just(context.start, given_up_at) and _have_all_asked_again(context))
    if any(action.why == NOT_STORED and action.event.witness is Witness.REQUEST for action in refused):
        return True
    took = (action.event.fields.get("total_ms") for action in refused)
    return any(isinstance(time, int | float) and 0 <= time * US_PER_MS - STORE_TIMEOUT_US <= STORE_SLACK_US for time in took)


def _is_sync_answered_by_loss(context: RebalanceContext) -> bool:
    """Whether members lost their coordinator instead of getting an assignment.

    They found the same one again.
    Before 2.7 a refused SyncGroup leaves no other line at INFO (AbstractCoordinator.SyncGroupResponseHandler).
    """
    began = context.window.previous_joined_at or 0
    until, starts = context.start + CLOCK_TOLERANCE_US, context.all_of(ActionKind.START)
    for lost in context.actions_of(ActionKind.LOST_COORDINATOR, start=began, end=until):
        actor, is_prompt = context.actor(lost), lost.at - began <= AT_ONCE_US or _is_just(lost.at, began + STORE_TIMEOUT_US)
        again = next((start for start in starts if lost.at <= start.at and context.actor(start) == actor), None)
        if is_prompt and actor in context.members_before and again is not None and again.event.node == lost.event.node is not None:
            return True
    return False


def _have_all_asked_again(context: RebalanceContext) -> bool:
    """Whether all members rejoined, none of them assigned, told of a rebalance, or gone.

    Before 2.7 a refused SyncGroup leaves no line at INFO (AbstractCoordinator.SyncGroupResponseHandler).
    """
    began, until = context.window.previous_joined_at, context.window.joined_at
    if not context.known.has_assignments or context.joiners or context.departed or context.appeared or context.inferred_departures:
        return False
    answers = context.actions_of(ActionKind.SYNCED, ActionKind.ASSIGNED, start=began, end=context.start)
    notices = context.actions_of(ActionKind.REBALANCE_NOTICED, ActionKind.WANTS_REJOIN, start=began, end=until)
    if any(answers) or any(map(is_rebalance_notice, notices)):
        return False
    again = {context.actor(action) for action in context.actions_of(ActionKind.REJOIN, start=began, end=until)}
    return len(context.members_before) > 1 and context.members_before.keys() <= again


def _is_just(at: int, given_up_at: int) -> bool:
    """Whether a refused SyncGroup was answered as a write was given up.

    Its answer reports another rebalance (GroupMetadataManager.storeGroup).
    """
    return -CLOCK_TOLERANCE_US <= at - given_up_at <= STORE_SLACK_US


def _as_if_timed_out(context: RebalanceContext) -> bool:
    """Whether the previous assignment's write would have been given up then."""
    ended_at = context.previous.ended_at if context.previous is not None else None
    is_in_time = ended_at is not None and STORE_TIMEOUT_US <= context.start - ended_at <= STORE_TIMEOUT_US + STORE_SLACK_US
    return is_in_time and not _was_assignment_answered(context)


def _was_assignment_answered(context: RebalanceContext) -> bool:
    """Whether a member got the assignment, which is sent once it is written."""
    began = context.window.previous_joined_at or context.start
    return any(
        action.at < context.start - CLOCK_TOLERANCE_US and action.event.witness is Witness.CLIENT
        for kind in (ActionKind.SYNCED, ActionKind.ASSIGNED)
        for action in context.actions_of(kind, start=began, end=context.start)
    )


NOT_STORED = "COORDINATOR_NOT_AVAILABLE"
"""Error of a SyncGroup whose write too few replicas confirmed.

A coordinator that moved has another (appendForGroup).
"""

STORE_ERROR_TEXTS = (
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "NOT_ENOUGH_REPLICAS",
    "coordinator is not available",
    "not the correct coordinator",
)


def _refused_syncs(context: RebalanceContext, since: int | None) -> Iterator[MemberAction]:
    """Refusals of SyncGroup in the generation before.

    Those behind the end of this join phase are of the generation that it made.
    """
    joined_at = context.window.joined_at
    until = context.start + CLOCK_TOLERANCE_US
    return context.actions_of(ActionKind.SYNC_FAILED, start=since, end=until if joined_at is None else min(until, joined_at))


def _was_sync_refused(context: RebalanceContext) -> bool:
    """Whether members were answered that the assignment could not be stored.

    The errors of appendForGroup.
    """
    began = context.window.previous_joined_at
    refused = _refused_syncs(context, began)
    return began is not None and any(action.why and any(error in action.why for error in STORE_ERROR_TEXTS) for action in refused)


def _usual_shares(context: RebalanceContext, expiries: list[MemberAction]) -> list[Hypothesis]:
    shares = dict(weights.USUAL.of)
    changed = bool(context.facts.topic_changes_between(context.window.previous_ended_at or context.join_phase_start, context.start))
    if changed:
        shares |= weights.AFTER_TOPIC_CHANGE.of
    if expiries:
        shares |= weights.EXPIRED_MEANWHILE.of
    if context.window.state_before is None:
        shares[Cause.NEW_GROUP] = weights.UNKNOWN_STATE_NEW_GROUP.value
    elif _as_if_timed_out(context):
        shares[Cause.ASSIGNMENT_STORE_FAILED] = weights.ONCE_AFTER_STORE_TIMEOUT.value
    often = 0 if changed or expiries else poll_rhythm(context)
    if often:
        shares = _with_poll_timeout(shares, weights.POLL_RHYTHM[min(often, len(weights.POLL_RHYTHM)) - 1].value)
    return [Hypothesis(cause, share, expiries if cause is Cause.MEMBER_RESTART else [], REQUEST_LOG) for cause, share in shares.items()]


def _with_poll_timeout(shares: Mapping[Cause, float], share: float) -> dict[Cause, float]:
    """Set the share of a poll timeout; the others keep proportions."""
    others = {cause: value for cause, value in shares.items() if cause is not Cause.POLL_TIMEOUT}
    left = (1 - share) / sum(others.values())
    return {cause: value * left for cause, value in others.items()} | {Cause.POLL_TIMEOUT: share}
