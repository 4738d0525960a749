"""Client processes: files, start and end of each consumer.

Lines of a client rarely name it. A file belongs to the client whose creation it logs; a second start of the same group
in a file is another process. Whether one that was lost had crashed or stopped is decided in `diagnosis.causes`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from models.events import Event
from models.rocketmq.object_text import consumers_in
from models.rocketmq.observations.log_rotation import log_name_of
from models.tolerances import int_tolerance

QUARTER_US = int_tolerance("clocks.quarter_us")
_ZONES_FAR_US = int_tolerance("clocks.zones_far_us")
_NEAR_US = int_tolerance("rocketmq.client_processes.near_us")
"""Maximum distance of a start from the broker's time, modulo zone."""

NOWHERE = 1 << 62
"""Position beyond the end of any file."""

LAST_LINES_US = int_tolerance("rocketmq.client_processes.last_lines_us")
"""Time after a lost connection for the last lines of a process."""

LEAVER_US = int_tolerance("rocketmq.client_processes.leaver_us")
"""Median time from unregistering to the end of the process."""


@dataclass(slots=True)
class MissingFromClientList:
    """A client's finding that the list lacks it.

    `heeded_in` is the position of the first result after it.
    """

    at: int
    event: Event
    heeded_in: int = NOWHERE


@dataclass(slots=True, eq=False)
class ClientProcess:
    """One consumer of one group in one process."""

    group: str
    file: str  # its log, named after the first file
    begun_at: int
    begun_in: int = 0  # position in the log
    client_id: str = ""
    started_at: int | None = None
    unregistered_at: int | None = None
    lost_at: int | None = None
    last_at: int = 0
    model: str = ""
    topics: dict[str, str] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)  # topics in its lines
    first: Event | None = None
    not_listed: list[MissingFromClientList] = field(default_factory=list)

    @property
    def ended_at(self) -> int | None:
        """Time at which its queues became free, None while it lives.

        A frozen process keeps its queues.
        """
        if self.unregistered_at is not None:
            return self.unregistered_at + LEAVER_US
        if self.lost_at is not None and self.last_at <= self.lost_at + LAST_LINES_US:
            return max(self.lost_at, self.last_at)
        return None

    @property
    def ran_at(self) -> int:
        """Start of the process, or its first known time."""
        return self.started_at if self.started_at is not None else self.begun_at

    def not_listed_before(self, offset: int) -> MissingFromClientList | None:
        """The last "not listed" line before a position."""
        index = bisect_right(self.not_listed, offset, key=lambda absence: absence.event.place.position)
        return self.not_listed[index - 1] if index else None


def last_of(event: Event, at: int) -> int:
    """Time of a run's last event, on the clock of `at`.

    Source: `parsers.records.run_folding`.
    """
    last = event.fields.get("last_at_us")
    return at + (last - event.at_us) if isinstance(last, int) and event.at_us is not None else at


def zone_shifts(events: Iterable[Event]) -> dict[str, int]:
    """Time zone corrections by log, in microseconds.

    Some lines hold epoch time beside their own: brokers log when they saw a client, and clients log subscription versions.
    A client's file without such a line is compared with brokers' lines about the client. Whole quarters of an hour are a
    wrong zone; the rest is clock error.
    """
    created: dict[str, list[tuple[str, int]]] = defaultdict(list)
    seen: dict[str, list[int]] = defaultdict(list)
    offsets: dict[str, Counter[int]] = defaultdict(Counter)
    for event in events:
        if event.name == "RocketClientCreated" and event.client_id:
            created[log_name_of(event.place.file)].append((event.client_id, event.time_us))
        elif event.name == "RocketConsumerConnected" and event.client_id and _int(event.fields.get("seen_ms")):
            epoch = _int(event.fields.get("seen_ms")) * 1000
            seen[event.client_id].append(epoch)
            offsets[log_name_of(event.place.file)].update(_quarters(epoch - event.time_us))
        elif event.name == "RocketClockShown":
            offsets[log_name_of(event.place.file)].update(_quarters(_int(event.fields.get("clock_ms")) * 1000 - event.time_us))
    shifts = {file: counts.most_common(1)[0][0] * QUARTER_US for file, counts in offsets.items() if counts}
    for file, starts in created.items():
        for client_id, at in starts if file not in shifts else ():
            quarters = [quarter for epoch in seen.get(client_id, ()) for quarter in _quarters(epoch - at)]
            if quarters and 0 not in quarters:
                shifts[file] = min(quarters, key=abs) * QUARTER_US
    return {file: shift for file, shift in shifts.items() if shift}


def _quarters(apart: int) -> list[int]:
    """Quarters of an hour in a time difference; empty where no zones explain it."""
    quarters = round(apart / QUARTER_US)
    return [quarters] if abs(apart) <= _ZONES_FAR_US and abs(apart - quarters * QUARTER_US) < _NEAR_US else []


def _int(value: Any) -> int:
    return int(value) if isinstance(value, int) else 0


class Registry:
    """Client processes by file and group.

    Built from clients' events in the order of each file.
    """

    def __init__(self) -> None:
        self.lives: list[ClientProcess] = []
        self._by_file: dict[tuple[str, str], list[ClientProcess]] = defaultdict(list)
        self._open: dict[str, dict[str, ClientProcess]] = defaultdict(dict)  # by file and group
        self._pending: dict[str, ClientProcess] = {}
        self._client_of: dict[str, str] = {}

    def feed(self, event: Event, at: int) -> ClientProcess | None:
        """Take an event of the rest; returns its client process.

        For "the rest" see `models.rocketmq.event_partitions`.
        """
        file = event.place.log
        if event.name == "RocketConsumerStarting" and event.group:
            self._client_of.pop(file, None)
            self._pending[file] = self._begin(event.group, event, at)
            self._pending[file].model = str(event.fields.get("model") or "")
        elif event.name == "RocketClientCreated" and event.client_id:
            self._created(file, event.client_id)
        elif event.name == "RocketHeartbeat":
            self._heartbeat(event, file)
        if event.group is None:
            for process in self._open[file].values():
                process.last_at = max(process.last_at, at)
            return None
        life = self._open[file].get(event.group)
        if life is None:
            life = self._begin(event.group, event, at)
        if event.name == "RocketConsumerStarted":
            life.started_at = at
        elif event.name == "RocketUnregistered" and life.unregistered_at is None:
            life.unregistered_at = at
        elif event.name == "RocketNotListed":
            life.not_listed.append(MissingFromClientList(at, event))
        live_on(life, event, at)
        return life

    def life_at(self, event: Event) -> ClientProcess:
        """Client process of a by-topic event, once the rest was read."""
        lives = self._by_file[event.place.log, event.group or ""]
        if not lives:
            return self._begin(event.group or "", event, event.time_us)
        return lives[0] if len(lives) == 1 else lives[bisect_right(lives, event.place.position, key=_begun_in) - 1]

    def finish(self) -> None:
        """Close processes that were followed by another in the same file.

        They ended with their last line.
        """
        for lives in self._by_file.values():
            for old, _ in pairwise(lives):
                if old.unregistered_at is None and old.lost_at is None:
                    old.lost_at = old.last_at
        self.lives.sort(key=lambda life: (life.begun_at, life.file))

    def _begin(self, group: str, event: Event, at: int) -> ClientProcess:
        file = event.place.log
        life = ClientProcess(group, file, at, event.place.position, client_id=self._client_of.get(file, ""), last_at=at, first=event)
        self._open[file][group] = life
        self._by_file[file, group].append(life)
        self.lives.append(life)
        return life

    def _created(self, file: str, client_id: str) -> None:
        self._client_of[file] = client_id
        life = self._pending.pop(file, None)
        if life is not None:
            life.client_id = client_id

    def _heartbeat(self, event: Event, file: str) -> None:
        for consumer in consumers_in(str(event.fields.get("consumers") or "")):
            life = self._open[file].get(consumer.group)
            if life is not None:
                life.topics, life.model = consumer.topics, consumer.model


def _begun_in(life: ClientProcess) -> int:
    return life.begun_in


def live_on(life: ClientProcess, event: Event, at: int) -> None:
    """Update a client process from any of its events."""
    if event.client_id and not life.client_id and event.name != "RocketQueueUnlocked":
        life.client_id = event.client_id
    life.last_at = max(life.last_at, last_of(event, at))
    if event.topic:
        life.read.add(event.topic)


def lose(lives: list[ClientProcess], at: int) -> None:
    """Record that a broker closed a client's connection.

    Of two processes with one id, the one that fell silent lost it.
    """
    processes = [process for process in lives if process.begun_at <= at and process.unregistered_at is None]
    silent = [process for process in processes if process.last_at <= at + LAST_LINES_US and process.lost_at is None]
    life = max(silent or processes, key=lambda process: process.begun_at, default=None)
    if life is not None:
        life.lost_at = at
