"""Taking a partition of __consumer_offsets over and giving it up, and what requests get where groups can't be reached.

GroupCoordinator.scala: onElection, onResignation, onGroupLoaded, onGroupUnloaded, validateGroupStatus.
GroupMetadataManager.java: onLoaded, onUnloaded; GroupCoordinatorService.java: handleOperationException.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from models.kafka.coordinator.classic.group import Group, Member
from models.kafka.coordinator.classic.rebalance import rebalance
from models.kafka.coordinator.classic.shard import Shard
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.protocol.requests import Heartbeat, Protocol, Request, Sync
from models.kafka.coordinator.protocol.responses import JoinResponse, SyncResponse
from models.kafka.coordinator.runtime.offsets import Offsets
from models.kafka.coordinator.runtime.offsets_log import StoredGroup
from models.kafka.coordinator.runtime.version_policy import EpochGuard, SizeLimit


class Ownership(Enum):
    """What a broker is to an offsets partition."""

    OWNED = "owned"
    LOADING = "loading"
    """It leads the partition and is still reading it."""
    FOREIGN = "foreign"
    STOPPED = "stopped"
    """The coordinator is not running at all."""


@dataclass(slots=True)
class Leadership:
    """The epoch of the partition's leadership as far as orders have told it; they may come out of order."""

    epoch: int | None = None

    def heeds(self, guard: EpochGuard, epoch: int | None, *, loads: bool) -> bool:
        """Whether an order is carried out; one without an epoch always is."""
        if guard is EpochGuard.NONE or epoch is None:
            return True
        if guard is EpochGuard.NOT_OLDER:
            is_late = self.epoch is not None and epoch < self.epoch
        else:
            is_late = epoch <= self.epoch if self.epoch is not None else not loads
        if not is_late:
            self.epoch = epoch if loads or guard is EpochGuard.NOT_OLDER else None
        return not is_late


def refusal(shard: Shard, ownership: Ownership, request: Request) -> Error | None:
    """What a request gets without a look at its group; None if its group is to be asked.

    While the partition is loaded heartbeats are believed, and SyncGroup is told to rejoin.
    """
    if ownership is Ownership.OWNED:
        return None
    if ownership is Ownership.STOPPED:
        return Error.COORDINATOR_NOT_AVAILABLE
    if ownership is Ownership.FOREIGN or not shard.policy.is_owned_while_loading:
        return Error.NOT_COORDINATOR
    if isinstance(request, Heartbeat):
        return Error.NONE
    return Error.REBALANCE_IN_PROGRESS if isinstance(request, Sync) else Error.COORDINATOR_LOAD_IN_PROGRESS


def unload(shard: Shard) -> None:
    """Give all groups up: what is being written fails, what is parked is told to look elsewhere, and timers will find nothing."""
    shard.writes.settle(Error.NOT_LEADER_OR_FOLLOWER)
    for group in list(shard.groups.values()):
        before = group.state
        shard.log.offsets[group.id] = group.offsets.written()
        shard.tell("GroupUnloaded", group)
        shard.move(group, State.DEAD)
        for member in list(group.members.values()):
            if before is State.PREPARING_REBALANCE:
                shard.answer_join(group, member, JoinResponse(Error.NOT_COORDINATOR, member.id))
            else:
                shard.answer_sync(member, SyncResponse(Error.NOT_COORDINATOR))
    shard.groups.clear()
    shard.timers.clear()


def load(shard: Shard) -> None:
    """Take all groups over that the log holds; groups with members are Stable, whatever they were in when they were lost."""
    names = sorted({*shard.log.groups, *(name for name, offsets in shard.log.offsets.items() if offsets)})
    for group in [restored(shard, name, shard.log.groups.get(name)) for name in names]:
        shard.groups[group.id] = group
        for member in group.members.values():
            tell_loaded(shard, group, member)
    for group in [shard.groups[name] for name in names]:
        group.offsets = shard.log.offsets.get(group.id, Offsets()).written()
        shard.tell("GroupLoaded", group, member_count=len(group.members))
        if shard.policy.size_limit is not SizeLimit.NONE and len(group.members) > shard.settings.max_size:
            rebalance(shard, group, "over_capacity_on_load")
        for member in group.members.values():
            shard.renew(group, member)


def tell_loaded(shard: Shard, group: Group, member: Member) -> None:
    """Announce that a member was read back (GroupMetadata.loadGroup)."""
    shard.tell(
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
    """A group as its record describes it; without a record it is nothing but its offsets (GroupMetadata.loadGroup)."""
    if record is None:
        return Group(group_id, shard.now_ms if shard.policy.stores_state_time else None)
    group = Group(group_id, record.since_ms)
    for stored in record.members:
        protocols = (Protocol(record.protocol or "", stored.subscription),)
        timeouts = (stored.session_ms, stored.rebalance_ms)
        member = Member(stored.id, stored.instance, stored.client_id, stored.client_host, *timeouts, record.protocol_type or "", protocols)
        member.assignment = stored.assignment
        group.add(member)
    group.state = State.STABLE if record.members else State.EMPTY
    group.generation = record.generation
    group.protocol_type, group.protocol, group.leader = record.protocol_type, record.protocol, record.leader
    group.subscribe()
    return group
