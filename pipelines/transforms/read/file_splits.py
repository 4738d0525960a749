"""Splits of large plain files that only Spark can open, one task each.

The splits are those of `parsers.reading.splits`. Spark's text reader cuts a file at multiples of a size. A part gets
the lines that begin after its start, up to and including one that begins at its end, and no offsets. So a first pass
measures the parts and collects the lines at their edges. The sums of the parts before give each task the offset of its
bytes and the lines around them. The task writes all of these to a sparse copy, and the parser reads its range there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from parsers.formats.layouts import begins_record
from parsers.reading.resume import is_resumable
from parsers.reading.spark_source import PARTITION_BYTES, BrokerLogs
from parsers.reading.splits import Range
from parsers.records.context import MAX_RECORD_BYTES
from parsers.sources.files import IDENTITY_BYTES, SourceFile
from pipelines.scratch import scratch
from pipelines.spark.file_bytes import ended, lines

STEP_BYTES = PARTITION_BYTES
"""Files are cut at multiples of this size.

It is a multiple of the blocks within which runs of heartbeats are folded.
"""

_EDGE_BYTES = 1 << 16
_EDGE_RECORDS = 2
_EDGE_LIMIT = MAX_RECORD_BYTES + _EDGE_BYTES
_MEASURE = pa.schema(
    [
        *[(name, pa.string()) for name in ("file",)],
        *[(name, pa.int64()) for name in ("start", "file_size", "size", "lines")],
        ("zeros", pa.bool_()),
        *[(name, pa.binary()) for name in ("head", "tail")],
    ]
)


@dataclass(frozen=True, slots=True)
class FileSplit:
    """A range of a file.

    `base` is the offset of its first own line. `around` holds bytes before and after the range, by offset.
    """

    reading: Range
    base: int
    around: tuple[tuple[int, bytes], ...]


def is_cut(source: SourceFile) -> bool:
    """Whether a file is read in parts."""
    return source.size_bytes > STEP_BYTES and is_resumable(source)


def measure_splits(spark: SparkSession, sources: Mapping[str, SourceFile]) -> dict[str, list[FileSplit]]:
    """Measure the parts of files.

    Keys are Spark's URLs of the files. Files that cannot be cut are omitted. The session must cut files as `cut_at`
    sets it.
    """
    measures = lines(spark, [source.path for source in sources.values()]).mapInArrow(_measure, from_arrow_schema(_MEASURE)).toArrow()
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(measures.to_pylist(), key=lambda measure: measure["start"]):
        rows.setdefault(row["file"], []).append(row)
    parts = {file: _parts(sources[file], measures_of_file) for file, measures_of_file in rows.items()}
    return {file: parts_of_file for file, parts_of_file in parts.items() if parts_of_file}


def _measure(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Measure the part of a file in this task."""
    row: dict[str, Any] = {}
    edge, records = b"", 0
    for batch in batches:
        if not batch.num_rows:
            continue
        if not row:
            row = {name: batch.column(name)[0].as_py() for name in ("file", "start")} | {"size": 0, "lines": 0, "zeros": False}
        row["file_size"] = batch.column("size")[0].as_py()
        values = batch.column("value")
        for value in values:
            if len(edge) >= _EDGE_LIMIT or (len(edge) >= _EDGE_BYTES and records >= _EDGE_RECORDS):
                break
            line = value.as_py()
            edge += line + b"\n"
            records += begins_record(line.decode("utf-8", "replace"))
        row["size"] += pc.sum(pc.binary_length(values)).as_py() + len(values)
        row["lines"] += len(values)
        row["zeros"] = row["zeros"] or b"\x00" in ended(values).to_pybytes()
        row["tail"] = values[-1].as_py() + b"\n"
    if row:
        yield pa.RecordBatch.from_pylist([row | {"head": edge}], schema=_MEASURE)


def _parts(source: SourceFile, rows: Sequence[Mapping[str, Any]]) -> list[FileSplit]:
    """Build the parts from their measures.

    Returns none if the measures do not add up, for example if a line is longer than a part.
    """
    size = rows[-1]["file_size"]
    starts = list(range(0, size, STEP_BYTES))
    total = sum(row["size"] for row in rows)
    if [row["start"] for row in rows] != starts or total - size not in (0, 1) or any(row["zeros"] for row in rows):
        return []
    splits = []
    base, before = 0, 0
    # Bytes added since the file was found are for the next run.
    wanted = [start for start in starts if start < source.size_bytes]
    for number, (row, start) in enumerate(zip(rows, wanted, strict=False)):
        around: list[tuple[int, bytes]] = []
        line = 1
        if number:
            around.append((0, rows[0]["head"][:IDENTITY_BYTES]))  # the parser checks the identity of the file
            tail = rows[number - 1]["tail"]
            around.append((base - len(tail) - 1, b"\n" + tail))
            # The last line before may begin exactly at the start of the part; then it is the part's first line.
            line = before - (1 if base - len(tail) == start else 0)
        if number + 1 < len(rows):
            around.append((base + row["size"], rows[number + 1]["head"]))
        stop = None if number + 1 == len(wanted) else start + STEP_BYTES
        splits.append(FileSplit(Range(source, start, stop, line), base, tuple(around)))
        base, before = base + row["size"], before + row["lines"]
    return splits


def parse_parts(
    parts: Mapping[str, Sequence[FileSplit]], options: Mapping[str, str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Parse rows of `lines` to records, in tasks with one part each."""

    def records(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        if first is None:
            return
        file, start = first.column("file")[0].as_py(), first.column("start")[0].as_py()
        part = next((part for part in parts[file] if part.reading.start == start), None)
        if part is None:  # the file has grown since it was measured
            return
        size = 0
        with tempfile.NamedTemporaryFile(prefix="groupscope-", dir=scratch()) as copy:
            copy.seek(part.base)
            for batch in chain([first], filled):
                size = batch.column("size")[0].as_py()
                copy.write(ended(batch.column("value")))
            if part.reading.stop is None and copy.tell() == size + 1:  # the last line has no end
                copy.truncate(size)
            for offset, data in part.around:
                copy.seek(offset)
                copy.write(data)
            copy.flush()
            reading = replace(part.reading, source=replace(part.reading.source, path=copy.name))
            reader = BrokerLogs(dict(options) | {"sources": "[]"}).reader(StructType())
            yield from reader.read(SimpleNamespace(ranges=[reading], reports=[]))  # type: ignore[arg-type]

    return records
