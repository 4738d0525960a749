"""Single commits of a run to a table.

Few rows of a local table are committed without Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from threading import Lock

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.errors import WarehouseBusy
from pipelines.schema.tables import TABLES, Table
from pipelines.spark.scoped_settings import conf_overridden
from pipelines.warehouse.delta import sql as delta
from pipelines.warehouse.delta.tables import DeltaTables
from pipelines.warehouse.rows import arrow_diff
from pipelines.warehouse.rows.predicates import RowScope
from pipelines.warehouse.rows.spark_diff import ACTION, DELETE, FINAL, RUN_ID_COLUMN, as_declared
from pipelines.warehouse.writes.direct_commit import Committer, WriteStamp, commit_rows, writes_plainly
from pipelines.warehouse.writes.table_versions import TableVersions

_TXN_APP = "spark.databricks.delta.write.txnAppId"
_TXN_VERSION = "spark.databricks.delta.write.txnVersion"

_ROWS_MAX = 250_000
"""Maximum rows per file: one row group, which readers of recent events load whole."""

_FILE_BYTES = {FINAL: 16 << 20, "file_time_max_at": 32 << 20}
"""Target bytes of compacted files, by time column; other tables use the default."""


class TableWriter:
    """Writes to the tables, each one commit that carries its run's number."""

    def __init__(self, tables: DeltaTables, versions: TableVersions) -> None:
        self._tables = tables
        self._versions = versions
        self._merging = Lock()

    def append(self, name: str, rows: DataFrame, stamp: WriteStamp, part: str = "") -> None:
        """Append rows with every column of the table."""
        self._write(name, rows, stamp, part, {})

    def write_one_file(
        self, delta_table: DeltaTable | None, name: str, rows: pa.Table, stamp: WriteStamp, part: str, replaced: str | None = None
    ) -> None:
        """Write rows by Spark, in one file.

        They take the place of those that the SQL condition `replaced` selects. Raises WarehouseBusy if another commit
        followed the version of `delta_table`.
        """
        if delta_table is not None and self._tables.latest(name) != delta_table.version():
            raise self._busy(name)
        how = {} if replaced is None else {"replaceWhere": replaced}
        self._write(name, arrow_diff.to_frame(self._tables.spark, rows).coalesce(1), stamp, part, how)

    def commit(
        self,
        delta_table: DeltaTable | None,
        name: str,
        rows: pa.Table,
        author: Committer,
        keys: Collection[arrow_diff.RowKey] = (),
        within: RowScope | None = None,
    ) -> bool:
        """Commit few rows to a local table as `commit_rows` does.

        Returns False if Spark must do it. Raises WarehouseBusy if another commit followed the version of `delta_table`.
        """
        if delta_table is None or not self.writes_plainly:
            return False
        try:
            is_committed = commit_rows(delta_table, TABLES[name], rows, author, keys, within)
        except FileExistsError as error:
            raise self._busy(name) from error
        if is_committed:
            self._versions.note_written(name, author.run_id)
        return is_committed

    def merge(self, table: Table, differing: DataFrame, stamp: WriteStamp, part: str, scope: RowScope | None) -> None:
        """Merge rows that carry the action to take with each."""
        changes = differing.withColumn(RUN_ID_COLUMN, F.lit(stamp.run_id))
        where = scope.sql("old") if scope is not None and keys_decide_scope(table) else ""
        # MERGE takes its transaction from the session, so the settings must be reset for other writes.
        transaction: dict[str, str | int] = {_TXN_APP: stamp.transaction(table.name, part), _TXN_VERSION: stamp.run_number}
        with self._merging, conf_overridden(self._tables.spark, {**transaction, delta.USER_METADATA: stamp.run_id}):
            delta.merge(changes, self._tables.path(table.name), table.key, table.column_names, ACTION, DELETE, where)
        self._versions.note_written(table.name, stamp.run_id)

    def empty(self, name: str, stamp: WriteStamp) -> None:
        """Remove all rows of a table."""
        delta.delete(self._tables.spark, self._tables.path(name), "true", stamp.run_id)
        self._versions.note_emptied(name, stamp.run_id)

    def optimize(self, name: str) -> tuple[int, int]:
        """Compact small files of a table; return their number before and after."""
        file_bytes = next((size for time, size in _FILE_BYTES.items() if time in TABLES[name].column_names), None)
        return delta.optimize(self._tables.spark, self._tables.path(name), file_bytes)

    def _write(self, name: str, rows: DataFrame, stamp: WriteStamp, part: str, how: Mapping[str, str]) -> None:
        table = TABLES[name]
        (
            as_declared(rows, table.spark_schema())
            .write.format("delta")
            .mode("overwrite" if how else "append")
            .option("txnAppId", stamp.transaction(name, part))
            .option("txnVersion", stamp.run_number)
            .option("userMetadata", stamp.run_id)
            .option("maxRecordsPerFile", _ROWS_MAX)
            .options(**how)
            .save(self._tables.path(name))
        )
        self._versions.note_written(name, stamp.run_id)

    def _busy(self, name: str) -> WarehouseBusy:
        return WarehouseBusy(f"{self._tables.path(name)}: somebody else writes to this table, too")

    @cached_property
    def writes_plainly(self) -> bool:
        """Whether no setting of the session concerns how tables are written."""
        return writes_plainly(self._tables.spark)


def keys_decide_scope(table: Table) -> bool:
    """Whether a row's key decides whether it is in scope."""
    return FINAL in table.column_names
