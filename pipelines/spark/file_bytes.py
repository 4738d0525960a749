"""Bytes of files that only Spark's Hadoop file systems can open.

Spark's text reader is its only way to read a file in pieces of bounded size. Its lines, cut at line feeds alone, are
the content, after three effects of Hadoop are undone: it unpacks files by their names, drops a byte order mark, and
hides whether the last line was terminated. One task reads a whole file and writes a copy to its disk, which the parser
can then read in any order.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import reduce
from itertools import groupby
from operator import itemgetter
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from parsers.reading.file_reports import report_row
from parsers.reading.reader import FileReader, ReadOptions
from parsers.reading.spark_source import BrokerLogs, sources_json, tagged
from parsers.schema import FILE_REPORT_SCHEMA
from parsers.sources.files import SourceFile
from pipelines.scratch import scratch
from pipelines.spark.scoped_settings import conf_overridden

LARGE_BYTES = 32 << 20
"""Larger files have a task of their own."""

PIECE_SCHEMA = pa.schema([("file", pa.string()), ("offset", pa.int64()), ("data", pa.binary())])

_GLOB = re.compile(r"([\\*?\[\]{}])")
# Hadoop and Spark unpack files with these extensions. A codec without effect can replace one of them at a time.
_UNPACKED = (".gz", ".gzip", ".bz2", ".zst", ".zstd", ".snappy", ".deflate", ".lz4", ".lzo", ".lzo_deflate")
_PASSES = "org.apache.hadoop.io.compress.PassthroughCodec"
# In the jar shipped by Spark the first name became the second, because everything like a package name was relocated.
_PASSED = ("io.compress.passthrough.extension", "org.apache.hadoop.shaded.io.compress.passthrough.extension")
_PACKED_BYTES = 2 * LARGE_BYTES
_OPEN_BYTES = 1 << 20
_MARK = b"\xef\xbb\xbf"


def escaped(place: str) -> str:
    """Escape a path for Spark's readers, which treat it as a pattern."""
    return _GLOB.sub(r"\\\1", place)


def lines(spark: SparkSession, places: Sequence[str]) -> DataFrame:
    """Read the lines of files.

    Columns: `file` as Spark writes it, its `size`, the `start` of its part, and in `value` a line without its end.
    """
    groups: dict[str, list[str]] = {}
    for place in sorted(places):
        ending = next((ending for ending in _UNPACKED if place.lower().endswith(ending)), "")
        groups.setdefault(ending, []).append(escaped(place))
    return reduce(DataFrame.unionAll, (_lines(spark, ending, group) for ending, group in groups.items()))


def _lines(spark: SparkSession, ending: str, places: list[str]) -> DataFrame:
    reader = spark.read.format("text").option("lineSep", "\n").option("recursiveFileLookup", "true")
    if ending:
        reader = reader.option("io.compression.codecs", _PASSES).options(**dict.fromkeys(_PASSED, ending))
    return reader.load(places).selectExpr(
        "_metadata.file_path AS file",
        "_metadata.file_size AS size",
        "_metadata.file_block_start AS start",
        "CAST(value AS BINARY) AS value",
    )


def whole_files(spark: SparkSession, largest: int) -> AbstractContextManager[None]:
    """Keep files up to `largest` bytes in one part during the block.

    Small files share tasks, large ones have one each.
    """
    # Room for files that grow while they are listed.
    split_bytes = max(_PACKED_BYTES, 2 * largest)
    return conf_overridden(spark, _cutting(split_bytes, split_bytes if largest > LARGE_BYTES else _OPEN_BYTES))


def cut_at(spark: SparkSession, step: int) -> AbstractContextManager[None]:
    """Cut files at multiples of `step` during the block, one task per part."""
    return conf_overridden(spark, _cutting(step, step))


def _cutting(split_bytes: int, opening: int) -> dict[str, int]:
    return {
        "spark.sql.files.maxPartitionBytes": split_bytes,
        "spark.sql.files.openCostInBytes": opening,
        "spark.sql.files.minPartitionNum": 1,
        # If a cluster sets a maximum, Spark merges parts until there are no more tasks than that.
        "spark.sql.files.maxPartitionNum": (1 << 31) - 1,
    }


def pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int, pa.Buffer]]:
    """Convert rows of `lines` to bytes.

    Yields file, size, and the next bytes of its content, each line with an end.
    """
    for batch in batches:
        runs = pc.run_end_encode(batch.column("file"))
        begin = 0
        for file, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            part = batch.slice(begin, end - begin)
            yield file, part.column("size")[0].as_py(), ended(part.column("value"))
            begin = end


def ended(lines: pa.BinaryArray) -> pa.Buffer:
    """Concatenate lines, each with its end."""
    values = pc.binary_join_element_wise(lines, pa.scalar(b"", pa.binary()), pa.scalar(b"\n", pa.binary()))
    offsets = pa.Array.from_buffers(pa.int32(), len(values) + 1, [None, values.buffers()[1]], offset=values.offset)
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    return values.buffers()[2].slice(first, last - first)


def cut_out(wanted: Mapping[str, Sequence[tuple[int, int]]]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Cut the wanted ranges, [begin, end), from rows of `lines` of whole files."""

    def cut(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        current, at, missing = "", 0, set(wanted)
        for file, _, data in pieces(batches):
            if file != current:
                current, at = file, 0
            end = at + data.size
            for first, last in wanted[file]:
                if first < end and at < last:
                    begin = max(first, at)
                    part = data.slice(begin - at, min(last, end) - begin).to_pybytes()
                    yield pa.RecordBatch.from_pydict({"file": [file], "offset": [begin], "data": [part]}, schema=PIECE_SCHEMA)
            at = end
            if at >= max(last for _, last in wanted[file]):
                missing.discard(file)
                if not missing:
                    return

    return cut


def parse(
    sources: Mapping[str, Sequence[SourceFile]], reader_options: Mapping[str, str], options: ReadOptions
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Parse rows of `lines` to records of all kinds.

    `sources` are keyed by the file as Spark writes it; `reader_options` are options of the data source.
    """

    def records(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for file, parts in groupby(pieces(batches), itemgetter(0)):
            inside = sources[file]
            with tempfile.NamedTemporaryFile(prefix="groupscope-", dir=scratch()) as copy:
                marked = any(source.is_plain and source.format.bom_bytes == len(_MARK) for source in inside)
                problem = _write(copy, ((size, data) for _, size, data in parts), is_marked=marked)
                yield from _refused(inside, options, problem) if problem else _read(copy.name, inside, reader_options)

    return records


def _write(copy: IO[bytes], parts: Iterable[tuple[int, pa.Buffer]], *, is_marked: bool) -> str | None:
    """Write a copy of a file; return what is wrong with it, or None.

    `is_marked`: the file begins with a byte order mark.
    """
    expected = 0
    if is_marked:
        copy.write(_MARK)
    for size, data in parts:
        expected = size
        copy.write(data)
    position = copy.tell()
    if position == expected + 1:  # the last line has no end
        copy.truncate(expected)
    copy.flush()
    if position - expected in (-len(_MARK), 1 - len(_MARK)):
        return "begins with a byte order mark, which Spark's reader drops"
    return None if position in (expected, expected + 1) else f"Spark's reader gives {position} bytes of {expected}"


def _refused(sources: Iterable[SourceFile], options: ReadOptions, problem: str) -> Iterator[pa.RecordBatch]:
    """Reports on files that cannot be read completely."""
    reports = [FileReader(source, options).report for source in sources]
    for report in reports:
        report.status, report.reason = "rejected", f"not read: {problem}"
    yield tagged("files", pa.RecordBatch.from_pylist([report_row(report) for report in reports], schema=FILE_REPORT_SCHEMA))


def _read(path: str, sources: Iterable[SourceFile], options: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """Records of the files in a copy."""
    sources_text = sources_json([replace(source, path=path) for source in sources])
    reader = BrokerLogs({**options, "sources": sources_text, "partitions": "1", "partition_bytes": str(1 << 62)}).reader(StructType())
    for share in reader.partitions():
        yield from reader.read(share)
