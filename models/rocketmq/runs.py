"""Runs: what one client's rebalance of one topic changed, and what it saw, put together from its lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from models.events import Event
from models.rocketmq.lives import Life
from models.rocketmq.wording import Held, queue_name, queues_in

RESULTS = frozenset({"RocketShareChanged", "RocketShareAssigned", "RocketBroadcastShareChanged"})
RUN_MAX_US = 150_000_000
"""Lines of a queue that are older than this belong to no later result: a dead client's locks are held for a minute or two."""


@dataclass(slots=True)
class Run:
    """One result line, with the lines of queues before it."""

    life: Life
    topic: str
    asked_at: int  # before the first queue changed: the lists were had by then
    at: int
    result: Event
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    share: list[Held] = field(default_factory=list)
    why: set[str] = field(default_factory=set)  # why queues were removed, other than that they left the share
    refused: int = 0
    not_listed: Event | None = None
    lines: list[Event] = field(default_factory=list)

    @property
    def queues(self) -> int | None:
        return _count(self.result.fields.get("queue_count"))

    @property
    def clients(self) -> int | None:
        return _count(self.result.fields.get("client_count"))

    @property
    def strategy(self) -> str | None:
        value = self.result.fields.get("strategy")
        return str(value) if value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def queue_of(event: Event) -> str:
    """The queue that an event names, as `broker:id`."""
    return queue_name(str(event.fields.get("broker")), event.partition if event.partition is not None else -1)


class RunReader:
    """Puts the lines of one life together to runs."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self._open: list[tuple[int, Event]] = []
        self._not_listed: tuple[int, Event] | None = None

    def feed(self, event: Event, at: int) -> Run | None:
        """Take the next line; gives a run when it is the result of one."""
        if event.name in {"RocketQueueAdded", "RocketQueueRemoved", "RocketQueueRefused", "RocketQueueExpired", "RocketResetOrdered"}:
            self._open.append((at, event))
        elif event.name == "RocketNotListed":
            self._not_listed = (at, event)
        elif event.name in RESULTS:
            return self._run(event, at)
        return None

    def _run(self, event: Event, at: int) -> Run:
        topic = event.topic or ""
        share = queues_in(event.text)
        topics = {topic} | {each.topic for each in share}
        own = [(when, each) for when, each in self._open if each.topic in topics and at - when <= RUN_MAX_US]
        self._open = [(when, each) for when, each in self._open if each.topic not in topics and at - when <= RUN_MAX_US]
        first = min((when for when, each in own if each.name != "RocketResetOrdered"), default=at)
        run = Run(self.life, topic, min(first, at), at, event, share=share, lines=[each for _, each in own] + [event])
        for _, each in own:
            self._note(run, each)
        if self._not_listed is not None and at - self._not_listed[0] < 5_000_000:
            run.not_listed = self._not_listed[1]
            self._not_listed = None
        return run

    @staticmethod
    def _note(run: Run, event: Event) -> None:
        if event.name == "RocketQueueAdded":
            run.added.append(queue_of(event))
        elif event.name == "RocketQueueRemoved":
            run.removed.append(queue_of(event))
            if event.fields.get("why") != "not_in_share":
                run.why.add(str(event.fields.get("why")))
        elif event.name == "RocketQueueExpired":
            run.why.add("pull_expired")
        elif event.name == "RocketQueueRefused":
            run.refused += 1
        else:  # RocketResetOrdered
            run.why.add("reset")
        if event.fields.get("mode") == "POP":
            run.why.add("mode")
