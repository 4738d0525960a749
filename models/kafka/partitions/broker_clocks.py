"""How far brokers' clocks are from the controller's, told by what several of them log.

The controller decides on a leader epoch before any broker takes it up, and a broker that stops says so before the
controller grants it. So each change bounds the difference of two clocks from one side. Where the bounds exclude zero,
clocks differ, and the times of that broker's files are put onto the controller's clock. Without a controller's file,
brokers that take up the same epochs are compared with each other: they are told within moments.
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
from models.kafka.partitions.event_fields import number_field, word_field

TOLERANCE_US = 1_000_000
"""Smaller differences change no outage."""

LATE_US = 5_000_000
"""Without a lower bound: brokers that always seem to take so long to do as they are told have clocks that are ahead."""

TOLD_TOGETHER_US = 2_000_000
"""Brokers take up the same epoch within this time of each other."""

FAR_US = 3_600_000_000
"""Greater differences are zones, not clocks; it also bounds how many events wait to be put in order."""

PAIRS_MIN = 3
MOMENTS_MIN = 3
MOMENT_US = 10_000_000
"""Brokers are compared where they agree at several moments: one that starts takes up all epochs again at once."""

SAMPLES_MAX = 1024
"""Leader epochs that are looked at. Which, their hashes decide, so that it is the same in any order of files."""

LIVES_MAX = 256
"""Starts and stops of brokers that are looked at: the latest."""

T = TypeVar("T")

_DECIDED = frozenset({"PartitionStateChanged"})
_TAKEN = frozenset({"LeaderStarted", "FollowerStarted", "PartitionKept", "LeaderMissing"})
_LIVES = frozenset({"BrokerStopping", "BrokerLeaving", "BrokerStateChanged", "BrokerRegistered", "BrokerUnfenced"})
_UNDER_AN_EPOCH = frozenset({"ControllerElected", "ControllerResigned", "LeaderMissing"})
_NODES = "nodes"
_FETCHES = "FetchersAdded"
_WHOLE = 1 << 32

CLOCK_EVENTS = _DECIDED | _TAKEN | _LIVES | _UNDER_AN_EPOCH | {_FETCHES}
"""Events that tell of clocks."""

Sightings = dict[str, Event]
"""The first line of each node that tells of one fact."""


@dataclass(slots=True)
class Bounds:
    """A broker's clock less the controller's lies between these, in microseconds; with the lines that say so."""

    lower: int | None = None
    upper: int | None = None
    pairs: int = 0
    lines: tuple[Event, ...] = ()

    def above(self, ahead: int, lines: tuple[Event, ...]) -> None:
        """The clock is ahead by no more than this."""
        self.pairs += 1
        if self.upper is None or ahead < self.upper:
            self.upper, self.lines = ahead, lines

    def below(self, ahead: int, lines: tuple[Event, ...]) -> None:
        """The clock is ahead by no less than this."""
        if self.lower is None or ahead > self.lower:
            self.lower = ahead
            self.lines = self.lines if ahead <= TOLERANCE_US else lines

    @property
    def skew(self) -> int:
        """The difference, 0 where none is proven."""
        lower, upper = self.lower, self.upper
        if lower is not None and upper is not None and lower > upper:
            return 0  # a clock that was set meanwhile: nothing holds for the whole file
        if upper is not None and upper < -TOLERANCE_US:
            return upper
        if lower is not None and lower > TOLERANCE_US:
            return lower if upper is None else (lower + upper) // 2
        return upper if lower is None and upper is not None and upper > LATE_US and self.pairs >= PAIRS_MIN else 0


@dataclass(frozen=True, slots=True)
class Skew:
    """A broker whose clock is not the reference's: `ahead` microseconds, less than 0 where it is behind."""

    node: str
    reference: str
    ahead: int
    lines: tuple[Event, ...]


@dataclass(slots=True)
class Facts:
    """Facts that one node logs as it makes them, and others when they have learned of them."""

    made: dict[str, Sightings] = field(default_factory=dict)
    learned: dict[str, Sightings] = field(default_factory=dict)

    @staticmethod
    def see(seen: dict[str, Sightings], fact: str, node: str, event: Event) -> None:
        """Keep the first line of a node about a fact."""
        sightings = seen.setdefault(fact, {})
        known = sightings.get(node)
        if known is None or event.time_us < known.time_us:
            sightings[node] = event

    def bound(self, bounds: dict[str, Bounds], reference: str) -> None:
        """What these facts say of the clocks of other nodes than the reference."""
        for fact, makers in self.made.items():
            learners = self.learned.get(fact, {})
            if reference in makers:
                for node in learners.keys() - {reference}:
                    _bound(bounds, node, learners[node], makers[reference], above=True)
            if reference in learners:
                for node in makers.keys() - {reference}:
                    _bound(bounds, node, makers[node], learners[reference], above=False)


@dataclass(slots=True)
class BrokerClocks:
    """Collects what several nodes of one cluster log."""

    node_of: Mapping[str, str] = field(default_factory=dict)
    _epochs: Facts = field(default_factory=Facts)
    _lives: Facts = field(default_factory=Facts)
    _incarnations: dict[tuple[str, str], str] = field(default_factory=dict)  # by who says so, and broker
    _decisions: Counter[str] = field(default_factory=Counter)
    _stops: dict[str, list[Event]] = field(default_factory=dict)
    _leavings: list[tuple[str, str, Event]] = field(default_factory=list)
    _hashes_below: int = _WHOLE

    def feed(self, event: Event) -> None:
        """Take the next event."""
        if event.at_us is None:
            return
        node = clock_of(event, self.node_of)
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
            fetchers = event.fields.get("fetchers")
            for name, _, epoch in fetchers if isinstance(fetchers, (list, tuple)) else ():
                if epoch is not None:
                    self._sample(self._epochs.learned, f"{name}:{epoch}", node, event)
        elif event.name in _LIVES:
            self._life(event, node)

    def _controllers(self, event: Event, node: str) -> None:
        """A controller is elected under an epoch, by which others are told what to do, or that it is another one now."""
        epoch = number_field(event, "controller_epoch") if event.name in _UNDER_AN_EPOCH else None
        if epoch is not None:
            elected = event.name == "ControllerElected"
            self._lives.see(self._lives.made if elected else self._lives.learned, f"controller {epoch}", node, event)

    def _life(self, event: Event, node: str) -> None:
        """A broker process starts, registers, is unfenced, or stops; KRaft names each by an id."""
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
            self._lives.see(self._lives.made, f"start {incarnation}", node, event)
        elif event.name == "BrokerRegistered" and incarnation is not None:
            self._decisions[node] += 1
            self._lives.see(self._lives.learned, f"start {incarnation}", node, event)
        elif event.name == "BrokerUnfenced" and known is not None:
            self._lives.see(self._lives.made, f"unfenced {known}", node, event)
        elif word_field(event, "state") == "RUNNING" and known is not None:
            self._lives.see(self._lives.learned, f"unfenced {known}", node, event)

        for seen in (self._lives.made, self._lives.learned):
            if len(seen) > LIVES_MAX:
                del seen[next(iter(seen))]

    def _sample(self, seen: dict[str, Sightings], fact: str, node: str, event: Event) -> None:
        if crc32(fact.encode("utf-8", "replace")) >= self._hashes_below:
            return
        self._epochs.see(seen, fact, node, event)
        if len(seen) > SAMPLES_MAX:
            self._hashes_below //= 2
            for facts in (self._epochs.made, self._epochs.learned):
                for each in [each for each in facts if crc32(each.encode("utf-8", "replace")) >= self._hashes_below]:
                    del facts[each]

    @classmethod
    def resumed(cls, state: str, node_of: Mapping[str, str]) -> BrokerClocks:
        """What was known when `state` was taken. Raises UnreadableState."""
        found = state_text.read(state, {_NODES: node_of})
        if not isinstance(found, cls):
            raise state_text.UnreadableState("not a state of brokers' clocks")
        return found

    def state(self) -> str:
        """All that is known; `resumed` goes on from it."""
        return state_text.write(self, {_NODES: self.node_of}, {Event: line_of})

    def skews(self) -> list[Skew]:
        """Clocks that differ from the one of the node that decided most."""
        if not self._decisions:
            return self._skews_of_equals()
        reference = min(self._decisions, key=lambda node: (-self._decisions[node], len(node), node))
        bounds: dict[str, Bounds] = {}
        self._epochs.bound(bounds, reference)
        self._lives.bound(bounds, reference)
        for controller, broker, leaving in self._leavings:
            stops = self._stops.get(broker)
            if controller == reference and broker != reference and stops:
                nearest = min(stops, key=lambda stop: abs(stop.time_us - leaving.time_us))
                _bound(bounds, broker, nearest, leaving, above=False)
        return [Skew(node, reference, found.skew, found.lines) for node, found in sorted(bounds.items()) if found.skew]

    def _skews_of_equals(self) -> list[Skew]:
        """Brokers alone: clocks by which the same epochs were taken up at times that differ always by the same."""
        pairs = Counter(node for sightings in self._epochs.learned.values() if len(sightings) > 1 for node in sightings)
        if not pairs:
            return []
        reference = min(pairs, key=lambda node: (-pairs[node], len(node), node))
        found = []
        for node in sorted(pairs.keys() - {reference}):
            both = [(seen[node], seen[reference]) for seen in self._epochs.learned.values() if node in seen and reference in seen]
            ahead = sorted(event.time_us - other.time_us for event, other in both)
            middle = round(median(ahead)) if ahead else 0
            agreeing = sum(abs(each - middle) <= TOLD_TOGETHER_US for each in ahead)
            moments = {
                other.time_us // MOMENT_US for event, other in both if abs(event.time_us - other.time_us - middle) <= TOLD_TOGETHER_US
            }
            if len(moments) >= MOMENTS_MIN and 2 * agreeing > len(ahead) and LATE_US < abs(middle) <= FAR_US:
                lines = min(both, key=lambda pair: (abs(pair[0].time_us - pair[1].time_us - middle), pair[1].time_us))
                found.append(Skew(node, reference, middle, lines))
        return found


def _bound(bounds: dict[str, Bounds], node: str, event: Event, reference: Event, *, above: bool) -> None:
    ahead = event.time_us - reference.time_us
    if abs(ahead) <= FAR_US:
        known = bounds.setdefault(node, Bounds())
        (known.above if above else known.below)(ahead, (event, reference))


def _hold(held: list[T], one: T) -> None:
    """Keep the latest ones."""
    held.append(one)
    del held[:-LIVES_MAX]


def clock_of(event: Event, node_of: Mapping[str, str]) -> str | None:
    """The node by whose clock a line was written."""
    return node_of.get(event.place.file) or event.node


def clocks_of(events: Iterable[Event], node_of: Mapping[str, str]) -> BrokerClocks:
    """What events, of which only those of CLOCK_EVENTS matter, tell of clocks."""
    clocks = BrokerClocks(node_of)
    for event in events:
        clocks.feed(event)
    return clocks


def on_one_clock(events: Iterable[Event], ahead: Mapping[str, int], node_of: Mapping[str, str]) -> Iterator[Event]:
    """Events in order of time by the reference's clock. They come in order by their own; `ahead` says how far nodes' clocks are."""
    furthest = max(0, *ahead.values()) if ahead else 0
    waiting: list[tuple[int, str, int, int, Event]] = []
    for number, event in enumerate(events):
        skew = ahead.get(clock_of(event, node_of) or "", 0)
        at = None if event.at_us is None else event.at_us - skew
        moved = replace(event, at_us=at, order_us=event.order_us - skew) if skew else event
        heapq.heappush(waiting, (moved.order_us, moved.place.file, moved.place.byte_offset, number, moved))
        while waiting and waiting[0][0] <= event.order_us - furthest:
            yield heapq.heappop(waiting)[-1]
    while waiting:
        yield heapq.heappop(waiting)[-1]
