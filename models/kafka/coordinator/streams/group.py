"""A streams group in the coordinator's memory (4.1 to 4.4, StreamsGroup.java)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from models.kafka.coordinator.streams.member import Member
from models.kafka.coordinator.streams.reconciliation import Holders
from models.kafka.coordinator.streams.tasks import NO_TASKS, Tasks
from models.kafka.coordinator.streams.topology import ConfiguredTopology, Topology


class StreamsGroupState(StrEnum):
    """State of a streams group, derived from topology, members and epochs."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"  # topics are missing or have other partition counts: nobody gets tasks
    ASSIGNING = "Assigning"  # no target for the group epoch yet
    RECONCILING = "Reconciling"  # members have not reached their targets
    STABLE = "Stable"


@dataclass(slots=True, eq=False)
class StreamsGroup:
    """A streams group.

    What `forget_unwritten` clears is never written to the log.
    """

    id: str
    epoch: int = 0
    target_epoch: int = 0
    target_ms: int | None = None
    """Time of the last target, if it is known."""
    validated_epoch: int = 0
    """Epoch of the topology that was last found ready, else -1."""
    members: dict[str, Member] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    """Member ids by instance id."""
    targets: dict[str, Tasks] = field(default_factory=dict)
    holders: Holders = field(default_factory=Holders)
    topology: Topology | None = None
    metadata: dict[str, int] = field(default_factory=dict)
    """Partition counts of the topology's topics when the group last looked."""
    assignment_settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of the assignor at the last epoch."""
    configured: ConfiguredTopology | None = None
    refresh_requested: bool = True
    """Whether the group has yet to look at its topics."""
    shutdown_requested_by: str | None = None
    refined: tuple[int, Mapping[str, Tasks]] | None = None
    """Target epoch, and what its members get on the way to their targets."""

    def state(self, *, by_topology: bool) -> StreamsGroupState:
        """Current state; `by_topology`: what was found ready is remembered by its epoch."""
        if not self.members:
            return StreamsGroupState.EMPTY
        if not self._is_ready(by_topology=by_topology):
            return StreamsGroupState.NOT_READY
        if self.epoch > self.target_epoch:
            return StreamsGroupState.ASSIGNING
        if all(member.has_reached(self.target_epoch) for member in self.members.values()):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    def _is_ready(self, *, by_topology: bool) -> bool:
        if self.topology is None:
            return False
        if by_topology:
            return self.topology.epoch == self.validated_epoch
        return self.configured is not None and self.configured.is_ready

    def target(self, member_id: str) -> Tasks:
        """Target of a member, empty without one."""
        return self.targets.get(member_id, NO_TASKS)

    def static_member(self, instance: str | None) -> Member | None:
        """The member of an instance."""
        member_id = None if instance is None else self.static.get(instance)
        return None if member_id is None else self.members[member_id]

    def put(self, member: Member) -> None:
        """Add or update a member; `holders` follows when its request is done."""
        self.members[member.id] = member
        if member.instance is not None:
            self.static[member.instance] = member.id

    def replace(self, old: Member, new: Member) -> None:
        """Put a static member's new id in the place of the old one."""
        target = self.target(old.id)
        self._forget(old)
        self.put(new)
        self.targets[new.id] = target

    def drop(self, member: Member) -> None:
        """Remove a member with its target and tasks."""
        self.holders.move(member, None)
        self._forget(member)
        if not self.members:
            self.shutdown_requested_by = None

    def _forget(self, member: Member) -> None:
        del self.members[member.id]
        self.targets.pop(member.id, None)
        if member.instance is not None:
            self.static.pop(member.instance, None)

    def relabel(self, old_id: str, new_id: str) -> None:
        """Give a member's refined tasks to another id (relabelRefinedAssignment)."""
        if self.refined is not None and old_id in self.refined[1]:
            epoch, tasks = self.refined
            self.refined = epoch, {new_id if member == old_id else member: assigned for member, assigned in tasks.items()}

    def forget_unwritten(self) -> None:
        """Clear what no record holds."""
        self.configured = None
        self.refresh_requested = True
        self.shutdown_requested_by = None
        self.refined = None
