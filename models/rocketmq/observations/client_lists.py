"""Client lists of brokers over time.

Clients ask a broker for its list. A list has one entry per connection, so an id with two connections is listed twice; a
restarted broker begins with an empty list. Broker lines have whole seconds; client lines for the same second are finer.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from models.events import Event
from models.rocketmq.strategies import java_order
from models.rocketmq.timing import EXPIRY_US
from models.units import FOREVER, US_PER_SECOND


class ListChangeKind(StrEnum):
    """Kind of change of a list."""

    CONNECTED = "connected"
    UNREGISTERED = "unregistered"
    LOST = "lost"
    EXPIRED = "expired"
    RESTARTED = "restarted"


@dataclass(frozen=True, slots=True)
class ListChange:
    """One change of a list.

    `who` is empty if the whole list was lost.
    """

    at: int
    how: ListChangeKind
    who: str = ""
    line: Event | None = None


@dataclass(slots=True)
class ClientList:
    """A broker's list of a group: versions and their start times.

    Versions are sorted as clients sort them.
    """

    broker: str
    starts: list[int] = field(default_factory=lambda: [-FOREVER])
    versions: list[tuple[str, ...]] = field(default_factory=lambda: [()])
    steps: list[ListChange] = field(default_factory=list)
    by_who: dict[str, list[ListChange]] = field(default_factory=dict)
    restarts: list[ListChange] = field(default_factory=list)
    _channels: dict[str, str] = field(default_factory=dict)
    _order: list[tuple[bytes, str]] = field(default_factory=list)
    _by_length: dict[int, list[int]] = field(default_factory=lambda: {0: [0]})

    def connect(self, at: int, channel: str, client_id: str, line: Event | None = None) -> None:
        """Add a client; it replaces one with the same channel."""
        if channel in self._channels:
            self._forget(self._channels[channel])
        self._channels[channel] = client_id
        insort(self._order, (java_order(client_id), client_id))
        self._note(ListChange(at, ListChangeKind.CONNECTED, client_id, line))

    def leave(self, at: int, channel: str, how: ListChangeKind, client_id: str | None = None, line: Event | None = None) -> str | None:
        """Remove a connection; returns its client, None if unknown."""
        known = self._channels.pop(channel, None)
        if known is not None:
            self._forget(known)
        who = known or client_id
        if who is not None:
            self._note(ListChange(at, how, who, line))
        return who

    def restart(self, at: int, line: Event | None = None) -> None:
        """Clear the list because the broker restarted."""
        if self._channels:
            self._channels.clear()
            self._order.clear()
            self._note(ListChange(at, ListChangeKind.RESTARTED, line=line))

    def _note(self, step: ListChange) -> None:
        now = tuple(who for _, who in self._order)
        at = max(step.at, self.starts[-1] + 1)
        step = replace(step, at=at)
        self.steps.append(step)
        (self.by_who.setdefault(step.who, []) if step.who else self.restarts).append(step)
        self.starts.append(at)
        self._by_length.setdefault(len(now), []).append(len(self.versions))
        self.versions.append(now)

    def _forget(self, client_id: str) -> None:
        del self._order[bisect_left(self._order, (java_order(client_id), client_id))]

    def index_at(self, at: int) -> int:
        """Index of the version valid at a time."""
        return bisect_right(self.starts, at) - 1

    def steps_of(self, who: str, until: int) -> list[ListChange]:
        """Changes of a client or the whole list up to a time."""
        client_steps, whole = self.by_who.get(who, []), self.restarts
        return sorted((step for steps in (client_steps, whole) for step in steps[: bisect_right(steps, until, key=_at)]), key=_at)

    def has_restarted(self, until: int) -> bool:
        """Whether this broker had restarted by a time."""
        return bool(self.restarts) and self.restarts[0].at <= until

    def heard(self) -> Iterator[tuple[int, ListChange]]:
        """Changes with the times at which they came about.

        A connection that expires beside another one of the same client was left over by it, silent since the expiry's period began.
        """
        times: Counter[str] = Counter()
        for step in self.steps:
            if step.how is ListChangeKind.RESTARTED:
                times.clear()
            times[step.who] += 1 if step.how is ListChangeKind.CONNECTED else -1
            if step.how is ListChangeKind.EXPIRED and times[step.who] > 0:
                yield self._last_heard(step), replace(step, how=ListChangeKind.LOST)
            else:
                yield step.at, step

    def _last_heard(self, expiry: ListChange) -> int:
        """Time since which an expired connection was silent; lines of expiries have whole seconds."""
        silent = expiry.at - EXPIRY_US
        joined = (step.at for step in self.by_who[expiry.who] if step.how is ListChangeKind.CONNECTED)
        return max([silent, *(at for at in joined if at < silent + US_PER_SECOND)])

    def doubles(self) -> dict[str, list[tuple[int, int]]]:
        """Times in which a client was heard on several connections."""
        spans: dict[str, list[tuple[int, int]]] = {}
        times: Counter[str] = Counter()
        since: dict[str, int] = {}
        for at, step in sorted(self.heard(), key=lambda pair: pair[0]):
            if step.how is ListChangeKind.RESTARTED:
                times.clear()
            else:
                times[step.who] += 1 if step.how is ListChangeKind.CONNECTED else -1
            if times[step.who] > 1:
                since.setdefault(step.who, at)
            for who in [who for who in since if times[who] <= 1]:
                spans.setdefault(who, []).append((since.pop(who), at))
        for who, low in since.items():
            spans.setdefault(who, []).append((low, FOREVER))
        return spans

    def sized(self, length: int, begin: int, end: int) -> Iterator[tuple[str, ...]]:
        """Versions of a length valid within an interval, latest first."""
        indexes = self._by_length.get(length, [])
        first, last = bisect_left(indexes, self.index_at(begin)), bisect_right(indexes, self.index_at(end))
        return (self.versions[indexes[place]] for place in range(last - 1, first - 1, -1))


def _at(step: ListChange) -> int:
    return step.at


def list_difference(before: Sequence[str], after: Sequence[str]) -> tuple[set[str], set[str]]:
    """Clients added and removed between two lists.

    A second connection of an id counts as added.
    """
    was, now = Counter(before), Counter(after)
    return set(now - was), set(was - now)
