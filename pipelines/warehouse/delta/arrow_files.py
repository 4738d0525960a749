"""Read delta-rs tables with Arrow, local files by Arrow's own file system.

delta-rs opens files for Arrow in Python. If one of Arrow's read-ahead threads does so while the interpreter shuts down,
the process dies with SIGABRT instead of its exit code.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from pipelines.scratch import scratch

if TYPE_CHECKING:
    import pyarrow.compute as pc
    from deltalake import DeltaTable
    from pyarrow.fs import FileSystem

HELD_BYTES_MAX = 16 << 20
"""Rows with more bytes are written to the file."""

_BATCH_ROWS = 8_192


def arrow_file_system(table: DeltaTable) -> FileSystem | None:
    """Arrow's file system for a local table, None for a remote one."""
    from pyarrow import fs

    parts = urlsplit(table.table_uri)
    return fs.SubTreeFileSystem(unquote(parts.path), fs.LocalFileSystem()) if parts.scheme == "file" else None


def read_table(table: DeltaTable, columns: list[str] | None = None, filters: list[tuple[str, str, Any]] | None = None) -> pa.Table:
    """Read all rows of a table."""
    return table.to_pyarrow_table(columns=columns, filters=filters, filesystem=arrow_file_system(table))


def read_mapped(delta_table: DeltaTable, columns: Sequence[str] | None = None, condition: pc.Expression | None = None) -> pa.Table:
    """Rows of a table that meet a condition, in memory if they are few."""
    dataset = delta_table.to_pyarrow_dataset(filesystem=arrow_file_system(delta_table))
    scanner = dataset.scanner(
        columns=None if columns is None else list(columns),
        filter=condition,
        batch_size=_BATCH_ROWS,
        batch_readahead=2,
        fragment_readahead=1,
    )
    return mapped(scanner.to_batches(), scanner.projected_schema)


def mapped(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The rows of these batches, which the system reads from a file as needed.

    It may drop them again. The file has no name any more when this returns, and goes with the table. Each run appends a file
    of few rows to a table, and a lookup searches all chunks, so that these are joined.
    """
    rest = _chunks_of(batches, schema)
    first = next(rest, schema.empty_table())
    second = next(rest, None)
    if second is None:
        return first
    with tempfile.NamedTemporaryFile(prefix="groupscope-", dir=scratch()) as file:
        with pa.ipc.new_file(file, schema) as writer:
            for rows in chain((first, second), rest):
                writer.write_table(rows)
            del first, second, rows
        file.flush()
        pa.default_memory_pool().release_unused()  # Arrow would keep what it has read
        return pa.ipc.open_file(pa.memory_map(file.name)).read_all()


def _chunks_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Rows in tables of one chunk, with more than `HELD_BYTES_MAX` but for the last."""
    parts: list[pa.RecordBatch] = []
    size_bytes = 0
    for batch in batches:
        parts.append(batch)
        size_bytes += batch.nbytes
        if size_bytes > HELD_BYTES_MAX:
            yield pa.Table.from_batches(parts, schema).combine_chunks()
            parts, size_bytes = [], 0
    if parts:
        yield pa.Table.from_batches(parts, schema).combine_chunks()
