"""Number of partitions for sorting and grouping in a Spark session."""

from __future__ import annotations

from pyspark.sql import SparkSession

_USUAL = 200  # Spark's own default


def partitions_of(spark: SparkSession) -> int:
    """Number of shuffle partitions of the session.

    Spark's default if the platform decides, as with `auto` on Databricks.
    """
    setting = spark.conf.get("spark.sql.shuffle.partitions", None) or ""
    return max(1, int(setting)) if setting.isdigit() else _USUAL
