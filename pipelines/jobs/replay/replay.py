"""From silver to gold: the stages of replay for whatever changed.

The rows of a group depend on its own events and on the facts of its cluster. While the facts stay the same, only groups
with changed records are replayed, and those with an open rebalance or without members, because how long that lasts depends on the
end of the logs. A group with many events is resumed from its last valid checkpoint (`group_snapshots`); its rows that were final
by then stay. The rules are in `pipelines.transforms`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from models.kafka.cluster.fact_rows import fact_rows
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.observations.unattributed_troubles import UnattributedLines
from models.kafka.outages.affected_groups import Readers
from models.kafka.outages.reader_fingerprints import fingerprint_readers
from pipelines.analysis.log_file_rows import LogFileRow
from pipelines.analysis.stages import unattributed_rows
from pipelines.jobs.ingest.file_rows import FileRows
from pipelines.jobs.ingest.ingest import ChangedScope
from pipelines.jobs.registry.resume_states import CLUSTER_STATE, ResumeState, state_rows, state_text
from pipelines.jobs.replay.cluster_inputs import facts_of, readers_of
from pipelines.jobs.replay.group_replays import GroupReplays
from pipelines.jobs.replay.incident_scopes import OF_UNATTRIBUTED_LINES
from pipelines.jobs.replay.outage_replays import OutageReplays
from pipelines.jobs.replay.replayed_rows import ReplayedRows
from pipelines.jobs.replay.rocketmq_replays import RocketReplays
from pipelines.jobs.replay.stage_inputs import ReplayOptions, StageInputs
from pipelines.jobs.replay.stage_runner import StageRunner
from pipelines.jobs.replay.table_rows import TableRows
from pipelines.schema.row_conversion import to_batch
from pipelines.transforms.replay_checkpoints import CLUSTER_SNAPSHOTS, SNAPSHOTS
from pipelines.transforms.unknown_messages import unknown_messages, unknown_sums
from pipelines.versions import fingerprint_of
from pipelines.warehouse.rows import arrow_diff
from pipelines.warehouse.rows.predicates import NAMES_MAX, RowScope, among
from pipelines.warehouse.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """Rows of tables, their number, and the stored rows they replace.

    `states` are those of clusters, as rows.
    """

    tables: Mapping[str, DataFrame | pa.Table]
    """Rows, in the driver for tables with few of them."""
    counts: Mapping[str, int]
    scopes: Mapping[str, RowScope]
    states: pa.Table
    gone: frozenset[str]
    """Clusters without any content left."""
    groups: int
    """Number of groups replayed separately, without those of whole clusters."""
    resumed: int
    """Number of groups resumed from a checkpoint."""
    whole: Mapping[str, DataFrame | pa.Table] = field(default_factory=dict)
    """Rebalances after the run, including stored ones named by replayed rows."""
    snapshots: Mapping[str, tuple[DataFrame | pa.Table, RowScope]] = field(default_factory=dict)
    """New checkpoints by table, and the stored ones they replace."""
    states_unreadable: int = 0
    """Number of unreadable checkpoints of groups."""
    clusters_resumed: int = 0
    """Number of clusters with outages resumed from a checkpoint."""
    failures: Sequence[str] = ()
    """Messages about clusters whose facts could not be learned."""


_FILE_COLUMNS = ("cluster", "file_id", "path", "node", "kind", "system", "last_at")
"""Columns of `log_files` that a replay needs."""


@contextmanager
def replay(
    warehouse: Warehouse, files: FileRows, touched: ChangedScope, states: Mapping[str, ResumeState], options: ReplayOptions
) -> Iterator[ReplayResult]:
    """Replay the changes. The rows are cached until the caller is done.

    `files` are all rows of `log_files`, `states` the inputs of the clusters' stored verdicts.
    """
    runner = StageRunner(warehouse)
    try:
        yield _replay(runner, files, touched, states, options)
    finally:
        runner.release()


def _replay(
    runner: StageRunner, files: FileRows, touched: ChangedScope, states: Mapping[str, ResumeState], options: ReplayOptions
) -> ReplayResult:
    """Run the stages one after the other: facts of clusters, groups, outages, RocketMQ."""
    warehouse, clusters, failures, without_group = runner.warehouse, touched.clusters, list[str](), UnattributedLines()
    values = files.columns(*_FILE_COLUMNS)
    rows = [cast(LogFileRow, dict(zip(_FILE_COLUMNS, row, strict=True))) for row in values if row[0] in clusters and row[1]]
    facts = facts_of(warehouse, clusters, rows, options.assume, failures, without_group)
    fingerprints = {cluster: fingerprint_of(_without_end(facts_of_cluster)) for cluster, facts_of_cluster in facts.items()}
    changed = {cluster for cluster in facts if states.get(cluster, {}).get("facts") != fingerprints[cluster]}
    # Nothing is known of a cluster whose last informative file is gone.
    changed |= clusters & states.keys() - facts.keys()
    inputs = StageInputs(warehouse, touched, states, options, rows, facts, touched.whole | changed)
    replayed, groups = ReplayedRows(warehouse, clusters), GroupReplays(inputs, runner)
    groups.run(replayed)
    readers = readers_of(warehouse, clusters)
    replayed.note_following(readers)
    read = {cluster: fingerprint_readers(readers.get(cluster, Readers())) for cluster in facts}
    outages = OutageReplays(inputs, runner, readers, read)
    outages.run(replayed)
    with_rocketmq = RocketReplays(inputs, runner).run(replayed)
    _add_unattributed_incidents(inputs, without_group, replayed)
    _add_facts(facts, changed | touched.whole, replayed)
    _add_unknown_messages(inputs, runner, replayed)
    after = {
        cluster: state_text({"facts": fingerprints[cluster], "readers": read[cluster].whole, "rocketmq": cluster in with_rocketmq})
        for cluster in facts
    }
    known = replayed.known_rebalances()
    return ReplayResult(
        tables=replayed.tables,
        counts=replayed.counts,
        scopes=replayed.scopes,
        states=state_rows(CLUSTER_STATE, after, {cluster: cluster for cluster in after}),
        gone=frozenset(inputs.whole - facts.keys()),
        groups=sum(map(len, groups.groups.values())),
        resumed=len(groups.snapshots.chosen),
        whole={} if known is None else {"rebalances": known},
        snapshots=_new_checkpoints(warehouse, {SNAPSHOTS: groups, CLUSTER_SNAPSHOTS: outages}),
        states_unreadable=groups.snapshots.unreadable,
        clusters_resumed=len(outages.snapshots.chosen),
        failures=failures,
    )


def _new_checkpoints(
    warehouse: Warehouse, replays: Mapping[str, GroupReplays | OutageReplays]
) -> dict[str, tuple[DataFrame | pa.Table, RowScope]]:
    """New checkpoints, which may be large; in the driver only if all events are."""
    slices: dict[str, tuple[DataFrame | pa.Table, RowScope]] = {}
    for table, replays_of_table in replays.items():
        taken = replays_of_table.taken
        if taken is None or not (taken.count or replays_of_table.snapshots.stored):
            continue
        if taken.local is not None:
            slices[table] = taken.local, replays_of_table.replaced(taken.local)
        else:
            frame = taken.frame(warehouse.spark)
            slices[table] = frame, replays_of_table.replaced(frame.drop("state").toArrow())
    return slices


def _add_facts(facts: Mapping[str, ClusterFacts], clusters: set[str], replayed: ReplayedRows) -> None:
    if clusters:
        learned = [row for cluster in sorted(clusters & facts.keys()) for row in fact_rows(facts[cluster])]
        rows = pa.Table.from_batches([to_batch("learned_facts", learned)])
        replayed.add("learned_facts", TableRows(len(learned), local=rows), among("cluster", clusters))


def _add_unattributed_incidents(inputs: StageInputs, lines: UnattributedLines, replayed: ReplayedRows) -> None:
    """Incidents of clients whose group no line names."""
    incidents = unattributed_rows(lines, inputs.options.limits)
    if incidents or not inputs.warehouse.versions.is_known_empty("incidents"):
        rows = pa.Table.from_batches([to_batch("incidents", incidents)])
        replayed.add("incidents", TableRows(len(incidents), local=rows), among("cluster", inputs.touched.clusters) & OF_UNATTRIBUTED_LINES)


def _add_unknown_messages(inputs: StageInputs, runner: StageRunner, replayed: ReplayedRows) -> None:
    """Unknown messages, summed over the files of each cluster."""
    clusters = inputs.touched.unknown | inputs.touched.whole
    if not clusters:
        return
    rows = [row for row in inputs.files if row["cluster"] in clusters]
    # With too many names the join alone selects.
    of_files = among("file", {row["path"] for row in rows}) if len(rows) <= NAMES_MAX else None
    scope = among("cluster", clusters)
    local_rows = inputs.warehouse.rows.if_local("unknown_in_files", of_files)
    if local_rows is not None:
        sums = unknown_sums(local_rows, {row["path"]: row["cluster"] for row in rows})
        replayed.add("unknown_messages", TableRows(sums.num_rows, local=sums), scope)
        return
    named = pa.table(
        {"file": [row["path"] for row in rows], "cluster": [row["cluster"] for row in rows], "version": [None for _ in rows]},
        schema=pa.schema([("file", pa.string()), ("cluster", pa.string()), ("version", pa.string())]),
    )
    known = F.broadcast(arrow_diff.to_frame(inputs.warehouse.spark, named))
    in_files = inputs.warehouse.rows.as_frame("unknown_in_files", of_files)
    unknown = runner.cached(unknown_messages(in_files.join(known, "file")))
    count = unknown.count()
    summed = TableRows(count, local=unknown.toArrow()) if count <= arrow_diff.LOCAL_ROWS_MAX else TableRows(count, distributed=unknown)
    replayed.add("unknown_messages", summed, scope)


def _without_end(facts: ClusterFacts) -> dict[str, Any]:
    """Facts that verdicts depend on, without the ends of logs."""
    return {name: repr(getattr(facts, name)) for name in facts.__dataclass_fields__ if name not in {"logs_end", "client_ends"}}
