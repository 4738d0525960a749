"""Common base of coordinators that work by heartbeats: clock, timers, outcomes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from models.kafka.coordinator.protocol.responses import Response, TimedResponse
from models.kafka.coordinator.runtime.outcomes import LoggedChange, Outcome, TimerFired, firings
from models.kafka.coordinator.runtime.timers import Timer, Timers


class _Group(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def epoch(self) -> int: ...


class _Member(Protocol):
    @property
    def id(self) -> str: ...


GroupT = TypeVar("GroupT", bound=_Group)


@dataclass(slots=True, kw_only=True)
class HeartbeatShard(Generic[GroupT]):
    """Groups of one coordinator and the outcome of the current call."""

    group_type: str
    timers: Timers = field(default_factory=Timers)
    now_ms: int = 0
    groups: dict[str, GroupT] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    answers: list[TimedResponse] = field(default_factory=list)
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
        self.answers.append(TimedResponse(request_id, self.now_ms, response))

    def report(self, event: str, group: GroupT, member: _Member | None = None, **fields: object) -> None:
        """Record an event of a group that a broker logs."""
        name, instance = (None, None) if member is None else (member.id, getattr(member, "instance", None))
        shard_fields = {"group_type": self.group_type, **fields}
        self.actions.append(LoggedChange(event, self.now_ms, group.id, group.epoch, name, instance, shard_fields))

    def change_topic(self, topic: str, partitions: int) -> bool:
        """Set a topic's partition count, which never falls; True if it changed.

        0 removes the topic.
        """
        known = self.topics.get(topic, 0)
        if partitions > known:
            self.topics[topic] = partitions
        elif partitions == 0 and known:
            del self.topics[topic]
        else:
            return False
        return True


class HeartbeatCoordinator(ABC, Generic[GroupT]):
    """A coordinator's clock: fires each timer of its shard at its deadline."""

    shard: HeartbeatShard[GroupT]

    @property
    def now_ms(self) -> int:
        """The virtual time."""
        return self.shard.now_ms

    @property
    def groups(self) -> Mapping[str, GroupT]:
        """The current groups, for reading only."""
        return self.shard.groups

    @property
    def timers(self) -> Timers:
        """The pending timers, for reading only."""
        return self.shard.timers

    def advance(self, by_ms: int) -> Outcome:
        """Advance the clock and fire each timer at its deadline."""
        target_ms = self.shard.now_ms + by_ms
        self._fire_until(target_ms)
        self.shard.now_ms = target_ms
        return self.shard.outcome()

    def _fire_until(self, target_ms: int) -> None:
        for timer, fired in firings(self.shard.timers, target_ms):
            self.shard.now_ms = timer.at_ms
            fault = self._fire(timer)
            self.shard.fired.append(replace(fired, fault=fault) if fault else fired)

    @abstractmethod
    def _fire(self, timer: Timer) -> str:
        """Fire one timer; returns the exception that the broker's code throws."""
