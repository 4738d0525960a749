"""Choose the form of a file: a known layout, or messages.

A known layout is believed unless it reads almost none of the records that a small sample holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from parsers.catalogue.catalogue import Catalogue, catalogue
from parsers.excerpts.excerpt_reader import Excerpt, ExcerptReader
from parsers.excerpts.openings import openings_of
from parsers.excerpts.shapes import common_tail, learned_shape, usual_tail, wrapped_width
from parsers.formats.calendars import calendar_of
from parsers.formats.cleaning import clean_line
from parsers.formats.detection import NO_HEADER, FileFormat, detect_format, encoding_of
from parsers.formats.envelopes import RECORD, item_mark, item_wrappers, wrapper_named
from parsers.formats.json_documents import object_depths
from parsers.formats.layouts import JSON, MESSAGES, layout_named
from parsers.formats.pages import Unwrapped, code_wrappers, page_wrappers
from parsers.formats.tails import TAIL, tail_named, tail_wrappers
from parsers.formats.time_zones import ZoneConverter
from parsers.records.chunks import ParsedChunk, parse_chunk
from parsers.records.context import ChunkContext

_SAMPLE_BYTES = 1 << 15
_SMALL_BYTES = 1 << 14
"""A small sample is doubted if any line is left unread."""

_TAILED_BYTES = 1 << 13
"""Bytes of a sample in which tails are looked for."""

_WHOLE_BYTES = 1 << 24
"""Bytes that are searched for known words at most."""

_MOST = 8
_DESCENTS = 2
"""Steps back in time, at least; one alone shows no direction."""
_NEWLINE = 10
_PAGE = "page"
_NO_TIME = "no_time"
"""In the names of layouts that many texts fit."""


class _Yield(NamedTuple):
    """Numbers of records and times read from a sample, compared in this order."""

    recognised: int
    timed: int
    unknown: int
    rejected: int
    descends: bool = False


def choose_form(sample: bytes, *, is_complete: bool) -> FileFormat | str:
    """The form that reads most records, or the reason why none does."""
    detected = _best(sample, is_complete=is_complete)
    if detected != "binary":
        names = [*code_wrappers(_whole_lines(sample)), *([RECORD] if _is_of_documents(detected) else [])]
        detected = _improved(sample, detected, names, is_complete=is_complete)
        detected = _improved(_whole_lines(sample, _TAILED_BYTES), detected, _tails(sample, detected), is_complete=is_complete)
    if reason := _reason_of_case(_whole_lines(sample), detected):
        return reason
    if isinstance(detected, str):
        return detected
    return replace(detected, calendar=calendar) if (calendar := calendar_of(_text(_whole_lines(sample), detected))) else detected


def _reason_of_case(part: bytes, layout: FileFormat | str) -> str | None:
    """Why a log is not read whose writer changed the case of all letters.

    Its wordings might still be told, but no name in it is what it was.
    """
    text = _text(part, layout)
    case, change = ("upper", str.upper) if text.isupper() else ("lower", str.lower)
    known = catalogue()
    if change(text) != text or (isinstance(layout, FileFormat) and _score(part, layout, known)[0]):
        return None
    return f"not read: all letters are in {case} case, also those of names" if openings_of(known).has_words_in_case(text, change) else None


def _is_of_documents(layout: FileFormat | str) -> bool:
    """Whether each line is a document, which may be around another."""
    return isinstance(layout, FileFormat) and layout.layout_name == JSON and not layout.wrappers


def _tails(sample: bytes, layout: FileFormat | str) -> list[str]:
    """Names of wrappers for text that may follow each message.

    None where all is read, with times and with names that end otherwise.
    """
    part, known = _whole_lines(sample, _TAILED_BYTES), catalogue()
    opened = [line for line in _text(part, layout).split("\n") if openings_of(known).places(line)]
    names = tail_wrappers(opened)
    if not names or not isinstance(layout, FileFormat):
        return names
    rows, timed, _ = _score(part, layout, known)
    if rows < len(opened) or timed < rows:
        return names
    groups = [group.encode() for group in _parsed(part, layout, known).events.column("group").to_pylist() if group]
    return [name for name in names if any(tail_named(name).peel(group) for group in groups)]


def _improved(sample: bytes, layout: FileFormat | str, names: Iterable[str], *, is_complete: bool) -> FileFormat | str:
    """The form with the wrapper that makes it better, if any.

    More is read then, or fewer names hold the same records: what stands behind a message is not part of a group's name.
    """
    part, known = _whole_lines(sample), catalogue()
    best, score, worse = layout, None, 0
    for name in names:
        score = score or (_score(part, layout, known) if isinstance(layout, FileFormat) else (0, 0, 0))
        form = _best(_peeled(sample, name), is_complete=is_complete)
        form = replace(form, wrappers=(name, *form.wrappers)) if isinstance(form, FileFormat) else form
        other = _score(part, form, known) if isinstance(form, FileFormat) else (0, 0, 0)
        if other > score:
            best, score = form, other
        worse += other[0] < score[0]
        if name.startswith(TAIL) and worse > 1:
            break  # longer tails take more of the messages
    return best


def _score(part: bytes, layout: FileFormat, known: Catalogue) -> tuple[int, int, int]:
    """Score of a form: records, times, and few groups."""
    events = _parsed(part, layout, known).events
    groups = set(events.column("group").to_pylist())
    return events.num_rows, events.num_rows - events.column("at").null_count, -len(groups)


def _best(sample: bytes, *, is_complete: bool) -> FileFormat | str:
    """The form of a sample, years aside."""
    for name in (*page_wrappers(sample), *item_wrappers(sample)):
        inner = _peeled(sample, name)
        is_peeled = len(inner) < len(sample) or bool(item_mark((name,)))
        detected = _best(inner, is_complete=is_complete) if is_peeled else ""
        if isinstance(detected, FileFormat):
            return replace(detected, wrappers=(name, *detected.wrappers))
    detected = detect_format(sample, is_complete=is_complete)
    if detected == "binary":
        return detected
    known = catalogue()
    part = _whole_lines(sample)
    opened = _opened(_text(part, detected), known)
    # A hole of zero bytes is damage, which no layout explains.
    is_known = isinstance(detected, FileFormat) and _NO_TIME not in detected.layout_name
    if (not opened and is_known and b"\n " not in part) or (b"\0" in sample and "\0" in _text(sample, detected)):
        return detected
    before = _read(part, detected, known) if isinstance(detected, FileFormat) else _Yield(0, 0, 0, 0)
    if not before.recognised or (b"\n " in part and len(part) <= _SMALL_BYTES):
        opened = max(opened, *(_opened(joined, known) for joined in _unwrapped(_text(part, detected))))
    inner_forms = _indented(part, detected)
    if not opened and (before.recognised or not inner_forms):
        return _unread(sample, detected, known, is_complete=is_complete)
    # Inside tags, a first line that looks like no record may be one.
    counted = before._replace(rejected=0) if before.rejected and _is_page(_text(part, detected)) else before
    if opened and (not _is_doubtful(len(part), opened, counted) or (_is_clean(before) and _has_all(part, detected, known))):
        return _directed(detected, before)
    # A time may have been mistaken for an envelope; then only the messages can decide.
    bases = (detected, "") if isinstance(detected, FileFormat) and detected.wrappers and not before.timed else (detected,)
    forms = [form for base in bases if (form := _learned(part, base, known, is_complete=is_complete)) is not None]
    forms = [*(form for form in inner_forms if not form.shape), *forms, *(form for form in inner_forms if form.shape)]
    if not forms:
        return _unread(sample, detected, known, is_complete=is_complete)
    after, learned = max(((_read(part, form, known), form) for form in forms), key=lambda pair: pair[0][:2])
    # A single record without a time that does not begin its line is usually the rest of a cut one, and has no order among the others.
    is_torn = (
        after.recognised == 1 and not after.timed and not learned.shape.startswith("%m") and "=%m" not in learned.shape.replace(" ", "")
    )
    is_torn = is_torn and not openings_of(known).has_only_program_errors(_text(part, learned))
    if after[:2] > before[:2] and not is_torn:
        return _directed(learned, after)
    return _directed(_unread(sample, detected, known, is_complete=is_complete), before)


def _peeled(sample: bytes, name: str) -> bytes:
    """A sample without one envelope; lines that it parts are whole again."""
    wrapper, joined = wrapper_named(name), b""
    if mark := item_mark((name,)):
        sample = sample.replace(mark, b"\n" + mark)
    for line in sample.split(b"\n"):
        peeled = wrapper.peel(line) or Unwrapped(line)
        joined += peeled.line if peeled.is_partial else peeled.line + b"\n"
    return joined


def _directed(layout: FileFormat | str, counts: _Yield) -> FileFormat | str:
    """The form, with the direction of its records."""
    return replace(layout, newest_first=True) if counts.descends and isinstance(layout, FileFormat) else layout


def _descends(times: Sequence[int | None]) -> bool:
    """Whether records are ordered from newest to oldest."""
    steps = [after - before for before, after in pairwise(time for time in times if time is not None)]
    return max(steps, default=0) <= 0 and sum(step < 0 for step in steps) >= _DESCENTS


def _unread(sample: bytes, layout: FileFormat | str, known: Catalogue, *, is_complete: bool) -> FileFormat | str:
    """The known layout, or why known words give no record."""
    if layout != NO_HEADER or not (is_complete or len(sample) >= _WHOLE_BYTES):
        return layout
    data = _text(sample, layout).encode()
    places = [places[0] for places in openings_of(known).byte_places(data, is_telling=True) if len(places)]
    if not places:
        return layout
    number = data.count(b"\n", 0, int(min(places))) + 1
    return f"not read: no line is in a known layout, though line {number} contains known text"


def _whole_lines(sample: bytes, limit: int = _SAMPLE_BYTES) -> bytes:
    """The first lines of a sample."""
    part = sample[:limit]
    return part if len(sample) <= limit or b"\n" not in part else part[: part.rindex(b"\n") + 1]


def _text(part: bytes, layout: FileFormat | str) -> str:
    encoding, bom_bytes = (layout.encoding, layout.bom_bytes) if isinstance(layout, FileFormat) else encoding_of(part, is_complete=True)
    return part[bom_bytes:].decode(encoding, "replace")


def _unwrapped(text: str) -> tuple[str, str]:
    """A text with its lines joined without blanks, and with blanks."""
    lines = [clean_line(line).strip() for line in text.split("\n")]
    return "".join(lines), " ".join(lines)


def _is_page(text: str) -> bool:
    """Return True for tags, entities, colours or unusual blanks in a text."""
    return any(clean_line(line) is not line for line in text.split("\n"))


def _opened(text: str, known: Catalogue) -> int:
    """The number of messages that seem to begin in a sample.

    On a line with prefixes, only these count, because the message behind one may begin like another.
    """
    data = text.encode()
    prefixes, plain = openings_of(known).byte_places(data, is_telling=True)
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _NEWLINE)
    prefixed = np.unique(np.searchsorted(ends, prefixes))
    return len(prefixes) + int(np.count_nonzero(~np.isin(np.searchsorted(ends, plain), prefixed)))


def _is_clean(read: _Yield) -> bool:
    """Whether a form reads records, all of them known."""
    return read.recognised > 0 and not read.unknown and not read.rejected


def _has_all(part: bytes, layout: FileFormat | str, known: Catalogue) -> bool:
    """Whether a layout reads every record of a sample as a whole.

    Each line with first words is a record of one of the product's loggers, so no other form has more.
    """
    if not isinstance(layout, FileFormat) or layout.wrappers:
        return False
    read, openings = layout_named(layout.layout_name).read, openings_of(known)

    def is_whole(line: str) -> bool:
        header = read(line)
        if header is None or not header.is_whole or header.logger is None or len(openings.prefix_places(line)) > 1:
            return False
        return known.loggers.is_of_product(header.logger)

    lines = (line.rstrip("\r") for line in _text(part, layout).split("\n"))
    return all(is_whole(line) or not openings.places(line) for line in lines)


def _is_doubtful(length: int, opened: int, read: _Yield) -> bool:
    """Whether a form leaves too much unread."""
    line_count = read.recognised + read.rejected + read.unknown
    if length > _SMALL_BYTES:
        return opened > _MOST * line_count
    # Unknown records count only if recognised ones outnumber them.
    counted = line_count if read.recognised >= 2 * read.unknown else line_count - read.unknown
    return (counted if 2 * read.recognised >= opened else read.recognised) < opened or 2 * read.timed < read.recognised


def _read(part: bytes, layout: FileFormat, known: Catalogue) -> _Yield:
    """Records and times that a form reads from a sample."""
    parsed = _parsed(part, layout, known)
    events = parsed.events
    times = events.column("at").cast("int64").to_pylist()
    timed = sum(time is not None for time in times)
    return _Yield(events.num_rows, timed, parsed.counts.unknown, parsed.counts.rejected, _descends(times))


def _parsed(part: bytes, layout: FileFormat, known: Catalogue) -> ParsedChunk:
    context = ChunkContext("", "", layout, ZoneConverter("UTC"), byte_offset=layout.bom_bytes, is_final=True)
    return parse_chunk(part[layout.bom_bytes :], context, known)


def _indented(part: bytes, layout: FileFormat | str) -> list[FileFormat]:
    """Forms that read objects of an indented JSON document as records, innermost first."""
    text = _text(part, layout)
    if "\n " not in text and "\n\t" not in text:
        return []
    encoding, bom_bytes = (layout.encoding, layout.bom_bytes) if isinstance(layout, FileFormat) else encoding_of(part, is_complete=True)
    names = (f"object:t{len(blanks)}" if "\t" in blanks else f"object:{len(blanks)}" for blanks in object_depths(text))
    shapes = ((JSON, ""), (MESSAGES, "{%d %p %m}"))
    return [FileFormat(layout, encoding, bom_bytes, (name,), shape) for name in names for layout, shape in shapes]


def _learned(part: bytes, layout: FileFormat | str, known: Catalogue, *, is_complete: bool) -> FileFormat | None:
    """The form derived from messages, with the known layout if any."""
    text = _text(part, layout)
    lines = text.split("\n")
    wrappers: tuple[str, ...] = (_PAGE,) if _is_page(text) else ()
    width = wrapped_width([line.rstrip("\r") for line in lines])
    opened = [line for line in map(clean_line, lines) if openings_of(known).places(line)]
    tail = common_tail(opened)
    excerpts: list[Excerpt] = list(ExcerptReader(known, width, tail).read(text))
    if not excerpts:
        return None
    tail = usual_tail(excerpts) or tail
    shape = learned_shape(excerpts, lines)
    if isinstance(layout, FileFormat):
        return replace(layout, wrappers=(*layout.wrappers, *wrappers), shape=shape.pattern, width=width, tail=tail)
    encoding, bom_bytes = encoding_of(part, is_complete=is_complete)
    return FileFormat(MESSAGES, encoding, bom_bytes, wrappers, shape.pattern, width, tail)
