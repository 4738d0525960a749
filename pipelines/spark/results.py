"""Rows of a query in this process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def fetch_rows(frame: DataFrame) -> Iterator[tuple[Any, ...]]:
    """Rows of a DataFrame that this process has room for.

    `toLocalIterator` would fetch one partition at a time, but Spark 4.1 never forgets the jobs of such an iterator
    (`activeQueryToJobs` of DAGScheduler), nor the plans and broadcasts that they refer to.
    """
    return chain.from_iterable(map(_tuples, frame.toArrow().to_batches()))


def _tuples(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)
