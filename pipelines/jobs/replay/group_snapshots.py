"""Choose stored checkpoints of groups to resume from, and to keep.

A checkpoint is valid while everything that it depends on is the same: its group's records up to its time, the facts of
its cluster about that time, the catalogue and the models. The resulting rows equal those of a replay from the
beginning.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from models.kafka.cluster.fact_fingerprints import FactFingerprints, fingerprint_facts
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.groups.bounds import ALLOWED_LATENESS_US
from pipelines.jobs.ingest.ingest import ChangedScope
from pipelines.transforms.replay_checkpoints import SNAPSHOTS, CheckpointBoundary, CheckpointRules
from pipelines.versions import catalogue_version, model_version
from pipelines.warehouse.rows import arrow_diff
from pipelines.warehouse.rows import predicates as scopes
from pipelines.warehouse.rows.predicates import RowScope
from pipelines.warehouse.warehouse import Warehouse

_US_PER_SECOND = 1_000_000
_STEPS = 4
"""Boundaries move in steps of this fraction of their lag."""

LOCAL_CHECKPOINT_BYTES = 32 << 20
"""Maximum number of bytes of checkpoints in the driver."""

_KEY = "group_snapshot_id"
_COLUMNS = (_KEY, "cluster", "group", "covers_until_at", "facts_until_at", "facts_fingerprint", "catalogue_version", "model_version")


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A row of the table without its checkpoint text."""

    key: str
    cluster: str
    group: str
    upto: int
    holds: bool = True


@dataclass(slots=True)
class StoredCheckpoints:
    """Stored checkpoints of the clusters changed by a run."""

    boundaries: Mapping[str, list[CheckpointBoundary]] = field(default_factory=dict)
    stored: list[StoredCheckpoint] = field(default_factory=list)
    chosen: dict[tuple[str, str], StoredCheckpoint] = field(default_factory=dict)
    """Chosen checkpoint of each group."""
    unreadable: int = 0
    """Number of unreadable checkpoints; their groups are replayed from the beginning."""

    def rows(self, warehouse: Warehouse) -> DataFrame | pa.Table:
        """The chosen rows."""
        return chosen_rows(warehouse, SNAPSHOTS, _KEY, {checkpoint.key for checkpoint in self.chosen.values()})

    def drop(self, cluster: str, group: str) -> None:
        """Discard a group's checkpoints after its replay found them invalid."""
        del self.chosen[cluster, group]
        self.unreadable += 1
        self.stored = [
            replace(checkpoint, holds=False) if (checkpoint.cluster, checkpoint.group) == (cluster, group) else checkpoint
            for checkpoint in self.stored
        ]

    def later(self, time: str, groups: Mapping[str, set[str]], whole: Iterable[str], names: Callable[[set[str]], RowScope]) -> RowScope:
        """Rows of these groups, and of all groups of `whole` clusters.

        In resumed groups only those with a `time` that is later than the checkpoint or null. `names` builds the condition for some groups.
        """
        scopes_of_groups, resumed = list[RowScope](), dict[tuple[str, int], set[str]]()
        for checkpoint in self.chosen.values():
            resumed.setdefault((checkpoint.cluster, checkpoint.upto), set()).add(checkpoint.group)
        for (cluster, upto), keys in sorted(resumed.items()):
            scopes_of_groups.append(scopes.equals("cluster", cluster) & names(keys) & scopes.is_later(time, upto))
        for cluster in sorted(set(whole)):
            of_cluster = scopes.equals("cluster", cluster)
            scopes_of_groups.append(of_cluster & ~names(self._resumed(cluster)) if self._resumed(cluster) else of_cluster)
        for cluster in sorted(groups.keys() - set(whole)):
            scopes_of_groups.append(scopes.equals("cluster", cluster) & names(groups[cluster] - self._resumed(cluster)))
        return scopes.any_of(scopes_of_groups)

    def _resumed(self, cluster: str) -> set[str]:
        return {group for name, group in self.chosen if name == cluster}

    def replaced(self, taken: pa.Table, groups: Mapping[str, set[str]], whole: Iterable[str]) -> RowScope:
        """Stored rows to delete or replace.

        `taken` are the new ones, of groups that were replayed. Of each group the last checkpoint before each boundary
        stays, and the first one after it, because it will be the last before a later boundary.
        """
        names = zip(*(taken[name].to_pylist() for name in (_KEY, "cluster", "group")), times_of(taken, "covers_until_at"), strict=True)
        new = [StoredCheckpoint(*row) for row in names]
        all_of = set(whole)
        replayed = {(checkpoint.cluster, checkpoint.group) for checkpoint in [*self.stored, *new] if _is_in(checkpoint, groups, all_of)}
        by_group: dict[tuple[str, str], list[StoredCheckpoint]] = {}
        for checkpoint in [*(checkpoint for checkpoint in self.stored if checkpoint.holds), *new]:
            by_group.setdefault((checkpoint.cluster, checkpoint.group), []).append(checkpoint)
        stay = {checkpoint.key for key in replayed for checkpoint in around(self.boundaries.get(key[0], ()), by_group.get(key, ()))}
        gone = {checkpoint.key for checkpoint in self.stored if (checkpoint.cluster, checkpoint.group) in replayed} - stay
        return scopes.among(_KEY, gone | {checkpoint.key for checkpoint in new})


def chosen_rows(warehouse: Warehouse, table: str, key: str, chosen: set[str]) -> DataFrame | pa.Table:
    """Rows with these keys, in the driver unless they are large."""
    local_rows = warehouse.rows.if_local(table, scopes.among(key, chosen), bytes_max=LOCAL_CHECKPOINT_BYTES)
    if local_rows is not None and local_rows.nbytes <= LOCAL_CHECKPOINT_BYTES:
        return local_rows
    keys = pa.table({key: pa.array(sorted(chosen), pa.string())})
    return warehouse.tables.frame(table).join(F.broadcast(arrow_diff.to_frame(warehouse.spark, keys)), key, "left_semi")


def _is_in(checkpoint: StoredCheckpoint, groups: Mapping[str, set[str]], whole: set[str]) -> bool:
    return checkpoint.cluster in whole or checkpoint.group in groups.get(checkpoint.cluster, ())


def around(boundaries: Iterable[CheckpointBoundary], checkpoints: Iterable[StoredCheckpoint]) -> Iterator[StoredCheckpoint]:
    """The last checkpoint before each boundary, and the first one after it.

    The latter will be the last before a later boundary.
    """
    in_order = sorted(checkpoints, key=lambda checkpoint: checkpoint.upto)
    for boundary in boundaries:
        place = bisect_right(in_order, boundary.upto, key=lambda checkpoint: checkpoint.upto)
        yield from in_order[max(place - 1, 0) : place + 1]


def plan_resume(
    warehouse: Warehouse,
    touched: ChangedScope,
    facts: Mapping[str, ClusterFacts],
    rules: CheckpointRules,
    groups: Mapping[str, set[str]],
    whole: Iterable[str],
) -> StoredCheckpoints:
    """Read the stored checkpoints, and choose valid ones.

    They are chosen for `groups` and for all groups of `whole` clusters.
    """
    known = {cluster: fingerprint_facts(cluster_facts) for cluster, cluster_facts in facts.items()}
    checkpoints = StoredCheckpoints(
        {cluster: _boundaries(cluster_facts.logs_end, known[cluster], rules) for cluster, cluster_facts in facts.items()}
    )
    if warehouse.versions.is_known_empty(SNAPSHOTS):
        return checkpoints
    versions, all_of = (catalogue_version(), model_version()), set(whole)
    rows = warehouse.rows.as_arrow(SNAPSHOTS, scopes.among("cluster", touched.clusters), _COLUMNS)
    times = zip(times_of(rows, "covers_until_at"), times_of(rows, "facts_until_at"), strict=True)
    for row, (upto, until) in zip(rows.to_pylist(), times, strict=True):
        checkpoint = StoredCheckpoint(row[_KEY], row["cluster"], row["group"], upto)
        is_asked = _is_in(checkpoint, groups, all_of)  # checkpoints of other groups stay, so their validity is not needed
        checkpoints.stored.append(
            checkpoint if not is_asked else replace(checkpoint, holds=_holds(checkpoint, row, until, touched, versions, known))
        )
    for checkpoint in sorted(checkpoints.stored, key=lambda checkpoint: checkpoint.upto):
        if checkpoint.holds and _is_in(checkpoint, groups, all_of):
            checkpoints.chosen[checkpoint.cluster, checkpoint.group] = checkpoint
    return checkpoints


def times_of(rows: pa.Table, name: str) -> list[int]:
    """A timestamp column without nulls, in microseconds."""
    times: list[int] = rows[name].cast(pa.int64()).to_pylist()
    return times


def _holds(
    checkpoint: StoredCheckpoint,
    row: Mapping[str, Any],
    until: int,
    touched: ChangedScope,
    versions: tuple[str, str],
    known: Mapping[str, FactFingerprints],
) -> bool:
    least = touched.least.get((checkpoint.cluster, checkpoint.group))
    return (
        checkpoint.cluster in known
        and checkpoint.cluster not in touched.whole
        and (least is None or checkpoint.upto < least)
        and (row["catalogue_version"], row["model_version"]) == versions
        and known[checkpoint.cluster].until(until) == row["facts_fingerprint"]
    )


def _boundaries(logs_end: int | None, known: FactFingerprints, rules: CheckpointRules) -> list[CheckpointBoundary]:
    """Boundaries of a cluster.

    A rebalance is ranked so long after its end that no later facts of the cluster are needed.
    """
    return [
        CheckpointBoundary(upto, upto + ALLOWED_LATENESS_US, known.until(upto + ALLOWED_LATENESS_US), catalogue_version(), model_version())
        for upto in reaches(logs_end, rules)
    ]


def reaches(logs_end: int | None, rules: CheckpointRules) -> list[int]:
    """Times for checkpoints.

    They are rounded, so that consecutive runs share them and need no new checkpoints.
    """
    if logs_end is None:
        return []
    steps = [max(int(lag * _US_PER_SECOND) // _STEPS, 1) for lag in rules.lags_seconds]
    return [logs_end // step * step - _STEPS * step for step in steps]
