"""Parse a chunk of a log file to events, as a pure function.

Its steps: find the newlines; find the lines that begin a record; skip records without any literal of the catalogue, by
bytes; read header and message of the rest. A record is a line that begins one and all lines after it that do not. The
last record of a chunk may continue in the next chunk, so it is left over (`rest`) unless the chunk is the last.

Every byte of the input is counted once: as recognised, unknown, ignored or rejected.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parsers.excerpts.openings import openings_of
from parsers.excerpts.record_starts import excerpt_heads
from parsers.formats.envelope_lines import without_envelopes
from parsers.formats.envelopes import item_mark
from parsers.formats.layouts import HEADER_BYTES, MESSAGES
from parsers.formats.lines import (
    ZERO_RUN_BYTES,
    Buffer,
    Flags,
    Ints,
    Lines,
    find_newline,
    item_lines,
    plain_lines,
    record_starts,
    transcoded_lines,
    wide_lines,
    width_of,
)
from parsers.records.context import ChunkContext, Counts, OpenRecord, RecordSpan
from parsers.records.record_spans import Prefilter, RecordSpans, read_records, reject_headerless
from parsers.records.run_folding import FOLD_BLOCK_BYTES
from parsers.records.scalar_reader import RecordReader

if TYPE_CHECKING:
    from parsers.catalogue.catalogue import Catalogue

ZEROS = "zero bytes"


@dataclass(slots=True)
class ParsedChunk:
    """The result of a chunk.

    `rest` is to be prepended to the next chunk, which is read with `context`.
    """

    events: pa.RecordBatch
    unknown: pa.RecordBatch
    rejected: pa.RecordBatch
    counts: Counts
    rest: bytes
    context: ChunkContext
    is_done: bool = False  # True if a header at or after `stop_offset` was reached
    ended_at: int | None = None  # time of the last record, recognised or not (microseconds)


@lru_cache(maxsize=4)
def _prefilter(catalogue: Catalogue, words: tuple[str, ...]) -> Prefilter:
    return Prefilter(catalogue, words)


def parse_chunk(data: Buffer, context: ChunkContext, catalogue: Catalogue | None = None) -> ParsedChunk:
    """Parse one chunk.

    `data` begins with the `rest` of the previous chunk, and `context` is the one returned with it.
    """
    if catalogue is None:
        from parsers.catalogue.catalogue import catalogue as load

        catalogue = load()
    return _Chunk(memoryview(data), context, catalogue).parse()


@dataclass(slots=True)
class _Chunk:
    data: memoryview
    context: ChunkContext
    catalogue: Catalogue
    counts: Counts = field(default_factory=Counts)
    records: RecordReader = field(init=False)
    holes: list[tuple[int, RecordSpan]] = field(default_factory=list)  # zero bytes before a line
    ended_at: int | None = None

    def parse(self) -> ParsedChunk:
        self.records = RecordReader(self.context, self.catalogue, self.counts)
        before = self.context
        parsed = self._parse()
        # Skipped bytes are those between the settled positions before and after the chunk, minus the bytes that were
        # read.
        begin, end = _settled(before), _settled(parsed.context)
        if before.open_record is not None and before.open_record.discard:
            begin = self._kept_from or end
        self.counts.lines += end[1] - begin[1]
        self.counts.bytes_ignored += end[0] - begin[0] - self.counts.bytes_read
        return parsed

    _kept_from: tuple[int, int] | None = None  # start of the first record in a range

    def _parse(self) -> ParsedChunk:
        if self.context.zeros is not None and not self._pass_zeros(self.context.zeros):
            return self._result(len(self.data), self.context.line, None)
        context = self.context
        opened = context.open_record
        skipped, number = 0, context.line
        if opened is not None and opened.mid_line:
            skipped = find_newline(self.data, context.format.encoding)
            if skipped < 0 and not context.is_final:
                width = width_of(context.format.encoding)
                return self._result(len(self.data) // width * width, number, opened)
            number += 1
            skipped = skipped if skipped >= 0 else len(self.data)
        lines, hole = self._lines(skipped, number)
        begins = self._begins(lines)
        orphans = self._end_at_zeros(lines, begins)
        first = np.flatnonzero(begins)
        lead = int(first[0]) if len(first) else len(lines)
        if opened is None and lead:
            first = np.concatenate(([0], first))
            orphans.add(0)
        elif opened is not None and (len(first) or hole or context.is_final):
            self._close(opened, lines, lead, hole)
            opened = None
        return self._units(lines, first, orphans, opened, hole, skipped)

    def _begins(self, lines: Lines) -> Flags:
        """Flag lines that begin a record, by their headers or by their messages."""
        layout = self.context.format
        if not layout.shape:
            return record_starts(lines, layout.layout)
        by_messages = layout.layout_name == MESSAGES
        heads = excerpt_heads(lines, openings_of(self.catalogue), layout.width, has_time=by_messages and "%d" in layout.shape)
        return heads if by_messages else heads | record_starts(lines, layout.layout)

    def _pass_zeros(self, hole: RecordSpan) -> bool:
        """Continue in a hole of zero bytes; return False if it fills the chunk."""
        texts = np.flatnonzero(np.frombuffer(self.data, dtype=np.uint8))
        count = int(texts[0]) if len(texts) else len(self.data)
        hole = RecordSpan(hole.line, hole.offset, hole.length + count)
        if count == len(self.data) and not self.context.is_final:
            self.context = replace(self.context, zeros=hole)
            return False
        self.records.reject_headerless(hole, ZEROS, "")
        self.data = self.data[count:]
        line = self.context.line + (not len(self.data))  # the hole was the rest of the last line
        self.context = replace(self.context, zeros=None, byte_offset=self.context.byte_offset + count, line=line)
        return True

    def _end_at_zeros(self, lines: Lines, begins: Flags) -> set[int]:
        """Separate holes before a header, and long holes, from records.

        Returns the lines that begin after a hole without a header.
        """
        orphans: set[int] = set()
        for line, count in lines.zeros.items():
            if not begins[line] and count < ZERO_RUN_BYTES:
                lines.start[line] -= count
                continue
            self.holes.append((line, RecordSpan(int(lines.number[line]), int(lines.offset[line]), count)))
            lines.offset[line] += count
            if not begins[line]:
                begins[line] = True
                orphans.add(line)
        return orphans

    def _lines(self, skipped: int, number: int) -> tuple[Lines, RecordSpan | None]:
        """Return all complete lines, and an incomplete last one that can be classified.

        It must be long enough to show whether it begins a record. A hole of zero bytes at the end of the chunk is
        returned separately, because its end is not known yet.
        """
        context = self.context
        layout = context.format
        data = self.data[skipped:]
        offset = context.byte_offset + skipped
        enough = context.max_record_bytes if layout.wrappers else HEADER_BYTES
        lines = self._split(data, offset, number, is_final=context.is_final)
        if len(data) - (int(lines.stop[-1]) - offset if len(lines) else 0) >= enough:
            lines = self._split(data, offset, number, is_final=True)
        hole = None
        waits = lines.open_end and not context.is_final and not layout.wrappers
        if waits and lines.zeros.get(len(lines) - 1) and lines.start[-1] == lines.end[-1]:
            if lines.zeros[len(lines) - 1] >= ZERO_RUN_BYTES:
                hole = RecordSpan(int(lines.number[-1]), int(lines.offset[-1]), int(lines.stop[-1] - lines.offset[-1]))
            lines = lines.without_last()
        if layout.wrappers and len(lines):
            lines = without_envelopes(lines, layout.wrappers, context.max_record_bytes, is_final=context.is_final)
        return lines, hole

    def _split(self, data: memoryview, offset: int, number: int, *, is_final: bool) -> Lines:
        encoding = self.context.format.encoding
        if encoding == "utf-8" and (mark := item_mark(self.context.format.wrappers)):
            return item_lines(data, offset, number, mark, is_final=is_final)
        if encoding == "utf-8":
            return plain_lines(data, offset, number, is_final=is_final)
        split_lines = wide_lines if width_of(encoding) > 1 else transcoded_lines
        return split_lines(data, offset, number, encoding, is_final=is_final)

    def _units(
        self, lines: Lines, first: Ints, orphans: set[int], opened: OpenRecord | None, hole: RecordSpan | None, skipped: int
    ) -> ParsedChunk:
        """Read the complete records; the result says what is left over."""
        context = self.context
        count = len(first)
        offsets = lines.offset[first]
        if context.stop_offset is not None and count and int(offsets[-1]) >= context.stop_offset:
            kept = int(np.searchsorted(offsets, context.stop_offset))
            self._read(lines, first, kept, orphans)
            self._reject_holes(int(first[kept]))
            return self._result(int(offsets[kept]) - context.byte_offset, int(lines.number[first[kept]]), None, is_done=True)
        if context.is_final or hole is not None:
            self._read(lines, first, count, orphans)
            self._reject_holes(len(lines))
            return self._result(len(self.data), lines.next_number + lines.open_end, None, is_done=context.is_final, hole=hole)
        used = int(lines.stop[-1]) - context.byte_offset if len(lines) else skipped
        if not count:
            # Only further lines of an open record, or no complete line.
            if opened is None:
                return self._result(0, context.line, None)
            return self._result(used, lines.next_number, replace(opened, mid_line=lines.open_end))
        last = int(offsets[-1])
        if int(lines.end[-1] - lines.start[first[-1]]) > context.max_record_bytes:
            opened = self._opened(lines, int(first[-1]), orphans)
            self._read(lines, first, count - 1, orphans)
            self._reject_holes(int(first[-1]))
            return self._result(used, lines.next_number, opened)
        # Runs of heartbeats end at multiples of a block, so blocks are read completely. Records in one envelope stay
        # together.
        keep = last // FOLD_BLOCK_BYTES * FOLD_BLOCK_BYTES if context.fold_runs else last
        count = int(np.searchsorted(offsets, keep))
        self._read(lines, first, count, orphans)
        self._reject_holes(int(first[count]))
        return self._result(int(offsets[count]) - context.byte_offset, int(lines.number[first[count]]), None)

    def _reject_holes(self, upto: int) -> None:
        for line, place in self.holes:
            if line <= upto:
                self.records.reject_headerless(place, ZEROS, "")

    def _opened(self, lines: Lines, line: int, orphans: set[int]) -> OpenRecord:
        begin = int(lines.start[line])
        return OpenRecord(
            head=bytes(lines.data[begin : begin + self.context.max_record_bytes]),
            line=int(lines.number[line]),
            offset=int(lines.offset[line]),
            begins=line not in orphans,
            mid_line=lines.open_end,
            stamp=lines.stamps[line] if lines.stamps else None,
        )

    def _close(self, opened: OpenRecord, lines: Lines, lead: int, hole: RecordSpan | None) -> None:
        """Read a record longer than the limit after its end is known."""
        if opened.discard:
            if lead < len(lines):
                self._kept_from = (int(lines.offset[lead]), int(lines.number[lead]))
            return
        end = hole.offset if hole is not None else self.context.byte_offset + len(self.data)
        if lead < len(lines):
            end = int(lines.offset[lead]) - lines.zeros.get(lead, 0)
        place = RecordSpan(opened.line, opened.offset, end - opened.offset, is_cut=True)
        self.counts.records += opened.begins
        if opened.begins:
            self.records.read(opened.head, place, opened.stamp)
        else:
            reject_headerless(opened.head, place, self.records, self._prefilter)
        self.records.break_runs()

    def _read(self, lines: Lines, first: Ints, count: int, orphans: set[int]) -> None:
        """Read the records before number `count`; each ends at the start of the next."""
        if count:
            after = np.append(first[1:], len(lines))[:count]
            self.counts.records += count - sum(1 for line in orphans if line < after[-1])
            units = self._without_zeros(RecordSpans(lines, first[:count], after, orphans))
            if len(units):
                read_records(units, self.records, self._prefilter)
            self._note_end(lines, first[:count], after)

    def _without_zeros(self, units: RecordSpans) -> RecordSpans:
        """Reject records with zero bytes in their first line.

        Nobody knows what stood there.
        """
        values = np.frombuffer(units.lines.data, dtype=np.uint8)
        begin, end = int(units.starts[0]), int(units.ends[-1])
        if begin >= end or values[begin:end].min():
            return units
        zeros = np.flatnonzero(values[begin:end] == 0) + begin
        lines, first = units.lines, units.first
        holed = np.searchsorted(zeros, lines.end[first]) > np.searchsorted(zeros, lines.start[first])
        holed &= ~np.isin(first, list(units.orphans))
        for unit in np.flatnonzero(holed).tolist():
            line = int(first[unit])
            self.records.reject(units.place(unit, self.context.max_record_bytes), ZEROS, self.records.decode(lines.text(line)))
        return RecordSpans(lines, first[~holed], units.after[~holed], units.orphans)

    def _note_end(self, lines: Lines, first: Ints, after: Ints) -> None:
        """Keep the time of the last record that has one.

        This is the last record, unless it is torn.
        """
        for line, end in zip(reversed(first), reversed(after), strict=True):
            begin, stop = int(lines.start[line]), int(lines.end[end - 1])
            head = bytes(lines.data[begin : min(stop, begin + HEADER_BYTES)])
            self.ended_at = self.records.time_of(head, lines.stamps[line] if lines.stamps else None)
            if self.ended_at is not None or not self.records.has_dates:
                return

    @property
    def _prefilter(self) -> Prefilter:
        return _prefilter(self.catalogue, self.catalogue.group_loggers.words.get(self.context.format.layout_name, ()))

    def _result(
        self, used: int, line: int, opened: OpenRecord | None, *, is_done: bool = False, hole: RecordSpan | None = None
    ) -> ParsedChunk:
        context, records = self.context, self.records
        return ParsedChunk(
            events=records.event_batch(),
            unknown=records.unknown.batch(context.file, context.file_id),
            rejected=records.rejected.batch(context.file, context.file_id),
            counts=self.counts,
            rest=bytes(self.data[used:]),
            context=replace(
                context,
                byte_offset=context.byte_offset + used,
                line=line,
                open_record=opened,
                zeros=hole or context.zeros,
                partial_dates=records.partial_dates,
                seen=records.seen,
            ),
            is_done=is_done,
            ended_at=self.ended_at,
        )


def _settled(context: ChunkContext) -> tuple[int, int]:
    """Byte offset and line up to which all bytes are accounted for."""
    open_record = context.open_record
    if open_record is not None and not open_record.discard:
        return open_record.offset, open_record.line
    if context.zeros is not None:
        return context.zeros.offset, context.zeros.line
    return context.byte_offset, context.line
