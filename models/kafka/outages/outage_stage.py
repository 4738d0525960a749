"""Outage stage: turns events of a cluster's partitions into final rows.

Time advances with the events. When the next event comes, everything about a partition that ended OUTAGE_LATENESS_US ago is
emitted and pruned. Outages of partitions and brokers also wait until their incident is closed. The stage therefore
holds only what is open or recent, and its checkpoint is as small.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from models import state_codec as state_text
from models.events import Event
from models.evidence import line_of
from models.incidents.episodes import EPISODE_GAP_SECONDS
from models.incidents.headline_facts import HeadlineFacts
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.outages.affected_groups import Readers, RebalanceAfterOutage
from models.kafka.outages.broker_loss import ClusterLayout, broker_rows, layout_of, placement_rows
from models.kafka.outages.directory_incidents import directory_incident, explain_failure
from models.kafka.outages.full_disks import full_disk_incidents
from models.kafka.outages.leader_moves import leader_moves
from models.kafka.outages.outage_incidents import (
    TAKEOVER_US,
    harmless,
    joins_until,
    losses_of,
    outage_episodes,
    outage_incidents,
    stands_behind,
    takeover_episodes,
    takeover_incidents,
)
from models.kafka.outages.outage_rows import broker_outage, clock_divergences, partition_outages
from models.kafka.outages.quorum_elections import quorum_incidents
from models.kafka.outages.slow_loads import slow_load_incidents
from models.kafka.outages.stale_leaders import stale_leader_incidents
from models.kafka.outages.under_replication import under_replicated_spans
from models.kafka.partitions.broker_clocks import BrokerClocks, Skew, on_one_clock
from models.kafka.partitions.brokers import BrokerAbsence
from models.kafka.partitions.event_fields import OFFSETS_TOPIC
from models.kafka.partitions.isr import Shortage
from models.kafka.partitions.partition_history import Leadership, PartitionHistory
from models.kafka.partitions.partition_stage import PartitionStage
from models.kafka.partitions.suspected_failures import suspicions_of
from models.rows import (
    Broker,
    BrokerOutage,
    Divergence,
    Incident,
    LeaderMove,
    PartitionOutage,
    PartitionPlacement,
    UnderReplicatedSpan,
)
from models.tolerances import int_tolerance
from models.units import FOREVER, US_PER_SECOND

OUTAGE_LATENESS_US = int_tolerance("kafka.outages.allowed_lateness_us")
"""Allowed lateness in microseconds.

Lines may be late because of clocks (beyond this they count as time zones), because a broker logs after its return, and
because several files are merged.
"""

_DRAIN_BATCH_ROWS = 1_000
"""Number of final rows that are drained at once."""

_OF_ROWS = ("partition_outages", "under_replicated_spans", "leader_moves", "broker_outages", "incidents", "divergences")
_CHECKPOINT_FIELDS = ("outages", "moved", "vacated", "event_count", "_coordinators_told", "_due", "_number", "_check_at")
_HELD_OF_PARTITIONS = {
    "partitions": "partitions",
    "brokers": "brokers",
    "kraft": "is_kraft",
    "unclean_topics": "unclean_topics",
    "unclean_default": "unclean_default",
    "controllers": "controllers",
    "takeovers": "takeovers",
    "topic_ids": "topic_ids",
    "now": "now",
    "_last_own": "last_own",
}
"""Names in checkpoints, and the attributes of the partition stage that they stand for."""


@dataclass(slots=True)
class Outages:
    """Rows of one cluster by table, and its final layout if known."""

    partition_outages: list[PartitionOutage] = field(default_factory=list)
    under_replicated_spans: list[UnderReplicatedSpan] = field(default_factory=list)
    leader_moves: list[LeaderMove] = field(default_factory=list)
    broker_outages: list[BrokerOutage] = field(default_factory=list)
    incidents: list[Incident[HeadlineFacts]] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)
    layout: ClusterLayout | None = None
    row_count: int = 0
    """Number of rows taken from others."""

    @property
    def partition_placements(self) -> list[PartitionPlacement]:
        """Rows of the partitions' last placements."""
        return [] if self.layout is None else placement_rows(self.layout)

    @property
    def brokers(self) -> list[Broker]:
        """Rows of the brokers in their last state."""
        return [] if self.layout is None else broker_rows(self.layout)

    def take(self, other: Outages, final_at: int | None) -> None:
        """Add the rows of another object and set their `final_at`."""
        for name in _OF_ROWS:
            rows = getattr(other, name)
            if rows:
                for row in rows:
                    row.final_at = final_at
                getattr(self, name).extend(rows)
                self.row_count += len(rows)

    def sort(self) -> None:
        """Sort rows by partition or broker, keeping the order of time."""
        for rows in (self.partition_outages, self.under_replicated_spans, self.leader_moves):
            rows.sort(key=lambda row: (row.topic, row.partition))
        self.broker_outages.sort(key=lambda row: row.node)
        self.incidents.sort(key=lambda row: row.started_at or 0)


@dataclass(slots=True)
class OutageStage:
    """Processes PARTITION_EVENTS of one cluster.

    Events must be ordered by (`order_us`, file, byte offset), on one clock. `skews` are the corrected clock differences of
    brokers.
    """

    cluster: str
    facts: ClusterFacts
    node_of: Mapping[str, str] = field(default_factory=dict)
    readers: Readers = field(default_factory=Readers)
    gap_seconds: float = EPISODE_GAP_SECONDS
    """Quiet time between two incidents."""
    skews: Sequence[Skew] = ()
    stage: PartitionStage = field(init=False)
    clocks: BrokerClocks = field(init=False)
    """Clock information from the checkpoint."""
    final: Outages = field(default_factory=Outages)
    """Final rows."""
    outages: list[PartitionOutage] = field(default_factory=list)
    """Outages that ended in an incident that may still be open."""
    moved: list[LeaderMove] = field(default_factory=list)
    """Moves near departures of brokers without emitted rows.

    Their evidence is dropped.
    """
    vacated: list[PartitionOutage] = field(default_factory=list)
    """Emitted outages of offsets partitions near such departures.

    Their evidence is dropped.
    """
    event_count: int = 0
    """Number of events processed."""
    _coordinators_told: bool = False
    """Whether any line named a leader of an offsets partition."""
    _due: list[tuple[int, int, PartitionHistory | None]] = field(default_factory=list)
    """Times for another look at partitions, or (None) at incidents."""
    _number: int = 0
    _check_at: int | None = None
    _following: list[RebalanceAfterOutage] = field(init=False)

    def __post_init__(self) -> None:
        self.stage = PartitionStage(self.node_of, suspicions=suspicions_of(self.facts, self.node_of, self._ahead))
        self.clocks = BrokerClocks(self.node_of)
        self._following = sorted(self.readers.following)

    # -- checkpoints -----------------------------------------------------------------------------------------

    @classmethod
    def resumed(
        cls,
        cluster: str,
        facts: ClusterFacts,
        state: str,
        node_of: Mapping[str, str],
        readers: Readers | None = None,
        gap_seconds: float = EPISODE_GAP_SECONDS,
    ) -> OutageStage:
        """Restore a stage from a checkpoint.

        Rows that were final at the checkpoint are not produced again. `facts` and `readers` may have grown since, but only with
        later times; `gap_seconds` must be the same. Raises UnreadableState if `state` is not a checkpoint of these models.
        """
        stage = cls(cluster, facts, node_of, readers or Readers(), gap_seconds)
        checkpoint = state_text.read(state, {})
        try:
            for name in _CHECKPOINT_FIELDS:
                setattr(stage, name, checkpoint[name])
            for name, attribute in _HELD_OF_PARTITIONS.items():
                if name in checkpoint["stage"] or name != "topic_ids":  # states written before topics had ids lack them
                    setattr(stage.stage, attribute, checkpoint["stage"][name])
            stage.stage.suspicions.with_file |= checkpoint["with_file"]
            stage.stage.suspicions.refusals.update(checkpoint["refusals"])
            stage.clocks = BrokerClocks.resumed(checkpoint["clocks"], node_of)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise state_text.UnreadableState(f"not a state of a cluster's outages: {error}") from error
        return stage

    def checkpoint(self, clocks: str | None = None) -> str:
        """Checkpoint for `resumed`.

        Take it after `advance_to`, between events of different times, and only if no clocks differ: later events may change which
        clocks differ. `clocks` is the checkpoint of the clock information.
        """
        values: dict[str, Any] = {name: getattr(self, name) for name in _CHECKPOINT_FIELDS}
        values["stage"] = {name: getattr(self.stage, attribute) for name, attribute in _HELD_OF_PARTITIONS.items()}
        suspicions = self.stage.suspicions
        values |= {"with_file": suspicions.with_file, "refusals": suspicions.refusals}
        values["clocks"] = self.clocks.checkpoint() if clocks is None else clocks
        return state_text.write(values, {}, {Event: line_of})

    @property
    def row_count(self) -> int:
        """Number of rows that are not final, which determines the checkpoint's size."""
        return len(self.outages) + len(self.moved) + len(self.vacated)

    @property
    def _ahead(self) -> dict[str, int]:
        return {skew.node: skew.ahead for skew in self.skews}

    # -- events ----------------------------------------------------------------------------------------------

    def in_order(self, events: Iterable[Event]) -> Iterable[Event]:
        """Reorder events from the writers' clocks to one clock."""
        return on_one_clock(events, self._ahead, self.node_of) if self.skews else events

    def feed(self, event: Event) -> None:
        """Process the next event."""
        self._advance_watermark(event.order_us)
        self.stage.feed(event)
        self.event_count += 1
        self._schedule()

    def advance_to(self, until: int) -> None:
        """Advance the watermark to `until` (microseconds); the next event is later."""
        self._advance_watermark(until + 1)

    def drain_final(self) -> Iterator[Outages]:
        """Yield final rows once there are LEAVING_ROWS of them."""
        if self.final.row_count >= _DRAIN_BATCH_ROWS:
            rows, self.final = self.final, Outages()
            yield rows

    def close(self) -> Outages:
        """Return all rows that were not drained.

        After `resumed`, without rows that were final at the checkpoint. Rows that further events would change have no
        `final_at`; for others it is the time from which they are final, so that rows don't depend on the end of the logs.
        """
        self._advance_watermark(FOREVER)
        rows = Outages(partition_outages=self.outages)
        for history in self.stage.partitions.all():
            self._emit_leader_rows(rows, history, history.leaderships)
            self._emit_shortages(rows, history, history.shortages)
        absences = [absence for absence in self.stage.brokers.all() if not absence.is_told]
        rows.broker_outages += [broker_outage(self.cluster, absence) for absence in absences]
        unblamed_rows = [row for absence, row in zip(absences, rows.broker_outages, strict=True) if not absence.is_blamed]
        without_outage = harmless(unblamed_rows, rows.partition_outages)
        self._add_incidents(rows, without_outage, rows, None)
        self._emit_directory_failures(rows, rows, None, [])
        rows.incidents += [
            *slow_load_incidents(self.facts),
            *full_disk_incidents(self.facts, self.node_of),
            *stale_leader_incidents(self.facts),
            *quorum_incidents(self.facts, self.node_of, self.gap_seconds),
        ]
        rows.divergences += clock_divergences(self.cluster, self.skews)
        self.final.take(rows, None)
        self.final.sort()
        self.final.layout = layout_of(self.cluster, self.stage)
        return self.final

    # -- closing ---------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        """Schedule another look at everything that the last event touched."""
        due = self.stage.now + OUTAGE_LATENESS_US
        handed = self.stage.partitions.handed
        for history in handed:
            self._look_at(due, history)
        handed.clear()
        if self.stage.brokers.have_changed:
            self.stage.brokers.have_changed = False
            self._check(self.stage.now + self._wait)

    def _look_at(self, due: int, history: PartitionHistory | None) -> None:
        self._number += 1
        heapq.heappush(self._due, (due, self._number, history))

    def _check(self, due: int) -> None:
        """Schedule a look at incidents, unless an earlier one is scheduled."""
        if self._check_at is None or due < self._check_at:
            self._check_at = due
            self._look_at(due, None)

    def _advance_watermark(self, at: int) -> None:
        """Advance the watermark: handle everything due before a time."""
        while self._due and self._due[0][0] < at:
            due, _, history = heapq.heappop(self._due)
            if history is not None:
                self._write_final_rows(history, due)
            elif due == self._check_at:
                self._check_at = None
                self._close_incidents(due)

    def _write_final_rows(self, history: PartitionHistory, due: int) -> None:
        """Emit what is final of one partition, and prune it."""
        until = due - OUTAGE_LATENESS_US
        history.is_due = False
        is_gone = history.deleted_at is not None and history.deleted_at <= until
        if history.deleted_at is not None and self.stage.partitions.ended.get(history.key) is not history:
            self._drop(history)  # no line described this lifetime
            return
        count = len(history.leaderships) if is_gone else history.final_count(until)
        shortages = history.shortages_over(until)
        if count > 1 or is_gone or shortages:
            rows = Outages()
            self._emit_leader_rows(rows, history, history.leaderships[:count])
            self._emit_shortages(rows, history, shortages)
            self._keep(rows, due)
            rows.partition_outages = []
            self.final.take(rows, due)
        if is_gone:
            self._drop(history)
            return
        history.prune(max(count - 1, 0), until)
        following = history.next_end(until)
        if following is not None:
            history.is_due = True
            self._look_at(following + OUTAGE_LATENESS_US, history)

    def _drop(self, history: PartitionHistory) -> None:
        self.stage.partitions.forget(history)
        self.stage.takeovers.deleted(history)

    def _emit_leader_rows(self, rows: Outages, history: PartitionHistory, leaderships: Sequence[Leadership]) -> None:
        rows.partition_outages += partition_outages(self.cluster, history, self.stage, leaderships)
        rows.leader_moves += leader_moves(self.cluster, history, self.stage.brokers, leaderships)

    def _emit_shortages(self, rows: Outages, history: PartitionHistory, shortages: Sequence[Shortage]) -> None:
        kraft = self.stage.is_kraft
        rows.under_replicated_spans += under_replicated_spans(self.cluster, history, self.stage.brokers, shortages, is_kraft=kraft)

    def _keep(self, rows: Outages, now: int) -> None:
        """Keep outages until their incident closes, and moves near departures."""
        self.outages += rows.partition_outages
        for row in rows.partition_outages:
            self._coordinators_told = self._coordinators_told or row.topic == OFFSETS_TOPIC
            self._check(max(joins_until(row) + self._wait, now))
        for move in rows.leader_moves:
            self._coordinators_told = self._coordinators_told or move.topic == OFFSETS_TOPIC
        self.moved += [replace(move, evidence=[]) for move in rows.leader_moves if self._is_near(move.from_node, move.moved_at)]

    def _is_near(self, node: str | None, at: int | None) -> bool:
        """Whether a broker departed or lost a directory near a time.

        Only those that no final row shows count.
        """
        if node is None or at is None:
            return False
        brokers = self.stage.brokers
        times = [absence.down_at for absence in brokers.absences.get(node, ()) if not absence.is_told]
        times += [failure.at for failure in brokers.directory_failures.get(node, ()) if failure.is_explained is None]
        return any(time is not None and abs(at - time) <= 2 * TAKEOVER_US for time in times)

    @property
    def _wait(self) -> int:
        """Microseconds after its end until an incident can't grow any more."""
        return int(self.gap_seconds * US_PER_SECOND) + OUTAGE_LATENESS_US

    # -- incidents -------------------------------------------------------------------------------------------

    def _close_incidents(self, at: int) -> None:
        """Close incidents that ended long before a time, with their outages."""
        known = Outages(partition_outages=[*self.outages])
        for history in self.stage.partitions.without_rows():
            self._emit_leader_rows(known, history, history.leaderships)
        rows, later = Outages(), list[int]()
        settled = {id(row) for row in self.outages}
        for episode, end in outage_episodes(known.partition_outages, self.gap_seconds):
            later.append(end + self._wait)
            if later[-1] <= at and all(id(row) in settled for row in episode):
                rows.partition_outages += episode
        absences = [absence for absence in self.stage.brokers.all() if not absence.is_told]
        without_outage = self._emit_broker_outages(rows, absences, known, at, later)
        self._add_incidents(rows, without_outage, known, at)
        self._emit_directory_failures(rows, known, at, later)
        self._drop_written(rows.partition_outages)
        self.final.take(rows, at)
        self._forget(at - OUTAGE_LATENESS_US)
        due = min((time for time in later if time > at), default=None)
        if due is not None:
            self._check(due)

    def _emit_broker_outages(
        self, rows: Outages, absences: Sequence[BrokerAbsence], known: Outages, at: int, later: list[int]
    ) -> list[BrokerOutage]:
        """Emit outages of brokers that ended long before a time.

        Returns those that left no partition without a leader.
        """
        closed = {id(row) for row in rows.partition_outages}
        lasting = [row for row in known.partition_outages if id(row) not in closed]
        rows_of_absences = [(absence, broker_outage(self.cluster, absence)) for absence in absences]
        without_outage = harmless((row for absence, row in rows_of_absences if not absence.is_blamed), known.partition_outages)
        alone = {id(row) for row in without_outage}
        over = list[BrokerOutage]()
        for episode, end in takeover_episodes(without_outage, self.gap_seconds):
            later.append(end + self._wait)
            if later[-1] <= at and all(row.up_at is not None for row in episode):
                over += episode
        rows.broker_outages += over
        for absence, row in rows_of_absences:
            if id(row) in alone:
                continue
            absence.is_blamed = absence.is_blamed or any(stands_behind(row, outage) for outage in rows.partition_outages)
            if row.up_at is None:
                continue
            later.append(row.up_at + self._wait)
            if later[-1] <= at and not any(stands_behind(row, outage) for outage in lasting):
                rows.broker_outages.append(row)
        row_ids = {id(row) for row in rows.broker_outages}
        for absence, row in rows_of_absences:
            absence.is_told = id(row) in row_ids
        return over

    def _add_incidents(self, rows: Outages, without_outage: Sequence[BrokerOutage], known: Outages, at: int | None) -> None:
        """Add incidents of the outages in `rows`.

        `known` has all outages and moves that are not emitted yet.
        """
        for row in rows.partition_outages:
            row.groups = self.readers.blocked_groups(row.topic, row.partition, at)
        moves, outages = [*self.moved, *known.leader_moves], [*self.vacated, *known.partition_outages]
        losses = losses_of(self.stage.brokers, moves, outages, self.readers, at, is_told=self._coordinators_told)
        rows.incidents += outage_incidents(rows.partition_outages, self.gap_seconds, losses, self._following)
        rows.incidents += takeover_incidents(without_outage, moves, self.gap_seconds, losses, self._following)

    def _emit_directory_failures(self, rows: Outages, known: Outages, at: int | None, later: list[int]) -> None:
        """Add incidents of failed directories, by `at` those that ended long before.

        What a failure did is known once the outages and moves after it are.
        """
        for failure in self.stage.brokers.all_dir_failures():
            if failure.is_told:
                continue
            if failure.is_explained is None and (at is None or failure.at + self._wait <= at):
                explain_failure(failure, known.partition_outages, [*self.moved, *known.leader_moves], self.stage.brokers)
            later += [time + self._wait for time in (failure.at, failure.ended_at) if time is not None]
            failure.is_told = at is not None and failure.ended_at is not None and failure.ended_at + self._wait <= at
            if not failure.is_explained and (failure.is_told or at is None):
                rows.incidents.append(directory_incident(self.cluster, failure))

    def _drop_written(self, closed: Sequence[PartitionOutage]) -> None:
        """Drop emitted outages, but remember those of offsets partitions.

        Open broker outages may still refer to them.
        """
        row_ids = {id(row) for row in closed}
        self.outages = [row for row in self.outages if id(row) not in row_ids]
        self.vacated += [replace(row, evidence=[]) for row in closed if row.topic == OFFSETS_TOPIC]

    def _forget(self, settled: int) -> None:
        """Prune brokers and controllers that no open question needs."""
        unwritten = (absence for absence in self.stage.brokers.all() if not absence.is_told)
        open_times = [absence.down_at if absence.down_at is not None else absence.up_at for absence in unwritten]
        open_times += [row.offline_at for row in self.outages]
        open_times += [lifetime.open_since for lifetime in self.stage.partitions.lifetimes()]
        times = sorted({at for at in open_times if at is not None})
        self.stage.brokers.forget(settled - OUTAGE_LATENESS_US, times, OUTAGE_LATENESS_US)
        self.stage.controllers.forget(min([*times[:1], settled]) - OUTAGE_LATENESS_US)
        self.stage.takeovers.forget(settled)
        self.moved = [move for move in self.moved if self._is_near(move.from_node, move.moved_at)]
        self.vacated = [row for row in self.vacated if self._is_near(row.leader_before, row.offline_at)]
