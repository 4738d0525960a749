"""From records that could not be read to `bronze.rejected_records`."""

from __future__ import annotations

from pyspark.sql import DataFrame

from pipelines.transforms.ids import with_id


def rejected_records(rejected: DataFrame) -> DataFrame:
    """The same rows, which name their cluster already, with an id."""
    return with_id(rejected, "rejected_record_id", "rejected", ["cluster", "file", "byte_offset"])
