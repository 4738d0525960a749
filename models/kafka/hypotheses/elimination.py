"""What is left where no line names a trigger: causes that nothing excludes, with their usual shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from models.causes import Cause
from models.events import Witness
from models.kafka.hypotheses import priors
from models.kafka.hypotheses.departures import all_left
from models.kafka.hypotheses.hypothesis import CLIENT_LOG, EARLIER_LINES, REQUEST_LOG, Opinion
from models.kafka.hypotheses.priors import GROUP_MIN_SESSION_US, STORE_SLACK_US, STORE_TIMEOUT_US
from models.kafka.hypotheses.timeouts import (
    TIMEOUT_TOLERANCE_US,
    follows_load,
    phase_deadline_us,
    poll_rhythm,
    rebalance_timeout_us,
    store_rhythm,
)
from models.kafka.hypotheses.window import Case
from models.kafka.observations.actions import Act, Deed, says_put_out
from models.kafka.observations.tolerances import CLOCK_TOLERANCE_US
from models.units import US_PER_MS

INITIAL_DELAY_OVERRUN = 0.02
"""By this share of it a join phase may last longer than the initial delay that ends it: a busy broker's timer."""

LINE_LAG_US = 500_000
"""How long after its last request a client may write of it."""

AT_ONCE_US = 20_000
"""A write that fails at once, with too few replicas in sync, is over within this time (before 2.1 nothing tells of it)."""

TROUBLE_US = 60_000_000
"""A failed write follows trouble among the brokers: one that left or came, offsets partitions that moved."""


def by_elimination(case: Case) -> list[Opinion]:
    """No line names a trigger. What did not happen leaves a few causes, with their usual shares."""
    draft = case.draft
    if case.was_empty:
        return [Opinion(Cause.NEW_GROUP, priors.FIRST_OF_EMPTY.value, list(case.joiners.values()))]
    put_out = by_members_put_out(case)
    if put_out:
        return put_out
    gone = case.gone.values()
    expiries = [act for act in gone if act.deed is Deed.EXPIRE]
    leaves = [act for act in gone if act.deed is Deed.LEAVE] + case.vanished
    if draft.outcome == "empty":
        return _emptied(case, leaves, expiries)
    by_members = _by_members_alone(case) if draft.witness is Witness.CLIENT else []
    if by_members:
        return by_members
    if leaves and not case.joiners and not _timed_out(case):
        acts = dict.fromkeys(priors.VANISHED.of, leaves)
        return [Opinion(cause, share, acts[cause], REQUEST_LOG) for cause, share in priors.VANISHED.of.items()]
    if _right_after_assignment(case):
        return [Opinion(cause, share, settled_by=REQUEST_LOG) for cause, share in priors.STORE_FAILED_AT_ONCE.of.items()]
    if draft.state_before is None and _initial_delay_seen(case):
        first = list(case.joiners.values())
        return [Opinion(c, share, first if c is Cause.NEW_GROUP else [], REQUEST_LOG) for c, share in priors.ONE_INITIAL_DELAY.of.items()]
    return _usual_shares(case, expiries)


def _emptied(case: Case, leaves: list[Act], expiries: list[Act]) -> list[Opinion]:
    """The group went empty: the only members can leave it unlogged, but never expire so."""
    if leaves or not expiries:
        late = priors.ALL_POLLED_LATE.value if all_left(case) else priors.EMPTIED_BY_LEAVE[Cause.POLL_TIMEOUT]
        by_will = priors.EMPTIED_BY_LEAVE[Cause.MEMBER_LEAVE] - late
        return [Opinion(Cause.MEMBER_LEAVE, by_will, leaves), Opinion(Cause.POLL_TIMEOUT, late, leaves, CLIENT_LOG)]
    shares = priors.EMPTIED_BY_EXPIRY.of.items()
    return [Opinion(cause, share, expiries if cause is Cause.SESSION_TIMEOUT else [], REQUEST_LOG) for cause, share in shares]


def _by_members_alone(case: Case) -> list[Opinion]:
    """Opinions by members' logs alone; none where they show nothing.

    Without the coordinator's lines nothing tells of expiries.
    """
    if follows_load(case) and not (case.joiners or case.gone or case.vanished or case.appeared):
        return [Opinion(cause, share, settled_by=EARLIER_LINES) for cause, share in priors.AFTER_MOVE.of.items()]
    returned = [act for actor, act in case.joiners.items() if actor in case.members_before and not case.is_ambiguous(actor)]
    if returned:
        return [Opinion(cause, share, returned, EARLIER_LINES) for cause, share in priors.RETURNED_UNSEEN.of.items()]
    silent, new = case.vanished, case.appeared
    if case.gone or case.joiners or not (silent or new):
        return []
    if new:
        found = priors.APPEARED if not silent else priors.APPEARED_AND_SILENT
        of = {Cause.MEMBER_JOIN: new, Cause.MEMBER_RESTART: new}
        return [Opinion(cause, share, of.get(cause, silent), EARLIER_LINES) for cause, share in found.of.items()]
    shares = priors.SILENT_WHERE_LEAVES_ARE_LOGGED if case.known.leaves_logged else priors.SILENT
    if all(case.start - last_heard(case, act) < GROUP_MIN_SESSION_US - LINE_LAG_US for act in silent):
        shares = priors.SILENT_TOO_BRIEFLY_TO_EXPIRE if case.known.leaves_logged else priors.VANISHED
    expired = [replace(act, deed=Deed.EXPIRE) for act in silent]
    return [
        Opinion(cause, share, expired if cause is Cause.SESSION_TIMEOUT else silent, EARLIER_LINES) for cause, share in shares.of.items()
    ]


def by_members_put_out(case: Case) -> list[Opinion]:
    """Opinions where members' logs alone show that members were put out; none elsewhere."""
    put_out = heard_too_late(case) if case.draft.witness is Witness.CLIENT else []
    shares = priors.HEARD_TOO_LATE if len(put_out) < 2 else priors.HEARD_TOO_LATE_TOGETHER
    return [Opinion(cause, share, put_out, EARLIER_LINES) for cause, share in shares.of.items()] if put_out else []


def heard_too_late(case: Case) -> list[Act]:
    """Members that the coordinator no longer knew, as expiries.

    They heard of it when they next spoke to it.
    """
    found: dict[str, Act] = {}
    for act in case.acts:
        actor = case.actor(act)
        if actor is None or act.at <= case.phase_began or actor in found:
            continue
        if act.deed is Deed.JOINED and (act.generation or 0) >= (case.draft.generation_after or 0):
            break
        is_out = actor in case.members_before and actor not in case.members_after and actor not in case.gone
        if is_out and says_put_out(act) and not case.is_ambiguous(actor):
            found[actor] = replace(act, deed=Deed.EXPIRE, at=min(act.at, case.start), member_id=case.members_before[actor])
    return list(found.values())


def last_heard(case: Case, vanished: Act) -> int:
    """When the last deed was of somebody that vanished."""
    actor = case.actor(vanished)
    return max((act.at for act in case.acts if act.at <= case.start and case.actor(act) == actor), default=0)


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
        expired = list(case.by_actor(Deed.EXPIRE).values())
        shares = priors.EXPIRED_WHILE_REBALANCING if expired else priors.START_NOT_SEEN_EMPTY
        acts = {Cause.SESSION_TIMEOUT: expired}
        return [Opinion(cause, share, acts.get(cause, []), lines) for cause, share in shares.of.items()]
    unknown = priors.START_NOT_SEEN.value
    rivals = [Opinion(o.cause, o.probability * (1 - unknown), [], lines) for o in _usual_shares(case, [])]
    return [Opinion(Cause.UNKNOWN, unknown, settled_by=lines), *rivals]


def _timed_out(case: Case) -> bool:
    """The join phase ran into the rebalance timeout: who is missing then did not rejoin, which started nothing."""
    if phase_deadline_us(case) is not None:
        return True
    timeout = rebalance_timeout_us(case)
    return timeout is not None and (case.draft.open_until or case.start) - case.start >= timeout - TIMEOUT_TOLERANCE_US


def _initial_delay_seen(case: Case) -> bool:
    """Brokers that print no reason (before 2.1) wait for it once at generations above 0, however many join meanwhile."""
    duration = (case.draft.open_until or case.start) - case.start
    delay = case.facts.initial_delay_ms * US_PER_MS
    return bool(delay) and 0 <= duration - delay <= delay * INITIAL_DELAY_OVERRUN


def store_failed_silently(case: Case) -> bool:
    """A rebalance one commit timeout after the assignment, that nobody asked for (before 2.1 the failure is not logged)."""
    previous = case.previous
    if previous is None or previous.outcome != "stable" or previous.ended_at is None:
        return False
    lag = case.start - previous.ended_at
    if 0 <= lag <= STORE_TIMEOUT_US + STORE_SLACK_US and _sync_refused(case):
        return True
    if not _as_if_timed_out(case):
        return False
    if store_rhythm(case) >= priors.RHYTHM_MIN:
        return True  # nobody acts time and again just when a write is given up
    if any(case.deeds(Deed.SYNC_FAILED, start=case.start - CLOCK_TOLERANCE_US, end=case.start + CLOCK_TOLERANCE_US)):
        return True  # storeGroup tells REBALANCE_IN_PROGRESS of a write that timed out
    since = case.start - TROUBLE_US
    moved = any(since <= load.at <= case.start for load in case.facts.loads)
    return moved or bool(case.facts.node_changes_between(since, case.start))


def _as_if_timed_out(case: Case) -> bool:
    """Whether the rebalance began when a write of the assignment before it would have been given up."""
    ended_at = case.previous.ended_at if case.previous is not None else None
    return ended_at is not None and STORE_TIMEOUT_US <= case.start - ended_at <= STORE_TIMEOUT_US + STORE_SLACK_US


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
    shares = dict(priors.USUAL.of)
    changed = bool(case.facts.topic_changes_between(case.draft.previous_ended_at or case.phase_began, case.start))
    if changed:
        shares |= priors.AFTER_TOPIC_CHANGE.of
    if expiries:
        shares |= priors.EXPIRED_MEANWHILE.of
    if case.draft.state_before is None:
        shares[Cause.NEW_GROUP] = priors.UNKNOWN_STATE_NEW_GROUP.value
    elif _as_if_timed_out(case):
        shares[Cause.ASSIGNMENT_STORE_FAILED] = priors.ONCE_AFTER_STORE_TIMEOUT.value
    often = 0 if changed or expiries else poll_rhythm(case)
    if often:
        shares = _with_poll_timeout(shares, priors.POLL_RHYTHM[min(often, len(priors.POLL_RHYTHM)) - 1].value)
    return [Opinion(cause, share, expiries if cause is Cause.MEMBER_RESTART else [], REQUEST_LOG) for cause, share in shares.items()]


def _with_poll_timeout(shares: Mapping[Cause, float], share: float) -> dict[Cause, float]:
    """The shares if a poll timeout has this one: the others keep their proportions."""
    others = {cause: value for cause, value in shares.items() if cause is not Cause.POLL_TIMEOUT}
    left = (1 - share) / sum(others.values())
    return {cause: value * left for cause, value in others.items()} | {Cause.POLL_TIMEOUT: share}
