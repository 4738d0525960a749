"""Causes that remain possible if no line names a trigger, with their usual shares."""

from __future__ import annotations

from collections.abc import Mapping

from models import weights
from models.causes import Cause
from models.events import Witness
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.phase_deadline import TIMEOUT_TOLERANCE_US
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.hypothesis import CLIENT_LOG, EARLIER_LINES, INITIAL_DELAY_OVERRUN, REQUEST_LOG, Hypothesis
from models.kafka.hypotheses.joins import first_of_empty, had_members
from models.kafka.hypotheses.members_alone import by_members_alone
from models.kafka.hypotheses.removals import by_removed_members
from models.kafka.observations.actions import (
    ActionKind,
    MemberAction,
    is_rebalance_notice,
    is_refused_sync,
    stays_till_expiry,
)
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.units import FOREVER, US_PER_MS


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
    by_members = by_members_alone(context) if window.witness is Witness.CLIENT else []
    if by_members:
        return by_members
    if leaves and not context.arrivals.by_actor and not _has_timed_out(context):
        actions = dict.fromkeys(weights.VANISHED.of, leaves)
        return [Hypothesis(cause, share, actions[cause], REQUEST_LOG) for cause, share in weights.VANISHED.of.items()]
    if context.write.may_have_failed:
        shares = weights.FOLLOWED_AT_ONCE if context.write.is_followed_once else weights.STORE_FAILED_AT_ONCE
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


def _usual_shares(context: RebalanceContext, expiries: list[MemberAction]) -> list[Hypothesis]:
    shares = dict(weights.USUAL.of)
    changed = bool(context.facts.topic_changes_between(context.window.previous_ended_at or context.phase.previous_end, context.phase.start))
    if changed:
        shares |= weights.AFTER_TOPIC_CHANGE.of
    if expiries:
        shares |= weights.EXPIRED_MEANWHILE.of
    if context.window.state_before is None:
        shares[Cause.NEW_GROUP] = weights.UNKNOWN_STATE_NEW_GROUP.value
    elif context.write.is_as_if_timed_out:
        shares[Cause.ASSIGNMENT_STORE_FAILED] = weights.ONCE_AFTER_STORE_TIMEOUT.value
    often = 0 if changed or expiries else context.lags.poll_rhythm
    if often:
        shares = _with_poll_timeout(shares, weights.POLL_RHYTHM[min(often, len(weights.POLL_RHYTHM)) - 1].value)
    return [Hypothesis(cause, share, expiries if cause is Cause.MEMBER_RESTART else [], REQUEST_LOG) for cause, share in shares.items()]


def _with_poll_timeout(shares: Mapping[Cause, float], share: float) -> dict[Cause, float]:
    """Set the share of a poll timeout; the others keep proportions."""
    others = {cause: value for cause, value in shares.items() if cause is not Cause.POLL_TIMEOUT}
    left = (1 - share) / sum(others.values())
    return {cause: value * left for cause, value in others.items()} | {Cause.POLL_TIMEOUT: share}
