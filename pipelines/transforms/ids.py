"""Ids of rows, by the models' function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from models.ids import make_id


def with_id(rows: DataFrame, name: str, kind: str, key: Sequence[str]) -> DataFrame:
    """Add a column with the id that `make_id` computes from `key`."""

    def add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            values = zip(*(batch[column].to_pylist() for column in key), strict=True)
            yield batch.append_column(name, pa.array([make_id(kind, *parts) for parts in values], pa.string()))

    return rows.mapInArrow(add, StructType([*rows.schema.fields, StructField(name, StringType())]))
