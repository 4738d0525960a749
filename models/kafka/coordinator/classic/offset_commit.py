"""Offset commits and fetches, offset expiry, and removal of empty groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from models.kafka.coordinator.classic.deferred_responses import await_replicas
from models.kafka.coordinator.classic.group import Group
from models.kafka.coordinator.classic.leave_group import member_error
from models.kafka.coordinator.classic.shard import Shard
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.protocol.group_states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from models.kafka.coordinator.protocol.requests import Commit, Delete, Fetch
from models.kafka.coordinator.protocol.responses import FetchResponse
from models.kafka.coordinator.protocol.subscription import CONSUMER
from models.kafka.coordinator.runtime.offsets import CommittedOffset, Offsets, TopicPartition
from models.kafka.coordinator.runtime.offsets_log import STANDS_IN_LOG
from models.kafka.coordinator.runtime.timers import TimerKind
from models.kafka.coordinator.runtime.version_policy import Retention

GROUP_ERROR_VERSION = 9
"""First OffsetCommit version with the error GROUP_ID_NOT_FOUND."""


def commit(shard: Shard, request: Commit) -> None:
    """Store the offsets of a member or simple consumer.

    Source: handleCommitOffsets, OffsetMetadataManager.commitOffset.
    """
    transactional = request.producer_id is not None
    group = shard.groups.get(request.group)
    is_new = group is None
    if group is None:
        if request.generation >= 0 and not (transactional and shard.policy.transaction_makes_group):
            newer = request.api_version >= GROUP_ERROR_VERSION and not transactional
            shard.refuse(request.request_id, shard.policy.commit_to_unknown_group if newer else Error.ILLEGAL_GENERATION)
            return
        group = shard.create(request.group)
        shard.report("SimpleGroupCreated", group)
    error = transactional_error(shard, group, request) if transactional else commit_error(shard, group, request)
    if error is not NO_ERROR:
        shard.refuse(request.request_id, error)
        return
    if group.state in (STABLE, PREPARING_REBALANCE) and not transactional:
        shard.renew(group, group.members[request.member])
    store(shard, group, request, is_new=is_new)


def commit_error(shard: Shard, group: Group, request: Commit) -> Error:
    """Check an OffsetCommit (doCommitOffsets, validateOffsetCommit)."""
    if request.generation < 0 and group.state is EMPTY:
        return NO_ERROR
    completing = group.state is COMPLETING_REBALANCE
    if completing and shard.policy.checks_state_first:
        return Error.REBALANCE_IN_PROGRESS
    error = member_error(shard, group, request.member, request.instance, "offset-commit")
    if error is NO_ERROR and request.generation != group.generation:
        error = Error.ILLEGAL_GENERATION
    return Error.REBALANCE_IN_PROGRESS if error is NO_ERROR and completing else error


def transactional_error(shard: Shard, group: Group, request: Commit) -> Error:
    """Check a TxnOffsetCommit (doTxnCommitOffsets, validateOffsetCommit).

    Producers before KIP-447 name no member.
    """
    names_member = request.generation >= 0 or bool(request.member) or request.instance is not None
    if not shard.policy.checks_transactional_member or not names_member:
        return NO_ERROR
    error = member_error(shard, group, request.member, request.instance, "txn-offset-commit")
    return Error.ILLEGAL_GENERATION if error is NO_ERROR and request.generation != group.generation else error


def store(shard: Shard, group: Group, request: Commit, *, is_new: bool) -> None:
    """Write the offsets, apply them and answer (storeOffsets).

    Offsets of a transaction stay provisional until it ends. If the write times out, the sender gets an error. In Java the
    offsets still count once replicas have them; in Scala only the next coordinator sees them when it reads the log.
    """
    offsets, producer_id = group.offsets, request.producer_id
    if producer_id is None and shard.writes.succeed_at_once:
        put_offsets(shard, group, request.offsets, shard.now_ms, request.retention_ms)
        shard.refuse(request.request_id, NO_ERROR)
        return
    expires_ms = expires_at(shard, shard.now_ms, request.retention_ms)
    values = {place: CommittedOffset(offset, shard.now_ms, expires_ms) for place, offset in request.offsets.items()}
    offsets.begin(values, producer_id)

    def confirmed() -> None:
        offsets.end(values, producer_id)
        offsets.put(numbered(), producer_id)

    def numbered() -> dict[TopicPartition, CommittedOffset]:
        shard.log.end += 1
        return {place: value._replace(written=shard.log.end) for place, value in values.items()}

    def written(error: Error) -> None:
        if error is NO_ERROR:
            confirmed()
        elif shard.writes.times_out and shard.policy.is_java:
            shard.writes.later(confirmed)
        else:
            offsets.end(values, producer_id)
            if shard.writes.times_out and producer_id is None:
                offsets.give_up(numbered())
        if error not in STANDS_IN_LOG and is_new and shard.policy.stores_new_groups and shard.groups.get(group.id) is group:
            del shard.groups[group.id]
        shard.refuse(request.request_id, shard.policy.write_errors.offsets.get(error, error))

    shard.write(group, written)


def expires_at(shard: Shard, at_ms: int, retention_ms: int | None) -> int | None:
    """End of a commit's retention, None if neither client nor broker fixes it."""
    if retention_ms is None and shard.policy.retention is Retention.PER_OFFSET:
        retention_ms = shard.settings.retention_ms
    return None if retention_ms is None else at_ms + retention_ms


def put_offsets(shard: Shard, group: Group, offsets: Mapping[TopicPartition, int], at_ms: int, retention_ms: int | None = None) -> None:
    """Apply offsets that were written at a time."""
    shard.log.end += 1
    number, expires_ms = shard.log.end, expires_at(shard, at_ms, retention_ms)
    group.offsets.put({place: CommittedOffset(offset, at_ms, expires_ms, number) for place, offset in offsets.items()})


def fetch(shard: Shard, request: Fetch) -> None:
    """Answer with a group's offsets, in any state (handleFetchOffsets).

    A missing group has none. In Java only transactions make an offset unstable; for unconfirmed writes the response waits.
    """
    group = shard.groups.get(request.group)
    offsets = Offsets() if group is None else group.offsets
    if not (request.require_stable and shard.policy.knows_stable_offsets):
        shard.answer(request.request_id, FetchResponse(NO_ERROR, fetched(offsets, request)))
        return
    unstable = offsets.is_in_transaction if shard.policy.is_java else offsets.is_unstable

    def response() -> FetchResponse:
        return FetchResponse(NO_ERROR, fetched(offsets, request, unstable))

    if shard.policy.is_java and shard.writes.is_unconfirmed:
        await_replicas(shard, request, FetchResponse, response)
    else:
        shard.answer(request.request_id, response())


def fetched(
    offsets: Offsets, request: Fetch, unstable: Callable[[TopicPartition], bool] = lambda _: False
) -> dict[TopicPartition, int | Error | None]:
    """Return the requested offsets, or UNSTABLE_OFFSET_COMMIT for unstable ones."""
    by_partition: dict[TopicPartition, int | Error | None] = {}
    for place in tuple(offsets.committed) if request.places is None else request.places:
        committed = offsets.committed.get(place)
        offset = None if committed is None else committed.offset
        by_partition[place] = Error.UNSTABLE_OFFSET_COMMIT if unstable(place) else offset
    return by_partition


def delete(shard: Shard, request: Delete) -> None:
    """Delete a group without members.

    Source: handleDeleteGroups, GroupCoordinatorShard.deleteGroups.
    """
    group = shard.groups.get(request.group)
    if group is None:
        shard.refuse(request.request_id, Error.GROUP_ID_NOT_FOUND)
    elif group.state is not EMPTY:
        shard.refuse(request.request_id, Error.NON_EMPTY_GROUP)
    else:
        offsets_count = len(group.offsets.committed)
        shard.remove_group(group)
        shard.announce("GroupsDeleted", groups=[group.id], offsets_count=offsets_count)
        shard.refuse(request.request_id, NO_ERROR)


def clean_up(shard: Shard) -> None:
    """Remove expired offsets and then empty groups (cleanupGroupMetadata)."""
    dropped = 0
    for group in list(shard.groups.values()):
        dropped += len(group.offsets.drop(partial(is_expired, shard, group)))
        if group.state is EMPTY and not group.offsets:
            shard.remove_group(group)
            dropped += shard.policy.is_java  # Java counts the records that it writes, a group's tombstone included
    if dropped or shard.policy.tells_idle_clean_up:
        shard.announce("OffsetsExpired", offsets_count=dropped)


def is_expired(shard: Shard, group: Group, place: TopicPartition, committed: CommittedOffset) -> bool:
    """Whether an offset has expired.

    Source: GroupMetadata.removeExpiredOffsets, ClassicGroup.offsetExpirationCondition.
    """
    if shard.policy.transactions_hold_expiry and group.offsets.is_in_transaction(place):
        return False
    since_ms = expires_since(shard, group, place, committed)
    if since_ms is None:
        return False
    if shard.policy.retention is Retention.PER_OFFSET:
        return committed.expires_ms is not None and committed.expires_ms < shard.now_ms
    if committed.expires_ms is not None:
        return committed.expires_ms <= shard.now_ms
    return shard.now_ms - since_ms >= shard.settings.retention_ms


def expires_since(shard: Shard, group: Group, place: TopicPartition, committed: CommittedOffset) -> int | None:
    """Start of an offset's retention, None while it can't expire."""
    rule = shard.policy.retention
    if rule is Retention.PER_OFFSET or group.protocol_type is None:
        return committed.at_ms
    if group.state is EMPTY:
        return committed.at_ms if group.state_since_ms is None else group.state_since_ms
    knows = group.protocol_type == CONSUMER and group.subscribed is not None
    applies = rule is Retention.PER_SUBSCRIPTION or (rule is Retention.PER_STABLE_SUBSCRIPTION and group.state is STABLE)
    if knows and applies and group.subscribed is not None and place[0] not in group.subscribed:
        return committed.at_ms
    return None


def gone_after_ms(shard: Shard, group: Group) -> int | None:
    """Time at which an idle Empty group will be removed.

    The first clean-up after the last offset's retention removes it. None if the group is not Empty or has pending offsets.
    """
    if group.state is not EMPTY or group.offsets.unwritten or group.offsets.unwritten_transactional or group.offsets.transactions:
        return None
    ends = [end_of(shard, group, place, committed) for place, committed in group.offsets.committed.items()]
    due_ms = shard.timers.due_ms(TimerKind.CLEANUP, "", "")
    last_ms = max(ends, default=shard.now_ms)
    interval_ms = shard.settings.retention_check_interval_ms
    if due_ms is None or last_ms <= due_ms:
        return due_ms
    return due_ms + -(-(last_ms - due_ms) // interval_ms) * interval_ms


def end_of(shard: Shard, group: Group, place: TopicPartition, committed: CommittedOffset) -> int:
    """Earliest time at which an Empty group's offset can be removed."""
    if committed.expires_ms is not None:
        return committed.expires_ms + (shard.policy.retention is Retention.PER_OFFSET)
    since_ms = expires_since(shard, group, place, committed)
    return (shard.now_ms if since_ms is None else since_ms) + shard.settings.retention_ms
