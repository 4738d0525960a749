"""Handler of ConsumerGroupHeartbeat, in Kafka's own order.

Source: 4.0.0, GroupMetadataManager.java, consumerGroupHeartbeat. A refused request must change nothing and must not
create a group, so all checks come first.
"""

from __future__ import annotations

from dataclasses import replace

from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.consumer.group import ConsumerGroup
from models.kafka.coordinator.consumer.member import Member, MemberState
from models.kafka.coordinator.consumer.reconciliation import Owned, owns_only, reconcile
from models.kafka.coordinator.consumer.regex_subscriptions import check_regex, needs_resolution, takes_over_resolution
from models.kafka.coordinator.consumer.requests import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_FOR_A_WHILE_EPOCH,
    LEAVES,
    NOT_SENT,
    ConsumerHeartbeat,
)
from models.kafka.coordinator.consumer.responses import HeartbeatResponse
from models.kafka.coordinator.consumer.shard import Shard
from models.kafka.coordinator.consumer.topic_partitions import by_topic
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.runtime.timers import TimerKind

# Looked up more quickly as names of the module (see `group_states`).
_UNREVOKED_PARTITIONS = MemberState.UNREVOKED_PARTITIONS

CLASSIC_PROTOCOL = "classic"
"""Name of the protocol of members that join with JoinGroup."""


def heartbeat(shard: Shard, request: ConsumerHeartbeat) -> None:
    """Answer a heartbeat, or refuse it."""
    check_fields(request, shard.settings.assignors)
    if not request.member:
        request = replace(request, member=shard.make_member_id())
    if request.epoch in LEAVES:
        _leave(shard, request)
        return
    group = _group(shard, request)
    before, replaced = _place(shard, group, request)
    after = before.updated_by(request)
    check_regex(group, before, after)
    enter(shard, group, before, replaced)
    subscribe(shard, group, before, after)
    if group.epoch > group.target_epoch:
        shard.compute_target(group)
    after = move_on(shard, group, after, request.owned)
    shard.renew(group, after)
    is_told = request.epoch == JOIN_EPOCH or request.is_full or after.assigned != before.assigned
    assignment = after.assigned if is_told else None
    shard.answer(request.request_id, HeartbeatResponse(NO_ERROR, after.id, after.epoch, shard.settings.heartbeat_interval_ms, assignment))


# -- checks: these change nothing --------------------------------------------------------------------------


def check_fields(request: ConsumerHeartbeat, assignors: tuple[str, ...]) -> None:
    """Refuse invalid requests (throwIfConsumerGroupHeartbeatRequestIsInvalid)."""
    needs_id = request.api_version >= 1 or request.epoch > JOIN_EPOCH or request.epoch == LEAVE_EPOCH
    empty = (needs_id and not request.member) or not request.group or request.instance == "" or request.rack == ""
    joins_incompletely = request.epoch == JOIN_EPOCH and (
        request.rebalance_ms == NOT_SENT
        or request.owned is None
        or len(request.owned) > 0
        or (request.topics is None and request.regex is None)
    )
    leaves_unnamed = request.epoch == LEAVE_FOR_A_WHILE_EPOCH and request.instance is None
    if empty or joins_incompletely or leaves_unnamed or request.epoch < LEAVE_FOR_A_WHILE_EPOCH:
        raise Refusal(Error.INVALID_REQUEST)
    if request.assignor is not None and request.assignor not in assignors:
        raise Refusal(Error.UNSUPPORTED_ASSIGNOR)


def _group(shard: Shard, request: ConsumerHeartbeat) -> ConsumerGroup:
    """Find a heartbeat's group, or create it for a joining member.

    A consumer group may replace a classic group without members.
    """
    known = shard.groups.get(request.group)
    if isinstance(known, ConsumerGroup):
        group = known
    elif request.epoch == JOIN_EPOCH and known is not None:
        group = ConsumerGroup(request.group, offsets=known.offsets)
    elif request.epoch == JOIN_EPOCH:
        group = _new_group(shard, request.group)
    else:
        raise Refusal(Error.GROUP_ID_NOT_FOUND)
    check_size(shard, group, request.member)
    return group


def _new_group(shard: Shard, group_id: str) -> ConsumerGroup:
    """Create a group or convert a classic one (getOrMaybeCreateConsumerGroup)."""
    upgraded = None if shard.neighbour is None else shard.neighbour.upgraded(group_id)
    return ConsumerGroup(group_id) if upgraded is None else upgraded


def check_size(shard: Shard, group: ConsumerGroup, member_id: str) -> None:
    """Refuse a new member if the group is full (throwIfConsumerGroupIsFull)."""
    if len(group.members) >= shard.settings.max_size and member_id not in group.members:
        raise Refusal(Error.GROUP_MAX_SIZE_REACHED)


def _place(shard: Shard, group: ConsumerGroup, request: ConsumerHeartbeat) -> tuple[Member, Member | None]:
    """Find the member before the request changes it, and whom it replaces."""
    if request.instance is not None and request.epoch == JOIN_EPOCH:
        return _static_place(shard, group, request, request.instance)
    if request.instance is not None:
        member = instance_holder(shard, group, request.member, request.instance)
    else:
        known = group.members.get(request.member)
        if known is None and request.epoch == JOIN_EPOCH:
            return Member(request.member), None
        if known is None:
            raise Refusal(Error.UNKNOWN_MEMBER_ID)
        member = known
    _check_epoch(member, request)
    return member, None


def _static_place(shard: Shard, group: ConsumerGroup, request: ConsumerHeartbeat, instance: str) -> tuple[Member, Member | None]:
    """Let a joining static member replace the one that left temporarily.

    Source: getOrMaybeSubscribeStaticConsumerMember.
    """
    holder = group.static_member(instance)
    if holder is None:
        return group.members.get(request.member) or Member(request.member), None
    if holder.epoch != LEAVE_FOR_A_WHILE_EPOCH and holder.classic is None:
        tell_refused(shard, group, request.member, holder, "unreleased")
        raise Refusal(Error.UNRELEASED_INSTANCE_ID)
    return replace(holder, id=request.member, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH), holder


def instance_holder(shard: Shard, group: ConsumerGroup, member_id: str, instance: str) -> Member:
    """Find the member of an instance; refuse any other sender."""
    holder = group.static_member(instance)
    if holder is None:
        raise Refusal(Error.UNKNOWN_MEMBER_ID)
    if holder.id != member_id:
        tell_refused(shard, group, member_id, holder, "fenced")
        raise Refusal(Error.FENCED_INSTANCE_ID)
    return holder


def tell_refused(shard: Shard, group: ConsumerGroup, member_id: str, holder: Member, why: str) -> None:
    """Record that a static member was refused or fenced."""
    shard.report("ModernMemberRefused", group, replace(holder, id=member_id), old_member_id=holder.id, why=why)


def _check_epoch(member: Member, request: ConsumerHeartbeat) -> None:
    """Refuse a request whose epoch is not the member's.

    The previous epoch is accepted because the response with the new one may have been lost.
    """
    if request.epoch == member.epoch:
        return
    lost_answer = request.epoch == member.previous_epoch and owns_only(request.owned, member.assigned)
    if request.epoch > member.epoch or not lost_answer:
        raise Refusal(Error.FENCED_MEMBER_EPOCH)


# -- effects of an accepted heartbeat ----------------------------------------------------------------------


def enter(shard: Shard, group: ConsumerGroup, before: Member, replaced: Member | None, protocol: str = "consumer") -> None:
    """Register the member in the group, and the group with the coordinator.

    A classic group of the same name is replaced.
    """
    if group.id not in shard.groups and shard.neighbour is not None and shard.neighbour.give_up(group.id):
        shard.report(
            "GroupConverted",
            group,
            from_type="classic" if group.members else "empty classic",
            to_type="consumer",
            members=len(group.members),
        )
        for member in group.members.values():
            shard.renew(group, member)
    shard.groups[group.id] = group
    if replaced is not None:
        group.replace(replaced, before)
        shard.report("ModernMemberJoined", group, before, old_member_id=replaced.id, rejoined=True, protocol=protocol)
    elif before.id not in group.members:
        group.put(before)
        shard.report("ModernMemberJoined", group, before, protocol=protocol)
    elif protocol == CLASSIC_PROTOCOL:
        shard.report("ModernMemberJoined", group, before, protocol=protocol, again=True)  # every JoinGroup is logged


def subscribe(shard: Shard, group: ConsumerGroup, before: Member, after: Member) -> None:
    """Update the member, and raise the group epoch if targets must change."""
    is_new_target_needed = group.epoch == 0 or before.topics != after.topics or takes_over_resolution(group, before, after)
    if needs_resolution(group, before, after, shard.now_ms, shard.topics_created):
        shard.unresolved.append(group)
    if after is not before:
        group.put(after)
        group.forget_unused_regex(before.regex)
        _tell_subscription(shard, group, before, after)
    if is_new_target_needed or group.refresh_requested:
        group.refresh_requested = False
        is_new_to_group = shard.look_at_topics(group)
        if is_new_target_needed or is_new_to_group:
            shard.raise_epoch(group)


def _tell_subscription(shard: Shard, group: ConsumerGroup, before: Member, after: Member) -> None:
    if before.topics != after.topics:
        shard.report("ModernSubscriptionChanged", group, after, topics=sorted(after.topics))
    if before.regex != after.regex:
        shard.report("ModernSubscriptionChanged", group, after, regex=after.regex)


def move_on(shard: Shard, group: ConsumerGroup, member: Member, owned: Owned | None) -> Member:
    """Advance the member towards its target (maybeReconcile).

    If it has to revoke partitions, its rebalance timeout starts.
    """
    if group.has_reached_target(member):
        return member
    after = reconcile(member, group.target_epoch, group.target(member.id), owned, group.assigned_partitions)
    if after is member:
        return member
    group.move(after)
    if after.state is _UNREVOKED_PARTITIONS:
        shard.timers.schedule(TimerKind.REBALANCE, group.id, after.id, shard.now_ms + after.rebalance_ms, after.epoch)
    else:
        shard.timers.cancel(TimerKind.REBALANCE, group.id, after.id)
    moved = {"member_epoch": after.epoch, "previous_epoch": after.previous_epoch, "state": after.state.value}
    shard.report("ModernMemberMoved", group, after, **moved, assigned=by_topic(after.assigned), revoked=by_topic(after.pending_revocation))
    return after


# -- leaving -----------------------------------------------------------------------------------------------


def _leave(shard: Shard, request: ConsumerHeartbeat) -> None:
    """Remove a member, or mark a static one as temporarily gone.

    The mark is its epoch (consumerGroupLeave).
    """
    group = shard.consumer_group(request.group)
    if request.instance is not None:
        member = instance_holder(shard, group, request.member, request.instance)
    elif request.member in group.members:
        member = group.members[request.member]
    else:
        raise Refusal(Error.UNKNOWN_MEMBER_ID)
    if request.epoch == LEAVE_FOR_A_WHILE_EPOCH:
        shard.report("ModernMemberLeft", group, member, temporarily=True)
        group.move(replace(member, epoch=LEAVE_FOR_A_WHILE_EPOCH, pending_revocation=frozenset()))
    else:
        shard.report("ModernMemberLeft", group, member)
        shard.remove_members(group, [member])
    shard.answer(request.request_id, HeartbeatResponse(NO_ERROR, request.member, request.epoch))
