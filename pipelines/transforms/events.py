"""From parsed records to `silver.events`."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def in_file_order(events: DataFrame) -> DataFrame:
    """Events with `order_at` as it is in the whole file: the greatest time up to this record.

    A file is read in parts, and a part knows only its own times.
    """
    so_far = Window.partitionBy("file").orderBy("byte_offset").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return events.withColumn("order_at", F.max("at").over(so_far))
