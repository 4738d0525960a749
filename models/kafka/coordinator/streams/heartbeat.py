"""Handler of StreamsGroupHeartbeat, in Kafka's own order.

Source: 4.1 to 4.4, GroupMetadataManager.java, streamsGroupHeartbeat, streamsGroupLeave. A refused request changes
nothing that is written, but its lines have been logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error, Fault
from models.kafka.coordinator.runtime.timers import TimerKind
from models.kafka.coordinator.streams.group import StreamsGroup, StreamsGroupState
from models.kafka.coordinator.streams.member import Member, MemberState, changes_tasks
from models.kafka.coordinator.streams.member_places import leaver, member_of_heartbeat
from models.kafka.coordinator.streams.reconciliation import next_step, reconcile
from models.kafka.coordinator.streams.requests import JOIN_EPOCH, LEAVE_FOR_A_WHILE_EPOCH, LEAVES, StreamsHeartbeat
from models.kafka.coordinator.streams.responses import StreamsResponse
from models.kafka.coordinator.streams.role_changes import next_with_roles
from models.kafka.coordinator.streams.shard import Shard
from models.kafka.coordinator.streams.tasks import NO_TASKS, Tasks, by_kind
from models.kafka.coordinator.streams.topology import ConfiguredTopology, Status, Topology, configure


@dataclass(slots=True)
class _Beat:
    """A heartbeat on its way through the steps."""

    request: StreamsHeartbeat
    group: StreamsGroup
    before: Member
    after: Member
    replaced: Member | None = None
    is_known: bool = False
    """Whether the sender was a member before."""
    is_new_group: bool = False
    is_refined: bool = False
    """Whether only warm-up progress raises the epoch."""
    refined: Mapping[str, Tasks] | None = None
    raises_epoch: bool = False
    topology: Topology | None = None
    metadata: dict[str, int] = field(default_factory=dict)
    status: list[Status] = field(default_factory=list)


def heartbeat(shard: Shard, request: StreamsHeartbeat) -> None:
    """Answer a heartbeat, or refuse it."""
    if request.epoch in LEAVES:
        _leave(shard, request)
        return
    group, before, replaced = member_of_heartbeat(shard, request)
    beat = _Beat(request, group, before, before.updated_by(request), replaced, is_new_group=request.group not in shard.groups)
    _see_member(shard, beat)
    _see_topology(shard, beat)
    configured = _configure(shard, beat)
    _check_tasks(request, configured)
    _enter(shard, beat, configured)
    after = _move_on(shard, beat, *_target(shard, beat, configured))
    _hold(beat, after)
    shard.timers.schedule(TimerKind.SESSION, group.id, after.id, shard.now_ms + shard.settings.session_ms)
    if request.wants_shutdown:
        _request_shutdown(shard, group, after)
    _answer(shard, beat, after, configured)
    if beat.is_new_group:
        group.forget_unwritten()
    elif beat.replaced is not None and len(group.members) == 1:
        group.shutdown_requested_by = None  # the old member is removed before the new one counts


def _answer(shard: Shard, beat: _Beat, after: Member, configured: ConfiguredTopology) -> None:
    status = list(beat.status)
    if configured.problem is not None:
        status.append(configured.problem)
    if beat.group.shutdown_requested_by is not None:
        status.append(Status.SHUTDOWN_APPLICATION)
    is_told = beat.request.epoch == JOIN_EPOCH or after.assigned != beat.before.assigned
    interval_ms = shard.settings.heartbeat_interval_ms
    tasks = after.assigned if is_told else None
    response = StreamsResponse(NO_ERROR, after.id, after.epoch, interval_ms, tasks, tuple(status), dict(configured.missing))
    shard.answer(beat.request.request_id, response)


# -- what the request says: nothing is written yet ------------------------------------------------------------


def _see_member(shard: Shard, beat: _Beat) -> None:
    """Note whether the member's own fields changed (hasStreamsMemberMetadataChanged)."""
    if beat.after == beat.before:
        return
    shard.report("CoordinatorNote", beat.group, beat.after, _note="member_changed")
    beat.raises_epoch = beat.request.instance is None or changes_tasks(beat.before, beat.after)


def _see_topology(shard: Shard, beat: _Beat) -> None:
    """Compare the topology that is sent with the group's (maybeUpdateTopology).

    The first one stays: newer ones are refused, members with older ones are told that theirs is stale.
    """
    sent, known = beat.request.topology, beat.group.topology
    if known is None and sent is None:
        raise Fault("the group has no topology")
    beat.topology = sent if known is None else known
    if sent is not None and known is None:
        shard.report("CoordinatorNote", beat.group, beat.after, _note="topology_set", _epoch=sent.epoch)
    elif sent is not None and known is not None and known.epoch > sent.epoch:
        shard.report("CoordinatorNote", beat.group, beat.after, _note="topology_stale", _epoch=sent.epoch)
    elif sent is not None and sent != known:
        raise Refusal(Error.INVALID_REQUEST)
    if known is not None and beat.after.topology_epoch < known.epoch:
        beat.status.append(Status.STALE_TOPOLOGY)


def _configure(shard: Shard, beat: _Beat) -> ConfiguredTopology:
    """Compare the topology with the topics, if either may have changed."""
    group, topology = beat.group, beat.topology
    beat.metadata = group.metadata
    if topology is None:
        raise Fault("the group has no topology")
    if group.topology is not None and group.configured is not None and not group.refresh_requested:
        return group.configured
    beat.metadata = {topic: shard.topics[topic] for topic in topology.topics if topic in shard.topics}
    is_changed = beat.metadata != group.metadata
    if is_changed:
        shard.report("SubscriptionMetadataChanged", group, beat.after)
        beat.raises_epoch = True
    if is_changed or group.topology is None or group.configured is None:
        group.configured = configure(topology, shard.topics)
        shard.report("CoordinatorNote", group, beat.after, _note="topology_configured", _problem=group.configured.problem)
    return group.configured


def _check_tasks(request: StreamsHeartbeat, configured: ConfiguredTopology) -> None:
    """Refuse tasks that the topology doesn't have (throwIfRequestContainsInvalidTasks)."""
    if configured.is_ready and any(number >= configured.sizes.get(part, 0) for _, part, number in request.owned or ()):
        raise Refusal(Error.INVALID_REQUEST)


# -- effects of an accepted heartbeat -------------------------------------------------------------------------


def _enter(shard: Shard, beat: _Beat, configured: ConfiguredTopology) -> None:
    """Register the member, and raise the group epoch if a new target is needed."""
    group = beat.group
    validated = configured.epoch if configured.is_ready else -1
    if shard.policy.has_validated_topology:
        beat.raises_epoch = beat.raises_epoch or validated != group.validated_epoch
        _see_settings(shard, beat)
    beat.is_refined = shard.policy.refines_target and _is_refined(shard, beat)
    beat.raises_epoch = beat.raises_epoch or beat.is_refined
    was_empty = not group.members
    beat.is_known = beat.before.id in group.members
    shard.groups[group.id] = group
    group.topology = beat.topology
    if beat.replaced is not None:
        group.replace(beat.replaced, beat.before)
    if beat.raises_epoch:
        group.metadata, group.validated_epoch = beat.metadata, validated
        group.epoch = max(group.epoch + 1, shard.policy.first_bump)
        group.refresh_requested = False
        shard.report("GroupEpochBumped", group, beat.after)
    group.put(beat.after)
    delay_ms = shard.settings.initial_delay_ms if shard.policy.has_initial_delay else 0
    if was_empty and delay_ms > 0 and not shard.is_delayed(group):
        shard.timers.schedule(TimerKind.JOIN, group.id, "", shard.now_ms + delay_ms)


def _see_settings(shard: Shard, beat: _Beat) -> None:
    """Note changed settings of the assignor, which need a new target."""
    settings = {"num.standby.replicas": str(shard.standby_replicas_of(beat.group.id))}
    if not beat.raises_epoch and settings != beat.group.assignment_settings:
        shard.report("CoordinatorNote", beat.group, beat.after, _note="settings_changed")
        beat.raises_epoch = True
    if beat.raises_epoch:
        beat.group.assignment_settings = settings


def _is_refined(shard: Shard, beat: _Beat) -> bool:
    """Whether warm-up progress of a stable group allows the next step."""
    group = beat.group
    if beat.raises_epoch or shard.state_of(group) is not StreamsGroupState.STABLE:
        return False
    beat.refined = shard.refine(group.targets, group.members)
    return beat.refined.get(beat.after.id, NO_TASKS) != beat.after.assigned


def _target(shard: Shard, beat: _Beat, configured: ConfiguredTopology) -> tuple[int, Tasks]:
    """Target epoch and tasks of the member; computes targets if they are due."""
    group = beat.group
    is_behind = group.epoch > group.target_epoch
    if shard.is_delayed(group) and (is_behind or not shard.policy.delay_resets_target):
        beat.status.append(Status.ASSIGNMENT_DELAYED)
        epoch = max(1, group.target_epoch) if shard.policy.delay_resets_target else group.target_epoch
        return epoch, _refined(shard, beat, epoch, {})
    if beat.is_refined and group.target_epoch + 1 == group.epoch:
        group.target_epoch = group.epoch  # the target stays, only what members get of it changes
        return group.target_epoch, _refined(shard, beat, group.target_epoch, group.targets)
    delayed = shard.compute_target(group, configured)
    if delayed is not None:
        beat.status.append(delayed)
    return group.target_epoch, _refined(shard, beat, group.target_epoch, group.targets)


def _refined(shard: Shard, beat: _Beat, epoch: int, targets: Mapping[str, Tasks]) -> Tasks:
    """Tasks of the member on its way to the target (refinedAssignmentForEpoch)."""
    group = beat.group
    if not shard.policy.refines_target:
        return targets.get(beat.after.id, NO_TASKS)
    if beat.refined is None and group.refined is not None and group.refined[0] == epoch:
        return group.refined[1].get(beat.after.id, NO_TASKS)
    refined = shard.refine(targets, group.members) if beat.refined is None else beat.refined
    group.refined = epoch, dict(refined)
    return refined.get(beat.after.id, NO_TASKS)


def _move_on(shard: Shard, beat: _Beat, target_epoch: int, target: Tasks) -> Member:
    """Advance the member towards its target (maybeReconcile).

    Who has which tasks is what was written before this request.
    """
    group, member = beat.group, beat.after
    if member.has_reached(target_epoch):
        return member
    step = next_with_roles if shard.policy.refines_target else next_step
    after = reconcile(member, target_epoch, target, beat.request.owned, group.holders, step)
    if after is member:
        return member
    group.put(after)
    if after.state is MemberState.UNREVOKED_TASKS:
        shard.timers.schedule(TimerKind.REBALANCE, group.id, after.id, shard.now_ms + after.rebalance_ms, after.epoch)
    else:
        shard.timers.cancel(TimerKind.REBALANCE, group.id, after.id)
    moved = {"member_epoch": after.epoch, "previous_epoch": after.previous_epoch, "state": after.state.value}
    shard.report("ModernMemberMoved", group, after, **moved, assigned=by_kind(after.assigned), revoked=by_kind(after.pending_revocation))
    return after


def _hold(beat: _Beat, after: Member) -> None:
    """Note who has which tasks now, one written record after the other."""
    holders = beat.group.holders
    if beat.replaced is not None:
        holders.move(beat.replaced, None)
        holders.move(None, beat.before)
    if beat.after != beat.before:
        is_known = beat.is_known or beat.replaced is not None
        holders.move(beat.before if is_known else None, beat.after)
    if after != beat.after:
        holders.move(beat.after, after)


def _request_shutdown(shard: Shard, group: StreamsGroup, member: Member) -> None:
    if group.shutdown_requested_by is None:
        shard.report("StreamsShutdownRequested", group, member, trouble="shutdown_requested")
        group.shutdown_requested_by = member.id


# -- leaving --------------------------------------------------------------------------------------------------


def _leave(shard: Shard, request: StreamsHeartbeat) -> None:
    """Remove a member, or mark a static one as temporarily gone."""
    group = shard.groups.get(request.group)
    if group is None:
        raise Refusal(Error.GROUP_ID_NOT_FOUND)
    if request.wants_shutdown:
        _request_shutdown(shard, group, Member(request.member))
    member = leaver(shard, group, request)
    if request.instance is not None and request.epoch == LEAVE_FOR_A_WHILE_EPOCH:
        shard.report("ModernMemberLeft", group, member, temporarily=True)
        after = replace(member, epoch=request.epoch, pending_revocation=NO_TASKS)
        group.put(after)
        group.holders.move(member, after)
    else:
        shard.report("ModernMemberLeft", group, member)
        shard.remove_member(group, member)
    shard.answer(request.request_id, StreamsResponse(NO_ERROR, request.member, request.epoch))
