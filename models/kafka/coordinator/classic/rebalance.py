"""Join phases: start, wait, extension and end; removal of members, expired ones too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from models.kafka.coordinator.classic.group import Group, Member
from models.kafka.coordinator.classic.shard import Shard
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error, NoSuchMember
from models.kafka.coordinator.protocol.group_states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from models.kafka.coordinator.protocol.responses import JoinedMember, JoinResponse, SyncResponse
from models.kafka.coordinator.runtime.timers import TimerKind

UNKNOWN_JOIN = JoinResponse(Error.UNKNOWN_MEMBER_ID)


@dataclass(frozen=True, slots=True)
class Delay:
    """One step of the initial delay, with the time that remains."""

    step_ms: int
    remaining_ms: int


def rebalance(shard: Shard, group: Group, reason_id: str, **reason: Any) -> None:
    """Begin a join phase (prepareRebalance).

    From Empty it waits for the initial delay even if all have joined. Otherwise it ends once all members have joined, at
    the latest after their longest rebalance timeout.
    """
    is_initial = group.state is EMPTY
    reason["reason_state"] = group.state.value
    if group.state is COMPLETING_REBALANCE:
        propagate(shard, group, {}, Error.REBALANCE_IN_PROGRESS)
    group.pending_sync.clear()
    shard.timers.cancel(TimerKind.SYNC, group.id, "")
    shard.move(group, PREPARING_REBALANCE)
    shard.report("RebalanceStarted", group, reason_id=reason_id, **reason)
    group.is_initial = is_initial
    if is_initial:
        step_ms = shard.settings.initial_delay_ms
        await_joins(shard, group, step_ms, Delay(step_ms, max(group.rebalance_ms - step_ms, 0)))
    elif group.have_all_joined:
        complete(shard, group)
    else:
        await_joins(shard, group, group.rebalance_ms)


def await_joins(shard: Shard, group: Group, wait_ms: int, delay: Delay | None = None) -> None:
    """Set the deadline of the join phase."""
    shard.timers.schedule(TimerKind.JOIN, group.id, "", shard.now_ms + wait_ms, delay)


def try_complete(shard: Shard, group: Group) -> None:
    """Complete the join phase if all have joined and no delay runs.

    Source: maybeCompleteJoinPhase, tryCompleteJoin.
    """
    if group.state is PREPARING_REBALANCE and group.have_all_joined and not group.is_initial:
        complete(shard, group)


def end_join_step(shard: Shard, group: Group, delay: Delay | None) -> None:
    """Handle the deadline of a join phase.

    Source: InitialDelayedJoin.onComplete, tryCompleteInitialRebalanceElseSchedule.
    """
    if delay is None or not group.new_member_added or not delay.remaining_ms:
        complete(shard, group)
        return
    group.new_member_added = False
    step_ms = min(shard.settings.initial_delay_ms, delay.remaining_ms)
    await_joins(shard, group, step_ms, Delay(step_ms, max(delay.remaining_ms - delay.step_ms, 0)))


def complete(shard: Shard, group: Group) -> None:
    """End the join phase (onCompleteJoin, completeClassicGroupJoin).

    Dynamic members that have not joined are removed. Static ones stay; if nobody has joined, the phase is extended.
    """
    shard.timers.cancel(TimerKind.JOIN, group.id, "")
    drop_absent(shard, group)
    if group.members and not lead_by_joined(shard, group):
        shard.report("NoMemberRejoined", group)
        group.is_initial = group.is_initial and shard.policy.second_wait_is_initial
        await_joins(shard, group, group.rebalance_ms)
        return
    group.generation += 1
    if group.members:
        begin_generation(shard, group)
    else:
        group.protocol = None
        group.subscribe()
        group.pending_sync.clear()
        shard.move(group, EMPTY)
        shard.report("GroupEmptied", group)
        shard.store(group, shard.record(group, {}), "empty", lambda _: None)


def drop_absent(shard: Shard, group: Group) -> None:
    """Remove the dynamic members without a parked join."""
    absent = [member for member in group.members.values() if member.join is None and member.instance is None]
    for member in absent:
        shard.remove_member(group, member.id)
        if not shard.policy.absentees_keep_timers:
            shard.end_session(group, member.id)
    if absent:
        shard.report("MembersNotRejoined", group, members=[member.id for member in absent])


def lead_by_joined(shard: Shard, group: Group) -> bool:
    """Elect a joined leader (maybeElectNewJoinedLeader); False if nobody has joined."""
    leader = group.members[group.leader or ""]
    if leader.join is not None:
        return True
    joined = {member.id: member for member in group.members.values() if member.join is not None}
    if not joined:
        shard.note("leader_not_replaced", group.id, leader.id, instance_id=leader.instance)
        return False
    group.leader = shard.choose_leader(group, joined)
    shard.report("LeaderReplaced", group, leader, new_leader=group.leader)
    return True


def begin_generation(shard: Shard, group: Group) -> None:
    """Choose the protocol, answer the joins and wait for SyncGroup (initNextGeneration)."""
    winners = group.vote()
    group.protocol = winners[0] if len(winners) == 1 else shard.choices.protocol(group.id, group.generation, shard.now_ms, winners)
    group.subscribe()
    shard.move(group, COMPLETING_REBALANCE)
    shard.report("GenerationStarted", group, member_count=len(group.members))
    group.pending_sync.clear()
    for member in group.members.values():
        shard.answer_join(group, member, joined(group, member.id))
        shard.renew(group, member)
        member.is_new = False
    if shard.policy.limits_sync:
        group.pending_sync.update(group.members)
        shard.timers.schedule(TimerKind.SYNC, group.id, "", shard.now_ms + group.rebalance_ms, group.generation)


def joined(group: Group, member_id: str) -> JoinResponse:
    """Response with the current generation; the leader's contains all members."""
    members = current_members(group) if group.leader == member_id else ()
    return JoinResponse(NO_ERROR, member_id, group.generation, group.protocol_type, group.protocol, group.leader, False, members)


def current_members(group: Group) -> tuple[JoinedMember, ...]:
    """All members with their metadata for the chosen protocol (currentMemberMetadata)."""
    return tuple(JoinedMember(member.id, member.instance, member.metadata(group.protocol)) for member in group.members.values())


def propagate(shard: Shard, group: Group, assignments: dict[str, bytes], error: Error = NO_ERROR) -> None:
    """Set all assignments and answer parked SyncGroups (propagateAssignment).

    Members that get an answer start a new session.
    """
    protocol = (group.protocol_type, group.protocol) if error is NO_ERROR else (None, None)
    for member in group.members.values():
        member.assignment = assignments.get(member.id, b"")
        if error is NO_ERROR and not member.assignment:
            shard.report("EmptyAssignmentSent", group, member)
        if shard.answer_sync(member, SyncResponse(error, *protocol, member.assignment)):
            shard.renew(group, member)


def end_sync_wait(shard: Shard, group: Group, generation: int) -> None:
    """Remove members that missed the SyncGroup deadline, and rebalance.

    Source: onExpirePendingSync, expirePendingSync.
    """
    if generation != group.generation or group.state not in (COMPLETING_REBALANCE, STABLE) or not group.pending_sync:
        return
    missing = sorted(group.pending_sync)
    if shard.policy.sync_needs_members and not group.members.keys() >= group.pending_sync:
        raise NoSuchMember("the end of the wait for SyncGroup asks for a member that was replaced")
    for member_id in missing:
        shard.remove_member(group, member_id)
        shard.end_session(group, member_id)
    shard.report("SyncMissing", group, members=missing)
    rebalance(shard, group, "pending_sync_expiration", reason_members=missing)


def member_gone(shard: Shard, group: Group, reason_id: str, **reason: Any) -> None:
    """Rebalance after a removal, or try to complete the join phase.

    Source: removeMemberAndUpdateGroup.
    """
    if group.state is PREPARING_REBALANCE:
        try_complete(shard, group)
    elif group.state is not EMPTY:
        rebalance(shard, group, reason_id, **reason)


def expire_session(shard: Shard, group: Group, member_id: str) -> None:
    """Handle an expired session, pending id or first-join limit.

    Source: onExpireHeartbeat, expireClassicGroupMemberHeartbeat.
    """
    member = group.members.get(member_id)
    if member_id in group.pending_join:
        group.pending_join.discard(member_id)
        shard.report("PendingMemberExpired", group, member_id=member_id)
    elif member is None:
        shard.note("late_session_timer", group.id, member_id)
        return
    elif member.is_excused:
        return
    else:
        shard.report("MemberFailed", group, member)
        remove_joining(shard, group, member)
        if group.state is not PREPARING_REBALANCE:
            member_gone(shard, group, "heartbeat_expiration", reason_member_id=member_id)
            return
    if group.state is PREPARING_REBALANCE and group.have_all_joined and not keeps_waiting(shard, group):
        complete(shard, group)


def keeps_waiting(shard: Shard, group: Group) -> bool:
    """Whether an initial delay goes on although all have joined."""
    return group.is_initial and not shard.policy.expiry_cuts_initial_delay


def remove_joining(shard: Shard, group: Group, member: Member) -> None:
    """Remove a member and answer its parked join with UNKNOWN_MEMBER_ID.

    Its parked sync is dropped without a response.
    """
    shard.answer_join(group, member, UNKNOWN_JOIN)
    shard.remove_member(group, member.id)
