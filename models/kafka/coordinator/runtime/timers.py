"""Timers on a virtual clock, which only the caller advances.

Renewal is the most frequent operation: once per heartbeat. A renewed timer keeps its old place in the heap and moves
when that place comes up, so the cost of a renewal does not depend on the number of members.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class TimerKind(StrEnum):
    """Purpose of a timer."""

    CLASSIC_SESSION = "heartbeat"
    """Session of a classic or pending member, or first-join limit."""
    SESSION = "session"
    """Session of a member of a KIP-848 group."""
    SYNC = "sync"
    """Deadline for the SyncGroups of a generation."""
    REBALANCE = "rebalance"
    """Deadline for a KIP-848 member to revoke partitions."""
    JOIN = "join"
    """Deadline of a join phase or of a step of its delay."""
    CLEANUP = "cleanup"
    """Expiry of offsets and removal of empty groups."""
    WRITE = "write"
    """Deadline for replicas to confirm a write."""


CLASSIC_SESSION, SESSION = TimerKind.CLASSIC_SESSION, TimerKind.SESSION
"""The same as names of the module (see `group_states`): each heartbeat renews a session."""


# Kafka does not define the order of timers with the same deadline. This order makes runs repeatable: members' timers
# come before their group's.
_RANK = {kind: rank for rank, kind in enumerate(TimerKind)}
_COMPACT_ABOVE = 64


@dataclass(slots=True, eq=False)
class Timer:
    """A pending timer.

    `detail` belongs to the caller.
    """

    kind: TimerKind
    group: str
    member: str
    at_ms: int
    detail: Any = None
    place: int = -1
    """Number of the only valid heap entry; all others are stale."""
    queued_ms: int = -1


@dataclass(slots=True, eq=False)
class Session:
    """A member's session while nothing but its renewals happens.

    They move its timer on.
    """

    timer: Timer
    session_ms: int


_Entry = tuple[int, int, str, Any, int, Timer]


class Timers:
    """All timers of a coordinator.

    There is at most one for each kind, group and member; a new one replaces the old. `order` sorts members' timers with the
    same deadline, by default by id.
    """

    __slots__ = ("_heap", "_live", "_order", "_places")

    def __init__(self, order: Callable[[str], Any] = str) -> None:
        self._order = order
        self._heap: list[_Entry] = []
        self._live: dict[tuple[TimerKind, str, str], Timer] = {}
        self._places = 0

    def schedule(self, kind: TimerKind, group: str, member: str, at_ms: int, detail: Any = None) -> None:
        """Start a timer, replacing one of the same kind, group and member."""
        key = (kind, group, member)
        timer = self._live.get(key)
        if timer is None:
            timer = self._live[key] = Timer(kind, group, member, at_ms, detail)
            self._push(timer)
            return
        timer.at_ms = at_ms
        timer.detail = detail
        if at_ms < timer.queued_ms:
            self._push(timer)

    def cancel(self, kind: TimerKind, group: str, member: str) -> None:
        """Cancel a timer, if there is one."""
        timer = self._live.pop((kind, group, member), None)
        if timer is not None:
            timer.place = -1

    def clear(self) -> None:
        """Cancel all timers."""
        self._heap.clear()
        self._live.clear()

    def fork(self) -> Timers:
        """Copy the timers; their details are shared."""
        made = Timers(self._order)
        for timer in self._live.values():
            made.schedule(timer.kind, timer.group, timer.member, timer.at_ms, timer.detail)
        return made

    def due_ms(self, kind: TimerKind, group: str, member: str) -> int | None:
        """Deadline of one timer, None if it isn't set."""
        timer = self.pending(kind, group, member)
        return None if timer is None else timer.at_ms

    def pending(self, kind: TimerKind, group: str, member: str) -> Timer | None:
        """One timer, None if it isn't set."""
        return self._live.get((kind, group, member))

    def next_ms(self) -> int | None:
        """The earliest deadline, None without timers."""
        top = self._settled()
        return top[0] if top else None

    def not_before_ms(self) -> int | None:
        """A time before which no timer is due, None without timers.

        It costs nothing, and may be earlier than the earliest deadline.
        """
        return self._heap[0][0] if self._heap else None

    def take(self, until_ms: int) -> Timer | None:
        """Remove and return the first timer due by `until_ms`, if any."""
        if not self._heap or self._heap[0][0] > until_ms:
            return None
        top = self._settled()
        if top is None or top[0] > until_ms:
            return None
        heapq.heappop(self._heap)
        timer = top[-1]
        del self._live[timer.kind, timer.group, timer.member]
        return timer

    def of_group(self, group: str) -> Iterator[Timer]:
        """Pending timers of a group, unordered; for inspection only."""
        return (timer for timer in self._live.values() if timer.group == group)

    def _push(self, timer: Timer) -> None:
        if len(self._heap) > 2 * len(self._live) + _COMPACT_ABOVE:
            self._heap = [entry for entry in self._heap if entry[-1].place == entry[4]]
            heapq.heapify(self._heap)
        heapq.heappush(self._heap, self._entry(timer))

    def _entry(self, timer: Timer) -> _Entry:
        """The only valid entry of a timer from now on."""
        self._places += 1
        timer.place = self._places
        timer.queued_ms = timer.at_ms
        return (timer.at_ms, _RANK[timer.kind], timer.group, self._order(timer.member), self._places, timer)

    def _settled(self) -> _Entry | None:
        """First valid heap entry.

        Drops stale entries and moves renewed ones to their deadline.
        """
        while self._heap:
            top = self._heap[0]
            timer = top[-1]
            if timer.place != top[4]:
                heapq.heappop(self._heap)
            elif timer.at_ms > top[0]:
                heapq.heapreplace(self._heap, self._entry(timer))
            else:
                return top
        return None
