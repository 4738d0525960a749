"""Current rows of tables, read in the driver where they are few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from pipelines.schema.tables import TABLES
from pipelines.spark.results import fetch_rows
from pipelines.warehouse.delta.tables import DeltaTables
from pipelines.warehouse.rows import arrow_diff
from pipelines.warehouse.rows.first_times import DerivedColumns, firsts_by_spark
from pipelines.warehouse.rows.predicates import RowScope


class CurrentRows:
    """Current rows of the tables, by table and scope."""

    def __init__(self, tables: DeltaTables) -> None:
        self._tables = tables

    def within(self, name: str, scope: RowScope | None) -> DataFrame:
        """Rows as Spark reads them; all of them without a scope."""
        frame = self._tables.frame(name)
        return frame if scope is None else frame.where(scope.column)

    def if_local(
        self,
        name: str,
        scope: RowScope | None = None,
        columns: Sequence[str] | None = None,
        bytes_max: int = arrow_diff.READ_BYTES,
        rows_max: int | None = None,
    ) -> pa.Table | None:
        """Return rows without Spark; None if remote or too many."""
        delta_table = self._tables.delta_table(name)
        return None if delta_table is None else arrow_diff.declared_rows(TABLES[name], delta_table, scope, columns, bytes_max, rows_max)

    def as_arrow(self, name: str, scope: RowScope | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return rows, which the caller knows to fit into memory."""
        rows = self.if_local(name, scope, columns, rows_max=arrow_diff.SCANNED_ROWS_MAX)
        return self._by_spark(name, scope, columns).toArrow() if rows is None else rows

    def as_frame(self, name: str, scope: RowScope | None = None, columns: Sequence[str] | None = None) -> DataFrame:
        """Return rows as a DataFrame.

        Small sets skip Spark's replay of the table's log.
        """
        rows = self.as_either(name, scope, columns)
        return arrow_diff.to_frame(self._tables.spark, rows) if isinstance(rows, pa.Table) else rows

    def as_either(self, name: str, scope: RowScope | None = None, columns: Sequence[str] | None = None) -> DataFrame | pa.Table:
        """Return rows, in the driver if they are few."""
        rows = self.if_local(name, scope, columns)
        return self._by_spark(name, scope, columns) if rows is None else rows

    def _by_spark(self, name: str, scope: RowScope | None, columns: Sequence[str] | None) -> DataFrame:
        return self.within(name, scope).select(*columns or TABLES[name].column_names)

    def distinct(self, name: str, scope: RowScope, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Return distinct values of columns."""
        delta_table = self._tables.delta_table(name)
        values = None if delta_table is None else arrow_diff.read_distinct(delta_table, columns, scope.arrow)
        if values is None:
            return fetch_rows(self.within(name, scope).select(*columns).distinct())
        return zip(*(values[column].to_pylist() for column in columns), strict=True)

    def first_seen(
        self, name: str, scope: RowScope, columns: Sequence[str], times: Sequence[str], drawn: DerivedColumns | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Return distinct values, each with the first time of its rows.

        The time, in microseconds, is the first non-null of the columns `times`, or 0. `drawn` derives the values.
        """
        delta_table = self._tables.delta_table(name)
        values = None if delta_table is None else arrow_diff.read_first(delta_table, columns, scope.arrow, times, drawn)
        if values is None:
            return fetch_rows(firsts_by_spark(self.within(name, scope), columns, times, drawn))
        return zip(*(column.to_pylist() for column in values.columns), strict=True)
