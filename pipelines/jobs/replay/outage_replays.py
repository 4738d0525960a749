"""Replay of outages where partitions or their readers changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from models.kafka.outages.affected_groups import Readers
from models.kafka.outages.reader_fingerprints import ReaderFingerprints
from models.kafka.partitions.event_fields import PARTITION_EVENTS
from models.rows import KAFKA
from pipelines.analysis.stages import LAYOUT_TABLES, READER_TABLES
from pipelines.jobs.replay.cluster_inputs import with_partitions
from pipelines.jobs.replay.cluster_snapshots import ClusterSnapshots, plan_resume
from pipelines.jobs.replay.incident_scopes import OF_OUTAGES
from pipelines.jobs.replay.replayed_rows import ReplayedRows
from pipelines.jobs.replay.stage_inputs import StageInputs
from pipelines.jobs.replay.stage_runner import StageRunner
from pipelines.jobs.replay.table_rows import TableRows
from pipelines.schema.tables import without_run
from pipelines.transforms.outage_replay import STAGE_TABLES, OutageReplay, in_order_of_clusters
from pipelines.transforms.replay_checkpoints import CLUSTER_SNAPSHOTS, HOLDS_NO_MORE, CheckpointSeal
from pipelines.warehouse.rows.predicates import RowScope, among, equals, is_null


@dataclass(slots=True)
class OutageReplays:
    """Chooses clusters, resumes them from checkpoints, and replays their outages."""

    inputs: StageInputs
    runner: StageRunner
    readers: Mapping[str, Readers]
    read: Mapping[str, ReaderFingerprints]
    """Fingerprints of the readers."""
    clusters: set[str] = field(default_factory=set)
    """Clusters with outages to replay."""
    snapshots: ClusterSnapshots = field(default_factory=ClusterSnapshots)
    taken: TableRows | None = None
    """New checkpoints."""

    def run(self, replayed: ReplayedRows) -> None:
        """Replay outages and add their rows."""
        inputs, facts, read = self.inputs, self.inputs.facts, self.read
        clusters = inputs.whole | {cluster for cluster, names in inputs.touched.events.items() if names & PARTITION_EVENTS}
        changed = {name for name in facts if inputs.states.get(name, {}).get("readers") != read[name].whole}
        clusters |= self._clusters_naming_readers(changed - clusters)
        if not clusters:
            return
        self.clusters, rules = clusters, inputs.options.snapshots
        self.snapshots = plan_resume(inputs.warehouse, inputs.touched, facts, inputs.nodes, read, rules, clusters)
        stage = self._outages()
        self.taken = stage.pop(CLUSTER_SNAPSHOTS)
        for table, rows in stage.items():
            if table in LAYOUT_TABLES:
                replayed.add(table, rows, among("cluster", clusters))
                continue
            of_stage = self.snapshots.later("final_at", clusters)
            if table == "incidents":
                of_stage = of_stage & OF_OUTAGES
            elif table == "divergences":
                of_stage = of_stage & is_null("group") & equals("system", KAFKA)
            replayed.add(table, rows, of_stage)

    def replaced(self, taken: pa.Table) -> RowScope:
        """The stored checkpoints that new ones replace."""
        return self.snapshots.replaced(taken, self.clusters)

    def _outages(self) -> dict[str, TableRows]:
        inputs, snapshots, options = self.inputs, self.snapshots, self.inputs.options
        resumed = snapshots.chosen.keys()
        telling = with_partitions(inputs.warehouse, self.clusters - resumed) | resumed
        if not telling:
            return {table: TableRows(0, local=without_run(table).empty_table()) for table in STAGE_TABLES}
        events = self.runner.events(snapshots.later("file_time_max_at", telling) & among("event", PARTITION_EVENTS))
        gap_seconds, seal = options.limits.episode_gap_seconds, CheckpointSeal(options.redaction)
        replay = OutageReplay(inputs.facts, inputs.nodes, self.readers, gap_seconds, snapshots.boundaries, options.snapshots, seal)
        stage = self.runner.run(in_order_of_clusters(replay), events, snapshots.rows(inputs.warehouse) if resumed else None)
        differing = (
            stage[CLUSTER_SNAPSHOTS].chosen(equals("state", HOLDS_NO_MORE), ("cluster",), inputs.warehouse.spark)["cluster"].to_pylist()
        )
        if not differing:
            return stage
        for cluster in differing:  # the brokers' clocks differ, so all earlier events need another order
            snapshots.drop(cluster)
        return self._outages()

    def _clusters_naming_readers(self, clusters: set[str]) -> set[str]:
        """The clusters with rows that name reading groups."""
        tables = [name for name in READER_TABLES if not self.inputs.warehouse.versions.is_known_empty(name)] if clusters else []
        rows = (self.inputs.warehouse.rows.as_arrow(name, among("cluster", clusters), ("cluster",))["cluster"] for name in tables)
        return {cluster for column in rows for cluster in column.unique().to_pylist()}
