"""State shared by the handlers of consumer groups: groups, topics, timers, outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from models.kafka.coordinator.consumer.assignors import ChooseTarget, Subscriber, Subscription, choose_target
from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.consumer.group import ConsumerGroup, SimpleGroup
from models.kafka.coordinator.consumer.member import Member
from models.kafka.coordinator.consumer.settings import ConsumerGroupSettings
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.responses import Response, TimedResponse
from models.kafka.coordinator.runtime.offsets_log import WriteResults
from models.kafka.coordinator.runtime.outcomes import NO_OUTCOME, LoggedChange, Outcome, TimerFired, emptied
from models.kafka.coordinator.runtime.timers import SESSION, TimerKind, Timers


def numbered_ids() -> Callable[[], str]:
    """Generate member ids with a counter instead of random UUIDs."""
    numbers = count(1)
    return lambda: f"member-{next(numbers)}"


class Neighbour(Protocol):
    """Owner of the classic groups, for conversion between the protocols."""

    def upgraded(self, group_id: str) -> ConsumerGroup | None:
        """Convert a classic group; None if it doesn't exist.

        Refuses if the group can't be converted.
        """

    def give_up(self, group_id: str) -> bool:
        """Drop a converted classic group; True if it existed."""

    def checkpoint(self, group_id: str) -> Callable[[], None]:
        """Record a classic group's state and return a function that restores it."""

    def downgrade(self, group: ConsumerGroup, leaving: Collection[Member]) -> bool:
        """Convert a group to a classic one without the leaving members.

        Only if all others use the classic protocol. Returns True if converted.
        """


@dataclass(slots=True)
class Shard:
    """State of one coordinator and the outcome of the current call."""

    settings: ConsumerGroupSettings
    choose_target: ChooseTarget = choose_target
    make_member_id: Callable[[], str] = field(default_factory=numbered_ids)
    timers: Timers = field(default_factory=Timers)
    now_ms: int = 0
    groups: dict[str, ConsumerGroup | SimpleGroup] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    topics_created: int = 0
    """Number of topics created so far, which dates pattern resolutions."""
    neighbour: Neighbour | None = None
    writes: WriteResults = field(default_factory=WriteResults)
    unresolved: list[ConsumerGroup] = field(default_factory=list)
    """Groups whose patterns are resolved after the current request or timer."""
    answers: list[TimedResponse] = field(default_factory=list)
    fired: list[TimerFired] = field(default_factory=list)
    actions: list[LoggedChange] = field(default_factory=list)

    def outcome(self) -> Outcome:
        """Return and clear what has happened since the last call."""
        if not (self.answers or self.fired or self.actions):
            return NO_OUTCOME
        return emptied(self.answers, self.fired, self.actions)

    def answer(self, request_id: int, response: Response) -> None:
        """Answer a request now."""
        self.answers.append(TimedResponse(request_id, self.now_ms, response))

    def report(self, event: str, group: ConsumerGroup, member: Member | None = None, **fields: object) -> None:
        """Record an event of a group that a broker logs."""
        member_id, instance = (None, None) if member is None else (member.id, member.instance)
        self.actions.append(LoggedChange(event, self.now_ms, group.id, group.epoch, member_id, instance, fields))

    def announce(self, event: str, **fields: object) -> None:
        """Record an event that concerns several groups or none."""
        self.actions.append(LoggedChange(event, self.now_ms, "", 0, fields=fields))

    def note(self, what: str, group_id: str = "", member_id: str | None = None, **fields: object) -> None:
        """Record an event that a broker logs although no state changes."""
        self.actions.append(LoggedChange("CoordinatorNote", self.now_ms, group_id, 0, member_id, fields={"_note": what, **fields}))

    def consumer_group(self, group_id: str) -> ConsumerGroup:
        """The consumer group of a name; refuses if there is none."""
        group = self.groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            raise Refusal(Error.GROUP_ID_NOT_FOUND)
        return group

    def look_at_topics(self, group: ConsumerGroup) -> bool:
        """Update a group's view of its topics; True if it changed."""
        if not group.look_at(self.topics):
            return False
        self.report("SubscriptionMetadataChanged", group, metadata=dict(group.metadata))
        return True

    def raise_epoch(self, group: ConsumerGroup) -> None:
        """Raise the group epoch, so that a new target is needed."""
        group.epoch += 1
        self.report("GroupEpochBumped", group)

    def compute_target(self, group: ConsumerGroup) -> None:
        """Compute all members' targets for the current epoch (updateTargetAssignment)."""
        subscription = Subscription(
            group.id,
            group.epoch,
            group.assignor or self.settings.assignors[0],
            {member.id: Subscriber(group.topics_of(member), member.instance, group.target(member.id)) for member in group.members.values()},
            group.metadata,
        )
        group.targets = dict(self.choose_target(subscription))
        group.target_epoch = group.epoch
        self.report("TargetComputed", group, assignor=subscription.assignor)

    def remove_members(self, group: ConsumerGroup, members: Collection[Member]) -> None:
        """Remove members and rebalance (consumerGroupFenceMembers).

        The group turns classic if only classic members remain and the policy allows it.
        """
        for member in members:
            for kind in MEMBER_TIMERS:
                self.timers.cancel(kind, group.id, member.id)
        if self.neighbour is not None and self.neighbour.downgrade(group, members):
            del self.groups[group.id]
            return
        for member in members:
            group.drop(member)
            group.forget_unused_regex(member.regex)
        self.look_at_topics(group)
        self.raise_epoch(group)

    def renew(self, group: ConsumerGroup, member: Member) -> None:
        """Restart a member's session; classic members have their own timeout."""
        session_ms = self.settings.session_ms if member.classic is None else member.classic.session_ms
        self.timers.schedule(SESSION, group.id, member.id, self.now_ms + session_ms)


MEMBER_TIMERS = (SESSION, TimerKind.REBALANCE, TimerKind.JOIN, TimerKind.SYNC)
"""Timers of a member; the last two exist for classic members only."""
