"""Validation of a request's sender, and the handler of LeaveGroup."""

from __future__ import annotations

from models.kafka.coordinator.classic.group import Group, Member
from models.kafka.coordinator.classic.rebalance import member_gone, remove_joining, try_complete
from models.kafka.coordinator.classic.shard import Shard
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error, Fault
from models.kafka.coordinator.protocol.requests import Leave, Leaver
from models.kafka.coordinator.protocol.responses import LeaveResponse, MemberLeft


def member_error(shard: Shard, group: Group, member_id: str, instance: str | None, operation: str, *, strict: bool = False) -> Error:
    """Check that a request comes from a member of the group.

    An instance id must belong to the member. Until 2.8 an unknown instance id is ignored, except by JoinGroup (`strict`).
    Source: isStaticMemberFenced and has; since 3.0 validateCurrentMember, validateMember.
    """
    if instance is not None and shard.policy.knows_static_members:
        mapped = group.static.get(instance)
        if mapped is not None and mapped != member_id:
            shard.report("StaticMemberFenced", group, member_id=member_id, instance_id=instance, old_member_id=mapped, operation=operation)
            return Error.FENCED_INSTANCE_ID
        if mapped is None and (strict or shard.policy.refuses_unmapped_instance):
            return Error.UNKNOWN_MEMBER_ID
    return NO_ERROR if member_id in group.members else Error.UNKNOWN_MEMBER_ID


def leave(shard: Shard, request: Leave) -> None:
    """Remove members one by one (handleLeaveGroup, classicGroupLeaveToClassicGroup)."""
    group = shard.groups.get(request.group)
    if group is None:
        left = [MemberLeft(member.member, member.instance, Error.UNKNOWN_MEMBER_ID) for member in request.members]
        shard.answer(request.request_id, LeaveResponse(NO_ERROR, tuple(left)))
        return
    left = [MemberLeft(member.member, member.instance, leave_one(shard, group, member)) for member in request.members]
    gone = [member.member for member in left if member.error is NO_ERROR]
    if shard.policy.leaves_in_one_step and gone:
        member_gone(shard, group, "leave", reason_members=gone)
    shard.answer(request.request_id, LeaveResponse(NO_ERROR, tuple(left)))


def leave_one(shard: Shard, group: Group, leaver: Leaver) -> Error:
    """Remove one member, or discard a pending id."""
    if leaver.member in group.pending_join and not fenced_first(shard, group, leaver):
        return return_pending(shard, group, leaver)
    member = who_leaves(shard, group, leaver)
    if isinstance(member, Error):
        return member
    shard.end_session(group, member.id)
    if not shard.policy.tells_leave_last:
        tell_left(shard, group, member, leaver)
    remove_joining(shard, group, member)
    if not shard.policy.leaves_in_one_step:
        member_gone(shard, group, "leave", reason_member_id=member.id, client_reason=leaver.reason)
    if shard.policy.tells_leave_last:
        tell_left(shard, group, member, leaver)
    return NO_ERROR


def tell_left(shard: Shard, group: Group, member: Member, leaver: Leaver) -> None:
    """Record a member's leave for the log."""
    shard.report(
        "MemberLeft",
        group,
        member,
        client_reason=leaver.reason,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_ms,
        rebalance_timeout_ms=member.rebalance_ms,
        protocols=list(member.preferences),
    )


def fenced_first(shard: Shard, group: Group, leaver: Leaver) -> bool:
    """Whether another member's instance id is rejected before pending ids are checked.

    True until 2.8.
    """
    return shard.policy.instance_decides_leaver and leaver.instance is not None and leaver.instance in group.static


def return_pending(shard: Shard, group: Group, leaver: Leaver) -> Error:
    """Discard a member id that was handed out but not used."""
    if leaver.instance is not None and shard.policy.instance_decides_leaver:
        raise Fault("LeaveGroup with an instance id for a pending member")
    group.pending_join.discard(leaver.member)
    shard.report("PendingMemberLeft", group, member_id=leaver.member, client_reason=leaver.reason)
    if shard.policy.pending_leave_ends_timer:
        shard.end_session(group, leaver.member)
    if not shard.policy.leaves_in_one_step:
        try_complete(shard, group)
    return NO_ERROR


def who_leaves(shard: Shard, group: Group, leaver: Leaver) -> Member | Error:
    """Find the member that leaves, or the error.

    Administrators send an instance id without a member id.
    """
    mapped = group.static.get(leaver.instance) if leaver.instance is not None else None
    if not leaver.member:
        return Error.UNKNOWN_MEMBER_ID if mapped is None else group.members[mapped]
    error = member_error(shard, group, leaver.member, leaver.instance, "leave-group")
    return group.members[leaver.member] if error is NO_ERROR else error
