"""Cache DataFrames on the workers' disks."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame


def persist_on_disk(rows: DataFrame) -> DataFrame:
    """Cache rows on disk when they are first computed.

    Spark's default level caches in memory, and loads blocks back from disk whenever they are read. Gold rows carry
    their evidence lines, so they would fill any heap.
    """
    return rows.persist(StorageLevel.DISK_ONLY)
