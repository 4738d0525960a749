"""From files to records: what the parsers give, as one data frame that is read once and used for several tables."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from parsers import places
from parsers.datasource import NAME, BrokerLogs, sources_json
from parsers.reader import ReadOptions, SourceFile
from parsers.resume import Start
from pipelines.rows import micros


def parsed(spark: SparkSession, sources: Sequence[tuple[SourceFile, Start | None]], options: ReadOptions, block_bytes: int) -> DataFrame:
    """Records of all kinds: the name of the kind, and the record in the column of that name.

    `sources` are files as they were found, each with the place to begin at; workers open them by absolute path, since
    they may run elsewhere. A file reports apart on what lies behind its last multiple of `block_bytes`.
    """
    spark.dataSource.register(BrokerLogs)
    found = [dataclasses.replace(source, path=places.absolute(source.path)) for source, _ in sources]
    starts = {source.name: [start.offset, start.line] for source, start in sources if start is not None}
    reader = spark.read.format(NAME)
    if options.redaction is not None:
        told = options.redaction
        reader = reader.option("redact", json.dumps(sorted(told.kinds))).option("redact_secret", told.secret)
    return (
        reader.option("sources", sources_json(found))
        .option("starts", json.dumps(starts))
        .option("block_bytes", block_bytes)
        .option("log_tz", json.dumps(list(options.log_tz)))
        .option("kafka_versions", json.dumps(list(options.kafka_versions)))
        .option("max_record_bytes", options.max_record_bytes)
        .option("stores_secret", json.dumps(places.configured()))
        .option("fold_runs", options.fold_runs)
        .option("partitions", spark.conf.get("spark.sql.shuffle.partitions") or "1")
        .load()
    )


def of_kind(records: DataFrame, kind: str) -> DataFrame:
    """The records of one kind, with columns of their own."""
    return records.where(F.col("kind") == kind).select(f"{kind}.*")


def reports(records: DataFrame) -> dict[str, list[dict[str, Any]]]:
    """What reading has taught of each file: rows of its parts in order, by path, with times in microseconds."""
    table = of_kind(records, "files").toArrow()
    times = {name: micros(table[name]) for name in ("first_at", "last_at")}
    found: dict[str, list[dict[str, Any]]] = {}
    for place, row in enumerate(table.to_pylist()):
        found.setdefault(row["path"], []).append(row | {name: values[place] for name, values in times.items()})
    return {path: sorted(parts, key=lambda part: part["part_offset"]) for path, parts in found.items()}
