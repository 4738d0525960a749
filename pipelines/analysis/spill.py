"""Stores for events and rows that spill to disk beyond a limit.

This bounds the memory of `analyze` for logs of any size.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from parsers.arrow_arrays import optional_numbers, strings
from pipelines.schema.row_conversion import from_batch, to_batch, values_in
from pipelines.scratch import scratch

HELD_BYTES_MAX = 48 << 20
"""Events held in memory before a sorted run is written to disk."""

RUN_BATCH_ROWS = 1_024
"""Rows read at once from each sorted run during a merge."""

ROWS_HELD_MAX = 20_000
"""Rows of one table held in memory before they go to disk."""

_SORT = [("group", "ascending"), ("file_time_max_at", "ascending"), ("file", "ascending"), ("byte_offset", "ascending")]
"""Sort order of a run: group, then the order expected by `models.kafka.groups.group_stage`."""

_NO_TIME = 0
"""Substitute for the unknown time of records before a file's first timestamp.

They sort first.
"""


class EventStore:
    """Collects event batches in any order, and returns sorted events of each group."""

    def __init__(self, held_bytes_max: int = HELD_BYTES_MAX) -> None:
        self._in_memory: list[pa.RecordBatch] = []
        self.row_count = 0
        """Events in memory and on disk."""
        self._held_bytes = 0
        self._held_bytes_max = held_bytes_max
        self._runs: list[Path] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch of events with a group."""
        if not batch.num_rows:
            return
        self._in_memory.append(batch)
        self.row_count += batch.num_rows
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
        self._in_memory, self._held_bytes = [], 0

    def _sorted(self) -> pa.Table:
        return _in_order(pa.Table.from_batches(self._in_memory))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All events, unordered."""
        for path in self._runs:
            with pa.OSFile(str(path), "rb") as source, pa.ipc.open_stream(source) as reader:
                yield from reader
        yield from self._in_memory

    def groups(self) -> Iterator[tuple[str, Iterator[pa.RecordBatch]]]:
        """Return each group with its sorted events, as batches.

        A group must be read to its end before the next one.
        """
        if not self._runs:
            yield from self._groups_in_memory()
            return
        if self._in_memory:
            self._spill()
        pieces = itertools.chain.from_iterable(map(_by_group, _merged(self._runs)))
        for group, batches in itertools.groupby(pieces, key=itemgetter(0)):
            yield group, map(itemgetter(1), batches)

    def _groups_in_memory(self) -> Iterator[tuple[str, Iterator[pa.RecordBatch]]]:
        if not self._in_memory:
            return
        # One batch, unless its texts are too many: a slice of it costs a group of a few rows much less than one of a table.
        pieces = itertools.chain.from_iterable(map(_by_group, self._sorted().combine_chunks().to_batches()))
        for group, batches in itertools.groupby(pieces, key=itemgetter(0)):
            yield group, map(itemgetter(1), batches)

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
        self._in_memory: list[pa.RecordBatch] = []
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
            self._in_memory.append(batch)
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
        yield from self._in_memory
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


def _in_order(table: pa.Table) -> pa.Table:
    keys = table.select([name for name, _ in _SORT])
    known = pc.fill_null(keys["file_time_max_at"], optional_numbers([_NO_TIME], keys["file_time_max_at"].type)[0])
    return table.take(pc.sort_indices(keys.set_column(1, "file_time_max_at", known), sort_keys=_SORT))


def _by_group(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Slices of a sorted batch, one for each group."""
    ends = pc.run_end_encode(batch["group"])
    start = 0
    for group, end in zip(ends.values.to_pylist(), ends.run_ends.to_pylist(), strict=True):
        yield group, batch.slice(start, end - start)
        start = end


def _merged(paths: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    """Merge sorted runs; a batch of each is in memory.

    All rows up to the first end of these batches can be sorted at once, because none of another batch precedes them.
    """
    with ExitStack() as stack:
        runs = [stack.enter_context(pa.ipc.open_stream(stack.enter_context(pa.OSFile(str(path), "rb")))) for path in paths]
        heads = {place: batch for place, run in enumerate(runs) if (batch := next(run, None)) is not None}
        while heads:
            upto = min(_key(batch, batch.num_rows - 1) for batch in heads.values())
            parts = []
            for place, batch in list(heads.items()):
                count = bisect_right(range(batch.num_rows), upto, key=partial(_key, batch))
                parts.append(batch.slice(0, count))
                rest = batch.slice(count) if count < batch.num_rows else next(runs[place], None)
                if rest is None:
                    del heads[place]
                else:
                    heads[place] = rest
            yield from _in_order(pa.Table.from_batches(parts)).combine_chunks().to_batches()


def _key(batch: pa.RecordBatch, row: int) -> tuple[Any, ...]:
    group, file_time_max_at, file, offset = (batch[name][row] for name, _ in _SORT)
    return group.as_py(), file_time_max_at.value if file_time_max_at.is_valid else _NO_TIME, file.as_py(), offset.as_py()


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
        self._in_memory: list[Any] = []
        self._held_max = held_max
        self._parts: list[tuple[Path, int]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def extend(self, rows: Iterable[Any]) -> None:
        """Add rows."""
        self._in_memory.extend(rows)
        if len(self._in_memory) > self._held_max:
            self._spill()

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="groupscope-", dir=scratch())
        path = Path(self._folder.name) / f"{self.table}-{len(self._parts)}.arrow"
        write_rows(self.table, self._in_memory, path)
        self._parts.append((path, len(self._in_memory)))
        self._in_memory = []

    def adopt(self, path: Path, count: int) -> None:
        """Add the rows of a file that `write_rows` wrote; it is moved away."""
        if self._in_memory:
            self._spill()
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="groupscope-", dir=scratch())
        part_path = Path(self._folder.name) / f"{self.table}-{len(self._parts)}.arrow"
        path.replace(part_path)
        self._parts.append((part_path, count))

    def __len__(self) -> int:
        return sum(count for _, count in self._parts) + len(self._in_memory)

    def __iter__(self) -> Iterator[Any]:
        for batch in self._batches():
            yield from from_batch(self.table, batch)
        yield from self._in_memory

    def values(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Values of these columns, row by row.

        Rows that are on disk are not made.
        """
        for batch in self._batches():
            yield from zip(*values_in(self.table, batch, names), strict=True)
        yield from map(attrgetter(*names), self._in_memory) if len(names) > 1 else ((getattr(row, names[0]),) for row in self._in_memory)

    def with_values(self, name: str, wanted: Collection[str]) -> Iterator[Any]:
        """Rows with one of these texts in a column.

        Others that are on disk are not made.
        """
        texts = strings(sorted(wanted))
        for batch in self._batches():
            yield from from_batch(self.table, batch.filter(pc.is_in(batch[name], value_set=texts)))
        yield from (row for row in self._in_memory if getattr(row, name) in wanted)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for path, _ in self._parts:
            with pa.OSFile(str(path), "rb") as source:
                reader = pa.ipc.open_file(source)
                for index in range(reader.num_record_batches):
                    yield reader.get_batch(index)

    def __getitem__(self, index: int) -> Any:
        """Return one row; negative indexes count from the end."""
        size = len(self)
        wanted = index + size if index < 0 else index
        if not 0 <= wanted < size:
            raise IndexError(index)
        return next(itertools.islice(iter(self), wanted, None))
