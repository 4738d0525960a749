"""Find lines that begin a record, by their messages."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from parsers.excerpts.excerpt_reader import DOCUMENT, MAX_LINES
from parsers.excerpts.openings import Openings
from parsers.excerpts.stamps import BARE_MILLIS
from parsers.formats.lines import Flags, Ints, Lines

_NEAR = 120
"""Bytes of a line in which the time of its header stands."""
_DATE = 13
"""Characters of a date and an hour, before the first colon of a time."""
_COLON, _ZERO, _NINE, _NEWLINE = 58, 48, 57, 10
_BLANKS = np.frombuffer(b" \t\r\n", dtype=np.uint8)
_INDENTS = re.compile(rb"\n[ \t\r\n]+")
_DOCUMENT = re.compile(b"^" + DOCUMENT.encode(), re.MULTILINE)
_CLOSING = b" \t\r\"'`,;|\\*_~"
_MILLIS = re.compile(BARE_MILLIS.encode(), re.MULTILINE)
_MILLIS_DIGITS = 13
_NUMBER = re.compile(rb"1\d{12}(?!\d)")
_PREFIX_ALONE = re.compile(rb"\[[^\]\n]*\]:?\s*")
_WORD = re.compile(rb"[A-Za-z0-9]")
_LEVEL = re.compile(rb"[\[(<|* ]{0,4}(?:trace|debug|info|notice|warn|warning|error|critical|fatal)[\])>|:* ]{1,4}", re.IGNORECASE)
"""A level alone before a message, as Elixir's Logger and small handlers write it."""


def excerpt_heads(lines: Lines, openings: Openings, width: int = 0, *, has_time: bool = False) -> Flags:
    """Flag lines with a time or the first words of a message.

    A line of a message alone continues a line of a time alone, its header, and a line in which a prefix goes on continues
    the one before. Where records are `timed`, first words begin a record only far behind a time. So a flag depends on a
    line and its neighbours. A time behind words, in a line behind one that a terminal cut at its width, is that of fields
    behind a message, unless both lines have it in one column.
    """
    count = len(lines)
    if not count:
        return np.zeros(0, dtype=bool)
    times = _times(lines)
    stamped = _flagged(lines, times)
    prefixes, plain, over_ends, _ = opening_places(lines, openings, width)
    plainly = _flagged(lines, _at_start(lines, plain)) & ~_after(_flagged(lines, _at_ends(lines, prefixes)))
    opened = _flagged(lines, prefixes) | plainly | _flagged(lines, over_ends)
    if width:
        lengths = lines.end - lines.start
        after_full = _after(lengths == width)
        stamped &= ~after_full | opened | _flagged(lines, _at_start(lines, times - _DATE)) | _as_line_before(lines, times)
    after_time = _soon_after(stamped) if has_time else _after(stamped & ~opened)
    parted = _flagged(lines, np.setdiff1d(over_ends, prefixes))
    return (stamped | (opened & ~after_time)) & ~_after(parted) & ~_inside_documents(lines)


def _at_ends(lines: Lines, prefixes: Ints) -> Ints:
    """Prefixes with nothing behind them: their messages stand in the next lines."""
    ends = lines.end[np.maximum(_line_of(lines, prefixes), 0)] if len(prefixes) else prefixes
    data = memoryview(lines.data)
    pairs = zip(prefixes.tolist(), ends.tolist(), strict=True)
    return np.array([place for place, end in pairs if _PREFIX_ALONE.fullmatch(data, place, end)], dtype=np.int64)


def _inside_documents(lines: Lines) -> Flags:
    """Flag lines that go on with a JSON document."""
    inside = np.zeros(len(lines), dtype=bool)
    data = bytes(lines.data)
    if b'":' not in data:
        return inside
    begins = [match.start() for match in _DOCUMENT.finditer(data, 0, int(lines.end[-1])) if b"{" in match[0]]
    firsts = np.unique(_line_of(lines, np.array(begins, dtype=np.int64)))
    for first in firsts.tolist():
        for line in range(first, min(first + MAX_LINES, len(lines)) - 1):
            if lines.text(line).rstrip(_CLOSING).endswith(b"}"):
                break
            inside[line + 1] = True
    inside[firsts] = False
    return inside


def _after(flags: Flags) -> Flags:
    """Flag the lines after flagged ones."""
    return np.concatenate(([False], flags[:-1]))


def _as_line_before(lines: Lines, times: Ints) -> Flags:
    """Flag lines with a time in the same column as the line before.

    Lines of one length are no line that was cut.
    """
    columns = np.full(len(lines), -1, dtype=np.int64)
    line_numbers = _line_of(lines, times)[::-1]
    columns[line_numbers] = times[::-1] - lines.start[line_numbers]
    same = np.concatenate(([False], columns[1:] == columns[:-1]))
    is_as_before: Flags = same & (columns >= 0)
    return is_as_before


def _soon_after(flags: Flags) -> Flags:
    """Flag lines that a record of a flagged line may reach."""
    places = np.arange(len(flags))
    last = np.maximum.accumulate(np.where(flags, places, -MAX_LINES))
    is_soon_after: Flags = (places - last < MAX_LINES) & ~flags
    return is_soon_after


def opening_places(lines: Lines, openings: Openings, width: int) -> Sequence[Ints]:
    """Positions of prefixes and of other first words, searched once.

    Then the same for those that go on in the next line.
    """
    if not lines.opened:
        within = (places[places < lines.end[-1]] for places in openings.byte_places(lines.data))
        lines.opened = (*within, *_places_over_ends(lines, openings, width))
    return lines.opened


def _places_over_ends(lines: Lines, openings: Openings, width: int) -> tuple[Ints, Ints]:
    """Places of first words that go on in the next line.

    Between words, a break with the blanks around it is one blank; within a word, it is nothing.
    """
    data = bytes(lines.data)
    breaks = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _NEWLINE)
    prefixes, plain = _places_without(data, np.concatenate((_before_breaks(data, breaks), _behind_breaks(data))), openings)
    if width:
        within = _places_without(data, breaks, openings)
        prefixes, plain = (np.concatenate(both) for both in zip((prefixes, plain), within, strict=True))
    return prefixes[prefixes < lines.end[-1]], plain[plain < lines.end[-1]]


def _places_without(data: bytes, left_out: Ints, openings: Openings) -> tuple[Ints, Ints]:
    """Places of first words in a text without some of its bytes.

    Blanks stand for the other line breaks.
    """
    kept = np.ones(len(data), dtype=bool)
    kept[left_out] = False
    text = np.frombuffer(data, dtype=np.uint8)[kept].tobytes().replace(b"\n", b" ")
    removed = np.flatnonzero(~kept)
    removed -= np.arange(len(removed))
    prefixes, plain = (places + np.searchsorted(removed, places, side="right") for places in openings.byte_places(text))
    return prefixes, plain


def _before_breaks(data: bytes, breaks: Ints) -> Ints:
    """Places of blanks at ends of lines."""
    values = np.frombuffer(data, dtype=np.uint8)
    places = [np.zeros(0, dtype=np.int64)]
    begins = np.concatenate(([0], breaks[:-1] + 1)) if len(breaks) else breaks
    padded = np.flatnonzero((breaks > begins) & np.isin(values[np.maximum(breaks - 1, 0)], _BLANKS))
    for begin, end in zip(begins[padded].tolist(), breaks[padded].tolist(), strict=True):
        places.append(np.arange(begin + len(data[begin:end].rstrip(b" \t\r")), end))
    return np.concatenate(places)


def _behind_breaks(data: bytes) -> Ints:
    """Positions of blanks and further breaks after line breaks."""
    places = [np.arange(match.start() + 1, match.end()) for match in _INDENTS.finditer(data)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *places])


def _line_of(lines: Lines, places: Ints) -> Ints:
    line_numbers: Ints = np.searchsorted(lines.start, places, side="right") - 1
    return line_numbers


def _flagged(lines: Lines, places: Ints) -> Flags:
    flags = np.zeros(len(lines), dtype=bool)
    if len(places):
        line_numbers = _line_of(lines, places)
        flags[line_numbers[line_numbers >= 0]] = True
    return flags


def _times(lines: Lines) -> Ints:
    """Positions in times, after a date and an hour.

    Only those near the beginnings of lines.
    """
    data = bytes(lines.data)
    numbers = _near_starts(lines, np.array([match.start() for match in _NUMBER.finditer(data)], dtype=np.int64) + _DATE) - _DATE
    begins = [begin for begin in numbers.tolist() if _MILLIS.match(data, begin)]
    millis = [begin for begin in begins if not _is_alone(data, begin, begin + _MILLIS_DIGITS)]
    return np.concatenate((_near_starts(lines, _clocks(lines)), np.array(millis, dtype=np.int64) + _DATE))


def _is_alone(data: bytes, begin: int, end: int) -> bool:
    """Whether a number is the only word of its line."""
    stop = data.find(b"\n", end)
    stop = stop if stop >= 0 else len(data)
    return _WORD.search(data, data.rfind(b"\n", 0, begin) + 1, begin) is None and _WORD.search(data, end, stop) is None


def _near_starts(lines: Lines, places: Ints) -> Ints:
    places = places[places < lines.end[-1]]
    line_numbers = _line_of(lines, places)
    kept: Ints = places[(line_numbers >= 0) & (places - lines.start[np.maximum(line_numbers, 0)] <= _NEAR)]
    return kept


def _clocks(lines: Lines) -> Ints:
    """Places of times of day (`:mm:ss`)."""
    values = np.frombuffer(lines.data, dtype=np.uint8)
    places: Ints = np.flatnonzero(values[:-6] == _COLON) if len(values) > 6 else np.zeros(0, dtype=np.int64)
    places = places[values[places + 3] == _COLON]
    for step in (-1, 1, 2, 4, 5):
        digits = values[np.maximum(places + step, 0)]
        places = places[(digits >= _ZERO) & (digits <= _NINE)]
    return places


def _at_start(lines: Lines, places: Ints) -> Ints:
    """Places before which their line has neither letters nor digits, but for a level."""
    if not len(places):
        return places
    starts = lines.start[np.maximum(_line_of(lines, places), 0)]
    data = memoryview(lines.data)
    kept = [
        place
        for place, start in zip(places.tolist(), starts.tolist(), strict=True)
        if _WORD.search(data, start, place) is None or _LEVEL.fullmatch(data, start, place) is not None
    ]
    return np.array(kept, dtype=np.int64)
