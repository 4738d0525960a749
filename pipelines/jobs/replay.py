"""Silver in, rows of gold out: the three stages of replay over what changed.

A group's rows rest on its own events and on the facts of its cluster. So where the facts are as they were, only groups
with changed records are replayed, and those whose last rebalance is open: how long that has lasted, the end of the logs says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from models.cluster import CLUSTER_EVENTS, ClusterFacts, fact_rows
from models.incidents import Limits
from models.kafka.outages_readers import Readers
from models.kafka.partitions_events import PARTITION_EVENTS
from parsers.redaction import Redaction
from pipelines.jobs.files import FileRow
from pipelines.jobs.ingest import Touched
from pipelines.jobs.states import CLUSTER, State, state_rows
from pipelines.rows import events_of, to_batch
from pipelines.stages import OUTAGE_TABLES, ROCKET_TABLES, cluster_facts, logs_end_of, rocket_ends_of
from pipelines.tables import Warehouse
from pipelines.transforms.replay import (
    GROUP_TABLES,
    GroupReplay,
    note_following,
    outages_replayed,
    readers_of,
    replayed,
    rocket_replayed,
    rows_of,
)
from pipelines.transforms.sightings import sightings_of_all, strays_of
from pipelines.transforms.unknown_messages import unknown_messages
from pipelines.versions import fingerprint_of

KAFKA, ROCKETMQ = "kafka", "rocketmq"


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What verdicts depend on beside the events. `assume` holds settings by name."""

    assume: Mapping[str, int] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    redaction: Redaction | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """Rows of tables, how many each has, and which stored rows they replace. `states` are those of clusters, as rows."""

    frames: Mapping[str, DataFrame]
    counts: Mapping[str, int]
    scopes: Mapping[str, Column]
    states: pa.Table
    groups: int
    """Groups that were replayed one by one, beside those of whole clusters."""
    whole: Mapping[str, DataFrame] = field(default_factory=dict)
    """Rebalances as they will be, also those that were not replayed: incidents name them."""


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
    frames: dict[str, DataFrame] = field(default_factory=dict)
    scopes: dict[str, Column] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    """Clusters all of whose groups are replayed."""
    groups: int = 0

    def do(self) -> Replayed:
        clusters = self.touched.clusters
        rows = [row for row in self.files if row["cluster"] in clusters and row["file_id"]]
        events = self.warehouse.read("events").where(F.col("cluster").isin(sorted(clusters)))
        facts = self._facts(events, rows)
        told = {cluster: fingerprint_of(_without_end(found)) for cluster, found in facts.items()}
        changed = {cluster for cluster in facts if self.states.get(cluster, {}).get("facts") != told[cluster]}
        self.whole = self.touched.whole | changed
        nodes = {row["path"]: row["node"] for row in rows if row["node"]}
        readers = readers_of(events)
        sources = self._group_stage(events, facts, nodes)
        for rebalances in self._rebalances():
            note_following(readers, rebalances)
        read = {cluster: fingerprint_of(_sorted(readers.get(cluster))) for cluster in facts}
        sources += self._outage_stage(events, facts, nodes, readers, read)
        sources += self._rocket_stage(events, rows)
        counts = self._counts(sources)
        self._facts_table(facts, changed | self.touched.whole, counts)
        self._unknown_table(rows, counts)
        after = {cluster: {"facts": told[cluster], "readers": read[cluster]} for cluster in facts}
        rows_after = state_rows(CLUSTER, after, {cluster: cluster for cluster in after})
        ids = [rebalances.select("rebalance_id") for rebalances in self._rebalances()]
        whole = {"rebalances": reduce(DataFrame.unionByName, ids)} if ids else {}
        return Replayed(self.frames, counts, self.scopes, rows_after, self.groups, whole)

    def _facts(self, events: DataFrame, files: list[FileRow]) -> dict[str, ClusterFacts]:
        """The cluster stage. Few lines concern a whole cluster, so their events come to the driver."""
        concerning = events.where(F.col("event").isin(sorted(CLUSTER_EVENTS))).orderBy("file", "byte_offset").toArrow()
        cluster_of = {row["path"]: row["cluster"] for row in files}
        strays = list(events_of(strays_of(events).orderBy("file", "byte_offset").toArrow()))
        seen = partial(sightings_of_all, events)
        return cluster_facts(events_of(concerning), cluster_of.__getitem__, logs_end_of(files), self.options.assume, strays, seen)

    def _group_stage(self, events: DataFrame, facts: Mapping[str, ClusterFacts], nodes: Mapping[str, str]) -> list[_Source]:
        groups = self._groups()
        self.groups = sum(map(len, groups.values()))
        if not self.whole and not groups:
            return []
        wanted = _of_groups(self.whole, groups, F.col("group"))
        tagged = replayed(
            events.where(wanted), GroupReplay(facts, nodes, self.options.limits, self.options.redaction), self._partitions()
        ).persist()
        self.held.append(tagged)
        for table in GROUP_TABLES:
            of_stage = wanted
            if table == "incidents":  # those of outages name no rebalance
                of_stage = (
                    _of_groups(self.whole, groups, F.get("groups", F.lit(0))) & (F.size("outage_ids") == 0) & (F.col("system") == KAFKA)
                )
            elif table == "rebalances":
                of_stage = wanted & (F.col("system") == KAFKA)
            elif table == "divergences":  # those of brokers' clocks are of no group
                of_stage = wanted & F.col("group").isNotNull()
            self._take(table, rows_of(table, tagged), of_stage)
        return [_Source(tagged, GROUP_TABLES)]

    def _rebalances(self) -> Iterator[DataFrame]:
        """Rebalances of these clusters as they will be: those that were replayed, and stored ones that stay."""
        if "rebalances" in self.frames:
            yield self.frames["rebalances"]
        if not self.warehouse.is_empty("rebalances"):
            replaced = self.scopes.get("rebalances", F.lit(False))
            yield self.warehouse.read("rebalances").where(F.col("cluster").isin(sorted(self.touched.clusters)) & ~replaced)

    def _groups(self) -> dict[str, set[str]]:
        """Groups to replay of clusters that are not replayed as a whole."""
        groups = {cluster: set(names) for cluster, names in self.touched.groups.items() if cluster not in self.whole}
        rest = sorted(self.touched.events.keys() - self.whole)
        if rest and not self.warehouse.is_empty("rebalances"):
            lasting = F.col("cluster").isin(rest) & F.col("at_least_seconds").isNotNull() & (F.col("system") == KAFKA)
            for row in self.warehouse.read("rebalances").where(lasting).select("cluster", "group").distinct().collect():
                groups.setdefault(row["cluster"], set()).add(row["group"])
        return groups

    def _outage_stage(
        self,
        events: DataFrame,
        facts: Mapping[str, ClusterFacts],
        nodes: Mapping[str, str],
        readers: Mapping[str, Readers],
        read: Mapping[str, str],
    ) -> list[_Source]:
        clusters = self.whole | {cluster for cluster, names in self.touched.events.items() if names & PARTITION_EVENTS}
        clusters |= {cluster for cluster in facts if self.states.get(cluster, {}).get("readers") != read[cluster]}
        if not clusters:
            return []
        wanted = F.col("cluster").isin(sorted(clusters))
        broken = outages_replayed(events.where(wanted), facts, nodes, readers, self.options.limits, self._partitions()).persist()
        self.held.append(broken)
        for table in OUTAGE_TABLES:
            of_stage = wanted
            if table == "incidents":
                of_stage = wanted & (F.size("outage_ids") > 0)
            elif table == "divergences":
                of_stage = wanted & F.col("group").isNull()
            self._take(table, rows_of(table, broken), of_stage)
        return [_Source(broken, OUTAGE_TABLES)]

    def _rocket_stage(self, events: DataFrame, files: list[FileRow]) -> list[_Source]:
        """Few clusters have RocketMQ: those without are spared its stage. What is open depends on how far files reach, too."""
        clusters = {row["cluster"] for row in files if row["system"] == ROCKETMQ}
        clusters |= self._without(self.touched.whole - clusters)
        if not clusters:
            return []
        wanted = F.col("cluster").isin(sorted(clusters))
        rocket = rocket_replayed(
            events.where(wanted), self._partitions(), rocket_ends_of(files), self.options.limits, self.options.redaction
        ).persist()
        self.held.append(rocket)
        for table in ROCKET_TABLES:
            self._take(table, rows_of(table, rocket), wanted & (F.col("system") == ROCKETMQ))
        return [_Source(rocket, ROCKET_TABLES)]

    def _without(self, clusters: set[str]) -> set[str]:
        """Those of the clusters that have no files of RocketMQ, and still have rows of it: files may change their cluster."""
        ours = F.col("cluster").isin(sorted(clusters)) & (F.col("system") == ROCKETMQ)
        tables = [name for name in ROCKET_TABLES if not self.warehouse.is_empty(name)] if clusters else []
        return {row["cluster"] for name in tables for row in self.warehouse.read(name).where(ours).select("cluster").distinct().collect()}

    def _take(self, table: str, rows: DataFrame, scope: Column) -> None:
        """Rows of a stage, which replace those that it made before; two stages may fill one table."""
        self.frames[table] = self.frames[table].unionByName(rows) if table in self.frames else rows
        self.scopes[table] = self.scopes[table] | scope if table in self.scopes else scope

    def _counts(self, sources: list[_Source]) -> dict[str, int]:
        counts = {table: 0 for source in sources for table in source.tables}
        if sources:
            names = [source.tagged.select("table") for source in sources]
            counts |= {row["table"]: row["count"] for row in reduce(DataFrame.unionByName, names).groupBy("table").count().collect()}
        return counts

    def _facts_table(self, facts: Mapping[str, ClusterFacts], clusters: set[str], counts: dict[str, int]) -> None:
        if clusters:
            learned = [row for cluster in sorted(clusters & facts.keys()) for row in fact_rows(facts[cluster])]
            rows = self.warehouse.spark.createDataFrame(pa.Table.from_batches([to_batch("learned_facts", learned)]))
            self._take("learned_facts", rows, F.col("cluster").isin(sorted(clusters)))
            counts["learned_facts"] = len(learned)

    def _unknown_table(self, files: list[FileRow], counts: dict[str, int]) -> None:
        """Records without an entry, summed over the files of their cluster."""
        clusters = self.touched.unknown | self.touched.whole
        if not clusters:
            return
        rows = [row for row in files if row["cluster"] in clusters]
        named = pa.table(
            {"file": [row["path"] for row in rows], "cluster": [row["cluster"] for row in rows], "version": [None for _ in rows]},
            schema=pa.schema([("file", pa.string()), ("cluster", pa.string()), ("version", pa.string())]),
        )
        known = F.broadcast(self.warehouse.spark.createDataFrame(named))
        unknown = unknown_messages(self.warehouse.read("unknown_in_files").join(known, "file")).persist()
        self.held.append(unknown)
        self._take("unknown_messages", unknown, F.col("cluster").isin(sorted(clusters)))
        counts["unknown_messages"] = unknown.count()

    def _partitions(self) -> int:
        return int(self.warehouse.spark.conf.get("spark.sql.shuffle.partitions") or 1)


@dataclass(frozen=True, slots=True)
class _Source:
    tagged: DataFrame
    tables: tuple[str, ...]


def _of_groups(whole: set[str], groups: Mapping[str, set[str]], group: Column) -> Column:
    """Rows of whole clusters, and of some groups of others."""
    wanted = F.col("cluster").isin(sorted(whole))
    for cluster, names in sorted(groups.items()):
        wanted = wanted | ((F.col("cluster") == cluster) & group.isin(sorted(names)))
    return wanted


def _without_end(facts: ClusterFacts) -> dict[str, Any]:
    """What verdicts rest on, but for the end of the logs, which each run moves."""
    return {name: repr(getattr(facts, name)) for name in facts.__dataclass_fields__ if name != "logs_end"}


def _sorted(readers: Readers | None) -> list[Any]:
    if readers is None:
        return []
    by_topic = sorted((topic, sorted(groups)) for topic, groups in readers.by_topic.items())
    by_partition = sorted((number, sorted(groups)) for number, groups in readers.by_offsets_partition.items())
    return [by_topic, by_partition, [(each.started_at, each.rebalance_id) for each in sorted(readers.following)]]
