"""Clock differences between clients and coordinators, from events that both log.

The answer to JoinGroup follows "Stabilized", and the leader makes its assignment before the coordinator receives it. So
each generation bounds the difference from both sides. If the bounds exclude zero, the clocks differ, and the client's
times are converted to the coordinator's clock.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from models.events import Event
from models.kafka.observations.line_delays import stamp_width_us
from models.kafka.observations.log_rotation import log_before_rotation
from models.tolerances import int_tolerance

TOLERANCE_US = int_tolerance("kafka.client_clocks.tolerance_us")
"""Smaller differences come from concurrent threads, not from clocks."""

_LATE_US = int_tolerance("kafka.client_clocks.late_us")
"""Without a lower bound, answers that always take this long indicate a fast clock."""

_FAR_US = int_tolerance("kafka.client_clocks.far_us")
"""Maximum distance of lines about one generation.

Generation numbers start again whenever a group is recreated.
"""

QUARTER_US = int_tolerance("clocks.quarter_us")
"""Time zones differ by whole quarters of an hour."""

ZONES_FAR_US = int_tolerance("clocks.zones_far_us")
"""Maximum difference of two zones, UTC-12:00 and UTC+14:00."""

ZONE_SLACK_US = int_tolerance("kafka.client_clocks.zone_slack_us")
"""Maximum distance of lines about one generation from whole quarters.

Clocks differ, and answers take time.
"""

ZONE_LINES_HELD = 8
"""Latest lines that are held for logs of other zones, however old."""

PAIRS_MIN = 2
GENERATIONS_HELD_MAX = 256

_COORDINATOR = frozenset({"GenerationStarted", "AssignmentReceived"})
_AFTER = {"ClientJoined": "GenerationStarted", "ClientSynced": "AssignmentReceived"}
_BEFORE = {"ClientAssignmentMade": "AssignmentReceived"}

Key = tuple[str, str | None]
"""Log of a client, and node of the coordinator."""


@dataclass(slots=True)
class ClientClockBounds:
    """Bounds of the client's clock minus the coordinator's, in microseconds.

    Each has the lines that prove it.
    """

    lower: int | None = None
    upper: int | None = None
    pairs: int = 0
    lower_lines: tuple[Event, Event] | None = None
    upper_lines: tuple[Event, Event] | None = None
    zones: dict[int, int] = field(default_factory=dict)
    """Pairs of lines by the quarters of an hour between them."""
    zone_lines: tuple[Event, Event] | None = None

    @property
    def quarters(self) -> int:
        """Difference of the time zones in quarters of an hour.

        0 if lines of one generation are near each other, or agree on none.
        """
        if self.pairs or not self.zones:
            return 0
        quarters, count = max(self.zones.items(), key=lambda item: (item[1], -abs(item[0])))
        return quarters if count > sum(self.zones.values()) / 2 else 0

    @property
    def skew(self) -> int:
        """The difference, 0 unless one is proven."""
        lower, upper = self.lower, self.upper
        if lower is not None and upper is not None and lower > upper + TOLERANCE_US:
            return 0  # a clock that was set, or two incarnations of a group: nothing is valid for the whole log
        if upper is not None and upper < -TOLERANCE_US:
            return (lower + upper) // 2 if lower is not None and lower <= upper else upper
        if lower is not None and lower > TOLERANCE_US:
            return (lower + upper) // 2 if upper is not None and lower <= upper else lower
        if lower is None and upper is not None and upper > _LATE_US and self.pairs >= PAIRS_MIN:
            return upper
        return 0


@dataclass(slots=True)
class Skews:
    """Clocks of the clients of one group."""

    bounds: dict[Key, ClientClockBounds] = field(default_factory=dict)
    _coordinators: dict[tuple[str, int], Event] = field(default_factory=dict)
    _clients: dict[int, list[Event]] = field(default_factory=dict)
    _zoned: dict[str, list[ClientClockBounds]] = field(default_factory=dict)
    """The `bounds` with lines that are far apart, by log."""

    def feed(self, event: Event) -> list[Key]:
        """Process one event; return the clocks with a changed difference."""
        if event.generation is None or event.at_us is None:
            return []
        before: dict[Key, int] = {}
        for client, coordinator in self._pairs(event, event.generation):
            key = (log_before_rotation(client.place.file), coordinator.node)
            bounds = self.bounds.setdefault(key, ClientClockBounds())
            before.setdefault(key, bounds.skew)
            had_zones = bool(bounds.zones)
            _bound(bounds, client, coordinator)
            if bounds.zones and not had_zones:
                self._zoned.setdefault(key[0], []).append(bounds)
        return [key for key, skew in before.items() if self.bounds[key].skew != skew]

    def proven(self) -> Iterator[tuple[Key, ClientClockBounds]]:
        """Clocks that differ."""
        return (
            (key, bounds) for key, bounds in sorted(self.bounds.items(), key=lambda item: (item[0][0], item[0][1] or "")) if bounds.skew
        )

    def other_zones(self) -> Iterator[tuple[Key, ClientClockBounds]]:
        """Logs that are most likely of another time zone."""
        bounds = sorted(self.bounds.items(), key=lambda item: (item[0][0], item[0][1] or ""))
        return ((key, bounds) for key, bounds in bounds if bounds.quarters and sum(bounds.zones.values()) >= PAIRS_MIN)

    def is_of_other_zone(self, log: str) -> bool:
        """Whether lines of a log match a coordinator's but for the zone."""
        return any(bounds.quarters for bounds in self._zoned.get(log, ()))

    def forget_logs(self, logs: Container[str]) -> None:
        """Discard logs that have been silent for long."""
        self.bounds = {key: bounds for key, bounds in self.bounds.items() if key[0] not in logs}
        self._zoned = {log: bounds for log, bounds in self._zoned.items() if log not in logs}

    def _pairs(self, event: Event, generation: int) -> list[tuple[Event, Event]]:
        """Pair a coordinator's line with clients' lines of the same generation.

        Either may come first.
        """
        if event.name in _COORDINATOR:
            self._forget_old()
            self._coordinators[event.name, generation] = event
            waiting = self._clients.get(generation, [])
            return [(client, event) for client in waiting if event.name in {_AFTER.get(client.name), _BEFORE.get(client.name)}]
        partner = _AFTER.get(event.name) or _BEFORE.get(event.name)
        if partner is None:
            return []
        coordinators = self._coordinators.get((partner, generation))
        if coordinators is not None:
            return [(event, coordinators)]
        self._clients.setdefault(generation, []).append(event)
        return []

    def _forget_old(self) -> None:
        while len(self._coordinators) > GENERATIONS_HELD_MAX:
            self._coordinators.pop(next(iter(self._coordinators)))
        while len(self._clients) > GENERATIONS_HELD_MAX:
            self._clients.pop(next(iter(self._clients)))

    def forget(self, before: int) -> None:
        """Discard lines too old to share a generation with later ones."""
        since, zoned = before - _FAR_US, before - ZONES_FAR_US
        latest = set(list(self._coordinators)[-ZONE_LINES_HELD:])
        self._coordinators = {
            key: event for key, event in self._coordinators.items() if event.time_us >= (zoned if key in latest else since)
        }
        last = set(list(self._clients)[-ZONE_LINES_HELD:])
        kept = {
            generation: [event for event in events if event.time_us >= (zoned if generation in last else since)]
            for generation, events in self._clients.items()
        }
        self._clients = {generation: events for generation, events in kept.items() if events}


def _note_zone(bounds: ClientClockBounds, client: Event, coordinator: Event) -> None:
    ahead = client.time_us - coordinator.time_us
    quarters = round(ahead / QUARTER_US)
    if client.name in _AFTER and abs(ahead) <= ZONES_FAR_US and abs(ahead - quarters * QUARTER_US) <= ZONE_SLACK_US:
        bounds.zones[quarters] = bounds.zones.get(quarters, 0) + 1
        bounds.zone_lines = bounds.zone_lines or (coordinator, client)


def _bound(bounds: ClientClockBounds, client: Event, coordinator: Event) -> None:
    ahead = client.time_us - coordinator.time_us
    if abs(ahead) > _FAR_US:
        _note_zone(bounds, client, coordinator)
        return
    bounds.pairs += 1
    latest = ahead + stamp_width_us(client.time_us)
    if client.name in _AFTER and (bounds.upper is None or latest < bounds.upper):
        bounds.upper, bounds.upper_lines = latest, (client, coordinator)
    if client.name in _BEFORE and (bounds.lower is None or ahead > bounds.lower):
        bounds.lower, bounds.lower_lines = ahead, (client, coordinator)
