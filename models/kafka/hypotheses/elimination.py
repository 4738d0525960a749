"""What is left where no line names a trigger: causes that nothing excludes, with their usual shares."""

from __future__ import annotations

from models.causes import Cause
from models.kafka.hypotheses.departures import all_left
from models.kafka.hypotheses.hypothesis import CLIENT_LOG, EARLIER_LINES, REQUEST_LOG, Opinion
from models.kafka.hypotheses.timeouts import TIMEOUT_TOLERANCE_US, rebalance_timeout_us
from models.kafka.hypotheses.window import Case
from models.kafka.observations.actions import Act, Deed
from models.kafka.observations.tolerances import CLOCK_TOLERANCE_US
from models.units import US_PER_MS

STORE_TIMEOUT_US = 5_000_000
"""offsets.commit.timeout.ms: a failed assignment write before 2.1 shows only as a rebalance this long after the assignment."""

AT_ONCE_US = 20_000
"""A write that fails at once, with too few replicas in sync, is over within this time (before 2.1 nothing tells of it)."""

TROUBLE_US = 60_000_000
"""A failed write follows trouble among the brokers: one that left or came, offsets partitions that moved."""


def by_elimination(case: Case) -> list[Opinion]:
    """No line names a trigger. What did not happen leaves a few causes, with their usual shares."""
    draft = case.draft
    if case.was_empty:
        return [Opinion(Cause.NEW_GROUP, 0.985, list(case.joiners.values()))]
    gone = case.gone.values()
    expiries = [act for act in gone if act.deed is Deed.EXPIRE]
    leaves = [act for act in gone if act.deed is Deed.LEAVE] + case.vanished
    if draft.outcome == "empty":
        if leaves or not expiries:  # the only members of a group can leave it unlogged, but never expire so
            late = 0.03 if all_left(case) else 0.08
            return [Opinion(Cause.MEMBER_LEAVE, 0.98 - late, leaves), Opinion(Cause.POLL_TIMEOUT, late, leaves, CLIENT_LOG)]
        return [Opinion(Cause.SESSION_TIMEOUT, 0.6, expiries), Opinion(Cause.MEMBER_LEAVE, 0.35, [], REQUEST_LOG)]
    if leaves and not case.joiners and not _timed_out(case):
        return [Opinion(Cause.MEMBER_LEAVE, 0.85, leaves), Opinion(Cause.POLL_TIMEOUT, 0.12, leaves, REQUEST_LOG)]
    if _right_after_assignment(case):
        rivals = ((Cause.ASSIGNMENT_STORE_FAILED, 0.9), (Cause.MEMBER_JOIN, 0.06), (Cause.MEMBER_LEAVE, 0.04))
        return [Opinion(cause, share, settled_by=REQUEST_LOG) for cause, share in rivals]
    if draft.state_before is None and _initial_delay_seen(case):
        return [Opinion(Cause.NEW_GROUP, 0.8, list(case.joiners.values()), REQUEST_LOG), Opinion(Cause.MEMBER_JOIN, 0.15)]
    return _usual_shares(case, expiries)


def _right_after_assignment(case: Case) -> bool:
    """The leader's assignment was hardly there when all was to begin anew: most often it could not be written."""
    previous = case.previous
    if previous is None or previous.outcome != "stable" or previous.ended_at is None:
        return False
    return 0 <= case.start - previous.ended_at <= AT_ONCE_US


def start_not_seen(case: Case) -> list[Opinion]:
    """The log begins inside the rebalance, or lost its beginning: whatever started it stands in lines that are not there."""
    lines = EARLIER_LINES
    if case.draft.outcome == "empty":
        return [Opinion(Cause.MEMBER_LEAVE, 0.7, settled_by=lines), Opinion(Cause.SESSION_TIMEOUT, 0.25, settled_by=lines)]
    rivals = [Opinion(o.cause, o.probability / 2, [], lines) for o in _usual_shares(case, [])]
    return [Opinion(Cause.UNKNOWN, 0.5, settled_by=lines), *rivals]


def _timed_out(case: Case) -> bool:
    """The join phase ran into the rebalance timeout: who is missing then did not rejoin, which started nothing."""
    timeout = rebalance_timeout_us(case)
    return timeout is not None and (case.draft.open_until or case.start) - case.start >= timeout - TIMEOUT_TOLERANCE_US


def _initial_delay_seen(case: Case) -> bool:
    duration = (case.draft.open_until or case.start) - case.start
    delay = case.facts.initial_delay_ms * US_PER_MS
    return bool(delay) and duration >= delay and duration % delay <= delay * 0.02


def store_failed_silently(case: Case) -> bool:
    """A rebalance one commit timeout after the assignment, that nobody asked for (before 2.1 the failure is not logged)."""
    previous = case.previous
    if previous is None or previous.outcome != "stable" or previous.ended_at is None:
        return False
    lag = case.start - previous.ended_at
    if 0 <= lag <= STORE_TIMEOUT_US + 400_000 and _sync_refused(case):
        return True
    if not _as_if_timed_out(case):
        return False
    if any(case.deeds(Deed.SYNC_FAILED, start=case.start - CLOCK_TOLERANCE_US, end=case.start + CLOCK_TOLERANCE_US)):
        return True  # storeGroup tells REBALANCE_IN_PROGRESS of a write that timed out
    since = case.start - TROUBLE_US
    moved = any(since <= load.at <= case.start for load in case.facts.loads)
    return moved or bool(case.facts.node_changes_between(since, case.start))


def _as_if_timed_out(case: Case) -> bool:
    """Whether the rebalance began when a write of the assignment before it would have been given up."""
    ended_at = case.previous.ended_at if case.previous is not None else None
    return ended_at is not None and STORE_TIMEOUT_US <= case.start - ended_at <= STORE_TIMEOUT_US + 400_000


_STORE_ERRORS = (
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "NOT_ENOUGH_REPLICAS",
    "coordinator is not available",
    "not the correct coordinator",
)


def _sync_refused(case: Case) -> bool:
    """Members were told, instead of their assignment, that the coordinator could not store it (appendForGroup's errors)."""
    began = case.draft.previous_joined_at
    refused = case.deeds(Deed.SYNC_FAILED, start=began, end=case.start + CLOCK_TOLERANCE_US)
    return began is not None and any(act.why and any(error in act.why for error in _STORE_ERRORS) for act in refused)


def _usual_shares(case: Case, expiries: list[Act]) -> list[Opinion]:
    shares = {
        Cause.MEMBER_JOIN: 0.44,
        Cause.MEMBER_LEAVE: 0.26,
        Cause.METADATA_CHANGE: 0.06,
        Cause.SUBSCRIPTION_CHANGE: 0.06,
        Cause.POLL_TIMEOUT: 0.06,
        Cause.MEMBER_RESTART: 0.06,
        Cause.COORDINATOR_FAILOVER: 0.06,
    }
    if case.facts.topic_changes_between(case.draft.previous_ended_at or case.phase_began, case.start):
        shares |= {Cause.METADATA_CHANGE: 0.3, Cause.MEMBER_JOIN: 0.3, Cause.MEMBER_LEAVE: 0.16}
    if expiries:  # somebody expired while the others joined: most often the former self of the one that came
        shares |= {Cause.MEMBER_RESTART: 0.6, Cause.MEMBER_JOIN: 0.2, Cause.MEMBER_LEAVE: 0.1, Cause.SESSION_TIMEOUT: 0.07}
    if case.draft.state_before is None:
        shares[Cause.NEW_GROUP] = 0.1
    elif _as_if_timed_out(case):
        shares[Cause.ASSIGNMENT_STORE_FAILED] = 0.4
    return [Opinion(cause, share, expiries if cause is Cause.MEMBER_RESTART else [], REQUEST_LOG) for cause, share in shares.items()]
