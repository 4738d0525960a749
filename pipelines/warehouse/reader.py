"""The tables of a warehouse through delta-rs, without a JVM, as rows of the shapes that an analysis has.

Tables are opened at the versions that the last published run wrote down, so a run under way is never seen by half.
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
from pipelines.warehouse.arrow_files import files_of
from pipelines.warehouse.damage import check, damage_behind
from pipelines.warehouse.delta_files import DeltaFiles

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pads
    from deltalake import DeltaTable

    from models.kafka.outages.broker_loss import Layout

_log = logging.getLogger(__name__)
PUBLISHED = "published"
_WITH_ROWS = frozenset(ROW_TABLES.values())


class Stored:
    """Rows of one table; can be gone through more than once, and are read batch by batch."""

    def __init__(self, warehouse: Warehouse, table: str, where: str = "") -> None:
        self._warehouse = warehouse
        self._table = table
        self._where = where

    def __iter__(self) -> Iterator[Any]:
        for batch in self._warehouse.found(self._table, self._where):
            yield from rows_of(self._table, batch)

    def where(self, condition: str) -> Stored:
        """Those of these rows that meet an SQL condition."""
        return Stored(self._warehouse, self._table, " and ".join(f"({each})" for each in (self._where, condition) if each))

    def query(self, sql: str) -> list[dict[str, Any]]:
        """What an SQL query gives that knows these rows as `chosen`; times are microseconds since 1970."""
        return self._warehouse.query(self._table, self._where, sql)

    def about(self, groups: Iterable[str], starts: Sequence[str], ends: Sequence[str], since: int | None, until: int | None) -> Stored:
        """Those of these rows that are of these groups, or of none, and reach into a stretch of time (microseconds, both ends
        belong to it). `starts` and `ends` are the columns of which the first that is known says when a row begins and ends.
        """
        met = []
        words = ", ".join(map(text, sorted(groups)))
        named = TABLES[self._table].column_names
        if words and "groups" in named:
            met.append(f'array_has_any("groups", make_array({words}))')
        elif words and "group" in named:
            met.append(f'("group" is null or "group" in ({words}))')
        if starts and (since is not None or until is not None):
            met.append(f"{_first([*starts, *ends])} {'is not null' if until is None else f'<= {instant(until)}'}")
        if starts and since is not None:
            met.append(f"({_first(ends)} is null or {_first(ends)} >= {instant(since)})")
        return self.where(" and ".join(met))


class Warehouse:
    """What an analysis offers, from the tables below one folder or URI."""

    def __init__(self, uri: str) -> None:
        self.uri = uri.rstrip("/") or uri
        self.identity = ""
        """Tells it from any other warehouse, also from one that was at the same place."""
        self.options: dict[str, Any] = {}
        """What the last published run was told."""
        self.versions = self._published()
        self._opened: dict[str, DeltaTable] = {}

    def __getattr__(self, key: str) -> Stored:
        """The keys of the JSON contract, and members of rebalances; `inputs` stands for itself."""
        if key in CONTRACT or key == "rebalance_members":
            return Stored(self, CONTRACT.get(key, key))
        raise AttributeError(key)

    @cached_property
    def inputs(self) -> dict[str, Any]:
        files = list(Stored(self, "log_files"))
        totals = {name: sum(row[name] or 0 for row in files) for name in TOTALS if name != "files"}
        return {"log_files": files, "totals": {"files": len(files), **totals}}

    @cached_property
    def layouts(self) -> list[Layout]:
        """How clusters stood when their logs ended."""
        from models.kafka.outages.broker_loss import layouts_of

        return layouts_of(Stored(self, "partition_placements"), Stored(self, "brokers"))

    def found(self, table: str, where: str = "", order: str = "") -> Iterator[pa.RecordBatch]:
        """A table as it was published, in the types that delta-rs gives it; those rows of it that meet an SQL condition, in an SQL order,
        else in that of time and key.
        """
        import pyarrow as pa
        from deltalake import QueryBuilder

        if table not in self.versions:
            return
        ordered = order or ", ".join(f'"{name}"' for name in _order(table))
        query = f"select * from ({self._chosen(table, where)}) order by {ordered}"  # noqa: S608 - declared names
        yield from pa.RecordBatchReader.from_stream(QueryBuilder().register("stored", self._open(table)).execute(query))

    def batches(self, table: str, where: str = "", order: str = "") -> Iterator[pa.RecordBatch]:
        """The same in its declared types."""
        wanted = TABLES[table].arrow_schema()
        return (_as_declared(batch, wanted) for batch in self.found(table, where, order))

    def query(self, table: str, where: str, sql: str) -> list[dict[str, Any]]:
        """What an SQL query gives that knows as `chosen` those rows of a table, as published, that meet an SQL condition."""
        from deltalake import QueryBuilder

        if table not in self.versions:
            return []
        query = f"with chosen as ({self._chosen(table, where)}) {sql}"
        return _mappings(_plain_table(QueryBuilder().register("stored", self._open(table)).execute(query).read_all()))

    def ask(self, tables: Mapping[str, str], sql: str) -> list[tuple[Any, ...]]:
        """What an SQL query gives that knows tables, as published, by their names: of each the rows that meet an SQL condition.
        Nothing where one of them was not published.
        """
        from deltalake import QueryBuilder

        if not tables.keys() <= self.versions.keys():
            return []
        builder, known = QueryBuilder(), []
        for table, where in tables.items():
            builder.register(f"stored_{table}", self._open(table))
            known.append(f"{table} as ({self._chosen(table, where, f'stored_{table}')})")
        found = _plain_table(builder.execute(f"with {', '.join(known)} {sql}").read_all())
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def _chosen(self, table: str, where: str, stored: str = "stored") -> str:
        """The query for rows of a table, which it knows as `stored`, with all its columns; those that an older version had not are null."""
        present = {field.name for field in self._open(table).schema().fields}
        columns = ", ".join(f'"{name}"' if name in present else f'null as "{name}"' for name in TABLES[table].column_names)
        return f"select {columns} from {stored} {'where ' + where if where else ''}"  # noqa: S608 - declared names

    def dataset(self, table: str) -> pads.Dataset:
        """A table as it was published, from which a reader takes the columns and rows that it needs; without `run_id`."""
        import pyarrow as pa
        import pyarrow.dataset as pads
        from deltalake.exceptions import DeltaError

        wanted = without_run(table)
        if table in self.versions:
            stored = self._open(table)
            files = files_of(stored)
            with suppress(DeltaError):  # what Arrow can't read by itself, such as deletion vectors
                if files is not None:
                    return stored.to_pyarrow_dataset(filesystem=files, schema=wanted)
        return pads.dataset(pa.Table.from_batches(self.batches(table), TABLES[table].arrow_schema()).select(wanted.names))

    def record_at(self, file: str, line: int) -> pa.RecordBatch | None:
        """The last recognised record of a file that begins at or before a line."""
        found = self.batches("events", f"file = {text(file)} and line <= {line}", "line desc limit 1")
        return next((batch for batch in found if batch.num_rows), None)

    def _open(self, table: str) -> DeltaTable:
        """A table at the version of the last published run, which must have had it."""
        if table not in self._opened:
            check(self.uri, table, self.versions[table])
            self._opened[table] = open_table(f"{self.uri}/{TABLES[table].path}", version=self.versions[table])
        return self._opened[table]

    def _published(self) -> dict[str, int]:
        """Version of each table in the last run that was published."""
        from deltalake import QueryBuilder
        from deltalake.exceptions import DeltaError, TableNotFoundError

        place = f"{self.uri}/{TABLES['runs'].path}"
        files = DeltaFiles(Path(place))
        try:
            if files.never_made:
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
        query = f"select run_number, table_versions, options from stored where status = '{PUBLISHED}' order by run_number desc limit 1"  # noqa: S608 - a constant
        found = QueryBuilder().register("stored", runs).execute(query).read_all()
        rows = _plain_table(found).to_pylist()
        if not rows:
            raise NothingReadable(f"{self.uri}: no run has been published yet; see why with groupscope run")
        self.identity, self.options = str(runs.metadata().id), json.loads(rows[0]["options"] or "{}")
        return dict(rows[0]["table_versions"] or ())


def _opened_whole(place: str, files: DeltaFiles) -> DeltaTable:
    """A table at its latest version that is whole: what a torn commit was to say, nobody was told. Raises DeltaError, OSError."""
    from deltalake.exceptions import DeltaError

    try:
        return open_table(place)
    except DeltaError:
        torn = files.torn_end(-1)
        if not torn:
            raise
        _log.warning("%s is torn: the table is read as it was before; the next groupscope run mends it", torn[-1])
        return open_table(place, version=min(map(int, (path.stem for path in torn))) - 1)


def text(value: str) -> str:
    """A text as SQL has it."""
    return "'" + value.replace("'", "''") + "'"


def any_of(column: str, values: Iterable[str]) -> str:
    """The condition in SQL that a column has one of these texts."""
    words = ", ".join(map(text, values))
    return f'"{column}" in ({words})' if words else "false"


def instant(micros: int) -> str:
    """A time, in microseconds since 1970, as SQL has it."""
    return f"""arrow_cast({micros}, 'Timestamp(Microsecond, Some("UTC"))')"""


def _first(columns: Iterable[str]) -> str:
    """The first of these that is known, in SQL."""
    named = ", ".join(f'"{column}"' for column in dict.fromkeys(columns))
    return f"coalesce({named}, null)"


def rows_of(table: str, batch: pa.RecordBatch) -> list[Any]:
    """Rows as dataclasses where a table has them, else as mappings; times are microseconds since 1970."""
    from pipelines.schema.row_conversion import from_batch

    if table in _WITH_ROWS:
        return from_batch(table, batch)
    rows = _mappings(batch)
    for row in rows:
        row.update((name, dict(row[name] or ())) for name in _maps(table) if name in row)
    return rows


def _mappings(found: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """Rows by name of column, without the runs that wrote them. Arrow makes objects of times with the help of pandas, whose import takes
    a third of a second, so times stay numbers: microseconds since 1970.
    """
    import pyarrow as pa

    from pipelines.schema.row_conversion import micros

    names = [name for name in found.schema.names if name != "run_id"]
    columns = [micros(found[name]) if pa.types.is_timestamp(found[name].type) else found[name].to_pylist() for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _maps(table: str) -> list[str]:
    import pyarrow as pa

    return [column.name for column in TABLES[table].columns if pa.types.is_map(column.type)]


def _order(table: str) -> Mapping[str, None]:
    """By time where a table has one, then by key: the same table reads in the same order each time."""
    import pyarrow as pa

    declared = TABLES[table]
    times = [column.name for column in declared.columns if pa.types.is_timestamp(column.type)][:1]
    return dict.fromkeys([*times, *declared.key])


def _as_declared(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    """Columns in their declared order and types."""
    import pyarrow as pa

    columns = [batch[field.name].cast(field.type) for field in wanted]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)


def _plain_table(found: Any) -> pa.Table:
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(found).read_all()  # `pa.table` imports pandas, to ask whether it is given a frame
