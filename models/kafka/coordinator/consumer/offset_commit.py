"""Offsets of consumer groups: commits, deletion and expiry.

Source: 4.0.0, OffsetMetadataManager.java, ConsumerGroup.java.
"""

from __future__ import annotations

from models.kafka.coordinator.classic.offset_commit import fetched
from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.consumer.group import ConsumerGroup, SimpleGroup
from models.kafka.coordinator.consumer.shard import Shard
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.protocol.requests import Commit, Delete, Fetch
from models.kafka.coordinator.protocol.responses import FetchResponse, Response
from models.kafka.coordinator.runtime.offsets import CommittedOffset, Offsets, TopicPartition

FIRST_VERSION_WITH_EPOCHS = 9
"""First OffsetCommit version with a member epoch."""


RECORDS_OF_A_GROUP = 3
"""Records deleted with a group (createGroupTombstoneRecords).

Its epoch, its topics' metadata and its target epoch.
"""


def commit(shard: Shard, request: Commit) -> None:
    """Store offsets; no session is renewed.

    A commit without a generation creates a group with offsets only.
    """
    group = shard.groups.get(request.group)
    if group is None:
        if request.generation >= 0:
            raise Refusal(Error.GROUP_ID_NOT_FOUND)
        group = shard.groups[request.group] = SimpleGroup(request.group)
    elif isinstance(group, ConsumerGroup):
        _check_member(group, request)
    elif request.generation >= 0:
        raise Refusal(Error.UNKNOWN_MEMBER_ID)
    group.offsets.committed.update({place: CommittedOffset(offset, shard.now_ms) for place, offset in request.offsets.items()})
    shard.answer(request.request_id, Response())


def _check_member(group: ConsumerGroup, request: Commit) -> None:
    """Refuse commits of unknown members or other epochs (validateOffsetCommit).

    The instance id is not checked.
    """
    if request.generation < 0 and not group.members:
        return
    member = group.members.get(request.member)
    if member is None:
        raise Refusal(Error.UNKNOWN_MEMBER_ID)
    if request.api_version < FIRST_VERSION_WITH_EPOCHS and member.classic is None:
        raise Refusal(Error.UNSUPPORTED_VERSION)
    if request.generation != member.epoch:
        raise Refusal(Error.STALE_MEMBER_EPOCH if member.classic is None else Error.ILLEGAL_GENERATION)


def fetch(shard: Shard, request: Fetch) -> None:
    """Answer with a group's offsets; no transactions are modelled here."""
    group = shard.groups.get(request.group)
    shard.answer(request.request_id, FetchResponse(NO_ERROR, fetched(Offsets() if group is None else group.offsets, request)))


def delete(shard: Shard, request: Delete) -> None:
    """Delete a group without members, together with its offsets.

    Its timers stay queued and find nothing.
    """
    group = shard.groups.get(request.group)
    if group is None:
        raise Refusal(Error.GROUP_ID_NOT_FOUND)
    if isinstance(group, ConsumerGroup) and group.members:
        raise Refusal(Error.NON_EMPTY_GROUP)
    del shard.groups[request.group]
    shard.announce("GroupsDeleted", groups=[request.group], offsets_count=len(group.offsets.committed))
    shard.answer(request.request_id, Response())


def clean_up(shard: Shard) -> None:
    """Remove expired offsets and then empty groups.

    Retention counts from the commit; offsets of subscribed topics don't expire.
    """
    written = 0
    oldest_kept_ms = shard.now_ms - shard.settings.retention_ms
    for group in list(shard.groups.values()):
        topics = group.subscribed() if isinstance(group, ConsumerGroup) else ()

        def is_over(place: TopicPartition, committed: CommittedOffset, topics: object = topics) -> bool:
            return committed.at_ms <= oldest_kept_ms and place[0] not in topics  # type: ignore[operator]

        written += len(group.offsets.drop(is_over))
        has_members = isinstance(group, ConsumerGroup) and group.members
        if not group.offsets.committed and not has_members:
            del shard.groups[group.id]
            written += RECORDS_OF_A_GROUP if isinstance(group, ConsumerGroup) else 1
    shard.announce("OffsetsExpired", offsets_count=written)
