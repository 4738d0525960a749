"""Reading of files by worker processes, range by range.

A worker leaves the rows of its ranges in files, so that neither side holds more than a chunk of them. Numbers of lines are counted before
a range is given out, in the time that others are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from parsers.arrow_arrays import integers_of, known_of, numbers
from parsers.reading.file_reports import FileReport, report_row
from parsers.reading.reader import FileReader, ReadOptions
from parsers.reading.resume import ends_of_lines, is_resumable
from parsers.reading.splits import Range, edges
from parsers.schema import EVENT_SCHEMA, RECORD_KINDS, TIME
from parsers.sources.files import SourceFile
from pipelines.analysis.parallel.pool import WorkerDeath, WorkerPool

SHARE_BYTES = 32 << 20
"""Bytes of a range, and of small files that are read by one task."""
KINDS = ("events", "unknown", "rejected")


@dataclass(frozen=True, slots=True)
class ReadPart:
    """The report on a range, and files with its rows by kind."""

    name: str
    files: Mapping[str, str]
    report: Mapping[str, Any]

    def batches(self, kind: str) -> Iterator[pa.RecordBatch]:
        """Rows of one kind, in the order of the file."""
        path = self.files.get(kind)
        if path is None:
            return
        with pa.OSFile(path, "rb") as source, pa.ipc.open_stream(source) as reader:
            yield from reader
        os.unlink(path)


@dataclass(frozen=True, slots=True)
class ReadRanges:
    """Task: read ranges, and leave their rows in files of a folder."""

    ranges: Sequence[Range]
    options: ReadOptions
    folder: str
    number: int

    def run(self, report: Callable[[tuple[str, int]], None]) -> list[ReadPart]:
        return [self._read(part, f"{self.number}-{index}", report) for index, part in enumerate(self.ranges)]

    def _read(self, part: Range, name: str, report: Callable[[tuple[str, int]], None]) -> ReadPart:
        reader = FileReader(part.source, self.options, start=part.start or None, line=part.line, stop=part.stop)
        files: dict[str, str] = {}
        writers: dict[str, pa.ipc.RecordBatchStreamWriter] = {}
        for chunk in reader:
            for kind in KINDS:
                rows = getattr(chunk, kind)
                if rows.num_rows:
                    if kind not in writers:
                        files[kind] = str(Path(self.folder) / f"{kind}-{name}.arrow")
                        writers[kind] = pa.ipc.new_stream(files[kind], RECORD_KINDS[kind])
                    writers[kind].write_batch(rows)
            report((part.source.name, chunk.counts.bytes))
        for writer in writers.values():
            writer.close()
        return ReadPart(part.source.name, files, report_row(reader.report, part.start, part.line))

    def died(self, how: str) -> list[ReadPart]:
        """The reports on ranges whose processes died."""
        return [ReadPart(part.source.name, {}, report_row(_lost(part, how), part.start, part.line)) for part in self.ranges]


def _lost(part: Range, how: str) -> FileReport:
    source = part.source
    reason = f"the process that read it from byte {part.start} on died ({how})"
    return FileReport(source.name, source.file_id, source.size_bytes, status="truncated", reason=reason)


def read_parts(
    pool: WorkerPool, sources: Sequence[SourceFile], options: ReadOptions, folder: str, report: Any = None
) -> Iterator[tuple[SourceFile, Iterator[ReadPart]]]:
    """Read files; yields each in the given order, with its parts in theirs."""
    tasks: list[ReadRanges] = []

    def noted() -> Iterator[ReadRanges]:
        for number, ranges in enumerate(_shares(sources)):
            tasks.append(ReadRanges(ranges, options, folder, number))
            yield tasks[-1]

    def parts() -> Iterator[ReadPart]:
        for number, result in enumerate(pool.results(noted(), report)):
            yield from tasks[number].died(result.how) if isinstance(result, WorkerDeath) else result

    by_name = {source.name: source for source in sources}
    for name, parts_of_file in groupby(parts(), key=lambda part: part.name):
        yield by_name[name], parts_of_file


def estimated_bytes(source: SourceFile) -> int:
    """Bytes to read, estimated where they are compressed."""
    return Range(source).weight


def _shares(sources: Sequence[SourceFile]) -> Iterator[list[Range]]:
    """Ranges of files in order, small files together."""
    ranges: list[Range] = []
    weight = 0
    for bundle, files in groupby(sources, key=_bundle):
        for source in files:
            for part in _cut(source):
                if ranges and weight + part.weight > SHARE_BYTES and (bundle is None or ranges[-1].source.path != source.path):
                    yield ranges
                    ranges, weight = [], 0
                ranges.append(part)
                weight += part.weight
    if ranges:
        yield ranges


def _bundle(source: SourceFile) -> str | None:
    """The archive, if all before a file of it must be read."""
    return source.path if source.archive and (source.outer or source.archive.startswith("tar+")) else None


def _cut(source: SourceFile) -> Iterator[Range]:
    """Ranges of a file; the last one begins before the first zero bytes."""
    line = 1
    places = edges(source, SHARE_BYTES) if is_resumable(source) else [0]
    for begin, end in pairwise(places):
        ends = ends_of_lines(source.path, begin, end)
        if ends is None:
            yield Range(source, begin, None, line)
            return
        yield Range(source, begin, end, line)
        line += ends
    yield Range(source, places[-1], None, line)


@dataclass(slots=True)
class TimesSoFar:
    """Continues `file_time_max_at` of a file from part to part.

    A part knows its own times only.
    """

    newest: int | None = None

    def put_on(self, events: pa.RecordBatch) -> pa.RecordBatch:
        """The events with the greatest time of the file up to each."""
        order = events["file_time_max_at"]
        known = pc.max(order).cast(pa.int64()).as_py()
        if self.newest is not None:
            values = np.where(known_of(order), integers_of(order), self.newest)
            index = EVENT_SCHEMA.get_field_index("file_time_max_at")
            events = events.set_column(index, EVENT_SCHEMA.field("file_time_max_at"), numbers(np.maximum(values, self.newest), TIME))
        if known is not None:
            self.newest = known if self.newest is None else max(known, self.newest)
        return events
