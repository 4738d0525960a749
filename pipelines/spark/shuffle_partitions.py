"""Into how many parts a Spark session cuts what it sorts or groups."""

from __future__ import annotations

from pyspark.sql import SparkSession

_USUAL = 200  # Spark's own default


def partitions_of(spark: SparkSession) -> int:
    """The session's number of shuffle partitions; Spark's default where a platform finds it by itself, as `auto` says on Databricks."""
    told = spark.conf.get("spark.sql.shuffle.partitions", None) or ""
    return max(1, int(told)) if told.isdigit() else _USUAL
