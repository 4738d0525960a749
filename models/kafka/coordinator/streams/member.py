"""A member of a streams group (4.1 to 4.4, StreamsGroupMember.java)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from models.kafka.coordinator.streams.requests import NOT_SENT, StreamsHeartbeat
from models.kafka.coordinator.streams.tasks import NO_TASKS, Tasks


class MemberState(StrEnum):
    """Progress of a member towards its target."""

    STABLE = "STABLE"
    UNREVOKED_TASKS = "UNREVOKED_TASKS"
    """It has not yet confirmed that it gave up revoked tasks."""
    UNRELEASED_TASKS = "UNRELEASED_TASKS"
    """Others still have tasks of its target, or its own process has."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member after its last heartbeat.

    Epoch -2 marks a static member that has left temporarily.
    """

    id: str
    instance: str | None = None
    client_id: str = ""
    rebalance_ms: int = NOT_SENT
    topology_epoch: int = -1
    process: str = ""
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Tasks = NO_TASKS
    pending_revocation: Tasks = NO_TASKS

    def updated_by(self, request: StreamsHeartbeat) -> Member:
        """Apply a heartbeat's fields."""
        return replace(
            self,
            instance=self.instance if request.instance is None else request.instance,
            client_id=request.client_id or self.client_id,
            rebalance_ms=self.rebalance_ms if request.rebalance_ms == NOT_SENT else request.rebalance_ms,
            topology_epoch=self.topology_epoch if request.topology is None else request.topology.epoch,
            process=self.process if request.process is None else request.process,
        )

    def has_reached(self, target_epoch: int) -> bool:
        """Whether the member has all of a target (isReconciledTo)."""
        return self.state is MemberState.STABLE and self.epoch == target_epoch


def changes_tasks(before: Member, after: Member) -> bool:
    """Whether a static member's new fields concern its tasks (hasEpochRelevantMemberConfigChanged)."""
    return (before.topology_epoch, before.process) != (after.topology_epoch, after.process)
