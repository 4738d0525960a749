"""Coordinator of share groups: handles requests, topic changes and elapsed time.

Follows GroupMetadataManager.java of 4.1 to 4.4 step by step. It does no I/O and reads no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.protocol.requests import Request
from models.kafka.coordinator.protocol.responses import Response
from models.kafka.coordinator.runtime.heartbeat_groups import EpochPolicy
from models.kafka.coordinator.runtime.outcomes import Outcome, firings
from models.kafka.coordinator.runtime.timers import Timer, Timers
from models.kafka.coordinator.share.assignor import ChooseShares, choose_shares
from models.kafka.coordinator.share.group import ShareGroup
from models.kafka.coordinator.share.heartbeat import heartbeat, initialization
from models.kafka.coordinator.share.outcomes import ShareGroupSettings
from models.kafka.coordinator.share.requests import Initialization, ShareHeartbeat
from models.kafka.coordinator.share.shard import Shard

HANDLERS: Mapping[type[Request], Callable[[Shard, Any], None]] = {ShareHeartbeat: heartbeat, Initialization: initialization}


class Coordinator:
    """A coordinator with its share groups.

    `order` sorts members' timers with the same deadline.
    """

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
        self.shard = Shard(policy, settings, choose_shares, Timers(order), now_ms, topics=dict(settings.topics))

    @property
    def now_ms(self) -> int:
        """The virtual time."""
        return self.shard.now_ms

    @property
    def groups(self) -> Mapping[str, ShareGroup]:
        """The current groups, for reading only."""
        return self.shard.groups

    @property
    def timers(self) -> Timers:
        """The pending timers, for reading only."""
        return self.shard.timers

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
        known = shard.topics.get(topic, 0)
        if partitions > known:
            shard.topics[topic] = partitions
        elif partitions == 0 and known:
            del shard.topics[topic]
        else:
            return shard.outcome()
        for group in shard.groups.values():
            group.refresh_requested = group.refresh_requested or topic in group.topics
            if partitions == 0:
                group.partitions.forget(topic, shard.now_ms)
        return shard.outcome()

    def advance(self, by_ms: int) -> Outcome:
        """Advance the clock and fire each timer at its deadline."""
        target_ms = self.shard.now_ms + by_ms
        self._fire_until(target_ms)
        self.shard.now_ms = target_ms
        return self.shard.outcome()

    def _fire_until(self, target_ms: int) -> None:
        for timer, fired in firings(self.shard.timers, target_ms):
            self.shard.now_ms = timer.at_ms
            self._fire(timer)
            self.shard.fired.append(fired)

    def _fire(self, timer: Timer) -> None:
        group = self.shard.groups.get(timer.group)
        member = None if group is None else group.members.get(timer.member)
        if group is None or member is None:
            return  # the timer outlived its group or member
        self.shard.tell("ModernMemberFenced", group, member, why="the member session expired.")
        self.shard.remove_member(group, member)
