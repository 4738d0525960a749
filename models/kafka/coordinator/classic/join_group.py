"""Handler of JoinGroup (handleJoinGroup, classicGroupJoinToClassicGroup)."""

from __future__ import annotations

from dataclasses import dataclass

from models.kafka.coordinator.classic.group import Group, Member
from models.kafka.coordinator.classic.leave_group import member_error
from models.kafka.coordinator.classic.rebalance import current_members, joined, rebalance, try_complete
from models.kafka.coordinator.classic.shard import Shard
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error, Fault
from models.kafka.coordinator.protocol.group_states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from models.kafka.coordinator.protocol.requests import Join, Protocol
from models.kafka.coordinator.protocol.responses import JoinResponse, SyncResponse
from models.kafka.coordinator.runtime.timers import TimerKind
from models.kafka.coordinator.runtime.version_policy import Extension, SizeLimit, StaticReturn


def join(shard: Shard, request: Join) -> None:
    """Answer a JoinGroup or park it until the join phase ends."""
    if not shard.settings.min_session_ms <= request.session_ms <= shard.settings.max_session_ms:
        refuse(shard, request, Error.INVALID_SESSION_TIMEOUT)
        return
    group = shard.groups.get(request.group)
    if group is None:
        if request.member:
            refuse(shard, request, Error.UNKNOWN_MEMBER_ID)
            return
        join_first(shard, shard.create(request.group), request)
    else:
        join_group(shard, group, request)


def join_first(shard: Shard, group: Group, request: Join) -> None:
    """Join a new group.

    If the policy stores new groups, the group is removed again when the write fails.
    """
    record = shard.record(group, {})
    join_group(shard, group, request)
    if not shard.policy.stores_new_groups:
        return

    def written(error: Error) -> None:
        if error is not NO_ERROR and not shard.writes.times_out and shard.groups.get(group.id) is group:
            del shard.groups[group.id]
            for member in group.members.values():
                shard.answer_join(group, member, JoinResponse(error))

    shard.store(group, record, "new", written)


def join_group(shard: Shard, group: Group, request: Join) -> None:
    """Answer a JoinGroup to an existing group, or park it."""
    if not has_room(shard, group, request.member):
        refuse_for_size(shard, group, request)
    elif not group.supports(request.protocol_type, request.protocols):
        refuse(shard, request, Error.INCONSISTENT_GROUP_PROTOCOL)
    elif request.member:
        join_known(shard, group, request)
    else:
        join_new(shard, group, request)
    if shard.policy.any_join_completes:
        try_complete(shard, group)


def refuse(shard: Shard, request: Join, error: Error) -> None:
    """Answer with an error and the member id from the request."""
    shard.answer(request.request_id, JoinResponse(error, request.member))


def has_room(shard: Shard, group: Group, member_id: str) -> bool:
    """Whether group.max.size admits this member.

    Source: acceptJoiningMember; until 2.5 handleJoinGroup.
    """
    limit, size = shard.policy.size_limit, shard.settings.max_size
    member = group.members.get(member_id)
    if limit is SizeLimit.BY_WAITING:
        if group.state is EMPTY:
            return True
        if group.state is PREPARING_REBALANCE:
            return (member is not None and member.join is not None) or group.waiting < size
        return member is not None or len(group.members) < size
    if limit is SizeLimit.BY_MEMBERS:
        sheds = member is not None and member.join is None and len(group.members) > size
        return not sheds and (bool(member_id) or len(group.members) < size)
    return True


def refuse_for_size(shard: Shard, group: Group, request: Join) -> None:
    """Refuse and remove a member beyond group.max.size.

    Its timers stay.
    """
    shard.remove_member(group, request.member)
    if shard.policy.size_refusal_forgets_pending:
        group.pending_join.discard(request.member)
    shard.answer(request.request_id, JoinResponse(Error.GROUP_MAX_SIZE_REACHED))


def join_new(shard: Shard, group: Group, request: Join) -> None:
    """Handle a join without a member id.

    Replaces a static member, hands out an id, or adds a member (doUnknownJoinGroup, doNewMemberJoinGroup).
    """
    instance = request.instance if shard.policy.knows_static_members else None
    member_id = shard.make_member_id(request.client_id if instance is None else instance)
    if instance is not None and instance in group.static:
        replace_static(shard, group, request, instance, member_id)
    elif instance is None and request.require_known_member_id and shard.policy.hands_out_member_ids:
        group.pending_join.add(member_id)
        shard.timers.schedule(TimerKind.CLASSIC_SESSION, group.id, member_id, shard.now_ms + request.session_ms)
        shard.report("MemberIdHandedOut", group, member_id=member_id, client_id=request.client_id, state=group.state.value)
        shard.answer(request.request_id, JoinResponse(Error.MEMBER_ID_REQUIRED, member_id))
    else:
        add_member(shard, group, request, member_id, instance)


def add_member(shard: Shard, group: Group, request: Join, member_id: str, instance: str | None) -> None:
    """Add a member and rebalance (addMemberAndRebalance).

    Its first join must be answered within five minutes.
    """
    extends = {Extension.WHILE_GENERATION_IS_0: group.generation == 0, Extension.AFTER_EMPTY: group.is_initial}
    if group.state is PREPARING_REBALANCE and extends[shard.policy.extension]:
        group.new_member_added = True
    timeouts = (request.session_ms, request.rebalance_ms)
    member = Member(
        member_id,
        instance,
        request.client_id,
        request.client_host,
        *timeouts,
        request.protocol_type,
        request.protocols,
        join=request.request_id,
        is_new=shard.policy.limits_first_join,
    )
    was_pending = member_id in group.pending_join
    group.add(member)
    event = "PendingMemberJoined" if was_pending else "MemberAdded"
    shard.report(event, group, member, client_id=member.client_id, state=group.state.value)
    shard.renew(group, member, shard.settings.new_member_join_timeout_ms if member.is_new else None)
    step(shard, group, request, "new_member", member)


def step(shard: Shard, group: Group, request: Join, reason_id: str, member: Member) -> None:
    """Rebalance after a member was added or changed, or complete the phase.

    Source: maybePrepareRebalanceOrCompleteJoin.
    """
    if group.can_rebalance:
        rebalance(shard, group, reason_id, reason_member_id=member.id, reason_instance_id=member.instance, client_reason=request.reason)
    else:
        try_complete(shard, group)


def join_known(shard: Shard, group: Group, request: Join) -> None:
    """Handle a join with a pending or a member's id.

    Source: doJoinGroup, doCurrentMemberJoinGroup, classicGroupJoinExistingMember.
    """
    if request.member in group.pending_join:
        if request.instance is not None:
            raise Fault("JoinGroup with an instance id for a pending member")
        add_member(shard, group, request, request.member, None)
        return
    error = member_error(shard, group, request.member, request.instance, "join-group", strict=True)
    if error is not NO_ERROR:
        refuse(shard, request, error)
        return
    member = group.members[request.member]
    reason_id = rejoin_reason(group, member, request)
    if reason_id is None:
        shard.answer(request.request_id, joined(group, member.id))
    else:
        update_member(shard, group, request, member)
        step(shard, group, request, reason_id, member)


def rejoin_reason(group: Group, member: Member, request: Join) -> str | None:
    """Reason why a member's join needs a join phase.

    None if it is answered with the current generation.
    """
    if group.state is PREPARING_REBALANCE:
        return "member_joining"
    if group.state is STABLE and group.leader == member.id:
        return "leader_rejoin"
    return None if member.protocols == request.protocols else "update_metadata"


def update_member(shard: Shard, group: Group, request: Join, member: Member) -> None:
    """Take over the data of a rejoin (updateMember).

    An older parked join is dropped.
    """
    timeouts = (request.session_ms, request.rebalance_ms) if shard.policy.rejoin_updates_timeouts else None
    group.update(member, request.protocols, timeouts, request.request_id)


def replace_static(shard: Shard, group: Group, request: Join, instance: str, member_id: str) -> None:
    """Replace the id of a returning static member.

    Requests parked by the old id are fenced. The new id's session starts with the old timeout; the old id's timer stays
    queued. Source: updateStaticMemberAndRebalance, updateStaticMemberThenRebalanceOrCompleteJoin.
    """
    member = group.members[group.static[instance]]
    old_id, before = member.id, Before.from_member(group, member)
    shard.answer_join(group, member, JoinResponse(Error.FENCED_INSTANCE_ID, old_id))
    shard.answer_sync(member, SyncResponse(Error.FENCED_INSTANCE_ID))
    group.rename(member, instance, member_id)
    member.is_new = member.is_new and shard.policy.replaced_stays_new
    shard.report("StaticMemberReplaced", group, member, old_member_id=old_id, state=group.state.value)
    shard.renew(group, member)
    update_member(shard, group, request, member)
    swap = {STABLE: shard.policy.swap_in_stable, COMPLETING_REBALANCE: shard.policy.swap_in_completing}.get(group.state)
    if swap is StaticReturn.ANSWER or (swap is StaticReturn.VOTE and protocol_stays(shard, group)):
        shard.report("StaticMemberKept", group, state=group.state.value)
        answer_swap(shard, group, request, instance, member, before)
    elif swap is None:
        try_complete(shard, group)
    else:
        reason_id = "static_protocol_change" if swap is StaticReturn.VOTE else "static_update"
        reason = {"reason_member_id": member.id, "reason_instance_id": member.instance, "client_reason": request.reason}
        rebalance(shard, group, reason_id, **reason)


@dataclass(frozen=True, slots=True)
class Before:
    """A static member and its group's leader before its return."""

    leader: str | None
    member_id: str
    protocols: tuple[Protocol, ...]
    timeouts: tuple[int, int]

    @classmethod
    def from_member(cls, group: Group, member: Member) -> Before:
        """Record the current values."""
        return cls(group.leader, member.id, member.protocols, (member.session_ms, member.rebalance_ms))


def answer_swap(shard: Shard, group: Group, request: Join, instance: str, member: Member, before: Before) -> None:
    """Answer a returning static member with the unchanged generation.

    The response waits for the write; if the write fails, the member gets its old id back.
    """

    def written(error: Error) -> None:
        if error is NO_ERROR:
            shard.answer_join(group, member, swapped(shard, group, request, member, before.leader))
            return
        shard.answer_join(group, member, JoinResponse(error))
        if group.members.get(member.id) is not member:
            return  # The member was removed while the write was pending.
        group.update(member, before.protocols, before.timeouts, None)
        group.rename(member, instance, before.member_id)
        shard.renew(group, member)

    if shard.policy.stores_static_swap and group.state is STABLE:
        assignments = {member.id: member.assignment for member in group.members.values()}
        shard.store(group, shard.record(group, assignments), "static", written)
    else:
        written(NO_ERROR)


def protocol_stays(shard: Shard, group: Group) -> bool:
    """Whether the current protocol would win again (KAFKA-10284)."""
    winners = group.vote()
    if group.protocol not in winners:
        return False
    return len(winners) == 1 or shard.choices.keeps_protocol(group.id, group.generation, shard.now_ms, winners)


def swapped(shard: Shard, group: Group, request: Join, member: Member, leader_before: str | None) -> JoinResponse:
    """Response to a returning static member in an unchanged generation.

    Clients before JoinGroup v9 get the leader's old id, so that a returning leader does not assign again (KIP-814).
    """
    skips = request.supports_skip_assignment and request.require_known_member_id and shard.policy.skips_assignment
    leads = skips and group.leader == member.id
    leader = group.leader if skips else leader_before
    members = current_members(group) if leads else ()
    return JoinResponse(NO_ERROR, member.id, group.generation, group.protocol_type, group.protocol, leader, leads, members)
