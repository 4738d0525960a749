"""Silver in, rows of gold out: the three stages of replay over what changed.

A group's rows rest on its own events and on the facts of its cluster. So where the facts are as they were, only groups
with changed records are replayed, and those whose last rebalance is open: how long that has lasted, the end of the logs says.
A group with many events is replayed from the last of its stored states on that still holds (`jobs/snapshots.py`); its rows
that were final by then stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from models.cluster import CLUSTER_EVENTS, ClusterFacts, fact_rows
from models.incidents import Limits
from models.kafka.outages_readers import Readers
from models.kafka.partitions_events import PARTITION_EVENTS
from parsers.redaction import Redaction
from pipelines import few
from pipelines.jobs.files import FileRow
from pipelines.jobs.ingest import Touched
from pipelines.jobs.snapshots import Snapshots, look
from pipelines.jobs.states import CLUSTER, State, state_rows
from pipelines.rows import events_of, to_batch
from pipelines.scopes import Scope, among, equals, first_among, is_empty, is_null, nothing
from pipelines.stages import OUTAGE_TABLES, READER_TABLES, ROCKET_TABLES, cluster_facts, logs_end_of, rocket_ends_of
from pipelines.tables import Warehouse
from pipelines.transforms.parsed import tagged_rows
from pipelines.transforms.replay import (
    STAGE_TABLES,
    GroupReplay,
    note_following,
    outages_replayed,
    readers_of,
    replayed,
    rocket_replayed,
    rows_of,
)
from pipelines.transforms.sightings import sightings_of_all, strays_of
from pipelines.transforms.snapshots import SNAPSHOTS, SnapshotRules, resumed_at
from pipelines.transforms.unknown_messages import unknown_messages
from pipelines.versions import fingerprint_of

KAFKA, ROCKETMQ = "kafka", "rocketmq"


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What verdicts depend on beside the events. `assume` holds settings by name."""

    assume: Mapping[str, int] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    redaction: Redaction | None = None
    snapshots: SnapshotRules = field(default_factory=SnapshotRules)


@dataclass(frozen=True, slots=True)
class Replayed:
    """Rows of tables, how many each has, and which stored rows they replace. `states` are those of clusters, as rows."""

    frames: Mapping[str, DataFrame]
    few: Mapping[str, pa.Table]
    """The same rows in this process, of tables of which it holds them."""
    counts: Mapping[str, int]
    scopes: Mapping[str, Scope]
    states: pa.Table
    gone: frozenset[str]
    """Clusters of which nothing is left."""
    groups: int
    """Groups that were replayed one by one, beside those of whole clusters."""
    resumed: int
    """Those of them that went on from a stored state."""
    whole: Mapping[str, DataFrame] = field(default_factory=dict)
    """Rebalances as they will be, also those that were not replayed: incidents name them."""
    snapshots: tuple[DataFrame | pa.Table, Scope] | None = None
    """States that were taken, and which stored ones they replace."""


@contextmanager
def replay(
    warehouse: Warehouse, files: Iterable[FileRow], touched: Touched, states: Mapping[str, State], options: ReplayOptions
) -> Iterator[Replayed]:
    """Replay what was touched. The rows are held until the caller is done with them.

    `files` are all rows of `log_files`, `states` what the verdicts of clusters rested on when they were made.
    """
    work = _Replay(warehouse, list(files), touched, dict(states), options)
    try:
        yield work.do()
    finally:
        for frame in work.held:
            frame.unpersist()


@dataclass(slots=True)
class _Replay:
    warehouse: Warehouse
    files: list[FileRow]
    touched: Touched
    states: dict[str, State]
    options: ReplayOptions
    held: list[DataFrame] = field(default_factory=list)
    rows: dict[str, Rows] = field(default_factory=dict)
    scopes: dict[str, Scope] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    """Clusters all of whose groups are replayed."""
    groups: dict[str, set[str]] = field(default_factory=dict)
    """Groups to replay of other clusters."""
    snapshots: Snapshots = field(default_factory=Snapshots)
    taken: Rows | None = None
    """States that were taken."""
    few_events: bool = False
    """This process holds the events, so what comes of them can't be much more."""

    def do(self) -> Replayed:
        clusters = self.touched.clusters
        rows = [row for row in self.files if row["cluster"] in clusters and row["file_id"]]
        scope = among("cluster", clusters)
        here = self.warehouse.few("events", scope)
        self.few_events = here is not None
        events = self.warehouse.frame("events", scope) if here is None else few.framed(self.warehouse.spark, here)
        facts = self._facts(events, rows)
        told = {cluster: fingerprint_of(_without_end(found)) for cluster, found in facts.items()}
        changed = {cluster for cluster in facts if self.states.get(cluster, {}).get("facts") != told[cluster]}
        self.whole = self.touched.whole | changed
        nodes = {row["path"]: row["node"] for row in rows if row["node"]}
        readers = readers_of(events)
        self._group_stage(events, facts, nodes)
        rebalances = self._rebalances()
        for frame in rebalances:
            note_following(readers, frame)
        read = {cluster: fingerprint_of(_sorted(readers.get(cluster))) for cluster in facts}
        self._outage_stage(events, facts, nodes, readers, read)
        self._rocket_stage(events, rows)
        self._facts_table(facts, changed | self.touched.whole)
        self._unknown_table(rows)
        after = {cluster: {"facts": told[cluster], "readers": read[cluster]} for cluster in facts}
        rows_after = state_rows(CLUSTER, after, {cluster: cluster for cluster in after})
        return self._replayed(rows_after, frozenset(self.touched.whole - facts.keys()))

    def _replayed(self, states: pa.Table, gone: frozenset[str]) -> Replayed:
        spark = self.warehouse.spark
        frames = {table: rows.frame(spark) for table, rows in self.rows.items()}
        few = {table: rows.few for table, rows in self.rows.items() if rows.few is not None}
        counts = {table: rows.count for table, rows in self.rows.items()}
        ids = [rebalances.select("rebalance_id") for rebalances in self._rebalances()]
        whole = {"rebalances": reduce(DataFrame.unionByName, ids)} if ids else {}
        replayed, resumed = sum(map(len, self.groups.values())), len(self.snapshots.chosen)
        return Replayed(frames, few, counts, self.scopes, states, gone, replayed, resumed, whole, self._taken())

    def _taken(self) -> tuple[DataFrame | pa.Table, Scope] | None:
        """States may be large, and are held by this process only where all events are."""
        taken = self.taken
        if taken is None or not (taken.count or self.snapshots.stored):
            return None
        if taken.few is not None:
            return taken.few, self.snapshots.replaced(taken.few, self.groups, self.whole)
        frame = taken.frame(self.warehouse.spark)
        return frame, self.snapshots.replaced(frame.drop("state").toArrow(), self.groups, self.whole)

    def _facts(self, events: DataFrame, files: list[FileRow]) -> dict[str, ClusterFacts]:
        """The cluster stage. Few lines concern a whole cluster, so their events come to the driver."""
        concerning = events.where(F.col("event").isin(sorted(CLUSTER_EVENTS))).orderBy("file", "byte_offset").toArrow()
        cluster_of = {row["path"]: row["cluster"] for row in files}
        strays = list(events_of(strays_of(events).orderBy("file", "byte_offset").toArrow()))
        seen = partial(sightings_of_all, events)
        return cluster_facts(events_of(concerning), cluster_of.__getitem__, logs_end_of(files), self.options.assume, strays, seen)

    def _group_stage(self, events: DataFrame, facts: Mapping[str, ClusterFacts], nodes: Mapping[str, str]) -> None:
        groups = self.groups = self._groups()
        if not self.whole and not groups:
            return
        rules, redaction = self.options.snapshots, self.options.redaction
        self.snapshots = look(self.warehouse, self.touched, facts, rules, groups, self.whole)
        if redaction is not None:  # a state would have to hold the names that are hidden, and those of before go
            self.snapshots = Snapshots(stored=self.snapshots.stored)
        replay = GroupReplay(facts, nodes, self.options.limits, redaction, self.snapshots.boundaries, rules)
        source = events.where(self.snapshots.later("order_at", groups, self.whole, partial(among, "group")).column)
        if self.snapshots.chosen:
            source = resumed_at(source, self.snapshots.rows(self.warehouse))
        stage = self._stage(replayed(source, replay, self.warehouse.partitions), STAGE_TABLES)
        self.taken = stage.pop(SNAPSHOTS)
        for table, rows in stage.items():
            names = partial(first_among, "groups") if table == "incidents" else partial(among, "group")
            of_stage = self.snapshots.later("final_at", groups, self.whole, names)
            if table == "incidents":  # those of outages name no rebalance
                of_stage = of_stage & is_empty("outage_ids") & equals("system", KAFKA)
            elif table == "rebalances":
                of_stage = of_stage & equals("system", KAFKA)
            elif table == "divergences":  # those of brokers' clocks are of no group
                of_stage = of_stage & ~is_null("group")
            self._take(table, rows, of_stage)

    def _stage(self, tagged: DataFrame, tables: tuple[str, ...]) -> dict[str, Rows]:
        """What a stage gives, by table; it is replayed once. Where rows are few, this process holds them from here on."""
        if self.few_events:
            return _by_table(tagged.toArrow(), tables)
        held = tagged.persist()
        self.held.append(held)
        counts = dict.fromkeys(tables, 0) | {row["table"]: row["count"] for row in held.groupBy("table").count().collect()}
        wide = {name: Rows(counts[name], held=rows_of(name, held)) for name in tables if name == SNAPSHOTS}
        if sum(counts.values()) > few.ROWS:
            return {table: Rows(counts[table], held=rows_of(table, held)) for table in tables}
        return _by_table(held.where(F.col("table") != SNAPSHOTS).toArrow(), tables) | wide

    def _rebalances(self) -> list[DataFrame]:
        """Rebalances of these clusters as they will be: those that were replayed, and stored ones that stay."""
        found = [self.rows["rebalances"].frame(self.warehouse.spark)] if "rebalances" in self.rows else []
        if not self.warehouse.is_empty("rebalances"):
            stay = among("cluster", self.touched.clusters) & ~self.scopes.get("rebalances", nothing())
            found.append(self.warehouse.frame("rebalances", stay))
        return found

    def _groups(self) -> dict[str, set[str]]:
        """Groups to replay of clusters that are not replayed as a whole."""
        groups = {cluster: set(names) for cluster, names in self.touched.groups.items() if cluster not in self.whole}
        rest = sorted(self.touched.events.keys() - self.whole)
        if rest and not self.warehouse.is_empty("rebalances"):
            lasting = among("cluster", rest) & ~is_null("at_least_seconds") & equals("system", KAFKA)
            for row in self.warehouse.rows("rebalances", lasting, ("cluster", "group")).to_pylist():
                groups.setdefault(row["cluster"], set()).add(row["group"])
        return groups

    def _outage_stage(
        self,
        events: DataFrame,
        facts: Mapping[str, ClusterFacts],
        nodes: Mapping[str, str],
        readers: Mapping[str, Readers],
        read: Mapping[str, str],
    ) -> None:
        clusters = self.whole | {cluster for cluster, names in self.touched.events.items() if names & PARTITION_EVENTS}
        clusters |= self._with_outages({name for name in facts if self.states.get(name, {}).get("readers") != read[name]} - clusters)
        if not clusters:
            return
        wanted = among("cluster", clusters)
        broken = outages_replayed(events.where(wanted.column), facts, nodes, readers, self.options.limits, self.warehouse.partitions)
        for table, rows in self._stage(broken, OUTAGE_TABLES).items():
            of_stage = wanted
            if table == "incidents":
                of_stage = wanted & ~is_empty("outage_ids")
            elif table == "divergences":
                of_stage = wanted & is_null("group")
            self._take(table, rows, of_stage)

    def _with_outages(self, clusters: set[str]) -> set[str]:
        """Those of the clusters that have rows which name who reads."""
        tables = [name for name in READER_TABLES if not self.warehouse.is_empty(name)] if clusters else []
        found = (self.warehouse.rows(name, among("cluster", clusters), ("cluster",))["cluster"] for name in tables)
        return {cluster for column in found for cluster in column.unique().to_pylist()}

    def _rocket_stage(self, events: DataFrame, files: list[FileRow]) -> None:
        """Few clusters have RocketMQ: those without are spared its stage. What is open depends on how far files reach, too."""
        clusters = {row["cluster"] for row in files if row["system"] == ROCKETMQ}
        clusters |= self._without(self.touched.whole - clusters)
        if not clusters:
            return
        wanted = among("cluster", clusters)
        ends, options = rocket_ends_of(files), self.options
        rocket = rocket_replayed(events.where(wanted.column), self.warehouse.partitions, ends, options.limits, options.redaction)
        for table, rows in self._stage(rocket, ROCKET_TABLES).items():
            self._take(table, rows, wanted & equals("system", ROCKETMQ))

    def _without(self, clusters: set[str]) -> set[str]:
        """Those of the clusters that have no files of RocketMQ, and still have rows of it: files may change their cluster."""
        ours = among("cluster", clusters) & equals("system", ROCKETMQ)
        tables = [name for name in ROCKET_TABLES if not self.warehouse.is_empty(name)] if clusters else []
        return {cluster for name in tables for cluster in self.warehouse.rows(name, ours, ("cluster",))["cluster"].to_pylist()}

    def _take(self, table: str, rows: Rows, scope: Scope) -> None:
        """Rows of a stage, which replace those that it made before; two stages may fill one table."""
        self.rows[table] = self.rows[table].joined(rows, self.warehouse.spark) if table in self.rows else rows
        self.scopes[table] = self.scopes[table] | scope if table in self.scopes else scope

    def _facts_table(self, facts: Mapping[str, ClusterFacts], clusters: set[str]) -> None:
        if clusters:
            learned = [row for cluster in sorted(clusters & facts.keys()) for row in fact_rows(facts[cluster])]
            rows = pa.Table.from_batches([to_batch("learned_facts", learned)])
            self._take("learned_facts", Rows(len(learned), few=rows), among("cluster", clusters))

    def _unknown_table(self, files: list[FileRow]) -> None:
        """Records without an entry, summed over the files of their cluster."""
        clusters = self.touched.unknown | self.touched.whole
        if not clusters:
            return
        rows = [row for row in files if row["cluster"] in clusters]
        named = pa.table(
            {"file": [row["path"] for row in rows], "cluster": [row["cluster"] for row in rows], "version": [None for _ in rows]},
            schema=pa.schema([("file", pa.string()), ("cluster", pa.string()), ("version", pa.string())]),
        )
        known = F.broadcast(few.framed(self.warehouse.spark, named))
        in_files = self.warehouse.frame("unknown_in_files", among("file", {row["path"] for row in rows}))
        unknown = unknown_messages(in_files.join(known, "file")).persist()
        self.held.append(unknown)
        count = unknown.count()
        summed = Rows(count, few=unknown.toArrow()) if count <= few.ROWS else Rows(count, held=unknown)
        self._take("unknown_messages", summed, among("cluster", clusters))


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one table: in this process where they are few, else with Spark."""

    count: int
    few: pa.Table | None = None
    held: DataFrame | None = None

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows for Spark."""
        return few.framed(spark, self.few) if self.held is None else self.held

    def joined(self, other: Rows, spark: SparkSession) -> Rows:
        """These rows and others of the same table."""
        count = self.count + other.count
        if self.few is not None and other.few is not None:
            return Rows(count, few=pa.concat_tables([self.few, other.few]))
        return Rows(count, held=self.frame(spark).unionByName(other.frame(spark)))


def _by_table(tagged: pa.Table, tables: Iterable[str]) -> dict[str, Rows]:
    rows = {table: tagged_rows(tagged, table, "table") for table in tables}
    return {table: Rows(own.num_rows, few=own) for table, own in rows.items()}


def _without_end(facts: ClusterFacts) -> dict[str, Any]:
    """What verdicts rest on, but for the end of the logs, which each run moves."""
    return {name: repr(getattr(facts, name)) for name in facts.__dataclass_fields__ if name != "logs_end"}


def _sorted(readers: Readers | None) -> list[Any]:
    if readers is None:
        return []
    by_topic = sorted((topic, sorted(groups)) for topic, groups in readers.by_topic.items())
    by_partition = sorted((number, sorted(groups)) for number, groups in readers.by_offsets_partition.items())
    return [by_topic, by_partition, [(each.started_at, each.rebalance_id) for each in sorted(readers.following)]]
