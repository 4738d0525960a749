"""Offsets: OffsetCommit, their expiry, and the end of groups that have neither members nor offsets."""

from __future__ import annotations

from functools import partial

from models.kafka.coordinator.errors import Error
from models.kafka.coordinator.group import Group
from models.kafka.coordinator.membership import member_error
from models.kafka.coordinator.offsets import Committed, TopicPartition
from models.kafka.coordinator.policy import Retention
from models.kafka.coordinator.requests import Commit, Delete
from models.kafka.coordinator.shard import Shard
from models.kafka.coordinator.subscription import CONSUMER
from models.kafka.group import State

GROUP_ERROR_VERSION = 9
"""OffsetCommit since when a client understands GROUP_ID_NOT_FOUND."""


def commit(shard: Shard, request: Commit) -> None:
    """Store offsets, of members or of simple consumers (handleCommitOffsets, OffsetMetadataManager.commitOffset)."""
    group = shard.groups.get(request.group)
    if group is None:
        if request.generation >= 0:
            newer = request.api_version >= GROUP_ERROR_VERSION
            shard.refuse(request.request_id, shard.policy.commit_to_unknown_group if newer else Error.ILLEGAL_GENERATION)
            return
        group = shard.create(request.group)
        shard.tell("SimpleGroupCreated", group)
    error = commit_error(shard, group, request)
    if error is Error.NONE:
        if group.state in (State.STABLE, State.PREPARING_REBALANCE):
            shard.renew(group, group.members[request.member])
        store(shard, group, request)
    shard.refuse(request.request_id, error)


def commit_error(shard: Shard, group: Group, request: Commit) -> Error:
    """Check an OffsetCommit (doCommitOffsets, validateOffsetCommit)."""
    if request.generation < 0 and group.state is State.EMPTY:
        return Error.NONE
    completing = group.state is State.COMPLETING_REBALANCE
    if completing and shard.policy.checks_state_first:
        return Error.REBALANCE_IN_PROGRESS
    error = member_error(shard, group, request.member, request.instance)
    if error is Error.NONE and request.generation != group.generation:
        error = Error.ILLEGAL_GENERATION
    return Error.REBALANCE_IN_PROGRESS if error is Error.NONE and completing else error


def store(shard: Shard, group: Group, request: Commit) -> None:
    """Take the offsets over."""
    keep_ms = request.retention_ms
    if keep_ms is None and shard.policy.retention is Retention.PER_OFFSET:
        keep_ms = shard.settings.retention_ms
    expires_ms = None if keep_ms is None else shard.now_ms + keep_ms
    for place, offset in request.offsets.items():
        group.offsets.committed[place] = Committed(offset, shard.now_ms, expires_ms)


def delete(shard: Shard, request: Delete) -> None:
    """Delete a group without members (handleDeleteGroups, GroupCoordinatorShard.deleteGroups)."""
    group = shard.groups.get(request.group)
    if group is None:
        shard.refuse(request.request_id, Error.GROUP_ID_NOT_FOUND)
    elif group.state is not State.EMPTY:
        shard.refuse(request.request_id, Error.NON_EMPTY_GROUP)
    else:
        shard.tell("GroupsDeleted", group, groups=[group.id], offsets_count=len(group.offsets.committed))
        shard.remove_group(group)
        shard.refuse(request.request_id, Error.NONE)


def clean_up(shard: Shard) -> None:
    """Drop expired offsets, and empty groups that have none (cleanupGroupMetadata)."""
    dropped = 0
    for group in list(shard.groups.values()):
        dropped += len(group.offsets.drop(partial(is_expired, shard, group)))
        if group.state is State.EMPTY and not group.offsets.committed:
            shard.remove_group(group)


def is_expired(shard: Shard, group: Group, place: TopicPartition, committed: Committed) -> bool:
    """Whether an offset is to go (GroupMetadata.removeExpiredOffsets, ClassicGroup.offsetExpirationCondition)."""
    since_ms = expires_since(shard, group, place, committed)
    if since_ms is None:
        return False
    if shard.policy.retention is Retention.PER_OFFSET:
        return committed.expires_ms is not None and committed.expires_ms < shard.now_ms
    if committed.expires_ms is not None:
        return committed.expires_ms <= shard.now_ms
    return shard.now_ms - since_ms >= shard.settings.retention_ms


def expires_since(shard: Shard, group: Group, place: TopicPartition, committed: Committed) -> int | None:
    """The moment from which the retention of an offset counts; None while it can't expire."""
    rule = shard.policy.retention
    if rule is Retention.PER_OFFSET or group.protocol_type is None:
        return committed.at_ms
    if group.state is State.EMPTY:
        return committed.at_ms if group.state_since_ms is None else group.state_since_ms
    knows = group.protocol_type == CONSUMER and group.subscribed is not None
    applies = rule is Retention.PER_SUBSCRIPTION or (rule is Retention.PER_STABLE_SUBSCRIPTION and group.state is State.STABLE)
    if knows and applies and group.subscribed is not None and place[0] not in group.subscribed:
        return committed.at_ms
    return None
