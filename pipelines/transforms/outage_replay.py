"""From `silver.events` to the gold tables of outages: the outage stage."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from models.events import Event
from models.ids import make_id
from models.incidents.episodes import EPISODE_GAP_SECONDS
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.outages.affected_groups import Readers
from models.kafka.outages.outage_stage import Outages, OutageStage
from models.kafka.partitions.broker_clocks import BrokerClocks, Skew
from models.kafka.partitions.event_fields import PARTITION_EVENTS
from models.state_codec import UnreadableState
from pipelines.analysis.replay_failures import guarded
from pipelines.analysis.spill import BatchStore
from pipelines.analysis.stages import CLOCK_EVENT_NAMES, OUTAGE_TABLES, events_in, failed_outages, rows_by_table
from pipelines.gc_tuning import gc_throttled
from pipelines.transforms.group_replay import IN_TIME, OrderedReplay, RowsByTable, TableBatch, cut_at_keys, table_batches
from pipelines.transforms.replay_checkpoints import (
    CLUSTER_SNAPSHOTS,
    HOLDS_NO_MORE,
    NEVER,
    CheckpointBoundary,
    CheckpointRules,
    CheckpointSeal,
    ClusterCheckpoint,
    split_checkpoint,
)
from pipelines.warehouse.rows.predicates import among

STAGE_TABLES = (*OUTAGE_TABLES, CLUSTER_SNAPSHOTS)
"""Tables filled by the replay of outages."""

STATE_MAX = 64_000_000
"""Maximum length of a checkpoint, in characters.

Measured: 1.6 million for 2,000 partitions after a hundred broker losses.
"""


@dataclass(frozen=True, slots=True)
class OutageReplay:
    """The models' replay of one cluster's outages, sent to the workers."""

    facts: Mapping[str, ClusterFacts]
    node_of: Mapping[str, str]
    readers: Mapping[str, Readers]
    gap_seconds: float = EPISODE_GAP_SECONDS
    boundaries: Mapping[str, Sequence[CheckpointBoundary]] = field(default_factory=dict)
    """Times at which checkpoints are taken, by cluster."""
    rules: CheckpointRules = field(default_factory=CheckpointRules)
    seal: CheckpointSeal = field(default_factory=CheckpointSeal)

    def __call__(self, cluster: str, batches: Iterator[pa.RecordBatch]) -> Iterator[RowsByTable]:
        """Yield final rows by table.

        If the models raise, one row reports it. A checkpoint may precede the events.
        """
        return guarded(self._replayed(cluster, batches), lambda problem: _by_table(failed_outages(cluster, problem)))

    def _replayed(self, cluster: str, batches: Iterator[pa.RecordBatch]) -> Iterator[RowsByTable]:
        state, later = split_checkpoint(batches)
        with BatchStore() as store:
            for batch in later:
                store.add(batch)
            events = partial(events_in, store.batches, self.node_of)
            facts, readers = self.facts.get(cluster) or ClusterFacts(cluster), self.readers.get(cluster) or Readers()
            boundaries = sorted(self.boundaries.get(cluster, ()), key=lambda boundary: boundary.upto)
            stage = self._resumed(cluster, state, facts, readers)
            if stage is None and state is not None:
                yield {CLUSTER_SNAPSHOTS: [_checkpoint(cluster, NEVER, HOLDS_NO_MORE)]}
                return
            if stage is None:
                known, skews = _clocks(BrokerClocks(self.node_of), events(CLOCK_EVENT_NAMES), boundaries)
                stage = OutageStage(cluster, facts, self.node_of, readers, self.gap_seconds, skews)
            else:
                known, skews = _clocks(stage.clocks, events(CLOCK_EVENT_NAMES), boundaries)
                if skews:
                    yield {CLUSTER_SNAPSHOTS: [_checkpoint(cluster, NEVER, HOLDS_NO_MORE)]}
                    return
            yield from self._rows(stage, events(), () if skews else list(zip(boundaries, known, strict=True)))

    def _resumed(self, cluster: str, state: str | None, facts: ClusterFacts, readers: Readers) -> OutageStage | None:
        try:
            if state is None:
                return None
            return OutageStage.resumed(cluster, facts, self.seal.open(state), self.node_of, readers, self.gap_seconds)
        except UnreadableState:
            return None

    def _rows(self, stage: OutageStage, events: Iterator[Event], due: Sequence[tuple[CheckpointBoundary, str]]) -> Iterator[RowsByTable]:
        """Yield final rows, and checkpoints at the boundaries in `due`.

        Each boundary comes with the clocks' state at that time.
        """
        left, fed = deque(due), 0
        for event in stage.in_order(events):
            while left and event.order_us > left[0][0].upto:
                fed = yield from self._taken(stage, *left.popleft(), fed)
            stage.feed(event)
            fed += 1
            yield from map(_by_table, stage.drain_final())
        while left:
            fed = yield from self._taken(stage, *left.popleft(), fed)
        yield _by_table(stage.close())

    def _taken(self, stage: OutageStage, boundary: CheckpointBoundary, clocks: str, fed: int) -> Generator[RowsByTable, None, int]:
        """Yield a checkpoint if enough events came since the last one.

        Returns the number of events since the last checkpoint.
        """
        stage.advance_to(boundary.upto)  # as if the next event came now
        if not fed or fed < self.rules.events or stage.event_count < self.rules.events_per_row * stage.row_count:
            return fed
        state = self.seal.close(stage.checkpoint(clocks))
        if len(state) > STATE_MAX:
            return fed
        yield {CLUSTER_SNAPSHOTS: [_checkpoint(stage.cluster, boundary, state)]}
        return 0


def _checkpoint(cluster: str, boundary: CheckpointBoundary, state: str) -> ClusterCheckpoint:
    key = make_id("cluster state", cluster, boundary.upto)
    columns = (boundary.facts, state, boundary.catalogue_version, boundary.model_version)
    return ClusterCheckpoint(cluster, key, boundary.upto, *columns)


def _clocks(clocks: BrokerClocks, events: Iterator[Event], boundaries: Sequence[CheckpointBoundary]) -> tuple[list[str], list[Skew]]:
    """State of the clocks at each boundary, and clocks that differ in the end."""
    known = list[str]()
    for event in events:
        while len(known) < len(boundaries) and event.order_us > boundaries[len(known)].upto:
            known.append(clocks.checkpoint())
        clocks.feed(event)
    known += [clocks.checkpoint() for _ in boundaries[len(known) :]]
    return known, clocks.skews()


def _by_table(outages: Outages) -> RowsByTable:
    return rows_by_table(outages, OUTAGE_TABLES)


def in_order_of_clusters(replay: OutageReplay) -> OrderedReplay:
    """The replay of outages, with rows of STAGE_TABLES.

    The events of a cluster are replayed in one stream, in order of time, because the effect of a broker's loss on a
    partition depends on all earlier events.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[TableBatch]:
        rows = (rows for (cluster,), parts in cut_at_keys(batches, ("cluster",)) for rows in replay(cluster, parts))
        with gc_throttled():
            yield from table_batches(rows)

    return OrderedReplay(among("event", PARTITION_EVENTS), ("cluster",), IN_TIME, run, STAGE_TABLES)
