"""Java consumer of the classic protocol, with polling and heartbeats.

Source: AbstractCoordinator.java, ConsumerCoordinator.java (ensureActiveGroup, the response handlers, HeartbeatThread,
maybeLeaveGroup). With an eager assignor it revokes all partitions before a join. With the cooperative one it revokes
only what it loses and then joins once more (KIP-429). Log lines are those at DEBUG and above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from models.kafka.coordinator.protocol.embedded_consumer import Partition, assigned, assignment, subscription
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.protocol.requests import Join, Leave, Leaver, Protocol, Sync
from models.kafka.coordinator.protocol.responses import JoinedMember, JoinResponse, LeaveResponse, Response, SyncResponse
from models.kafka.coordinator.protocol.subscription import CONSUMER, topics_of
from models.kafka.coordinator.runtime.version_policy import parse_version
from models.kafka.simulation.assignment import cooperative_sticky_assignment, owned_partitions, range_assignment
from models.kafka.simulation.client import COORDINATOR_GONE, RETRY_MS, Client, ClientPhase, names
from models.kafka.simulation.cluster import Flight
from models.kafka.simulation.contacts import RepeatedContact, commit, heartbeat, sender_of
from models.kafka.simulation.scenario import COOPERATIVE

# Looked up more quickly as names of the module (see `group_states`).
_STOPPED, _UNJOINED, _JOINING, _SYNCING, _STABLE = ClientPhase

POLL_TIMED_OUT = (
    "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the configured "
    "max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing messages. You can "
    "address this either by increasing max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with "
    "max.poll.records."
)
CLOSED = "the consumer is being closed"
CLOSE_TIMEOUT_MS = 30_000
"""How long a close waits for answers (KafkaConsumer.DEFAULT_CLOSE_TIMEOUT_MS)."""
_FOLLOWUP = "cooperative_followup"
FATAL = frozenset(
    {Error.GROUP_MAX_SIZE_REACHED, Error.FENCED_INSTANCE_ID, Error.INCONSISTENT_GROUP_PROTOCOL, Error.INVALID_SESSION_TIMEOUT}
)
TELLS_REFUSALS = (2, 7)
"""First version with the reason for a rejoin at INFO."""
LOSES_PARTITIONS = (2, 4)
"""First version that gives partitions up as lost with the generation (KIP-429).

Members before revoke them with their next join, and log it even if they have none.
"""


@lru_cache(maxsize=1024)
def protocols_of(assignor: str, topics: tuple[str, ...], owned: tuple[Partition, ...] | None) -> tuple[Protocol, ...]:
    """Protocols that a join offers; most equal those of the previous join."""
    return (Protocol(assignor, subscription(topics, owned)),)


@lru_cache(maxsize=1024)
def of_topics(share: tuple[Partition, ...], topics: tuple[str, ...]) -> tuple[Partition, ...]:
    """Partitions of a share whose topics are subscribed.

    Most shares equal those of the previous join.
    """
    return tuple(partition for partition in share if partition[0] in topics)


def without(share: tuple[Partition, ...], other: tuple[Partition, ...]) -> tuple[Partition, ...]:
    """Partitions of a share that another one does not have."""
    return tuple(partition for partition in share if partition not in other) if share != other else ()


@dataclass(slots=True, eq=False)
class Consumer(Client):
    """A client of the classic protocol, with eager or cooperative assignor."""

    why: str | None = None
    """Reason for its next join (KIP-800)."""
    _leads: bool = False
    _assigned_topics: dict[str, int] = field(default_factory=dict)
    """Partition counts at its last assignment as leader (assignmentSnapshot)."""
    is_cooperative: bool = field(init=False)
    """Whether it keeps its partitions while it joins."""
    _needs_preparation: bool = True
    """Whether it has yet to revoke before its next join (needsJoinPrepare)."""
    _is_old: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_cooperative = self.plan.assignor == COOPERATIVE
        self._is_old = parse_version(self.cluster.policy.version) < LOSES_PARTITIONS

    # -- the application ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the process."""
        self.why, self._leads = None, False
        Client.start(self)

    def close(self) -> None:
        """Close the consumer; a dynamic member leaves the group."""
        self.act = "close"
        self._leave(CLOSED, is_closing=True)
        self.kill()

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Change the application's subscription."""
        self.topics = topics
        self.say("subscribed", topics=sorted(topics))
        self._rejoin("subscription has changed", "subscription_change")

    def see_new_partitions(self) -> None:
        """Notice added partitions; only the leader rejoins."""
        if self._leads and self.phase is _STABLE and self._assigned_topics != self.cluster.topics:
            self._rejoin("cached metadata has changed", "metadata_change")

    # -- polling -----------------------------------------------------------------------------------------------

    def _polled(self) -> None:
        if self.phase in (_UNJOINED, _STABLE):
            self._join()

    def _rejoin(self, why: str, act: str | None = None) -> None:
        """Rejoin with the next poll (requestRejoin)."""
        if self.phase is _STOPPED:
            return
        self.why = why
        self.act = act
        self.say("rejoin_requested", why=why)
        if self.phase is _STABLE:
            self._poll_soon()

    def _poll_timed_out(self) -> None:
        """Leave after an exceeded poll interval, in the heartbeat thread.

        Source: handlePollTimeoutExpiry. An unknown coordinator is looked up first (HeartbeatThread.run).
        """
        if self.phase is not _STABLE or self.busy_until_ms <= self.world.now_ms:
            return
        if self.node is None:
            attempt = self.attempt
            self._with_coordinator(lambda: self._receive(attempt, self._poll_timed_out))
            return
        self.say("poll_timed_out", _advice=POLL_TIMED_OUT.partition("max.poll.interval.ms")[2])
        self.act = "poll_timeout"
        self._leave(POLL_TIMED_OUT)
        self._reset("consumer pro-actively leaving the group")
        self._poll_soon()

    def _tell_coordinator_found(self) -> None:
        self.say("coordinator_found", **self._coordinator())

    def _reconnect(self) -> None:
        """Continue after a cut; a pending join is sent again."""
        self._lose_coordinator("session timed out without receiving a heartbeat response", is_disconnected=False)
        if self.phase in (_JOINING, _SYNCING):
            self._again()
        elif self.phase is _STABLE:
            self.attempt += 1
            self._beat_on(self.attempt)

    # -- joining -----------------------------------------------------------------------------------------------

    def _join(self) -> None:
        """Join once the coordinator is known, with partitions to revoke first."""
        self._needs_preparation = True
        self._again()

    def _prepare(self) -> None:
        """Revoke partitions as needed before the first request (onJoinPrepare)."""
        self._needs_preparation = False
        kept = of_topics(self.owned, self.topics) if self.is_cooperative else ()
        lost = without(self.owned, kept)
        if not lost and self._is_old:
            self.say("revoked", partitions=())
        self._revoke(lost)

    def _revoke(self, lost: tuple[Partition, ...], how: str = "revoked") -> None:
        if lost:
            self.say(how, partitions=names(lost))
            self.owned = tuple(partition for partition in self.owned if partition not in lost)

    def _again(self) -> None:
        self.phase = _JOINING
        self.attempt += 1
        attempt = self.attempt
        self._with_coordinator(lambda: self._receive(attempt, self._send_join))

    def _send_join(self) -> None:
        plan = self.plan
        if self._needs_preparation:
            self._prepare()
        self.say("joining")
        request = Join(
            self.cluster.number(),
            plan.name,
            self.member,
            CONSUMER,
            protocols_of(plan.assignor, self.topics, self.owned if self.is_cooperative else None),
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
        if error is NO_ERROR:
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
        """Handle the error of a join or sync."""
        self.say(
            message,
            "INFO" if parse_version(self.cluster.policy.version) >= TELLS_REFUSALS else "DEBUG",
            error=error.value,
            generation=self.generation,
            member_id=self.member or None,
            _protocol=self.plan.assignor,
        )
        if error in COORDINATOR_GONE:
            self._lose_coordinator(f"error response {error.value}", is_disconnected=False)
        elif error in (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION):
            self.member, self.generation = "", -1
        self.why = f"rebalance failed due to '{error.value}'"
        self.later(self.world.between(*RETRY_MS), self._again)

    def _sync(self, response: JoinResponse) -> None:
        self.member, self.generation = response.member, response.generation
        self.phase, self.why = _SYNCING, None
        self._leads = response.leader == response.member
        self.say("joined", generation=response.generation, member_id=response.member, protocol=response.protocol)
        made = self._assign(response) if self._leads and not response.skip_assignment else {}
        protocol = (CONSUMER, response.protocol)
        request = Sync(self.cluster.number(), self.plan.name, self.member, self.generation, made, self.instance, *protocol)
        self._send(request, self._synced, lambda: self.later(self.world.between(*RETRY_MS), self._again))

    def _assign(self, response: JoinResponse) -> dict[str, bytes]:
        self._assigned_topics = dict(self.cluster.topics)
        made = self._shares(response.members)
        assignments = ", ".join(f"{member}=Assignment(partitions=[{', '.join(names(tuple(share)))}])" for member, share in made.items())
        self.say("assignment_made", generation=self.generation, assignments="{" + assignments + "}")
        return {member: assignment(share) for member, share in made.items()}

    def _shares(self, members: tuple[JoinedMember, ...]) -> dict[str, list[Partition]]:
        """Partitions by member."""
        wanted = {member.member: topics_of(member.metadata) or frozenset() for member in members}
        if self.is_cooperative:
            return cooperative_sticky_assignment(
                wanted, self.cluster.topics, {member.member: owned_partitions(member.metadata) for member in members}
            )
        return range_assignment(self._in_order(members), wanted, self.cluster.topics)

    @staticmethod
    def _in_order(members: tuple[JoinedMember, ...]) -> list[str]:
        return [member.member for member in sorted(members, key=lambda member: (member.instance is None, member.instance or member.member))]

    def _synced(self, response: Response) -> None:
        if response.error is not NO_ERROR:
            self._refused("sync_failed", response.error)
            return
        self.phase = _STABLE
        self.attempt += 1
        self.act = None
        share = assigned(cast("SyncResponse", response).assignment)
        added, lost = without(share, self.owned), without(self.owned, share)
        self.say("synced", generation=self.generation, member_id=self.member, protocol=self.plan.assignor)
        if self.is_cooperative:
            self._revoke(lost)
        self.owned = share
        self.say("assigned", partitions=names(added))
        if lost and self.is_cooperative:
            self._rejoin(f"need to revoke partitions [{', '.join(names(lost))}] as indicated by the current assignment", _FOLLOWUP)
        self._keep_contact(self.attempt)

    # -- between rebalances ------------------------------------------------------------------------------------

    def _keep_contact(self, attempt: int) -> None:
        """Begin to send heartbeats and commits."""
        self._beat_later(attempt)
        self._commit_later(attempt)

    def _beat_later(self, attempt: int) -> None:
        interval_ms = self.plan.heartbeat_ms
        self.world.plan(interval_ms, RepeatedContact(self, self.life, lambda: self._beat_on(attempt), attempt, interval_ms, self._beaten))

    def _commit_later(self, attempt: int) -> None:
        interval_ms = self.plan.commit_ms
        self.world.plan(interval_ms, RepeatedContact(self, self.life, lambda: self._commit_on(attempt), attempt, interval_ms))

    def _beat_on(self, attempt: int) -> None:
        if attempt != self.attempt or self.phase is not _STABLE:
            return
        if self.node is None:
            self._with_coordinator(lambda: None)
        if self.node is not None:
            self._send(heartbeat(self, sender_of(self)), self._beaten, lambda: None, only_refusals=True)
        self._beat_later(attempt)

    def _beaten(self, response: Response) -> None:
        error = response.error
        if error is NO_ERROR or self.phase is not _STABLE:
            return
        if error is Error.REBALANCE_IN_PROGRESS:
            self.say("heartbeat_rebalancing")
            if not self._poll_planned:
                self._rejoin("group is already rebalancing")
        elif error in COORDINATOR_GONE:
            self._lose_coordinator(f"error response {error.value}", is_disconnected=False)
        else:
            self.say("heartbeat_failed", generation=self.generation, member_id=self.member, error=error.value, _protocol=self.plan.assignor)
            self._reset(f"encountered {error.value} from HEARTBEAT response")
            self._poll_soon()

    def _commit_on(self, attempt: int) -> None:
        if attempt != self.attempt or self.phase is not _STABLE:
            return
        if self.node is not None and self.owned and self.busy_until_ms <= self.world.now_ms:
            request = commit(self, sender_of(self), self.world.now_ms, self.owned)
            self._send(request, lambda _: None, lambda: None, only_refusals=True)
        self._commit_later(attempt)

    def _reset(self, why: str) -> None:
        """Give up member id and generation (resetStateAndGeneration)."""
        self.say("generation_reset", why=why)
        self.say("rejoin_requested", why=why)
        self.phase, self.member, self.generation, self.why = _UNJOINED, "", -1, why
        self.attempt += 1
        if not self._is_old:
            self._revoke(self.owned, "lost")

    def _leave(self, why: str, *, is_closing: bool = False) -> None:
        """Leave the group, except as a static or unknown member (maybeLeaveGroup)."""
        if self.instance is None and self.node is not None and self.member and self.phase is not _UNJOINED:
            self.say("leave_sent", member_id=self.member, **self._coordinator(), why=why)
            self._send_leave(self.node, Leave(self.cluster.number(), self.plan.name, (Leaver(self.member, None, why),)), is_closing)
        elif is_closing:
            self._tell_closed()

    def _tell_closed(self) -> None:
        self.say("closed")

    def _send_leave(self, node: int, request: Leave, is_closing: bool) -> None:
        """Send LeaveGroup.

        A process that closes waits for the answer, while it is over for all else.
        """
        sent_ms, identity, coordinator = self.world.now_ms, self._identity(), self._coordinator()

        def lose() -> None:
            if is_closing:
                self._tell_coordinator_lost(coordinator, "null", is_disconnected=True)
                self._tell_closed()

        def receive(response: Response) -> None:
            if self.world.now_ms < self.cut_until_ms:
                if is_closing:
                    self._wait_in_vain(lose)
                return
            self._tell_of_leave(response, sent_ms, identity)
            if is_closing:
                self._tell_closed()

        if sent_ms >= self.cut_until_ms:
            self.cluster.send(node, Flight(request, self.name, receive, lose))
        elif is_closing:
            self._wait_in_vain(lose)

    def _wait_in_vain(self, lose: Callable[[], None]) -> None:
        """Wait until the connection ends, or the time for the close (AbstractCoordinator.close)."""
        left_ms = self.cut_until_ms - self.world.now_ms
        self.world.plan(min(left_ms, CLOSE_TIMEOUT_MS), lose if left_ms <= CLOSE_TIMEOUT_MS else self._give_up_closing)

    def _give_up_closing(self) -> None:
        self.say("leave_unanswered", _detail=1)
        self._tell_closed()

    def _identity(self) -> dict[str, Any]:
        return {"_generation": self.generation, "member_id": self.member, "_protocol": self.plan.assignor}

    def _tell_of_leave(self, response: Response, sent_ms: int, identity: dict[str, Any]) -> None:
        """Log the answer (LeaveGroupResponseHandler)."""
        now_ms, answer = self.world.now_ms, cast("LeaveResponse", response)
        errors = [error for error in (answer.error, *(member.error for member in answer.members)) if error is not NO_ERROR]
        if errors:
            self.say("leave_refused", **identity, error=errors[0].value)
        else:
            received = f"ClientResponse(receivedTimeMs={now_ms}, latencyMs={now_ms - sent_ms}, disconnected=false)"
            self.say("leave_answered", **identity, _response=received)
