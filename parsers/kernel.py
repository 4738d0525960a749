"""A chunk of a log file to events: a pure function, the same in one process and on Spark.

What it does, in order: find the newlines; tell which lines begin a record; pass over the records that no
entry of the catalogue can know, by bytes; read header and message of the rest. A record is a line that
begins one and all lines after it that don't. The last record of a chunk may go on in the next chunk, so it
is left over (`rest`) unless the chunk is the last.

Every byte of the input is counted once: as recognised, unknown, ignored or rejected.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import ahocorasick_rs
import numpy as np
import pyarrow as pa

from parsers.folding import FOLD_BLOCK_BYTES
from parsers.formats import FileFormat
from parsers.layouts import HEADER_BYTES
from parsers.lines import NEWLINE, Buffer, Ints, Lines, heads, plain_lines
from parsers.records import Place, RecordReader
from parsers.zones import Clock

if TYPE_CHECKING:
    from parsers.catalogue import Catalogue

MAX_RECORD_BYTES = 1 << 20
_SEARCH_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class OpenRecord:
    """A record longer than the limit, whose end is not reached yet: its first bytes, and how much of it was read."""

    head: bytes
    line: int
    offset: int
    begins: bool  # false for lines before the first header of a file
    mid_line: bool  # the chunk ended inside a line of it
    discard: bool = False  # it belongs to the range before and is only passed over


@dataclass(frozen=True, slots=True)
class ChunkContext:
    """Where a chunk stands and how its file is to be read.

    `forced_zone`: the clock was named for this very file, so it wins over an offset in the stamps.
    """

    file: str
    file_id: str
    format: FileFormat
    clock: Clock
    forced_zone: bool = False
    byte_offset: int = 0
    line: int = 1
    max_record_bytes: int = MAX_RECORD_BYTES
    final: bool = False
    fold_runs: bool = False
    stop_offset: int | None = None  # records that begin here or later belong to the range after
    open_record: OpenRecord | None = None


@dataclass(slots=True)
class Counts:
    """What became of the lines, records and bytes."""

    lines: int = 0
    records: int = 0
    recognised: int = 0
    unknown: int = 0
    rejected: int = 0
    folded: int = 0
    invalid_utf8: int = 0
    bytes_recognised: int = 0
    bytes_unknown: int = 0
    bytes_ignored: int = 0
    bytes_rejected: int = 0

    @property
    def bytes_read(self) -> int:
        """Bytes of records that were looked into."""
        return self.bytes_recognised + self.bytes_unknown + self.bytes_rejected

    @property
    def bytes(self) -> int:
        return self.bytes_read + self.bytes_ignored

    def add(self, other: Counts) -> None:
        for name in (each.name for each in fields(self)):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class ParsedChunk:
    """What a chunk gave. `rest` goes before the next chunk, to be read with `context`."""

    events: pa.RecordBatch
    unknown: pa.RecordBatch
    rejected: pa.RecordBatch
    counts: Counts
    rest: bytes
    context: ChunkContext
    done: bool = False  # a header at or after `stop_offset` was met


class Prefilter:
    """Literals of the catalogue, looked for in bytes before anything is decoded."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._words = ahocorasick_rs.BytesAhoCorasick(catalogue.literals, implementation=ahocorasick_rs.Implementation.DFA)

    def places(self, data: Buffer) -> Ints:
        """Where literals stand, ascending."""
        found = self._words.find_matches_as_indexes(data)
        return np.fromiter((start for _, start, _ in found), dtype=np.int64, count=len(found))


@lru_cache(maxsize=4)
def _prefilter(catalogue: Catalogue) -> Prefilter:
    return Prefilter(catalogue)


def parse_chunk(data: Buffer, context: ChunkContext, catalogue: Catalogue | None = None) -> ParsedChunk:
    """Read one chunk. `data` begins with the `rest` of the chunk before and is read with the context that came with it."""
    if catalogue is None:
        from parsers.catalogue import catalogue as load

        catalogue = load()
    return _Chunk(memoryview(data), context, catalogue).parse()


@dataclass(slots=True)
class _Chunk:
    data: memoryview
    context: ChunkContext
    catalogue: Catalogue
    counts: Counts = field(default_factory=Counts)
    records: RecordReader = field(init=False)

    def parse(self) -> ParsedChunk:
        context = self.context
        self.records = RecordReader(context, self.catalogue, self.counts)
        opened = context.open_record
        skipped = 0
        if opened is not None and opened.mid_line:
            newline = _find_newline(self.data)
            if newline < 0 and not context.final:
                return self._result(len(self.data), context.line, opened)
            skipped = newline + 1 if newline >= 0 else len(self.data)
        lines = self._lines(skipped)
        first = np.flatnonzero(heads(lines, context.format.layout))
        lead = int(first[0]) if len(first) else len(lines)
        if opened is None and lead:
            first = np.concatenate(([0], first))
        elif opened is not None and (len(first) or context.final):
            self._close(opened, lines, lead)
            opened = None
        return self._units(lines, first, lead, opened)

    def _lines(self, skipped: int) -> Lines:
        """All whole lines, and an unfinished last one when it is long enough to tell whether it begins a record."""
        context = self.context
        data = self.data[skipped:]
        tail = len(data) - 1 - bytes(data[-HEADER_BYTES:]).rfind(b"\n") - max(len(data) - HEADER_BYTES, 0)
        number = context.line + (1 if skipped and self.data[skipped - 1] == NEWLINE else 0)
        return plain_lines(data, context.byte_offset + skipped, number, final=context.final or tail >= HEADER_BYTES)

    def _units(self, lines: Lines, first: Ints, lead: int, opened: OpenRecord | None) -> ParsedChunk:
        """Read the records that are whole; say what is left over."""
        context = self.context
        count = len(first)
        offsets = lines.offset[first]
        if context.stop_offset is not None and count > 0 and int(offsets[-1]) >= context.stop_offset:
            count = int(np.searchsorted(offsets, context.stop_offset))
            self._read(lines, first, count, lead)
            return self._result(len(self.data), lines.next_number, None, done=True)
        if context.final:
            self._read(lines, first, count, lead)
            return self._result(len(self.data), lines.next_number, None, done=True)
        if not count:
            # Nothing but more lines of a record that is open, or not one whole line.
            if opened is None:
                return self._result(0, context.line, None)
            if len(lines):
                opened = replace(opened, mid_line=self.data[int(lines.stop[-1]) - context.byte_offset - 1] != NEWLINE)
            used = int(lines.stop[-1]) - context.byte_offset if len(lines) else 0
            return self._result(used, lines.next_number, opened)
        last = int(offsets[-1])
        if int(lines.stop[-1]) - last > context.max_record_bytes:
            return self._open_last(lines, first, lead)
        if context.fold_runs:
            # Runs end at multiples of a block, so a block is read as a whole.
            count = int(np.searchsorted(offsets, last // FOLD_BLOCK_BYTES * FOLD_BLOCK_BYTES))
        else:
            count -= 1
        self._read(lines, first, count, lead)
        return self._result(int(offsets[count]) - context.byte_offset, int(lines.number[first[count]]), None)

    def _open_last(self, lines: Lines, first: Ints, lead: int) -> ParsedChunk:
        context = self.context
        at = int(first[-1])
        begin, end = int(lines.offset[at]) - context.byte_offset, int(lines.stop[-1]) - context.byte_offset
        opened = OpenRecord(
            head=bytes(self.data[begin : begin + context.max_record_bytes]),
            line=int(lines.number[at]),
            offset=int(lines.offset[at]),
            begins=at > 0 or lead == 0,
            mid_line=self.data[end - 1] != NEWLINE,
        )
        self._read(lines, first, len(first) - 1, lead)
        return self._result(end, lines.next_number, opened)

    def _close(self, opened: OpenRecord, lines: Lines, lead: int) -> None:
        """Read a record longer than the limit, now that its end is known."""
        if opened.discard:
            return
        context = self.context
        stop = int(lines.offset[lead]) if lead < len(lines) else context.byte_offset + len(self.data)
        number = int(lines.number[lead]) if lead < len(lines) else lines.next_number
        place = Place(opened.line, opened.offset, stop - opened.offset, cut=True)
        before = self.counts.bytes_read
        self.counts.lines += number - opened.line
        self.counts.records += opened.begins
        if opened.begins:
            self.records.read(opened.head, place)
        elif len(self._prefilter.places(opened.head)):
            self.records.reject(place, "no header", self.records.decode(opened.head))
        self.counts.bytes_ignored += place.length - (self.counts.bytes_read - before)
        self.records.break_runs()

    def _read(self, lines: Lines, first: Ints, count: int, lead: int) -> None:
        """Read records number 0 to `count`, each of which ends where the next one begins."""
        if not count:
            return
        after = np.append(first[1:], len(lines))[:count]
        offsets, stops = lines.offset[first[:count]], lines.stop[after - 1]
        total = int(stops[-1] - offsets[0])
        before = self.counts.bytes_read
        self.counts.records += count - (1 if lead else 0)
        last = int(after[-1])
        self.counts.lines += (int(lines.number[last]) if last < len(lines) else lines.next_number) - int(lines.number[first[0]])
        starts, ends = lines.start[first[:count]], lines.end[after - 1]
        places = self._prefilter.places(lines.data[int(starts[0]) : int(ends[-1])]) + int(starts[0])
        limit = self.context.max_record_bytes
        long = np.flatnonzero(stops - offsets > limit)
        chosen = np.union1d(np.searchsorted(starts, places, side="right") - 1, long)
        for unit in chosen.tolist():
            start, end = int(starts[unit]), int(ends[unit])
            length = int(stops[unit] - offsets[unit])
            place = Place(int(lines.number[first[unit]]), int(offsets[unit]), length, cut=length > limit)
            raw = bytes(lines.data[start : min(end, start + limit)])
            if unit == 0 and lead:
                self.records.reject(place, "no header", self.records.decode(raw))
            else:
                self.records.read(raw, place)
            if place.cut:
                self.records.break_runs()
        self.counts.bytes_ignored += total - (self.counts.bytes_read - before)

    @property
    def _prefilter(self) -> Prefilter:
        return _prefilter(self.catalogue)

    def _result(self, used: int, line: int, opened: OpenRecord | None, *, done: bool = False) -> ParsedChunk:
        context, records = self.context, self.records
        runs = list(records.folder.runs()) if records.folder is not None else []
        return ParsedChunk(
            events=records.events.batch(context.file, context.file_id, runs),
            unknown=records.unknown.batch(context.file, context.file_id),
            rejected=records.rejected.batch(context.file, context.file_id),
            counts=self.counts,
            rest=bytes(self.data[used:]),
            context=replace(context, byte_offset=context.byte_offset + used, line=line, open_record=opened),
            done=done,
        )


def _find_newline(data: memoryview) -> int:
    """Place of the first newline, or -1."""
    for begin in range(0, len(data), _SEARCH_BYTES):
        found = bytes(data[begin : begin + _SEARCH_BYTES]).find(b"\n")
        if found >= 0:
            return begin + found
    return -1
