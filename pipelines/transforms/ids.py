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
            yield batch.append_column(name, _ids(batch, kind, key))

    return rows.mapInArrow(add, StructType([*rows.schema.fields, StructField(name, StringType())]))


def with_id_column(rows: pa.Table, name: str, kind: str, key: Sequence[str]) -> pa.Table:
    """Add the same column to rows in the driver."""
    return rows.append_column(name, _ids(rows, kind, key))


def _ids(rows: pa.RecordBatch | pa.Table, kind: str, key: Sequence[str]) -> pa.Array:
    values = zip(*(rows[column].to_pylist() for column in key), strict=True)
    return pa.array([make_id(kind, *parts) for parts in values], pa.string())
