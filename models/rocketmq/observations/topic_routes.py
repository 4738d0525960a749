"""Readable queues of each topic over time.

Name servers log changes at once; clients see them when they next ask, up to 30 s later.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from models.events import Event
from models.rocketmq.object_text import RETRY, addresses_in, configured_in, route_in
from models.tolerances import int_tolerance

Reads = dict[str, int]
"""Number of readable queues by broker."""

ServerStatement = tuple[str, int | None, bool]
"""A server's statement: broker, number of queues, and whether it is new."""

QUEUES_MAX = 1_024
"""Maximum number of a topic's queues on one broker.

Queues are listed one by one, so memory is the limit. Brokers create 4 to 16 by default (TopicConfig,
BrokerConfig.defaultTopicQueueNums), and operators some dozens; a line may state any number.
"""

ONE_POLL_US = int_tolerance("rocketmq.topic_routes.one_poll_us")
"""Maximum time in which a client reads the routes of all its topics."""

SOLE = ""
"""Stands for a broker without a known name.

It is used if a topic has only one broker.
"""


_CAME_OR_WENT = frozenset({"RocketBrokerStarted", "RocketBrokerStopping", "RocketBrokerRegistered", "RocketBrokerLost"})


@dataclass(frozen=True, slots=True)
class RouteChange:
    """A change of a topic's route seen by one client."""

    at: int
    file: str
    before: Reads
    after: Reads
    event: Event | None  # None for the first one, which no verdict needs
    is_first: bool


@dataclass(frozen=True, slots=True)
class QueueCountExcess:
    """A statement of more than QUEUES_MAX queues, which is ignored."""

    topic: str
    broker: str
    queues: int
    at: int
    event: Event


@dataclass(slots=True)
class _BrokerPresence:
    """A broker in the routes of all topics."""

    lost_at: int | None = None  # first time that a route lost it
    topics: dict[str, int] = field(default_factory=dict)  # first time by topic
    gains: dict[str, list[RouteChange]] = field(default_factory=lambda: defaultdict(list))  # by log


_NEVER_SEEN = _BrokerPresence()


@dataclass(slots=True)
class Routes:
    """Routes of a cluster's topics over time."""

    changes: dict[str, list[RouteChange]] = field(default_factory=lambda: defaultdict(list))
    beyond: dict[tuple[str, str], QueueCountExcess] = field(default_factory=dict)
    """First excess by topic and broker."""
    lines: list[tuple[int, Event]] = field(default_factory=list)
    """Lines of servers about brokers and topics, in order."""
    _by_file: dict[tuple[str, str], list[RouteChange]] = field(default_factory=lambda: defaultdict(list))
    _brokers: list[tuple[int, Event]] = field(default_factory=list)
    _statements: dict[str, list[tuple[int, ServerStatement]]] = field(default_factory=lambda: defaultdict(list))
    _first_statements: dict[str, list[tuple[int, ServerStatement]]] = field(default_factory=lambda: defaultdict(list))
    _homes: dict[str, str] = field(default_factory=dict)  # broker by log
    _names: dict[str, str] = field(default_factory=dict)
    _over_time: dict[str, list[tuple[int, Reads]]] = field(default_factory=dict)
    _presences: dict[str, _BrokerPresence] = field(default_factory=dict)
    _known: dict[str, Reads] = field(default_factory=dict)  # by text, because all clients log the same routes

    def take_event(self, event: Event, at: int) -> None:
        """Take an event about routes from a client, broker or name server."""
        self._over_time.clear()
        self._presences.clear()
        if event.name == "RocketRouteChanged":
            before, after = str(event.fields.get("route_before")), str(event.fields.get("route"))
            self._names.update(addresses_in(after))
            first = before == "null"
            change = RouteChange(
                at, event.place.log, self._heeded(before, event, at), self._heeded(after, event, at), None if first else event, first
            )
            self.changes[event.topic or ""].append(change)
            self._by_file[change.file, event.topic or ""].append(change)
            return
        if event.name == "RocketBrokerStarted":
            self._names[str(event.fields.get("address"))] = str(event.fields.get("broker"))
            self._homes[event.place.log] = str(event.fields.get("broker"))
        elif event.name == "RocketTopicConfigured":
            topic, reads = configured_in(str(event.fields.get("after")))
            home = self._homes.get(event.place.log, SOLE)
            self._statements[topic].append((at, (home, self._bounded(topic, home, reads, event, at), False)))
        elif event.name == "RocketTopicRouted":
            self._registered(event, at)
        else:
            self._brokers.append((at, event))

    def broker_of(self, event: Event) -> str:
        """Broker that a server's line is about, empty if unknown."""
        broker = event.fields.get("broker") or self._names.get(str(event.fields.get("address")))
        return str(broker or self._homes.get(event.place.log, ""))

    def _read(self, text: str) -> Reads:
        reads = self._known.get(text)
        if reads is None:
            reads = self._known[text] = route_in(text)
        return reads

    def _heeded(self, text: str, event: Event, at: int) -> Reads:
        """A route without brokers that exceed QUEUES_MAX."""
        reads = self._read(text)
        if all(count <= QUEUES_MAX for count in reads.values()):
            return reads
        return {broker: count for broker, count in reads.items() if self._bounded(event.topic or "", broker, count, event, at) is not None}

    def _bounded(self, topic: str, broker: str, reads: int | None, event: Event, at: int) -> int | None:
        """The number of queues; None and recorded if above QUEUES_MAX."""
        if reads is None or reads <= QUEUES_MAX:
            return reads
        self.beyond.setdefault((topic, broker), QueueCountExcess(topic, broker, reads, at, event))
        return None

    def _registered(self, event: Event, at: int) -> None:
        reads = event.fields.get("reads")
        is_new = "reads_before" not in event.fields
        broker = str(event.fields.get("broker"))
        known = self._bounded(event.topic or "", broker, reads if isinstance(reads, int) else None, event, at)
        statement = (broker, known, is_new)
        (self._first_statements if is_new else self._statements)[event.topic or ""].append((at, statement))

    def seen_by(self, file: str, topic: str, begin: int, end: int) -> list[RouteChange]:
        """Changes of a topic's route seen by one client in (begin, end]."""
        return [change for change in self._by_file.get((file, topic), ()) if begin < change.at <= end]

    def first_seen(self, file: str, topic: str, begin: int) -> int | None:
        """Time at which a client first had a route of a topic."""
        return min((change.at for change in self._by_file.get((file, topic), ()) if change.at >= begin and change.after), default=None)

    def has_returned(self, broker: str, gained: RouteChange, since: int) -> bool:
        """Whether a broker that a route gained had been away.

        `since` is the client's start: servers that registered before it say nothing about what it saw.
        """
        presence = self._presence_of(broker)
        if presence.lost_at is not None and presence.lost_at <= gained.at:
            return True
        beside = presence.gains.get(gained.file, ())
        if any(change is not gained and abs(change.at - gained.at) <= ONE_POLL_US for change in beside):
            return True
        return any(since < at <= gained.at and self.broker_of(event) == broker for at, event in self.lines if event.name in _CAME_OR_WENT)

    def is_known_beside(self, topic: str, broker: str, at: int) -> bool:
        """Whether another topic had a broker before a time."""
        return any(first < at for other, first in self._presence_of(broker).topics.items() if other != topic)

    def _presence_of(self, broker: str) -> _BrokerPresence:
        if not self._presences:
            for topic, changes in self.changes.items():
                for change in changes:
                    self._note_presences(topic, change)
        return self._presences.get(broker, _NEVER_SEEN)

    def _note_presences(self, topic: str, change: RouteChange) -> None:
        for name in change.before.keys() | change.after.keys():
            presence = self._presences.setdefault(name, _BrokerPresence())
            if name not in change.after:
                presence.lost_at = change.at if presence.lost_at is None else min(presence.lost_at, change.at)
                continue
            presence.topics[topic] = min(presence.topics.get(topic, change.at), change.at)
            if name not in change.before and not change.is_first:
                presence.gains[change.file].append(change)

    def over_time(self, topic: str) -> list[tuple[int, Reads]]:
        """Readable queues of a topic over time."""
        known = self._over_time.get(topic)
        if known is None:
            known = self._over_time[topic] = self._steps(topic)
        return known

    def _steps(self, topic: str) -> list[tuple[int, Reads]]:
        steps: list[tuple[int, int, Reads | ServerStatement]] = [(change.at, 1, change.after) for change in self.changes.get(topic, ())]
        steps += [(at, 0, statement) for at, statement in self._statements.get(topic, ())]
        if topic not in self.changes:  # otherwise clients show when they first had it
            steps += [(at, 0, statement) for at, statement in self._first_statements.get(topic, ())]
        for at, event in self._brokers:
            broker = str(event.fields.get("broker") or self._names.get(str(event.fields.get("address")), ""))
            if event.name == "RocketBrokerLost" and "broker" in event.fields:
                steps.append((at, 0, (broker, 0, False)))
            elif event.name == "RocketBrokerRegistered" and broker and not topic.startswith(RETRY):
                steps.append((at, 0, (broker, None, True)))
        versions: list[tuple[int, Reads]] = []
        now: Reads = {}
        had: Reads = {}
        for at, _, what in sorted(steps, key=lambda step: (step[0], step[1])):
            then = dict(what) if isinstance(what, dict) else _set(now, had, *what)
            if then != now:
                versions.append((at, then))
                had |= now
                now = then
        return versions


def _set(now: Reads, had: Reads, broker: str, reads: int | None, is_new: bool) -> Reads:
    """The route after a server's statement.

    A returning broker (`is_new` without `reads`) has its former queues.
    """
    if broker == SOLE and len(now) == 1:
        (broker,) = now
    if is_new and reads is None:
        reads = had.get(broker) if broker not in now else None
    if reads is None or (broker not in now and not is_new):
        return now
    then = {name: count for name, count in now.items() if name != broker}
    if reads:
        then[broker] = reads
    return then
