"""Handlers of share groups' requests, in Kafka's own order.

Source: 4.1 to 4.4, GroupMetadataManager.java, shareGroupHeartbeat, shareGroupLeave. A refused request changes nothing.
"""

from __future__ import annotations

from dataclasses import replace

from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.consumer.topic_partitions import by_topic, flat
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.runtime.heartbeat_groups import may_compute_target
from models.kafka.coordinator.runtime.timers import TimerKind
from models.kafka.coordinator.share.assignor import Sharing
from models.kafka.coordinator.share.group import ShareGroup, ShareMember, seen
from models.kafka.coordinator.share.requests import JOIN_EPOCH, LEAVE_EPOCH, Initialization, ShareHeartbeat
from models.kafka.coordinator.share.responses import ShareResponse
from models.kafka.coordinator.share.shard import Shard


def heartbeat(shard: Shard, request: ShareHeartbeat) -> None:
    """Answer a heartbeat, or refuse it."""
    if request.epoch == LEAVE_EPOCH:
        _leave(shard, request)
        return
    group = _group(shard, request)
    before = _member(shard, group, request)
    after = replace(before, client_id=request.client_id or before.client_id)
    if request.topics is not None:
        after = replace(after, topics=request.topics)
    is_raised = _raise_epoch(shard, group, before, after)
    _compute_target(shard, group, after)
    after = _move_on(shard, group, after, is_raised=is_raised)
    shard.timers.schedule(TimerKind.SESSION, group.id, after.id, shard.now_ms + shard.settings.session_ms)
    is_told = request.epoch == JOIN_EPOCH or request.topics is not None or after.assigned != before.assigned
    shard.answer(
        request.request_id,
        ShareResponse(
            NO_ERROR,
            after.id,
            after.epoch,
            shard.settings.heartbeat_interval_ms,
            after.assigned if is_told else None,
            flat(_initialize(shard, group)),
        ),
    )


def _group(shard: Shard, request: ShareHeartbeat) -> ShareGroup:
    known = shard.groups.get(request.group)
    if known is None and request.epoch != JOIN_EPOCH:
        raise Refusal(Error.GROUP_ID_NOT_FOUND)
    group = known or ShareGroup(request.group, shard.policy.first_epoch, shard.policy.first_epoch)
    if len(group.members) >= shard.settings.max_size and request.member not in group.members:
        raise Refusal(Error.GROUP_MAX_SIZE_REACHED)
    return group


def _member(shard: Shard, group: ShareGroup, request: ShareHeartbeat) -> ShareMember:
    """Find the sender (getOrMaybeSubscribeShareGroupMember).

    The previous epoch is accepted because the response with the new one may have been lost.
    """
    is_joining = request.epoch == JOIN_EPOCH
    member = group.members.get(request.member, ShareMember(request.member) if is_joining else None)
    if member is None:
        raise Refusal(Error.UNKNOWN_MEMBER_ID)
    is_known = request.epoch == member.epoch or (request.epoch == member.previous_epoch and request.epoch < member.epoch)
    if not is_known and (not is_joining or shard.policy.fences_returning_members):
        raise Refusal(Error.FENCED_MEMBER_EPOCH)
    if is_joining:
        shard.report("ModernMemberJoined", group, member, protocol="share")
    return member


def _raise_epoch(shard: Shard, group: ShareGroup, before: ShareMember, after: ShareMember) -> bool:
    """Raise the epoch if a new target is needed; True if raised."""
    is_due = before.topics != after.topics
    if is_due:
        shard.report("ModernSubscriptionChanged", group, after, topics=sorted(after.topics))
    if not shard.policy.waits_for_target or group.target_epoch >= group.epoch:
        is_due = group.awaits_target(of_any_topic=shard.policy.shares_any_topic) or is_due
    if is_due or group.refresh_requested:
        is_due = shard.look_at_topics(group, group.topics_with(after)) or is_due
        group.refresh_requested = False
    shard.groups[group.id] = group
    group.members[after.id] = after
    if is_due:
        group.epoch += 1
        shard.report("GroupEpochBumped", group)
    return is_due


def _compute_target(shard: Shard, group: ShareGroup, member: ShareMember) -> None:
    """Compute all targets for the epoch, unless it must wait."""
    if group.target_epoch >= group.epoch:
        return
    if not may_compute_target(shard.policy, group.target_ms, shard.settings.assignment_interval_ms, shard.now_ms):
        return
    counts = seen(group.topics_with(member), shard.topics)
    sharing = Sharing(
        group.id,
        group.epoch,
        {member.id: frozenset(seen(member.topics, shard.topics)) for member in group.members.values()},
        dict(group.targets),
        frozenset(partition for partition in flat(group.partitions.initialized) if partition[0] in counts),
        len({member.topics for member in group.members.values()}) <= 1,
    )
    # SimpleHomogeneousAssignmentBuilder drops topics that nobody subscribes to, SimpleHeterogeneousAssignmentBuilder none.
    group.retarget(shard.choose_shares(sharing), of_topics=frozenset(counts) if sharing.is_uniform else None)
    group.target_epoch, group.target_ms = group.epoch, shard.now_ms
    shard.report("TargetComputed", group, assignor="simple")


def _move_on(shard: Shard, group: ShareGroup, member: ShareMember, *, is_raised: bool) -> ShareMember:
    """Move the member to its target at once (ShareGroupAssignmentBuilder)."""
    target, without = group.target(member.id), group.without.get(member.id, frozenset[str]())
    if shard.policy.filters_shares:
        existing = seen(member.topics, shard.topics)
        target = frozenset(partition for partition in target if partition[0] in existing)
        without &= existing.keys()
    if group.target_epoch != member.epoch:
        after = replace(member, assigned=target, without=without, epoch=group.target_epoch, previous_epoch=member.epoch)
    elif is_raised and shard.policy.filters_shares:
        after = replace(member, assigned=target, without=without)
    else:
        after = member
    group.members[member.id] = after
    if after != member:
        moved = {"member_epoch": after.epoch, "previous_epoch": after.previous_epoch, "state": "STABLE"}
        shard.report("ModernMemberMoved", group, after, **moved, assigned=by_topic(after.assigned))
    return after


def _initialize(shard: Shard, group: ShareGroup) -> dict[str, set[int]]:
    """Ask for partitions that are yet to be initialised."""
    wanted = group.partitions.wanted(group.topics, shard.topics, shard.now_ms, shard.policy.initialize_retry_ms)
    if wanted:
        group.partitions.ask(wanted, shard.now_ms)
    return wanted


def _leave(shard: Shard, request: ShareHeartbeat) -> None:
    group = shard.groups.get(request.group)
    if group is None:
        raise Refusal(Error.GROUP_ID_NOT_FOUND)
    member = group.members.get(request.member)
    if member is None:
        raise Refusal(Error.UNKNOWN_MEMBER_ID)
    shard.report("ModernMemberLeft", group, member)
    shard.remove_member(group, member)
    shard.answer(request.request_id, ShareResponse(NO_ERROR, request.member, request.epoch))


def initialization(shard: Shard, request: Initialization) -> None:
    """Take note of partitions that were initialised, or were not."""
    group = shard.groups.get(request.group)
    if group is None or not request.partitions:
        return
    if request.is_done:
        group.partitions.finish(request.partitions, shard.topics, shard.now_ms)
    else:
        group.partitions.give_up(request.partitions, shard.now_ms)
