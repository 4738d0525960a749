"""Stores for events and rows that spill to disk beyond a limit.

This bounds the memory of `analyze`, whatever the size of the logs.
"""

from __future__ import annotations

import heapq
import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from parsers.arrow_arrays import optional_numbers
from pipelines.schema.row_conversion import from_batch, to_batch
from pipelines.scratch import scratch

HELD_BYTES_MAX = 48 << 20
"""Events held in memory before a sorted run is written to disk."""

RUN_BATCH_ROWS = 1_024
"""Rows read at once from each sorted run during a merge."""

ROWS_HELD_MAX = 5_000
"""Rows of one table held in memory before they go to disk."""

_SORT = [("group", "ascending"), ("order_at", "ascending"), ("file", "ascending"), ("byte_offset", "ascending")]
"""Sort order of a run: group, then the order expected by `models.kafka.groups.stage`."""

_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Substitute for the unknown time of records before a file's first timestamp.

They sort first.
"""


class EventStore:
    """Collects event batches in any order, and returns sorted events of each group."""

    def __init__(self, held_bytes_max: int = HELD_BYTES_MAX) -> None:
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._held_bytes_max = held_bytes_max
        self._runs: list[Path] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch of events with a group."""
        if not batch.num_rows:
            return
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        if self._held_bytes > self._held_bytes_max:
            self._spill()

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="groupscope-", dir=scratch())
            os.chmod(self._folder.name, 0o700)
        path = Path(self._folder.name) / f"run-{len(self._runs)}.arrow"
        table = self._sorted()
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=RUN_BATCH_ROWS)
        self._runs.append(path)
        self._held, self._held_bytes = [], 0

    def _sorted(self) -> pa.Table:
        table = pa.Table.from_batches(self._held)
        keys = table.select([name for name, _ in _SORT])
        known = pc.fill_null(keys["order_at"], optional_numbers([0], keys["order_at"].type)[0])  # _NO_TIME
        return table.take(pc.sort_indices(keys.set_column(1, "order_at", known), sort_keys=_SORT))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All events, unordered."""
        for path in self._runs:
            with pa.OSFile(str(path), "rb") as source, pa.ipc.open_stream(source) as reader:
                yield from reader
        yield from self._held

    def groups(self) -> Iterator[tuple[str, Iterator[pa.RecordBatch]]]:
        """Return each group with its sorted events, as batches.

        A group must be read to its end before the next one.
        """
        if not self._runs:
            yield from self._groups_in_memory()
            return
        if self._held:
            self._spill()
        schema = pa.ipc.open_stream(str(self._runs[0])).schema
        merged = heapq.merge(*(_rows(path) for path in self._runs), key=_merge_key)
        for group, rows in itertools.groupby(merged, key=lambda item: item[0][0]):
            yield group, _batches((row for _, row in rows), schema)

    def _groups_in_memory(self) -> Iterator[tuple[str, Iterator[pa.RecordBatch]]]:
        if not self._held:
            return
        table = self._sorted()
        names = table["group"].to_pylist()
        whole = table.combine_chunks().to_batches()
        start = 0
        for group, members in itertools.groupby(names):
            count = sum(1 for _ in members)
            # A slice of one batch costs a group of a few rows much less than one of a table.
            yield group, iter([whole[0].slice(start, count)] if len(whole) == 1 else table.slice(start, count).to_batches())
            start += count

    def close(self) -> None:
        """Delete the files on disk."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> EventStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BatchStore:
    """Batches in order of arrival, readable several times.

    The first ones stay in memory, the rest goes to disk.
    """

    def __init__(self, held_bytes_max: int = HELD_BYTES_MAX) -> None:
        self._held: list[pa.RecordBatch] = []
        self._left = held_bytes_max
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._path: Path | None = None
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the next batch.

        Not allowed after the first reading.
        """
        self._left -= batch.nbytes
        if self._left >= 0:
            self._held.append(batch)
            return
        if self._writer is None:
            self._folder = tempfile.TemporaryDirectory(prefix="groupscope-", dir=scratch())
            self._path = Path(self._folder.name) / "batches.arrow"
            self._writer = pa.ipc.new_stream(str(self._path), batch.schema)
        self._writer.write_batch(batch)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return all batches."""
        if self._writer is not None:
            self._writer.close()
        yield from self._held
        if self._path is not None:
            with pa.OSFile(str(self._path), "rb") as source, pa.ipc.open_stream(source) as reader:
                yield from reader

    def close(self) -> None:
        """Delete the file on disk."""
        if self._writer is not None:
            self._writer.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> BatchStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _merge_key(item: tuple[tuple[Any, ...], dict[str, Any]]) -> tuple[Any, ...]:
    return item[0]


def _rows(path: Path) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    with pa.ipc.open_stream(pa.OSFile(str(path), "rb")) as reader:
        for batch in reader:
            for row in batch.to_pylist():
                yield (row["group"], row["order_at"] or _NO_TIME, row["file"], row["byte_offset"]), row


def _batches(rows: Iterator[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    while part := list(itertools.islice(rows, RUN_BATCH_ROWS)):
        yield pa.RecordBatch.from_pylist(part, schema=schema)


def write_rows(table: str, rows: Sequence[Any], path: Path) -> None:
    """Write rows of a table to a file."""
    batch = to_batch(table, rows)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_table(pa.Table.from_batches([batch]), max_chunksize=RUN_BATCH_ROWS)


class RowStore:
    """Rows of one table in order of arrival, as a sequence.

    Beyond a limit they are on disk.
    """

    def __init__(self, table: str, held_max: int = ROWS_HELD_MAX) -> None:
        self.table = table
        self._held: list[Any] = []
        self._held_max = held_max
        self._parts: list[tuple[Path, int]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def extend(self, rows: Iterable[Any]) -> None:
        """Add rows."""
        self._held.extend(rows)
        if len(self._held) > self._held_max:
            self._spill()

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="groupscope-", dir=scratch())
        path = Path(self._folder.name) / f"{self.table}-{len(self._parts)}.arrow"
        write_rows(self.table, self._held, path)
        self._parts.append((path, len(self._held)))
        self._held = []

    def adopt(self, path: Path, count: int) -> None:
        """Add the rows of a file that `write_rows` wrote; it is moved away."""
        if self._held:
            self._spill()
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="groupscope-", dir=scratch())
        own = Path(self._folder.name) / f"{self.table}-{len(self._parts)}.arrow"
        path.replace(own)
        self._parts.append((own, count))

    def __len__(self) -> int:
        return sum(count for _, count in self._parts) + len(self._held)

    def __iter__(self) -> Iterator[Any]:
        for path, _ in self._parts:
            with pa.OSFile(str(path), "rb") as source:
                reader = pa.ipc.open_file(source)
                for index in range(reader.num_record_batches):
                    yield from from_batch(self.table, reader.get_batch(index))
        yield from self._held

    def __getitem__(self, index: int) -> Any:
        """Return one row; negative indexes count from the end."""
        size = len(self)
        wanted = index + size if index < 0 else index
        if not 0 <= wanted < size:
            raise IndexError(index)
        return next(itertools.islice(iter(self), wanted, None))
