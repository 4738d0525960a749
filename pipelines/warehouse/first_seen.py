"""What rows tell, each once, with the first time that one tells it: with Spark and, where that is little, without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.schema.columns import INSTANT

FIRST = "first_at"
"""The column of that time, in microseconds."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Columns that a table doesn't have and its rows tell, said once to Spark and once to Arrow.

    Both functions take rows of the columns that were read and FIRST, and give rows of `columns` and FIRST.
    """

    columns: tuple[str, ...]
    arrow: Callable[[pa.Table], pa.Table]
    spark: Callable[[DataFrame], DataFrame]


def time_of(times: Sequence[str]) -> pc.Expression:
    """The first of these columns that holds a time, in microseconds; 0 where none does, as in `row_conversion.events_of`."""
    held = pc.coalesce(*map(pc.field, times)).cast(INSTANT).cast(pa.int64())
    return pc.coalesce(held, pc.scalar(0))


def firsts_of(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """What these columns hold together, each once, and the least FIRST."""
    found = rows.group_by(list(columns)).aggregate([(FIRST, "min")])
    return found.rename_columns({f"{FIRST}_min": FIRST}).select([*columns, FIRST])


def firsts_by_spark(rows: DataFrame, columns: Sequence[str], times: Sequence[str], drawn: Drawn | None = None) -> DataFrame:
    """As `few.read_first`, of any number of rows."""
    at = F.coalesce(F.unix_micros(F.coalesce(*times)), F.lit(0)).alias(FIRST)
    told = rows.select(*columns, at)
    names = columns if drawn is None else drawn.columns
    return (told if drawn is None else drawn.spark(told)).groupBy(*names).agg(F.min(FIRST).alias(FIRST))
