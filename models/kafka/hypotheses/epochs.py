"""Why did the group epoch rise?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models import weights
from models.causes import Cause
from models.events import Witness
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.hypotheses.hypothesis import DecidingEvidence
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.reconstruction.epochs.lines import LEFT_TARGET
from models.kafka.reconstruction.epochs.log import ModernReplay
from models.kafka.reconstruction.epochs.unlogged_epochs import (
    GIVEN,
    NEW_PARTITIONS,
    NOTICED,
    REQUESTS,
    STUCK,
    TAKEN,
    TOPICS_EXIST,
    UNHEARD,
)
from models.kafka.reconstruction.epochs.windows import EpochWindow
from models.tolerances import int_tolerance


@dataclass(frozen=True, slots=True)
class EpochVerdict:
    """Cause of one epoch, with its rivals."""

    cause: Cause
    confidence: float
    alternatives: dict[str, float]
    settled_by: DecidingEvidence | None = None


def judge_epoch(modern: ModernReplay, window: EpochWindow, known: GroupKnowledge, facts: ClusterFacts) -> EpochVerdict:
    """Judge one epoch by the first change that raised it.

    GroupMetadataManager, 3.7 and later.
    """
    if window.is_inferred and (shares := _inferred(modern, window, facts)) is not None:
        return _shared_out(shares, DecidingEvidence.COORDINATOR_AT_DEBUG)
    if not window.changes:
        left = _without_action(window, facts)
        return _topics_or_subscription(modern, window, known, facts) if left is None else _likeliest(left)
    cause = window.changes[0].cause
    if cause is Cause.MEMBER_JOIN and (window.was_empty or window.epoch == 1):  # the first member raises the epoch from 0
        return _shared_out(weights.EPOCH_OF_EMPTY)
    if cause is Cause.MEMBER_JOIN and _is_first_seen(modern, window):
        new = _began_at_one(facts)
        causes = {Cause.NEW_GROUP: new, Cause.MEMBER_JOIN: 1 - new}
        best = max(causes, key=lambda cause: causes[cause])
        return EpochVerdict(
            best, causes[best], {cause.value: causes[cause] for cause in causes if cause is not best}, DecidingEvidence.EARLIER_LINES
        )
    if window.changes[0].reason == LEFT_TARGET:
        return _shared_out(weights.OUT_OF_TARGET, DecidingEvidence.EARLIER_LINES)
    if cause is Cause.MEMBER_LEAVE:
        return _left(modern, window, known)
    return EpochVerdict(cause, weights.EPOCH_TOLD.value, {})


_UNSEEN: Mapping[str, weights.Shares] = {
    REQUESTS: weights.EPOCH_BY_REQUESTS,
    TOPICS_EXIST: weights.EPOCH_AS_TOPICS_EXIST,
    NEW_PARTITIONS: weights.EPOCH_WITH_NEW_PARTITIONS,
    TAKEN: weights.EPOCH_PARTITIONS_TAKEN,
    GIVEN: weights.EPOCH_PARTITIONS_GIVEN,
}
"""Hidden causes of an epoch, by the event that shows it."""

_REMOVED: Mapping[str, weights.Shares] = {
    UNHEARD: weights.REMOVED_UNHEARD,
    NOTICED: weights.REMOVED_AS_IT_HEARD,
}
"""Why a member was removed unseen, by the reason given."""


def _inferred(modern: ModernReplay, window: EpochWindow, facts: ClusterFacts) -> weights.Shares | None:
    """Weigh what raised an epoch that no coordinator logged.

    None where a member's own join or leave raised it.
    """
    if not window.changes:
        if window.shown_by in {NEW_PARTITIONS, REQUESTS} and facts.topic_changes_between(window.began - NEW_PARTITIONS_US, window.began):
            return weights.EPOCH_AFTER_TOPIC_CHANGE
        return _UNSEEN.get(window.shown_by or "", weights.EPOCH_UNSEEN)
    change = window.changes[0]
    if change.cause is Cause.SUBSCRIPTION_CHANGE and change.event.witness is Witness.CLIENT:
        return weights.EPOCH_AFTER_SUBSCRIBING
    if change.cause is Cause.MEMBER_JOIN and window.epoch == 1 and window.protocol == "streams":
        return weights.FIRST_EPOCH_OF_STREAMS
    if (
        change.cause is Cause.MEMBER_JOIN
        and modern.progress.ordinal == 0
        and window.members_before is None
        and (window.epoch or 0) > SECOND_EPOCH
    ):
        return weights.FIRST_SEEN_EPOCH
    return weights.REMOVED_WHILE_STUCK if change.reason.startswith(STUCK) else _REMOVED.get(change.reason)


def _is_first_seen(modern: ModernReplay, window: EpochWindow) -> bool:
    """Whether the first line of the group raises its epoch to 2.

    The group is new where epochs begin at 1, else an epoch is missing.
    """
    return window.epoch == SECOND_EPOCH and modern.progress.ordinal == 0 and window.members_before is None


SECOND_EPOCH = 2
FIRST_EPOCH_IS_ONE = (4, 3)
"""First version that makes a group at epoch 1.

Its first member raises it to 2 (GroupMetadataManager).
"""


WARMS_UP_SINCE = (4, 4)
"""First version whose streams epochs rise with warm-up progress.

Without a new target (GroupMetadataManager).
"""


def _versions(facts: ClusterFacts) -> list[tuple[int, int]]:
    parts = [version.split(".") for version in facts.versions.values()]
    return [(int(part[0]), int(part[1])) for part in parts if len(part) > 1 and part[0].isdigit() and part[1].isdigit()]


def _began_at_one(facts: ClusterFacts) -> float:
    """Probability that this join created the group."""
    known = _versions(facts)
    if not known:
        return weights.EPOCH_TWO_UNKNOWN_VERSION.value
    return (weights.EPOCH_TWO_SINCE_4_3 if max(known) >= FIRST_EPOCH_IS_ONE else weights.EPOCH_TWO_BEFORE_4_3).value


def _without_action(window: EpochWindow, facts: ClusterFacts) -> weights.Shares | None:
    """Weigh what raised a share or streams epoch without a line.

    They log actions and topics at INFO.
    """
    if window.protocol == "share":
        return weights.NO_ACT_OF_SHARES
    if window.protocol == "streams":
        known = _versions(facts)
        may_warm_up = window.targeted is None and (not known or max(known) >= WARMS_UP_SINCE)
        return weights.NO_ACT_OF_STREAMS if may_warm_up else weights.NO_ACT_OF_OLDER_STREAMS
    return None


def _likeliest(shares: weights.Shares) -> EpochVerdict:
    rivals = dict(shares.of)
    best = max(rivals, key=lambda cause: rivals[cause])
    sure = rivals.pop(best)
    return EpochVerdict(best, sure, {cause.value: share for cause, share in rivals.items()}, DecidingEvidence.EARLIER_LINES)


def _topics_or_subscription(modern: ModernReplay, window: EpochWindow, known: GroupKnowledge, facts: ClusterFacts) -> EpochVerdict:
    """Weigh topics against subscriptions by what other lines leave.

    Since 4.0 both changes are logged at DEBUG only.
    """
    began = window.started.time_us
    if facts.topic_changes_between(began - NEW_PARTITIONS_US, began):
        return _shared_out(weights.EPOCH_AFTER_TOPIC_CHANGE)
    if window.members and all(modern.progress.roster.client_of(member) in known.clients for member in window.members):
        # Their logs would tell, unless the epoch could not be written at first.
        return _shared_out(weights.EPOCH_ALL_LOGGED, DecidingEvidence.COORDINATOR_AT_DEBUG)
    return _shared_out(weights.EPOCH_UNTOLD, DecidingEvidence.COORDINATOR_AT_DEBUG)


def _left(modern: ModernReplay, window: EpochWindow, known: GroupKnowledge) -> EpochVerdict:
    """Weigh close() against an exceeded poll interval.

    The coordinator prints the same line for both; after the second a client keeps its id.
    """
    event = window.changes[0].event
    client = event.client_id or modern.progress.roster.client_of(event.member_id)
    at = event.time_us
    stale = known.stale_at.get(client or "") or known.stale_at.get(event.member_id or "")
    if stale and any(abs(at - noticed) <= STALE_US for noticed in stale):
        return _shared_out(weights.EPOCH_LATE_NOTICED)
    if client and client in known.clients:
        return _shared_out(weights.EPOCH_LEFT_LOGGED)
    if modern.joined_after(event.member_id, at):
        return _shared_out(weights.EPOCH_LEFT_KEPT_ID, DecidingEvidence.CLIENT_LOG)
    late = (weights.EMPTIED_BY_LATE_POLLS if window.closes else weights.EPOCH_POLLED_LATE).value
    by_will = 1 - late - weights.EPOCH_NEITHER.value
    return EpochVerdict(Cause.MEMBER_LEAVE, by_will, {Cause.POLL_TIMEOUT.value: late}, DecidingEvidence.CLIENT_LOG)


def _shared_out(shares: weights.Shares, settled_by: DecidingEvidence | None = None) -> EpochVerdict:
    """The likeliest of some causes, with the others as its rivals."""
    best = max(shares.of, key=lambda cause: shares[cause])
    return EpochVerdict(best, shares[best], {cause.value: share for cause, share in shares.of.items() if cause is not best}, settled_by)


NEW_PARTITIONS_US = int_tolerance("kafka.epochs.noticed_us")
"""Longest delay until new partitions raise the epoch.

The next heartbeat of any member does, every 5 s by default.
"""

STALE_US = int_tolerance("kafka.epochs.stale_us")
"""Longest time from a client's poll timeout to its leaving heartbeat."""
