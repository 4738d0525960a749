"""From unreadable records to `bronze.rejected_records`."""

from __future__ import annotations

from pyspark.sql import DataFrame

from pipelines.transforms.ids import with_id


def rejected_records(rejected: DataFrame) -> DataFrame:
    """Add the id to rows that have a cluster."""
    return with_id(rejected, "rejected_record_id", "rejected", ["cluster", "file", "byte_offset"])
