"""Find the member that sends a heartbeat, or whose place it takes."""

from __future__ import annotations

from dataclasses import replace

from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.protocol.errors import Error, Fault
from models.kafka.coordinator.streams.group import StreamsGroup
from models.kafka.coordinator.streams.member import Member
from models.kafka.coordinator.streams.requests import JOIN_EPOCH, LEAVE_FOR_A_WHILE_EPOCH, StreamsHeartbeat
from models.kafka.coordinator.streams.shard import Shard

HeartbeatPlace = tuple[StreamsGroup, Member, Member | None]
"""Group, member before the request, and the static member whose place it takes."""


def member_of_heartbeat(shard: Shard, request: StreamsHeartbeat) -> HeartbeatPlace:
    """Find a heartbeat's group and member; refuse it if there is none."""
    group = shard.groups.get(request.group)
    is_joining = request.epoch == JOIN_EPOCH
    if group is None and not is_joining:
        raise Refusal(Error.GROUP_ID_NOT_FOUND)
    group = group or StreamsGroup(request.group, shard.policy.first_epoch, shard.policy.first_epoch)
    if is_joining:
        _check_size(shard, group, request)
    if request.instance is None:
        return group, _dynamic(shard, group, request), None
    if not shard.policy.has_static_members:
        raise Fault("static members are not supported yet")
    return _static(shard, group, request, request.instance)


def leaver(shard: Shard, group: StreamsGroup, request: StreamsHeartbeat) -> Member:
    """Find the member that leaves."""
    if request.instance is None:
        member = group.members.get(request.member)
        if member is None:
            raise Refusal(Error.UNKNOWN_MEMBER_ID)
        return member
    if not shard.policy.has_static_members:
        raise Fault("static members are not supported yet")
    return _holder(shard, group, request, request.instance)


def _check_size(shard: Shard, group: StreamsGroup, request: StreamsHeartbeat) -> None:
    """Refuse joins of a full group; since 4.4 not those of its own members."""
    is_own = request.member in group.members or group.static_member(request.instance) is not None
    if len(group.members) >= shard.settings.max_size and not (is_own and shard.policy.has_static_members):
        raise Refusal(Error.GROUP_MAX_SIZE_REACHED)


def _dynamic(shard: Shard, group: StreamsGroup, request: StreamsHeartbeat) -> Member:
    is_joining = request.epoch == JOIN_EPOCH
    member = group.members.get(request.member, Member(request.member) if is_joining else None)
    if member is None:
        raise Refusal(Error.UNKNOWN_MEMBER_ID)
    if not is_joining or shard.policy.fences_returning_members:
        _check_epoch(member, request)
    if is_joining:
        shard.report("ModernMemberJoined", group, member, protocol="streams")
    return member


def _static(shard: Shard, group: StreamsGroup, request: StreamsHeartbeat, instance: str) -> HeartbeatPlace:
    """Let a joining static member replace the one that left temporarily.

    4.4 moves the refined tasks to the new id even if it refuses the request, so that the holder loses them.
    """
    holder = group.static_member(instance)
    if holder is not None and holder.id != request.member and shard.policy.refines_target:
        group.relabel(holder.id, request.member)
    if request.epoch != JOIN_EPOCH:
        member = _holder(shard, group, request, instance)
        _check_epoch(member, request)
        return group, member, None
    if holder is None:
        member = group.members.get(request.member, Member(request.member))
        shard.report("ModernMemberJoined", group, replace(member, instance=instance), protocol="streams")
        return group, member, None
    if holder.epoch != LEAVE_FOR_A_WHILE_EPOCH:
        _tell_refused(shard, group, request, holder, "unreleased")
        raise Refusal(Error.UNRELEASED_INSTANCE_ID)
    member = replace(holder, id=request.member, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
    shard.report("ModernMemberJoined", group, member, old_member_id=holder.id, rejoined=True, protocol="streams")
    return group, member, holder


def _holder(shard: Shard, group: StreamsGroup, request: StreamsHeartbeat, instance: str) -> Member:
    holder = group.static_member(instance)
    if holder is None:
        raise Refusal(Error.UNKNOWN_MEMBER_ID)
    if holder.id != request.member:
        _tell_refused(shard, group, request, holder, "fenced")
        raise Refusal(Error.FENCED_INSTANCE_ID)
    return holder


def _tell_refused(shard: Shard, group: StreamsGroup, request: StreamsHeartbeat, holder: Member, why: str) -> None:
    shard.report("ModernMemberRefused", group, replace(holder, id=request.member), old_member_id=holder.id, why=why)


def _check_epoch(member: Member, request: StreamsHeartbeat) -> None:
    """Refuse a request whose epoch is not the member's.

    The previous epoch is accepted with no more tasks than assigned, because the response may have been lost.
    """
    if request.epoch == member.epoch:
        return
    lost_answer = request.epoch == member.previous_epoch and request.owned is not None and request.owned <= member.assigned
    if request.epoch > member.epoch or not lost_answer:
        raise Refusal(Error.FENCED_MEMBER_EPOCH)
