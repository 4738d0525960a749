"""Java consumer of the consumer protocol (KIP-848), with its background thread.

Source: 4.0, AbstractMembershipManager.java, ConsumerMembershipManager.java, ConsumerHeartbeatRequestManager.java. A new
assignment is applied at the next poll, because the application may want to commit first; then a heartbeat confirms it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from models.kafka.coordinator.consumer.requests import JOIN_EPOCH, LEAVE_EPOCH, LEAVE_FOR_A_WHILE_EPOCH, ConsumerHeartbeat
from models.kafka.coordinator.consumer.responses import HeartbeatResponse
from models.kafka.coordinator.consumer.topic_partitions import PartitionSet, by_topic
from models.kafka.coordinator.protocol.embedded_consumer import Partition
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.protocol.requests import Commit
from models.kafka.coordinator.protocol.responses import Response
from models.kafka.simulation.client import COORDINATOR_GONE, RETRY_MS, Client, ClientPhase, names

# Looked up more quickly as names of the module (see `group_states`).
_STOPPED, _UNJOINED, _JOINING, _SYNCING, _STABLE = ClientPhase

JOINS_AGAIN = frozenset({Error.FENCED_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID})
RETRIED = frozenset({Error.COORDINATOR_LOAD_IN_PROGRESS})


@lru_cache(maxsize=1024)
def numbers_by_topic(owned: tuple[Partition, ...]) -> Mapping[str, frozenset[int]]:
    """Partition numbers in a heartbeat; most repeat the one before."""
    return {topic: frozenset(numbers) for topic, numbers in by_topic(owned).items()}


@dataclass(slots=True, eq=False)
class ModernConsumer(Client):
    """A client of the consumer protocol.

    Its phase is _JOINING until it has an epoch, then _SYNCING until it has applied its assignment.
    """

    state: str = "UNSUBSCRIBED"
    """Its state in log lines (MemberState.java)."""
    target: PartitionSet | None = None
    """Latest assignment that was not applied yet."""
    _told_topics: tuple[str, ...] = ()
    _is_stale: bool = False
    """Whether it left after a poll timeout and has not polled since."""
    _stale_since_ms: int = 0
    _beats: int = field(default=0)
    """Counts chains of heartbeats; only the last chain continues."""

    # -- the application ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the process."""
        self.state, self.target, self._told_topics = "UNSUBSCRIBED", None, ()
        self._is_stale = False
        Client.start(self)

    def close(self) -> None:
        """Close the consumer: leave, or leave temporarily as a static member."""
        self.act = "close"
        if self.phase is not _UNJOINED and not self._is_stale:
            self._move("PREPARE_LEAVING")
            self._release()
            self._leave("UNSUBSCRIBED")
        self.say("closed")
        self.kill()

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Change the subscription and send it with a heartbeat at once."""
        self.topics = topics
        self.say("subscribed", topics=sorted(topics))
        self.act = "subscription_change"
        if self.phase in (_SYNCING, _STABLE):
            self._beat_now()

    def _polled(self) -> None:
        if self._is_stale:
            self._return()
        elif self.phase is _UNJOINED:
            self.member = self.world.short_uuid()
            self._join()
        elif self.target is not None:
            self._take_over(self.target)

    def _poll_timed_out(self) -> None:
        """Leave after an exceeded poll interval, in the background thread."""
        if self.phase in (_STOPPED, _UNJOINED) or self._is_stale or self.busy_until_ms <= self.world.now_ms:
            return
        advice = ", which typically implies that the poll loop is spending too much time processing messages."
        self.say("modern_poll_timed_out", _advice=advice)
        self.act = "poll_timeout"
        self._is_stale, self._stale_since_ms = True, self.world.now_ms
        self._move("PREPARE_LEAVING")
        self._leave("STALE")
        self._release()
        self.attempt += 1
        self._poll_soon()

    def _return(self) -> None:
        """Rejoin with the same member id after a late poll."""
        late_ms = self.world.now_ms - self._stale_since_ms
        self.say("polled_too_late", exceeded_ms=late_ms, member_id=self.member)
        self._is_stale = False
        self._join()

    # -- heartbeats --------------------------------------------------------------------------------------------

    def _join(self) -> None:
        self.generation, self.phase, self._told_topics = JOIN_EPOCH, _JOINING, ()
        self.owned, self.target = (), None
        self.attempt += 1
        self._move("JOINING")
        self._beat_now()

    def _beat_now(self) -> None:
        """Send a heartbeat now and restart the interval."""
        self._beats += 1
        self._beat(self._beats)

    def _beat(self, chain: int) -> None:
        if chain != self._beats or self._is_stale or self.phase in (_STOPPED, _UNJOINED):
            return
        attempt = self.attempt
        self._with_coordinator(lambda: self._receive(attempt, lambda: self._send_heartbeat(chain)))
        if self.phase is not _JOINING:
            self._beat_later(chain)

    def _beat_later(self, chain: int) -> None:
        self.later(self.cluster.scenario.consumer_heartbeat_ms, lambda: self._beat(chain))

    def _send_heartbeat(self, chain: int) -> None:
        if chain == self._beats:
            self._send(self._heartbeat(), self._beaten, lambda: self.later(self.world.between(*RETRY_MS), self._beat_now))

    def _heartbeat(self) -> ConsumerHeartbeat:
        """Build a heartbeat: all fields when joining, otherwise changes and owned partitions."""
        joins = self.generation == JOIN_EPOCH
        fields: dict[str, Any] = {}
        if self._told_topics != self.topics:
            fields["topics"] = frozenset(self.topics)
            self._told_topics = self.topics
        if joins:
            fields |= {"rebalance_ms": self.plan.max_poll_ms, "topics": frozenset(self.topics)}
        owned = numbers_by_topic(self.owned)
        request_id = self.cluster.number()
        return ConsumerHeartbeat(
            request_id, self.plan.name, self.member, self.generation, self.instance, owned=owned, client_id=self.name, **fields
        )

    def _beaten(self, response: Response) -> None:
        if response.error is not NO_ERROR:
            self._refused(response.error)
            return
        answer = cast("HeartbeatResponse", response)
        joins, self.generation = self.phase is _JOINING, answer.epoch
        if joins:
            self.phase, self.act = _SYNCING, None
            self._beat_later(self._beats)
            self._commit_later()
        if answer.assignment is not None and answer.assignment != frozenset(self.owned):
            self.target = answer.assignment
            self._move("RECONCILING")
            self._poll_soon()
        elif joins:
            self._arrive()

    def _refused(self, error: Error) -> None:
        """Handle an error and resend all fields (HeartbeatState.reset)."""
        self._told_topics = ()
        if error in COORDINATOR_GONE:
            self._lose_coordinator(f"error response {error.value}", is_disconnected=False)
            self.later(self.world.between(*RETRY_MS), self._beat_now)
        elif error in RETRIED:
            self.later(self.world.between(*RETRY_MS), self._beat_now)
        elif error in JOINS_AGAIN:
            self._move("FENCED")
            self._release()
            self._join()
        else:
            self._move("FATAL")
            self.kill()

    def _take_over(self, share: PartitionSet) -> None:
        """Revoke and add partitions, then send a heartbeat at once."""
        before = frozenset(self.owned)
        if lost := tuple(sorted(before - share)):
            self.say("modern_revoking", detail=names(lost))
        self.owned, self.target = tuple(sorted(share)), None
        if gained := tuple(sorted(share - before)):
            self.say("assigned", partitions=names(gained))
        self._move("ACKNOWLEDGING")
        self._beat_now()
        self._arrive()

    def _arrive(self) -> None:
        self.phase = _STABLE
        self._move("STABLE")

    def _move(self, state: str, epoch: int | None = None) -> None:
        """Change the client's state and log it."""
        before, self.state = self.state, state
        shown = self.generation if epoch is None else epoch
        fields: Mapping[str, Any] = {"member_epoch": shown, "from_state": before, "to_state": state}
        self.say("member_state", member_id=self.member, **fields)

    def _release(self) -> None:
        if self.owned:
            self.say("modern_revoking", detail=names(self.owned))
        self.owned, self.target = (), None

    def _leave(self, state: str) -> None:
        """Send the leaving heartbeat without waiting for a response."""
        epoch = LEAVE_EPOCH if self.instance is None else LEAVE_FOR_A_WHILE_EPOCH
        self._move("LEAVING", epoch)
        request = ConsumerHeartbeat(self.cluster.number(), self.plan.name, self.member, epoch, self.instance, client_id=self.name)
        self._send(request, lambda _: None, lambda: None, only_refusals=True)
        self._move(state, epoch)

    # -- other -------------------------------------------------------------------------------------------------

    def see_new_partitions(self) -> None:
        """Do nothing, because the coordinator notices them itself."""

    def _tell_coordinator_found(self) -> None:
        node = self.node or 0
        where = {"_key": self.plan.name, "node": str(node), "_host": f"10.0.0.{node}", "_port": 9092, "_code": 0, "_message": ""}
        self.say("modern_coordinator_found", **where)

    def _reconnect(self) -> None:
        """Send a heartbeat after a lost connection."""
        if self.phase in (_STOPPED, _UNJOINED):
            return
        self._lose_coordinator("null", is_disconnected=True)
        self._beat_now()

    def _commit_later(self) -> None:
        attempt = self.attempt
        self.later(self.plan.commit_ms, lambda: self._commit(attempt))

    def _commit(self, attempt: int) -> None:
        if attempt != self.attempt:
            return
        if self.node is not None and self.owned and self.busy_until_ms <= self.world.now_ms:
            offsets = dict.fromkeys(self.owned, self.world.now_ms)
            request = Commit(self.cluster.number(), self.plan.name, offsets, self.member, self.generation, self.instance)
            self._send(request, lambda _: None, lambda: None, only_refusals=True)
        self._commit_later()
