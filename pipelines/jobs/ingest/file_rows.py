"""Rows of the ledger and the plan derived from them, without a JVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from parsers.reading.reader import Discovery, FileOptions, SourceFile
from parsers.reading.resume import Start
from parsers.sources import filesystems as places
from pipelines.analysis.log_file_rows import options_id
from pipelines.errors import NeedsRebuild
from pipelines.jobs.ingest.read_plan import Plan, known_files, plan
from pipelines.schema.row_conversion import micros

FileRow = dict[str, Any]
_STALE_NAMED = 3

_PACKED = 16
"""Estimated compression ratio of logs."""


def bytes_of(sources: Iterable[tuple[SourceFile, Start | None]]) -> int:
    """Estimate the bytes to read from these files and starts."""
    return sum((source.size_bytes - (start.offset if start else 0)) * (1 if source.is_plain else _PACKED) for source, start in sources)


def stored_files(table: pa.Table) -> dict[str, FileRow]:
    """Rows of `log_files` by path, with times in microseconds.

    Equal texts are one object, because a driver may hold many files.
    """
    names = [name for name in table.column_names if name != "run_id"]
    texts: dict[Any, Any] = {}
    columns = []
    for name in names:
        values = micros(table[name]) if name in ("first_at", "last_at") else table[name].to_pylist()
        columns.append([texts.setdefault(value, value) for value in values] if pa.types.is_string(table[name].type) else values)
    return {row["path"]: row for values in zip(*columns, strict=True) if (row := dict(zip(names, values, strict=True)))}


def plan_of(
    stored: Mapping[str, FileRow],
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
        known_files(stored.values(), states),
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


def _expired(stored: Mapping[str, FileRow], todo: Plan, discovery: Discovery, oldest: int) -> set[str]:
    """Paths of old content that no rebuild could read again."""
    present_files = {source.name for source in discovery.files} | {skip.name for skip in discovery.skipped}
    present_files |= {*todo.known.values(), *todo.renamed, *todo.renamed.values(), *todo.unread}
    old = [path for path, row in stored.items() if row["file_id"] and row["last_at"] is not None and row["last_at"] < oldest]
    return {path for path in old if path not in present_files and not places.holds(path)}
