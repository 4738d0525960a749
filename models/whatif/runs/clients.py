"""Clients and brokers of the simulator, without logs and without dice.

Log lines change nothing about rebalances and are left out, and so are commits but the last one before a silence: it
prolongs the session. Delays that the simulator draws by lot are taken
at their middle, so that two runs differ by their configuration alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from models.kafka.coordinator.group_coordinator import BothCoordinator
from models.kafka.coordinator.protocol.requests import Heartbeat, Request
from models.kafka.coordinator.protocol.responses import Response
from models.kafka.coordinator.runtime.outcomes import Outcome
from models.kafka.simulation.client import Client, Phase
from models.kafka.simulation.cluster import LATENCY_MS, Cluster, Flight, GroupCoordinatorSeat, Receive
from models.kafka.simulation.consumer import POLL_TIMED_OUT, Consumer
from models.kafka.simulation.modern_consumer import ModernConsumer
from models.kafka.simulation.world import World
from models.whatif.behaviour.members import FOREVER_MS

TRAVEL_MS = sum(LATENCY_MS)
"""Usual time of a request and its response together."""


def nothing(*_: object) -> None:
    """Do nothing."""


@dataclass(slots=True)
class SteadyWorld(World):
    """A world whose delays are always of middle length.

    `skipped_ms` is the time that was left out, in which heartbeats keep their pace and commits another.
    """

    skipped_ms: int = 0

    def between(self, low_ms: int, high_ms: int) -> int:
        """Middle of two bounds."""
        return (low_ms + high_ms) // 2

    def say(self, source: int | str, message: str, level: str = "INFO", /, **fields: Any) -> None:
        """Write nothing."""


@dataclass(slots=True)
class QuietCluster(Cluster):
    """Brokers that write no logs, with one group."""

    def __post_init__(self) -> None:
        Cluster.__post_init__(self)
        for seat in self.seats.values():
            each = seat.coordinator
            shard = each.classic.shard if isinstance(each, BothCoordinator) else each.shard
            # What members have is accepted: brokers may be set to take other sessions than the default allows.
            shard.settings = replace(shard.settings, min_session_ms=0, max_session_ms=FOREVER_MS)

    def ask(self, request: Request, receive: Receive) -> None:
        """Let a request arrive now; `receive` gets the response when it is given."""
        seat, now_ms = self.seats[request.group], self.world.now_ms
        seat.flights[request.request_id] = Flight(request, "", now_ms, receive, nothing)
        if seat.coordinator.now_ms < now_ms:
            self.settle(seat, seat.coordinator.advance(now_ms - seat.coordinator.now_ms))
        self.settle(seat, seat.coordinator.handle(request))

    def settle(self, seat: GroupCoordinatorSeat, outcome: Outcome) -> None:
        """Pass on a coordinator's events and responses."""
        seat.note_due()
        for change in outcome.changes:
            self.watch(change)
        for answer in outcome.answers:
            seat.flights.pop(answer.request_id).receive(answer.response)


@dataclass(slots=True, eq=False)
class QuietClient(Client):
    """A client without a log, whose requests and responses travel in one step."""

    def say(self, message: str, level: str = "", /, **fields: Any) -> None:
        """Write nothing."""

    def _send(self, request: Request, receive: Receive, lost: Callable[[], None]) -> None:  # noqa: ARG002
        attempt = self.attempt
        quick = cast("QuietCluster", self.cluster)
        quick.ask(request, lambda response: self.later(TRAVEL_MS, lambda: self._receive(attempt, lambda: receive(response))))


@dataclass(slots=True, eq=False)
class ClassicMember(QuietClient, Consumer):
    """A client of the classic protocol."""

    synced_ms: int = 0
    """Time of its last assignment, with what was left out."""

    def pause(self, for_ms: int) -> None:
        """Hold the process; one that wakes after its poll interval leaves at once."""
        Consumer.pause(self, for_ms)
        if for_ms > self.plan.max_poll_ms:
            life = self.life
            self.world.plan(for_ms, lambda: self._wake(life))

    def _wake(self, life: int) -> None:
        """Notice the missed poll (HeartbeatThread.run checks it before it sends a heartbeat)."""
        if self.life == life and self.phase is Phase.STABLE:
            self.act = "poll_timeout"
            self._leave(POLL_TIMED_OUT)
            self._reset("consumer pro-actively leaving the group")
            self._poll_soon()

    def contact(self) -> None:
        """Send a heartbeat out of turn, as a commit is one, too."""
        if self.phase is Phase.STABLE:
            self._send(Heartbeat(self.cluster.number(), self.plan.name, self.member, self.generation, self.instance), nothing, nothing)

    def commit_soon(self, interval_ms: int) -> None:
        """Let its next commit arrive.

        Intervals are counted from the last assignment (ConsumerCoordinator.onJoinComplete).
        """
        if self.phase is not Phase.STABLE:
            return
        after_ms = (self.synced_ms - self.world.now_ms - cast("SteadyWorld", self.world).skipped_ms) % interval_ms
        attempt = self.attempt
        self.later(after_ms, lambda: self._receive(attempt, self._commit))

    def _commit(self) -> None:
        if self.busy_until_ms <= self.world.now_ms:
            self.contact()

    def _synced(self, response: Response) -> None:
        Consumer._synced(self, response)
        self.synced_ms = self.world.now_ms + cast("SteadyWorld", self.world).skipped_ms

    def nudge(self) -> None:
        """Join again."""
        self._rejoin("cached metadata has changed", "metadata_change")

    def _commit_on(self, attempt: int) -> None:
        """Commit nothing."""


@dataclass(slots=True, eq=False)
class ModernMember(QuietClient, ModernConsumer):
    """A client of the consumer protocol."""

    def contact(self) -> None:
        """Do nothing: only heartbeats prolong sessions, and they come in turn."""

    def commit_soon(self, interval_ms: int) -> None:
        """Do nothing, either."""

    def nudge(self) -> None:
        """Do nothing: the coordinator notices new partitions by itself."""

    def _commit(self, attempt: int) -> None:
        """Commit nothing."""


AnyMember = ClassicMember | ModernMember
KINDS: Mapping[str, type[AnyMember]] = {"classic": ClassicMember, "consumer": ModernMember}


def is_steady(client: Client) -> bool:
    """Whether a client does nothing but heartbeats."""
    now_ms = client.world.now_ms
    if client.phase is not Phase.STABLE or client._poll_planned or max(client.busy_until_ms, client.paused_until_ms) > now_ms:
        return False
    return not isinstance(client, ModernMember) or client.target is None
