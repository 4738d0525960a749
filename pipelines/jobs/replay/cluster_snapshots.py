"""Choose stored checkpoints of clusters' outages to resume from, and to keep.

As with those of groups (`group_snapshots`), a checkpoint is valid while no record up to its time has changed, and while
the facts about brokers, consumed topics, and rebalances named by outages are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import DataFrame

from models.kafka.cluster.facts import ClusterFacts
from models.kafka.outages.broker_fingerprints import DepartureFingerprints, fingerprint_departures
from models.kafka.outages.reader_fingerprints import ReaderFingerprints
from pipelines.jobs.ingest.ingest import ChangedScope
from pipelines.jobs.replay.group_snapshots import StoredCheckpoint, around, chosen_rows, reaches, times_of
from pipelines.transforms.replay_checkpoints import CLUSTER_SNAPSHOTS, CheckpointBoundary, CheckpointRules
from pipelines.versions import catalogue_version, model_version
from pipelines.warehouse.rows import predicates as scopes
from pipelines.warehouse.rows.predicates import RowScope
from pipelines.warehouse.warehouse import Warehouse

_KEY = "cluster_snapshot_id"
_COLUMNS = (_KEY, "cluster", "covers_until_at", "facts_fingerprint", "catalogue_version", "model_version")


@dataclass(frozen=True, slots=True)
class FactsByTime:
    """Facts about one cluster, by time."""

    departures: DepartureFingerprints
    readers: ReaderFingerprints

    def until(self, at: int) -> str:
        """Fingerprint of the facts that a checkpoint at a time depends on."""
        return f"{self.departures.until(at)} {self.readers.until(at)}"


@dataclass(slots=True)
class ClusterSnapshots:
    """Stored checkpoints of the clusters with outages to replay."""

    boundaries: Mapping[str, list[CheckpointBoundary]] = field(default_factory=dict)
    stored: list[StoredCheckpoint] = field(default_factory=list)
    chosen: dict[str, StoredCheckpoint] = field(default_factory=dict)
    """Chosen checkpoint of each cluster."""

    def rows(self, warehouse: Warehouse) -> DataFrame | pa.Table:
        """The chosen rows."""
        return chosen_rows(warehouse, CLUSTER_SNAPSHOTS, _KEY, {snapshot.key for snapshot in self.chosen.values()})

    def drop(self, cluster: str) -> None:
        """Discard a cluster's checkpoints after its replay found them invalid."""
        del self.chosen[cluster]
        self.stored = [replace(snapshot, holds=False) if snapshot.cluster == cluster else snapshot for snapshot in self.stored]

    def later(self, time: str, clusters: Iterable[str]) -> RowScope:
        """Rows of these clusters.

        In resumed clusters only those with a `time` that is later than the checkpoint or null.
        """
        whole = scopes.among("cluster", set(clusters) - self.chosen.keys())
        resumed = (self.chosen[name] for name in sorted(self.chosen.keys() & set(clusters)))
        return scopes.any_of(
            [whole, *(scopes.equals("cluster", snapshot.cluster) & scopes.is_later(time, snapshot.upto) for snapshot in resumed)]
        )

    def replaced(self, taken: pa.Table, clusters: Iterable[str]) -> RowScope:
        """Stored rows to delete or replace.

        `taken` are the new ones, `clusters` those that were replayed.
        """
        names = zip(*(taken[name].to_pylist() for name in (_KEY, "cluster")), times_of(taken, "covers_until_at"), strict=True)
        new = [StoredCheckpoint(key, cluster, "", upto) for key, cluster, upto in names]
        replayed = set(clusters)
        stay = set[str]()
        for cluster in replayed:
            kept_snapshots = [snapshot for snapshot in (*self.stored, *new) if snapshot.cluster == cluster and snapshot.holds]
            stay |= {snapshot.key for snapshot in around(self.boundaries.get(cluster, ()), kept_snapshots)}
        gone = {snapshot.key for snapshot in self.stored if snapshot.cluster in replayed} - stay
        return scopes.among(_KEY, gone | {snapshot.key for snapshot in new})


def plan_resume(
    warehouse: Warehouse,
    touched: ChangedScope,
    facts: Mapping[str, ClusterFacts],
    node_of: Mapping[str, str],
    readers: Mapping[str, ReaderFingerprints],
    rules: CheckpointRules,
    clusters: Iterable[str],
) -> ClusterSnapshots:
    """Read the stored checkpoints of these clusters, and choose valid ones."""
    cluster_names = sorted(set(clusters))
    known = {name: FactsByTime(fingerprint_departures(facts[name], node_of), readers[name]) for name in cluster_names if name in facts}
    snapshots = ClusterSnapshots({name: _boundaries(facts[name].logs_end, stored, rules) for name, stored in known.items()})
    if warehouse.versions.is_known_empty(CLUSTER_SNAPSHOTS):
        return snapshots
    versions = (catalogue_version(), model_version())
    rows = warehouse.rows.as_arrow(CLUSTER_SNAPSHOTS, scopes.among("cluster", cluster_names), _COLUMNS)
    for row, upto in zip(rows.to_pylist(), times_of(rows, "covers_until_at"), strict=True):
        cluster = row["cluster"]
        first = touched.first_of_partitions.get(cluster)
        holds = (
            cluster in known
            and cluster not in touched.whole
            and (first is None or upto < first)
            and (row["catalogue_version"], row["model_version"]) == versions
            and known[cluster].until(upto) == row["facts_fingerprint"]
        )
        snapshots.stored.append(StoredCheckpoint(row[_KEY], cluster, "", upto, holds))
    for snapshot in sorted(snapshots.stored, key=lambda snapshot: snapshot.upto):
        if snapshot.holds:
            snapshots.chosen[snapshot.cluster] = snapshot
    return snapshots


def _boundaries(logs_end: int | None, known: FactsByTime, rules: CheckpointRules) -> list[CheckpointBoundary]:
    return [CheckpointBoundary(upto, upto, known.until(upto), catalogue_version(), model_version()) for upto in reaches(logs_end, rules)]
