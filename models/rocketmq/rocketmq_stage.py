"""RocketMQ stage: reads one cluster's events into groups.

A group has client processes, brokers' lists, routes and runs. Each client allocates for itself and nothing in the
system knows whether the shares add up, so all files of a cluster are read together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from models.events import Event, Witness
from models.rocketmq.event_partitions import BY_TOPIC, LISTED, LOCKS, MASTERS, POPPED, ROUTES, STOPS_AND_CHANGES, Parts, TopicKey
from models.rocketmq.object_text import BROADCASTING, replaced_filter, subscription_in, version_in
from models.rocketmq.observations.allocation_runs import RESULTS, TopicLines
from models.rocketmq.observations.client_groups import ASSIGNED, ClientGroups, is_assigned
from models.rocketmq.observations.client_lists import ClientList, ListChangeKind
from models.rocketmq.observations.client_processes import ClientProcess, Registry, last_of, live_on, lose, zone_shifts
from models.rocketmq.observations.fault_lines import ClientFaults, ClientStretch
from models.rocketmq.observations.log_rotation import Logs, log_name_of
from models.rocketmq.observations.pop_trouble import PopTrouble
from models.rocketmq.observations.set_masters import SetMasters
from models.rocketmq.observations.subscriptions import TopicTable
from models.rocketmq.observations.topic_routes import Routes
from models.rocketmq.timing import PERIOD_US
from models.tolerances import int_tolerance
from models.units import US_PER_SECOND

LOGGED_AFTER_US = int_tolerance("rocketmq.stage.logged_after_us")
"""Distance of an exact time from the broker's line about it."""

LINE_OF_LOSS_US = int_tolerance("rocketmq.stage.line_of_loss_us")
"""Maximum time from a broker's line to the clients' notification.

Brokers' lines have whole seconds, and a notification takes a few hundred milliseconds.
"""


FIXED = "CONFIG"
"""Strategy that gives each client its own list."""

_VERSIONED = frozenset({"RocketTopicSubscribed", "RocketSubscriptionChanged"})
"""Broker lines with a subscription's version."""

FLOW = frozenset(
    {
        "RocketHeartbeatFailed",
        "RocketHeartbeatSent",
        "RocketSessionChanged",
        "RocketQueueQuiet",
        "RocketReceiptFailed",
        "RocketLiteSubscribed",
        "RocketLiteRefused",
    }
)
"""Lines of gRPC clients that tell whether messages flow."""

GRANTED = "OK"
"""What a client logs of a lock that it was given."""

BOOT_US = int_tolerance("rocketmq.stage.boot_us")
"""Maximum time from a starting broker's first connection to its started line."""


@dataclass(slots=True)
class RocketmqGroup:
    """Group-wide information, without lines about topics."""

    name: str
    lives: list[ClientProcess] = field(default_factory=list)
    lists: dict[str, ClientList] = field(default_factory=dict)
    emptied: dict[str, list[int]] = field(default_factory=dict)
    """Times in order at which each log's broker dropped the group."""
    notified: list[int] = field(default_factory=list)
    notified_in: dict[str, list[int]] = field(default_factory=dict)  # by log
    subscribed: list[tuple[int, Event]] = field(default_factory=list)
    tables: dict[str, TopicTable] = field(default_factory=dict)
    versions: dict[str, list[int]] = field(default_factory=dict)  # subscription versions by topic (`subscription_versions`)

    topics: set[str] = field(default_factory=set)  # topics of results
    strategies: dict[ClientProcess, Counter[str]] = field(default_factory=dict)
    first_said: dict[ClientProcess, tuple[int, str, Event]] = field(default_factory=dict)  # first strategy of each process, with its line
    clients_max: int = 0  # maximum in any result
    is_unowned: bool = False  # fixed list, popped queues, or shares assigned by brokers
    is_entangled: bool = False  # a fixed list of queues applies to any topic, so results name other topics' queues
    is_orderly: bool = False
    is_broadcast: bool = False  # each client reads all queues, as brokers' lines say
    locked_on: set[str] = field(default_factory=set)
    """Broker sets whose masters hold locks of the group."""
    lock_grants: dict[str, list[int]] = field(default_factory=dict)
    """When a set's master gave the group a new lock, by set."""

    trouble: PopTrouble = field(default_factory=PopTrouble)
    client_faults: list[ClientStretch] = field(default_factory=list)

    _by_id: dict[str, list[ClientProcess]] = field(default_factory=dict)

    def add(self, life: ClientProcess) -> None:
        """Add a process; those of one client must come in order."""
        self.lives.append(life)
        self._by_id.setdefault(life.client_id, []).append(life)

    def lives_of(self, client_id: str) -> list[ClientProcess]:
        """Processes with a client id, by start."""
        return self._by_id.get(client_id, [])

    def has_file(self, client_id: str) -> bool:
        """Whether the client's own log is in the input."""
        return client_id in self._by_id

    def lock(self, event: Event, at: int) -> None:
        """Take a lock of a queue that was asked for, given or given back."""
        broker = str(event.fields.get("broker") or "")
        self.locked_on.add(broker)
        if event.name == "RocketLockTaken" or event.fields.get("outcome") == GRANTED:
            self.lock_grants.setdefault(broker, []).append(at)

    def result(self, life: ClientProcess, event: Event, at: int) -> None:
        """Take a result line of any topic."""
        strategy = event.fields.get("strategy")
        clients = event.fields.get("client_count")
        offset = event.place.position
        absence = life.not_listed_before(offset)
        if absence is not None:
            absence.heeded_in = min(absence.heeded_in, offset)
        self.topics.add(event.topic or "")
        self.clients_max = max(self.clients_max, clients if isinstance(clients, int) else 0)
        self.is_entangled = self.is_entangled or strategy == FIXED
        self.is_unowned = self.is_entangled or self.is_unowned or event.name != "RocketShareChanged"
        if strategy:
            self.strategies.setdefault(life, Counter())[str(strategy)] += 1
            first = self.first_said.get(life)
            if first is None or (at, offset) < (first[0], first[2].place.position):
                self.first_said[life] = at, str(strategy), event

    def life_of(self, client_id: str, at: int) -> ClientProcess | None:
        """Process of a client id at a time, or its last before."""
        lives = self.lives_of(client_id)
        index = bisect_right(lives, at + US_PER_SECOND, key=lambda life: life.begun_at)
        return lives[index - 1] if index else None


class RocketStage:
    """Reads the parts of one cluster.

    Call `groups` first, then `lines` for one topic after the other.
    """

    def __init__(self, parts: Parts, until: int = 0) -> None:
        """Prepare the stage.

        `until` is the end of the servers' files, which may be later than the last event.
        """
        self._parts = parts
        self._registry = Registry()
        self._clients = ClientGroups()
        self._faults = ClientFaults()
        self._assigned: dict[TopicKey, list[tuple[int, Event]]] = defaultdict(list)
        self._shifts: dict[str, int] = {}
        self._logs = Logs({})
        self.routes = Routes()
        self.masters = SetMasters()
        self.boots: defaultdict[str, list[int]] = defaultdict(list)
        """When brokers started, by log."""
        self.tells_moves = False  # whether brokers log changed shares
        self.last_at = until

    def groups(self) -> dict[str, RocketmqGroup]:
        """Group-wide information of all groups, on one clock."""
        first_at: dict[str, int] = {}
        self._shifts = zone_shifts(_noting_first(self._parts.rest(), first_at, self._clients))
        self._logs = Logs(first_at)
        groups: dict[str, RocketmqGroup] = {}
        brokers: list[tuple[int, Event]] = []
        rounds = self._logs.rounds
        rest = self._parts.rest() if len(rounds) == 1 else (event for files in rounds for event in self._parts.rest(files))
        for at, event in self._timed(map(self._clients.named, self._logs.placed(rest))):
            self.last_at = max(self.last_at, last_of(event, at))
            if "fault" in event.fields and event.name not in BY_TOPIC:
                self._faults.feed(event, at)
            if event.witness is Witness.CLIENT:
                self._client(event, at, groups)
            else:
                brokers.append((at, event))
        for name, topic in self._parts.topics():
            self._topic(name, topic, groups)
        self._registry.finish()
        for life in self._registry.lives:
            _group(groups, life.group).add(life)
        for name, stretches in self._faults.by_group(self._registry.lives).items():
            _group(groups, name).client_faults = stretches
        for group in groups.values():
            group.notified.sort()
            for times in group.notified_in.values():
                times.sort()
        self._read_brokers(brokers, groups)
        self.tells_moves = any(group.versions for group in groups.values())
        return groups

    def lines(self, group: RocketmqGroup, topic: str) -> TopicLines:
        """Lines about one topic of a group."""
        topic_lines = TopicLines(topic)
        for at, event in self._assigned.get((group.name, topic), ()):
            topic_lines.feed(self._registry.life_at(event), event, at)
        for at, event in self._timed(self._of(group, topic)):
            if event.name not in LOCKS:
                topic_lines.feed(self._registry.life_at(event), event, at)
            elif event.topic == topic:
                topic_lines.locks.append((at, event))
        topic_lines.finish()
        return topic_lines

    def _of(self, group: RocketmqGroup, topic: str) -> Iterable[Event]:
        if not group.is_entangled:
            return self._logs.in_order(self._parts.events_of((group.name, topic)))
        events = (event for name in self.topics_of(group) for event in self._parts.events_of((group.name, name)))
        return sorted(self._logs.placed(events), key=lambda event: (event.place.log, event.place.position))

    def topics_of(self, group: RocketmqGroup) -> list[str]:
        """Topics of a group with events."""
        return sorted({topic for name, topic in (*self._parts.topics(), *self._assigned) if name == group.name})

    def _timed(self, events: Iterable[Event]) -> Iterator[tuple[int, Event]]:
        shifts = self._shifts
        if not shifts:
            return ((event.time_us, event) for event in events)
        return ((event.time_us + shifts.get(log_name_of(event.place.file), 0), event) for event in events)

    # -- clients -----------------------------------------------------------------------------------------------

    def _client(self, event: Event, at: int, groups: dict[str, RocketmqGroup]) -> None:
        life = self._registry.feed(event, at)
        if event.name == "RocketRouteChanged":
            self.routes.take_event(event, at)
        elif event.name in ASSIGNED and event.topic and event.group and is_assigned(event):
            self._assigned[event.group, event.topic].append((at, event))
            group = _group(groups, event.group)
            group.topics.add(event.topic)
            group.is_unowned = True
        elif event.name in FLOW and event.group:
            _group(groups, event.group).trouble.feed(event, at)
        elif event.name == "RocketNotified" and life is not None:
            group = _group(groups, life.group)
            group.notified.append(at)
            group.notified_in.setdefault(event.place.log, []).append(at)

    def _topic(self, name: str, topic: str, groups: dict[str, RocketmqGroup]) -> None:
        """Read group-wide information from a topic's lines."""
        for at, event in self._timed(self._logs.placed(self._parts.events_of((name, topic)))):
            group = _group(groups, name)
            self.last_at = max(self.last_at, last_of(event, at))
            if event.name in LOCKS:
                group.lock(event, at)
                continue
            life = self._registry.life_at(event)
            live_on(life, event, at)
            if event.name in RESULTS:
                group.result(life, event, at)
            elif event.name == "RocketQueueLockAsked":
                group.is_orderly = True
                group.lock(event, at)
                self._faults.feed(event, at)
            elif event.name == "RocketListFailed":
                self._faults.feed(event, at)
            elif event.fields.get("mode") == "POP":
                group.is_unowned = True

    # -- brokers -----------------------------------------------------------------------------------------------

    def _read_brokers(self, events: Iterable[tuple[int, Event]], groups: dict[str, RocketmqGroup]) -> None:
        brokers = sorted(_starts_first(events), key=lambda item: (item[0], item[1].place.log, item[1].place.position))
        for at, event in brokers:
            if event.name in MASTERS:
                self.masters.feed(event, at)
            elif event.name in POPPED and (name := event.group or self._clients.group_of(event.client_id)) is not None:
                _group(groups, name).trouble.feed(event, at)
            if event.name in ROUTES:
                self.routes.take_event(event, at)
            if event.name in ROUTES | STOPS_AND_CHANGES:
                self.routes.lines.append((at, event))
            if event.name == "RocketBrokerStarted":
                self.boots[event.place.log].append(at)
            if event.name in {"RocketBrokerStarted", "RocketBrokerStopping"}:
                for group in groups.values():
                    if event.place.log in group.lists:
                        group.lists[event.place.log].restart(at, event)
            if event.group is not None and event.name in LISTED:
                self._member(_group(groups, event.group), event, at)
        _lists_of_lives(group for group in groups.values() if not group.lists)

    @staticmethod
    def _member(group: RocketmqGroup, event: Event, at: int) -> None:
        client_list = group.lists.setdefault(event.place.log, ClientList(event.place.log))
        channel = str(event.fields.get("remote") or "").lstrip("/")
        who = event.client_id or ""
        if event.name == "RocketConsumerConnected":
            group.is_broadcast = event.fields.get("model") == BROADCASTING
            client_list.connect(_milliseconds(event, at), channel, who, event)
            group.tables.setdefault(event.place.log, TopicTable()).connected(who, at)
        elif event.name == "RocketConsumerUnregistered":
            client_list.leave(_unregistered(group, who, at), channel, ListChangeKind.UNREGISTERED, who, event)
        elif event.name == "RocketConsumerLost":
            when = _noticed(group, at)
            client_list.leave(when, channel, ListChangeKind.LOST, who, event)
            lose(group.lives_of(who), when)
        elif event.name == "RocketConsumerExpired":
            client_list.leave(at, channel, ListChangeKind.EXPIRED, who or channel or None, event)  # its address, if it connected earlier
        elif event.name == "RocketGroupEmptied":
            group.emptied.setdefault(event.place.log, []).append(at)
        else:  # RocketTopicSubscribed, RocketTopicUnsubscribed, RocketSubscriptionChanged
            if event.topic or replaced_filter(event) is not None:
                group.subscribed.append((at, event))
            group.tables.setdefault(event.place.log, TopicTable()).changed(event, at, client_list.versions[-1])
        if event.name in _VERSIONED:
            _note_version(group, event)


def _note_version(group: RocketmqGroup, event: Event) -> None:
    """Record the subscription version of a client: the last in the line."""
    topic = event.topic or subscription_in(str(event.fields.get("after")))[0]
    version = version_in(event.text)
    if version is not None:
        group.versions.setdefault(topic, []).append(version * 1000)


def _noting_first(events: Iterable[Event], first_at: dict[str, int], clients: ClientGroups) -> Iterator[Event]:
    """Pass events on; record each file's first time and clients' groups."""
    for event in events:
        first_at.setdefault(event.place.file, event.time_us)
        clients.learn(event)
        yield event


def _starts_first(events: Iterable[tuple[int, Event]]) -> Iterable[tuple[int, Event]]:
    """Move each broker start before the first connections that follow it.

    A broker logs its start when clients are already connected, but its list was lost before they came.
    """
    connected: dict[str, list[int]] = defaultdict(list)
    started: list[tuple[int, Event]] = []
    for at, event in events:
        if event.name == "RocketBrokerStarted":
            started.append((at, event))
            continue
        if event.name == "RocketConsumerConnected":
            connected[event.place.log].append(at)
        yield at, event
    for at, event in started:
        yield min((came - 1 for came in connected[event.place.log] if at - BOOT_US <= came <= at), default=at), event


def _group(groups: dict[str, RocketmqGroup], name: str) -> RocketmqGroup:
    group = groups.get(name)
    if group is None:
        group = groups[name] = RocketmqGroup(name)
    return group


def _milliseconds(event: Event, at: int) -> int:
    """Exact time from a broker line's epoch milliseconds.

    Only if it falls into the line's own second, else `at`.
    """
    seen: Any = event.fields.get("seen_ms")
    exact = int(seen) * 1000 if isinstance(seen, int) else at
    return exact if -US_PER_SECOND < exact - at < LOGGED_AFTER_US else at


def _unregistered(group: RocketmqGroup, client_id: str, at: int) -> int:
    """Time at which a client was off the list.

    The client's own time if it falls into the broker's second.
    """
    times = [life.unregistered_at for life in group.lives_of(client_id) if life.unregistered_at is not None]
    near = [when for when in times if at - US_PER_SECOND <= when <= at + LOGGED_AFTER_US]
    return min(near) if near else _noticed(group, at)


def _noticed(group: RocketmqGroup, at: int) -> int:
    """Time of a change that a broker logged in whole seconds.

    Just before the other clients' notification, if there is one.
    """
    index = bisect_left(group.notified, at)
    notified_at = group.notified[index] if index < len(group.notified) else None
    return at if notified_at is None or notified_at > at + LINE_OF_LOSS_US else notified_at - 1_000


def _lists_of_lives(groups: Iterable[RocketmqGroup]) -> None:
    """Build lists from client processes for groups without broker files.

    Who starts in no file was there before all files.
    """
    for group in groups:
        earliest = min((life.begun_at for life in group.lives), default=0) - PERIOD_US
        named = [life for life in group.lives if life.client_id]
        steps = [(earliest if life.started_at is None else life.ran_at, True, life) for life in named]
        steps += [(life.unregistered_at, False, life) for life in named if life.unregistered_at is not None]
        client_list = group.lists.setdefault("", ClientList(""))
        for at, begins, life in sorted(steps, key=lambda step: (step[0], step[1])):
            channel = f"{life.file} {life.begun_at}"
            if begins:
                client_list.connect(at, channel, life.client_id)
            else:
                client_list.leave(at, channel, ListChangeKind.UNREGISTERED, life.client_id)
