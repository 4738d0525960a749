"""Read single records: header, time, and the event in the message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from parsers.excerpts.excerpt_reader import (
    MAX_TEXT,
    Excerpt,
    ExcerptReader,
    has_odd_time,
    with_times,
    without_program_errors,
    without_repeats,
)
from parsers.excerpts.openings import openings_of
from parsers.excerpts.program_errors import program_error
from parsers.formats.json_documents import json_document
from parsers.formats.layouts import BROKEN_STAMP, DOCUMENTS, MESSAGES, TORN_HEADER, AnyLayout, Header
from parsers.formats.partial_dates import PartialDates
from parsers.formats.timestamps import CALENDAR_US, read_epoch, read_iso
from parsers.records.context import RecordSpan, failure_reason, whole_characters
from parsers.records.line_templates import template_of
from parsers.records.record_matching import RecordMatcher
from parsers.records.row_builders import EventRows, RejectedRows, UnknownRows, canonical_json
from parsers.records.run_folding import Folder

if TYPE_CHECKING:
    from parsers.catalogue.catalogue import Catalogue, Match
    from parsers.records.context import ChunkContext, Counts

# The date of a record.
_DAY = re.compile(r"\[?(\d{4}-\d\d-\d\d)[ T]")
_LINE_ENDS = re.compile(r"\n")
# Words of a sentence that quotes a record.
_PROSE = re.compile(r"(?:\b[a-z]{2,} ){2}")
# A document of a logger that names neither itself nor a message of a library with values.
_LEVELLED = re.compile(r'\b(?:level|severity|lvl|loglevel)"?\s*[:=]')
MAX_SEEN = 1 << 16
"""Number of records of a file that are kept in mind to know quotations."""
BAD_TIME = "bad timestamp"
TORN = "torn line"
CUT = "cut line"
_LARGE_NUMBER = "number too large"
TOO_LONG = f"beyond the first {MAX_TEXT} characters of a record"
UNREAD_REQUEST = "request not understood"


@dataclass(slots=True)
class RecordReader:
    """Reads the records of one chunk and collects the results."""

    context: ChunkContext
    catalogue: Catalogue
    counts: Counts
    events: EventRows = field(default_factory=EventRows)
    unknown: UnknownRows = field(default_factory=UnknownRows)
    rejected: RejectedRows = field(default_factory=RejectedRows)
    folder: Folder | None = field(init=False)
    layout: AnyLayout = field(init=False)
    matcher: RecordMatcher = field(init=False)
    partial_dates: PartialDates = field(init=False)
    seen: dict[tuple[str | None, str, str | None], None] = field(init=False)
    _excerpts: ExcerptReader = field(init=False)
    _messages: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.folder = Folder() if self.context.fold_runs else None
        self.layout = self.context.format.layout
        self.matcher = RecordMatcher(self.layout, self.catalogue)
        self.partial_dates = replace(self.context.partial_dates)
        self.seen = dict(self.context.seen)
        self._messages = {message for _, message, _ in self.seen}
        if self.context.format.shape:
            self._excerpts = ExcerptReader(self.catalogue, self.context.format.width, self.context.format.tail)

    def decode(self, raw: bytes) -> str:
        """Decode a record.

        Bytes that are not UTF-8 are counted and become `\\xNN`, so that different names stay different.
        """
        try:
            return str(raw, "utf-8")
        except UnicodeDecodeError:
            self.counts.invalid_utf8 += 1
            return str(raw, "utf-8", "backslashreplace")

    @property
    def has_dates(self) -> bool:
        """True if stamps of the file's layout contain a date."""
        return self.layout.date is not None and self.layout.date.has_date

    def time_of(self, raw: bytes, stamp: bytes | None) -> int | None:
        """UTC microseconds of a dated record; `stamp` is its envelope's."""
        text = str(raw, "utf-8", "replace").partition("\n")[0].rstrip("\r")
        header = self.layout.read(text, len(text))
        if header is None or (stamp is None and (header.date is None or not header.date.has_date)):
            return None  # days are counted only once, while records are read
        return self._time(header, stamp)[0]

    def read(self, raw: bytes, place: RecordSpan, stamp: bytes | None = None) -> None:
        """Read a record that the catalogue may know.

        `stamp` is the time of its envelope.
        """
        text = self.decode(whole_characters(raw) if place.is_cut else raw.rstrip(b"\r\n"))
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        self.read_text(text, place, stamp)

    def read_text(self, text: str, place: RecordSpan, stamp: bytes | None = None) -> None:
        """Read one record: header, time, event; one that raises is rejected."""
        try:
            if self.context.format.shape:
                self._read_excerpts(text, place, stamp)
            elif torn := self._torn_at(text):
                self._read_torn(text, torn, place, stamp)
            else:
                self._read_whole(text, place, stamp)
        except Exception as problem:  # whatever a log contains, the other records must be read
            self.reject(place, failure_reason(problem), text)

    def _read_whole(self, text: str, place: RecordSpan, stamp: bytes | None) -> None:
        header, match = self.matcher.understand(text)
        if header is None:
            is_of_logger = self.layout.name in DOCUMENTS and _LEVELLED.search(text) is not None
            is_read = is_of_logger or program_error(self.catalogue, text) is not None
            if excerpts := list(ExcerptReader(self.catalogue).read(text)) if is_read else []:
                self._keep_excerpts(text, place, stamp, excerpts)
                return
            self.reject(place, BAD_TIME if BROKEN_STAMP.match(text) else "header not understood", text)
            return
        at, odd = self._time(header, stamp)
        if header.stamp is not None and at is None:
            self.reject(place, BAD_TIME, text)
        elif match is not None:
            match = self.catalogue.with_exception(match, text.partition("\n")[2])
            self.recognise(place, header, text, (at, odd), match)
        else:
            self._unmatched(place, header, text, at)

    def _read_excerpts(self, text: str, place: RecordSpan, stamp: bytes | None) -> None:
        """Read all records of a text; one in a known layout as such."""
        if len(text) > MAX_TEXT:
            text, place = self._without_rest(text, place)
        known = self.context.format.layout_name != MESSAGES
        if not known and (ordinary := self._excerpts.ordinary(text)) is not None:
            if not self._is_quoted(ordinary):
                self._keep_excerpt(ordinary, text, place, stamp)
            return
        header, match = self.matcher.understand(text) if known else (None, None)
        if header is not None and match is not None and self._is_one_record(text, header):
            self._read_whole(text, place, stamp)
            return
        excerpts = without_program_errors(with_times(self._excerpts.read(text), header))
        if len(excerpts) > 1 and json_document(text) is not None:
            excerpts = without_repeats(excerpts)
        if excerpts:
            self._keep_excerpts(text, place, stamp, excerpts)
        elif known and header is not None:
            self._read_whole(text, place, stamp)
        else:
            self._keep_unknown(text, place, stamp)

    def _without_rest(self, text: str, place: RecordSpan) -> tuple[str, RecordSpan]:
        """The part of a long text that is searched.

        The rest is rejected if it has first words.
        """
        head, rest = text[:MAX_TEXT], text[MAX_TEXT:]
        length = min(len(head.encode("utf-8", "replace")), place.length)
        if not self._excerpts.openings.places(rest):
            return head, place
        self.reject_headerless(RecordSpan(place.line, place.offset + length, place.length - length), TOO_LONG, rest)
        return head, replace(place, length=length, shared=min(place.shared, length))

    def _is_one_record(self, text: str, header: Header) -> bool:
        """Whether one header, with a valid time, covers the text."""
        is_one = not has_odd_time(header) and len(self._excerpts.openings.prefix_places(text)) <= 1
        return is_one and (header.stamp is not None or not self.shape_is_timed)

    def _keep_excerpts(self, text: str, place: RecordSpan, stamp: bytes | None, excerpts: Sequence[Excerpt]) -> None:
        """Keep the records of one text, without quotations.

        Each has the lines from its own to that of the next.
        """
        kept = [excerpt for excerpt in excerpts if not self._is_quoted(excerpt)]
        if not kept:
            return
        if len(excerpts) == 1 and "\n" not in text:
            self._keep_excerpt(kept[0], text, place, stamp)
            return
        ends = [0, *(match.end() for match in _LINE_ENDS.finditer(text)), len(text)]
        bytes_at = [len(text[:end].encode("utf-8", "replace")) for end in ends]
        exact = not self.context.format.wrappers and self.context.format.encoding == "utf-8"
        begins = [0, *(bytes_at[excerpt.first_line] if exact else 0 for excerpt in kept[1:])]
        stops = [*begins[1:], place.length]
        self.counts.records += len(kept) - 1
        for excerpt, begin, stop in zip(kept, begins, stops, strict=True):
            length = max(stop - begin, min(bytes_at[min(excerpt.last_line + 1, len(bytes_at) - 1)], place.length) - begin)
            shared = length - (stop - begin) + (place.shared if not begin and stop else 0)
            where = RecordSpan(place.line + (excerpt.first_line if exact else 0), place.offset + begin, length, place.is_cut, shared)
            lines = text.split("\n")[excerpt.first_line : excerpt.last_line + 1]
            self._keep_excerpt(excerpt, "\n".join(lines), where, stamp)

    def _keep_excerpt(self, excerpt: Excerpt, text: str, where: RecordSpan, stamp: bytes | None) -> None:
        header = excerpt.header
        at, odd = self._time(header, stamp)
        self.recognise(where, header, text, (at, odd), excerpt.match)

    def _is_quoted(self, excerpt: Excerpt) -> bool:
        """Whether a record only quotes an earlier one."""
        header = excerpt.header
        key = (header.stamp, header.message, excerpt.between)
        if header.stamp is None:
            if not self.shape_is_timed:
                return False
            quoted = _PROSE.search(excerpt.before) is not None or header.message in self._messages
        else:
            quoted = key in self.seen
        if not quoted and len(self.seen) < MAX_SEEN:
            self.seen[key] = self.seen[(*key[:2], None)] = None
            self._messages.add(header.message)
        return quoted

    def _keep_unknown(self, text: str, place: RecordSpan, stamp: bytes | None) -> None:
        header = self._excerpts.header(text)
        if header is not None and header.logger is not None:
            at, _ = self._time(header, stamp)
            self._unmatched(place, header, text, at)

    @property
    def shape_is_timed(self) -> bool:
        """True if most records found by their messages have a time."""
        return "%d" in self.context.format.shape

    def _torn_at(self, text: str) -> int:
        """Position of a second record within a line, or 0.

        Concurrent threads or a crash may tear a line.
        """
        day = _DAY.match(text)
        if day is None or text.find(day[1], day.end()) < 0:
            return 0
        match = TORN_HEADER.search(text, day.end())
        return match.start() if match is not None and "\n" not in text[: match.start()] else 0

    def _read_torn(self, text: str, torn: int, place: RecordSpan, stamp: bytes | None) -> None:
        """Read both halves of a torn line as separate records.

        A half without a complete message is rejected, so that it is not attributed to the wrong group.
        """
        self.counts.records += 1
        before = len(text[:torn].encode("utf-8", "replace"))
        halves = (
            (text[:torn], RecordSpan(place.line, place.offset, before, place.is_cut, min(place.shared, before))),
            (text[torn:], RecordSpan(place.line, place.offset + before, place.length - before, place.is_cut)),
        )
        for part, where in halves:
            try:
                header, match = self.matcher.understand(part)
            except Exception as problem:
                self.reject(where, failure_reason(problem), part)
                continue
            if header is None or (match is None and not header.is_whole):
                self.reject(where, TORN, part)
            else:
                self.read_text(part, where, stamp)

    def _time(self, header: Header, envelope: bytes | None) -> tuple[int | None, bool]:
        """UTC microseconds, and True if the local time is ambiguous."""
        date = header.date
        if envelope is not None and (header.stamp is None or date is None or not date.has_date):
            stamp = envelope.decode("ascii", "replace")
            if (counted := read_epoch(stamp)) is not None:
                return counted, False
            local, offset = read_iso(stamp.replace(" UTC", "Z"))
        elif header.stamp is None or date is None:
            return None, False
        else:
            local, offset = date.read(header.stamp)
            if offset is None and self.layout.date is not None:
                offset = self.layout.date.zone_us  # a record beside the layout's is of the same clock
            local = self.partial_dates.complete(local, date) if local is not None and not date.has_date else local
        if local is None or local not in CALENDAR_US:
            return None, False
        if offset is not None and (not self.context.forced_zone or (date is not None and date.is_absolute)):
            return local - offset, False
        return self.context.clock.utc(local)

    def _unmatched(self, place: RecordSpan, header: Header, text: str, at: int | None) -> None:
        if place.is_cut:
            self.reject(place, f"longer than {self.context.max_record_bytes} bytes", text)
        elif (error := program_error(self.catalogue, text)) is not None:
            self.recognise(place, header._replace(is_whole=True), text, (at, False), error)
        elif self.catalogue.group_loggers.shows(header.logger, header.level, header.message, self.context.format.layout_name):
            self.note_unknown(place, header.level, header.logger, header.message, text, at)
        elif not header.is_whole and "\n" not in text:
            self.reject(place, CUT, text)
        elif self.catalogue.unread_request(header.message):
            self.reject(place, UNREAD_REQUEST, text)
        elif self.catalogue.refuses_number(header.logger, header.message):
            self.reject(place, _LARGE_NUMBER, text)
        elif not self.counts.recognised and openings_of(self.catalogue).has_rare_words(header.message):
            self.counts.hint(place.line)

    def recognise(self, place: RecordSpan, header: Header, text: str, time: tuple[int | None, bool], match: Match) -> None:
        """Keep an event, unless it is added to an open run.

        `time` is what `_time` gives: UTC microseconds, and whether the local time is ambiguous there.
        """
        rows, (at, is_odd) = self.events, time
        fields = canonical_json(match.fields)  # before any counting, because it may raise
        in_run = self.folder is not None and self.folder.swallow(len(rows.line), at, place.offset, match.event, match.columns, match.fields)
        self.counts.recognised += 1
        self.counts.bytes_recognised += place.length - place.shared
        if in_run:
            return
        rows.fields.append(fields)
        rows.shared.append(place.shared)
        rows.line.append(place.line)
        rows.offset.append(place.offset)
        rows.length.append(place.length)
        rows.at.append(at)
        rows.odd_time.append(is_odd)
        rows.level.append(header.level)
        rows.logger.append(header.logger)
        rows.thread.append(header.thread)
        rows.match.append(match)
        rows.text.append(text)
        rows.cut.append(not header.is_whole or place.is_cut)

    def add_batch(self, batch: pa.RecordBatch, length: int) -> None:
        """Add events that were read as columns.

        `length` is the number of bytes of their records.
        """
        self.counts.recognised += batch.num_rows
        self.counts.bytes_recognised += length
        self.events.ready.append(batch)

    def end_runs_of(self, group: str | None) -> None:
        """End the runs of one group after another event in it."""
        if self.folder is not None:
            self.folder.end_group(group)

    def break_runs(self) -> None:
        """End all runs at a record longer than the limit.

        Its position determines how the file is split.
        """
        if self.folder is not None:
            self.folder.end_all()

    def note_unknown(self, place: RecordSpan, level: str | None, logger: str | None, message: str, text: str, at: int | None) -> None:
        """Keep a record without a catalogue entry, with its message as a template."""
        template = template_of(message)
        self.counts.unknown += 1
        self.counts.bytes_unknown += place.length - place.shared
        rows = self.unknown
        rows.line.append(place.line)
        rows.offset.append(place.offset)
        rows.at.append(at)
        rows.template.append(template)
        rows.logger.append(logger)
        rows.level.append(level)
        rows.text.append(text)

    def event_batch(self) -> pa.RecordBatch:
        """All events.

        A record with a value that fits no column is rejected here.
        """
        rows, context = self.events, self.context
        runs = list(self.folder.runs()) if self.folder is not None else []
        try:
            return rows.batch(context.file, context.file_id, runs)
        except Exception:
            for row, problem in reversed(list(rows.unfit())):
                place = RecordSpan(rows.line[row], rows.offset[row], rows.length[row], rows.cut[row], rows.shared[row])
                self.counts.recognised -= 1
                self.counts.bytes_recognised -= place.length - place.shared
                self.reject(place, failure_reason(problem), rows.text[row])
                rows.drop(row)
                runs = [(index - (index > row), count, last) for index, count, last in runs if index != row]
            return rows.batch(context.file, context.file_id, runs)

    def reject_headerless(self, place: RecordSpan, reason: str, text: str) -> None:
        """Reject bytes that begin no record; they count as one record."""
        self.counts.records += 1
        self.reject(place, reason, text)

    def reject(self, place: RecordSpan, reason: str, text: str) -> None:
        """Keep an unreadable record with the reason."""
        self.counts.rejected += 1
        self.counts.bytes_rejected += place.length - place.shared
        self.rejected.add(place.line, place.offset, place.length, reason, text)
