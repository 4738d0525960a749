"""Loading and unloading of an offsets partition, and errors without a group.

GroupCoordinator.scala: onElection, onResignation, onGroupLoaded, onGroupUnloaded, validateGroupStatus.
GroupMetadataManager.java: onLoaded, onUnloaded; GroupCoordinatorService.java: handleOperationException.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from models.kafka.coordinator.classic.group import Group, Member
from models.kafka.coordinator.classic.rebalance import rebalance
from models.kafka.coordinator.classic.shard import Shard
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.protocol.group_states import DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from models.kafka.coordinator.protocol.requests import Heartbeat, Protocol, Request, Sync
from models.kafka.coordinator.protocol.responses import JoinResponse, SyncResponse
from models.kafka.coordinator.runtime.offsets import Offsets
from models.kafka.coordinator.runtime.offsets_log import StoredGroup
from models.kafka.coordinator.runtime.version_policy import EpochGuard, SizeLimit


class PartitionRole(Enum):
    """Relation of a broker to an offsets partition."""

    OWNED = "owned"
    LOADING = "loading"
    """The broker leads the partition and is still reading it."""
    FOREIGN = "foreign"
    STOPPED = "stopped"
    """The coordinator is not running."""


OWNED = PartitionRole.OWNED
"""The usual role, looked up with each request (see `group_states`)."""


@dataclass(slots=True)
class OffsetsLeadership:
    """Leader epoch of the offsets partition, from orders seen so far.

    Orders may arrive out of sequence.
    """

    epoch: int | None = None

    def heeds(self, guard: EpochGuard, epoch: int | None, *, loads: bool) -> bool:
        """Whether an order is obeyed.

        An order without an epoch always is.
        """
        if guard is EpochGuard.NONE or epoch is None:
            return True
        if guard is EpochGuard.NOT_OLDER:
            is_late = self.epoch is not None and epoch < self.epoch
        else:
            is_late = epoch <= self.epoch if self.epoch is not None else not loads
        if not is_late:
            self.epoch = epoch if loads or guard is EpochGuard.NOT_OLDER else None
        return not is_late


def ownership_error(shard: Shard, ownership: PartitionRole, request: Request) -> Error | None:
    """Error that a request gets without looking at its group.

    None if the group decides. While the partition is loading, heartbeats succeed and SyncGroup gets REBALANCE_IN_PROGRESS.
    """
    if ownership is OWNED:
        return None
    if ownership is PartitionRole.STOPPED:
        return Error.COORDINATOR_NOT_AVAILABLE
    if ownership is PartitionRole.FOREIGN or not shard.policy.is_owned_while_loading:
        return Error.NOT_COORDINATOR
    if isinstance(request, Heartbeat):
        return NO_ERROR
    return Error.REBALANCE_IN_PROGRESS if isinstance(request, Sync) else Error.COORDINATOR_LOAD_IN_PROGRESS


def unload(shard: Shard) -> None:
    """Unload all groups.

    Pending writes fail, parked requests get NOT_COORDINATOR, and all timers are dropped.
    """
    shard.writes.settle(Error.NOT_LEADER_OR_FOLLOWER)
    for group in list(shard.groups.values()):
        before = group.state
        shard.log.offsets[group.id] = group.offsets.written()
        shard.report("GroupUnloaded", group)
        shard.move(group, DEAD)
        for member in list(group.members.values()):
            if before is PREPARING_REBALANCE:
                shard.answer_join(group, member, JoinResponse(Error.NOT_COORDINATOR, member.id))
            else:
                shard.answer_sync(member, SyncResponse(Error.NOT_COORDINATOR))
    shard.groups.clear()
    shard.timers.clear()


def load(shard: Shard) -> None:
    """Load all groups of the log.

    Groups with members become Stable, whatever their state was before.
    """
    names = sorted({*shard.log.groups, *(name for name, offsets in shard.log.offsets.items() if offsets)})
    for group in [restored(shard, name, shard.log.groups.get(name)) for name in names]:
        shard.groups[group.id] = group
        for member in group.members.values():
            tell_loaded(shard, group, member)
    for group in [shard.groups[name] for name in names]:
        group.offsets = shard.log.offsets.get(group.id, Offsets()).written()
        shard.report("GroupLoaded", group, member_count=len(group.members))
        if shard.policy.size_limit is not SizeLimit.NONE and len(group.members) > shard.settings.max_size:
            rebalance(shard, group, "over_capacity_on_load")
        for member in group.members.values():
            shard.renew(group, member)


def tell_loaded(shard: Shard, group: Group, member: Member) -> None:
    """Record that a member was loaded (GroupMetadata.loadGroup)."""
    shard.report(
        "MemberLoaded",
        group,
        member,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_ms,
        rebalance_timeout_ms=member.rebalance_ms,
        protocols=list(member.preferences),
    )


def restored(shard: Shard, group_id: str, record: StoredGroup | None) -> Group:
    """Rebuild a group from its record (GroupMetadata.loadGroup).

    Without a record the group has offsets only.
    """
    if record is None:
        return Group(group_id, shard.now_ms if shard.policy.stores_state_time else None)
    group = Group(group_id, record.since_ms)
    for stored in record.members:
        protocols = (Protocol(record.protocol or "", stored.subscription),)
        timeouts = (stored.session_ms, stored.rebalance_ms)
        member = Member(stored.id, stored.instance, stored.client_id, stored.client_host, *timeouts, record.protocol_type or "", protocols)
        member.assignment = stored.assignment
        group.add(member)
    group.state = STABLE if record.members else EMPTY
    group.generation = record.generation
    group.protocol_type, group.protocol, group.leader = record.protocol_type, record.protocol, record.leader
    group.subscribe()
    return group
