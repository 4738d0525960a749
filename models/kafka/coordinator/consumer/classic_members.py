"""Requests of classic members in consumer groups.

They send JoinGroup, SyncGroup, Heartbeat and LeaveGroup, but don't wait for each other. JoinGroup takes a step towards
the member's target, SyncGroup fetches the current assignment, and a heartbeat's error asks for another join. Source:
4.0.0, GroupMetadataManager.java, classicGroup…ToConsumerGroup.
"""

from __future__ import annotations

from dataclasses import replace

from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.consumer.group import ConsumerGroup
from models.kafka.coordinator.consumer.heartbeat import CLASSIC_PROTOCOL, check_size, enter, instance_holder, move_on, subscribe
from models.kafka.coordinator.consumer.member import ClassicSide, Member, MemberState
from models.kafka.coordinator.consumer.shard import Shard
from models.kafka.coordinator.protocol.embedded_consumer import assignment, owned_of
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error, Fault
from models.kafka.coordinator.protocol.requests import Heartbeat, Join, Leave, Leaver, Sync
from models.kafka.coordinator.protocol.responses import JoinResponse, LeaveResponse, MemberLeft, Response, SyncResponse
from models.kafka.coordinator.protocol.subscription import CONSUMER, topics_of
from models.kafka.coordinator.runtime.timers import TimerKind

# Looked up more quickly as names of the module (see `group_states`).
_UNREVOKED_PARTITIONS, _UNRELEASED_PARTITIONS = MemberState.UNREVOKED_PARTITIONS, MemberState.UNRELEASED_PARTITIONS


def join(shard: Shard, request: Join) -> None:
    """Add or advance the member and answer with its epoch.

    Source: classicGroupJoinToConsumerGroup.
    """
    group = shard.consumer_group(request.group)
    member_id = request.member or shard.make_member_id()
    check_size(shard, group, member_id)
    if not group.supports_classic(request.protocol_type, [protocol.name for protocol in request.protocols]):
        raise Refusal(Error.INCONSISTENT_GROUP_PROTOCOL)
    if request.require_known_member_id and not request.member and request.instance is None:
        shard.report("ModernMemberIdHandedOut", group, member_id=member_id)
        shard.answer(request.request_id, JoinResponse(Error.MEMBER_ID_REQUIRED, member_id))
        return
    before, replaced = _place(shard, group, request, member_id)
    after = _with_subscription(before, request)
    enter(shard, group, before, replaced, CLASSIC_PROTOCOL)
    subscribe(shard, group, before, after)
    if group.epoch > group.target_epoch:
        shard.compute_target(group)
    after = move_on(shard, group, after, owned_of(request.protocols[0].metadata))
    answer = JoinResponse(NO_ERROR, after.id, after.epoch, CONSUMER, request.protocols[0].name, "")
    shard.answer(request.request_id, answer)

    def written(error: Error) -> None:
        if error is NO_ERROR:
            _expect_sync(shard, group, after, replaced)

    if shard.writes.is_held:
        shard.writes.wait(shard.timers, group.id, shard.now_ms, written)
    else:
        written(shard.writes.error)


def _expect_sync(shard: Shard, group: ConsumerGroup, after: Member, replaced: Member | None) -> None:
    """Start the SyncGroup deadline once the join has been written.

    If the member replaced one of the consumer protocol, the group may turn into a classic one instead.
    """
    shard.timers.cancel(TimerKind.JOIN, group.id, after.id)
    if replaced is not None and shard.neighbour is not None and shard.neighbour.downgrade(group, ()):
        del shard.groups[group.id]
    else:
        shard.renew(group, after)
        shard.timers.schedule(TimerKind.SYNC, group.id, after.id, shard.now_ms + after.rebalance_ms)


def _place(shard: Shard, group: ConsumerGroup, request: Join, member_id: str) -> tuple[Member, Member | None]:
    """Find the member before the request changes it, and whom it replaces.

    Any dynamic id is accepted.
    """
    if request.instance is None:
        return group.members.get(member_id) or Member(member_id), None
    if request.member:
        return instance_holder(shard, group, member_id, request.instance), None
    holder = group.static_member(request.instance)
    if holder is None:
        return Member(member_id), None
    return replace(holder, id=member_id, epoch=group.target_epoch, previous_epoch=group.target_epoch), holder


def _with_subscription(before: Member, request: Join) -> Member:
    """Apply the subscription in the member's first protocol (deserializeSubscription).

    All protocols of a client carry the same topics.
    """
    topics = topics_of(request.protocols[0].metadata)
    if topics is None:
        raise Fault("a subscription can't be read")
    return replace(
        before,
        instance=request.instance or before.instance,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_ms=request.rebalance_ms,
        topics=topics,
        classic=ClassicSide(request.session_ms, request.protocols),
    )


def sync(shard: Shard, request: Sync) -> None:
    """Send a member its assignment (classicGroupSyncToConsumerGroup).

    A member behind the group epoch has to join again first.
    """
    group = shard.consumer_group(request.group)
    member, classic = _member(shard, group, request.member, request.instance)
    if request.generation != member.epoch:
        raise Refusal(Error.ILLEGAL_GENERATION)
    if request.protocol_type not in (None, CONSUMER) or request.protocol not in (None, classic.protocols[0].name):
        raise Refusal(Error.INCONSISTENT_GROUP_PROTOCOL)
    if group.epoch > member.epoch and member.state is not _UNREVOKED_PARTITIONS:
        _expect_join(shard, group, member)
        raise Refusal(Error.REBALANCE_IN_PROGRESS)
    shard.timers.cancel(TimerKind.SYNC, group.id, member.id)
    shard.renew(group, member)
    share = assignment(sorted(member.assigned))
    shard.answer(request.request_id, SyncResponse(NO_ERROR, request.protocol_type, request.protocol, share))


def heartbeat(shard: Shard, request: Heartbeat) -> None:
    """Renew a session; REBALANCE_IN_PROGRESS asks the member to join again.

    Source: classicGroupHeartbeatToConsumerGroup.
    """
    group = shard.consumer_group(request.group)
    member, _ = _member(shard, group, request.member, request.instance)
    if request.generation != member.epoch:
        raise Refusal(Error.ILLEGAL_GENERATION)
    shard.renew(group, member)
    released = member.state is _UNRELEASED_PARTITIONS and not group.waits_for_others(member)
    if member.epoch < group.epoch or member.state is _UNREVOKED_PARTITIONS or released:
        _expect_join(shard, group, member)
        raise Refusal(Error.REBALANCE_IN_PROGRESS)
    shard.answer(request.request_id, Response())


def leave(shard: Shard, request: Leave) -> None:
    """Remove members in one step (classicGroupLeaveToConsumerGroup)."""
    group = shard.consumer_group(request.group)
    left: list[MemberLeft] = []
    gone: dict[str, Member] = {}
    for leaver in request.members:
        try:
            member = _leaver(shard, group, leaver)
        except Refusal as refusal:
            left.append(MemberLeft(leaver.member, leaver.instance, refusal.error))
        else:
            gone[member.id] = member
            shard.report("ModernMemberLeft", group, member, client_reason=leaver.reason or "not provided")
            left.append(MemberLeft(leaver.member, leaver.instance))
    if gone:
        shard.remove_members(group, tuple(gone.values()))
    shard.answer(request.request_id, LeaveResponse(NO_ERROR, tuple(left)))


def _leaver(shard: Shard, group: ConsumerGroup, leaver: Leaver) -> Member:
    """Find the leaving member.

    Administrators send an instance id without a member id.
    """
    if leaver.instance is not None and not leaver.member:
        holder = group.static_member(leaver.instance)
        return _member(shard, group, "" if holder is None else holder.id, leaver.instance)[0]
    return _member(shard, group, leaver.member, leaver.instance)[0]


def _member(shard: Shard, group: ConsumerGroup, member_id: str, instance: str | None) -> tuple[Member, ClassicSide]:
    """Find the sender; refuse it if it isn't a classic member."""
    member = group.members.get(member_id) if instance is None else instance_holder(shard, group, member_id, instance)
    if member is None or member.classic is None:
        raise Refusal(Error.UNKNOWN_MEMBER_ID)
    return member, member.classic


def _expect_join(shard: Shard, group: ConsumerGroup, member: Member) -> None:
    """Start the deadline for another join, unless it runs already.

    The deadline is the member's rebalance timeout.
    """
    if shard.timers.due_ms(TimerKind.JOIN, group.id, member.id) is None:
        shard.timers.schedule(TimerKind.JOIN, group.id, member.id, shard.now_ms + member.rebalance_ms)
