"""Causes that remain possible if no line names a trigger, with their usual shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from models import weights
from models.causes import Cause
from models.events import BEFORE_ANY_TIME_US, Witness
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.phase_deadline import TIMEOUT_TOLERANCE_US
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.departures import is_static
from models.kafka.hypotheses.hypothesis import CLIENT_LOG, EARLIER_LINES, INITIAL_DELAY_OVERRUN, LOOK_BACK_US, REQUEST_LOG, Hypothesis
from models.kafka.hypotheses.joins import first_of_empty, had_members, removed_and_back, returned_unseen
from models.kafka.hypotheses.removals import LINE_LAG_US, by_removed_members
from models.kafka.hypotheses.timeouts import (
    follows_load,
    lags_in_a_row,
    poll_rhythm,
    store_rhythm,
)
from models.kafka.observations.actions import (
    ActionKind,
    MemberAction,
    is_rebalance_notice,
    is_refused_sync,
    stays_till_expiry,
)
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.libraries import known_library
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.kafka.observations.roster import Roster
from models.tolerances import GROUP_MIN_SESSION_US, RHYTHM_MIN, STORE_SLACK_US, STORE_TIMEOUT_US, int_tolerance
from models.units import FOREVER, US_PER_MS

AT_ONCE_US = int_tolerance("kafka.elimination.at_once_us")
"""Longest duration of a write that fails at once.

Too few replicas are in sync; before 2.1 no line shows it.
"""

TROUBLE_US = int_tolerance("kafka.elimination.trouble_us")
"""Maximum distance of brokers' trouble that explains a failed write.

One that left or came, or offsets partitions that moved.
"""


def by_elimination(context: RebalanceContext) -> list[Hypothesis]:
    """Weigh the causes that are left where no line names one.

    With their usual shares.
    """
    window = context.window
    if context.phase.was_empty:
        return first_of_empty(context, list(context.arrivals.by_actor.values()), weights.FIRST_OF_EMPTY.value)
    removed = by_removed_members(context)
    if removed:
        return removed
    late = _polled_late(context.phase)
    if late:
        return late
    gone = context.departures.by_actor.values()
    expiries = [action for action in gone if action.kind is ActionKind.EXPIRE]
    leaves = [action for action in gone if action.kind is ActionKind.LEAVE and not _was_begun_before(context.phase, action)]
    leaves += context.departures.inferred
    if window.outcome == "empty":
        return _emptied(leaves, expiries)
    by_members = _by_members_alone(context) if window.witness is Witness.CLIENT else []
    if by_members:
        return by_members
    if leaves and not context.arrivals.by_actor and not _has_timed_out(context):
        actions = dict.fromkeys(weights.VANISHED.of, leaves)
        return [Hypothesis(cause, share, actions[cause], REQUEST_LOG) for cause, share in weights.VANISHED.of.items()]
    if may_follow_failed_write(context):
        shares = weights.FOLLOWED_AT_ONCE if _is_followed_once(context) else weights.STORE_FAILED_AT_ONCE
        return [Hypothesis(cause, share, settled_by=REQUEST_LOG) for cause, share in shares.of.items()]
    if window.state_before is None and _has_initial_delay(context.phase, context.facts) and not had_members(context.phase):
        first = list(context.arrivals.by_actor.values())
        return [
            Hypothesis(c, share, first if c is Cause.NEW_GROUP else [], REQUEST_LOG) for c, share in weights.ONE_INITIAL_DELAY.of.items()
        ]
    return _usual_shares(context, expiries)


def _was_begun_before(phase: LoggedJoinPhase, leave: MemberAction) -> bool:
    """Whether a member that left had heard of the rebalance long before.

    A refused SyncGroup, after which some libraries leave, tells it at once.
    """
    if phase.window.witness is not Witness.CLIENT:
        return False
    actor, is_late = phase.actor(leave), leave.at - phase.start > CLOCK_TOLERANCE_US
    heard = (action for action in phase.actions if phase.start <= action.at < leave.at and phase.actor(action) == actor)
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
    if follows_load(context.phase, context.timeouts) and not (
        context.arrivals.by_actor or context.departures.by_actor or context.departures.inferred or context.arrivals.inferred
    ):
        return [Hypothesis(cause, share, settled_by=EARLIER_LINES) for cause, share in weights.AFTER_MOVE.of.items()]
    returned = [
        action
        for actor, action in context.arrivals.by_actor.items()
        if actor in context.members.before and not context.known.is_ambiguous(actor)
    ]
    if returned:
        return [Hypothesis(cause, share, returned, EARLIER_LINES) for cause, share in returned_unseen(context, returned).of.items()]
    known_before = context.members.before
    newcomers = [action for actor, action in context.arrivals.by_actor.items() if known_before and actor not in known_before]
    silent, new = context.departures.inferred, [*context.arrivals.inferred, *newcomers]
    if context.departures.by_actor or len(newcomers) < len(context.arrivals.by_actor):
        return []
    if not (silent or new):
        return _work_lost(context.phase, context.known) or removed_and_back(context.phase, context.members)
    if new:
        weight = weights.APPEARED if not silent else weights.APPEARED_AND_SILENT
        of = {Cause.MEMBER_JOIN: new, Cause.MEMBER_RESTART: new}
        return [Hypothesis(cause, share, of.get(cause, silent), EARLIER_LINES) for cause, share in weight.of.items()]
    closed = [action for action in silent if _was_closed(context.phase, action)]
    if closed:
        return [Hypothesis(Cause.MEMBER_LEAVE, weights.CLOSED_AS_IT_WENT.value, closed, EARLIER_LINES)]
    would_tell = all(_would_tell_its_leave(context.phase, context.known, context.roster, action) for action in silent)
    shares = weights.SILENT_WHERE_LEAVES_ARE_LOGGED if would_tell else weights.SILENT
    if all(context.phase.start - last_heard(context.phase, action) < GROUP_MIN_SESSION_US - LINE_LAG_US for action in silent):
        shares = weights.SILENT_TOO_BRIEFLY_TO_EXPIRE if would_tell else weights.VANISHED
    expired = [replace(action, kind=ActionKind.EXPIRE) for action in silent]
    return [
        Hypothesis(cause, share, expired if cause is Cause.SESSION_TIMEOUT else silent, EARLIER_LINES) for cause, share in shares.of.items()
    ]


def _was_closed(phase: LoggedJoinPhase, departure: MemberAction) -> bool:
    """Whether a client missing from the next generation was closed right before.

    One that is closed without a leave, as static members and Streams are, expires a session later.
    """
    closings = phase.actions_of(ActionKind.CLOSE, start=phase.start - LOOK_BACK_US, end=phase.start + CLOCK_TOLERANCE_US)
    return any(phase.actor(action) == phase.actor(departure) for action in closings)


def _would_tell_its_leave(phase: LoggedJoinPhase, known: GroupKnowledge, roster: Roster, departure: MemberAction) -> bool:
    """Whether the member's log would show its leave, had it left."""
    if is_static(roster, departure):
        return True  # it never leaves by itself (KIP-345)
    actor = phase.actor(departure) or ""
    log = roster.logs.get(actor)
    tells = log is not None and known_library(log.library).logs_leaves
    return tells or (known.leaves_logged and actor in known.tell_joins)


def _polled_late(phase: LoggedJoinPhase) -> list[Hypothesis]:
    """Hypotheses where a late poll began it.

    librdkafka leaves by the same line.
    """
    if phase.window.witness is not Witness.CLIENT:
        return []
    began, until = phase.start - CLOCK_TOLERANCE_US, phase.start + CLOCK_TOLERANCE_US
    over = phase.window.open_until
    noticed = phase.actions_of(ActionKind.POLL_TIMEOUT, start=began, end=until if over is None else min(until, over))
    late = [action for action in noticed if not stays_till_expiry(action)]
    if late and phase.window.joined is None and phase.window.generation_before is None:
        late = _all_late(phase, began)  # such logs show no end
    sure = weights.POLL_TIMEOUT_NOTICED.value
    return [Hypothesis(Cause.POLL_TIMEOUT, sure, late), Hypothesis(Cause.MEMBER_LEAVE, 1 - sure, late)] if late else []


def _all_late(phase: LoggedJoinPhase, began: int) -> list[MemberAction]:
    """The first late poll of each member until the next rebalance."""
    over = phase.window.open_until
    noticed = phase.actions_of(ActionKind.POLL_TIMEOUT, start=began, end=FOREVER if over is None else over - 1)
    first: dict[str | None, MemberAction] = {}
    for action in noticed:
        if not stays_till_expiry(action):
            first.setdefault(phase.actor(action), action)
    return list(first.values())


def _work_lost(phase: LoggedJoinPhase, known: GroupKnowledge) -> list[Hypothesis]:
    """Hypotheses if Connect waits for a worker that no line names."""
    if phase.window.generation_after not in known.work_lost_in:
        return []
    return [Hypothesis(cause, share, settled_by=EARLIER_LINES) for cause, share in weights.WORKER_LOST.of.items()]


def last_heard(phase: LoggedJoinPhase, vanished: MemberAction) -> int:
    """Time of the last action of a member that vanished."""
    actor = phase.actor(vanished)
    return max(
        (action.at for action in phase.actions if action.at <= phase.start and phase.actor(action) == actor),
        default=0,
    )


def may_follow_failed_write(context: RebalanceContext) -> bool:
    """Whether the last assignment was not written, or perhaps was not.

    It may not have been if it came just before.
    """
    previous = context.phase.previous
    if was_sync_given_up(context):
        return True
    if previous is None or previous.outcome != "stable" or previous.ended_at is None or context.phase.start < BEFORE_ANY_TIME_US:
        return False
    return 0 <= context.phase.start - previous.ended_at <= AT_ONCE_US


def _is_followed_once(context: RebalanceContext) -> bool:
    """Whether one rebalance alone began as a new group was assigned.

    Its next members may come just then. A write that fails at once often fails again as the members come back, or leaves as many as there
    were; no head counts tell so before 2.2.
    """
    if context.phase.previous is None or context.phase.previous.state_before is not State.EMPTY:
        return False
    if was_sync_given_up(context) or lags_in_a_row(context.phase, context.known, lambda lag: 0 <= lag <= AT_ONCE_US) >= RHYTHM_MIN:
        return False
    return context.window.members_before is None or context.window.members_before != context.window.members_after


def start_not_seen(context: RebalanceContext) -> list[Hypothesis]:
    """Weigh that the start lies before the log, or in a gap."""
    lines = EARLIER_LINES
    if context.window.outcome == "empty":
        expired = list(context.phase.first_by_actor(ActionKind.EXPIRE).values())
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
    if context.deadline.passed_after_us is not None:
        return True
    timeout = context.timeouts.longest_rebalance_us
    return (
        timeout is not None and (context.window.open_until or context.phase.start) - context.phase.start >= timeout - TIMEOUT_TOLERANCE_US
    )


def _has_initial_delay(phase: LoggedJoinPhase, facts: ClusterFacts) -> bool:
    """Whether one initial delay passed; brokers before 2.1 print no reason.

    They wait for it once at generations above 0, however many join meanwhile.
    """
    duration = (phase.window.open_until or phase.start) - phase.start
    delay = facts.initial_delay_ms * US_PER_MS
    return bool(delay) and 0 <= duration - delay <= delay * INITIAL_DELAY_OVERRUN


def has_store_failed_silently(context: RebalanceContext) -> bool:
    """Whether the assignment's write failed silently.

    A rebalance one commit timeout after it, that nobody asked for (before 2.1 the failure is not logged).
    """
    previous = context.phase.previous
    if was_sync_given_up(context):
        return True
    if previous is None or previous.outcome != "stable" or previous.ended_at is None:
        return False
    lag = context.phase.start - previous.ended_at
    if 0 <= lag <= STORE_TIMEOUT_US + STORE_SLACK_US and _was_sync_refused(context.phase):
        return True
    if not _as_if_timed_out(context.phase):
        return False
    if any(_refused_syncs(context.phase, context.phase.start - CLOCK_TOLERANCE_US)):
        return True  # storeGroup tells REBALANCE_IN_PROGRESS of a write that timed out
    if context.departures.inferred or context.arrivals.inferred:
        return False  # who came or went unlogged began it, and that is rarely just when a write is given up
    return store_rhythm(context.phase, context.known) >= RHYTHM_MIN  # nobody acts in a row just when a write is given up


def may_have_failed_to_store(context: RebalanceContext) -> bool:
    """Whether a write may have been given up while brokers were in trouble.

    Nobody asked for the rebalance, which began one commit timeout after an assignment.
    """
    if not _as_if_timed_out(context.phase) or context.departures.inferred or context.arrivals.inferred:
        return False
    since = context.phase.start - TROUBLE_US
    facts = context.facts
    return bool(facts.loads_between(since, context.phase.start) or facts.node_changes_between(since, context.phase.start))


def was_sync_given_up(context: RebalanceContext) -> bool:
    """Whether a SyncGroup was refused because its write failed.

    At once, or when it would have been given up: a request log tells how long each one took.
    """
    began = context.window.previous_joined_at
    if began is None:
        return False
    refused = list(_refused_syncs(context.phase, began))
    if context.window.witness is Witness.CLIENT and context.phase.previous is not None and context.phase.previous.outcome == "superseded":
        given_up_at = began + STORE_TIMEOUT_US
        if any(action.why == NOT_STORED or _is_just(action.at, given_up_at) for action in refused):
            return True
        return _is_sync_answered_by_loss(context.phase, context.members) or (
            _is_just(context.phase.start, given_up_at) and _have_all_asked_again(context)
        )
    if any(action.why == NOT_STORED and action.event.witness is Witness.REQUEST for action in refused):
        return True
    took = (action.event.fields.get("total_ms") for action in refused)
    return any(isinstance(time, int | float) and 0 <= time * US_PER_MS - STORE_TIMEOUT_US <= STORE_SLACK_US for time in took)


def _is_sync_answered_by_loss(phase: LoggedJoinPhase, members: GenerationMembers) -> bool:
    """Whether members lost their coordinator instead of getting an assignment.

    They found the same one again.
    Before 2.7 a refused SyncGroup leaves no other line at INFO (AbstractCoordinator.SyncGroupResponseHandler).
    """
    began = phase.window.previous_joined_at or 0
    until, starts = phase.start + CLOCK_TOLERANCE_US, phase.all_of(ActionKind.START)
    for lost in phase.actions_of(ActionKind.LOST_COORDINATOR, start=began, end=until):
        actor, is_prompt = phase.actor(lost), lost.at - began <= AT_ONCE_US or _is_just(lost.at, began + STORE_TIMEOUT_US)
        again = next((start for start in starts if lost.at <= start.at and phase.actor(start) == actor), None)
        if is_prompt and actor in members.before and again is not None and again.event.node == lost.event.node is not None:
            return True
    return False


def _have_all_asked_again(context: RebalanceContext) -> bool:
    """Whether all members rejoined, none of them assigned, told of a rebalance, or gone.

    Before 2.7 a refused SyncGroup leaves no line at INFO (AbstractCoordinator.SyncGroupResponseHandler).
    """
    began, until = context.window.previous_joined_at, context.window.joined_at
    if (
        not context.known.has_assignments
        or context.arrivals.by_actor
        or context.departures.by_actor
        or context.arrivals.inferred
        or context.departures.inferred
    ):
        return False
    answers = context.phase.actions_of(ActionKind.SYNCED, ActionKind.ASSIGNED, start=began, end=context.phase.start)
    notices = context.phase.actions_of(ActionKind.REBALANCE_NOTICED, ActionKind.WANTS_REJOIN, start=began, end=until)
    if any(answers) or any(map(is_rebalance_notice, notices)):
        return False
    again = {context.phase.actor(action) for action in context.phase.actions_of(ActionKind.REJOIN, start=began, end=until)}
    return len(context.members.before) > 1 and context.members.before.keys() <= again


def _is_just(at: int, given_up_at: int) -> bool:
    """Whether a refused SyncGroup was answered as a write was given up.

    Its answer reports another rebalance (GroupMetadataManager.storeGroup).
    """
    return -CLOCK_TOLERANCE_US <= at - given_up_at <= STORE_SLACK_US


def _as_if_timed_out(phase: LoggedJoinPhase) -> bool:
    """Whether the previous assignment's write would have been given up then."""
    ended_at = phase.previous.ended_at if phase.previous is not None else None
    is_in_time = ended_at is not None and STORE_TIMEOUT_US <= phase.start - ended_at <= STORE_TIMEOUT_US + STORE_SLACK_US
    return is_in_time and not _was_assignment_answered(phase)


def _was_assignment_answered(phase: LoggedJoinPhase) -> bool:
    """Whether a member got the assignment, which is sent once it is written."""
    began = phase.window.previous_joined_at or phase.start
    return any(
        action.at < phase.start - CLOCK_TOLERANCE_US and action.event.witness is Witness.CLIENT
        for kind in (ActionKind.SYNCED, ActionKind.ASSIGNED)
        for action in phase.actions_of(kind, start=began, end=phase.start)
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


def _refused_syncs(phase: LoggedJoinPhase, since: int | None) -> Iterator[MemberAction]:
    """Refusals of SyncGroup in the generation before.

    Those behind the end of this join phase are of the generation that it made.
    """
    joined_at = phase.window.joined_at
    until = phase.start + CLOCK_TOLERANCE_US
    return phase.actions_of(ActionKind.SYNC_FAILED, start=since, end=until if joined_at is None else min(until, joined_at))


def _was_sync_refused(phase: LoggedJoinPhase) -> bool:
    """Whether members were answered that the assignment could not be stored.

    The errors of appendForGroup.
    """
    began = phase.window.previous_joined_at
    refused = _refused_syncs(phase, began)
    return began is not None and any(action.why and any(error in action.why for error in STORE_ERROR_TEXTS) for action in refused)


def _usual_shares(context: RebalanceContext, expiries: list[MemberAction]) -> list[Hypothesis]:
    shares = dict(weights.USUAL.of)
    changed = bool(context.facts.topic_changes_between(context.window.previous_ended_at or context.phase.previous_end, context.phase.start))
    if changed:
        shares |= weights.AFTER_TOPIC_CHANGE.of
    if expiries:
        shares |= weights.EXPIRED_MEANWHILE.of
    if context.window.state_before is None:
        shares[Cause.NEW_GROUP] = weights.UNKNOWN_STATE_NEW_GROUP.value
    elif _as_if_timed_out(context.phase):
        shares[Cause.ASSIGNMENT_STORE_FAILED] = weights.ONCE_AFTER_STORE_TIMEOUT.value
    often = 0 if changed or expiries else poll_rhythm(context.phase, context.timeouts, context.known)
    if often:
        shares = _with_poll_timeout(shares, weights.POLL_RHYTHM[min(often, len(weights.POLL_RHYTHM)) - 1].value)
    return [Hypothesis(cause, share, expiries if cause is Cause.MEMBER_RESTART else [], REQUEST_LOG) for cause, share in shares.items()]


def _with_poll_timeout(shares: Mapping[Cause, float], share: float) -> dict[Cause, float]:
    """Set the share of a poll timeout; the others keep proportions."""
    others = {cause: value for cause, value in shares.items() if cause is not Cause.POLL_TIMEOUT}
    left = (1 - share) / sum(others.values())
    return {cause: value * left for cause, value in others.items()} | {Cause.POLL_TIMEOUT: share}
