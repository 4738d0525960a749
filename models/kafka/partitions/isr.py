"""Shortages: times with fewer in-sync replicas than replicas.

Kafka counts such a partition as under-replicated (Partition.scala, `isUnderReplicated`). If no line names all replicas,
brokers seen with the partition are used instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from models.events import Event

ENDED_CAUGHT_UP, ENDED_DELETED, END_UNKNOWN, STILL_OPEN = "caught_up", "deleted", "unknown", "open"
"""Ends of a shortage: all in sync, topic deleted, unknown, still open."""


@dataclass(slots=True)
class Shortage:
    """A time in which some replicas were not in sync.

    `started_at` is in microseconds, None if it is before the logs. `isr` is the smallest ISR; `missing` are all replicas
    that were out of it at some time. `is_sure` is True if a line named the replicas.
    """

    started_at: int | None
    replicas: tuple[str, ...]
    isr: tuple[str, ...]
    missing: tuple[str, ...]
    is_sure: bool
    has_grown: bool = False  # replicas were added
    ended_at: int | None = None
    ended_by: str = STILL_OPEN
    events: list[Event] = field(default_factory=list)

    @property
    def began(self) -> int | None:
        """Its first known time."""
        return self.started_at if self.started_at is not None else self.ended_at

    @property
    def over(self) -> int | None:
        """Its end or, if that is unknown, its last known time.

        None while it lasts.
        """
        if self.ended_by == STILL_OPEN:
            return None
        return next((at for at in (self.ended_at, self.started_at) if at is not None), 0)

    def is_over(self, until: int) -> bool:
        """Whether it was over by a time."""
        over = self.over
        return over is not None and over <= until

    def go_on(self, isr: tuple[str, ...], missing: tuple[str, ...]) -> None:
        """Record another ISR that is still too small."""
        if len(isr) < len(self.isr):
            self.isr = isr
        known = frozenset(self.missing)
        self.missing += tuple(node for node in missing if node not in known)

    def end(self, how: str, at: int | None, event: Event | None) -> None:
        """End the shortage, or mark its end as unknown."""
        self.ended_by, self.ended_at = how, at
        if event is not None:
            self.events.append(event)


Shortages = tuple[Shortage, ...]


@dataclass(frozen=True, slots=True)
class InSync:
    """Replicas of a partition according to a line."""

    replicas: tuple[str, ...]
    isr: tuple[str, ...]
    at: int
    event: Event | None
    is_sure: bool
    has_grown: bool = False
    before: tuple[str, ...] | None = None  # previous ISR, if only this line names it


def follow(shortages: Shortages, now: InSync) -> Shortages:
    """Update shortages with a line about the ISR."""
    last = shortages[-1] if shortages else None
    is_open = last is not None and last.ended_by == STILL_OPEN
    if not is_open and len(now.isr) >= len(now.replicas):
        return (*shortages, _unseen(now)) if now.before and len(now.before) < len(now.isr) else shortages
    missing = tuple(node for node in now.replicas if node not in now.isr)
    if last is not None and is_open:
        if missing:
            last.go_on(now.isr, missing)
        else:
            last.end(ENDED_CAUGHT_UP, now.at, now.event)
        return shortages
    started = None if now.before and len(now.before) < len(now.replicas) else now.at
    return (
        *shortages,
        Shortage(started, now.replicas, now.isr, missing, now.is_sure, now.has_grown, events=[now.event] if now.event else []),
    )


def _unseen(now: InSync) -> Shortage:
    """A shortage whose end alone is in the logs."""
    before = now.before or ()
    missing = tuple(node for node in now.replicas if node not in before)
    shortage = Shortage(None, now.replicas, before, missing, now.is_sure)
    shortage.end(ENDED_CAUGHT_UP, now.at, now.event)
    return shortage
