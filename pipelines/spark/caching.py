"""Rows that several queries ask for, which Spark therefore keeps until they are let go."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame


def hold(rows: DataFrame) -> DataFrame:
    """Keep rows on the workers' disks once they have been worked out.

    Spark's usual level keeps them in memory, and brings what it had to put on disk back there whenever it is read: rows of gold,
    each with its lines of evidence, fill any heap that way.
    """
    return rows.persist(StorageLevel.DISK_ONLY)
