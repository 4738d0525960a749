"""Timers on a virtual clock: no thread, no wall clock; time moves only when the caller says so.

Renewing a timer is what a coordinator does most, once for each heartbeat. A renewed timer therefore keeps its old place in the
heap and moves on when that place comes up, so that a renewal costs the same however many members there are.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class TimerKind(StrEnum):
    """What a timer is for."""

    HEARTBEAT = "heartbeat"
    """Session of a classic member or of a pending member, or the join limit of a new member."""
    SESSION = "session"
    """Session of a member of a KIP-848 group."""
    SYNC = "sync"
    """By when all members of a generation must have sent SyncGroup."""
    REBALANCE = "rebalance"
    """By when a member of a KIP-848 group must have revoked partitions."""
    JOIN = "join"
    """The end of a join phase, or of one step of the initial delay."""
    CLEANUP = "cleanup"
    """Expiry of offsets and of groups without any."""
    WRITE = "write"
    """By when replicas must have confirmed a write."""


# Kafka gives no order to timers of one deadline. This one makes runs repeatable: members' timers come before their group's.
_RANK = {kind: rank for rank, kind in enumerate(TimerKind)}
_COMPACT_ABOVE = 64


@dataclass(slots=True, eq=False)
class Timer:
    """A timer that waits. `detail` is the caller's: what is to be done when it fires."""

    kind: TimerKind
    group: str
    member: str
    at_ms: int
    detail: Any = None
    place: int = -1
    """Number of the one heap entry that counts; all others of this timer are stale."""
    queued_ms: int = -1


_Entry = tuple[int, int, str, Any, int, Timer]


class Timers:
    """All timers of a coordinator: at most one for each kind, group and member; a new one replaces the old.

    `order` puts members' timers of one deadline in order; by default by id.
    """

    __slots__ = ("_heap", "_live", "_order", "_places")

    def __init__(self, order: Callable[[str], Any] = str) -> None:
        self._order = order
        self._heap: list[_Entry] = []
        self._live: dict[tuple[TimerKind, str, str], Timer] = {}
        self._places = 0

    def schedule(self, kind: TimerKind, group: str, member: str, at_ms: int, detail: Any = None) -> None:
        """Start a timer, in place of one of the same kind, group and member."""
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
        """Drop a timer; nothing happens if there is none."""
        timer = self._live.pop((kind, group, member), None)
        if timer is not None:
            timer.place = -1

    def clear(self) -> None:
        """Drop all timers."""
        self._heap.clear()
        self._live.clear()

    def fork(self) -> Timers:
        """The same timers for another course of events; what they are to do is shared."""
        made = Timers(self._order)
        for timer in self._live.values():
            made.schedule(timer.kind, timer.group, timer.member, timer.at_ms, timer.detail)
        return made

    def due_ms(self, kind: TimerKind, group: str, member: str) -> int | None:
        """The deadline of one timer, None if there is none such."""
        timer = self._live.get((kind, group, member))
        return None if timer is None else timer.at_ms

    def next_ms(self) -> int | None:
        """The earliest deadline, None without timers."""
        top = self._settled()
        return top[0] if top else None

    def take(self, until_ms: int) -> Timer | None:
        """Take the first timer whose deadline is not after `until_ms`."""
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
        """The timers that wait under a group's name, in no order; meant for looking, not for work."""
        return (timer for timer in self._live.values() if timer.group == group)

    def _push(self, timer: Timer) -> None:
        if len(self._heap) > 2 * len(self._live) + _COMPACT_ABOVE:
            self._heap = [entry for entry in self._heap if entry[-1].place == entry[4]]
            heapq.heapify(self._heap)
        self._places += 1
        timer.place = self._places
        timer.queued_ms = timer.at_ms
        heapq.heappush(self._heap, (timer.at_ms, _RANK[timer.kind], timer.group, self._order(timer.member), self._places, timer))

    def _settled(self) -> _Entry | None:
        """The heap's first entry, once stale ones are dropped and renewed ones have moved to their deadline."""
        while self._heap:
            top = self._heap[0]
            timer = top[-1]
            if timer.place != top[4]:
                heapq.heappop(self._heap)
            elif timer.at_ms > top[0]:
                heapq.heappop(self._heap)
                self._push(timer)
            else:
                return top
        return None
