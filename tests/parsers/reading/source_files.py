"""Read a file like a run, for tests: rows as dictionaries, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from parsers.reading.reader import FileReport, ReadOptions, SourceFile, find_files, read_file
from parsers.schema import EVENT_SCHEMA, REJECTED_SCHEMA, UNKNOWN_SCHEMA
from parsers.sources.discovery import Discovery

Row = dict[str, Any]
MEANING = ("message", "event", "group", "generation", "member_id", "client_id", "instance_id", "topic", "partition", "node", "fields")
"""Columns with the meaning of a record, independent of its form."""


@dataclass(slots=True)
class Reading:
    """All results from one file."""

    events: pa.Table
    unknown: pa.Table
    rejected: pa.Table
    report: FileReport

    def rows(self, *columns: str) -> list[Row]:
        return self.events.select(list(columns)).to_pylist() if columns else self.events.to_pylist()

    def meanings(self) -> list[Row]:
        return self.rows(*MEANING)


def find(*paths: Path | str, **options: Any) -> Discovery:
    return find_files([str(path) for path in paths], ReadOptions(**options))


def one_source(path: Path) -> SourceFile:
    found = find(path)
    assert [skip.reason for skip in found.skipped] == []
    (source,) = found.files
    return source


def read_source(source: SourceFile, **options: Any) -> Reading:
    reader = read_file(source, ReadOptions(**options))
    chunks = list(reader)
    return Reading(
        _table(EVENT_SCHEMA, [chunk.events for chunk in chunks]),
        _table(UNKNOWN_SCHEMA, [chunk.unknown for chunk in chunks]),
        _table(REJECTED_SCHEMA, [chunk.rejected for chunk in chunks]),
        reader.report,
    )


def read(path: Path, **options: Any) -> Reading:
    return read_source(one_source(path), **options)


def read_bytes(folder: Path, data: bytes, name: str = "server.log", **options: Any) -> Reading:
    path = folder / name
    path.write_bytes(data)
    return read(path, **options)


def _table(schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches, schema=schema)
