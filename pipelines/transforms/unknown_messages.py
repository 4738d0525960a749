"""From records without a catalogue entry to `silver.unknown_messages`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.schema.tables import without_run
from pipelines.transforms.ids import with_id, with_id_column


def unknown_in_files(unknown: DataFrame, block_bytes: int) -> DataFrame:
    """Count records by file, block and masked template.

    Kept so that the sums over all files can be updated if one file changes or grows. `with_unknown_id` adds the ids,
    because files can be renamed.
    """
    block = F.floor(F.col("byte_offset") / F.lit(block_bytes)).cast("bigint")
    first = F.min_by(F.struct("level", F.col("text").alias("sample"), "line"), F.col("byte_offset"))
    counted = (
        unknown.withColumn("block_number", block)
        .groupBy("file", "file_id", "block_number", "template", "logger")
        .agg(
            F.count("*").alias("count"),
            F.min("at").alias("first_at"),
            F.max("at").alias("last_at"),
            F.min("byte_offset").alias("byte_offset"),
            first.alias("first"),
        )
    )
    return counted.select("*", "first.*").drop("first")


def with_unknown_id(counted: DataFrame) -> DataFrame:
    """Add the ids."""
    keys = ["file", "block_number", "logger", "template"]
    return with_id(counted.drop("unknown_in_file_id"), "unknown_in_file_id", "unknown_in_file", keys)


def unknown_messages(in_files: DataFrame) -> DataFrame:
    """Sum up counts by cluster, logger, version and masked template.

    `in_files` needs `cluster` and `version`. The sample is the first record of the first file, by path.
    """
    place = F.struct("file", "byte_offset")
    summed = in_files.groupBy("cluster", "template", "logger", "version").agg(
        F.sum("count").alias("count"),
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        F.min_by(F.struct("level", "sample", "file", "line", "byte_offset"), place).alias("first"),
    )
    return with_id(
        summed.select("*", "first.*").drop("first"), "unknown_message_id", "unknown", ["cluster", "logger", "version", "template"]
    )


def unknown_sums(in_files: pa.Table, clusters: Mapping[str, str]) -> pa.Table:
    """Counts of `unknown_in_files` summed up by cluster, logger and masked template.

    Files without a cluster are left out. The sample is the first record of the first file, by path.
    """
    summed: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in in_files.to_pylist():
        if row["file"] not in clusters:
            continue
        row["cluster"] = clusters[row["file"]]
        before = summed.setdefault((row["cluster"], row["template"], row["logger"]), row)
        if before is not row:
            first = min(before, row, key=lambda row: (row["file"].encode(), row["byte_offset"]))
            known = [[part[name] for part in (before, row) if part[name] is not None] for name in ("first_at", "last_at")]
            times = {"first_at": min(known[0], default=None), "last_at": max(known[1], default=None)}
            summed[row["cluster"], row["template"], row["logger"]] = first | times | {"count": before["count"] + row["count"]}
    schema = without_run("unknown_messages")
    plain = pa.schema([field for field in schema if field.name != "unknown_message_id"])
    rows = pa.Table.from_pylist(list(summed.values()), schema=plain)
    return with_id_column(rows, "unknown_message_id", "unknown", ["cluster", "logger", "version", "template"]).select(schema.names)
