"""State shared by the handlers of share groups: groups, topics, timers, outcome."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from models.kafka.coordinator.protocol.responses import Answer, Response
from models.kafka.coordinator.runtime.heartbeat_groups import EpochPolicy
from models.kafka.coordinator.runtime.outcomes import LoggedChange, Outcome, TimerFired
from models.kafka.coordinator.runtime.timers import TimerKind, Timers
from models.kafka.coordinator.share.assignor import ChooseShares, choose_shares
from models.kafka.coordinator.share.group import ShareGroup, ShareMember, seen
from models.kafka.coordinator.share.outcomes import ShareGroupSettings


@dataclass(slots=True)
class Shard:
    """State of one coordinator and the outcome of the current call."""

    policy: EpochPolicy
    settings: ShareGroupSettings
    choose_shares: ChooseShares = choose_shares
    timers: Timers = field(default_factory=Timers)
    now_ms: int = 0
    groups: dict[str, ShareGroup] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    fired: list[TimerFired] = field(default_factory=list)
    actions: list[LoggedChange] = field(default_factory=list)

    def outcome(self) -> Outcome:
        """Return and clear what has happened since the last call."""
        outcome = Outcome(tuple(self.answers), tuple(self.fired), tuple(self.actions))
        self.answers.clear()
        self.fired.clear()
        self.actions.clear()
        return outcome

    def answer(self, request_id: int, response: Response) -> None:
        """Answer a request now."""
        self.answers.append(Answer(request_id, self.now_ms, response))

    def tell(self, event: str, group: ShareGroup, member: ShareMember | None = None, **fields: object) -> None:
        """Record an event of a group that a broker logs."""
        told = {"group_type": "share", **fields}
        self.actions.append(LoggedChange(event, self.now_ms, group.id, group.epoch, None if member is None else member.id, None, told))

    def look_at_topics(self, group: ShareGroup, topics: Collection[str]) -> bool:
        """Update a group's view of its topics; True if it changed."""
        found = seen(topics, self.topics)
        if found == group.metadata:
            return False
        group.metadata = found
        self.tell("SubscriptionMetadataChanged", group)
        return True

    def remove_member(self, group: ShareGroup, member: ShareMember) -> None:
        """Remove a member and raise the epoch (shareGroupFenceMember)."""
        self.look_at_topics(group, group.topics_without([member.id]))
        del group.members[member.id]
        group.targets.pop(member.id, None)
        group.epoch += 1
        if self.policy.closes_target_when_empty and not group.members:
            group.target_epoch, group.target_ms = group.epoch, None
        self.timers.cancel(TimerKind.SESSION, group.id, member.id)
