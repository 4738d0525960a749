"""Stretches of lines of one fault.

A client repeats its complaint while the fault lasts.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.events import Event


@dataclass(slots=True)
class FaultStretch:
    """A time with lines of one kind about one client."""

    began_at: int
    last_at: int
    first: Event
    last: Event
    count: int = 1
    ended_at: int | None = None  # a line says that it is over


def take_line(stretches: list[FaultStretch], event: Event, at: int, apart_us: int) -> None:
    """Add a line to the last stretch, or begin one.

    `apart_us` is the maximum time between two lines of one stretch.
    """
    known = stretches[-1] if stretches else None
    if known is not None and known.ended_at is None and at - known.last_at <= apart_us:
        known.last_at, known.last = max(known.last_at, at), event
        known.count += 1
    else:
        stretches.append(FaultStretch(at, at, event, event))
