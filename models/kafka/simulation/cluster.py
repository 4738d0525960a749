"""Brokers of a simulated cluster, with coordinators that fail over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from models.kafka.cluster.facts import partition_for
from models.kafka.coordinator.announcements import announce
from models.kafka.coordinator.classic.coordinator import Coordinator
from models.kafka.coordinator.consumer.settings import ConsumerGroupSettings as ModernSettings
from models.kafka.coordinator.consumer.settings import MigrationPolicy
from models.kafka.coordinator.group_coordinator import BothCoordinator
from models.kafka.coordinator.protocol.embedded_consumer import Partition
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.protocol.requests import Commit, Heartbeat, Join, Request, Sync
from models.kafka.coordinator.protocol.responses import Response
from models.kafka.coordinator.runtime.outcomes import NO_OUTCOME, LoggedChange, Outcome, StateTransition
from models.kafka.coordinator.runtime.version_policy import Policy, broker_defaults
from models.kafka.simulation.scenario import Scenario
from models.kafka.simulation.world import ServedRequest, World, WrittenLine

OFFSETS_PARTITIONS = 50
"""offsets.topic.num.partitions"""
LATENCY_MS = (1, 3)
"""Travel time of a request or response."""
LOADING_MS = (20, 120)
NOBODY = 0
_RENEWALS = (Heartbeat, Commit)
"""Requests that renew a session and, unless the coordinator says so, change nothing else."""
_WITHOUT_OFFSETS = (Heartbeat, Join, Sync)
"""Requests to whose handlers it is all the same what was committed."""

AnyCoordinator = Coordinator | BothCoordinator
"""BothCoordinator is used since 4.0."""
Receive = Callable[[Response], None]


@dataclass(slots=True)
class Flight:
    """A request without a response yet.

    `lost` is called if there will be none.
    """

    request: Request
    client_id: str
    receive: Receive
    lost: Callable[[], None]
    only_refusals: bool = False
    """Whether its sender ignores a response without an error."""
    arrived_ms: int = 0


@dataclass(slots=True)
class GroupCoordinatorSeat:
    """A group's offsets partition, its leader (0: none) and its coordinator."""

    group: str
    partition: int
    coordinator: AnyCoordinator
    node: int
    epoch: int = 0
    flights: dict[int, Flight] = field(default_factory=dict)
    changes: int = 0
    """Counts what may have changed more than sessions and offsets."""
    renewed_ms: int = 0
    """Arrival of the last request that only renewed a session."""
    commits: dict[tuple[Partition, ...], tuple[int, int]] = field(default_factory=dict)
    """Offset and arrival of the last commit of partitions by such a request."""

    def take_in(self, request: Request | None = None) -> None:
        """Make the coordinator's clock and offsets what such requests made them.

        Offsets can wait where the next thing is a request that does not look at them.
        """
        coordinator = self.coordinator
        if self.renewed_ms > coordinator.now_ms:
            coordinator.advance(self.renewed_ms - coordinator.now_ms)
        if self.commits and not isinstance(request, _WITHOUT_OFFSETS):
            for partitions, (offset, arrived_ms) in self.commits.items():
                coordinator.put_offsets(self.group, dict.fromkeys(partitions, offset), arrived_ms)
            self.commits.clear()


WatchChange = Callable[[StateTransition | LoggedChange], None]
Arrived = Callable[[GroupCoordinatorSeat, Request, int], None]
Lost = Callable[[str], None]
Settled = Callable[[GroupCoordinatorSeat, int], None]


@dataclass(slots=True)
class Cluster:
    """Brokers, numbered from 1, and coordinators of groups."""

    world: World
    scenario: Scenario
    policy: Policy
    watch: WatchChange
    arrived: Arrived
    lost: Lost
    settled: Settled
    tells_requests: bool = True
    """Whether `World.happened` gets all requests served."""
    up: set[int] = field(default_factory=set)
    seats: dict[str, GroupCoordinatorSeat] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    _requests: int = 0
    no_timer_before_ms: int = 0
    """Time before which no timer is due.

    It may be too early, but never too late.
    """

    def __post_init__(self) -> None:
        for node in range(1, self.scenario.brokers + 1):
            self._boot(node)
        for group in self.scenario.groups:
            self.topics |= group.topics
        for group in self.scenario.groups:
            partition = partition_for(group.name, OFFSETS_PARTITIONS)
            self.seats[group.name] = GroupCoordinatorSeat(group.name, partition, self._coordinator(), partition % self.scenario.brokers + 1)

    def _coordinator(self, before: AnyCoordinator | None = None) -> AnyCoordinator:
        scenario = self.scenario
        settings = replace(broker_defaults(self.policy), initial_delay_ms=scenario.initial_delay_ms, max_size=scenario.max_size)
        options: dict[str, Any] = {
            "make_member_id": lambda prefix: f"{prefix}-{self.world.uuid()}",
            "log": None if before is None else before.log,
            "now_ms": self.world.now_ms,
            "is_loaded": before is None,
        }
        if not self.policy.is_java:
            return Coordinator(self.policy, settings, **options)
        modern = ModernSettings(
            session_ms=scenario.consumer_session_ms,
            heartbeat_interval_ms=scenario.consumer_heartbeat_ms,
            max_size=scenario.max_size,
            migration=MigrationPolicy(scenario.migration),
            topics=self.topics,
        )
        return BothCoordinator(self.policy, settings, modern, make_modern_id=self.world.short_uuid, **options)

    # -- time --------------------------------------------------------------------------------------------------

    def next_ms(self) -> int | None:
        """Deadline of the next timer of any coordinator, None without timers."""
        return min([due_ms for seat in self.seats.values() if (due_ms := seat.coordinator.next_ms()) is not None], default=None)

    def due_by(self, until_ms: int | None) -> int | None:
        """Deadline of the next timer, None if it is after `until_ms`.

        Without `until_ms` any deadline counts.
        """
        if until_ms is not None and until_ms < self.no_timer_before_ms:
            return None  # the usual answer: deadlines are looked for only when one may have come
        due_ms = self.next_ms()
        if due_ms is None:
            return None
        self.no_timer_before_ms = due_ms
        return due_ms if until_ms is None or due_ms <= until_ms else None

    def note_timers(self, coordinator: AnyCoordinator) -> None:
        """Note how early a timer may be due, after one may have been set."""
        at_ms = coordinator.not_before_ms()
        if at_ms is not None and at_ms < self.no_timer_before_ms:
            self.no_timer_before_ms = at_ms

    def advance(self, now_ms: int) -> None:
        """Fire the coordinators' timers that are due by `now_ms`."""
        for seat in self.seats.values():
            due_ms = seat.coordinator.next_ms()
            if due_ms is not None and due_ms <= now_ms:
                self._catch_up(seat, now_ms)

    def _catch_up(self, seat: GroupCoordinatorSeat, now_ms: int, request: Request | None = None) -> None:
        seat.take_in(request)
        outcome = seat.coordinator.advance(now_ms - seat.coordinator.now_ms)
        if outcome is not NO_OUTCOME:
            seat.changes += 1
            self.settle(seat, outcome)

    def settle(self, seat: GroupCoordinatorSeat, outcome: Outcome) -> None:
        """Log a coordinator's events and send its responses."""
        self.note_timers(seat.coordinator)
        node = seat.node
        for change in outcome.changes:
            self.watch(change)
            line = announce(self.policy, change, node, seat.partition) if isinstance(change, LoggedChange) else None
            if line is not None:
                self.world.happened.append(WrittenLine(line.at_ms, node, line.message, line.level, line.fields))
        for answer in outcome.answers:
            flight = seat.flights.pop(answer.request_id)
            if self.tells_requests:
                served = ServedRequest(answer.at_ms, flight.arrived_ms, node, flight.client_id, flight.request, answer.response)
                self.world.happened.append(served)
            self._send_back(flight, answer.response)
        self.settled(seat, self.world.now_ms)

    def _send_back(self, flight: Flight, response: Response) -> None:
        after_ms = self.world.between(*LATENCY_MS)
        if response.error is not NO_ERROR or not flight.only_refusals:
            self.world.plan(after_ms, lambda: flight.receive(response))

    def fail_writes(self, group: str, error: Error) -> None:
        """Let writes of a group's coordinator fail with an error; NONE ends that."""
        seat = self._changing(group)
        seat.coordinator.fail_writes(error)

    def hold_writes(self, group: str) -> None:
        """Leave writes of a group's coordinator unconfirmed by replicas."""
        self._changing(group).coordinator.hold_writes()

    def settle_writes(self, group: str) -> None:
        """Confirm all pending writes of a group's coordinator."""
        seat = self._changing(group)
        self.settle(seat, seat.coordinator.settle_writes())

    def _changing(self, group: str) -> GroupCoordinatorSeat:
        """A group's seat, which is about to change."""
        seat = self.seats[group]
        self._catch_up(seat, self.world.now_ms)
        seat.changes += 1
        return seat

    # -- requests ----------------------------------------------------------------------------------------------

    def number(self) -> int:
        """Next request number."""
        self._requests += 1
        return self._requests

    def coordinator_of(self, group: str) -> int | None:
        """Broker named by FindCoordinator, None if there is none."""
        node = self.seats[group].node
        return node if node in self.up else None

    def send(self, node: int, flight: Flight) -> None:
        """Send a request to a broker; it arrives after a delay."""
        self.world.plan(self.world.between(*LATENCY_MS), lambda: self.arrive(node, flight))

    def arrive(self, node: int, flight: Flight) -> None:
        """Handle a request, unless its broker is down or no longer the coordinator."""
        if node not in self.up:
            flight.lost()
            return
        request, now_ms = flight.request, self.world.now_ms
        flight.arrived_ms = now_ms
        seat = self.seats[request.group]
        if seat.node != node:
            self._refuse(node, flight)
            return
        self._catch_up(seat, now_ms, request)
        self.arrived(seat, request, now_ms)
        seat.flights[request.request_id] = flight
        outcome = seat.coordinator.handle(request)
        if outcome.changes or not isinstance(request, _RENEWALS):
            seat.changes += 1
        self.settle(seat, outcome)

    def _refuse(self, node: int, flight: Flight) -> None:
        """Answer as a broker that isn't the group's coordinator."""
        stranger = BothCoordinator(self.policy) if self.policy.is_java else Coordinator(self.policy)
        stranger.unload()
        response = stranger.handle(flight.request).answers[0].response
        if self.tells_requests:
            self.world.happened.append(
                ServedRequest(flight.arrived_ms, flight.arrived_ms, node, flight.client_id, flight.request, response)
            )
        self._send_back(flight, response)

    def add_partitions(self, topic: str, count: int) -> None:
        """Add partitions to a topic, with the brokers' log lines.

        With ZooKeeper a broker also logs the request.
        """
        before = self.topics[topic]
        self.topics[topic] = before + count
        for seat in self.seats.values():
            if isinstance(seat.coordinator, BothCoordinator):
                seat.take_in()
                seat.changes += 1
                self.settle(seat, seat.coordinator.set_topic(topic, before + count))
        if not self.policy.is_java:
            node = min(self.up)
            assignment = {str(number): [str(node)] for number in range(before, before + count)}
            self.world.say(node, "kafka.broker.partitions_added", topic=topic, assignment=assignment, _count=count)
        nodes = sorted(self.up)
        for number in range(before, before + count):
            leader, folder = nodes[number % len(nodes)], f"/var/lib/kafka/{topic}-{number}"
            self.world.say(leader, "kafka.broker.partition_created", topic=topic, partition=number, _folder=folder)

    # -- brokers -----------------------------------------------------------------------------------------------

    def crash(self, node: int, noticed_after_ms: int) -> None:
        """Crash a broker; others take over once the controller notices."""
        self.up.discard(node)
        for seat in self._seats_of(node):
            seat.take_in()
            seat.changes += 1
            seat.node = NOBODY
            seat.coordinator.unload()
            self.lost(seat.group)
            self._lose_flights(seat)
        self.world.plan(noticed_after_ms, self._elect)

    def shut_down(self, node: int) -> None:
        """Stop a broker gracefully, after it has handed over its groups."""
        self.world.say(node, "kafka.broker.stopping", node=str(node))
        for seat in self._seats_of(node):
            self._catch_up(seat, self.world.now_ms)
            self.lost(seat.group)
            self._resign(seat)
            seat.node = NOBODY
        self.up.discard(node)
        self.world.say(node, "kafka.broker.stopped", node=str(node))
        self._elect()
        for seat in self.seats.values():
            self._lose_flights(seat)

    def start(self, node: int) -> None:
        """Start a broker; it takes over partitions without a leader."""
        self._boot(node)
        self._elect()

    def _boot(self, node: int) -> None:
        self.up.add(node)
        self.world.say(node, "kafka.broker.version", version=self.policy.version)
        self.world.say(node, "kafka.broker.started", node=str(node))

    def _seats_of(self, node: int) -> Sequence[GroupCoordinatorSeat]:
        return [seat for seat in self.seats.values() if seat.node == node]

    @staticmethod
    def _lose_flights(seat: GroupCoordinatorSeat) -> None:
        flights = list(seat.flights.values())
        seat.flights.clear()
        for flight in flights:
            flight.lost()

    def _elect(self) -> None:
        for seat in self.seats.values():
            if seat.node == NOBODY:
                self._take_over(seat, min(self.up, key=lambda node: ((node - seat.partition - 1) % self.scenario.brokers, node)))

    def _resign(self, seat: GroupCoordinatorSeat) -> None:
        """Resign a seat's partition, with the broker's log lines."""
        group, where = seat.coordinator.groups.get(seat.group), {"node": str(seat.node), "partition": seat.partition}
        counts = {"groups_count": int(group is not None), "offsets_count": 0 if group is None else len(group.offsets.committed)}
        text = GIVEN_UP_IN[self.policy.is_java].format(seat.epoch)
        epochs = {"coordinator_epoch": text, "_epoch": text}
        for message in RESIGNING[self.policy.is_java]:
            self.world.say(seat.node, message, **where, **epochs)
        seat.changes += 1
        self.settle(seat, seat.coordinator.unload())
        self.world.say(seat.node, UNLOADED[self.policy.is_java], **where, **epochs, **counts)

    def _take_over(self, seat: GroupCoordinatorSeat, node: int) -> None:
        seat.node = node
        seat.changes += 1
        seat.epoch += 1
        seat.coordinator = self._coordinator(seat.coordinator)
        self.note_timers(seat.coordinator)
        loading_ms, coordinator = self.world.between(*LOADING_MS), seat.coordinator
        where = {"node": str(node), "partition": seat.partition, "coordinator_epoch": seat.epoch}
        if not self.policy.is_java:
            self.world.say(node, "kafka.group.coordinator_elected", **where)
        self.world.say(node, LOAD_STARTED[self.policy.is_java], **where)
        self.world.plan(loading_ms, lambda: self._loaded(seat, coordinator, where, loading_ms))

    def _loaded(self, seat: GroupCoordinatorSeat, coordinator: AnyCoordinator, where: dict[str, object], loading_ms: int) -> None:
        if seat.coordinator is not coordinator or seat.node == NOBODY:
            return  # the partition was lost again during the load
        self._catch_up(seat, self.world.now_ms)
        seat.changes += 1
        self.world.say(seat.node, LOADED[self.policy.is_java], **where, duration_ms=loading_ms)
        self.settle(seat, coordinator.load())


LOAD_STARTED = {False: "kafka.offsets.load_scheduled", True: "kafka.runtime.load_scheduled"}
LOADED = {False: "kafka.offsets.loaded", True: "kafka.runtime.loaded"}
"""Message when a load ends, by `is_java`."""
RESIGNING = {
    False: ("kafka.group.coordinator_resigned", "kafka.offsets.unload_scheduled"),
    True: ("kafka.runtime.unload_scheduled", "kafka.runtime.unload_started"),
}
UNLOADED = {False: "kafka.offsets.unloaded", True: "kafka.runtime.unloaded"}
"""Message when an unload ends, by `is_java`; RESIGNING lists earlier ones."""
GIVEN_UP_IN = {False: "Some({})", True: "OptionalInt[{}]"}
"""Format of an optional epoch in an order to unload."""
