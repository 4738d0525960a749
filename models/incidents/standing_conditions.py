"""Conditions that stop a group without a rebalance.

Topics that a streams group's topology needs are missing, so that nobody gets tasks; records of a share group that no
member can process; share partitions whose records can't be acquired, acknowledged or released; threads of Streams that restore state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from models.events import Event, int_field, text_field
from models.evidence import evidence, line_of
from models.ids import make_id
from models.incidents.headline_facts import ApartFacts, LastDeliveryFacts, RestorationFacts, SharePartitionFacts, TopologyFacts
from models.incidents.incident_rows import incident_row
from models.incidents.refusals import REFUSAL_LINES_MAX
from models.rows import KAFKA, Incident
from models.tolerances import int_tolerance
from models.units import US_PER_SECOND

NOT_READY, POISON, TROUBLED = "topology_not_ready", "poison_record", "share_partition_troubled"
UNAVAILABLE = "coordinator_unavailable"
_CRITICAL = frozenset({NOT_READY, "not_initialised"})
"""Conditions in which members get nothing, by kind or by what goes wrong."""

NOT_READY_MIN_US = int_tolerance("incidents.standing_conditions.not_ready_min_us")
"""Two heartbeat intervals of streams members (group.streams.heartbeat.interval.ms).

Internal topics of a new application are missing for less, until the broker has created them.
"""

DELIVERIES_MAX = int_tolerance("incidents.standing_conditions.deliveries_max")
"""Delivery attempts after which a record is archived (group.share.delivery.count.limit)."""

UNAVAILABLE_MIN_US = int_tolerance("incidents.standing_conditions.unavailable_min_us")
"""Shortest search for a coordinator that needs attention."""

FOUND_IN_VAIN_US = int_tolerance("incidents.standing_conditions.found_in_vain_us")
"""A coordinator that is lost this soon was found in vain.

So was one that lets its client not join.
"""

RESTORING = "restoration_slow"
RESTORING_MIN_US = int_tolerance("incidents.standing_conditions.restoring_min_us")
"""Shortest restoration of state that needs attention."""

COORDINATOR_IDS_FROM = int_tolerance("incidents.standing_conditions.coordinator_ids_from")
"""Least id of a connection to a coordinator.

It is the largest integer minus the broker's id.
"""

CLIENTS_MAX = 1_000
"""Clients without coordinator that are remembered; beyond it the oldest go."""

REFUSED = "INVALID_RECORD_STATE"
"""Error of an acknowledgement whose record the member does not hold."""

NOT_READY_STATES = frozenset({"internal_topics_missing", "source_topics_missing", "partitions_differ"})
"""States of a topology in which nobody gets tasks."""


@dataclass(slots=True)
class StandingCondition:
    """One condition of a group.

    Times are microseconds; `ended_at` is None while it lasts.
    """

    kind: str
    ordinal: int
    first_at: int
    last_at: int
    ended_at: int | None = None
    count: int = 1
    lines: list[Event] = field(default_factory=list)
    topology_state: str = ""
    detail: str | None = None
    """State of the topology according to the line."""
    partition: str = ""
    offset: str = ""
    """Of the last record on its last delivery attempt."""
    why: str = ""
    """Kind of trouble with a share partition's records."""
    longest_us: int = 0
    """The longest time that a client had no coordinator, or restored state."""
    is_open: bool = False
    """Clients had found none when the logs ended."""

    def add(self, event: Event, at: int) -> None:
        """Take one more line about it."""
        self.last_at = max(self.last_at, at)
        if len(self.lines) < REFUSAL_LINES_MAX:
            self.lines.append(line_of(event))


@dataclass(slots=True)
class StandingConditions:
    """Conditions of one group that last, or that a later line may still join."""

    topology: StandingCondition | None = None
    over: list[StandingCondition] = field(default_factory=list)
    records: dict[str, StandingCondition] = field(default_factory=dict)
    """What several lines tell of, by partition.

    Records on their last delivery attempt, troubled partitions; and clients' searches for a coordinator, by its kind.
    """
    ordinal: int = 0
    lost: dict[str, Event] = field(default_factory=dict)
    """Lines by which clients lost their coordinator, until they find one."""
    is_told: bool = False
    """The coordinator's own lines tell of the topology, so answers to members need not."""
    kept_by: dict[str, str] = field(default_factory=dict)
    """What keeps clients from their coordinator, by client."""
    heard_at: dict[str, int] = field(default_factory=dict)
    """Times of the last lines of clients that look for one."""
    restoring: dict[str, Event | None] = field(default_factory=dict)
    """Lines by which threads that start got their tasks, until they work.

    None until they have some.
    """
    discoveries: dict[str, Event] = field(default_factory=dict)
    """Lines by which clients found a coordinator that may refuse them yet."""

    def feed(self, event: Event) -> None:
        """Take an event."""
        if self.restoring and (thread := f"{event.place.file} {event.client_id}") in self.restoring:
            self.heard_at[thread] = event.time_us
        if event.name == "StreamsTopologyChecked":
            self.is_told = True
            self._topology(event, str(event.fields.get("topology_state") or ""))
        elif event.name == "StreamsGroupHeartbeatCompleted" and not self.is_told:
            self._answered(event)
        elif event.name == "ShareRecordOnLastAttempt" and event.topic is not None:
            self._record(event, f"{event.topic}-{event.partition}")
        elif event.name == "SharePartitionTroubled" and event.topic is not None:
            self._troubled(event, f"{event.topic}-{event.partition}", str(event.fields.get("why")))
        elif event.name in ("ShareFetchCompleted", "ShareAcknowledgeCompleted"):
            self._acknowledged(event)
        elif event.name in _SEARCH or is_refused_by_coordinator(event):
            self._search(event, f"{event.place.file} {event.client_id}")
        elif event.name == "ClientThreadState":
            self._start(event, f"{event.place.file} {event.client_id}")

    def _answered(self, event: Event) -> None:
        """Take what an answer says of the topology."""
        state = event.fields.get("topology_state")
        if isinstance(state, str) and (self.topology is not None or state in NOT_READY_STATES):
            self._topology(event, state)

    def _acknowledged(self, event: Event) -> None:
        place = f"topic id {event.fields.get('topic_id')}, partition {event.partition}"
        if event.fields.get("error") == REFUSED:
            self._troubled(event, place, "refused")
        elif (int_field(event, "deliveries") or 0) >= DELIVERIES_MAX:
            self._record(event, place)

    def _search(self, event: Event, client: str) -> None:
        """Follow a client's search for its coordinator; a new consumer begins its own."""
        if event.name == "ClientUnreachable" and not _is_way_to_coordinator(event):
            return
        discovery = self.discoveries.pop(client, None)
        if event.name in _LOSSES or is_refused_by_coordinator(event):
            if discovery is not None and event.name in _LOSSES and event.time_us - discovery.time_us > FOUND_IN_VAIN_US:
                self._end_search(client, discovery)
            self.lost.setdefault(client, line_of(event))
            self.heard_at[client] = event.time_us
            if event.name == "ClientUnreachable":
                self.kept_by[client] = str(event.fields.get("why"))
            if len(self.lost) > CLIENTS_MAX:
                self._forget(next(iter(self.lost)))
            return
        if event.name == "ClientCoordinatorFound" and client in self.lost:
            self.discoveries[client] = discovery or line_of(event)
        elif discovery is not None:
            self._end_search(client, discovery)
        else:
            self._forget(client)

    def _end_search(self, client: str, discovery: Event) -> None:
        """End a client's search as it found a coordinator that it could use."""
        lost, why, _ = self._forget(client)
        if lost is not None and discovery.time_us - lost.time_us >= UNAVAILABLE_MIN_US:
            self._was_apart(lost, discovery, discovery.time_us, why)

    def _start(self, event: Event, thread: str) -> None:
        """Follow a thread of Streams from its first tasks until it works.

        What it restores in a later rebalance is part of the time for which it stopped then.
        """
        before, after = text_field(event, "from_state"), text_field(event, "to_state")
        if before == "STARTING" and after in _WAITING:
            self.restoring[thread] = line_of(event) if after == "PARTITIONS_ASSIGNED" else None
            if len(self.restoring) > CLIENTS_MAX:
                self._stop(next(iter(self.restoring)))
        elif before == "PARTITIONS_REVOKED" and after == "PARTITIONS_ASSIGNED" and thread in self.restoring:
            self.restoring[thread] = line_of(event)
        elif after not in _WAITING:
            begun, _ = self._stop(thread)
            if begun is not None and after == "RUNNING":
                self._has_restored(begun, event, event.time_us)

    def _stop(self, thread: str) -> tuple[Event | None, int]:
        return self.restoring.pop(thread, None), self.heard_at.pop(thread, 0)

    def _has_restored(self, begun: Event, done: Event | None, until: int) -> None:
        """Note that a thread restored state until a time, if that was long."""
        if until - begun.time_us < RESTORING_MIN_US:
            return
        known = self.records.get(RESTORING)
        if known is None:
            known = self.records[RESTORING] = self._begun(RESTORING, begun.time_us)
            known.count = 0
        known.first_at, known.count = min(known.first_at, begun.time_us), known.count + 1
        known.longest_us, known.is_open = max(known.longest_us, until - begun.time_us), known.is_open or done is None
        known.add(begun, begun.time_us)
        known.last_at = max(known.last_at, until)
        if done is not None:
            known.add(done, until)

    def _forget(self, client: str) -> tuple[Event | None, str, int]:
        self.discoveries.pop(client, None)
        return self.lost.pop(client, None), self.kept_by.pop(client, ""), self.heard_at.pop(client, 0)

    def _was_apart(self, lost: Event, discovery: Event | None, until: int, why: str) -> None:
        """Note that a client had no coordinator until it found one."""
        known = self.records.get(UNAVAILABLE)
        if known is None:
            known = self.records[UNAVAILABLE] = self._begun(UNAVAILABLE, lost.time_us)
            known.count = 0
        known.first_at, known.count = min(known.first_at, lost.time_us), known.count + 1
        known.longest_us, known.why = max(known.longest_us, until - lost.time_us), known.why or why
        known.is_open = known.is_open or discovery is None
        known.add(lost, lost.time_us)
        known.last_at = max(known.last_at, until)
        if discovery is not None:
            known.add(discovery, until)

    def _topology(self, event: Event, state: str) -> None:
        at = event.time_us
        if state not in NOT_READY_STATES:
            if self.topology is not None:
                self.topology.ended_at = at
                self.topology.add(event, at)
                self.over.append(self.topology)
            self.topology = None
            return
        if self.topology is None:
            self.topology = self._begun(NOT_READY, at)
        detail = event.fields.get("detail")
        self.topology.topology_state, self.topology.detail = state, str(detail).rstrip(".") if detail else None
        self.topology.add(event, at)

    def _record(self, event: Event, partition: str) -> None:
        known = self.records.get(partition)
        if known is None:
            known = self.records[partition] = self._begun(POISON, event.time_us)
        offset = str(event.fields.get("offset"))
        known.count += bool(known.offset) and known.offset != offset
        known.partition, known.offset = partition, offset
        known.add(event, event.time_us)

    def _troubled(self, event: Event, partition: str, why: str) -> None:
        known = self.records.get(f"{partition} {why}")
        if known is None:
            known = self.records[f"{partition} {why}"] = self._begun(TROUBLED, event.time_us)
            known.partition, known.why, known.count = partition, why, 0
        known.count += 1
        known.add(event, event.time_us)

    def _begun(self, kind: str, at: int) -> StandingCondition:
        self.ordinal += 1
        return StandingCondition(kind, self.ordinal, at, at)

    @property
    def may_end(self) -> bool:
        """Whether any is there that may be over."""
        return bool(self.records or self.over or self.discoveries)

    def over_by(self, until: int, gap_us: int) -> Iterator[tuple[int, StandingCondition]]:
        """Remove and yield conditions that are over, each with its time."""
        for client, discovery in list(self.discoveries.items()):
            if discovery.time_us + UNAVAILABLE_MIN_US < until:
                self._end_search(client, discovery)
        ended, self.over = self.over, []
        for condition in ended:
            if condition.ended_at is not None and condition.ended_at - condition.first_at >= NOT_READY_MIN_US:
                yield condition.ended_at + 1, condition
        for partition, condition in sorted(self.records.items(), key=lambda item: (item[1].last_at, item[0])):
            over_at = condition.last_at + gap_us + 1
            if over_at <= until:
                del self.records[partition]
                yield over_at, condition

    def open_at(self, until: int) -> Iterator[StandingCondition]:
        """Conditions that last when the logs end."""
        if self.topology is not None and until - self.topology.first_at >= NOT_READY_MIN_US:
            yield self.topology
        for client, discovery in list(self.discoveries.items()):
            self._end_search(client, discovery)
        for client in list(self.lost):
            lost, why, heard_at = self._forget(client)
            if lost is not None and heard_at - lost.time_us >= UNAVAILABLE_MIN_US:
                self._was_apart(lost, None, heard_at, why)
        for thread in list(self.restoring):
            begun, heard_at = self._stop(thread)
            if begun is not None:
                self._has_restored(begun, None, heard_at)
        yield from [self.records.pop(kind) for kind in (UNAVAILABLE, RESTORING) if kind in self.records]


_WAITING = frozenset({"PARTITIONS_REVOKED", "PARTITIONS_ASSIGNED"})
"""States of threads before they work."""

_LOSSES = frozenset({"ClientCoordinatorLost", "ClientUnreachable"})
"""Events of clients without coordinator."""

_SEARCH = _LOSSES | {"ClientCoordinatorFound", "ClientSubscribed", "ClientClosed", "ClientLeaveSent", "ClientJoined"}
"""Events about a search, or about a client that ends or begins."""


_COORDINATOR_REFUSALS = (
    *("notcoordinator", "notthecorrectcoordinator", "coordinatornotavailable", "coordinatorisnotavailable"),
    "notcoordinatedbythisbroker",
    *("loadinprogress", "loadingthegroup"),
)
"""Answers to JoinGroup of a broker that can't coordinate, by letters alone.

Errors.java, librdkafka, sarama.
"""


def is_refused_by_coordinator(event: Event) -> bool:
    """Whether a client asked a broker to join that is not its coordinator."""
    if event.name != "ClientJoinFailed":
        return False
    words = "".join(filter(str.isalpha, f"{event.fields.get('error') or ''} {event.text}")).lower()
    return any(refusal in words for refusal in _COORDINATOR_REFUSALS)


def _is_way_to_coordinator(event: Event) -> bool:
    """Whether the broker is a client's only way to its coordinator.

    Brokers known by their address alone have negative ids, and the connection to the coordinator counts down from the largest one
    (Cluster.bootstrap, AbstractCoordinator.FindCoordinatorResponseHandler).
    """
    peer = event.fields.get("peer")
    return isinstance(peer, int) and (peer < 0 or peer > COORDINATOR_IDS_FROM)


ConditionFacts: TypeAlias = TopologyFacts | LastDeliveryFacts | SharePartitionFacts | ApartFacts | RestorationFacts


def condition_incident(cluster: str, group: str, condition: StandingCondition) -> Incident[ConditionFacts]:
    """A condition as an incident."""
    return incident_row(
        cluster=cluster,
        system=KAFKA,
        incident_id=make_id("incident", make_id("condition", cluster, group, condition.kind, condition.ordinal)),
        kind=condition.kind,
        severity="critical" if {condition.kind, condition.why} & _CRITICAL else "warning",
        groups=[group],
        started_at=condition.first_at,
        ended_at=condition.ended_at if condition.kind == NOT_READY else condition.last_at,
        headline=_facts(group, condition),
        evidence=evidence(condition.lines),
    )


def _facts(group: str, condition: StandingCondition) -> ConditionFacts:
    if condition.kind == NOT_READY:
        return TopologyFacts(group, condition.topology_state, condition.detail)
    if condition.kind == UNAVAILABLE:
        return ApartFacts(group, condition.count, condition.longest_us / US_PER_SECOND, condition.why, condition.is_open)
    if condition.kind == RESTORING:
        return RestorationFacts(group, condition.count, condition.longest_us / US_PER_SECOND, condition.is_open)
    if condition.kind == TROUBLED:
        return SharePartitionFacts(group, condition.partition, condition.why, condition.count)
    return LastDeliveryFacts(group, condition.partition, condition.offset, condition.count - 1)
