"""Replacement of a slice of a table by new rows; only differences are written.

Small sets of rows are compared in the driver, and a small table is rewritten; both cost less than any MERGE.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.errors import WarehouseBusy
from pipelines.schema.tables import Table
from pipelines.spark.caching import persist_on_disk
from pipelines.spark.results import fetch_rows
from pipelines.warehouse.delta.tables import DeltaTables
from pipelines.warehouse.rows import arrow_diff
from pipelines.warehouse.rows.current_rows import CurrentRows
from pipelines.warehouse.rows.predicates import NAMES_MAX, RowScope, among
from pipelines.warehouse.rows.spark_diff import (
    ACTION,
    DELETE,
    INSERT,
    OLD,
    RUN_ID_COLUMN,
    UPDATE,
    RowChanges,
    Watch,
    as_declared,
    changes_of,
    counts_by_action,
    in_order_of_time,
    rows_to_change,
    unstamped,
)
from pipelines.warehouse.writes.direct_commit import WriteStamp
from pipelines.warehouse.writes.table_versions import TableVersions
from pipelines.warehouse.writes.table_writes import TableWriter, keys_decide_scope

_TRIES = 3


@dataclass(frozen=True, slots=True)
class Replacement:
    """A run's replacement of the rows of a table within a scope.

    `part` tells several writes of one run to one table apart. `watch` receives the changes unless the table was empty.
    """

    tables: DeltaTables
    versions: TableVersions
    writer: TableWriter
    table: Table
    stamp: WriteStamp
    scope: RowScope | None
    part: str
    watch: Watch | None

    def apply(self, rows: DataFrame | pa.Table, count: int | None) -> RowChanges:
        """Write the rows that differ; `count` is the number of `rows` if known."""
        if not isinstance(rows, pa.Table) and count is not None and count <= arrow_diff.LOCAL_ROWS_MAX:
            rows = rows.toArrow()
        if not isinstance(rows, pa.Table):
            return self._apply_by_spark(rows, count)
        changes = self._apply_in_driver(rows)
        return self._apply_by_spark(arrow_diff.to_frame(self.tables.spark, rows), count) if changes is None else changes

    def _apply_in_driver(self, rows: pa.Table) -> RowChanges | None:
        """Compare rows in the driver; None if too many rows are stored."""
        wanted = arrow_diff.cast_to_schema(self.table, rows)
        for _ in range(1, _TRIES):
            with suppress(WarehouseBusy):  # the comparison is outdated, for example by a writer that outlived its run
                return self._apply_at(self.tables.delta_table(self.table.name), wanted)
        return self._apply_at(self.tables.delta_table(self.table.name), wanted)

    def _apply_at(self, delta_table: DeltaTable | None, wanted: pa.Table) -> RowChanges | None:
        """Compare rows with those at one version, as `_apply_in_driver` does."""
        is_at_opened = delta_table is None or delta_table.version() == self.versions[self.table.name]
        if self.versions.is_known_empty(self.table.name) and is_at_opened:
            return self._fill_from_driver(delta_table, wanted)
        present = None if delta_table is None else arrow_diff.declared_rows(self.table, delta_table, self.scope)
        if delta_table is None or present is None:
            return None
        differing = arrow_diff.compare(self.table, wanted, present.drop_columns([RUN_ID_COLUMN]))
        changes = RowChanges(differing.inserted, differing.before.num_rows, differing.gone.num_rows)
        if not changes:
            return changes
        if self.watch is not None:
            parts = [differing.rows, differing.gone, differing.before]
            self.watch.report(arrow_diff.distinct(parts, self.watch.columns, self.watch.least))
        self._write_difference(delta_table, differing)
        return changes

    def _fill_from_driver(self, delta_table: DeltaTable | None, wanted: pa.Table) -> RowChanges:
        """Write rows to a table that is known to be empty."""
        if wanted.num_rows:
            rows = self._stamped(wanted)
            if not self.writer.commit(delta_table, self.table.name, rows, self.stamp.committer(self.table.name, self.part)):
                self.writer.write_one_file(delta_table, self.table.name, rows, self.stamp, self.part)
        return RowChanges(inserted=wanted.num_rows)

    def _write_difference(self, delta_table: DeltaTable, differing: arrow_diff.RowDiff) -> None:
        """Write a difference; by Spark, a table of few rows becomes one file."""
        name, keys, rows = self.table.name, differing.replaced(self.table), self._stamped(differing.rows)
        if self.writer.commit(delta_table, name, rows, self.stamp.committer(name, self.part), keys, self.scope):
            return
        whole = arrow_diff.declared_rows(self.table, delta_table, None) if keys else None
        if not keys:
            self.writer.write_one_file(delta_table, name, rows, self.stamp, self.part)
        elif whole is not None:  # a plain overwrite would remove the table's clustering
            staying = arrow_diff.drop_keys(self.table, whole, keys)
            self.writer.write_one_file(delta_table, name, pa.concat_tables([staying, rows]), self.stamp, self.part, "true")
        elif (named := self._scope_of_keys(differing.keys(self.table))) is not None:
            self.writer.write_one_file(delta_table, name, rows, self.stamp, self.part, named.sql())
        else:
            by_action = {INSERT: differing.rows, DELETE: differing.gone}
            tagged = [some.append_column(ACTION, pa.repeat(action, some.num_rows)) for action, some in by_action.items()]
            self._merge(arrow_diff.to_frame(self.tables.spark, pa.concat_tables(tagged)))

    def _apply_by_spark(self, rows: DataFrame, count: int | None) -> RowChanges:
        """Compare and write rows by Spark."""
        wanted = as_declared(rows, unstamped(self.table))
        if self.versions.is_known_empty(self.table.name):
            return RowChanges(inserted=self._fill(wanted.withColumn(RUN_ID_COLUMN, F.lit(self.stamp.run_id)), count))
        present = CurrentRows(self.tables).within(self.table.name, self.scope)
        if count == 0 and not present.take(1):  # no stored and no wanted rows, so there is nothing to compare
            return RowChanges()
        differing = persist_on_disk(rows_to_change(self.table, wanted, present, is_old=self.watch is not None))
        try:
            changes = RowChanges(*counts_by_action(differing, (INSERT, UPDATE, DELETE)))
            if changes and self.watch is not None:
                self.watch.report(fetch_rows(changes_of(differing, self.watch)))
            if changes.updated or changes.deleted:
                self._merge(differing.drop(OLD))
            elif changes:
                inserted = differing.drop(OLD, ACTION).withColumn(RUN_ID_COLUMN, F.lit(self.stamp.run_id))
                self.writer.append(self.table.name, inserted, self.stamp, self.part)
        finally:
            differing.unpersist()
        return changes

    def _fill(self, rows: DataFrame, count: int | None) -> int:
        """Append to an empty table; return the number of rows."""
        if count is not None:
            if count:
                self.writer.append(self.table.name, in_order_of_time(self.table, rows, count), self.stamp, self.part)
            return count
        persisted = persist_on_disk(rows)
        try:
            return self._fill(persisted, persisted.count())
        finally:
            persisted.unpersist()

    def _merge(self, differing: DataFrame) -> None:
        self.writer.merge(self.table, differing, self.stamp, self.part, self.scope)

    def _stamped(self, rows: pa.Table) -> pa.Table:
        """Rows with the run that writes them."""
        return arrow_diff.cast_to_schema(self.table, rows.append_column(RUN_ID_COLUMN, pa.repeat(self.stamp.run_id, rows.num_rows)))

    def _scope_of_keys(self, keys: set[arrow_diff.RowKey]) -> RowScope | None:
        """The rows with these keys, by name; None if there are too many names."""
        if len(self.table.key) > 1 or len(keys) > NAMES_MAX:
            return None
        named = among(self.table.key[0], {str(key) for (key,) in keys})
        return named & self.scope if self.scope is not None and keys_decide_scope(self.table) else named
