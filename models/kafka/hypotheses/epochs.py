"""Why did the group epoch rise?"""

from __future__ import annotations

from dataclasses import dataclass

from models.causes import Cause
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.hypotheses import priors
from models.kafka.hypotheses.hypothesis import Settles
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.reconstruction.epoch_log import EpochWindow, ModernReplay
from models.kafka.reconstruction.epoch_targets import OUT_OF_TARGET


@dataclass(frozen=True, slots=True)
class EpochVerdict:
    """Cause of one epoch, with its rivals."""

    cause: Cause
    confidence: float
    alternatives: dict[str, float]
    settled_by: Settles | None = None


def judge_epoch(modern: ModernReplay, window: EpochWindow, known: GroupKnowledge, facts: ClusterFacts) -> EpochVerdict:
    """Judge one epoch by the first change that raised it (GroupMetadataManager, 3.7 and later)."""
    if not window.changes:
        return _topics_or_subscription(modern, window, known, facts)
    cause = window.changes[0].cause
    if cause is Cause.MEMBER_JOIN and (window.was_empty or window.epoch == 1):  # the first member raises the epoch from 0
        return EpochVerdict(Cause.NEW_GROUP, 0.98, {Cause.MEMBER_JOIN.value: 0.02})
    if cause is Cause.MEMBER_JOIN and _is_first_seen(modern, window):
        new = _began_at_one(facts)
        causes = {Cause.NEW_GROUP: new, Cause.MEMBER_JOIN: 1 - new}
        best = max(causes, key=lambda each: causes[each])
        return EpochVerdict(best, causes[best], {each.value: causes[each] for each in causes if each is not best}, Settles.EARLIER_LINES)
    if window.changes[0].reason == OUT_OF_TARGET:
        shares = dict(priors.OUT_OF_TARGET.of)
        sure = shares.pop(Cause.MEMBER_LEAVE)
        return EpochVerdict(cause, sure, {each.value: share for each, share in shares.items()}, Settles.EARLIER_LINES)
    if cause is Cause.MEMBER_LEAVE:
        return _left(modern, window, known)
    return EpochVerdict(cause, 0.985, {})


def _is_first_seen(modern: ModernReplay, window: EpochWindow) -> bool:
    """The first line of the group in these logs raises the epoch to 2: it is new where epochs begin at 1, else an epoch is missing."""
    return window.epoch == SECOND_EPOCH and modern.ordinal == 0 and window.members_before is None


SECOND_EPOCH = 2
FIRST_EPOCH_IS_ONE = (4, 3)
"""Since this version a group is made at epoch 1, so that its first member raises it to 2 (GroupMetadataManager)."""


def _began_at_one(facts: ClusterFacts) -> float:
    """How likely it is that the group was made by this join."""
    parts = [version.split(".") for version in facts.versions.values()]
    known = [(int(each[0]), int(each[1])) for each in parts if len(each) > 1 and each[0].isdigit() and each[1].isdigit()]
    if not known:
        return priors.EPOCH_TWO_UNKNOWN_VERSION.value
    return (priors.EPOCH_TWO_SINCE_4_3 if max(known) >= FIRST_EPOCH_IS_ONE else priors.EPOCH_TWO_BEFORE_4_3).value


def _topics_or_subscription(modern: ModernReplay, window: EpochWindow, known: GroupKnowledge, facts: ClusterFacts) -> EpochVerdict:
    """Since 4.0 changes of subscriptions and of topics are logged at DEBUG only: what other lines leave of the two."""
    began = window.started.time_us
    if facts.topic_changes_between(began - NOTICED_US, began):
        return EpochVerdict(Cause.METADATA_CHANGE, 0.95, {Cause.SUBSCRIPTION_CHANGE.value: 0.05})
    if window.members and all(modern.roster.client_of(member) in known.clients for member in window.members):
        # Their logs would tell, unless the epoch could not be written at first.
        return EpochVerdict(Cause.METADATA_CHANGE, 0.85, {Cause.SUBSCRIPTION_CHANGE.value: 0.14}, Settles.COORDINATOR_AT_DEBUG)
    rival = {Cause.METADATA_CHANGE.value: 0.18}
    return EpochVerdict(Cause.SUBSCRIPTION_CHANGE, 0.8, rival, Settles.COORDINATOR_AT_DEBUG)


def _left(modern: ModernReplay, window: EpochWindow, known: GroupKnowledge) -> EpochVerdict:
    """The coordinator prints the same line for close() and for an exceeded poll interval, after which a client keeps its id."""
    event = window.changes[0].event
    client = event.client_id or modern.roster.client_of(event.member_id)
    at = event.time_us
    stale = known.stale_at.get(client or "") or known.stale_at.get(event.member_id or "")
    if stale and any(abs(at - noticed) <= STALE_US for noticed in stale):
        return EpochVerdict(Cause.POLL_TIMEOUT, 0.97, {Cause.MEMBER_LEAVE.value: 0.03})
    if client and client in known.clients:
        return EpochVerdict(Cause.MEMBER_LEAVE, 0.975, {Cause.POLL_TIMEOUT.value: 0.02})
    if modern.joined_after(event.member_id, at):
        return EpochVerdict(Cause.POLL_TIMEOUT, 0.85, {Cause.MEMBER_LEAVE.value: 0.13}, Settles.CLIENT_LOG)
    late = 0.03 if window.closes else 0.1  # that all of several poll too late at once is rare
    return EpochVerdict(Cause.MEMBER_LEAVE, 1 - late - 0.01, {Cause.POLL_TIMEOUT.value: late}, Settles.CLIENT_LOG)


NOTICED_US = 10_000_000
"""A coordinator sees new partitions at once and raises the epoch with the next heartbeat of any member, every 5 s by default."""

STALE_US = 3_000_000
"""The client notes its poll timeout just before it sends the leaving heartbeat."""
