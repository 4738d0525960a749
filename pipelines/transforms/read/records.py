"""From files to records: the parsers' output, read once for several tables."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from parsers.reading.reader import ReadOptions, SourceFile
from parsers.reading.resume import Start
from parsers.reading.spark_source import PARTITION_BYTES, BrokerLogs, sources_json
from parsers.schema import RECORD_SCHEMA
from parsers.sources import filesystems as places
from pipelines.schema.row_conversion import micros
from pipelines.spark.caching import persist_on_disk
from pipelines.spark.file_bytes import LARGE_BYTES, cut_at, lines, parse, whole_files
from pipelines.spark.shuffle_partitions import partitions_of
from pipelines.transforms.read import file_splits as parts_of_files
from pipelines.transforms.read.file_splits import is_cut, measure_splits, parse_parts
from pipelines.transforms.read.line_counts import count_lines
from pipelines.warehouse.rows.arrow_diff import to_frame


def parse_files(
    spark: SparkSession, sources: Sequence[tuple[SourceFile, Start | None]], options: ReadOptions, block_bytes: int, *, is_local: bool
) -> Records:
    """Parse files to records of all kinds, each in its kind's column.

    `sources` are files as they were found, each with its start. If they are small (`is_local`), this process reads them,
    because starting Spark's workers takes longer. Otherwise workers open them by absolute path, since they may run on
    other machines. The bytes after a file's last multiple of `block_bytes` have a report of their own.
    """
    if not is_local:
        direct, others = list[tuple[SourceFile, Start | None]](), list[tuple[SourceFile, Start | None]]()
        for source in sources:
            (direct if places.filesystem_of(source[0].path) is None else others).append(source)
        frames = [persist_on_disk(read_by_spark(spark, direct, options, block_bytes))] if direct else []
        return Records(spark, frames + _read_through_spark(spark, others, options, block_bytes))
    places.ahead({source.path: [(max(0, start.offset - 1) if start else 0, source.size_bytes)] for source, start in sources})
    reader = BrokerLogs(_options_of(sources, options, block_bytes)).reader(StructType())
    return Records(spark, pa.Table.from_batches([rows for share in reader.partitions() for rows in reader.read(share)], RECORD_SCHEMA))


_OF_PLANNING = frozenset({"sources", "starts", "lines"})
"""Options for planning; a task's share says the rest."""


def read_by_spark(
    spark: SparkSession, sources: Sequence[tuple[SourceFile, Start | None]], options: ReadOptions, block_bytes: int
) -> DataFrame:
    """Records read lazily by Spark's workers, one task for each share of the files.

    By a function instead of the data source, for which Spark starts workers to plan and whose rows take a quarter longer. Nor are the
    options in the plan: a server of Spark Connect writes plans to its event log, and some options are secrets. Each task is sent its
    own share, because there may be many files.
    """
    reader_options = _options_of(sources, options, block_bytes) | {"partitions": str(partitions_of(spark))}
    reader_options |= {"partition_bytes": str(PARTITION_BYTES), "lines": json.dumps(count_lines(spark, sources, PARTITION_BYTES))}
    shares = BrokerLogs(reader_options).reader(StructType()).partitions()
    rest = {name: value for name, value in reader_options.items() if name not in _OF_PLANNING} | {"sources": "[]"}

    def records(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = BrokerLogs(rest).reader(StructType())
        for batch in batches:
            for share in batch["share"].to_pylist():
                yield from reader.read(pickle.loads(share))  # noqa: S301 - from our own driver

    sent = pa.table({"place": pa.array(range(len(shares)), pa.int32()), "share": pa.array(map(pickle.dumps, shares), pa.binary())})
    one_each = to_frame(spark, sent).repartitionById(max(1, len(shares)), "place").select("share")
    return one_each.mapInArrow(records, from_arrow_schema(RECORD_SCHEMA))


def _read_through_spark(
    spark: SparkSession, sources: Sequence[tuple[SourceFile, Start | None]], options: ReadOptions, block_bytes: int
) -> list[DataFrame]:
    """Read and cache records of files that only Spark can open."""
    reader_options = {name: value for name, value in _options_of(sources, options, block_bytes).items() if name != "sources"}
    cut = [source for source, start in sources if start is None and is_cut(source)]
    frames, in_parts = _read_parts(spark, cut, reader_options)
    files: dict[bool, dict[str, list[SourceFile]]] = {False: {}, True: {}}
    for source in (source for source, _ in sources if source.path not in in_parts):
        size = places.state_of(source.path)[1]
        files[size > LARGE_BYTES].setdefault(source.path, []).append(source)
    for inside in files.values():
        if inside:
            urls = {places.filesystem_of(path).url_of(path): paths for path, paths in inside.items()}
            with whole_files(spark, max(places.state_of(path)[1] for path in inside)):
                parsed = lines(spark, list(inside)).mapInArrow(parse(urls, reader_options, options), from_arrow_schema(RECORD_SCHEMA))
                records = persist_on_disk(parsed)
                records.count()
            frames.append(records)
    return frames


def _read_parts(spark: SparkSession, sources: Sequence[SourceFile], options: Mapping[str, str]) -> tuple[list[DataFrame], set[str]]:
    """Read large files in parts, one task each.

    Also returns the paths of the files that could be cut.
    """
    if not sources:
        return [], set()
    with cut_at(spark, parts_of_files.STEP_BYTES):
        parts = measure_splits(spark, {places.filesystem_of(source.path).url_of(source.path): source for source in sources})
        paths = {splits[0].reading.source.path for splits in parts.values()}
        if not paths:
            return [], paths
        records = persist_on_disk(lines(spark, list(paths)).mapInArrow(parse_parts(parts, options), from_arrow_schema(RECORD_SCHEMA)))
        records.count()
    return [records], paths


def _options_of(sources: Sequence[tuple[SourceFile, Start | None]], options: ReadOptions, block_bytes: int) -> dict[str, str]:
    """Options of the data source."""
    absolute_sources = [dataclasses.replace(source, path=places.absolute(source.path)) for source, _ in sources]
    starts = {source.name: [start.offset, start.line] for source, start in sources if start is not None}
    hidden = options.redaction
    return {
        **({} if hidden is None else {"redact": json.dumps(sorted(hidden.kinds)), "redact_secret": hidden.secret}),
        "sources": sources_json(absolute_sources),
        "starts": json.dumps(starts),
        "block_bytes": str(block_bytes),
        "log_tz": json.dumps(list(options.log_tz)),
        "kafka_versions": json.dumps(list(options.kafka_versions)),
        "max_record_bytes": str(options.max_record_bytes),
        "stores_secret": json.dumps(places.configuration()),
        "fold_runs": str(options.fold_runs).lower(),
    }


_FILE_COLUMNS = {"events": "file", "unknown": "file", "rejected": "file", "files": "path"}
"""Column with the file, for each kind of record."""


class Records:
    """Records of all kinds, read once.

    Small sets are in the driver, others are cached by Spark until `release`.
    """

    def __init__(self, spark: SparkSession, records: pa.Table | list[DataFrame]) -> None:
        self._spark = spark
        self._local = records if isinstance(records, pa.Table) else None
        self._frames = [] if isinstance(records, pa.Table) else records
        self._distributed = reduce(DataFrame.unionAll, self._frames) if self._frames else None

    def leave_out(self, files: Iterable[str]) -> None:
        """Exclude these files from now on."""
        named = sorted(files)
        if self._local is not None:
            places = pc.coalesce(*(pc.struct_field(self._local[kind], column) for kind, column in _FILE_COLUMNS.items()))
            self._local = self._local.filter(pc.invert(pc.is_in(places, pa.array(named, pa.string()))))
        if self._distributed is not None:
            place = F.coalesce(*(F.col(f"{kind}.{column}") for kind, column in _FILE_COLUMNS.items()))
            self._distributed = self._distributed.where(~place.isin(named))

    @property
    def is_local(self) -> bool:
        """True if the records are in the driver."""
        return self._local is not None

    def of_kind(self, kind: str) -> DataFrame:
        """Return the records of one kind, with columns of their own."""
        return to_frame(self._spark, self.arrow(kind)) if self._distributed is None else _of_kind(self._distributed, kind)

    def arrow(self, kind: str) -> pa.Table:
        """Return records of one kind as an Arrow table, for small kinds."""
        return tagged_rows(self._local, kind, "kind") if self._local is not None else self.of_kind(kind).toArrow()

    def counts(self) -> Counter[str]:
        """Number of records by kind."""
        if self._local is not None:
            return Counter(self._local["kind"].to_pylist())
        counts = self._distributed.groupBy("kind").count().collect() if self._distributed is not None else ()
        return Counter({row["kind"]: row["count"] for row in counts})

    def reports(self) -> dict[str, list[dict[str, Any]]]:
        """Reports on the parts of each file, in order, by path.

        Times are in microseconds.
        """
        table = self.arrow("files")
        times = {name: micros(table[name]) for name in ("first_at", "last_at", "ended_at")}
        reports: dict[str, list[dict[str, Any]]] = {}
        for place, row in enumerate(table.to_pylist()):
            reports.setdefault(row["path"], []).append(row | {name: values[place] for name, values in times.items()})
        return {path: sorted(parts, key=lambda part: part["part_offset"]) for path, parts in reports.items()}

    def release(self) -> None:
        """Remove the records from Spark's cache."""
        for frame in self._frames:
            frame.unpersist()


def _of_kind(records: DataFrame, kind: str) -> DataFrame:
    return records.where(F.col("kind") == kind).select(f"{kind}.*")


def tagged_rows(rows: pa.Table, name: str, tag: str) -> pa.Table:
    """Rows with `name` in the column `tag`, as a table of the column `name`."""
    tagged = rows.filter(pc.field(tag) == name)
    return pa.Table.from_struct_array(tagged[name].combine_chunks())
