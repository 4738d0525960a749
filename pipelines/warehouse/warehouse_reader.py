"""Read a warehouse through delta-rs, without a JVM.

Rows have the same shapes as those of an analysis. Tables are opened at the versions recorded by the last published run,
so the writes of a running one are invisible.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.errors import NothingReadable
from pipelines.schema.tables import CONTRACT, ROW_TABLES, TABLES, TOTALS, without_run
from pipelines.storage.object_stores import open_table
from pipelines.warehouse.delta.arrow_files import arrow_file_system
from pipelines.warehouse.delta.files import DeltaFiles
from pipelines.warehouse.opening.damage import check, damage_behind

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pads
    from deltalake import DeltaTable

    from models.kafka.outages.broker_loss import ClusterLayout

_log = logging.getLogger(__name__)
_PUBLISHED = "published"
_WITH_ROWS = frozenset(ROW_TABLES.values())


class StoredRows:
    """Rows of one table, read batch by batch on each iteration."""

    def __init__(self, warehouse: WarehouseReader, table: str, where: str = "") -> None:
        self._warehouse = warehouse
        self._table = table
        self._where = where

    def __iter__(self) -> Iterator[Any]:
        for batch in self._warehouse.raw_batches(self._table, self._where):
            yield from as_dataclasses(self._table, batch)

    def where(self, condition: str) -> StoredRows:
        """The rows that also meet an SQL condition."""
        return StoredRows(self._warehouse, self._table, " and ".join(f"({clause})" for clause in (self._where, condition) if clause))

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the result of an SQL query on these rows, named `chosen`.

        Times are microseconds since 1970.
        """
        return self._warehouse.query(self._table, self._where, sql)

    def about(self, groups: Iterable[str], starts: Sequence[str], ends: Sequence[str], since: int | None, until: int | None) -> StoredRows:
        """The rows of these groups or of no group that overlap a time range.

        Microseconds, both ends inclusive. `starts` and `ends` are columns; the first non-null one is the start or end
        of a row.
        """
        conditions = []
        words = ", ".join(map(quoted_text, sorted(groups)))
        named = TABLES[self._table].column_names
        if words and "groups" in named:
            conditions.append(f'array_has_any("groups", make_array({words}))')
        elif words and "group" in named:
            conditions.append(f'("group" is null or "group" in ({words}))')
        if starts and (since is not None or until is not None):
            conditions.append(f"{_first([*starts, *ends])} {'is not null' if until is None else f'<= {instant(until)}'}")
        if starts and since is not None:
            conditions.append(f"({_first(ends)} is null or {_first(ends)} >= {instant(since)})")
        return self.where(" and ".join(conditions))


class WarehouseReader:
    """The tables below one folder or URI, with the attributes of an analysis."""

    def __init__(self, uri: str) -> None:
        self.uri = uri.rstrip("/") or uri
        self.identity = ""
        """Unique id, different even between successive warehouses at the same place."""
        self.options: dict[str, Any] = {}
        """Options of the last published run."""
        self.versions = self._published()
        self._opened: dict[str, DeltaTable] = {}

    def __getattr__(self, key: str) -> StoredRows:
        """A key of the JSON contract, or `rebalance_members`.

        `inputs` has a property of its own.
        """
        if key in CONTRACT or key == "rebalance_members":
            return StoredRows(self, CONTRACT.get(key, key))
        raise AttributeError(key)

    @cached_property
    def inputs(self) -> dict[str, Any]:
        files = list(StoredRows(self, "log_files"))
        totals = {name: sum(row[name] or 0 for row in files) for name in TOTALS if name != "files"}
        return {"log_files": files, "totals": {"files": len(files), **totals}}

    @cached_property
    def layouts(self) -> list[ClusterLayout]:
        """State of each cluster's partitions and brokers at the end of its logs."""
        from models.kafka.outages.broker_loss import layouts_of

        return layouts_of(StoredRows(self, "partition_placements"), StoredRows(self, "brokers"))

    def raw_batches(self, table: str, where: str = "", order: str = "") -> Iterator[pa.RecordBatch]:
        """Read a table as published, with the types of delta-rs.

        `where` and `order` are SQL; the default order is time, then key.
        """
        import pyarrow as pa
        from deltalake import QueryBuilder

        if table not in self.versions:
            return
        ordered = order or ", ".join(f'"{name}"' for name in _order(table))
        query = f"select * from ({self._chosen(table, where)}) order by {ordered}"  # noqa: S608 - names come from the declarations
        yield from pa.RecordBatchReader.from_stream(QueryBuilder().register("stored", self._open(table)).execute(query))

    def batches(self, table: str, where: str = "", order: str = "") -> Iterator[pa.RecordBatch]:
        """Read a table as `raw_batches` does, with its declared types."""
        wanted = TABLES[table].arrow_schema()
        return (_as_declared(batch, wanted) for batch in self.raw_batches(table, where, order))

    def query(self, table: str, where: str, sql: str) -> list[dict[str, Any]]:
        """Return the result of an SQL query on one published table.

        The query knows the rows that meet `where` as `chosen`.
        """
        from deltalake import QueryBuilder

        if table not in self.versions:
            return []
        query = f"with chosen as ({self._chosen(table, where)}) {sql}"
        return _mappings(_plain_table(QueryBuilder().register("stored", self._open(table)).execute(query).read_all()))

    def ask(self, tables: Mapping[str, str], sql: str) -> list[tuple[Any, ...]]:
        """Return the result of an SQL query on several published tables.

        `tables` maps each name to the SQL condition of its rows. Empty if any of the tables was not published.
        """
        from deltalake import QueryBuilder

        if not tables.keys() <= self.versions.keys():
            return []
        builder, known = QueryBuilder(), []
        for table, where in tables.items():
            builder.register(f"stored_{table}", self._open(table))
            known.append(f"{table} as ({self._chosen(table, where, f'stored_{table}')})")
        answer = _plain_table(builder.execute(f"with {', '.join(known)} {sql}").read_all())
        return list(zip(*(column.to_pylist() for column in answer.columns), strict=True))

    def _chosen(self, table: str, where: str, stored: str = "stored") -> str:
        """A query for all columns of a table known as `stored`.

        Columns of an older version have their present names; those that it lacks are null.
        """
        present = {field.name for field in self._open(table).schema().fields}
        columns = ", ".join(f'"{old}" as "{name}"' if old else f'null as "{name}"' for name, old in TABLES[table].stored_names(present))
        chosen = f"select {columns} from {stored}"  # noqa: S608 - names come from the declarations
        return f"select * from ({chosen}) where {where}" if where else chosen  # noqa: S608

    def dataset(self, table: str) -> pads.Dataset:
        """A published table as a dataset without `run_id`, for lazy reads."""
        import pyarrow as pa
        import pyarrow.dataset as pads
        from deltalake.exceptions import DeltaError

        wanted = without_run(table)
        if table in self.versions:
            stored = self._open(table)
            files = arrow_file_system(stored)
            if {field.name for field in stored.schema().fields} & TABLES[table].former_names.keys():
                files = None  # Arrow renames no columns while it reads
            with suppress(DeltaError):  # features that Arrow cannot read, such as deletion vectors
                if files is not None:
                    return stored.to_pyarrow_dataset(filesystem=files, schema=wanted)
        return pads.dataset(pa.Table.from_batches(self.batches(table), TABLES[table].arrow_schema()).select(wanted.names))

    def record_at(self, file: str, line: int) -> pa.RecordBatch | None:
        """The last recognised record of a file at or before a line."""
        records = self.batches("events", f"file = {quoted_text(file)} and line <= {line}", "line desc limit 1")
        return next((batch for batch in records if batch.num_rows), None)

    def _open(self, table: str) -> DeltaTable:
        """Open a table at the version of the last published run.

        The run must have had the table.
        """
        if table not in self._opened:
            check(self.uri, table, self.versions[table])
            self._opened[table] = open_table(f"{self.uri}/{TABLES[table].path}", version=self.versions[table])
        return self._opened[table]

    def _published(self) -> dict[str, int]:
        """Version of each table in the last published run."""
        from deltalake import QueryBuilder
        from deltalake.exceptions import DeltaError, TableNotFoundError

        place = f"{self.uri}/{TABLES['runs'].path}"
        files = DeltaFiles(Path(place))
        try:
            if files.was_never_made:
                raise TableNotFoundError(place)
            check(self.uri, "runs", -1)
            runs = _opened_whole(place, files)
        except TableNotFoundError as error:
            raise NothingReadable(
                f"{self.uri} is no warehouse: it has no table of runs ({TABLES['runs'].path}); make one with groupscope run"
            ) from error
        except (DeltaError, OSError) as error:
            raise damage_behind(error, self.uri) or NothingReadable(
                f"{place}: the table of runs can't be opened: {' '.join(str(error).split())}"
            ) from error
        query = f"select run_number, table_versions, options from stored where status = '{_PUBLISHED}' order by run_number desc limit 1"  # noqa: S608 - a constant
        last_runs = QueryBuilder().register("stored", runs).execute(query).read_all()
        rows = _plain_table(last_runs).to_pylist()
        if not rows:
            raise NothingReadable(f"{self.uri}: no run has been published yet; see why with groupscope run")
        self.identity, self.options = str(runs.metadata().id), json.loads(rows[0]["options"] or "{}")
        return dict(rows[0]["table_versions"] or ())


def _opened_whole(place: str, files: DeltaFiles) -> DeltaTable:
    """Open a table at its latest whole version.

    Nobody has read a torn commit, so it may be ignored. Raises DeltaError, OSError.
    """
    from deltalake.exceptions import DeltaError

    try:
        return open_table(place)
    except DeltaError:
        torn = files.torn_end(-1)
        if not torn:
            raise
        _log.warning("%s is torn: the table is read as it was before; the next groupscope run mends it", torn[-1])
        return open_table(place, version=min(map(int, (path.stem for path in torn))) - 1)


def quoted_text(value: str) -> str:
    """Quote a text for SQL."""
    return "'" + value.replace("'", "''") + "'"


def column_in(column: str, values: Iterable[str]) -> str:
    """SQL condition: the column is one of these texts."""
    words = ", ".join(map(quoted_text, values))
    return f'"{column}" in ({words})' if words else "false"


def instant(micros: int) -> str:
    """A time, in microseconds since 1970, as SQL."""
    return f"""arrow_cast({micros}, 'Timestamp(Microsecond, Some("UTC"))')"""


def _first(columns: Iterable[str]) -> str:
    """The first non-null column, as SQL."""
    named = ", ".join(f'"{column}"' for column in dict.fromkeys(columns))
    return f"coalesce({named}, null)"


def as_dataclasses(table: str, batch: pa.RecordBatch) -> list[Any]:
    """Convert rows to dataclasses if the table has one, else to mappings.

    Times are microseconds since 1970.
    """
    from pipelines.schema.row_conversion import from_batch

    if table in _WITH_ROWS:
        return from_batch(table, batch)
    rows = _mappings(batch)
    for row in rows:
        row.update((name, dict(row[name] or ())) for name in _maps(table) if name in row)
    return rows


def _mappings(table: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """Rows as mappings, without `run_id`.

    Times stay numbers (microseconds since 1970), because Arrow uses pandas to make objects of them, and its import
    takes a third of a second.
    """
    import pyarrow as pa

    from pipelines.schema.row_conversion import micros

    names = [name for name in table.schema.names if name != "run_id"]
    columns = [micros(table[name]) if pa.types.is_timestamp(table[name].type) else table[name].to_pylist() for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _maps(table: str) -> list[str]:
    import pyarrow as pa

    return [column.name for column in TABLES[table].columns if pa.types.is_map(column.type)]


def _order(table: str) -> Mapping[str, None]:
    """Order by time if the table has one, then by key.

    Makes the order of reading repeatable.
    """
    import pyarrow as pa

    declared = TABLES[table]
    times = [column.name for column in declared.columns if pa.types.is_timestamp(column.type)][:1]
    return dict.fromkeys([*times, *declared.key])


def _as_declared(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    """Columns in their declared order and types."""
    import pyarrow as pa

    columns = [batch[field.name].cast(field.type) for field in wanted]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)


def _plain_table(table: Any) -> pa.Table:
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(table).read_all()  # `pa.table` would import pandas to check for DataFrames
