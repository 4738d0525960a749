"""Clients and brokers of the simulator, without logs and with fixed delays.

Log lines change nothing about rebalances and are left out, and so are commits but the last one before a silence: it prolongs the
session. Delays that the simulator draws by lot are taken at their middle, so that two runs differ by their configuration alone.
Heartbeats are only computed here; sessions end in the reference coordinator (`classic.rebalance.expire_session`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from models.kafka.coordinator.classic.shard import Shard
from models.kafka.coordinator.consumer.group import ConsumerGroup, SimpleGroup
from models.kafka.coordinator.consumer.shard import Shard as ModernShard
from models.kafka.coordinator.group_coordinator import BothCoordinator
from models.kafka.coordinator.protocol import group_states
from models.kafka.coordinator.protocol.embedded_consumer import assignment
from models.kafka.coordinator.protocol.errors import NO_ERROR
from models.kafka.coordinator.protocol.requests import Heartbeat, Leave, Request
from models.kafka.coordinator.protocol.responses import JoinResponse, Response
from models.kafka.coordinator.runtime.outcomes import NO_OUTCOME, Outcome
from models.kafka.coordinator.runtime.timers import TimerKind, Timers
from models.kafka.simulation.client import Client, ClientPhase
from models.kafka.simulation.cluster import LATENCY_MS, Cluster, GroupCoordinatorSeat, Receive
from models.kafka.simulation.consumer import POLL_TIMED_OUT, Consumer
from models.kafka.simulation.modern_consumer import ModernConsumer
from models.kafka.simulation.world import World
from models.whatif.behaviour.members import FOREVER_MS

# Looked up more quickly as names of the module (see `group_states`).
_STOPPED, _UNJOINED, _JOINING, _, _STABLE = ClientPhase

TRAVEL_MS = sum(LATENCY_MS)
"""Usual time of a request and its response together."""


SOME_SHARE = b"-"
"""An assignment that nobody reads; an empty one would be an event."""


def do_nothing(*_: object) -> None:
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
    """Brokers that write no logs, with one group.

    While a group is stable, heartbeats only prolong sessions. Members that send nothing else doze: their heartbeats are
    reckoned instead of sent, until the group is stable no longer.
    """

    seat: GroupCoordinatorSeat = field(init=False)
    classic: Shard = field(init=False)
    """State of the coordinator of classic groups."""
    modern: ModernShard | None = field(init=False, default=None)
    """That of groups of the consumer protocol, if brokers know it."""
    awaited: dict[int, Arrival] = field(default_factory=dict)
    """Responses that are not given yet, by request."""
    dozing: dict[AnyMember, int] = field(default_factory=dict)
    """Members that doze, with the time of the last contact that was reckoned."""
    _calm: int | None = None
    """Generation or epoch in which they do."""

    def __post_init__(self) -> None:
        Cluster.__post_init__(self)
        (self.seat,) = self.seats.values()
        coordinator = self.seat.coordinator
        self.classic = coordinator.classic.shard if isinstance(coordinator, BothCoordinator) else coordinator.shard
        self.modern = coordinator.modern.shard if isinstance(coordinator, BothCoordinator) else None
        # What members have is accepted: brokers may be set to take other sessions than the default allows.
        self.classic.is_log_read = False
        self.classic.settings = replace(self.classic.settings, min_session_ms=0, max_session_ms=FOREVER_MS)

    def advance(self, now_ms: int) -> None:
        """Fire timers that are due; they come before heartbeats of the same time."""
        for member in self.dozing:
            self._reckon(member, now_ms - 1)
        Cluster.advance(self, now_ms)
        self._wake_unless_stable(now_ms - 1)

    def run_until(self, until_ms: int, look_ms: int) -> bool:
        """Run events and timers up to a time.

        False if more may be due, but `look_ms` has come.
        """
        world = self.world
        while True:
            due_ms = world.next_ms()
            # The usual case: no timer comes before the next event.
            timers_ms = None if due_ms is not None and due_ms < self.no_timer_before_ms else self.due_by(due_ms)
            if timers_ms is not None:
                due_ms = timers_ms
            if due_ms is None or due_ms > until_ms:
                return True
            if timers_ms is None:
                world.step()
            else:
                world.now_ms = due_ms
                self.advance(due_ms)
            if world.now_ms >= look_ms:
                return False

    def ask(self, request: Request, arrival: Arrival) -> None:
        """Let a request arrive now, and plan what its response does."""
        seat, now_ms = self.seat, self.world.now_ms
        coordinator = seat.coordinator
        self.awaited[request.request_id] = arrival
        behind_ms = now_ms - self.classic.now_ms
        if behind_ms > 0 and (passed := coordinator.advance(behind_ms)) is not NO_OUTCOME:
            self.settle(seat, passed)
        self.settle(seat, coordinator.handle(request))
        if self.dozing:
            self._wake_unless_stable(now_ms)

    def settle(self, seat: GroupCoordinatorSeat, outcome: Outcome) -> None:
        """Pass on a coordinator's events and responses.

        Responses that are given together arrive together.
        """
        self.note_timers(seat.coordinator)
        for change in outcome.changes:
            self.watch(change)
        arrivals = []
        for answer in outcome.answers:
            arrival = self.awaited.pop(answer.request_id, None)
            if arrival is not None and not (arrival.only_refusals and answer.response.error is NO_ERROR):
                arrival.response = answer.response
                arrivals.append(arrival)
        if len(arrivals) == 1:
            self.world.plan(TRAVEL_MS, arrivals[0])
        elif arrivals:
            self.world.plan(TRAVEL_MS, Arrivals(arrivals))

    def is_awaited(self) -> bool:
        """Whether a member waits for a response.

        One that expires while its SyncGroup waits is never answered (GroupCoordinator.removeMemberAndUpdateGroup).
        """
        given_up = [number for number, arrival in self.awaited.items() if arrival.attempt != arrival.client.attempt]
        for number in given_up:
            del self.awaited[number]
        return bool(self.awaited)

    # -- heartbeats that are not sent --------------------------------------------------------------------------

    def doze(self, member: AnyMember) -> bool:
        """Reckon a member's heartbeats after now.

        False if they may do more than prolong its session.
        """
        if member.node is None or not member.may_doze():
            return False
        if (self._session_ends_ms(member) or 0) <= self.world.now_ms + member.beat_ms:
            return False
        self.dozing[member], self._calm = self.world.now_ms, self._generation()
        return True

    def wake(self, member: AnyMember, until_ms: int) -> None:
        """Let a member send its heartbeats after a time."""
        if member in self.dozing:
            self._reckon(member, until_ms)
            next_ms = self.dozing.pop(member) + member.beat_ms
            member.beat_after(next_ms - self.world.now_ms)

    def _wake_unless_stable(self, until_ms: int) -> None:
        if self.dozing and self._calm != self._generation():
            for member in tuple(self.dozing):
                self.wake(member, until_ms)

    def _generation(self) -> int | None:
        """Generation of the classic group while it is stable, or epoch of another one."""
        group = self.classic.groups.get(self.seat.group)
        if group is not None:
            return group.generation if group.state is group_states.STABLE else None
        other = self.modern.groups.get(self.seat.group) if self.modern is not None else None
        return other.epoch if isinstance(other, ConsumerGroup) else None

    def _reckon(self, member: AnyMember, until_ms: int) -> None:
        """Prolong a member's session as its heartbeats up to a time would."""
        last_ms, beat_ms = self.dozing[member], member.beat_ms
        if until_ms - last_ms >= beat_ms and self._session_ends_ms(member) is not None:
            self.dozing[member] = last_ms = last_ms + (until_ms - last_ms) // beat_ms * beat_ms
            member.timers.schedule(member.session_kind, member.plan.name, member.member, last_ms + member.session_ms)

    @staticmethod
    def _session_ends_ms(member: AnyMember) -> int | None:
        return member.timers.due_ms(member.session_kind, member.plan.name, member.member)


@dataclass(slots=True, eq=False)
class QuietClient(Client):
    """A client without a log, whose requests and responses travel in one step."""

    cluster: QuietCluster
    world: SteadyWorld

    def say(self, message: str, level: str = "", /, **fields: Any) -> None:
        """Write nothing."""

    def _send(self, request: Request, receive: Receive, lost: Callable[[], None], *, only_refusals: bool = False) -> None:  # noqa: ARG002
        self.cluster.ask(request, Arrival(self, self.attempt, receive, only_refusals))

    def is_steady(self) -> bool:
        """Whether it does nothing but heartbeats."""
        if self.phase is not _STABLE or self._poll_planned:
            return False
        now_ms = self.world.now_ms
        return self.busy_until_ms <= now_ms and self.paused_until_ms <= now_ms

    def _awake(self) -> None:
        """Send heartbeats one by one again."""
        if self.cluster.dozing:
            self.cluster.wake(cast("AnyMember", self), self.world.now_ms)


@dataclass(slots=True, eq=False)
class Arrival:
    """A response on its way to the attempt that asked.

    A former process made former attempts only. With `only_refusals`, one without an error does nothing.
    """

    client: QuietClient
    attempt: int
    receive: Receive
    only_refusals: bool
    response: Response = field(init=False)

    def __call__(self) -> None:
        """Arrive now, or once the process is no longer held."""
        client, world = self.client, self.client.world
        if world.now_ms < client.paused_until_ms:
            world.plan(client.paused_until_ms - world.now_ms, self)
        elif client.attempt == self.attempt:
            self.receive(self.response)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Responses that arrive at the same time, in order."""

    arrivals: Sequence[Arrival]

    def __call__(self) -> None:
        """Arrive now."""
        for arrival in self.arrivals:
            arrival()


@dataclass(slots=True, eq=False)
class ClassicMember(QuietClient, Consumer):
    """A client of the classic protocol."""

    synced_ms: int = 0
    """Time of its last assignment, with what was left out."""

    def kill(self) -> None:
        """Kill the process without notice."""
        self._awake()
        Consumer.kill(self)

    def _reset(self, why: str) -> None:
        self._awake()  # one with a group.instance.id sends nothing when it misses a poll, and no heartbeat either
        Consumer._reset(self, why)

    def _send_leave(self, node: int, request: Leave, is_closing: bool) -> None:  # noqa: ARG002
        self._send(request, do_nothing, do_nothing, only_refusals=True)

    # -- heartbeats --------------------------------------------------------------------------------------------

    session_kind: ClassVar[TimerKind] = TimerKind.CLASSIC_SESSION
    timers: Timers = field(init=False)
    """The coordinator's timers, its session among them."""
    beat_ms: int = field(init=False)
    """Its heartbeat interval."""
    session_ms: int = field(init=False)
    """Its session timeout."""

    def __post_init__(self) -> None:
        Consumer.__post_init__(self)
        self.timers, self.beat_ms, self.session_ms = self.cluster.classic.timers, self.plan.heartbeat_ms, self.plan.session_ms

    def may_doze(self) -> bool:
        """Whether heartbeats only prolong its session: its group is stable."""
        group = self.cluster.classic.groups.get(self.plan.name)
        return (
            group is not None
            and group.state is group_states.STABLE
            and group.generation == self.generation
            and self.phase is _STABLE
            and self.member in group.members
        )

    def beat_after(self, after_ms: int) -> None:
        """Send the next heartbeat after a time."""
        attempt = self.attempt
        if self.phase is _STABLE:
            self.later(after_ms, lambda: self._beat_on(attempt))

    def _keep_contact(self, attempt: int) -> None:
        if not self.cluster.doze(self):
            self.later(self.plan.heartbeat_ms, lambda: self._beat_on(attempt))

    def _beat_on(self, attempt: int) -> None:
        if attempt == self.attempt and self.phase is _STABLE:
            self._send(self._heartbeat(), self._beaten, do_nothing, only_refusals=True)
            self._keep_contact(attempt)

    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(self.cluster.number(), self.plan.name, self.member, self.generation, self.instance)

    def _send(self, request: Request, receive: Receive, lost: Callable[[], None], *, only_refusals: bool = False) -> None:  # noqa: ARG002
        cluster = self.cluster
        if cluster.dozing and type(request) is not Heartbeat:
            cluster.wake(self, self.world.now_ms)
        cluster.ask(request, Arrival(self, self.attempt, receive, only_refusals))

    def _again(self) -> None:
        if self.node is None:
            Consumer._again(self)
            return
        self.phase = _JOINING
        self.attempt += 1
        self._send_join()

    def pause(self, for_ms: int) -> None:
        """Hold the process; one that wakes after its poll interval leaves at once."""
        self._awake()
        Consumer.pause(self, for_ms)
        if for_ms > self.plan.max_poll_ms:
            life = self.life
            self.world.plan(for_ms, lambda: self._wake(life))

    def _wake(self, life: int) -> None:
        """Notice the missed poll (HeartbeatThread.run checks it before it sends a heartbeat)."""
        if self.life == life and self.phase is _STABLE:
            self.act = "poll_timeout"
            self._leave(POLL_TIMED_OUT)
            self._reset("consumer pro-actively leaving the group")
            self._poll_soon()

    def contact(self) -> None:
        """Send a heartbeat out of turn, as a commit is one, too."""
        self._awake()
        if self.phase is _STABLE:
            self._send(self._heartbeat(), do_nothing, do_nothing)

    def commit_soon(self, interval_ms: int) -> None:
        """Let its next commit arrive.

        Intervals are counted from the last assignment (ConsumerCoordinator.onJoinComplete).
        """
        if self.phase is not _STABLE:
            return
        after_ms = (self.synced_ms - self.world.now_ms - self.world.skipped_ms) % interval_ms
        attempt = self.attempt
        self.later(after_ms, lambda: self._receive(attempt, self._commit))

    def _commit(self) -> None:
        if self.busy_until_ms <= self.world.now_ms:
            self.contact()

    def _assign(self, response: JoinResponse) -> dict[str, bytes]:
        """Assign only where a share decides about another rebalance: under a cooperative assignor."""
        if not self.is_cooperative:
            return dict.fromkeys((entry.member for entry in response.members), SOME_SHARE)
        return {member: assignment(share) for member, share in self._shares(response.members).items()}

    def _synced(self, response: Response) -> None:
        if response.error is NO_ERROR and not self.is_cooperative:  # shares do not matter
            self.phase, self.act = _STABLE, None
            self.attempt += 1
            self._keep_contact(self.attempt)
        else:
            Consumer._synced(self, response)
        self.synced_ms = self.world.now_ms + self.world.skipped_ms

    def nudge(self) -> None:
        """Join again."""
        self._rejoin("cached metadata has changed", "metadata_change")


NOT_IN_GROUP = frozenset({_STOPPED, _UNJOINED})


@dataclass(slots=True, eq=False)
class ModernMember(QuietClient, ModernConsumer):
    """A client of the consumer protocol."""

    session_kind: ClassVar[TimerKind] = TimerKind.SESSION
    timers: Timers = field(init=False)
    """The coordinator's timers, its session among them."""
    beat_ms: int = field(init=False)
    """Its heartbeat interval, which brokers set."""
    session_ms: int = field(init=False)
    """Its session timeout, which brokers set."""
    _groups: Mapping[str, ConsumerGroup | SimpleGroup] = field(init=False)

    def __post_init__(self) -> None:
        known = cast("ModernShard", self.cluster.modern)
        self._groups, self.timers = known.groups, known.timers
        self.beat_ms, self.session_ms = self.cluster.scenario.consumer_heartbeat_ms, known.settings.session_ms

    def may_doze(self) -> bool:
        """Whether heartbeats only prolong its session: it has all that it is to have."""
        group = self._groups.get(self.plan.name)
        if not isinstance(group, ConsumerGroup) or self.phase is not _STABLE or self.target is not None:
            return False
        group_member = group.members.get(self.member)
        is_current = group.epoch == group.target_epoch == self.generation and not self._is_stale
        return is_current and group_member is not None and group_member.epoch == self.generation and group.has_reached_target(group_member)

    def is_steady(self) -> bool:
        """Whether it does nothing but heartbeats."""
        return self.target is None and QuietClient.is_steady(self)

    def beat_after(self, after_ms: int) -> None:
        """Send the next heartbeat after a time."""
        chain = self._beats
        self.later(after_ms, lambda: self._beat(chain))

    def _beat(self, chain: int) -> None:
        if self.node is None:
            ModernConsumer._beat(self, chain)
        elif chain == self._beats and not self._is_stale and self.phase not in NOT_IN_GROUP:
            self._send_heartbeat(chain)
            if self.phase is not _JOINING:
                self._beat_later(chain)

    def _move(self, state: str, epoch: int | None = None) -> None:  # noqa: ARG002
        self.state = state

    def _beat_later(self, chain: int) -> None:
        if not self.cluster.doze(self):
            ModernConsumer._beat_later(self, chain)

    def _beat_now(self) -> None:
        self._awake()
        ModernConsumer._beat_now(self)

    def _leave(self, state: str) -> None:
        self._awake()
        ModernConsumer._leave(self, state)

    def kill(self) -> None:
        """Kill the process without notice."""
        self._awake()
        ModernConsumer.kill(self)

    def pause(self, for_ms: int) -> None:
        """Hold the process."""
        self._awake()
        ModernConsumer.pause(self, for_ms)

    def contact(self) -> None:
        """Do nothing: only heartbeats prolong sessions, and they come in turn."""

    def commit_soon(self, interval_ms: int) -> None:
        """Do nothing, either."""

    def nudge(self) -> None:
        """Do nothing: the coordinator notices new partitions by itself."""

    def _commit(self, attempt: int) -> None:
        """Commit nothing."""


AnyMember = ClassicMember | ModernMember
MEMBER_CLASSES: Mapping[str, type[AnyMember]] = {"classic": ClassicMember, "consumer": ModernMember}
