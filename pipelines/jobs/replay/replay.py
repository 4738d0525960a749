"""From silver to gold: the stages of replay for whatever changed.

The rows of a group depend on its own events and on the facts of its cluster. While the facts stay the same, only groups
with changed records are replayed, and those with an open rebalance or without members, because how long that lasts depends on the
end of the logs. A group with many events is resumed from its last valid checkpoint (`group_snapshots`); its rows that were final
by then stay. The rules are in `pipelines.transforms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from models.incidents.episodes import FAILURES
from models.incidents.incidents import Limits
from models.kafka.cluster.fact_rows import fact_rows
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.outages.affected_groups import FOLLOWING, Readers, RebalanceAfterOutage
from models.kafka.outages.reader_fingerprints import ReaderFingerprints, fingerprint_readers
from models.kafka.partitions.event_fields import PARTITION_EVENTS
from models.rocketmq.event_partitions import ROCKET_EVENTS
from models.rows import KAFKA, ROCKETMQ
from parsers.redaction.pseudonyms import Redaction
from pipelines.analysis.stages import LAYOUT_TABLES, READER_TABLES, ROCKET_TABLES, rocket_ends_of
from pipelines.jobs.ingest.file_rows import FileRow, FileRows
from pipelines.jobs.ingest.ingest import ChangedScope
from pipelines.jobs.registry.resume_states import CLUSTER_STATE, ResumeState, state_rows, state_text
from pipelines.jobs.replay.cluster_inputs import facts_of, readers_of, with_partitions
from pipelines.jobs.replay.cluster_snapshots import ClusterSnapshots
from pipelines.jobs.replay.cluster_snapshots import plan_resume as look_at_clusters
from pipelines.jobs.replay.group_snapshots import StoredCheckpoints, plan_resume
from pipelines.jobs.replay.table_rows import TableRows, by_table, local_tables
from pipelines.schema.row_conversion import to_batch
from pipelines.schema.tables import without_run
from pipelines.spark.caching import persist_on_disk
from pipelines.spark.shuffle_partitions import partitions_of
from pipelines.transforms.group_replay import (
    GroupReplay,
    OrderedReplay,
    in_order_of_groups,
    in_order_of_rocket,
    rows_of_replay,
)
from pipelines.transforms.outage_replay import STAGE_TABLES as OUTAGE_STAGE_TABLES
from pipelines.transforms.outage_replay import OutageReplay, in_order_of_clusters
from pipelines.transforms.replay_checkpoints import (
    CLUSTER_SNAPSHOTS,
    HOLDS_NO_MORE,
    SNAPSHOTS,
    CheckpointRules,
    CheckpointSeal,
    prepend_checkpoints,
)
from pipelines.transforms.unknown_messages import unknown_messages, unknown_sums
from pipelines.versions import fingerprint_of
from pipelines.warehouse.rows import arrow_diff
from pipelines.warehouse.rows.predicates import NAMES_MAX, RowScope, among, equals, first_among, is_empty, is_null, nothing
from pipelines.warehouse.warehouse import Warehouse

NAMING = {"rebalance_members": "rebalance_id", "incidents": "rebalance_ids"}
"""Columns of other tables that name rebalances, checked by a gate."""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """Settings that determine verdicts, besides the events.

    `assume` holds settings by name.
    """

    assume: Mapping[str, int] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    redaction: Redaction | None = None
    snapshots: CheckpointRules = field(default_factory=CheckpointRules)


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
    work = _Replay(warehouse, files, touched, dict(states), options)
    try:
        yield work.do()
    finally:
        for frame in work.persisted:
            frame.unpersist()


@dataclass(slots=True)
class _Replay:
    warehouse: Warehouse
    files: FileRows
    touched: ChangedScope
    states: dict[str, ResumeState]
    options: ReplayOptions
    persisted: list[DataFrame] = field(default_factory=list)
    rows: dict[str, TableRows] = field(default_factory=dict)
    scopes: dict[str, RowScope] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    """Clusters with all groups to replay."""
    groups: dict[str, set[str]] = field(default_factory=dict)
    """Groups to replay in other clusters."""
    snapshots: StoredCheckpoints = field(default_factory=StoredCheckpoints)
    cluster_snapshots: ClusterSnapshots = field(default_factory=ClusterSnapshots)
    with_outages: set[str] = field(default_factory=set)
    """Clusters with outages to replay."""
    taken: dict[str, TableRows] = field(default_factory=dict)
    """New checkpoints, by table."""
    failures: list[str] = field(default_factory=list)

    def do(self) -> ReplayResult:
        clusters = self.touched.clusters
        values = self.files.columns(*_FILE_COLUMNS)
        rows = [dict(zip(_FILE_COLUMNS, row, strict=True)) for row in values if row[0] in clusters and row[1]]
        facts = facts_of(self.warehouse, clusters, rows, self.options.assume, self.failures)
        fingerprints = {cluster: fingerprint_of(_without_end(facts_of_cluster)) for cluster, facts_of_cluster in facts.items()}
        changed = {cluster for cluster in facts if self.states.get(cluster, {}).get("facts") != fingerprints[cluster]}
        # Nothing is known of a cluster whose last informative file is gone.
        changed |= clusters & self.states.keys() - facts.keys()
        self.whole = self.touched.whole | changed
        nodes = {row["path"]: row["node"] for row in rows if row["node"]}
        self._group_stage(facts, nodes)
        readers = readers_of(self.warehouse, clusters)
        self._note_following(readers)
        read = {cluster: fingerprint_readers(readers.get(cluster, Readers())) for cluster in facts}
        self._outage_stage(facts, nodes, readers, read)
        rocket = self._rocket_stage(rows)
        self._facts_table(facts, changed | self.touched.whole)
        self._unknown_table(rows)
        after = {
            cluster: state_text({"facts": fingerprints[cluster], "readers": read[cluster].whole, "rocketmq": cluster in rocket})
            for cluster in facts
        }
        rows_after = state_rows(CLUSTER_STATE, after, {cluster: cluster for cluster in after})
        return self._replayed(rows_after, frozenset(self.whole - facts.keys()))

    def _replayed(self, states: pa.Table, gone: frozenset[str]) -> ReplayResult:
        spark = self.warehouse.spark
        tables = {table: rows.frame(spark) if rows.local is None else rows.local for table, rows in self.rows.items()}
        counts = {table: rows.count for table, rows in self.rows.items()}
        ids = self._known_rebalances()
        whole = {"rebalances": ids} if ids is not None else {}
        replayed, resumed = sum(map(len, self.groups.values())), len(self.snapshots.chosen)
        of_clusters = len(self.cluster_snapshots.chosen)
        unreadable, taken = self.snapshots.unreadable, self._taken()
        return ReplayResult(
            tables, counts, self.scopes, states, gone, replayed, resumed, whole, taken, unreadable, of_clusters, self.failures
        )

    def _taken(self) -> dict[str, tuple[DataFrame | pa.Table, RowScope]]:
        """New checkpoints, which may be large; in the driver only if all events are."""
        replaced: dict[str, Callable[[pa.Table], RowScope]] = {
            SNAPSHOTS: lambda rows: self.snapshots.replaced(rows, self.groups, self.whole),
            CLUSTER_SNAPSHOTS: lambda rows: self.cluster_snapshots.replaced(rows, self.with_outages),
        }
        stored = {SNAPSHOTS: self.snapshots.stored, CLUSTER_SNAPSHOTS: self.cluster_snapshots.stored}
        slices: dict[str, tuple[DataFrame | pa.Table, RowScope]] = {}
        for table, taken in self.taken.items():
            if not (taken.count or stored[table]):
                continue
            if taken.local is not None:
                slices[table] = taken.local, replaced[table](taken.local)
            else:
                frame = taken.frame(self.warehouse.spark)
                slices[table] = frame, replaced[table](frame.drop("state").toArrow())
        return slices

    def _events(self, scope: RowScope) -> tuple[DataFrame | None, pa.Table | None]:
        """Stored events as a DataFrame, or in the driver if they are few."""
        local_rows = self.warehouse.rows.if_local("events", scope)
        return (self.warehouse.tables.frame("events").where(scope.column), None) if local_rows is None else (None, local_rows)

    def _group_stage(self, facts: Mapping[str, ClusterFacts], nodes: Mapping[str, str]) -> None:
        groups = self.groups = self._groups()
        if not self.whole and not groups:
            return
        options = self.options
        self.snapshots = plan_resume(self.warehouse, self.touched, facts, options.snapshots, groups, self.whole)
        replay = GroupReplay(facts, nodes, options.limits, options.redaction, self.snapshots.boundaries, options.snapshots)
        stage = self._groups_replayed(replay)
        self.taken[SNAPSHOTS] = stage.pop(SNAPSHOTS)
        for table, rows in stage.items():
            names = partial(first_among, "groups") if table == "incidents" else partial(among, "group")
            of_stage = self.snapshots.later("final_at", groups, self.whole, names)
            if table == "incidents":  # incidents of outages name no rebalance
                of_stage = of_stage & is_empty("outage_ids") & equals("system", KAFKA)
            elif table == "rebalances":
                of_stage = of_stage & equals("system", KAFKA)
            elif table == "divergences":  # divergences of brokers' clocks belong to no group
                of_stage = of_stage & ~is_null("group") & equals("system", KAFKA)
            self._collect(table, rows, of_stage)

    def _groups_replayed(self, replay: GroupReplay) -> dict[str, TableRows]:
        events = self._events(self.snapshots.later("file_time_max_at", self.groups, self.whole, partial(among, "group")))
        checkpoints = self.snapshots.rows(self.warehouse) if self.snapshots.chosen else None
        stage = self._stage(in_order_of_groups(replay), events, checkpoints)
        if not self.snapshots.chosen:
            return stage
        unreadable = stage[SNAPSHOTS].chosen(equals("state", HOLDS_NO_MORE), ("cluster", "group"), self.warehouse.spark).to_pylist()
        for row in unreadable:
            self.snapshots.drop(row["cluster"], row["group"])
        return self._groups_replayed(replay) if unreadable else stage

    def _stage(
        self,
        replay: OrderedReplay,
        events: tuple[DataFrame | None, pa.Table | None],
        checkpoints: DataFrame | pa.Table | None = None,
    ) -> dict[str, TableRows]:
        """Rows of a stage by table, small sets in the driver.

        `checkpoints` are those before the events, and contain earlier rows. Of events in the driver the result is
        usually small. If it is not, because one line may concern thousands of partitions, the stage runs again.
        """
        frame, local = events
        tables, most = replay.tables, arrow_diff.LOCAL_ROWS_MAX
        if local is not None and not isinstance(checkpoints, DataFrame):
            first = replay.in_process(local, most, checkpoints)
            if first is not None:
                return by_table(first, tables)
        if frame is None:
            frame = arrow_diff.to_frame(self.warehouse.spark, local)
        if checkpoints is not None:
            spread = arrow_diff.to_frame(self.warehouse.spark, checkpoints) if isinstance(checkpoints, pa.Table) else checkpoints
            frame = prepend_checkpoints(frame, spread, replay.keys)
        tagged = replay.by_spark(frame, partitions_of(self.warehouse.spark))
        persisted = persist_on_disk(tagged)
        self.persisted.append(persisted)
        counts = dict.fromkeys(tables, 0) | {row["table"]: row["count"] for row in persisted.groupBy("table").count().collect()}
        local = local_tables(counts)
        local_table = (
            persisted.where(F.col("table").isin(*local)).toArrow() if any(map(counts.get, local)) else persisted.limit(0).toArrow()
        )
        return by_table(local_table, local) | {name: self._kept(name, counts[name], persisted) for name in tables if name not in local}

    def _kept(self, table: str, count: int, tagged: DataFrame) -> TableRows:
        """Cache one table's rows, so that its queries need not scan all tables."""
        rows = rows_of_replay(table, tagged)
        if count > arrow_diff.LOCAL_ROWS_MAX:
            rows = persist_on_disk(rows)
            self.persisted.append(rows)
        return TableRows(count, distributed=rows)

    def _staying(self) -> RowScope:
        """Stored rebalances of these clusters that were not replayed."""
        return among("cluster", self.touched.clusters) & ~self.scopes.get("rebalances", nothing())

    def _known_rebalances(self) -> DataFrame | pa.Table | None:
        """Ids of rebalances after the run: replayed ones, and stored ones that are named."""
        columns, spark = ("rebalance_id",), self.warehouse.spark
        replayed = self.rows.get("rebalances")
        parts: list[DataFrame | pa.Table] = []
        if replayed is not None:
            parts.append(replayed.frame(spark).select(*columns) if replayed.local is None else replayed.local.select(columns))
        if not self.warehouse.versions.is_known_empty("rebalances"):
            named = self._named_rebalances()
            stay = self._staying() if named is None else self._staying() & among(columns[0], named)
            parts.append(self.warehouse.rows.as_either("rebalances", stay, columns))
        local_parts = [part for part in parts if isinstance(part, pa.Table)]
        if len(local_parts) == len(parts):
            return pa.concat_tables(local_parts) if parts else None
        return reduce(DataFrame.unionByName, [arrow_diff.to_frame(spark, part) if isinstance(part, pa.Table) else part for part in parts])

    def _named_rebalances(self) -> set[str] | None:
        """Rebalances named by rows of other tables, None if there are many."""
        named: set[str] = set()
        for table in NAMING.keys() & self.rows.keys():
            rows = self.rows[table].local
            if rows is None:
                return None
            column = rows[NAMING[table]]
            names = (pc.list_flatten(column) if pa.types.is_nested(column.type) else column).drop_null()  # the gate reports nulls
            named.update(names.to_pylist())
        return named if len(named) <= NAMES_MAX else None

    def _note_following(self, readers: dict[str, Readers]) -> None:
        """Note rebalances caused by a lost coordinator, for outages to name. They are few."""
        following = among("root_cause", FOLLOWING)
        columns = ("cluster", "group", "rebalance_id", "started_at", "joined_at")
        frames = [self.rows["rebalances"].chosen(following, columns, self.warehouse.spark)] if "rebalances" in self.rows else []
        if not self.warehouse.versions.is_known_empty("rebalances"):
            frames.append(self.warehouse.rows.as_arrow("rebalances", self._staying() & following, columns))
        for rows in frames:
            started = pc.coalesce(rows["started_at"], rows["joined_at"]).cast(pa.int64()).to_pylist()
            for at, cluster, group, key in zip(started, *(rows[name].to_pylist() for name in columns[:3]), strict=True):
                if at is not None:
                    readers.setdefault(cluster, Readers()).following.add(RebalanceAfterOutage(at, group, key))

    def _groups(self) -> dict[str, set[str]]:
        """Groups to replay in clusters that are not replayed as a whole."""
        groups = {cluster: set(names) for cluster, names in self.touched.groups.items() if cluster not in self.whole}
        rest = sorted(self.touched.events.keys() - self.whole)
        if rest and not self.warehouse.versions.is_known_empty("rebalances"):
            lasting = among("cluster", rest) & ~is_null("at_least_seconds") & equals("system", KAFKA)
            for row in self.warehouse.rows.as_arrow("rebalances", lasting, ("cluster", "group")).to_pylist():
                groups.setdefault(row["cluster"], set()).add(row["group"])
            for cluster, group in self._empty_groups(rest):
                groups.setdefault(cluster, set()).add(group)
        return groups

    def _empty_groups(self, clusters: Sequence[str]) -> set[tuple[str, str]]:
        """Groups whose last members failed, and that may still be empty."""
        if self.warehouse.versions.is_known_empty("offset_expirations"):
            return set()
        failed = among("cluster", clusters) & among("cause", FAILURES) & equals("outcome", "empty")
        ends = self.warehouse.rows.distinct("offset_expirations", among("cluster", clusters), ("cluster", "group", "has_expired"))
        waiting = {(cluster, group) for cluster, group, has_expired in ends if not has_expired}
        return waiting.intersection(self.warehouse.rows.distinct("rebalances", failed, ("cluster", "group")))

    def _outage_stage(
        self,
        facts: Mapping[str, ClusterFacts],
        nodes: Mapping[str, str],
        readers: Mapping[str, Readers],
        read: Mapping[str, ReaderFingerprints],
    ) -> None:
        clusters = self.whole | {cluster for cluster, names in self.touched.events.items() if names & PARTITION_EVENTS}
        changed = {name for name in facts if self.states.get(name, {}).get("readers") != read[name].whole}
        clusters |= self._clusters_naming_readers(changed - clusters)
        if not clusters:
            return
        self.with_outages, rules = clusters, self.options.snapshots
        self.cluster_snapshots = look_at_clusters(self.warehouse, self.touched, facts, nodes, read, rules, clusters)
        stage = self._outages(facts, nodes, readers)
        self.taken[CLUSTER_SNAPSHOTS] = stage.pop(CLUSTER_SNAPSHOTS)
        for table, rows in stage.items():
            if table in LAYOUT_TABLES:
                self._collect(table, rows, among("cluster", clusters))
                continue
            of_stage = self.cluster_snapshots.later("final_at", clusters)
            if table == "incidents":
                of_stage = of_stage & ~is_empty("outage_ids")
            elif table == "divergences":
                of_stage = of_stage & is_null("group") & equals("system", KAFKA)
            self._collect(table, rows, of_stage)

    def _outages(self, facts: Mapping[str, ClusterFacts], nodes: Mapping[str, str], readers: Mapping[str, Readers]) -> dict[str, TableRows]:
        snapshots = self.cluster_snapshots
        resumed = snapshots.chosen.keys()
        telling = with_partitions(self.warehouse, self.with_outages - resumed) | resumed
        if not telling:
            return {table: TableRows(0, local=without_run(table).empty_table()) for table in OUTAGE_STAGE_TABLES}
        events = self._events(snapshots.later("file_time_max_at", telling) & among("event", PARTITION_EVENTS))
        options = self.options
        gap_seconds, seal = options.limits.episode_gap_seconds, CheckpointSeal(options.redaction)
        replay = OutageReplay(facts, nodes, readers, gap_seconds, snapshots.boundaries, options.snapshots, seal)
        stage = self._stage(in_order_of_clusters(replay), events, snapshots.rows(self.warehouse) if resumed else None)
        differing = (
            stage[CLUSTER_SNAPSHOTS].chosen(equals("state", HOLDS_NO_MORE), ("cluster",), self.warehouse.spark)["cluster"].to_pylist()
        )
        if not differing:
            return stage
        for cluster in differing:  # the brokers' clocks differ, so all earlier events need another order
            snapshots.drop(cluster)
        return self._outages(facts, nodes, readers)

    def _clusters_naming_readers(self, clusters: set[str]) -> set[str]:
        """The clusters with rows that name reading groups."""
        tables = [name for name in READER_TABLES if not self.warehouse.versions.is_known_empty(name)] if clusters else []
        rows = (self.warehouse.rows.as_arrow(name, among("cluster", clusters), ("cluster",))["cluster"] for name in tables)
        return {cluster for column in rows for cluster in column.unique().to_pylist()}

    def _rocket_stage(self, files: list[FileRow]) -> frozenset[str]:
        """Replay RocketMQ's clusters, always as a whole; return those with its events.

        Open episodes depend on the end of the files, so changed clusters with RocketMQ's events are always replayed.
        """
        cluster_names = {name for name in self.touched.clusters if self._may_have_rocket(name)}
        having = frozenset(self._with_rocket(cluster_names))
        clusters = having | self._without(cluster_names - having)
        if not clusters:
            return having
        wanted = among("cluster", clusters)
        ends, options = rocket_ends_of(files), self.options
        rocket = in_order_of_rocket(ends, options.limits, options.redaction)
        stage = self._stage(rocket, self._events(wanted & among("event", ROCKET_EVENTS)))
        for table, rows in stage.items():
            self._collect(table, rows, wanted & equals("system", ROCKETMQ))
        return having

    def _may_have_rocket(self, cluster: str) -> bool:
        """Return False if the cluster had no RocketMQ event before and got none.

        The file's own system is not enough, because applications write lines of several clients into one.
        """
        has_none = self.states.get(cluster, {}).get("rocketmq") is False and cluster not in self.touched.whole
        return not has_none or not ROCKET_EVENTS.isdisjoint(self.touched.events.get(cluster, ()))

    def _with_rocket(self, clusters: set[str]) -> set[str]:
        """The clusters with events of RocketMQ."""
        if not clusters or self.warehouse.versions.is_known_empty("events"):
            return set()
        of_rocketmq = among("cluster", clusters) & among("event", ROCKET_EVENTS)
        return {cluster for (cluster,) in self.warehouse.rows.distinct("events", of_rocketmq, ("cluster",))}

    def _without(self, clusters: set[str]) -> set[str]:
        """The clusters without events of RocketMQ that still have rows of it."""
        of_rocketmq = among("cluster", clusters) & equals("system", ROCKETMQ)
        tables = [name for name in ROCKET_TABLES if not self.warehouse.versions.is_known_empty(name)] if clusters else []
        return {
            cluster for name in tables for cluster in self.warehouse.rows.as_arrow(name, of_rocketmq, ("cluster",))["cluster"].to_pylist()
        }

    def _collect(self, table: str, rows: TableRows, scope: RowScope) -> None:
        """Add rows of a stage; several stages may fill one table."""
        self.rows[table] = self.rows[table].joined(rows, self.warehouse.spark) if table in self.rows else rows
        self.scopes[table] = self.scopes[table] | scope if table in self.scopes else scope

    def _facts_table(self, facts: Mapping[str, ClusterFacts], clusters: set[str]) -> None:
        if clusters:
            learned = [row for cluster in sorted(clusters & facts.keys()) for row in fact_rows(facts[cluster])]
            rows = pa.Table.from_batches([to_batch("learned_facts", learned)])
            self._collect("learned_facts", TableRows(len(learned), local=rows), among("cluster", clusters))

    def _unknown_table(self, files: list[FileRow]) -> None:
        """Unknown messages, summed over the files of each cluster."""
        clusters = self.touched.unknown | self.touched.whole
        if not clusters:
            return
        rows = [row for row in files if row["cluster"] in clusters]
        # With too many names the join alone selects.
        of_files = among("file", {row["path"] for row in rows}) if len(rows) <= NAMES_MAX else None
        scope = among("cluster", clusters)
        local_rows = self.warehouse.rows.if_local("unknown_in_files", of_files)
        if local_rows is not None:
            sums = unknown_sums(local_rows, {row["path"]: row["cluster"] for row in rows})
            self._collect("unknown_messages", TableRows(sums.num_rows, local=sums), scope)
            return
        named = pa.table(
            {"file": [row["path"] for row in rows], "cluster": [row["cluster"] for row in rows], "version": [None for _ in rows]},
            schema=pa.schema([("file", pa.string()), ("cluster", pa.string()), ("version", pa.string())]),
        )
        known = F.broadcast(arrow_diff.to_frame(self.warehouse.spark, named))
        in_files = self.warehouse.rows.as_frame("unknown_in_files", of_files)
        unknown = persist_on_disk(unknown_messages(in_files.join(known, "file")))
        self.persisted.append(unknown)
        count = unknown.count()
        summed = TableRows(count, local=unknown.toArrow()) if count <= arrow_diff.LOCAL_ROWS_MAX else TableRows(count, distributed=unknown)
        self._collect("unknown_messages", summed, scope)


def _without_end(facts: ClusterFacts) -> dict[str, Any]:
    """Facts that verdicts depend on, without the ends of logs."""
    return {name: repr(getattr(facts, name)) for name in facts.__dataclass_fields__ if name not in {"logs_end", "client_ends"}}
