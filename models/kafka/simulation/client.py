"""What consumers of either protocol have in common: a process with an application that polls, and a coordinator to find.

A life ends with each stop: what was planned in an earlier one is void. A pause puts off what is due, a cut loses what is under way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from models.kafka.coordinator.protocol.embedded_consumer import Partition
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.requests import Request
from models.kafka.coordinator.protocol.responses import Response
from models.kafka.simulation.cluster import Cluster
from models.kafka.simulation.scenario import GroupPlan
from models.kafka.simulation.world import World

RETRY_MS = (100, 400)
"""retry.backoff.ms, and what a search for the coordinator takes."""
COORDINATOR_ID = 2**31 - 1
GONE = frozenset({Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE})


class Phase(Enum):
    """How far a client is with the group (MemberState)."""

    STOPPED = "stopped"
    UNJOINED = "unjoined"
    JOINING = "joining"
    SYNCING = "syncing"
    STABLE = "stable"


@dataclass(slots=True, eq=False)
class Client(ABC):
    """One client, whichever protocol it speaks."""

    world: World
    cluster: Cluster
    plan: GroupPlan
    name: str
    instance: str | None = None
    topics: tuple[str, ...] = ()
    phase: Phase = Phase.STOPPED
    member: str = ""
    generation: int = -1
    """The member's epoch where it speaks the consumer protocol."""
    node: int | None = None
    owned: tuple[Partition, ...] = ()
    life: int = 0
    attempt: int = 0
    """Counts joins and stable times; what belongs to an earlier one is void."""
    busy_until_ms: int = 0
    paused_until_ms: int = 0
    cut_until_ms: int = 0
    act: str | None = None
    """Why it last joined or left, as whoever made it do so knows; for the truth."""
    _poll_planned: bool = field(default=False)

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self.phase is not Phase.STOPPED

    # -- what befalls it ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the process."""
        self.life += 1
        self.phase, self.member, self.generation, self.node, self.owned = Phase.UNJOINED, "", -1, None, ()
        self.busy_until_ms = self.paused_until_ms = self.cut_until_ms = 0
        self.act = None
        self._poll_planned = False
        self.topics = self.topics or tuple(self.plan.topics)
        self.say("subscribed", topics=sorted(self.topics))
        self._poll_soon()

    def kill(self) -> None:
        """End the process; nobody is told, and what is on its way to it is for nobody."""
        self.life += 1
        self.attempt += 1
        self.phase = Phase.STOPPED

    @abstractmethod
    def close(self) -> None:
        """Close the consumer in good order."""

    def poll_slowly(self, for_ms: int) -> None:
        """Let the application be busy with what it has polled."""
        self.busy_until_ms = max(self.busy_until_ms, self.world.now_ms + for_ms)
        if for_ms > self.plan.max_poll_ms:
            self.later(self.plan.max_poll_ms, self._poll_timed_out)

    @abstractmethod
    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Let the application want other topics."""

    @abstractmethod
    def see_new_partitions(self) -> None:
        """Learn from fresh metadata that topics have grown."""

    def pause(self, for_ms: int) -> None:
        """Stop the whole process for a while, as a garbage collection does."""
        self.paused_until_ms = self.world.now_ms + for_ms

    def cut(self, for_ms: int) -> None:
        """Let nothing come through to the brokers or from them for a while."""
        self.cut_until_ms = self.world.now_ms + for_ms
        self.later(for_ms, self._reconnect)

    def later(self, after_ms: int, action: Callable[[], None]) -> None:
        """Plan something of this life; a pause puts it off."""
        life = self.life

        def act() -> None:
            if self.life != life:
                return
            if self.world.now_ms < self.paused_until_ms:
                self.world.plan(self.paused_until_ms - self.world.now_ms, act)
            else:
                action()

        self.world.plan(after_ms, act)

    def say(self, message: str, level: str = "", /, **fields: Any) -> None:
        """Write a line to the client's log; `level` tells wordings of one message apart where clients have several."""
        who = {"client_id": self.name, "group": self.plan.name, "instance_id": self.instance}
        self.world.say(self.name, f"kafka.client.{message}", level, **{**who, **fields})

    # -- polling -----------------------------------------------------------------------------------------------

    def _poll_soon(self) -> None:
        """The application polls again when it is done with what it has; only polls that do something are planned."""
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
        """Do what a poll does beside handing out records."""

    @abstractmethod
    def _poll_timed_out(self) -> None:
        """Notice that the application has not polled for max.poll.interval.ms, if that is so."""

    # -- the coordinator ---------------------------------------------------------------------------------------

    def _with_coordinator(self, action: Callable[[], None]) -> None:
        """Find the coordinator if it isn't known, then go on."""
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
        """Write that the coordinator is known."""

    def _coordinator(self) -> dict[str, Any]:
        node = self.node or 0
        where = {"coordinator": f"10.0.0.{node}:9092", "node": str(node), "_id": COORDINATOR_ID - node}
        return {**where, "_rack": "null isFenced: false" if self.cluster.policy.is_java else "null"}

    def _lose_coordinator(self, why: str, disconnected: bool) -> None:
        if self.node is not None:
            self.say("coordinator_lost", **self._coordinator(), why=why, _disconnected=disconnected)
            self.node = None

    def _send(self, request: Request, receive: Callable[[Response], None], lost: Callable[[], None]) -> None:
        """Send a request to the coordinator; what belongs to an earlier attempt, or comes during a cut, is not received."""
        attempt, sent_ms = self.attempt, self.world.now_ms
        if sent_ms < self.cut_until_ms or self.node is None:
            return
        self.cluster.send(
            self.node,
            self.name,
            request,
            lambda response: self.later(0, lambda: self._receive(attempt, lambda: receive(response))),
            lambda: self.later(0, lambda: self._receive(attempt, lambda: self._lost(lost))),
        )

    def _receive(self, attempt: int, action: Callable[[], None]) -> None:
        if attempt == self.attempt and self.world.now_ms >= self.cut_until_ms:
            action()

    def _lost(self, lost: Callable[[], None]) -> None:
        self._lose_coordinator("null", disconnected=True)
        lost()

    @abstractmethod
    def _reconnect(self) -> None:
        """Go on after a cut: what was on its way is lost."""


def names(partitions: tuple[Partition, ...]) -> list[str]:
    """Partitions as lines name them."""
    return [f"{topic}-{number}" for topic, number in partitions]
