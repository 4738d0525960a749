"""Simulated time, which jumps from event to event."""

from __future__ import annotations

import base64
import heapq
import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from models.kafka.coordinator.protocol.requests import Request
from models.kafka.coordinator.protocol.responses import Response


@dataclass(frozen=True, slots=True)
class WrittenLine:
    """A log line; `source` is a broker's number or a client's name."""

    at_ms: int
    source: int | str
    message: str
    level: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """A request and its response."""

    at_ms: int
    arrived_ms: int
    node: int
    client_id: str
    request: Request
    response: Response


Happening = WrittenLine | ServedRequest
TimedAction = Callable[[], None]


@dataclass(slots=True)
class World:
    """Clock, random numbers and planned events.

    Events with the same time happen in the order in which they were planned.
    """

    seed: int
    now_ms: int = 0
    dice: random.Random = field(init=False)
    happened: list[Happening] = field(default_factory=list)
    due: list[tuple[int, int, Any]] = field(default_factory=list)
    """Heap of planned actions: time, number in order of planning, action."""
    planned: int = 0
    """Number of the action planned last."""

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)  # noqa: S311 - a simulation has to be repeatable

    def plan(self, after_ms: int, action: TimedAction) -> None:
        """Plan an action after a delay."""
        self.planned += 1
        heapq.heappush(self.due, (self.now_ms + after_ms if after_ms > 0 else self.now_ms, self.planned, action))

    def next_ms(self) -> int | None:
        """Time of the next event, None if there is none."""
        return self.due[0][0] if self.due else None

    def step(self) -> None:
        """Run the next event."""
        self.now_ms, _, action = heapq.heappop(self.due)
        action()

    def say(self, source: int | str, message: str, level: str = "INFO", /, **fields: Any) -> None:
        """Write a log line."""
        self.happened.append(WrittenLine(self.now_ms, source, message, level, fields))

    def taken(self) -> Iterator[Happening]:
        """Return and clear what has happened since the last call."""
        happened, self.happened = self.happened, []
        return iter(happened)

    def between(self, low_ms: int, high_ms: int) -> int:
        """Random integer between two bounds, both included."""
        # As `randint` draws it, which checks its arguments in several calls: this is called for each request.
        width = high_ms - low_ms + 1
        bits = width.bit_length()
        drawn = self.dice.getrandbits(bits)
        while drawn >= width:
            drawn = self.dice.getrandbits(bits)
        return low_ms + drawn

    def short_uuid(self) -> str:
        """Random UUID in Kafka's own notation (Uuid.java), 22 characters."""
        return base64.urlsafe_b64encode(uuid.UUID(int=self.dice.getrandbits(128), version=4).bytes).decode().rstrip("=")

    def uuid(self) -> str:
        """A random UUID, version 4."""
        return str(uuid.UUID(int=self.dice.getrandbits(128), version=4))
