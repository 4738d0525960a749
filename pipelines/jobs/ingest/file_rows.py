"""Rows of the ledger and the plan derived from them, without a JVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from parsers.reading.reader import Discovery, FileOptions, SourceFile
from parsers.reading.resume import Start
from parsers.sources import filesystems as places
from pipelines.analysis.log_file_rows import LogFileRow, options_id
from pipelines.errors import NeedsRebuild
from pipelines.jobs.ingest.read_plan import KNOWN_COLUMNS, Plan, known_files, plan
from pipelines.jobs.overlay import Overlay
from pipelines.schema.row_conversion import micros
from pipelines.schema.tables import without_run

_STALE_NAMED = 3

_PACKED = 16
"""Estimated compression ratio of logs."""

_TIMES = ("first_at", "last_at")
_ROWS_AT_ONCE = 4_096


def bytes_of(sources: Iterable[tuple[SourceFile, Start | None]]) -> int:
    """Estimate the bytes to read from these files and starts."""
    return sum((source.size_bytes - (start.offset if start else 0)) * (1 if source.is_plain else _PACKED) for source, start in sources)


class FileRows(Overlay[LogFileRow]):
    """Rows of `log_files` by path, with times in microseconds."""

    __slots__ = ("_table",)

    def __init__(self, table: pa.Table | None = None) -> None:
        """Without a table there are no stored rows."""
        rows = without_run("log_files").empty_table() if table is None else table.drop_columns(["run_id"])
        for name in _TIMES:
            rows = rows.set_column(rows.column_names.index(name), name, pa.array(micros(rows[name]), pa.int64()))
        self._table = rows
        super().__init__(rows["path"].to_pylist(), self._row)

    def _row(self, place: int) -> LogFileRow:
        row: LogFileRow = self._table.slice(place, 1).to_pylist()[0]
        return row

    def copy(self) -> FileRows:
        other = super().copy()
        other._table = self._table
        return other

    def columns(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Values of some columns, row by row."""
        for start in range(0, self._table.num_rows, _ROWS_AT_ONCE):
            part = self._table.slice(start, _ROWS_AT_ONCE)
            places = range(start, start + part.num_rows)
            for place, path, *values in zip(places, part["path"].to_pylist(), *(part[name].to_pylist() for name in names), strict=True):
                if self.unchanged.get(path) == place:
                    yield tuple(values)
        for row in self.changed.values():
            values_by_name: Mapping[str, Any] = row
            yield tuple(values_by_name[name] for name in names)


def clusters_of(files: FileRows) -> set[str]:
    """Clusters that have files."""
    return {cluster for (cluster,) in files.columns("cluster")}


def plan_of(
    stored: FileRows,
    states: Mapping[str, str],
    discovery: Discovery,
    file_options: Mapping[str, FileOptions],
    *,
    rebuild: bool = False,
    oldest: int | None = None,
) -> Plan:
    """Plan what to read and what to forget.

    `states` are texts by path, `file_options` the options of the files found, by name.
    Forgotten is content that ended before `oldest` (microseconds) and no longer exists. Raises NeedsRebuild if records
    of known files would be different now.
    """
    todo = plan(
        known_files(stored.columns(*KNOWN_COLUMNS), states),
        discovery.files,
        discovery.skipped,
        lambda source: options_id(file_options[source.name]),
        rebuild=rebuild,
    )
    if todo.stale:
        and_more = f" and {len(todo.stale) - _STALE_NAMED} more" if len(todo.stale) > _STALE_NAMED else ""
        raise NeedsRebuild(
            f"the catalogue or the options of reading have changed since {', '.join(todo.stale[:_STALE_NAMED])}{and_more} were read; "
            "nothing is mixed: run once with --rebuild"
        )
    if oldest is not None:
        todo.gone |= _expired(stored, todo, discovery, oldest)
    return todo


def _expired(stored: FileRows, todo: Plan, discovery: Discovery, oldest: int) -> set[str]:
    """Paths of old content that no rebuild could read again."""
    present_files = {source.name for source in discovery.files} | {skip.name for skip in discovery.skipped}
    present_files |= {*todo.known.values(), *todo.renamed, *todo.renamed.values(), *todo.unread}
    rows = stored.columns("path", "file_id", "last_at")
    old = [path for path, file_id, last_at in rows if file_id and last_at is not None and last_at < oldest]
    return {path for path in old if path not in present_files and not places.is_there(path)}
