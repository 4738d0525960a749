"""Files in, bronze and silver tables out: the records of files that are new or have changed, slice by slice.

`log_files` is written last. It is the ledger of what was read, so after a crash the next run reads again what the
tables may hold by half, and finds there what it would write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from parsers.reader import Discovery, ReadOptions
from pipelines.clusters import ClusterNames
from pipelines.jobs.ledger import KnownFile, Plan, plan
from pipelines.rows import micros
from pipelines.schemas import TABLES
from pipelines.stages import log_file_row, name_files, options_id, refused_row
from pipelines.tables import Change, Stamp, Warehouse
from pipelines.transforms.clusters import with_cluster
from pipelines.transforms.events import in_file_order
from pipelines.transforms.parsed import of_kind, parsed, reports
from pipelines.transforms.rejected_records import rejected_records
from pipelines.transforms.unknown_messages import unknown_in_files

FileRow = dict[str, Any]


@dataclass(slots=True)
class Ingested:
    """What an ingest did. `known` are all rows of `log_files` after it, `files` those of this input's files, `touched`
    the clusters whose events changed."""

    known: list[FileRow] = field(default_factory=list)
    files: list[FileRow] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    read: list[str] = field(default_factory=list)
    changes: dict[str, Change] = field(default_factory=dict)


def stored_files(warehouse: Warehouse) -> list[FileRow]:
    """Rows of `log_files`, with times in microseconds."""
    table = warehouse.read("log_files").drop("run_id").toArrow()
    rows: list[FileRow] = table.to_pylist()
    for name in ("first_at", "last_at"):
        for row, value in zip(rows, micros(table[name]), strict=True):
            row[name] = value
    return rows


def ingest(warehouse: Warehouse, found: Discovery, options: ReadOptions, stamp: Stamp) -> Ingested:
    """Bring bronze and silver up to date with the files found."""
    stored = {row["path"]: row for row in stored_files(warehouse)}
    todo = plan(map(_known, (row for row in stored.values() if row["file_id"])), found.files, lambda source: options_id(source, options))
    records = parsed(warehouse.spark, todo.read, options).persist() if todo.read else None
    try:
        return _write(warehouse, found, options, stamp, stored, todo, records)
    finally:
        if records is not None:
            records.unpersist()


def _write(
    warehouse: Warehouse,
    found: Discovery,
    options: ReadOptions,
    stamp: Stamp,
    stored: Mapping[str, FileRow],
    todo: Plan,
    records: DataFrame | None,
) -> Ingested:
    sources = {source.name: source for source in found.files}
    fresh = [log_file_row(row, sources[row["path"]], options) for row in reports(records)] if records is not None else []
    files = {path: dict(row) for path, row in stored.items() if path not in todo.gone}
    files |= {row["path"]: row for row in [*fresh, *map(refused_row, found.skipped)]}
    for path in todo.known.keys() & files.keys():
        files[path]["cluster_named"] = options.cluster_of(sources[path].relative)
    names = name_files(files.values())
    moved = {path for path, row in stored.items() if path in files and row["cluster"] != files[path]["cluster"]} - {
        row["path"] for row in fresh
    }
    again = {row["path"] for row in fresh} | moved | todo.gone
    done = Ingested(known=list(files.values()), read=[row["path"] for row in fresh])
    if again:
        done.changes = _replace_records(warehouse, records, names, stamp, again, moved)
        done.touched = {row["cluster"] for part in (stored, files) for path, row in part.items() if path in again}
    done.changes["log_files"] = _replace_files(warehouse, files, stored, stamp)
    here = {todo.known.get(path, path) for path in sources} | {skip.name for skip in found.skipped}
    done.files = [row for path, row in files.items() if path in here]
    return done


def _known(row: Mapping[str, Any]) -> KnownFile:
    return KnownFile(row["path"], row["file_id"], row["size_bytes"], row["bytes_read"], row["options_id"])


def _replace_records(
    warehouse: Warehouse, records: DataFrame | None, names: ClusterNames, stamp: Stamp, again: set[str], moved: set[str]
) -> dict[str, Change]:
    """Replace the rows of files: `again` are all of them, `moved` those whose rows stay but for the cluster."""
    scope = _in(again)

    def rows(table: str, fresh: DataFrame | None) -> DataFrame:
        kept = warehouse.read(table).where(_in(moved)).drop("run_id")
        return kept if fresh is None else fresh.select(kept.columns).unionByName(kept) if moved else fresh.select(kept.columns)

    events = in_file_order(of_kind(records, "events")).withColumn("cluster", F.lit("")) if records is not None else None
    unknown = unknown_in_files(of_kind(records, "unknown")) if records is not None else None
    refused = (
        of_kind(records, "rejected").withColumns({"cluster": F.lit(""), "rejected_record_id": F.lit("")}) if records is not None else None
    )
    rejected = with_cluster(rows("rejected_records", refused), names.names).drop("rejected_record_id")
    counts = _known_counts(records, moved)
    frames = {
        "unknown_in_files": rows("unknown_in_files", unknown),
        "rejected_records": rejected_records(rejected),
        "events": with_cluster(rows("events", events), names.names),
    }
    return {table: warehouse.replace(table, frame, stamp, scope, count=counts.get(table)) for table, frame in frames.items()}


def _known_counts(records: DataFrame | None, moved: set[str]) -> dict[str, int]:
    """Rows that these tables will get, where that is known without making them."""
    if records is None or moved:
        return {}
    by_kind = Counter({row["kind"]: row["count"] for row in records.groupBy("kind").count().collect()})
    counts = {"rejected_records": by_kind["rejected"], "events": by_kind["events"]}
    return counts if by_kind["unknown"] else counts | {"unknown_in_files": 0}


def _in(files: set[str]) -> Column:
    return F.col("file").isin(sorted(files))


def _replace_files(warehouse: Warehouse, files: Mapping[str, FileRow], stored: Mapping[str, FileRow], stamp: Stamp) -> Change:
    table = TABLES["log_files"]
    schema = pa.schema([each for each in table.arrow_schema() if each.name != "run_id"])
    changed = [row for path, row in files.items() if stored.get(path) != row]
    gone = stored.keys() - files.keys()
    if not changed and not gone:
        return Change()
    frame = warehouse.spark.createDataFrame(pa.Table.from_pylist(changed, schema=schema))
    return warehouse.replace("log_files", frame, stamp, F.col("path").isin(sorted({row["path"] for row in changed} | gone)))
