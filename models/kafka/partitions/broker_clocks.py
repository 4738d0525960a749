"""Clock differences between brokers and the controller, estimated from their logs.

The controller decides on a leader epoch before any broker takes it up, and a stopping broker says so before the
controller grants it. Each such change bounds the difference of two clocks from one side. If the bounds exclude zero,
the clocks differ, and times of the broker's files are moved to the controller's clock. Without a controller's file,
brokers that take up the same epochs are compared with each other, because they learn of them within moments.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TypeVar
from zlib import crc32

from models import state_codec as state_text
from models.events import Event
from models.evidence import line_of
from models.kafka.partitions.event_fields import fetchers_field, number_field, word_field
from models.tolerances import int_tolerance

TOLERANCE_US = int_tolerance("kafka.broker_clocks.tolerance_us")
"""Differences below this are ignored; they change no outage."""

_LATE_US = int_tolerance("kafka.broker_clocks.late_us")
"""Minimum difference without a lower bound.

A broker that always seems to react this late has a clock that is ahead.
"""

TOLD_TOGETHER_US = int_tolerance("kafka.broker_clocks.told_together_us")
"""Maximum time between brokers' reactions to the same epoch."""

FAR_US = int_tolerance("kafka.broker_clocks.far_us")
"""Differences above this are time zones, not clocks.

It also limits the number of events waiting to be sorted.
"""

PAIRS_MIN = 3
MOMENTS_MIN = 3
_MOMENT_US = int_tolerance("kafka.broker_clocks.moment_us")
"""Width of a moment; brokers must agree in several moments.

One moment is not enough because a starting broker takes up all epochs at once.
"""

SAMPLES_MAX = 1024
"""Maximum number of leader epochs compared.

They are chosen by hash, so that the order of files does not matter.
"""

LIVES_MAX = 256
"""Maximum number of broker starts and stops compared: the latest."""

T = TypeVar("T")

_DECIDED = frozenset({"PartitionStateChanged"})
_TAKEN = frozenset({"LeaderStarted", "FollowerStarted", "PartitionKept", "LeaderMissing"})
_LIVES = frozenset({"BrokerStopping", "BrokerLeaving", "BrokerStateChanged", "BrokerRegistered", "BrokerUnfenced"})
_UNDER_AN_EPOCH = frozenset({"ControllerElected", "ControllerResigned", "LeaderMissing"})
_NODES = "nodes"
_FETCHES = "FetchersAdded"
_WHOLE = 1 << 32

CLOCK_EVENTS = _DECIDED | _TAKEN | _LIVES | _UNDER_AN_EPOCH | {_FETCHES}
"""Events with information about clocks."""

EventByNode = dict[str, Event]
"""First line by node about one fact."""


@dataclass(slots=True)
class BrokerClockBounds:
    """Bounds of a broker's clock minus the controller's, in microseconds.

    `lines` are the evidence.
    """

    lower: int | None = None
    upper: int | None = None
    pairs: int = 0
    lines: tuple[Event, ...] = ()

    def above(self, ahead: int, lines: tuple[Event, ...]) -> None:
        """Add an upper bound."""
        self.pairs += 1
        if self.upper is None or ahead < self.upper:
            self.upper, self.lines = ahead, lines

    def below(self, ahead: int, lines: tuple[Event, ...]) -> None:
        """Add a lower bound."""
        if self.lower is None or ahead > self.lower:
            self.lower = ahead
            self.lines = self.lines if ahead <= TOLERANCE_US else lines

    @property
    def skew(self) -> int:
        """The difference, 0 if none is proven."""
        lower, upper = self.lower, self.upper
        if lower is not None and upper is not None and lower > upper:
            return 0  # the clock was set in between, so nothing holds for the whole file
        if upper is not None and upper < -TOLERANCE_US:
            return upper
        if lower is not None and lower > TOLERANCE_US:
            return lower if upper is None else (lower + upper) // 2
        return upper if lower is None and upper is not None and upper > _LATE_US and self.pairs >= PAIRS_MIN else 0


@dataclass(frozen=True, slots=True)
class Skew:
    """A broker with a different clock.

    `ahead` is in microseconds, negative if the clock is behind.
    """

    node: str
    reference: str
    ahead: int
    lines: tuple[Event, ...]


@dataclass(slots=True)
class Facts:
    """Facts with their first lines by node: at the origin, and elsewhere.

    `made` are lines of the node that causes a fact, `learned` are lines of nodes that learn of it.
    """

    made: dict[str, EventByNode] = field(default_factory=dict)
    learned: dict[str, EventByNode] = field(default_factory=dict)

    @staticmethod
    def observe(seen: dict[str, EventByNode], fact: str, node: str, event: Event) -> None:
        """Keep a node's first line about a fact."""
        sightings = seen.setdefault(fact, {})
        known = sightings.get(node)
        if known is None or event.time_us < known.time_us:
            sightings[node] = event

    def bound(self, bounds: dict[str, BrokerClockBounds], reference: str) -> None:
        """Add bounds for the clocks of all nodes except the reference."""
        for fact, makers in self.made.items():
            learners = self.learned.get(fact, {})
            if reference in makers:
                for node in learners.keys() - {reference}:
                    narrow_bounds(bounds, node, learners[node], makers[reference], is_above=True)
            if reference in learners:
                for node in makers.keys() - {reference}:
                    narrow_bounds(bounds, node, makers[node], learners[reference], is_above=False)


@dataclass(slots=True)
class BrokerClocks:
    """Collects clock information from several nodes of one cluster."""

    node_of: Mapping[str, str] = field(default_factory=dict)
    _epochs: Facts = field(default_factory=Facts)
    _lives: Facts = field(default_factory=Facts)
    _incarnations: dict[tuple[str, str], str] = field(default_factory=dict)  # by reporting node and broker
    _decisions: Counter[str] = field(default_factory=Counter)
    _stops: dict[str, list[Event]] = field(default_factory=dict)
    _leavings: list[tuple[str, str, Event]] = field(default_factory=list)
    _hashes_below: int = _WHOLE

    def feed(self, event: Event) -> None:
        """Take the next event."""
        if event.at_us is None:
            return
        node = clock_node_of(event, self.node_of)
        if node is None:
            return
        self._controllers(event, node)
        epoch = number_field(event, "leader_epoch")
        if event.name in _DECIDED and epoch is not None:
            self._decisions[node] += 1
            self._sample(self._epochs.made, f"{event.topic}-{event.partition}:{epoch}", node, event)
        elif event.name in _TAKEN and epoch is not None:
            self._sample(self._epochs.learned, f"{event.topic}-{event.partition}:{epoch}", node, event)
        elif event.name == _FETCHES:
            for name, _, epoch in fetchers_field(event):
                if epoch is not None:
                    self._sample(self._epochs.learned, f"{name}:{epoch}", node, event)
        elif event.name in _LIVES:
            self._life(event, node)

    def _controllers(self, event: Event, node: str) -> None:
        """Record a controller's election, or a later mention of its epoch."""
        epoch = number_field(event, "controller_epoch") if event.name in _UNDER_AN_EPOCH else None
        if epoch is not None:
            elected = event.name == "ControllerElected"
            self._lives.observe(self._lives.made if elected else self._lives.learned, f"controller {epoch}", node, event)

    def _life(self, event: Event, node: str) -> None:
        """Record a broker process's start, registration, unfencing or stop.

        KRaft identifies each process by an incarnation id.
        """
        broker = word_field(event, "broker") or node
        incarnation = word_field(event, "incarnation")
        if incarnation is not None:
            self._incarnations[node, broker] = incarnation
        known = self._incarnations.get((node, broker))
        if event.name == "BrokerStopping":
            _hold(self._stops.setdefault(node, []), event)
        elif event.name == "BrokerLeaving":
            _hold(self._leavings, (node, broker, event))
        elif event.name == "BrokerStateChanged" and incarnation is not None:
            self._lives.observe(self._lives.made, f"start {incarnation}", node, event)
        elif event.name == "BrokerRegistered" and incarnation is not None:
            self._decisions[node] += 1
            self._lives.observe(self._lives.learned, f"start {incarnation}", node, event)
        elif event.name == "BrokerUnfenced" and known is not None:
            self._lives.observe(self._lives.made, f"unfenced {known}", node, event)
        elif word_field(event, "state") == "RUNNING" and known is not None:
            self._lives.observe(self._lives.learned, f"unfenced {known}", node, event)

        for seen in (self._lives.made, self._lives.learned):
            if len(seen) > LIVES_MAX:
                del seen[next(iter(seen))]

    def _sample(self, seen: dict[str, EventByNode], fact: str, node: str, event: Event) -> None:
        if crc32(fact.encode("utf-8", "replace")) >= self._hashes_below:
            return
        self._epochs.observe(seen, fact, node, event)
        if len(seen) > SAMPLES_MAX:
            self._hashes_below //= 2
            for facts in (self._epochs.made, self._epochs.learned):
                for dropped in [fact for fact in facts if crc32(fact.encode("utf-8", "replace")) >= self._hashes_below]:
                    del facts[dropped]

    @classmethod
    def resumed(cls, state: str, node_of: Mapping[str, str]) -> BrokerClocks:
        """Restore from a checkpoint.

        Raises UnreadableState.
        """
        clocks = state_text.read(state, {_NODES: node_of})
        if not isinstance(clocks, cls):
            raise state_text.UnreadableState("not a state of brokers' clocks")
        return clocks

    def checkpoint(self) -> str:
        """Checkpoint for `resumed`."""
        return state_text.write(self, {_NODES: self.node_of}, {Event: line_of})

    def skews(self) -> list[Skew]:
        """Clock differences to the node that decided most."""
        if not self._decisions:
            return self._skews_of_equals()
        reference = min(self._decisions, key=lambda node: (-self._decisions[node], len(node), node))
        bounds: dict[str, BrokerClockBounds] = {}
        self._epochs.bound(bounds, reference)
        self._lives.bound(bounds, reference)
        for controller, broker, leaving in self._leavings:
            stops = self._stops.get(broker)
            if controller == reference and broker != reference and stops:
                nearest = min(stops, key=lambda stop: abs(stop.time_us - leaving.time_us))
                narrow_bounds(bounds, broker, nearest, leaving, is_above=False)
        return [
            Skew(node, reference, bounds_of_node.skew, bounds_of_node.lines)
            for node, bounds_of_node in sorted(bounds.items())
            if bounds_of_node.skew
        ]

    def _skews_of_equals(self) -> list[Skew]:
        """Clock differences between brokers without a controller's file.

        Brokers differ if they took up the same epochs at a constant distance.
        """
        pairs = Counter(node for sightings in self._epochs.learned.values() if len(sightings) > 1 for node in sightings)
        if not pairs:
            return []
        reference = min(pairs, key=lambda node: (-pairs[node], len(node), node))
        skews = []
        for node in sorted(pairs.keys() - {reference}):
            both = [(seen[node], seen[reference]) for seen in self._epochs.learned.values() if node in seen and reference in seen]
            ahead = sorted(event.time_us - other.time_us for event, other in both)
            middle = round(median(ahead)) if ahead else 0
            agreeing = sum(abs(skew - middle) <= TOLD_TOGETHER_US for skew in ahead)
            moments = {
                other.time_us // _MOMENT_US for event, other in both if abs(event.time_us - other.time_us - middle) <= TOLD_TOGETHER_US
            }
            if len(moments) >= MOMENTS_MIN and 2 * agreeing > len(ahead) and _LATE_US < abs(middle) <= FAR_US:
                lines = min(both, key=lambda pair: (abs(pair[0].time_us - pair[1].time_us - middle), pair[1].time_us))
                skews.append(Skew(node, reference, middle, lines))
        return skews


def narrow_bounds(bounds: dict[str, BrokerClockBounds], node: str, event: Event, reference: Event, *, is_above: bool) -> None:
    """Narrow the bounds of a broker's clock by an event and its reference."""
    ahead = event.time_us - reference.time_us
    if abs(ahead) <= FAR_US:
        known = bounds.setdefault(node, BrokerClockBounds())
        (known.above if is_above else known.below)(ahead, (event, reference))


def _hold(window: list[T], item: T) -> None:
    """Append and keep the latest LIVES_MAX."""
    window.append(item)
    del window[:-LIVES_MAX]


def clock_node_of(event: Event, node_of: Mapping[str, str]) -> str | None:
    """Node whose clock wrote a line."""
    return node_of.get(event.place.file) or event.node


def clocks_of(events: Iterable[Event], node_of: Mapping[str, str]) -> BrokerClocks:
    """Collect clock information from events; only CLOCK_EVENTS matter."""
    clocks = BrokerClocks(node_of)
    for event in events:
        clocks.feed(event)
    return clocks


def on_one_clock(events: Iterable[Event], ahead: Mapping[str, int], node_of: Mapping[str, str]) -> Iterator[Event]:
    """Yield events in order of the reference's clock.

    Input is in order of the writers' clocks; `ahead` is in microseconds by node.
    """
    furthest = max(0, *ahead.values()) if ahead else 0
    waiting: list[tuple[int, str, int, int, Event]] = []
    for number, event in enumerate(events):
        skew = ahead.get(clock_node_of(event, node_of) or "", 0)
        at = None if event.at_us is None else event.at_us - skew
        moved = replace(event, at_us=at, order_us=event.order_us - skew) if skew else event
        heapq.heappush(waiting, (moved.order_us, moved.place.file, moved.place.byte_offset, number, moved))
        while waiting and waiting[0][0] <= event.order_us - furthest:
            yield heapq.heappop(waiting)[-1]
    while waiting:
        yield heapq.heappop(waiting)[-1]
