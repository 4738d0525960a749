"""State shared by the handlers of share groups: groups, topics, timers, outcome."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from models.kafka.coordinator.runtime.heartbeat_coordinator import HeartbeatShard
from models.kafka.coordinator.runtime.heartbeat_groups import EpochPolicy
from models.kafka.coordinator.runtime.timers import TimerKind
from models.kafka.coordinator.share.assignor import ChooseShares, choose_shares
from models.kafka.coordinator.share.group import ShareGroup, ShareMember, seen
from models.kafka.coordinator.share.settings import ShareGroupSettings


@dataclass(slots=True, kw_only=True)
class Shard(HeartbeatShard[ShareGroup]):
    """State of one coordinator and the outcome of the current call."""

    group_type: str = "share"
    policy: EpochPolicy
    settings: ShareGroupSettings
    choose_shares: ChooseShares = choose_shares

    def look_at_topics(self, group: ShareGroup, topics: Collection[str]) -> bool:
        """Update a group's view of its topics; True if it changed."""
        topic_ids = seen(topics, self.topics)
        if topic_ids == group.metadata:
            return False
        group.metadata = topic_ids
        self.report("SubscriptionMetadataChanged", group)
        return True

    def remove_member(self, group: ShareGroup, member: ShareMember) -> None:
        """Remove a member and raise the epoch (shareGroupFenceMember)."""
        self.look_at_topics(group, group.topics_without([member.id]))
        del group.members[member.id]
        group.forget(member.id)
        group.epoch += 1
        if self.policy.closes_target_when_empty and not group.members:
            group.target_epoch, group.target_ms = group.epoch, None
        self.timers.cancel(TimerKind.SESSION, group.id, member.id)
