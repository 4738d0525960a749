"""Time in a made-up cluster: it jumps from event to event, and what is written on the way is handed on."""

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
class Said:
    """A line in a log: `source` is a broker's number or a client's name."""

    at_ms: int
    source: int | str
    message: str
    level: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Served:
    """A request that a broker has answered."""

    at_ms: int
    arrived_ms: int
    node: int
    client_id: str
    request: Request
    response: Response


Happening = Said | Served
Action = Callable[[], None]


@dataclass(slots=True)
class World:
    """The clock, the dice and what is due. Events of one moment happen in the order in which they were planned."""

    seed: int
    now_ms: int = 0
    dice: random.Random = field(init=False)
    happened: list[Happening] = field(default_factory=list)
    _due: list[tuple[int, int, Action]] = field(default_factory=list)
    _planned: int = 0

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)  # noqa: S311 - a simulation has to be repeatable

    def plan(self, after_ms: int, action: Action) -> None:
        """Let something happen after a while."""
        self._planned += 1
        heapq.heappush(self._due, (self.now_ms + max(after_ms, 0), self._planned, action))

    def next_ms(self) -> int | None:
        """When the next event is due."""
        return self._due[0][0] if self._due else None

    def step(self) -> None:
        """Let the next event happen."""
        self.now_ms, _, action = heapq.heappop(self._due)
        action()

    def say(self, source: int | str, message: str, level: str = "INFO", /, **fields: Any) -> None:
        """Write a line."""
        self.happened.append(Said(self.now_ms, source, message, level, fields))

    def taken(self) -> Iterator[Happening]:
        """Hand on what happened since the last call."""
        happened, self.happened = self.happened, []
        return iter(happened)

    def between(self, low_ms: int, high_ms: int) -> int:
        """Any time of a span."""
        return self.dice.randint(low_ms, high_ms)

    def short_uuid(self) -> str:
        """A random UUID as Kafka writes its own (Uuid.java): 22 letters."""
        return base64.urlsafe_b64encode(uuid.UUID(int=self.dice.getrandbits(128), version=4).bytes).decode().rstrip("=")

    def uuid(self) -> str:
        """A random UUID, version 4."""
        return str(uuid.UUID(int=self.dice.getrandbits(128), version=4))
