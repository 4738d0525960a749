"""Coordinator of share groups: handles requests, topic changes and elapsed time.

Follows GroupMetadataManager.java of 4.1 to 4.4 step by step. It does no I/O and reads no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.protocol.requests import Request
from models.kafka.coordinator.protocol.responses import Response
from models.kafka.coordinator.runtime.heartbeat_coordinator import HeartbeatCoordinator
from models.kafka.coordinator.runtime.heartbeat_groups import EpochPolicy
from models.kafka.coordinator.runtime.outcomes import Outcome
from models.kafka.coordinator.runtime.timers import Timer, Timers
from models.kafka.coordinator.share.assignor import ChooseShares, choose_shares
from models.kafka.coordinator.share.group import ShareGroup
from models.kafka.coordinator.share.heartbeat import heartbeat, initialization
from models.kafka.coordinator.share.requests import Initialization, ShareHeartbeat
from models.kafka.coordinator.share.settings import ShareGroupSettings
from models.kafka.coordinator.share.shard import Shard

HANDLERS: Mapping[type[Request], Callable[[Shard, Any], None]] = {ShareHeartbeat: heartbeat, Initialization: initialization}


class Coordinator(HeartbeatCoordinator[ShareGroup]):
    """A coordinator with its share groups.

    `order` sorts members' timers with the same deadline.
    """

    shard: Shard

    def __init__(
        self,
        policy: EpochPolicy,
        settings: ShareGroupSettings | None = None,
        *,
        choose_shares: ChooseShares = choose_shares,
        order: Callable[[str], Any] = str,
        now_ms: int = 0,
    ) -> None:
        settings = settings or ShareGroupSettings()
        self.shard = Shard(
            policy=policy,
            settings=settings,
            choose_shares=choose_shares,
            timers=Timers(order),
            now_ms=now_ms,
            topics=dict(settings.topics),
        )

    def handle(self, request: Request) -> Outcome:
        """Handle a request, and timers due now."""
        try:
            HANDLERS[type(request)](self.shard, request)
        except Refusal as refusal:
            self.shard.answer(request.request_id, Response(refusal.error))
        self._fire_until(self.shard.now_ms)
        return self.shard.outcome()

    def set_topic(self, topic: str, partitions: int) -> Outcome:
        """Set a topic's partition count; 0 removes the topic.

        Groups that subscribe to it look at it with their next heartbeat; partition counts never fall.
        """
        shard = self.shard
        if not shard.change_topic(topic, partitions):
            return shard.outcome()
        for group in shard.groups.values():
            group.refresh_requested = group.refresh_requested or topic in group.topics
            if partitions == 0:
                group.partitions.forget(topic, shard.now_ms)
        return shard.outcome()

    def _fire(self, timer: Timer) -> str:
        group = self.shard.groups.get(timer.group)
        member = None if group is None else group.members.get(timer.member)
        if group is None or member is None:
            return ""  # the timer outlived its group or member
        self.shard.report("ModernMemberFenced", group, member, why="the member session expired.")
        self.shard.remove_member(group, member)
        return ""
