"""The warehouse: Delta tables below one URI, written idempotently.

A table is replaced slice by slice, and within a slice only changed rows are written. An unchanged row keeps its `run_id`, and a run
without changes creates no version. Each write carries the run's number as a Delta transaction of the run's application id, so it is
never applied twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pipelines.crash_points import crash_point
from pipelines.schema.tables import TABLES
from pipelines.warehouse.delta.tables import DeltaTables
from pipelines.warehouse.opening.damage import remove_retired
from pipelines.warehouse.opening.table_opening import open_table
from pipelines.warehouse.rows.current_rows import CurrentRows
from pipelines.warehouse.rows.predicates import RowScope
from pipelines.warehouse.rows.spark_diff import RowChanges, Watch
from pipelines.warehouse.writes.direct_commit import WriteStamp
from pipelines.warehouse.writes.replacement import Replacement
from pipelines.warehouse.writes.table_versions import METADATA_THREADS, TableVersions
from pipelines.warehouse.writes.table_writes import TableWriter


class Warehouse:
    """The tables of one warehouse: where they are, their rows, versions, and writes."""

    def __init__(self, spark: SparkSession, place: str) -> None:
        self.tables = DeltaTables(spark, place)
        self.rows = CurrentRows(self.tables)
        self.versions = TableVersions(self.tables)
        self.writer = TableWriter(self.tables, self.versions)

    @property
    def spark(self) -> SparkSession:
        """The session that reads and writes the tables."""
        return self.tables.spark

    def open(self, published: Mapping[str, int] | None = None) -> None:
        """Open all tables as `open_table` does; `published` has the last run's versions."""
        versions = published or {}
        with ThreadPoolExecutor(METADATA_THREADS) as pool:
            opened = pool.map(lambda table: open_table(self.tables, table, versions.get(table.name, -1)), TABLES.values())
            self.versions.begin(dict(zip(TABLES, opened, strict=True)))
        remove_retired(self.tables.uri)

    def open_one(self, name: str, published: int = -1) -> None:
        """Open one table as `open_table` does."""
        self.versions.note_opened(name, open_table(self.tables, TABLES[name], published))

    def replace(
        self,
        name: str,
        rows: DataFrame | pa.Table,
        stamp: WriteStamp,
        scope: RowScope | None = None,
        part: str = "",
        count: int | None = None,
        watch: Watch | None = None,
    ) -> RowChanges:
        """Make the rows within `scope` equal to `rows`; write only differences.

        `scope` None means the whole table. `rows` has the table's columns but `run_id`; rows with equal content keep
        theirs. A table written twice in one run needs two values of `part`. `count` is the number of `rows` if known.
        `watch` receives the changes, before and after, unless the table was empty.
        """
        crash_point(f"before {name}{part}")
        replacement = Replacement(self.tables, self.versions, self.writer, TABLES[name], stamp, scope, part, watch)
        changes = replacement.apply(rows, count)
        crash_point(f"after {name}{part}")
        return changes
