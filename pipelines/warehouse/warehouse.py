"""The warehouse: Delta tables below one URI, written idempotently.

A table is replaced slice by slice, and within a slice only changed rows are written. An unchanged row keeps its `run_id`, and a run
without changes creates no version. Each write carries the run's number as a Delta transaction of the run's application id, so it is
never applied twice. Small sets of rows are compared in the driver, and a small table is rewritten; both cost less than any MERGE.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pipelines.crash_points import crash_point
from pipelines.errors import ConcurrentWrite, WarehouseBusy
from pipelines.schema.tables import TABLES, VERSIONED, Table
from pipelines.spark.caching import persist_on_disk
from pipelines.spark.results import fetch_rows
from pipelines.spark.scoped_settings import conf_overridden
from pipelines.spark.shuffle_partitions import partitions_of
from pipelines.storage.uris import is_uri, warehouse_uri
from pipelines.warehouse import arrow_diff
from pipelines.warehouse import delta_sql as delta
from pipelines.warehouse.commit_log import changing, commits_since
from pipelines.warehouse.damage import DISPOSABLE, mend, remove_retired
from pipelines.warehouse.delta_files import set_aside
from pipelines.warehouse.direct_commit import Committer, WriteStamp, commit_rows, writes_plainly
from pipelines.warehouse.first_times import DerivedColumns, firsts_by_spark
from pipelines.warehouse.predicates import NAMES_MAX, RowScope, among
from pipelines.warehouse.schema_upgrades import ExistingTable, bring_up_to_date, create
from pipelines.warehouse.spark_diff import (
    ACTION,
    DELETE,
    FINAL,
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

_log = logging.getLogger(__name__)

_TXN_APP = "spark.databricks.delta.write.txnAppId"
_TXN_VERSION = "spark.databricks.delta.write.txnVersion"
_TRIES = 3

_ROWS_MAX = 250_000
"""Maximum rows per file: one row group, which readers of recent events load whole."""

_FILE_BYTES = {FINAL: 16 << 20, "file_time_max_at": 32 << 20}
"""Target bytes of compacted files, by time column; other tables use the default."""

_METADATA_THREADS = 4
"""Tables opened at once, because opening waits for small metadata jobs."""


class Warehouse:
    """The tables of one warehouse."""

    def __init__(self, spark: SparkSession, place: str) -> None:
        self.spark = spark
        self.uri = warehouse_uri(place)
        self._versions: dict[str, int] = {}
        self._written: set[str] = set()
        self._writers: set[str] = set()
        self._emptied: set[str] = set()
        self._published: Mapping[str, int] = {}
        self._local = not is_uri(place)
        self._merging = Lock()

    @property
    def partitions(self) -> int:
        """Number of partitions for sorting and grouping in this session."""
        return partitions_of(self.spark)

    def path(self, name: str) -> str:
        return f"{self.uri}/{TABLES[name].path}"

    def open(self, published: Mapping[str, int] | None = None) -> None:
        """Create missing tables, upgrade older ones, and read their versions.

        Removes what a power cut or a full disk left. Raises TableMismatch if a table's columns cannot be upgraded.
        """
        self._written.clear()
        self._emptied.clear()
        self._published = published or {}
        with ThreadPoolExecutor(_METADATA_THREADS) as pool:
            self._versions = dict(zip(TABLES, pool.map(self._open_table, TABLES.values()), strict=True))
        remove_retired(self.uri)

    def open_one(self, name: str) -> None:
        """Open one table as `open` does."""
        self._versions[name] = self._open_table(TABLES[name])

    def _open_table(self, table: Table) -> int:
        mend(self.uri, table.name, self._published.get(table.name, -1))
        table_state = self._look_or_spare(table.name)
        if table_state is None:
            self._create(table)
            return 0
        return self.latest(table.name) if bring_up_to_date(self.spark, self.path(table.name), table, table_state) else table_state.version

    def _look_or_spare(self, name: str) -> ExistingTable | None:
        """Inspect a table; None for a damaged one that can be rebuilt."""
        try:
            return self._look(name)
        except DeltaError as error:
            if name not in DISPOSABLE or not self._local:
                raise
            _log.warning("%s is damaged and made anew: %s", self.path(name), str(error).partition("\n")[0])
            set_aside(Path(self.path(name)))
            return None

    def _look(self, name: str) -> ExistingTable | None:
        """Inspect a table, None if missing. Local tables need no Spark query."""
        path = self.path(name)
        if not self._local:
            description = delta.properties_of(self.spark, path)
            return None if description is None else ExistingTable(self.read(name).schema, self.latest(name), *description)
        delta_table = _delta_table_of(path)
        if delta_table is None:
            return None
        schema = StructType.fromJson(json.loads(delta_table.schema().to_json()))
        return ExistingTable(schema, delta_table.version(), delta_table.metadata().configuration, delta_table.metadata().description)

    def _create(self, table: Table) -> None:
        try:
            create(self.spark, self.path(table.name), table, is_local=self._local)
        except Exception:
            # Of two runs that start at the same time, the second one finds the register created.
            if self._look(table.name) is None:
                raise

    def identity(self, name: str) -> str:
        """Unique id of a table, different even between successive ones at one place."""
        delta_table = self.delta_table(name)
        return str(delta_table.metadata().id) if delta_table is not None else delta.identity(self.spark, self.path(name))

    def delta_table(self, name: str) -> DeltaTable | None:
        """Current state of a local table, read without Spark; None for a remote table."""
        return _delta_table_of(self.path(name)) if self._local else None

    def latest(self, name: str) -> int:
        """Latest version of a table by any writer."""
        delta_table = self.delta_table(name)
        if delta_table is not None:
            return delta_table.version()
        [row] = delta.commits_of(self.spark, self.path(name), 1).select("version").collect()
        return int(row[0])

    @property
    def opened_versions(self) -> dict[str, int]:
        """Version of each published table, as opened or as last recorded by `current_versions`."""
        return {name: version for name, version in self._versions.items() if name in VERSIONED}

    def current_versions(self) -> dict[str, int]:
        """Version of each published table after the writes of this object.

        Raises ConcurrentWrite if another writer, such as a run presumed dead, has changed rows since a table was opened. Such
        rows were never replayed, even if they equal those to be written.
        """
        names = self.opened_versions
        with ThreadPoolExecutor(_METADATA_THREADS) as pool:
            self._versions |= dict(zip(names, pool.map(self._own_version, names), strict=True))
        self._emptied -= self._written
        self._written.clear()
        return self.opened_versions

    def _own_version(self, name: str) -> int:
        """Latest version of a table; raises ConcurrentWrite if others changed its rows."""
        commits = commits_since(self, name, self._versions[name])
        if any(commit.user_metadata not in self._writers for commit in changing(commits)):
            raise ConcurrentWrite(f"{self.path(name)}: somebody else writes to this table, too; nothing is published")
        return max((commit.version for commit in commits), default=self._versions[name])

    def read(self, name: str, version: int | None = None) -> DataFrame:
        reader = self.spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(self.path(name))

    def local_rows(
        self, name: str, scope: RowScope | None = None, columns: Sequence[str] | None = None, bytes_max: int = arrow_diff.READ_BYTES
    ) -> pa.Table | None:
        """Return current rows without Spark; None if remote or too many."""
        delta_table = self.delta_table(name)
        return None if delta_table is None else arrow_diff.declared_rows(TABLES[name], delta_table, scope, columns, bytes_max)

    def read_arrow(self, name: str, scope: RowScope | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return current rows, which the caller knows to fit into memory."""
        rows = self.local_rows(name, scope, columns)
        return self._within(name, scope).select(*columns or TABLES[name].column_names).toArrow() if rows is None else rows

    def read_frame(self, name: str, scope: RowScope | None = None, columns: Sequence[str] | None = None) -> DataFrame:
        """Return current rows as a DataFrame.

        Small sets skip Spark's replay of the table's log.
        """
        rows = self.read_rows(name, scope, columns)
        return arrow_diff.to_frame(self.spark, rows) if isinstance(rows, pa.Table) else rows

    def read_rows(self, name: str, scope: RowScope | None = None, columns: Sequence[str] | None = None) -> DataFrame | pa.Table:
        """Return current rows, in the driver if they are few."""
        rows = self.local_rows(name, scope, columns)
        return self._within(name, scope).select(*columns or TABLES[name].column_names) if rows is None else rows

    def distinct(self, name: str, scope: RowScope, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Return distinct values of columns in the current rows."""
        delta_table = self.delta_table(name)
        values = None if delta_table is None else arrow_diff.read_distinct(delta_table, columns, scope.arrow)
        if values is None:
            return fetch_rows(self._within(name, scope).select(*columns).distinct())
        return zip(*(values[column].to_pylist() for column in columns), strict=True)

    def first_seen(
        self, name: str, scope: RowScope, columns: Sequence[str], times: Sequence[str], drawn: DerivedColumns | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Return distinct values, each with the first time of its rows.

        The time, in microseconds, is the first non-null of the columns `times`, or 0. `drawn` derives the values.
        """
        delta_table = self.delta_table(name)
        values = None if delta_table is None else arrow_diff.read_first(delta_table, columns, scope.arrow, times, drawn)
        if values is None:
            return fetch_rows(firsts_by_spark(self._within(name, scope), columns, times, drawn))
        return zip(*(column.to_pylist() for column in values.columns), strict=True)

    def _within(self, name: str, scope: RowScope | None) -> DataFrame:
        return self.read(name) if scope is None else self.read(name).where(scope.column)

    def append(self, name: str, rows: DataFrame, stamp: WriteStamp, part: str = "") -> None:
        """Append rows with every column of the table."""
        self._write(name, rows, stamp, part, {})

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
            .save(self.path(name))
        )
        self._note(name, stamp)

    def _note(self, name: str, stamp: WriteStamp) -> None:
        """Record that this object has written to a table."""
        self._written.add(name)
        self._writers.add(stamp.run_id)

    def is_known_empty(self, name: str) -> bool:
        """Whether the table was created or emptied by this object, and not written since."""
        return (self._versions[name] == 0 or name in self._emptied) and name not in self._written

    def empty(self, name: str, stamp: WriteStamp) -> None:
        """Remove all rows of a table."""
        self._writers.add(stamp.run_id)
        delta.delete(self.spark, self.path(name), "true", stamp.run_id)
        self._versions[name] = self._own_version(name)
        self._emptied.add(name)

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
        if not isinstance(rows, pa.Table) and count is not None and count <= arrow_diff.LOCAL_ROWS_MAX:
            rows = rows.toArrow()
        change = self._replace_locally(name, rows, stamp, scope, part, watch) if isinstance(rows, pa.Table) else None
        if change is None:
            frame = arrow_diff.to_frame(self.spark, rows) if isinstance(rows, pa.Table) else rows
            change = self._replace_many(name, frame, stamp, scope, part, count, watch)
        crash_point(f"after {name}{part}")
        return change

    def _replace_locally(
        self, name: str, rows: pa.Table, stamp: WriteStamp, scope: RowScope | None, part: str, watch: Watch | None
    ) -> RowChanges | None:
        """Replace rows in the driver; None if too many rows are stored."""
        wanted = arrow_diff.cast_to_schema(TABLES[name], rows)
        for _ in range(1, _TRIES):
            with suppress(WarehouseBusy):  # the comparison is outdated, for example by a writer that outlived its run
                return self._replace_at(self.delta_table(name), name, wanted, stamp, scope, part, watch)
        return self._replace_at(self.delta_table(name), name, wanted, stamp, scope, part, watch)

    def _replace_at(
        self,
        delta_table: DeltaTable | None,
        name: str,
        wanted: pa.Table,
        stamp: WriteStamp,
        scope: RowScope | None,
        part: str,
        watch: Watch | None,
    ) -> RowChanges | None:
        """Replace rows as `_replace_locally` does, starting from the version of `delta_table`."""
        table = TABLES[name]
        if self.is_known_empty(name) and (delta_table is None or delta_table.version() == self._versions[name]):
            if wanted.num_rows:
                rows = _stamped(table, wanted, stamp)
                if self.commit(delta_table, name, rows, stamp.committer(name, part)):
                    self._note(name, stamp)
                else:
                    self._write_arrow(delta_table, name, rows, stamp, part)
            return RowChanges(inserted=wanted.num_rows)
        present = None if delta_table is None else arrow_diff.declared_rows(table, delta_table, scope)
        if delta_table is None or present is None:
            return None
        differing = arrow_diff.compare(table, wanted, present.drop_columns([RUN_ID_COLUMN]))
        change = RowChanges(differing.inserted, differing.before.num_rows, differing.gone.num_rows)
        if not change:
            return change
        if watch is not None:
            watch.report(arrow_diff.distinct([differing.rows, differing.gone, differing.before], watch.columns, watch.least))
        author = stamp.committer(name, part)
        if self.commit(delta_table, name, _stamped(table, differing.rows, stamp), author, differing.replaced(table), scope):
            self._note(name, stamp)
        else:
            self._replace_by_spark(delta_table, table, differing, stamp, scope, part)
        return change

    def _replace_by_spark(
        self, delta_table: DeltaTable, table: Table, differing: arrow_diff.RowDiff, stamp: WriteStamp, scope: RowScope | None, part: str
    ) -> None:
        """Write a difference; a table of few rows becomes one file."""
        keys, rows = differing.replaced(table), _stamped(table, differing.rows, stamp)
        whole = arrow_diff.declared_rows(table, delta_table, None) if keys else None
        if not keys:
            self._write_arrow(delta_table, table.name, rows, stamp, part)
        elif whole is not None:  # a plain overwrite would remove the table's clustering
            stay = arrow_diff.drop_keys(table, whole, keys)
            self._write_arrow(delta_table, table.name, pa.concat_tables([stay, rows]), stamp, part, {"replaceWhere": "true"})
        elif (named := _named(table, differing.keys(table), scope)) is not None:
            self._write_arrow(delta_table, table.name, rows, stamp, part, {"replaceWhere": named.sql()})
        else:
            rows_of = {INSERT: differing.rows, DELETE: differing.gone}
            tagged = [part_.append_column(ACTION, pa.repeat(action, part_.num_rows)) for action, part_ in rows_of.items()]
            self._merge(table, arrow_diff.to_frame(self.spark, pa.concat_tables(tagged)), stamp, part, scope)

    def _write_arrow(
        self, delta_table: DeltaTable | None, name: str, rows: pa.Table, stamp: WriteStamp, part: str, how: Mapping[str, str] | None = None
    ) -> None:
        """Write rows of this run by Spark, in one file."""
        if delta_table is not None and self.latest(name) != delta_table.version():
            raise WarehouseBusy(f"{self.path(name)}: somebody else writes to this table, too")
        self._write(name, arrow_diff.to_frame(self.spark, rows).coalesce(1), stamp, part, how or {})

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
        if delta_table is None or not self._writes_plainly:
            return False
        try:
            return commit_rows(delta_table, TABLES[name], rows, author, keys, within)
        except FileExistsError as error:
            raise WarehouseBusy(f"{self.path(name)}: somebody else writes to this table, too") from error

    @cached_property
    def _writes_plainly(self) -> bool:
        return writes_plainly(self.spark)

    def _replace_many(
        self, name: str, rows: DataFrame, stamp: WriteStamp, scope: RowScope | None, part: str, count: int | None, watch: Watch | None
    ) -> RowChanges:
        table = TABLES[name]
        wanted = as_declared(rows, unstamped(table))
        if self.is_known_empty(name):
            return RowChanges(inserted=self._fill(name, wanted.withColumn(RUN_ID_COLUMN, F.lit(stamp.run_id)), stamp, part, count))
        present = self._within(name, scope)
        if count == 0 and not present.take(1):  # no stored and no wanted rows, so there is nothing to compare
            return RowChanges()
        differing = persist_on_disk(rows_to_change(table, wanted, present, is_old=watch is not None))
        try:
            change = RowChanges(*counts_by_action(differing, (INSERT, UPDATE, DELETE)))
            if change and watch is not None:
                watch.report(fetch_rows(changes_of(differing, watch)))
            if change:
                self._apply(table, differing.drop(OLD), change, stamp, part, scope)
        finally:
            differing.unpersist()
        return change

    def _fill(self, name: str, rows: DataFrame, stamp: WriteStamp, part: str, count: int | None) -> int:
        """Append to an empty table; return the number of rows."""
        if count is not None:
            if count:
                self.append(name, in_order_of_time(TABLES[name], rows, count), stamp, part)
            return count
        persisted = persist_on_disk(rows)
        try:
            return self._fill(name, persisted, stamp, part, persisted.count())
        finally:
            persisted.unpersist()

    def optimize(self, name: str) -> tuple[int, int]:
        """Compact small files of a table; return their number before and after."""
        columns = TABLES[name].column_names
        return delta.optimize(self.spark, self.path(name), next((size for time, size in _FILE_BYTES.items() if time in columns), None))

    def _apply(self, table: Table, differing: DataFrame, change: RowChanges, stamp: WriteStamp, part: str, scope: RowScope | None) -> None:
        if not change.updated and not change.deleted:
            self.append(table.name, differing.drop(ACTION).withColumn(RUN_ID_COLUMN, F.lit(stamp.run_id)), stamp, part)
        else:
            self._merge(table, differing, stamp, part, scope)

    def _merge(self, table: Table, differing: DataFrame, stamp: WriteStamp, part: str, scope: RowScope | None) -> None:
        changes = differing.withColumn(RUN_ID_COLUMN, F.lit(stamp.run_id))
        path = self.path(table.name)
        where = scope.sql("old") if scope is not None and _keys_hold(table) else ""
        # MERGE takes its transaction from the session, so the settings must be reset for other writes.
        transaction: dict[str, str | int] = {_TXN_APP: stamp.transaction(table.name, part), _TXN_VERSION: stamp.run_number}
        with self._merging, conf_overridden(self.spark, {**transaction, delta.USER_METADATA: stamp.run_id}):
            delta.merge(changes, path, table.key, table.column_names, ACTION, DELETE, where)
        self._note(table.name, stamp)


def _keys_hold(table: Table) -> bool:
    """Whether a row's key decides whether it is in scope."""
    return FINAL in table.column_names


def _stamped(table: Table, rows: pa.Table, stamp: WriteStamp) -> pa.Table:
    """Rows with the run that writes them."""
    return arrow_diff.cast_to_schema(table, rows.append_column(RUN_ID_COLUMN, pa.repeat(stamp.run_id, rows.num_rows)))


def _named(table: Table, keys: set[arrow_diff.RowKey], scope: RowScope | None) -> RowScope | None:
    """The rows with these keys, by name; None if there are too many names."""
    if len(table.key) > 1 or len(keys) > NAMES_MAX:
        return None
    named = among(table.key[0], {str(key) for (key,) in keys})
    return named & scope if scope is not None and _keys_hold(table) else named


def _delta_table_of(path: str) -> DeltaTable | None:
    """A local table, None if there is none."""
    try:
        return DeltaTable(path)
    except TableNotFoundError:
        return None
