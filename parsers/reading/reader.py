"""Reads files to events in one process, chunk after chunk.

Without a JVM; discovery comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import orjson
import pyarrow as pa

from parsers.arrow_arrays import integers_of, known_of, numbers
from parsers.formats.lines import Ints
from parsers.formats.partial_dates import PartialDates
from parsers.formats.time_zones import Rules, ZoneConverter, check_zones
from parsers.reading.damage_events import DamagedRange, damage_chunk, since, some_of
from parsers.reading.file_dates import with_dates
from parsers.reading.file_reports import FileReport
from parsers.reading.forms import choose_form
from parsers.reading.version_ranges import VersionRanges
from parsers.records.chunks import ParsedChunk, parse_chunk
from parsers.records.context import MAX_RECORD_BYTES, ChunkContext, OpenRecord, failure_reason
from parsers.records.run_folding import FOLD_BLOCK_BYTES
from parsers.redaction.pseudonyms import Redaction
from parsers.redaction.records import redact_batch
from parsers.redaction.secrets import mask_credentials
from parsers.schema import EVENT_SCHEMA, TIME
from parsers.sources.compression import ForwardReader
from parsers.sources.content_checkpoints import MarkedStream
from parsers.sources.discovery import Discovery, discover
from parsers.sources.files import COPY, UNREADABLE, SkippedFile, SourceFile, read_places
from parsers.sources.foreign_files import advised_reasons

if TYPE_CHECKING:
    from parsers.catalogue.catalogue import Catalogue
    from parsers.sources.inspection import Inspection

__all__ = ["Discovery", "FileOptions", "FileReader", "FileReport", "ReadOptions", "SourceFile", "find_files", "read_file", "read_places"]

CHUNK_BYTES = FOLD_BLOCK_BYTES
# Read beyond the chunk, so that the record at its end is mostly whole and no block is read twice.
LOOKAHEAD_BYTES = 1 << 16
_BEGINNING_BYTES, _BEGINNINGS = 1 << 18, 4
"""Bytes read of a file to find its first time."""
CHANGED_WHILE_READ = "it changed while it was read"
"""Reason of a report on a file that changed while being read.

Its records are of no use.
"""
_NEVER = -(1 << 62)
_OF_ANY_PROCESS = frozenset({"KafkaVersion", "ClusterId"})
"""Events that do not show whose log it is."""
_TELLING = frozenset({*_OF_ANY_PROCESS, "ClientStarted"})


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Options of reading that apply to one file.

    `reading` are those that determine its records.
    """

    cluster: str | None
    reading: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of reading.

    Each rule is (glob or None for all files, value); the last glob that matches a file counts.
    """

    log_tz: Sequence[tuple[str | None, str]] = ()
    clusters: Sequence[tuple[str | None, str]] = ()
    kafka_versions: Sequence[tuple[str | None, str]] = ()
    max_record_bytes: int = MAX_RECORD_BYTES
    chunk_bytes: int = CHUNK_BYTES
    fold_runs: bool = False
    include_rotated: bool = False
    redaction: Redaction | None = None

    def zone_of(self, relative: str) -> tuple[str, bool]:
        """Zone of a file, and True if a glob names the file."""
        rule = Rules(self.log_tz).rule_for(relative)
        return (rule.value, rule.is_named) if rule else ("UTC", False)

    def cluster_of(self, relative: str) -> str | None:
        """Cluster of a file by the rules, None if none applies."""
        rule = Rules(self.clusters).rule_for(relative)
        return rule.value if rule else None

    def version_of(self, relative: str) -> str | None:
        """Kafka version of a file by the rules, None if none applies."""
        rule = Rules(self.kafka_versions).rule_for(relative)
        return rule.value if rule else None

    def of_files(self, sources: Iterable[SourceFile]) -> dict[str, FileOptions]:
        """Options by name of the file that they apply to."""
        return {source.name: self.of_file(source) for source in sources}

    def of_file(self, source: SourceFile) -> FileOptions:
        """Options that apply to one file."""
        relative = source.relative
        hidden = () if self.redaction is None else (self.redaction.facts,)
        reading = (self.zone_of(relative), self.version_of(relative), self.max_record_bytes, *hidden)
        return FileOptions(self.cluster_of(relative), reading)


def find_files(paths: Sequence[str], options: ReadOptions | None = None) -> Discovery:
    """Find readable files at all paths, and skipped ones.

    With the reason, and paths that do not exist. Undated files are dated by others.
    """
    options = options or ReadOptions()
    discovery = list_files(paths, options)
    date_files(discovery, options)
    return discovery


def list_files(paths: Sequence[str], options: ReadOptions, before: Mapping[str, Inspection] | None = None) -> Discovery:
    """Find files as `find_files` does, without their days.

    Files that equal an earlier inspection are not opened; `before` has these by name, as `Discovery.inspections` gave them.
    """
    check_zones(options.log_tz)
    known = before or {}
    if options.redaction is None:
        return discover(paths, include_rotated=options.include_rotated, before=known.get, tell=choose_form)
    path = options.redaction.path
    discovery = discover(paths, include_rotated=options.include_rotated, before=lambda name: known.get(path(name)), tell=choose_form)
    discovery.files = [replace(source, name=path(source.name)) for source in discovery.files]
    discovery.skipped = [_hidden(skip, options.redaction) for skip in discovery.skipped]
    # Inspections of archives contain the names of their members.
    discovery.inspections = {path(name): None if look is None or look.has_names else look for name, look in discovery.inspections.items()}
    return discovery


def date_files(discovery: Discovery, options: ReadOptions) -> list[str]:
    """Give undated files the days of others; return notes about dates."""
    calendars = [f"{source.name}: {source.format.calendar}" for source in discovery.files if source.format.calendar]
    discovery.notes = [*with_dates(discovery, lambda source: first_times(source, options)), *calendars]
    return discovery.notes


def first_times(source: SourceFile, options: ReadOptions) -> tuple[int, int] | None:
    """The first and the last time in the beginning of a file (microseconds)."""
    reader = FileReader(source, replace(options, chunk_bytes=_BEGINNING_BYTES, redaction=None))
    report = reader.report
    for _ in zip(range(_BEGINNINGS), reader, strict=False):
        if report.first_at is not None and report.last_at is not None:
            return report.first_at, report.last_at
    return None


def _hidden(skip: SkippedFile, redaction: Redaction) -> SkippedFile:
    name = redaction.path(skip.name)
    if skip.copy_of is None:
        return replace(skip, name=name, reason=_reason(skip.reason, redaction))
    original = redaction.path(skip.copy_of)
    return replace(skip, name=name, copy_of=original, reason=f"{COPY} {original}")


def _reason(reason: str, redaction: Redaction | None) -> str:
    """Reason for skipping a file, without names from its content.

    The words that we say ourselves, and look for, are plain ones.
    """
    return reason if redaction is None or reason in advised_reasons() else redaction.text(reason, {}, strict=True)


def unmatched_globs(discovery: Discovery, options: ReadOptions) -> list[str]:
    """Warnings about globs of options that match no file."""
    names = [file.relative for file in discovery.files]
    unmatched = []
    for rules in (options.log_tz, options.clusters, options.kafka_versions):
        rule_set = Rules(rules)
        for name in names:
            rule_set.rule_for(name)
        unmatched += [f"no file matches {glob}" for glob in rule_set.unmatched()]
    return unmatched


def read_file(source: SourceFile, options: ReadOptions | None = None, catalogue: Catalogue | None = None) -> FileReader:
    """Iterate over a file's chunks; `report` is complete at the end."""
    return FileReader(source, options or ReadOptions(), catalogue)


class FileReader:
    """Reads one file, or the records that begin in a range.

    A range is one of a plain file, else the file is read from start to end.

    `line` is the number of the line that holds the byte before `start`.
    """

    def __init__(
        self,
        source: SourceFile,
        options: ReadOptions,
        catalogue: Catalogue | None = None,
        *,
        start: int | None = None,
        line: int = 1,
        stop: int | None = None,
    ) -> None:
        self._source = source
        self._options = options
        self._catalogue = catalogue
        self._range = (start, stop)
        zone, named = options.zone_of(source.relative)
        stated_format = source.format
        # A range begins one byte early; that byte shows whether a line begins with the range.
        begin = stated_format.bom_bytes if not start else start - 1
        self._context = ChunkContext(
            file=source.name,
            file_id=source.file_id,
            format=stated_format,
            clock=ZoneConverter(zone),
            forced_zone=named,
            byte_offset=begin,
            line=line,
            max_record_bytes=options.max_record_bytes,
            fold_runs=options.fold_runs,
            stop_offset=stop,
            open_record=OpenRecord(b"", line, begin, begins=False, mid_line=True, discard=True) if start else None,
            partial_dates=PartialDates(stated_format.base_days, stated_format.base_years),
        )
        self.report = FileReport(
            path=source.name,
            file_id=source.file_id,
            size_bytes=source.size_bytes,
            layout=stated_format.name,
            encoding=stated_format.encoding,
            wrappers=stated_format.wrappers,
            compression=source.compression,
            time_zone=zone,
        )
        if not start:
            self.report.counts.bytes_ignored += stated_format.bom_bytes
        self._newest: int | None = None
        self._reached: list[tuple[int, int]] = []  # places of some events, and the newest time by then
        self._versions: dict[str, None] = {}
        self._ranges = VersionRanges(stated_format.layout, catalogue)
        self._cluster_ids: dict[str, None] = {}

    def __iter__(self) -> Iterator[ParsedChunk]:
        report = self.report
        try:
            stream, passing = self._open()
        except OSError as problem:
            self._stopped("rejected", f"{UNREADABLE}: {problem.strerror or problem}")
            return
        try:
            if not self._source.is_as_found(stream) or not stream.skip(self._context.byte_offset):
                self._stopped("truncated", CHANGED_WHILE_READ)
                return
            yield from self._chunks(stream)
            yield from self._damaged(stream)
            start, stop = self._range
            report.bytes_read = (stream.position if stop is None else min(stop, stream.position)) - (start or 0)
            report.checkpoints = passing.checkpoints() if passing is not None else {}
            if passing is not None and passing.is_identified and passing.identity != self._source.file_id:
                self._stopped("truncated", CHANGED_WHILE_READ)
            elif stream.problem:
                self._stopped("truncated", f"{stream.problem} after byte {stream.position}")
            elif self._has_changed(stream):
                self._stopped("truncated", CHANGED_WHILE_READ)
        except OSError as problem:
            self._stopped("rejected", f"{UNREADABLE}: {problem.strerror or problem}")
        except Exception as problem:  # the content of one file must not stop the reading of others
            self._stopped("truncated", f"{failure_reason(problem)} after byte {stream.position}")
        finally:
            stream.close()
            self._conclude()

    def _damaged(self, stream: ForwardReader) -> Iterator[ParsedChunk]:
        """Report changed content by an event.

        No verdict relies on each of its lines then.
        """
        begin, first_at = stream.damaged_from, self.report.first_at
        if begin is None or first_at is None or self._newest is None:
            return
        until = max(self._newest, self.report.ended_at or self._newest)
        damage = DamagedRange(begin, stream.position, since(begin, self._reached, first_at), until, str(stream.problem))
        system = max(sorted(self.report.systems), key=self.report.systems.__getitem__)
        chunk = damage_chunk(damage, replace(self._context, line=self.report.counts.lines + 1), system)
        self.report.counts.add(chunk.counts)
        yield chunk

    def _open(self) -> tuple[ForwardReader, MarkedStream | None]:
        """Open the content, and watch it where only reading forward works."""
        stream = self._source.open()
        if self._source.is_plain:
            return stream, None
        passing = MarkedStream(stream, self._source.zeros)
        return passing, passing

    def _has_changed(self, stream: ForwardReader) -> bool:
        """Whether a plain file was truncated or replaced meanwhile."""
        source, stop = self._source, self._range[1]
        if not source.is_plain:
            return False
        return stream.position < (source.size_bytes if stop is None else min(stop, source.size_bytes)) or not source.is_as_found(stream)

    def _chunks(self, stream: ForwardReader) -> Iterator[ParsedChunk]:
        context, rest = self._context, b""
        size = self._options.chunk_bytes
        # Reused for each chunk, because new memory costs more than reading; results of a chunk are copies.
        buffer = memoryview(b"")
        while True:
            # Chunks end a little after a multiple of their size, so that blocks of runs are whole in them.
            upto = (context.byte_offset // size + 1) * size + LOOKAHEAD_BYTES
            want = upto - context.byte_offset - len(rest)
            if want <= 0:
                want = size
            if len(buffer) < len(rest) + want:
                buffer = memoryview(bytearray(len(rest) + want))
            buffer[: len(rest)] = rest
            byte_count = _fill(stream, buffer[len(rest) : len(rest) + want])
            final = byte_count < want
            parsed = parse_chunk(buffer[: len(rest) + byte_count], replace(context, is_final=final), self._catalogue)
            self._note(parsed)
            parsed.events, parsed.unknown, parsed.rejected = map(mask_credentials, (parsed.events, parsed.unknown, parsed.rejected))
            self._redact(parsed)
            yield parsed
            if final or parsed.is_done:
                return
            context, rest = parsed.context, parsed.rest

    def _note(self, parsed: ParsedChunk) -> None:
        self.report.counts.add(parsed.counts)
        if parsed.ended_at is not None:
            self.report.ended_at = parsed.ended_at
        events = parsed.events
        if not events.num_rows:
            return
        self._ranges.note(events)
        parsed.events = self._ordered(events)
        if self._newest is not None:
            self._reached += some_of(parsed.events)
        report, names = self.report, Counter[str]()
        for name, counter in (("node", report.nodes), ("witness", report.witnesses), ("system", report.systems), ("event", names)):
            for pair in events.column(name).value_counts().to_pylist():
                if pair["values"] is not None:
                    counter[pair["values"]] += pair["counts"]
        if not _TELLING.isdisjoint(names):
            self._note_versions(events)

    def _redact(self, parsed: ParsedChunk) -> None:
        redaction = self._options.redaction
        if redaction is not None:
            parsed.events = redact_batch(redaction, "events", parsed.events)
            parsed.unknown = redact_batch(redaction, "unknown", parsed.unknown)
            parsed.rejected = redact_batch(redaction, "rejected", parsed.rejected)

    def _note_versions(self, events: pa.RecordBatch) -> None:
        """Note the version and cluster that events show for their file."""
        columns = (events.column(name).to_pylist() for name in ("event", "witness", "fields"))
        for event, witness, fields in zip(*columns, strict=True):
            if event in _OF_ANY_PROCESS:
                self.report.witnesses[witness] -= 1
            if event in _TELLING:
                value = orjson.loads(fields).get("cluster_id" if event == "ClusterId" else "version")
                if value is not None:
                    (self._cluster_ids if event == "ClusterId" else self._versions)[str(value)] = None

    def _ordered(self, events: pa.RecordBatch) -> pa.RecordBatch:
        """The events with `file_time_max_at`, the running maximum of `at`.

        Over those without a time as well.
        """
        at = events.column("at")
        values = np.where(known_of(at), integers_of(at), _NEVER)
        known = values[values != _NEVER]
        if len(known):
            first, last = int(known.min()), int(known.max())
            report = self.report
            report.first_at = first if report.first_at is None else min(first, report.first_at)
            report.last_at = last if report.last_at is None else max(last, report.last_at)
        before = np.concatenate(([_NEVER if self._newest is None else self._newest], values))
        running = _descending(before) if self._source.format.newest_first else np.maximum.accumulate(before)[1:]
        self._newest = None if running[-1] == _NEVER else int(running[-1])
        order = numbers(running, TIME, None if running[0] != _NEVER else running != _NEVER)
        return events.set_column(EVENT_SCHEMA.get_field_index("file_time_max_at"), EVENT_SCHEMA.field("file_time_max_at"), order)

    def _stopped(self, status: str, reason: str) -> None:
        self.report.status, self.report.reason = status, _reason(reason, self._options.redaction)

    def _conclude(self) -> None:
        report = self.report
        report.versions, report.cluster_ids = tuple(self._versions), tuple(self._cluster_ids)
        report.version_ranges = self._ranges.ranges_by_product()
        report.conclude()


def _descending(values: Ints) -> Ints:
    """Order of records from the newest to the oldest.

    The first value is the time before them. Those of one time are told apart by microseconds, because the first of
    them is the newest. One without a time stands with the one before.
    """
    places = np.maximum.accumulate(np.where(values != _NEVER, np.arange(len(values)), 0))
    times = values[places][1:]
    ends = np.concatenate((np.flatnonzero(times[:-1] != times[1:]), [len(times) - 1]))
    numbers_left: Ints = ends[np.searchsorted(ends, np.arange(len(times)))] - np.arange(len(times))
    order: Ints = np.where(times == _NEVER, _NEVER, times + numbers_left)
    return order


def _fill(stream: ForwardReader, target: memoryview) -> int:
    """Read until the target is full or the stream at its end."""
    byte_count = 0
    while byte_count < len(target):
        count = stream.readinto(target[byte_count:])
        if not count:
            break
        byte_count += count
    return byte_count
