"""One cluster's RocketMQ events, put in order: lives of consumers, lists of brokers, routes of topics, runs of clients.

Each client allocates for itself and nothing in the system knows whether the shares add up, so all of a cluster's files
are looked at together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from models.events import EVENTS, Event, Witness
from models.rocketmq.lists import SECOND_US, ClientList, How
from models.rocketmq.lives import Life, Registry, at_of, last_of, lose, zone_shifts
from models.rocketmq.routes import Routes
from models.rocketmq.runs import Run, RunReader
from models.rocketmq.subscriptions import TopicTable

ROCKET_EVENTS = frozenset(name for name in EVENTS if name.startswith("Rocket"))
"""Events of RocketMQ; all others are Kafka's."""

LINE_OF_LOSS_US = 1_300_000
"""Brokers' lines have whole seconds, and a notification reaches the others within a few hundred milliseconds."""


LISTED = frozenset(
    {
        "RocketConsumerConnected",
        "RocketConsumerUnregistered",
        "RocketConsumerLost",
        "RocketConsumerExpired",
        "RocketTopicSubscribed",
        "RocketTopicUnsubscribed",
        "RocketSubscriptionChanged",
    }
)
"""Events of brokers' lists of a group."""

LOCKS = frozenset({"RocketLockTaken", "RocketLockReleased"})
ROUTES = frozenset({"RocketTopicRouted", "RocketBrokerRegistered", "RocketBrokerLost", "RocketBrokerStarted", "RocketTopicConfigured"})

SERVERS = LISTED | LOCKS | ROUTES | {"RocketBrokerStopping"}
"""Events of servers that verdicts rest on; all of clients' are signs of life."""

BOOT_US = 8_000_000
"""From the first connection that a starting broker takes to its word that it is up, at most."""


@dataclass(slots=True)
class Group:
    """All that is known of one group."""

    name: str
    lives: list[Life] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    lists: dict[str, ClientList] = field(default_factory=dict)
    notified: list[tuple[int, Event]] = field(default_factory=list)
    subscribed: list[tuple[int, Event]] = field(default_factory=list)
    tables: dict[str, TopicTable] = field(default_factory=dict)
    locks: list[tuple[int, Event]] = field(default_factory=list)

    _by_id: dict[str, list[Life]] = field(default_factory=dict)

    def add(self, life: Life) -> None:
        """Take a life; lives of one client come in their order."""
        self.lives.append(life)
        self._by_id.setdefault(life.client_id, []).append(life)

    def lives_of(self, client_id: str) -> list[Life]:
        """The lives that a client id stood for, by their begin."""
        return self._by_id.get(client_id, [])

    def has_file(self, client_id: str) -> bool:
        return client_id in self._by_id

    def life_of(self, client_id: str, at: int) -> Life | None:
        """The life that a client id stood for at a time, or the last before."""
        mine = self.lives_of(client_id)
        index = bisect_right(mine, at + SECOND_US, key=lambda each: each.begun_at)
        return mine[index - 1] if index else None


class RocketStage:
    """Takes the events of one cluster in any order; `groups` puts them together."""

    def __init__(self, until: int = 0) -> None:
        """`until` is how far servers' files reach, which may be beyond the last event."""
        self._events: list[Event] = []
        self.routes = Routes()
        self.last_at = until

    def feed(self, event: Event) -> None:
        """Take one event whose name begins with `Rocket`."""
        if event.witness is Witness.CLIENT or event.name in SERVERS:
            self._events.append(event)

    def groups(self) -> dict[str, Group]:
        """Everything by group, on one clock."""
        self._events.sort(key=lambda event: (event.place.file, event.place.byte_offset))
        shifts = zone_shifts(self._events)
        timed = [(at_of(event) + shifts.get(event.place.file, 0), event) for event in self._events]
        groups: dict[str, Group] = {}
        self._read_clients(timed, groups)
        self._read_brokers(timed, groups)
        self.last_at = max([self.last_at, *(last_of(event, at) for at, event in timed)])
        return groups

    # -- clients -----------------------------------------------------------------------------------------------

    def _read_clients(self, timed: Iterable[tuple[int, Event]], groups: dict[str, Group]) -> None:
        registry = Registry()
        readers: dict[int, RunReader] = {}
        for at, event in timed:
            if event.witness is not Witness.CLIENT:
                continue
            life = registry.feed(event, at)
            if event.name == "RocketRouteChanged":
                self.routes.told(event, at)
            if life is None:
                continue
            group = _group(groups, life.group)
            if event.name == "RocketNotified":
                group.notified.append((at, event))
            reader = readers.setdefault(id(life), RunReader(life))
            run = reader.feed(event, at)
            if run is not None:
                group.runs.append(run)
        for life in sorted(registry.lives, key=lambda each: each.begun_at):
            _group(groups, life.group).add(life)
        for group in groups.values():
            group.runs.sort(key=lambda run: (run.at, run.life.file, run.result.place.byte_offset))
            group.notified.sort(key=lambda item: item[0])

    # -- brokers -----------------------------------------------------------------------------------------------

    def _read_brokers(self, timed: Iterable[tuple[int, Event]], groups: dict[str, Group]) -> None:
        brokers = sorted(
            _starts_first((at, event) for at, event in timed if event.witness is not Witness.CLIENT),
            key=lambda item: (item[0], item[1].place.file, item[1].place.byte_offset),
        )
        for at, event in brokers:
            if event.name in ROUTES:
                self.routes.told(event, at)
            if event.name in {"RocketBrokerStarted", "RocketBrokerStopping"}:
                for group in groups.values():
                    if event.place.file in group.lists:
                        group.lists[event.place.file].restart(at, event)
            if event.group is not None and event.name in LOCKS:
                _group(groups, event.group).locks.append((at, event))
            elif event.group is not None and event.name in LISTED:
                self._member(_group(groups, event.group), event, at)
        _lists_of_lives(group for group in groups.values() if not group.lists)

    @staticmethod
    def _member(group: Group, event: Event, at: int) -> None:
        told = group.lists.setdefault(event.place.file, ClientList(event.place.file))
        channel = str(event.fields.get("remote") or "").lstrip("/")
        who = event.client_id or ""
        if event.name == "RocketConsumerConnected":
            told.connect(_milliseconds(event, at), channel, who, event)
            group.tables.setdefault(event.place.file, TopicTable()).connected(who, at)
        elif event.name == "RocketConsumerUnregistered":
            told.leave(_unregistered(group, who, at), channel, How.UNREGISTERED, who, event)
        elif event.name == "RocketConsumerLost":
            when = _noticed(group, at)
            told.leave(when, channel, How.LOST, who, event)
            lose(group.lives_of(who), when)
        elif event.name == "RocketConsumerExpired":
            told.leave(at, channel, How.EXPIRED, line=event)
        else:  # RocketTopicSubscribed, RocketTopicUnsubscribed, RocketSubscriptionChanged
            if event.topic:
                group.subscribed.append((at, event))
            group.tables.setdefault(event.place.file, TopicTable()).changed(event, at, told.versions[-1])


def _starts_first(told: Iterable[tuple[int, Event]]) -> Iterable[tuple[int, Event]]:
    """A broker says that it is up when clients are connected already: what it forgot, it forgot before they came."""
    connected: dict[str, list[int]] = defaultdict(list)
    started: list[tuple[int, Event]] = []
    for at, event in told:
        if event.name == "RocketBrokerStarted":
            started.append((at, event))
            continue
        if event.name == "RocketConsumerConnected":
            connected[event.place.file].append(at)
        yield at, event
    for at, event in started:
        yield min((came - 1 for came in connected[event.place.file] if at - BOOT_US <= came <= at), default=at), event


def _group(groups: dict[str, Group], name: str) -> Group:
    group = groups.get(name)
    if group is None:
        group = groups[name] = Group(name)
    return group


def _milliseconds(event: Event, at: int) -> int:
    """The time in epoch milliseconds that a broker's line holds, where that is of the line's own second."""
    seen: Any = event.fields.get("seen_ms")
    exact = int(seen) * 1000 if isinstance(seen, int) else at
    return exact if -SECOND_US < exact - at < 2 * SECOND_US else at


def _unregistered(group: Group, client_id: str, at: int) -> int:
    """When a client was off the list: as it says itself, where that falls into the broker's second."""
    said = [life.unregistered_at for life in group.lives_of(client_id) if life.unregistered_at is not None]
    near = [when for when in said if at - SECOND_US <= when <= at + 2 * SECOND_US]
    return min(near) if near else _noticed(group, at)


def _noticed(group: Group, at: int) -> int:
    """When something that a broker logged in a second had happened: just before the others were told of it."""
    index = bisect_left(group.notified, at, key=lambda item: item[0])
    told = group.notified[index][0] if index < len(group.notified) else None
    return at if told is None or told > at + LINE_OF_LOSS_US else told - 1_000


def _lists_of_lives(groups: Iterable[Group]) -> None:
    """Where no broker's file speaks of a group, the clients' own starts and ends say who was on the list."""
    for group in groups:
        steps = [(life.ran_at, True, life) for life in group.lives]
        steps += [(life.unregistered_at, False, life) for life in group.lives if life.unregistered_at is not None]
        told = group.lists.setdefault("", ClientList(""))
        for at, begins, life in sorted(steps, key=lambda step: (step[0], step[1])):
            channel = f"{life.file} {life.begun_at}"
            if begins:
                told.connect(at, channel, life.client_id)
            else:
                told.leave(at, channel, How.UNREGISTERED, life.client_id)
