"""What all handlers share: groups, topics, timers and clock, and what has been said and done since last asked."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from models.kafka.coordinator.consumer.assignors import ChooseTarget, Subscriber, Subscription, choose_target
from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.consumer.group import ConsumerGroup, SimpleGroup
from models.kafka.coordinator.consumer.member import Member
from models.kafka.coordinator.consumer.outcomes import Settings
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.responses import Answer, Response
from models.kafka.coordinator.runtime.offsets_log import Writes
from models.kafka.coordinator.runtime.outcomes import Deed, Fired, Outcome
from models.kafka.coordinator.runtime.timers import TimerKind, Timers


def numbered_ids() -> Callable[[], str]:
    """Make member ids by counting; real ones are random UUIDs."""
    numbers = count(1)
    return lambda: f"member-{next(numbers)}"


class Neighbour(Protocol):
    """Who holds the classic groups beside this coordinator, where groups may go from one protocol to the other."""

    def upgraded(self, group_id: str) -> ConsumerGroup | None:
        """The consumer group that a classic one would become; None if there is none, or it can't."""

    def give_up(self, group_id: str) -> bool:
        """Drop a classic group, as it is a consumer group now; say whether there was one."""

    def checkpoint(self, group_id: str) -> Callable[[], None]:
        """Note how a classic group stands; what comes back brings it back to that."""

    def downgrade(self, group: ConsumerGroup, leaving: Collection[Member]) -> bool:
        """Take a group over without those that leave it, if only members of the classic protocol remain; say whether it was."""


@dataclass(slots=True)
class Shard:
    """State of one coordinator and the outcome of what it is doing now."""

    settings: Settings
    choose_target: ChooseTarget = choose_target
    make_member_id: Callable[[], str] = field(default_factory=numbered_ids)
    timers: Timers = field(default_factory=Timers)
    now_ms: int = 0
    groups: dict[str, ConsumerGroup | SimpleGroup] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    topics_created: int = 0
    """How many topics have come into being, counted so that a pattern's resolution can be dated."""
    neighbour: Neighbour | None = None
    writes: Writes = field(default_factory=Writes)
    unresolved: list[ConsumerGroup] = field(default_factory=list)
    """Groups whose patterns are to be resolved once the present request or timer is done with."""
    answers: list[Answer] = field(default_factory=list)
    fired: list[Fired] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)

    def outcome(self) -> Outcome:
        """What happened since the last call."""
        outcome = Outcome(tuple(self.answers), tuple(self.fired), tuple(self.deeds))
        self.answers.clear()
        self.fired.clear()
        self.deeds.clear()
        return outcome

    def answer(self, request_id: int, response: Response) -> None:
        """Answer a request now."""
        self.answers.append(Answer(request_id, self.now_ms, response))

    def tell(self, event: str, group: ConsumerGroup, member: Member | None = None, **fields: object) -> None:
        """Note a deed that a broker announces."""
        member_id, instance = (None, None) if member is None else (member.id, member.instance)
        self.deeds.append(Deed(event, self.now_ms, group.id, group.epoch, member_id, instance, fields))

    def announce(self, event: str, **fields: object) -> None:
        """Note a deed that is no single group's."""
        self.deeds.append(Deed(event, self.now_ms, "", 0, fields=fields))

    def note(self, what: str, group_id: str = "", member_id: str | None = None, **fields: object) -> None:
        """Note something that changes nothing, and that a broker announces all the same."""
        self.deeds.append(Deed("CoordinatorNote", self.now_ms, group_id, 0, member_id, fields={"_note": what, **fields}))

    def consumer_group(self, group_id: str) -> ConsumerGroup:
        """The group; refuses if there is none, or if it is a classic one."""
        group = self.groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            raise Refusal(Error.GROUP_ID_NOT_FOUND)
        return group

    def look_at_topics(self, group: ConsumerGroup) -> bool:
        """Let a group see its topics as they are now; True if anything is new to it."""
        if not group.look_at(self.topics):
            return False
        self.tell("SubscriptionMetadataChanged", group, metadata=dict(group.metadata))
        return True

    def raise_epoch(self, group: ConsumerGroup) -> None:
        """Begin a rebalance: the next heartbeat of any member will find that a new target is needed."""
        group.epoch += 1
        self.tell("GroupEpochBumped", group)

    def compute_target(self, group: ConsumerGroup) -> None:
        """Give all members their targets for the present epoch (updateTargetAssignment)."""
        subscription = Subscription(
            group.id,
            group.epoch,
            group.assignor or self.settings.assignors[0],
            {member.id: Subscriber(group.topics_of(member), member.instance, group.target(member.id)) for member in group.members.values()},
            group.metadata,
        )
        group.targets = dict(self.choose_target(subscription))
        group.target_epoch = group.epoch
        self.tell("TargetComputed", group, assignor=subscription.assignor)

    def remove_members(self, group: ConsumerGroup, members: Collection[Member]) -> None:
        """End memberships: the others share what they had (consumerGroupFenceMembers), or are a classic group from now on."""
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
        """Start a member's session anew; one of the classic protocol has brought its own timeout."""
        session_ms = self.settings.session_ms if member.classic is None else member.classic.session_ms
        self.timers.schedule(TimerKind.SESSION, group.id, member.id, self.now_ms + session_ms)


MEMBER_TIMERS = (TimerKind.SESSION, TimerKind.REBALANCE, TimerKind.JOIN, TimerKind.SYNC)
"""What may wait for a member; the last two only where it speaks the classic protocol."""
