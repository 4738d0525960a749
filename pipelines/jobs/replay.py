"""Silver in, rows of gold out: the three stages of replay over the clusters that changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from models.cluster import CLUSTER_EVENTS, ClusterFacts, fact_rows
from models.incidents import Limits
from pipelines.jobs.ingest import FileRow
from pipelines.rows import events_of, to_batch
from pipelines.stages import OUTAGE_TABLES, ROCKET_TABLES, cluster_facts, logs_end_of
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
from pipelines.transforms.unknown_messages import unknown_messages


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What verdicts depend on beside the events. `assume` holds settings by name."""

    assume: Mapping[str, int] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Replayed:
    """Rows of tables, and how many each has."""

    frames: Mapping[str, DataFrame]
    counts: Mapping[str, int]


@contextmanager
def replay(warehouse: Warehouse, files: Iterable[FileRow], clusters: set[str], options: ReplayOptions) -> Iterator[Replayed]:
    """Replay these clusters. The rows are held until the caller is done with them.

    `files` are all rows of `log_files`.
    """
    rows = [row for row in files if row["cluster"] in clusters and row["file_id"]]
    events = warehouse.read("events").where(F.col("cluster").isin(sorted(clusters)))
    facts = _facts(events, rows, options)
    nodes = {row["path"]: row["node"] for row in rows if row["node"]}
    partitions = int(warehouse.spark.conf.get("spark.sql.shuffle.partitions") or 1)
    tagged = replayed(events, GroupReplay(facts, nodes, options.limits), partitions).persist()
    readers = readers_of(events)
    note_following(readers, rows_of("rebalances", tagged))
    broken = outages_replayed(events, facts, nodes, readers, options.limits, partitions).persist()
    # Few clusters have RocketMQ: those without are spared its stage.
    rocket = rocket_replayed(events, partitions).persist() if any(row["system"] == "rocketmq" for row in rows) else None
    learned = [row for cluster in sorted(facts) for row in fact_rows(facts[cluster])]
    unknown = _unknown(warehouse, rows).persist()
    try:
        sources = [(GROUP_TABLES, tagged), (OUTAGE_TABLES, broken), *([(ROCKET_TABLES, rocket)] if rocket is not None else [])]
        every = tagged.unionByName(broken, allowMissingColumns=True)
        every = every if rocket is None else every.unionByName(rocket, allowMissingColumns=True)
        counts = {table: 0 for tables, _ in sources for table in tables} | _counts(every)
        frames: dict[str, DataFrame] = {}
        for tables, source in sources:
            for table in tables:
                frames[table] = frames[table].unionByName(rows_of(table, source)) if table in frames else rows_of(table, source)
        frames["learned_facts"] = warehouse.spark.createDataFrame(pa.Table.from_batches([to_batch("learned_facts", learned)]))
        frames["unknown_messages"] = unknown
        yield Replayed(frames, counts | {"learned_facts": len(learned), "unknown_messages": unknown.count()})
    finally:
        tagged.unpersist()
        broken.unpersist()
        if rocket is not None:
            rocket.unpersist()
        unknown.unpersist()


def _counts(tagged: DataFrame) -> dict[str, int]:
    return {row["table"]: row["count"] for row in tagged.groupBy("table").count().collect()}


def _facts(events: DataFrame, files: list[FileRow], options: ReplayOptions) -> dict[str, ClusterFacts]:
    """The cluster stage. Few lines concern a whole cluster, so their events come to the driver."""
    concerning = events.where(F.col("event").isin(sorted(CLUSTER_EVENTS))).orderBy("file", "byte_offset").toArrow()
    cluster_of = {row["path"]: row["cluster"] for row in files}
    return cluster_facts(events_of(concerning), cluster_of.__getitem__, logs_end_of(files), options.assume)


def _unknown(warehouse: Warehouse, files: list[FileRow]) -> DataFrame:
    """Records without an entry, summed over the files of their cluster."""
    named = pa.table(
        {"file": [row["path"] for row in files], "cluster": [row["cluster"] for row in files], "version": [None for _ in files]},
        schema=pa.schema([("file", pa.string()), ("cluster", pa.string()), ("version", pa.string())]),
    )
    return unknown_messages(warehouse.read("unknown_in_files").join(F.broadcast(warehouse.spark.createDataFrame(named)), "file"))
