"""From parsed records to `silver.events`."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def in_file_order(events: DataFrame, before: Mapping[str, int] | None = None) -> DataFrame:
    """Events with `order_at` as it is in the whole file: the greatest time up to this record.

    A file is read in parts, and a part knows only its own times. `before` is the greatest time, in microseconds, of what
    was read of a file by an earlier run.
    """
    so_far = Window.partitionBy("file").orderBy("byte_offset").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ordered = events.withColumn("order_at", F.max("at").over(so_far))
    if not before:
        return ordered
    table = pa.table({"_file": list(before), "_before": list(before.values())}, schema=_BEFORE)
    known = F.broadcast(events.sparkSession.createDataFrame(table))
    joined = ordered.join(known, F.col("file") == F.col("_file"), "left")
    return joined.withColumn("order_at", F.greatest("order_at", F.timestamp_micros("_before"))).drop("_file", "_before")


_BEFORE = pa.schema([("_file", pa.string()), ("_before", pa.int64())])
