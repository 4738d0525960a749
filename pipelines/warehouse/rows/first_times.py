"""Distinct values with the first time of each, by Spark or Arrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.schema.columns import INSTANT

FIRST_AT = "first_at"
"""Name of the column with the first time, in microseconds."""


@dataclass(frozen=True, slots=True)
class DerivedColumns:
    """Derived columns, defined once for Spark and once for Arrow.

    Both functions take rows with the columns read and FIRST, and return rows with `columns` and FIRST.
    """

    columns: tuple[str, ...]
    arrow: Callable[[pa.Table], pa.Table]
    spark: Callable[[DataFrame], DataFrame]


def time_of(times: Sequence[str]) -> pc.Expression:
    """The first non-null time of these columns, in microseconds.

    0 if all are null, as in `row_conversion.events_of`.
    """
    time = pc.coalesce(*map(pc.field, times)).cast(INSTANT).cast(pa.int64())
    return pc.coalesce(time, pc.scalar(0))


def firsts_of(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Distinct values of columns with their least FIRST."""
    firsts = rows.group_by(list(columns)).aggregate([(FIRST_AT, "min")])
    return firsts.rename_columns({f"{FIRST_AT}_min": FIRST_AT}).select([*columns, FIRST_AT])


def firsts_by_spark(rows: DataFrame, columns: Sequence[str], times: Sequence[str], drawn: DerivedColumns | None = None) -> DataFrame:
    """Distinct values as `arrow_diff.read_first`, for any number of rows."""
    at = F.coalesce(F.unix_micros(F.coalesce(*times)), F.lit(0)).alias(FIRST_AT)
    first_times = rows.select(*columns, at)
    names = columns if drawn is None else drawn.columns
    return (first_times if drawn is None else drawn.spark(first_times)).groupBy(*names).agg(F.min(FIRST_AT).alias(FIRST_AT))
