"""A consumer as the Java client behaves: its application polls, its heartbeat thread beats, and both learn from answers.

AbstractCoordinator.java, ConsumerCoordinator.java: ensureActiveGroup, the response handlers, HeartbeatThread, maybeLeaveGroup.
Only the classic protocol with eager assignors is spoken. A client writes what its classes write at DEBUG and above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, cast

from models.kafka.coordinator.embedded import assigned, assignment, subscription
from models.kafka.coordinator.errors import Error
from models.kafka.coordinator.policy import parse_version
from models.kafka.coordinator.requests import Commit, Heartbeat, Join, Leave, Leaver, Protocol, Request, Sync
from models.kafka.coordinator.responses import JoinedMember, JoinResponse, Response, SyncResponse
from models.kafka.coordinator.subscription import CONSUMER, topics_of
from models.kafka.simulation.cluster import Cluster
from models.kafka.simulation.plain import shares
from models.kafka.simulation.scenario import GroupPlan
from models.kafka.simulation.world import World

RETRY_MS = (100, 400)
"""retry.backoff.ms, and what a search for the coordinator takes."""
POLL_TIMED_OUT = (
    "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the configured "
    "max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing messages. You can "
    "address this either by increasing max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with "
    "max.poll.records."
)
CLOSED = "the consumer is being closed"
COORDINATOR_ID = 2**31 - 1
FATAL = frozenset(
    {Error.GROUP_MAX_SIZE_REACHED, Error.FENCED_INSTANCE_ID, Error.INCONSISTENT_GROUP_PROTOCOL, Error.INVALID_SESSION_TIMEOUT}
)
TELLS_REFUSALS = (2, 7)
"""Since when a client tells at INFO why it will join again."""
GONE = frozenset({Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE})


class Phase(Enum):
    """How far a client is with the group (MemberState)."""

    STOPPED = "stopped"
    UNJOINED = "unjoined"
    JOINING = "joining"
    SYNCING = "syncing"
    STABLE = "stable"


@dataclass(slots=True, eq=False)
class Consumer:
    """One client. A life ends with each stop: what was planned in an earlier one is void."""

    world: World
    cluster: Cluster
    plan: GroupPlan
    name: str
    instance: str | None = None
    topics: tuple[str, ...] = ()
    phase: Phase = Phase.STOPPED
    member: str = ""
    generation: int = -1
    node: int | None = None
    owned: tuple[tuple[str, int], ...] = ()
    life: int = 0
    attempt: int = 0
    """Counts joins and stable times; what belongs to an earlier one is void."""
    busy_until_ms: int = 0
    paused_until_ms: int = 0
    cut_until_ms: int = 0
    why: str | None = None
    """What it will give as the reason of its next join (KIP-800)."""
    act: str | None = None
    """Why it last joined or left, as whoever made it do so knows; for the truth."""
    _poll_planned: bool = field(default=False)
    _leads: bool = field(default=False)
    _assigned_topics: dict[str, int] = field(default_factory=dict)
    """Partition counts when it last made an assignment (assignmentSnapshot)."""

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self.phase is not Phase.STOPPED

    # -- the application ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the process."""
        self.life += 1
        self.phase, self.member, self.generation, self.node, self.owned = Phase.UNJOINED, "", -1, None, ()
        self.busy_until_ms = self.paused_until_ms = self.cut_until_ms = 0
        self.why = self.act = None
        self._poll_planned = self._leads = False
        self.topics = self.topics or tuple(self.plan.topics)
        self.say("subscribed", topics=sorted(self.topics))
        self._poll_soon()

    def kill(self) -> None:
        """End the process; nobody is told, and what is on its way to it is for nobody."""
        self.life += 1
        self.attempt += 1
        self.phase = Phase.STOPPED

    def close(self) -> None:
        """Close the consumer: a dynamic member says good-bye."""
        self.act = "close"
        self._leave(CLOSED)
        self.say("closed")
        self.kill()

    def poll_slowly(self, for_ms: int) -> None:
        """Let the application be busy with what it has polled."""
        now = self.world.now_ms
        self.busy_until_ms = max(self.busy_until_ms, now + for_ms)
        if for_ms > self.plan.max_poll_ms:
            self.later(self.plan.max_poll_ms, self._poll_timed_out)

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Let the application want other topics."""
        self.topics = topics
        self.say("subscribed", topics=sorted(topics))
        self._rejoin("subscription has changed", "subscription_change")

    def see_new_partitions(self) -> None:
        """Learn from fresh metadata that topics have grown since they were assigned; only the leader does anything about it."""
        if self._leads and self.phase is Phase.STABLE and self._assigned_topics != self.cluster.topics:
            self._rejoin("cached metadata has changed", "metadata_change")

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
        self.world.say(
            self.name, f"kafka.client.{message}", level, client_id=self.name, group=self.plan.name, instance_id=self.instance, **fields
        )

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
        elif self.phase in (Phase.UNJOINED, Phase.STABLE):
            self._join()

    def _rejoin(self, why: str, act: str | None = None) -> None:
        """Join again with the next poll (requestRejoin)."""
        if self.phase is Phase.STOPPED:
            return
        self.why = why
        self.act = act
        self.say("rejoin_requested", why=why)
        if self.phase is Phase.STABLE:
            self._poll_soon()

    def _poll_timed_out(self) -> None:
        """The heartbeat thread finds that nobody polls any more (handlePollTimeoutExpiry)."""
        if self.phase is not Phase.STABLE or self.busy_until_ms <= self.world.now_ms:
            return
        self.say("poll_timed_out", _advice=POLL_TIMED_OUT.partition("max.poll.interval.ms")[2])
        self.act = "poll_timeout"
        self._leave(POLL_TIMED_OUT)
        self._reset("consumer pro-actively leaving the group")
        self._poll_soon()

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
        self.say("coordinator_found", **self._coordinator())
        action()

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

    def _reconnect(self) -> None:
        """A cut is over: what was on its way is lost, and a join that waited is sent again."""
        self._lose_coordinator("session timed out without receiving a heartbeat response", disconnected=False)
        if self.phase in (Phase.JOINING, Phase.SYNCING):
            self._again()
        elif self.phase is Phase.STABLE:
            self.attempt += 1
            self._beat_on(self.attempt)

    # -- joining -----------------------------------------------------------------------------------------------

    def _join(self) -> None:
        if self.owned:
            self.say("revoked", partitions=[f"{topic}-{number}" for topic, number in self.owned])
            self.owned = ()
        self._again()

    def _again(self) -> None:
        self.phase = Phase.JOINING
        self.attempt += 1
        attempt = self.attempt
        self._with_coordinator(lambda: self._receive(attempt, self._send_join))

    def _send_join(self) -> None:
        plan, metadata = self.plan, subscription(self.topics)
        self.say("joining")
        request = Join(
            self.cluster.number(),
            plan.name,
            self.member,
            CONSUMER,
            (Protocol("range", metadata),),
            plan.session_ms,
            plan.max_poll_ms,
            self.instance,
            self.name,
            "/10.0.1.1",
            require_known_member_id=self.cluster.policy.hands_out_member_ids,
            supports_skip_assignment=self.cluster.policy.skips_assignment,
            reason=self.why,
        )
        self._send(request, self._joined, lambda: self.later(self.world.between(*RETRY_MS), self._again))

    def _joined(self, response: Response) -> None:
        answer, error = cast("JoinResponse", response), response.error
        if error is Error.NONE:
            self._sync(answer)
        elif error is Error.MEMBER_ID_REQUIRED:
            self.member = answer.member
            self.why = f"need to re-join with the given member-id: {answer.member}"
            self.say("member_id_given", member_id=answer.member, _generation=-1, _member_id=None, _protocol="null")
            self.say("rejoin_requested", why=self.why)
            self._again()
        elif error in FATAL:
            self.say("join_failed", error=error.value)
            self.kill()
        else:
            self._refused("join_failed", error)

    def _refused(self, message: str, error: Error) -> None:
        """A join or sync was refused; go on as the error asks."""
        self.say(
            message,
            "INFO" if parse_version(self.cluster.policy.version) >= TELLS_REFUSALS else "DEBUG",
            error=error.value,
            generation=self.generation,
            member_id=self.member or None,
            _protocol="range",
        )
        if error in GONE:
            self._lose_coordinator(f"error response {error.value}", disconnected=False)
        elif error in (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION):
            self.member, self.generation = "", -1
        self.why = f"rebalance failed due to '{error.value}'"
        self.later(self.world.between(*RETRY_MS), self._again)

    def _sync(self, response: JoinResponse) -> None:
        self.member, self.generation = response.member, response.generation
        self.phase, self.why = Phase.SYNCING, None
        self._leads = response.leader == response.member
        self.say("joined", generation=response.generation, member_id=response.member, protocol=response.protocol)
        made = self._assign(response) if self._leads and not response.skip_assignment else {}
        protocol = (CONSUMER, response.protocol)
        request = Sync(self.cluster.number(), self.plan.name, self.member, self.generation, made, self.instance, *protocol)
        self._send(request, self._synced, lambda: self.later(self.world.between(*RETRY_MS), self._again))

    def _assign(self, response: JoinResponse) -> dict[str, bytes]:
        wanted = {each.member: topics_of(each.metadata) or frozenset() for each in response.members}
        self._assigned_topics = dict(self.cluster.topics)
        made = shares(self._in_order(response.members), wanted, self.cluster.topics)
        told = ", ".join(f"{member}=Assignment(partitions=[{', '.join(f'{t}-{n}' for t, n in share)}])" for member, share in made.items())
        self.say("assignment_made", generation=self.generation, assignments="{" + told + "}")
        return {member: assignment(share) for member, share in made.items()}

    @staticmethod
    def _in_order(members: tuple[JoinedMember, ...]) -> list[str]:
        return [each.member for each in sorted(members, key=lambda each: (each.instance is None, each.instance or each.member))]

    def _synced(self, response: Response) -> None:
        if response.error is not Error.NONE:
            self._refused("sync_failed", response.error)
            return
        self.phase = Phase.STABLE
        self.attempt += 1
        self.act = None
        self.owned = assigned(cast("SyncResponse", response).assignment)
        self.say("synced", generation=self.generation, member_id=self.member, protocol="range")
        self.say("assigned", partitions=[f"{topic}-{number}" for topic, number in self.owned])
        attempt = self.attempt
        self.later(self.plan.heartbeat_ms, lambda: self._beat_on(attempt))
        self.later(self.plan.commit_ms, lambda: self._commit_on(attempt))

    # -- between rebalances ------------------------------------------------------------------------------------

    def _beat_on(self, attempt: int) -> None:
        if attempt != self.attempt or self.phase is not Phase.STABLE:
            return
        if self.node is None:
            self._with_coordinator(lambda: None)
        if self.node is not None:
            request = Heartbeat(self.cluster.number(), self.plan.name, self.member, self.generation, self.instance)
            self._send(request, self._beaten, lambda: None)
        self.later(self.plan.heartbeat_ms, lambda: self._beat_on(attempt))

    def _beaten(self, response: Response) -> None:
        error = response.error
        if error is Error.NONE or self.phase is not Phase.STABLE:
            return
        if error is Error.REBALANCE_IN_PROGRESS:
            self.say("heartbeat_rebalancing")
            if not self._poll_planned:
                self._rejoin("group is already rebalancing")
        elif error in GONE:
            self._lose_coordinator(f"error response {error.value}", disconnected=False)
        else:
            self.say("heartbeat_failed", generation=self.generation, member_id=self.member, error=error.value, _protocol="range")
            self._reset(f"encountered {error.value} from HEARTBEAT response")
            self._poll_soon()

    def _commit_on(self, attempt: int) -> None:
        if attempt != self.attempt or self.phase is not Phase.STABLE:
            return
        if self.node is not None and self.owned and self.busy_until_ms <= self.world.now_ms:
            offsets = dict.fromkeys(self.owned, self.world.now_ms)
            request = Commit(self.cluster.number(), self.plan.name, offsets, self.member, self.generation, self.instance)
            self._send(request, lambda _: None, lambda: None)
        self.later(self.plan.commit_ms, lambda: self._commit_on(attempt))

    def _reset(self, why: str) -> None:
        """Give member id and generation up (resetStateAndGeneration)."""
        self.say("generation_reset", why=why)
        self.say("rejoin_requested", why=why)
        self.phase, self.member, self.generation, self.why = Phase.UNJOINED, "", -1, why
        self.attempt += 1
        if self.owned:
            self.say("lost", partitions=[f"{topic}-{number}" for topic, number in self.owned])
            self.owned = ()

    def _leave(self, why: str) -> None:
        """Tell the coordinator, unless it wouldn't know or is to wait for the instance (maybeLeaveGroup)."""
        if self.instance is not None or self.node is None or not self.member or self.phase is Phase.UNJOINED:
            return
        self.say("leave_sent", member_id=self.member, **self._coordinator(), why=why)
        request = Leave(self.cluster.number(), self.plan.name, (Leaver(self.member, None, why),))
        self._send(request, lambda _: None, lambda: None)
