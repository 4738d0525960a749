"""Rows of tables that a replay fills, in the driver or in Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pipelines.schema.tables import TABLES
from pipelines.transforms.read.records import tagged_rows
from pipelines.transforms.replay_checkpoints import STATE_TABLES
from pipelines.warehouse.rows import arrow_diff
from pipelines.warehouse.rows.predicates import RowScope


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of one table, in the driver if they are few, else in Spark."""

    count: int
    local: pa.Table | None = None
    distributed: DataFrame | None = None

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows as a DataFrame."""
        return arrow_diff.to_frame(spark, self.local) if self.distributed is None else self.distributed

    def chosen(self, scope: RowScope, columns: Sequence[str], spark: SparkSession) -> pa.Table:
        """Selected rows and columns, few enough for the driver."""
        if self.local is not None:
            return self.local.filter(scope.arrow).select(columns)
        return self.frame(spark).where(scope.column).select(*columns).toArrow()

    def joined(self, other: TableRows, spark: SparkSession) -> TableRows:
        """These rows and others of the same table."""
        count = self.count + other.count
        if self.local is not None and other.local is not None:
            return TableRows(count, local=pa.concat_tables([self.local, other.local]))
        return TableRows(count, distributed=self.frame(spark).unionByName(other.frame(spark)))


def local_tables(counts: Mapping[str, int]) -> list[str]:
    """Tables small enough together for the driver, by their counts.

    Checkpoints are excluded, because a single one may be large.
    """
    names = sorted(counts.keys() - set(STATE_TABLES), key=lambda name: counts[name])
    together = accumulate(counts[name] for name in names)
    return [name for name, rows in zip(names, together, strict=True) if rows <= arrow_diff.LOCAL_ROWS_MAX]


def by_table(tagged: pa.Table, tables: Iterable[str]) -> dict[str, TableRows]:
    """Rows of a replay by Spark, by table."""
    return in_declared_types({table: tagged_rows(tagged, table, "table") for table in tables})


def in_declared_types(rows: Mapping[str, pa.Table]) -> dict[str, TableRows]:
    """Rows in the driver by table, with their declared columns and types."""
    typed = {table: arrow_diff.cast_to_schema(TABLES[table], rows[table]) for table in rows}
    return {table: TableRows(typed[table].num_rows, local=typed[table]) for table in rows}
