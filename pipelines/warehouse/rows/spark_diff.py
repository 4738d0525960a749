"""Compare and order large sets of rows with Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import MapType, StructField, StructType

from pipelines.schema.tables import Table
from pipelines.warehouse.delta.sql import quote
from pipelines.warehouse.rows import arrow_diff

RUN_ID_COLUMN = "run_id"
ACTION, OLD = "_action", "_old"
INSERT, UPDATE, DELETE = "insert", "update", "delete"
FINAL = "final_at"

_FILE_ROWS = 25_000
"""Rows per file of unfinished rows: a changed row rewrites its file."""

_LATEST_ROWS, _LATEST_FILES = 24_000, 8
"""Number of the newest such rows, and of files for them; mostly these change."""

_PARTS_MAX = 100
"""Maximum number of parts found by comparison; for more, Spark scans rows twice."""


@dataclass(frozen=True, slots=True)
class RowChanges:
    """Number of rows changed by a replacement."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def __bool__(self) -> bool:
        return bool(self.inserted or self.updated or self.deleted)


@dataclass(frozen=True, slots=True)
class Watch:
    """Receiver of the changes made by a replacement.

    `report` receives the values of `columns` in changed rows, before and after, with the least time (microseconds) of such
    rows in column `least`; None if a row has no time.
    """

    columns: Sequence[str]
    least: str
    report: Callable[[Iterable[tuple[Any, ...]]], None]


def rows_to_change(table: Table, wanted: DataFrame, present: DataFrame, *, is_old: bool = False) -> DataFrame:
    """Rows to change in `present` so that it equals `wanted`, with their action.

    Rows are matched by the table's key and compared by content, without `run_id`. With `is_old` a column `_old` holds the
    previous row.
    """
    keys = [f"_key{index}" for index in range(len(table.key))]
    columns = [name for name in table.column_names if name != RUN_ID_COLUMN]

    def side(frame: DataFrame, name: str) -> DataFrame:
        named = [F.col(key).alias(alias) for key, alias in zip(table.key, keys, strict=True)]
        return frame.select(*named, F.struct(*map(F.col, columns)).alias(name))

    both = side(wanted, "new").join(side(present, "old"), keys, "full_outer")
    maps = {field.name for field in unstamped(table) if isinstance(field.dataType, MapType)}

    def content(name: str) -> Column:
        """Contents of a row.

        Maps cannot be compared, but their sorted entries can.
        """
        return F.struct(*(F.array_sort(F.map_entries(f"{name}.{c}")) if c in maps else F.col(f"{name}.{c}") for c in columns))

    action = (
        F.when(F.col("old").isNull(), INSERT).when(F.col("new").isNull(), DELETE).when(~content("new").eqNullSafe(content("old")), UPDATE)
    )
    row = F.coalesce("new", "old").alias("row")
    kept = [F.col("old").alias(OLD)] if is_old else []
    return (
        both.select(row, action.alias(ACTION), *kept).where(F.col(ACTION).isNotNull()).select("row.*", ACTION, *([OLD] if is_old else []))
    )


def changes_of(differing: DataFrame, watch: Watch) -> DataFrame:
    """Distinct changes for a watch, one row each."""
    columns = [*watch.columns, watch.least]
    before = differing.where(F.col(OLD).isNotNull()).select(*(F.col(f"{OLD}.{column}").alias(column) for column in columns))
    at = F.unix_micros(watch.least)
    least = F.when(F.count(at) == F.count(F.lit(1)), F.min(at)).alias(watch.least)
    return differing.select(*columns).unionByName(before).groupBy(*watch.columns).agg(least)


def counts_by_action(differing: DataFrame, actions: tuple[str, ...]) -> list[int]:
    """Number of rows for each action."""
    counts = {row[ACTION]: row["count"] for row in differing.groupBy(ACTION).count().collect()}
    return [counts.get(action, 0) for action in actions]


def unstamped(table: Table) -> StructType:
    """Columns of a table without `run_id`."""
    return StructType([field for field in table.spark_schema() if field.name != RUN_ID_COLUMN])


def as_declared(rows: DataFrame, schema: StructType) -> DataFrame:
    """Rows with the columns of `schema`, in their order and types.

    `DataFrame.to` rebuilds each struct in each list by expressions that Spark does not compile, even if all types
    match. That takes a quarter of the time of a write.
    """
    kinds = {field.name: field.dataType.simpleString() for field in rows.schema}

    def column(field: StructField) -> Column:
        column = F.col(quote(field.name))
        return column if kinds[field.name] == field.dataType.simpleString() else column.cast(field.dataType)

    return rows.select(*map(column, schema))


def in_order_of_time(table: Table, rows: DataFrame, count: int) -> DataFrame:
    """Sort rows by time into files, small ones for rows that will change."""
    if FINAL not in table.column_names or count <= arrow_diff.LOCAL_ROWS_MAX:
        return rows
    at, shares = F.unix_micros(FINAL), _shares(count)
    if len(shares) >= _PARTS_MAX:
        return rows.repartitionByRange(len(shares), F.col(FINAL).asc_nulls_last())
    [[ends]] = rows.select(F.percentile_approx(at, shares)).collect()
    later_than = (F.when(at > F.lit(end), 1).otherwise(0) for end in ends or ())
    place = reduce(add, later_than, F.lit(0))
    return rows.repartitionById(len(shares) + 1, F.when(at.isNull(), len(shares)).otherwise(place))


def _shares(count: int) -> list[float]:
    """Cuts between files, as fractions of the rows in order of time."""
    latest = min(_LATEST_ROWS, count // 2)
    files = -(-(count - latest) // _FILE_ROWS)
    cuts = [(count - latest) * number // files for number in range(1, files + 1)]
    return [cut / count for cut in [*cuts, *(count - latest + latest * number // _LATEST_FILES for number in range(1, _LATEST_FILES))]]
