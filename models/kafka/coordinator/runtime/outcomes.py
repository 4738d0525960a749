"""What a coordinator does beside answering: steps between states, and deeds that its broker would announce."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.protocol.responses import Answer
from models.kafka.coordinator.runtime.timers import Timer, TimerKind, Timers


@dataclass(frozen=True, slots=True)
class Moved:
    """A step of a group between two states; `generation` is the one after the step."""

    at_ms: int
    group: str
    before: State
    after: State
    generation: int


@dataclass(frozen=True, slots=True)
class Deed:
    """Something worth announcing. `event` and the keys of `fields` are names of `models.events.EVENTS`."""

    event: str
    at_ms: int
    group: str
    generation: int
    member: str | None = None
    instance: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    undone: bool = False
    """It was announced, and could not be written: what it tells of has been taken back."""


@dataclass(frozen=True, slots=True)
class Fired:
    """A timer that fired, with effect or without; `tied` if another timer waited for the same moment."""

    at_ms: int
    kind: TimerKind
    group: str | None
    member: str | None
    tied: bool
    fault: str = ""
    """What the broker's code throws while the timer is handled, if anything."""


def firings(timers: Timers, until_ms: int) -> Iterator[tuple[Timer, Fired]]:
    """Timers that are due by `until_ms` in their order, those among them that are set meanwhile, and what is told of each."""
    while (timer := timers.take(until_ms)) is not None:
        tied = timers.next_ms() == timer.at_ms
        yield timer, Fired(timer.at_ms, timer.kind, timer.group or None, timer.member or None, tied)


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that follows from one request or from the passing of time, each in order."""

    answers: tuple[Answer, ...] = ()
    fired: tuple[Fired, ...] = ()
    changes: tuple[Moved | Deed, ...] = ()
