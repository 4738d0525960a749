"""Effects of a coordinator beside responses: state transitions, events and fired timers.

Nothing changes them. Like requests, they are not frozen, so that they are built in a third of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.protocol.responses import TimedResponse
from models.kafka.coordinator.runtime.timers import Timer, TimerKind, Timers


@dataclass(slots=True)
class StateTransition:
    """A state transition of a group; `generation` is the one afterwards."""

    at_ms: int
    group: str
    before: State
    after: State
    generation: int


@dataclass(slots=True)
class LoggedChange:
    """An event that a broker logs.

    `event` and the keys of `fields` are names in `models.event_kinds.EVENTS`.
    """

    event: str
    at_ms: int
    group: str
    generation: int
    member: str | None = None
    instance: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    is_undone: bool = False
    """Whether the event was logged but undone because its write failed."""


@dataclass(slots=True)
class TimerFired:
    """A timer that fired, with or without effect.

    `is_tied` is True if another timer had the same deadline.
    """

    at_ms: int
    kind: TimerKind
    group: str | None
    member: str | None
    is_tied: bool
    fault: str = ""
    """Exception thrown by the broker's code, if any."""


def firings(timers: Timers, until_ms: int) -> Iterator[tuple[Timer, TimerFired]]:
    """Yield timers due by `until_ms` in order, including newly set ones."""
    while (timer := timers.take(until_ms)) is not None:
        tied = timers.next_ms() == timer.at_ms
        yield timer, TimerFired(timer.at_ms, timer.kind, timer.group or None, timer.member or None, tied)


class Outcome(NamedTuple):
    """All effects of one request or time step, each in order."""

    answers: tuple[TimedResponse, ...] = ()
    fired: tuple[TimerFired, ...] = ()
    changes: tuple[StateTransition | LoggedChange, ...] = ()


NO_OUTCOME = Outcome()
"""Shared outcome of calls without effect, which are the most."""


def emptied(answers: list[TimedResponse], fired: list[TimerFired], changes: list[Any]) -> Outcome:
    """An outcome of what the lists hold, which it takes out of them."""
    outcome = Outcome(tuple(answers), tuple(fired) if fired else (), tuple(changes) if changes else ())
    answers.clear()
    if fired:
        fired.clear()
    if changes:
        changes.clear()
    return outcome
