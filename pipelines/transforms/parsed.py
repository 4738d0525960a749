"""From files to records: what the parsers give, as one data frame that is read once and used for several tables."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from parsers.datasource import NAME, BrokerLogs, sources_json
from parsers.reader import ReadOptions, SourceFile
from parsers.reports import merge_reports
from pipelines.rows import micros


def parsed(spark: SparkSession, sources: Sequence[SourceFile], options: ReadOptions) -> DataFrame:
    """Records of all kinds: the name of the kind, and the record in the column of that name.

    `sources` are files as they were found; workers open them by absolute path, since they may run elsewhere.
    """
    spark.dataSource.register(BrokerLogs)
    found = [dataclasses.replace(source, path=os.path.abspath(source.path)) for source in sources]
    return (
        spark.read.format(NAME)
        .option("sources", sources_json(found))
        .option("log_tz", json.dumps(list(options.log_tz)))
        .option("kafka_versions", json.dumps(list(options.kafka_versions)))
        .option("max_record_bytes", options.max_record_bytes)
        .option("fold_runs", options.fold_runs)
        .option("partitions", spark.conf.get("spark.sql.shuffle.partitions") or "1")
        .load()
    )


def of_kind(records: DataFrame, kind: str) -> DataFrame:
    """The records of one kind, with columns of their own."""
    return records.where(F.col("kind") == kind).select(f"{kind}.*")


def reports(records: DataFrame) -> list[dict[str, Any]]:
    """What reading has taught of each file, with times in microseconds."""
    table = of_kind(records, "files").toArrow()
    return merge_reports(_with_micros(table.to_pylist(), {name: micros(table[name]) for name in ("first_at", "last_at")}))


def _with_micros(rows: list[dict[str, Any]], times: dict[str, list[int | None]]) -> Iterable[dict[str, Any]]:
    for place, row in enumerate(rows):
        yield row | {name: values[place] for name, values in times.items()}
