"""One cluster's RocketMQ events, put in order: lives of consumers, lists of brokers, routes of topics, runs of clients.

Each client allocates for itself and nothing in the system knows whether the shares add up, so all of a cluster's files
are looked at together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from models.events import EVENTS, Event, Witness
from models.rocketmq.lists import SECOND_US, ClientList, How
from models.rocketmq.lives import Life, Registry, at_of, zone_shifts
from models.rocketmq.routes import Routes
from models.rocketmq.runs import Run, RunReader

ROCKET_EVENTS = frozenset(name for name in EVENTS if name.startswith("Rocket"))
"""Events of RocketMQ; all others are Kafka's."""

LINE_OF_LOSS_US = 1_300_000
"""Brokers' lines have whole seconds, and a notification reaches the others within a few hundred milliseconds."""


@dataclass(slots=True)
class Group:
    """All that is known of one group."""

    name: str
    lives: list[Life] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    lists: dict[str, ClientList] = field(default_factory=dict)
    notified: list[tuple[int, Event]] = field(default_factory=list)
    subscribed: list[tuple[int, Event]] = field(default_factory=list)
    expired: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    resets: list[tuple[int, Event]] = field(default_factory=list)

    def life_of(self, client_id: str, at: int) -> Life | None:
        """The life that a client id stood for at a time, or the last before."""
        mine = [each for each in self.lives if each.client_id == client_id]
        return max((each for each in mine if each.begun_at <= at + SECOND_US), key=lambda each: each.begun_at, default=None)


class RocketStage:
    """Takes the events of one cluster in any order; `groups` puts them together."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self.routes = Routes()
        self.last_at = 0

    def feed(self, event: Event) -> None:
        """Take one event whose name begins with `Rocket`."""
        self._events.append(event)

    def groups(self) -> dict[str, Group]:
        """Everything by group, on one clock."""
        shifts = zone_shifts(self._events)
        timed = [(at_of(event) + shifts.get(event.place.file, 0), event) for event in self._events]
        groups: dict[str, Group] = {}
        registry = self._read_clients(timed, groups)
        self._read_brokers(timed, groups, registry)
        self.last_at = max((at for at, _ in timed), default=0)
        return groups

    # -- clients -----------------------------------------------------------------------------------------------

    def _read_clients(self, timed: Iterable[tuple[int, Event]], groups: dict[str, Group]) -> Registry:
        registry = Registry()
        readers: dict[int, RunReader] = {}
        clients = sorted(
            ((at, event) for at, event in timed if event.witness is Witness.CLIENT),
            key=lambda item: (item[1].place.file, item[1].place.byte_offset),
        )
        for at, event in clients:
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
        for life in registry.lives:
            _group(groups, life.group).lives.append(life)
        for group in groups.values():
            group.runs.sort(key=lambda run: (run.at, run.life.file, run.result.place.byte_offset))
            group.notified.sort(key=lambda item: item[0])
        return registry

    # -- brokers -----------------------------------------------------------------------------------------------

    def _read_brokers(self, timed: Iterable[tuple[int, Event]], groups: dict[str, Group], registry: Registry) -> None:
        brokers = sorted(
            ((at, event) for at, event in timed if event.witness is not Witness.CLIENT),
            key=lambda item: (item[0], item[1].place.file, item[1].place.byte_offset),
        )
        for at, event in brokers:
            if event.name in {"RocketTopicRouted", "RocketBrokerRegistered", "RocketBrokerLost", "RocketBrokerStarted"}:
                self.routes.told(event, at)
            if event.name in {"RocketBrokerStarted", "RocketBrokerStopping"}:
                for group in groups.values():
                    if event.place.file in group.lists:
                        group.lists[event.place.file].restart(at, event)
            if event.group is not None:
                self._member(_group(groups, event.group), event, at, registry)
        if not brokers:
            _lists_of_lives(groups)

    @staticmethod
    def _member(group: Group, event: Event, at: int, registry: Registry) -> None:
        told = group.lists.setdefault(event.place.file, ClientList(event.place.file))
        channel = str(event.fields.get("remote") or "").lstrip("/")
        who = event.client_id or ""
        if event.name == "RocketConsumerConnected":
            told.connect(_milliseconds(event, at), channel, who, event)
        elif event.name == "RocketConsumerUnregistered":
            told.leave(_unregistered(group, who, at), channel, How.UNREGISTERED, who, event)
        elif event.name == "RocketConsumerLost":
            when = _noticed(group, at)
            told.leave(when, channel, How.LOST, who, event)
            registry.lose(who, group.name, when)
        elif event.name == "RocketConsumerExpired":
            gone = told.leave(at, channel, How.EXPIRED, line=event)
            if gone:
                group.expired[gone].append(at)
        elif event.name in {"RocketTopicSubscribed", "RocketTopicUnsubscribed"}:
            group.subscribed.append((at, event))
        elif event.name == "RocketOffsetReset":
            group.resets.append((at, event))


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
    said = [life.unregistered_at for life in group.lives if life.client_id == client_id and life.unregistered_at is not None]
    near = [when for when in said if at - SECOND_US <= when <= at + 2 * SECOND_US]
    return min(near) if near else _noticed(group, at)


def _noticed(group: Group, at: int) -> int:
    """When something that a broker logged in a second had happened: just before the others were told of it."""
    told = next((when for when, _ in group.notified if at <= when <= at + LINE_OF_LOSS_US), None)
    return at if told is None else told - 1_000


def _lists_of_lives(groups: dict[str, Group]) -> None:
    """Without any broker's file the clients' own starts and ends say who was on the list."""
    for group in groups.values():
        steps = [(life.ran_at, True, life) for life in group.lives]
        steps += [(life.unregistered_at, False, life) for life in group.lives if life.unregistered_at is not None]
        told = group.lists.setdefault("", ClientList(""))
        for at, begins, life in sorted(steps, key=lambda step: (step[0], step[1])):
            channel = f"{life.file} {life.begun_at}"
            if begins:
                told.connect(at, channel, life.client_id)
            else:
                told.leave(at, channel, How.UNREGISTERED, life.client_id)
