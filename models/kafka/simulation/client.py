"""Common part of clients of both protocols: process, polling and coordinator lookup.

A process ends with each stop, and actions planned in an earlier one are dropped. A pause delays actions; a network cut
loses requests and responses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from models.kafka.coordinator.protocol.embedded_consumer import Partition
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.requests import Request
from models.kafka.simulation.cluster import Cluster, Flight, Receive
from models.kafka.simulation.scenario import GroupPlan
from models.kafka.simulation.world import World

RETRY_MS = (100, 400)
"""retry.backoff.ms, and the duration of a coordinator lookup."""
COORDINATOR_ID = 2**31 - 1
COORDINATOR_GONE = frozenset({Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE})


class ClientPhase(Enum):
    """Progress of a client in its group (MemberState)."""

    STOPPED = "stopped"
    UNJOINED = "unjoined"
    JOINING = "joining"
    SYNCING = "syncing"
    STABLE = "stable"


_STOPPED = ClientPhase.STOPPED  # looked up more quickly as a name of the module (see `group_states`)


@dataclass(slots=True, eq=False)
class Client(ABC):
    """A client of either protocol."""

    world: World
    cluster: Cluster
    plan: GroupPlan
    name: str
    instance: str | None = None
    topics: tuple[str, ...] = ()
    phase: ClientPhase = _STOPPED
    member: str = ""
    generation: int = -1
    """Generation, or member epoch in the consumer protocol."""
    node: int | None = None
    owned: tuple[Partition, ...] = ()
    life: int = 0
    attempt: int = 0
    """Counts joins and stable phases; callbacks of an earlier one are dropped."""
    busy_until_ms: int = 0
    paused_until_ms: int = 0
    cut_until_ms: int = 0
    act: str | None = None
    """Cause of its latest join or leave, for the truth."""
    _poll_planned: bool = field(default=False)

    @property
    def runs(self) -> bool:
        """Whether its process is running."""
        return self.phase is not _STOPPED

    # -- faults and commands -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the process."""
        self.life += 1
        self.phase, self.member, self.generation, self.node, self.owned = ClientPhase.UNJOINED, "", -1, None, ()
        self.busy_until_ms = self.paused_until_ms = self.cut_until_ms = 0
        self.act = None
        self._poll_planned = False
        self.topics = self.topics or tuple(self.plan.topics)
        self.say("subscribed", topics=sorted(self.topics))
        self._poll_soon()

    def kill(self) -> None:
        """Kill the process without notice; responses to it are dropped."""
        self.life += 1
        self.attempt += 1
        self.phase = _STOPPED

    @abstractmethod
    def close(self) -> None:
        """Close the consumer gracefully."""

    def poll_slowly(self, for_ms: int) -> None:
        """Keep the application busy with the last poll's records."""
        self.busy_until_ms = max(self.busy_until_ms, self.world.now_ms + for_ms)
        if for_ms > self.plan.max_poll_ms:
            self.later(self.plan.max_poll_ms, self._poll_timed_out)

    @abstractmethod
    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Change the application's subscription."""

    @abstractmethod
    def see_new_partitions(self) -> None:
        """Notice new partitions in refreshed metadata."""

    def pause(self, for_ms: int) -> None:
        """Pause the process, as a garbage collection does."""
        self.paused_until_ms = self.world.now_ms + for_ms

    def cut(self, for_ms: int) -> None:
        """Drop all traffic to and from the brokers for a while."""
        self.cut_until_ms = self.world.now_ms + for_ms
        self.later(for_ms, self._reconnect)

    def later(self, after_ms: int, action: Callable[[], None]) -> None:
        """Schedule an action of this process; a pause delays it."""
        self.world.plan(after_ms, DelayedAction(self, self.life, action))

    def say(self, message: str, level: str = "", /, **fields: Any) -> None:
        """Write a line to the client's log.

        `level` selects a wording if clients have several for a message.
        """
        who = {"client_id": self.name, "group": self.plan.name, "instance_id": self.instance}
        self.world.say(self.name, f"kafka.client.{message}", level, **{**who, **fields})

    # -- polling -----------------------------------------------------------------------------------------------

    def _poll_soon(self) -> None:
        """Schedule the next poll with an effect, once the application is free."""
        if not self._poll_planned:
            self._poll_planned = True
            self.later(self._until_poll_ms(), self._poll)

    def _until_poll_ms(self) -> int:
        return max(self.busy_until_ms - self.world.now_ms, self.world.between(0, self.plan.poll_ms))

    def _poll(self) -> None:
        self._poll_planned = False
        if self.busy_until_ms > self.world.now_ms:
            self._poll_soon()
        else:
            self._polled()

    @abstractmethod
    def _polled(self) -> None:
        """Handle a poll's effects other than returning records."""

    @abstractmethod
    def _poll_timed_out(self) -> None:
        """Handle an exceeded max.poll.interval.ms, unless the application has polled."""

    # -- the coordinator ---------------------------------------------------------------------------------------

    def _with_coordinator(self, action: Callable[[], None]) -> None:
        """Find the coordinator if it is unknown, then run `action`."""
        if self.node is not None:
            action()
            return
        node = self.cluster.coordinator_of(self.plan.name)
        if node is None or self.world.now_ms < self.cut_until_ms:
            self.later(self.world.between(*RETRY_MS), lambda: self._with_coordinator(action))
            return
        self.node = node
        self._tell_coordinator_found()
        action()

    @abstractmethod
    def _tell_coordinator_found(self) -> None:
        """Log that the coordinator was found."""

    def _coordinator(self) -> dict[str, Any]:
        node = self.node or 0
        where = {"coordinator": f"10.0.0.{node}:9092", "node": str(node), "_id": COORDINATOR_ID - node}
        return {**where, "_rack": "null isFenced: false" if self.cluster.policy.is_java else "null"}

    def _lose_coordinator(self, why: str, is_disconnected: bool) -> None:
        if self.node is not None:
            self._tell_coordinator_lost(self._coordinator(), why, is_disconnected=is_disconnected)
            self.node = None

    def _tell_coordinator_lost(self, coordinator: Mapping[str, Any], why: str, is_disconnected: bool) -> None:
        self.say("coordinator_lost", **coordinator, why=why, _disconnected=is_disconnected)

    def _send(self, request: Request, receive: Receive, lost: Callable[[], None], *, only_refusals: bool = False) -> None:
        """Send a request to the coordinator.

        Responses to an earlier attempt, or during a cut, are dropped. With `only_refusals`, one without an error is
        not worth a step of the simulation.
        """
        if self.world.now_ms >= self.cut_until_ms and self.node is not None:
            self.cluster.send(self.node, self.flight(request, self.attempt, receive, lost, only_refusals=only_refusals))

    def flight(self, request: Request, attempt: int, receive: Receive, lost: Callable[[], None], *, only_refusals: bool = False) -> Flight:
        """A request of an attempt; those of an earlier one get no response."""
        return Flight(
            request,
            self.name,
            lambda response: self.later(0, lambda: self._receive(attempt, lambda: receive(response))),
            lambda: self.later(0, lambda: self._receive(attempt, lambda: self._lost(lost))),
            only_refusals,
        )

    def _receive(self, attempt: int, action: Callable[[], None]) -> None:
        if attempt == self.attempt and self.world.now_ms >= self.cut_until_ms:
            action()

    def _lost(self, lost: Callable[[], None]) -> None:
        self._lose_coordinator("null", is_disconnected=True)
        lost()

    @abstractmethod
    def _reconnect(self) -> None:
        """Continue after a cut; pending requests are lost."""


@dataclass(slots=True, eq=False)
class DelayedAction:
    """An action of one process, which a pause delays.

    No closure, because one that plans itself again would be garbage that only a collection finds.
    """

    client: Client
    life: int
    action: Callable[[], None]

    def __call__(self) -> None:
        """Act now, or once the process is no longer held."""
        client, world = self.client, self.client.world
        if client.life != self.life:
            return
        if world.now_ms < client.paused_until_ms:
            world.plan(client.paused_until_ms - world.now_ms, self)
        else:
            self.action()


def names(partitions: tuple[Partition, ...]) -> list[str]:
    """Partitions as logged, such as `topic-3`."""
    return [f"{topic}-{number}" for topic, number in partitions]
