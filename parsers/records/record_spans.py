"""Records of a chunk as spans of lines: filter by literals, then read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import ahocorasick_rs
import numpy as np
import pyarrow as pa

from parsers.arrow_arrays import flags, numbers, optional_numbers, repeated_text, strings
from parsers.arrow_arrays import names_of_codes as picked_names
from parsers.excerpts.openings import openings_of
from parsers.excerpts.record_starts import opening_places
from parsers.formats.detection import NO_HEADER
from parsers.formats.layouts import HEADER_BYTES, JSON, LOGFMT, MESSAGES
from parsers.formats.lines import Buffer, Flags, Ints, Lines
from parsers.records.context import RecordSpan, failure_reason
from parsers.records.record_matching import MAX_FOLDS
from parsers.records.request_records import RequestRecords
from parsers.records.scalar_reader import RecordReader
from parsers.records.vector_headers import Candidates, HeaderColumns, MessagePrefixes, may_be_known, ordinary_records, tails
from parsers.records.vector_messages import MessageValues, QuickReader
from parsers.schema import COMMON_FIELDS, EVENT_SCHEMA, TIME

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from parsers.catalogue.catalogue import Catalogue

_HIDING = (b"  ", b"\t", b"\\", b"\xc2\xa0", b"\xe2\x80\x8b")
"""Characters that may separate the words of a literal."""
FAST_LAYOUT = "kafka"


class Prefilter:
    """Literals of the catalogue, searched in bytes before decoding.

    `words` are those by which a layout without loggers shows what concerns groups.
    """

    def __init__(self, catalogue: Catalogue, words: Sequence[str] = ()) -> None:
        self.beginnings = MessagePrefixes(catalogue)
        self._words = _search_of(catalogue.literals)
        self._group_words = _search_of([text.encode() for text in (*words, *catalogue.group_loggers.passed_over)]) if words else None
        self._group_word_count = len(words)

    def places(self, data: Buffer) -> Ints:
        """Positions of literals, ascending."""
        hits = self._words.find_matches_as_indexes(data)
        return np.fromiter((start for _, start, _ in hits), dtype=np.int64, count=len(hits))

    def hit(self, data: Buffer) -> bool:
        """Whether any literal occurs."""
        return bool(self._words.find_matches_as_indexes(data))

    def spoken(self, data: Buffer, starts: Ints, ends: Ints) -> Flags:
        """Flag lines with words of groups, and without a text that is passed over."""
        flags_by_line = np.zeros(len(starts), dtype=bool)
        hits = self._group_words.find_matches_as_indexes(data) if self._group_words is not None else []
        if hits:
            indexes, places, _ = np.array(hits, dtype=np.int64).T
            at = np.searchsorted(starts, places, side="right") - 1
            inside, is_word = places < ends[at], indexes < self._group_word_count
            flags_by_line[at[inside & is_word]] = True
            flags_by_line[at[inside & ~is_word]] = False
        return flags_by_line


def _search_of(literals: Sequence[bytes]) -> ahocorasick_rs.BytesAhoCorasick:
    return ahocorasick_rs.BytesAhoCorasick(
        literals, implementation=ahocorasick_rs.Implementation.DFA, matchkind=ahocorasick_rs.MatchKind.LeftmostLongest
    )


@dataclass(slots=True)
class RecordSpans:
    """Records as ranges of lines.

    `first` are the numbers of their first lines, `after` those of the lines after their last.
    """

    lines: Lines
    first: Ints
    after: Ints
    orphans: set[int]  # first lines of ranges without a header

    def __len__(self) -> int:
        return len(self.first)

    @property
    def starts(self) -> Ints:
        """Start of each record's text."""
        return self.lines.start[self.first]

    @property
    def ends(self) -> Ints:
        """End of each record's text."""
        return self.lines.end[self.after - 1]

    def place(self, unit: int, limit: int) -> RecordSpan:
        """Position of a record in its file.

        It is cut if it is longer than `limit`.
        """
        lines, line, last = self.lines, int(self.first[unit]), int(self.after[unit]) - 1
        offset, stop = int(lines.offset[line]), int(lines.stop[last])
        shared = max(int(lines.stop[line - 1]) - offset, 0) if line else 0  # two records in one envelope
        return RecordSpan(
            int(lines.number[line]), offset, stop - offset, is_cut=int(lines.end[last] - lines.start[line]) > limit, shared=shared
        )


def read_records(units: RecordSpans, records: RecordReader, prefilter: Prefilter) -> None:
    """Read all records that the catalogue may know."""
    limit = records.context.max_record_bytes
    starts, ends = units.starts, units.ends
    long = ends - starts > limit
    if records.context.format.layout_name == FAST_LAYOUT and not records.context.format.shape:
        taken, requests, left = _read_vectorised(units, starts, ends, long, records, prefilter)
    else:
        taken, requests, left = [], None, _searched(units, starts, ends, records, prefilter) | long
    left |= _match_after_unwrapping(units, left, prefilter)
    if records.context.format.shape:
        left |= _opened(units, starts, left, records)
    ahead = 0
    data = units.lines.data
    stamps = units.lines.stamps
    for unit in np.flatnonzero(left).tolist():
        while ahead < len(taken) and taken[ahead][0] < unit:
            records.end_runs_of(taken[ahead][1])
            ahead += 1
        if requests is not None and unit in requests and requests.keep(unit, records):
            continue
        place = units.place(unit, limit)
        start, line = int(starts[unit]), int(units.first[unit])
        raw = bytes(data[start : min(int(ends[unit]), start + limit)])
        is_orphan = line in units.orphans
        if is_orphan and records.context.format.layout_name != MESSAGES:
            reject_headerless(raw, place, records, prefilter)
        else:
            records.counts.records += is_orphan  # lines before the first record may hold others, which begin otherwise
            records.read(raw, place, stamps[line] if stamps else None)
        if place.is_cut:
            records.break_runs()


def reject_headerless(raw: bytes, place: RecordSpan, records: RecordReader, prefilter: Prefilter) -> None:
    """Reject lines without a header if they contain a literal.

    They may be the rest of a record from another file.
    """
    if prefilter.hit(raw):
        records.reject_headerless(place, NO_HEADER, records.decode(raw))


_PADDING = b"  "
"""Blanks with which logrus fills up a message on a terminal."""


def _searched(units: RecordSpans, starts: Ints, ends: Ints, records: RecordReader, prefilter: Prefilter) -> Flags:
    """Flag records that contain a literal of the catalogue, or that speak of groups."""
    data = memoryview(units.lines.data)[int(starts[0]) : int(ends[-1])]
    if records.context.format.layout_name == JSON and bytes(data).find(b"\\u00") >= 0:
        return np.ones(len(starts), dtype=bool)  # escapes may hide a literal
    if records.context.format.layout_name == LOGFMT and bytes(data).find(_PADDING) >= 0:
        return np.ones(len(starts), dtype=bool)  # so do blanks between a message and its values
    flags_by_record = prefilter.spoken(data, starts - starts[0], units.lines.end[units.first] - starts[0])
    flags_by_record[np.searchsorted(starts, prefilter.places(data) + int(starts[0]), side="right") - 1] = True
    return flags_by_record


def _opened(units: RecordSpans, starts: Ints, left: Flags, records: RecordReader) -> Flags:
    """Flag records with the first words of a message.

    Blanks, line breaks and escapes in the message may hide its literal; other records without one are `left` out.
    """
    flags_by_record = np.zeros(len(units), dtype=bool)
    firsts: dict[int, int] = {}
    lines, openings = units.lines, openings_of(records.catalogue)
    width = records.context.format.width
    for places in opening_places(lines, openings, width):
        places = places[places < int(units.ends[-1])]
        at = np.searchsorted(starts, places, side="right") - 1
        flags_by_record[at[at >= 0]] = True
        firsts.update(zip(at[::-1].tolist(), places[::-1].tolist(), strict=True))
    data, ends = units.lines.data, units.ends
    for unit in np.flatnonzero(flags_by_record & ~left & (units.after - units.first == 1)).tolist():
        message = bytes(data[firsts[unit] : int(ends[unit])])
        flags_by_record[unit] = any(mark in message for mark in _HIDING) or openings.may_know(str(message, "utf-8", "replace"))
    return flags_by_record


def _match_after_unwrapping(units: RecordSpans, left: Flags, prefilter: Prefilter) -> Flags:
    """Flag records with a literal across a line break.

    A terminal may have wrapped the line within the literal.
    """
    lines = units.lines
    flags_by_record = np.zeros(len(units), dtype=bool)
    several = np.flatnonzero(~left & (units.after - units.first > 1))
    if len(several):
        values = np.frombuffer(lines.data, dtype=np.uint8)
        end, second = lines.end[units.first[several]], lines.start[units.first[several] + 1]
        # Not after a closing bracket, the end of Kafka's lines, nor before a tab, the start of stack traces and
        # settings.
        open_end = (values[np.maximum(end - 1, 0)] != ord(")")) & (values[np.minimum(second, len(values) - 1)] != ord("\t"))
        for unit in several[open_end].tolist():
            line = int(units.first[unit])
            last = min(int(units.after[unit]), line + MAX_FOLDS)
            pieces = [lines.text(number)[:HEADER_BYTES] for number in range(line, last)]
            flags_by_record[unit] = any(prefilter.hit(glue.join(pieces)) for glue in (b"", b" "))
    return flags_by_record


def _read_vectorised(
    units: RecordSpans, starts: Ints, ends: Ints, long: Flags, records: RecordReader, prefilter: Prefilter
) -> tuple[list[tuple[int, str | None]], RequestRecords | None, Flags]:
    """Read the ordinary records in Kafka's own layout as columns.

    Returns the records that were read, each with its group, those of requests, which are still to keep, and flags of
    all but the first.
    """
    lines = units.lines
    data = memoryview(lines.data)
    codes = tails().codes(data, starts, lines.end[units.first])
    named, watched, of_requests = _named(records.catalogue)
    wanted = watched[codes]
    # For loggers with unknown lines that are not counted, only records with the beginning of a known message can match.
    other = np.flatnonzero(~wanted)
    other = other[may_be_known(data, starts[other], prefilter.beginnings)]
    known = named[codes[other]]
    wanted[other[known]] = True
    other = other[~known]
    wanted[other] = _hits(data, starts[other], ends[other], prefilter)
    is_request = of_requests[codes] & ~long
    requests_at = np.flatnonzero(wanted & is_request)  # most are of other APIs
    wanted[requests_at] = _hits(data, starts[requests_at], ends[requests_at], prefilter)
    left = wanted | long
    ordinary = wanted & ~long & (units.after - units.first == 1)
    ordinary &= ~np.isin(units.first, list(units.orphans))  # some may belong to the next chunk
    chosen = np.flatnonzero(ordinary)
    try:
        candidates = (
            ordinary_records(lines, chosen, starts[chosen], ends[chosen], codes[chosen], records.context.clock) if len(chosen) else None
        )
        columns = _read_messages(units, candidates, records) if candidates is not None and len(candidates.messages) else None
    except Exception as problem:  # one record may be the cause: each is read separately, and that one is rejected
        failure_reason(problem)
        columns = None
    taken: list[tuple[int, str | None]] = []
    requests: RequestRecords | None = None
    if columns is not None:
        read, groups, requests = columns
        left[read] = False
        # only open runs need the records in between
        taken = [] if records.folder is None else list(zip(read.tolist(), groups.to_pylist(), strict=True))
    unsure = np.flatnonzero(left & named[codes] & ~long & ~is_request)
    left[unsure] = _hits(data, starts[unsure], ends[unsure], prefilter)
    return taken, requests, left


def _columns(message_values: Sequence[MessageValues], order: Ints) -> dict[str, pa.Array]:
    """Columns derived from messages, in the given order.

    Values of a wording are constant or given as a list.
    """
    counts = [values.count for values in message_values]
    codes = np.repeat(np.arange(len(message_values)), counts)[order]
    made: dict[str, pa.Array] = {}
    for name, values in (
        ("system", [values.message.system for values in message_values]),
        ("message", [values.message.id for values in message_values]),
        ("event", [values.message.emits for values in message_values]),
        ("witness", [values.message.witness for values in message_values]),
    ):
        made[name] = picked_names(values, codes)
    for name in COMMON_FIELDS:
        kind = EVENT_SCHEMA.field(name).type
        parts = [values.common.get(name) for values in message_values]
        made[name] = _ordered([part or () for part in parts], counts, order, kind)
    made["fields"] = strings([text for values in message_values for text in values.json()]).take(numbers(order))
    return made


def _ordered(parts: Sequence[Sequence[Any]], counts: Sequence[int], order: Ints, kind: pa.DataType) -> pa.Array:
    """One column from several wordings.

    Each has a value for all of its records or for none.
    """
    items = [item for part in parts for item in part]
    if not items:
        return pa.nulls(len(order), kind)
    made = strings(items) if kind == pa.string() else optional_numbers(items, kind)
    if len(items) == len(order):
        return made.take(numbers(order))
    given = np.repeat([bool(part) for part in parts], counts)
    places = np.cumsum(given) - 1
    return made.take(numbers(places[order], known=given[order]))


def _named(catalogue: Catalogue) -> tuple[Flags, Flags, Flags]:
    """Flags of known loggers: named by the catalogue, counted if unknown, and of requests."""
    loggers = [suffix.logger for suffix in tails().known]
    of_requests = {segment for message in catalogue.messages.values() if message.witness == "request" for segment in message.loggers}
    named = np.array([catalogue.loggers.names(logger) for logger in loggers], dtype=bool)
    counted = np.array([catalogue.group_loggers.concerns(logger) for logger in loggers], dtype=bool)
    return named, counted, np.array([catalogue.loggers.segment(logger) in of_requests for logger in loggers], dtype=bool)


def _hits(data: memoryview, starts: Ints, ends: Ints, prefilter: Prefilter) -> Flags:
    """Flag records that contain a literal, with one search over all of them."""
    flags_by_record = np.zeros(len(starts), dtype=bool)
    if len(starts):
        edges = np.empty(2 * len(starts), dtype=np.int64)
        edges[0::2], edges[1::2] = starts, ends
        pieces = pa.Array.from_buffers(pa.large_binary(), len(edges) - 1, [None, pa.py_buffer(edges), pa.py_buffer(data)])
        joined = pieces.take(numbers(np.arange(0, len(edges) - 1, 2)))
        begins = np.frombuffer(joined.buffers()[1], dtype=np.int64)[: len(starts) + 1]
        places = prefilter.places(memoryview(joined.buffers()[2]).cast("B"))
        flags_by_record[np.searchsorted(begins, places, side="right") - 1] = True
    return flags_by_record


def _read_messages(units: RecordSpans, candidates: Candidates, records: RecordReader) -> tuple[Ints, pa.Array, RequestRecords]:
    """Read messages with a quick form into a batch.

    Returns their records and the group of each, and the records of requests, which are not in the batch.
    """
    catalogue = records.catalogue
    known = tails().known
    loggers = {code: known[code].logger for code in np.unique(candidates.tail).tolist()}
    segments = np.array([catalogue.loggers.segment(loggers[code]) if code in loggers else "" for code in range(len(known))], dtype=object)
    reader = QuickReader(catalogue)
    others = reader.read(candidates.messages, segments[candidates.tail].tolist())
    names = [loggers.get(code) for code in range(len(known))]
    requests = RequestRecords(candidates, others, units.lines, units.first, names)
    meant = [wording for wording in reader.values_by_wording() if wording.rows]
    if not meant:
        return np.zeros(0, dtype=np.int64), strings([]), requests
    rows = np.concatenate([np.array(wording.rows, dtype=np.int64) for wording in meant])
    order = np.argsort(rows)
    picked = rows[order]
    unit = candidates.unit[picked]
    lines, context = units.lines, records.context
    line = units.first[unit]
    offset, stop = lines.offset[line], lines.stop[units.after[unit] - 1]
    count = len(rows)
    values = _columns(meant, order)
    values |= {
        "file": repeated_text(context.file, count),
        "file_id": repeated_text(context.file_id, count),
        "line": numbers(lines.number[line]),
        "byte_offset": numbers(offset),
        "byte_length": numbers(stop - offset),
        "at": numbers(candidates.at[picked], TIME),
        "file_time_max_at": pa.nulls(count, TIME),
        "ambiguous_time": flags(candidates.odd[picked]),
        "level": picked_names(HeaderColumns.levels(), candidates.level[picked]),
        "logger": picked_names(names, candidates.tail[picked]),
        "thread": pa.nulls(count, pa.string()),
        "text": candidates.text if count == len(candidates.text) else candidates.text.take(numbers(picked)),
        "truncated": flags(np.zeros(count, dtype=bool)),
    }
    shared = np.maximum(np.where(line > 0, lines.stop[line - 1], 0) - offset, 0)
    records.add_batch(
        pa.RecordBatch.from_arrays([values[field.name] for field in EVENT_SCHEMA], schema=EVENT_SCHEMA), int((stop - offset - shared).sum())
    )
    return unit, values["group"], requests
