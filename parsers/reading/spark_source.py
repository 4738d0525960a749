"""Spark data source for logs: `spark.read.format("brokerlogs").load(paths)`.

Partitions are files and ranges of files. The workers use the reader of the in-process run, so the folders must have the
same paths on each of them. Options, all as text:

    kind          events, unknown, rejected or files: only rows of that kind, with columns of their own
    log_tz        JSON list of [glob or null, zone]; also `clusters` and `kafka_versions`
    sources       JSON of files found earlier (`sources_json`), instead of paths
    rotated       true: include rotated siblings of named files
    fold_runs     true: fold runs of heartbeats and commits into one event
    partitions    minimum number of partitions if there is enough to read (default: processors of the driver)
    partition_bytes   maximum size of a partition if files can be split (default 128 MiB)
    starts        JSON of name -> [offset, line]: starts of files in `sources`
    lines         JSON of name -> line counts between the edges of its ranges (`splits.LineEndsByFile`); else counted while planning
    block_bytes   report separately on the bytes after the last multiple of this, so that a later run can start there
    stores_secret     JSON of the settings for `filesystems.configure`; Spark hides options with such names
    max_record_bytes
    redact        JSON list of kinds of names to replace (`parsers.redaction.pseudonyms.REDACTED_KINDS`)
    redact_secret the key of the pseudonyms, in hexadecimal; Spark hides options with such names

Without `kind` a row has the name of its kind and a struct in the column of that name, so that one pass over the files
fills all tables. Unreadable files are rows of kind `files`; paths that do not exist are an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from parsers.arrow_arrays import batch_of, repeated_text
from parsers.formats.detection import FileFormat
from parsers.reading.file_reports import report_row, skipped_report
from parsers.reading.reader import FileReader, ReadOptions, find_files
from parsers.reading.resume import Start, settled_end
from parsers.reading.splits import Range, share_out
from parsers.records.context import MAX_RECORD_BYTES
from parsers.redaction.pseudonyms import Redaction
from parsers.schema import FILE_REPORT_SCHEMA, RECORD_KINDS, RECORD_SCHEMA
from parsers.sources.files import SourceFile
from parsers.sources.filesystems import configure

NAME = "brokerlogs"
PARTITION_BYTES = 128 << 20
_KNOWN = frozenset(
    {
        "path", "paths", "kind", "log_tz", "clusters", "kafka_versions", "sources", "rotated", "fold_runs",
        "partitions", "partition_bytes", "max_record_bytes", "starts", "lines", "block_bytes",
        "stores_secret", "redact", "redact_secret",
    }
)  # fmt: skip


class BadOptionError(ValueError):
    """An unknown option, or an invalid value of one."""


def sources_json(sources: Sequence[SourceFile]) -> str:
    """Serialise source files for the option `sources`."""
    return json.dumps([asdict(source) for source in sources])


def decoded_sources(text: str) -> list[SourceFile]:
    """Source files from an option of the data source."""
    return [
        SourceFile(
            **{
                **values,
                "format": FileFormat(**{**values["format"], "wrappers": tuple(values["format"]["wrappers"])}),
                "outer": tuple(map(tuple, values["outer"])),
            }
        )
        for values in json.loads(text)
    ]


class BrokerLogs(DataSource):
    """The data source, registered by `spark.dataSource.register(BrokerLogs)`."""

    @classmethod
    def name(cls) -> str:
        """Name of the format: `spark.read.format(…)`."""
        return NAME

    def schema(self) -> StructType:
        """Columns of the requested kind of records."""
        return from_arrow_schema(_schema(self.options.get("kind")))

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - it is always our own
        """Return the object that plans and reads partitions; called by Spark."""
        return _Reader(dict(self.options))


def _schema(kind: str | None) -> pa.Schema:
    if kind is None:
        return RECORD_SCHEMA
    if kind not in RECORD_KINDS:
        raise BadOptionError(f"kind must be one of {', '.join(RECORD_KINDS)}, not {kind!r}")
    return RECORD_KINDS[kind]


class _Share(InputPartition):
    """Input of one task: ranges of files, and reports on unreadable files."""

    def __init__(self, ranges: Sequence[Range], reports: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(None)
        self.ranges = list(ranges)
        self.reports = list(reports)


class _Reader(DataSourceReader):
    """Plans partitions on the driver, reads them on the workers."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}
        unknown = sorted(self._options.keys() - _KNOWN)
        if unknown:
            raise BadOptionError(f"unknown options of {NAME}: {', '.join(unknown)}")
        self._kind = self._options.get("kind")
        configure(json.loads(self._options.get("stores_secret") or "{}"))
        self._read = ReadOptions(
            log_tz=self._rules("log_tz"),
            clusters=self._rules("clusters"),
            kafka_versions=self._rules("kafka_versions"),
            max_record_bytes=self._number("max_record_bytes", MAX_RECORD_BYTES),
            fold_runs=self._flag("fold_runs"),
            include_rotated=self._flag("rotated"),
            redaction=self._redaction(),
        )

    def _redaction(self) -> Redaction | None:
        if "redact" not in self._options:
            return None
        return Redaction(json.loads(self._options["redact"]), bytes.fromhex(self._options.get("redact_secret", "")))

    def _rules(self, name: str) -> list[tuple[str | None, str]]:
        try:
            return [(glob, value) for glob, value in json.loads(self._options.get(name) or "[]")]
        except (ValueError, TypeError) as problem:
            raise BadOptionError(f"{name} must be a JSON list of [glob or null, value]") from problem

    def _number(self, name: str, default: int) -> int:
        text = self._options.get(name, str(default))
        if not text.isdigit() or not int(text):
            raise BadOptionError(f"{name} must be a positive whole number, not {text!r}")
        return int(text)

    def _flag(self, name: str) -> bool:
        text = self._options.get(name, "false").lower()
        if text not in {"true", "false"}:
            raise BadOptionError(f"{name} must be true or false, not {text!r}")
        return text == "true"

    def partitions(self) -> Sequence[InputPartition]:
        sources, reports = self._find()
        starts = {name: Start(*values) for name, values in json.loads(self._options.get("starts") or "{}").items()}
        lines = json.loads(self._options.get("lines") or "{}")
        count, part_bytes = self._number("partitions", os.cpu_count() or 1), self._number("partition_bytes", PARTITION_BYTES)
        shares = share_out([(source, starts.get(source.name)) for source in sources], count, part_bytes, lines) if sources else []
        return [*map(_Share, shares), *([_Share((), reports)] if reports or not shares else [])]

    def _find(self) -> tuple[list[SourceFile], list[dict[str, Any]]]:
        given = self._options.get("sources")
        if given is not None:
            return decoded_sources(given), []
        # Several paths come as a JSON list.
        paths = json.loads(self._options["paths"]) if "paths" in self._options else []
        if "path" in self._options:
            paths.append(self._options["path"])
        if not paths:
            raise BadOptionError(f"{NAME} needs a path to load")
        discovery = find_files(paths, self._read)
        if discovery.missing:
            raise FileNotFoundError(f"no such file or folder: {', '.join(discovery.missing)}")
        return discovery.files, [report_row(skipped_report(skip)) for skip in discovery.skipped]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        configure(json.loads(self._options.get("stores_secret") or "{}"))
        for reading in partition.ranges:
            for part in self._settled(reading):
                yield from self._part(part)
        yield from self._reports(partition.reports)

    def _settled(self, reading: Range) -> Iterator[Range]:
        """Split off the end of a file, where a later run may start."""
        start = Start(reading.start, reading.line) if reading.start else None
        block_bytes = self._options.get("block_bytes")
        settled = settled_end(reading.source, start, int(block_bytes)) if block_bytes and reading.stop is None else None
        if settled is None:
            yield reading
            return
        yield Range(reading.source, reading.start, settled.offset, reading.line)
        yield Range(reading.source, settled.offset, None, settled.line)

    def _part(self, part: Range) -> Iterator[pa.RecordBatch]:
        reader = FileReader(part.source, self._read, start=part.start or None, line=part.line, stop=part.stop)
        for chunk in reader:
            yield from self._rows("events", chunk.events)
            yield from self._rows("unknown", chunk.unknown)
            yield from self._rows("rejected", chunk.rejected)
        yield from self._reports([report_row(reader.report, part.start, part.line)])

    def _reports(self, rows: list[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
        yield from self._rows("files", batch_of(rows, FILE_REPORT_SCHEMA))

    def _rows(self, kind: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if rows.num_rows and self._kind in {None, kind}:
            yield rows if self._kind else tagged(kind, rows)


def tagged(kind: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Wrap rows of one kind in the schema for all kinds."""
    count = rows.num_rows
    columns = [repeated_text(kind, count)]
    for name, schema in RECORD_KINDS.items():
        struct = pa.StructArray.from_arrays(rows.columns, fields=list(schema)) if name == kind else pa.nulls(count, pa.struct(list(schema)))
        columns.append(struct)
    return pa.RecordBatch.from_arrays(columns, schema=RECORD_SCHEMA)
