"""Handlers of SyncGroup and Heartbeat."""

from __future__ import annotations

from models.kafka.coordinator.classic.group import Group, Member
from models.kafka.coordinator.classic.leave_group import member_error
from models.kafka.coordinator.classic.rebalance import propagate, rebalance
from models.kafka.coordinator.classic.shard import Shard
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.protocol.group_states import COMPLETING_REBALANCE, PREPARING_REBALANCE, STABLE
from models.kafka.coordinator.protocol.requests import Heartbeat, Sync
from models.kafka.coordinator.protocol.responses import SyncResponse
from models.kafka.coordinator.runtime.timers import Session, TimerKind


def sync(shard: Shard, request: Sync) -> None:
    """Answer a SyncGroup, or park it until the leader's arrives.

    Source: doSyncGroup, classicGroupSyncToClassicGroup.
    """
    group = shard.groups.get(request.group)
    error = Error.UNKNOWN_MEMBER_ID if group is None else sync_error(shard, group, request)
    if group is None or error is not NO_ERROR:
        shard.answer(request.request_id, SyncResponse(error))
        return
    member = group.members[request.member]
    synced(shard, group, member)
    if group.state is STABLE:
        shard.answer(request.request_id, SyncResponse(NO_ERROR, group.protocol_type, group.protocol, member.assignment))
        if shard.policy.stable_sync_renews:
            shard.renew(group, member)
        return
    member.sync = request.request_id
    if group.leader == member.id:
        assign(shard, group, request, member)


def sync_error(shard: Shard, group: Group, request: Sync) -> Error:
    """Check a SyncGroup (validateSyncGroup)."""
    error = member_error(shard, group, request.member, request.instance, "sync-group")
    if error is not NO_ERROR:
        return error
    if request.generation != group.generation:
        return Error.ILLEGAL_GENERATION
    if shard.policy.checks_sync_protocol and (
        differs(shard, request.protocol_type, group.protocol_type) or differs(shard, request.protocol, group.protocol)
    ):
        return Error.INCONSISTENT_GROUP_PROTOCOL
    return Error.REBALANCE_IN_PROGRESS if group.state is PREPARING_REBALANCE else NO_ERROR


def differs(shard: Shard, sent_protocol: str | None, present: str | None) -> bool:
    """Whether a protocol type or name differs from the group's (isProtocolInconsistent)."""
    if sent_protocol is None or (present is None and not shard.policy.missing_protocol_differs):
        return False
    return sent_protocol != present


def synced(shard: Shard, group: Group, member: Member) -> None:
    """Mark a member's SyncGroup as received (removePendingSyncMember).

    The last one cancels the deadline.
    """
    group.pending_sync.discard(member.id)
    if not group.pending_sync:
        shard.timers.cancel(TimerKind.SYNC, group.id, "")


def assign(shard: Shard, group: Group, request: Sync, leader: Member) -> None:
    """Store the leader's assignment and send it to the members.

    Members without an entry get an empty assignment.
    """
    assignments = dict(request.assignments)
    missing = sorted(group.members.keys() - assignments.keys())
    shard.report("AssignmentReceived", group, leader, member_count=len(group.members), static_count=len(group.static))
    if missing:
        shard.report("EmptyAssignmentsSet", group, members=missing)
    generation = group.generation

    def written(error: Error) -> None:
        if group.state is not COMPLETING_REBALANCE or group.generation != generation:
            return  # another rebalance began while the write was pending
        if error is NO_ERROR:
            propagate(shard, group, assignments)
            shard.move(group, STABLE)
        else:
            propagate(shard, group, {}, error)
            rebalance(shard, group, "sync_store_error", reason_member_id=leader.id)

    shard.store(group, shard.record(group, assignments), "assignment", written)


def heartbeat(shard: Shard, request: Heartbeat) -> None:
    """Answer a heartbeat and renew the session if it is accepted.

    Source: handleHeartbeat, classicGroupHeartbeatToClassicGroup.
    """
    group = shard.groups.get(request.group)
    error = Error.UNKNOWN_MEMBER_ID if group is None else heartbeat_error(shard, group, request)
    if group is not None and error is NO_ERROR:
        shard.renew(group, group.members[request.member])
        if group.state is PREPARING_REBALANCE:
            error = Error.REBALANCE_IN_PROGRESS
    shard.refuse(request.request_id, error)


def heartbeat_error(shard: Shard, group: Group, request: Heartbeat) -> Error:
    """Check a heartbeat.

    Until 2.6.0 a heartbeat between join and sync gets REBALANCE_IN_PROGRESS and renews nothing.
    """
    completing = group.state is COMPLETING_REBALANCE and not shard.policy.accepts_heartbeat_while_completing
    error = member_error(shard, group, request.member, request.instance, "heartbeat")
    if error is NO_ERROR and request.generation != group.generation and not (completing and shard.policy.checks_state_first):
        error = Error.ILLEGAL_GENERATION
    return Error.REBALANCE_IN_PROGRESS if error is NO_ERROR and completing else error


def session_to_renew(shard: Shard, request: Heartbeat) -> Session | None:
    """The session that a heartbeat renews, None if it may do anything else.

    It does nothing else until the coordinator gets another request, an order or a due timer.
    """
    group = shard.groups.get(request.group)
    if group is None or group.state is not STABLE or group.generation != request.generation or not shard.writes.succeed_at_once:
        return None
    member, timer = group.members.get(request.member), shard.timers.pending(TimerKind.CLASSIC_SESSION, request.group, request.member)
    if member is None or timer is None or member.is_excused:
        return None
    if request.instance is not None and group.static.get(request.instance) != request.member:
        return None
    return Session(timer, member.session_ms)
