"""Simulated time, which jumps from event to event."""

from __future__ import annotations

import base64
import heapq
import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

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


class Contact(Protocol):
    """A planned request that repeats itself, and that may turn out to renew a session only."""

    every_ms: int

    def sends_renewal(self, at_ms: int, /) -> TimedAction | None:
        """Send the request if it now renews a session and does nothing else that is seen; returns its arrival."""


class Arrival(Protocol):
    """The arrival of such a request."""

    def renews(self, at_ms: int, /) -> bool:
        """Renew the session if it is still that; returns False otherwise, and changes nothing."""


@dataclass(slots=True)
class World:
    """Clock, random numbers and planned events.

    Events with the same time happen in the order in which they were planned.
    """

    seed: int
    now_ms: int = 0
    dice: random.Random = field(init=False)
    happened: list[Happening] = field(default_factory=list)
    _due: list[tuple[int, int, Any]] = field(default_factory=list)
    _planned: int = 0

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)  # noqa: S311 - a simulation has to be repeatable

    def plan(self, after_ms: int, action: TimedAction) -> None:
        """Plan an action after a delay."""
        self._planned += 1
        heapq.heappush(self._due, (self.now_ms + after_ms if after_ms > 0 else self.now_ms, self._planned, action))

    def next_ms(self) -> int | None:
        """Time of the next event, None if there is none."""
        return self._due[0][0] if self._due else None

    def step(self) -> None:
        """Run the next event."""
        self.now_ms, _, action = heapq.heappop(self._due)
        action()

    def renew_sessions(self, contacts: type[Contact], arrivals: type[Arrival], before_ms: int, delays_ms: tuple[int, int]) -> None:
        """Carry out contacts that renew sessions only, until there is anything else or it is `before_ms`.

        It comes to the same as one event for each step: delays are drawn in the same order, and ties broken.
        """
        due, draw, (low_ms, high_ms) = self._due, self.dice.getrandbits, delays_ms
        width = high_ms - low_ms + 1
        bits = width.bit_length()
        while due:
            at_ms, _, action = due[0]
            if at_ms >= before_ms:
                return
            if action.__class__ is contacts:
                arrival = action.sends_renewal(at_ms)
                if arrival is None:
                    return
                drawn = draw(bits)  # as `between` does it
                while drawn >= width:
                    drawn = draw(bits)
                self._planned += 2
                heapq.heapreplace(due, (at_ms + action.every_ms, self._planned, action))
                heapq.heappush(due, (at_ms + low_ms + drawn, self._planned - 1, arrival))
            elif action.__class__ is arrivals and action.renews(at_ms):
                while draw(bits) >= width:  # the delay of the response
                    pass
                heapq.heappop(due)
            else:
                return

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
