"""State shared by the handlers of streams groups: groups, topics, timers, outcome."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.kafka.coordinator.runtime.heartbeat_coordinator import HeartbeatShard
from models.kafka.coordinator.runtime.heartbeat_groups import EpochPolicy, may_compute_target
from models.kafka.coordinator.runtime.timers import TimerKind
from models.kafka.coordinator.streams.assignor import ChooseTasks, Refine, Work, choose_tasks, keep_target
from models.kafka.coordinator.streams.group import StreamsGroup, StreamsGroupState
from models.kafka.coordinator.streams.member import Member
from models.kafka.coordinator.streams.settings import StreamsGroupSettings
from models.kafka.coordinator.streams.topology import ConfiguredTopology, Status


@dataclass(slots=True, kw_only=True)
class Shard(HeartbeatShard[StreamsGroup]):
    """State of one coordinator and the outcome of the current call."""

    group_type: str = "streams"
    policy: EpochPolicy
    settings: StreamsGroupSettings
    choose_tasks: ChooseTasks = choose_tasks
    refine: Refine = keep_target
    standby_replicas: dict[str, int] = field(default_factory=dict)
    """Standby replicas by group, where the group has a setting of its own."""

    def standby_replicas_of(self, group_id: str) -> int:
        """Standby replicas in force for a group."""
        return self.standby_replicas.get(group_id, self.settings.standby_replicas)

    def state_of(self, group: StreamsGroup) -> StreamsGroupState:
        """The group's current state."""
        return group.state(by_topology=self.policy.has_validated_topology)

    def is_delayed(self, group: StreamsGroup) -> bool:
        """Whether the group still waits for more members at its start."""
        return self.timers.due_ms(TimerKind.JOIN, group.id, "") is not None

    def compute_target(self, group: StreamsGroup, configured: ConfiguredTopology) -> Status | None:
        """Compute all targets for the epoch, unless they must wait; the status says why."""
        if group.target_epoch >= group.epoch:
            return None
        if not may_compute_target(self.policy, group.target_ms, self.settings.assignment_interval_ms, self.now_ms):
            return Status.ASSIGNMENT_DELAYED
        parts = () if group.topology is None else group.topology.subtopologies
        work = Work(
            group.id,
            group.epoch,
            dict(group.members),
            dict(group.targets),
            configured.sizes if configured.is_ready else {},
            int(group.assignment_settings.get("num.standby.replicas", self.settings.standby_replicas)),
            frozenset(part.id for part in parts if part.changelogs),
        )
        group.targets = dict(self.choose_tasks(work)) if configured.is_ready else dict.fromkeys(group.members, frozenset())
        group.target_epoch, group.target_ms = group.epoch, self.now_ms
        self.report("TargetComputed", group, assignor="sticky")
        return None

    def remove_member(self, group: StreamsGroup, member: Member) -> None:
        """Remove a member and raise the epoch (streamsGroupFenceMember)."""
        group.drop(member)
        group.epoch += 1
        if self.policy.forgets_topics_on_leave:
            group.metadata = {}
        if self.policy.closes_target_when_empty and not group.members:
            group.target_epoch, group.target_ms = group.epoch, None
        for kind in (TimerKind.SESSION, TimerKind.REBALANCE):
            self.timers.cancel(kind, group.id, member.id)
