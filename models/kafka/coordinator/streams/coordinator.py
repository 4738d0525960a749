"""Coordinator of streams groups: handles requests, topic changes and elapsed time.

Follows GroupMetadataManager.java of 4.1 to 4.4 step by step. It does no I/O and reads no clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.protocol.errors import Error, Fault
from models.kafka.coordinator.protocol.responses import Response
from models.kafka.coordinator.runtime.heartbeat_coordinator import HeartbeatCoordinator
from models.kafka.coordinator.runtime.heartbeat_groups import EpochPolicy
from models.kafka.coordinator.runtime.outcomes import Outcome
from models.kafka.coordinator.runtime.timers import Timer, TimerKind, Timers
from models.kafka.coordinator.streams.assignor import ChooseTasks, Refine, choose_tasks, keep_target
from models.kafka.coordinator.streams.group import StreamsGroup, StreamsGroupState
from models.kafka.coordinator.streams.heartbeat import heartbeat
from models.kafka.coordinator.streams.requests import StreamsHeartbeat
from models.kafka.coordinator.streams.settings import StreamsGroupSettings
from models.kafka.coordinator.streams.shard import Shard


class Coordinator(HeartbeatCoordinator[StreamsGroup]):
    """A coordinator with its streams groups.

    `order` sorts members' timers with the same deadline.
    """

    shard: Shard

    def __init__(
        self,
        policy: EpochPolicy,
        settings: StreamsGroupSettings | None = None,
        *,
        choose_tasks: ChooseTasks = choose_tasks,
        refine: Refine = keep_target,
        order: Callable[[str], Any] = str,
        now_ms: int = 0,
    ) -> None:
        settings = settings or StreamsGroupSettings()
        self.shard = Shard(
            policy=policy,
            settings=settings,
            choose_tasks=choose_tasks,
            refine=refine,
            timers=Timers(order),
            now_ms=now_ms,
            topics=dict(settings.topics),
        )

    def state_of(self, group_id: str) -> StreamsGroupState | None:
        """State of a group, None if it doesn't exist."""
        group = self.shard.groups.get(group_id)
        return None if group is None else self.shard.state_of(group)

    def handle(self, request: StreamsHeartbeat) -> Outcome:
        """Handle a request, and timers due now."""
        try:
            heartbeat(self.shard, request)
        except Refusal as refusal:
            self.shard.answer(request.request_id, Response(refusal.error))
        except Fault:
            self.shard.answer(request.request_id, Response(Error.UNKNOWN_SERVER_ERROR))
        self._fire_until(self.shard.now_ms)
        return self.shard.outcome()

    def set_topic(self, topic: str, partitions: int) -> Outcome:
        """Set a topic's partition count; 0 removes the topic, and counts never fall.

        Groups whose topology needs it look at it with their next heartbeat.
        """
        shard = self.shard
        if not shard.change_topic(topic, partitions):
            return shard.outcome()
        for group in shard.groups.values():
            if group.topology is not None and topic in group.topology.topics:
                group.refresh_requested = True
        return shard.outcome()

    def _fire(self, timer: Timer) -> str:
        """Fire one timer; returns the exception that the broker's code throws."""
        shard = self.shard
        group = shard.groups.get(timer.group)
        if group is None:
            return ""
        if timer.kind is TimerKind.JOIN:
            return self._end_delay(group)
        member = group.members.get(timer.member)
        if member is None or (timer.kind is TimerKind.REBALANCE and member.epoch != timer.detail):
            return ""  # the timer outlived its member, or the member has moved on
        why = "the member session expired."
        if timer.kind is TimerKind.REBALANCE:
            why = f"it failed to transition from epoch {member.epoch} within {member.rebalance_ms}ms."
        shard.report("ModernMemberFenced", group, member, why=why)
        shard.remove_member(group, member)
        return ""

    def _end_delay(self, group: StreamsGroup) -> str:
        """End the initial delay with a first target (computeDelayedTargetAssignment)."""
        if not group.members or group.configured is None:
            self.shard.report("CoordinatorNote", group, _note="delay_without_target")
            return ""
        if group.epoch <= group.target_epoch:
            return "IllegalStateException"
        self.shard.compute_target(group, group.configured)
        return ""
