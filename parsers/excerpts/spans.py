"""Which lines begin a record, where messages tell the records."""

from __future__ import annotations

import numpy as np

from parsers.excerpts.openings import Openings
from parsers.formats.lines import Flags, Ints, Lines

_NEAR = 120
"""Bytes of a line in which the time of its header stands."""
_DATE = 13
"""Characters of a date and an hour, before the first colon of a time."""
_COLON, _ZERO, _NINE, _NEWLINE = 58, 48, 57, 10
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


def excerpt_heads(lines: Lines, openings: Openings, width: int = 0) -> Flags:
    """Flag lines with a time or the first words of a message.

    A line of a message alone continues a line of a time alone, its header. So a flag depends on a line and the one before.
    A time behind words, in a line behind one that a terminal cut at its width, is that of fields behind a message.
    """
    count = len(lines)
    if not count:
        return np.zeros(0, dtype=bool)
    clocks = _clocks(lines)
    timed = _flagged(lines, clocks)
    prefixes, plain = (places[places < lines.end[-1]] for places in openings.byte_places(lines.data))
    opened = _flagged(lines, prefixes) | _flagged(lines, _at_start(lines, plain)) | _flagged(lines, _over_ends(lines, openings, width))
    lone_time = timed & ~opened
    if width:
        lengths = lines.end - lines.start
        after_full = np.concatenate(([False], lengths[:-1] == width))
        timed &= ~after_full | opened | _flagged(lines, _at_start(lines, clocks - _DATE))
        lone_time = timed & ~opened
    after_time = np.concatenate(([False], lone_time[:-1]))
    return timed | (opened & ~after_time)


def _over_ends(lines: Lines, openings: Openings, width: int) -> Ints:
    """Places of prefixes that go on in the next line."""
    data = bytes(lines.data)
    spaced, _ = openings.byte_places(data.replace(b"\n", b" "))
    found = [spaced]
    if width:
        ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _NEWLINE)
        glued, _ = openings.byte_places(data.replace(b"\n", b""))
        found.append(glued + np.searchsorted(ends - np.arange(len(ends)), glued, side="right"))
    places = np.concatenate(found)
    kept: Ints = places[places < lines.end[-1]]
    return kept


def _line_of(lines: Lines, places: Ints) -> Ints:
    found: Ints = np.searchsorted(lines.start, places, side="right") - 1
    return found


def _flagged(lines: Lines, places: Ints) -> Flags:
    flags = np.zeros(len(lines), dtype=bool)
    if len(places):
        found = _line_of(lines, places)
        flags[found[found >= 0]] = True
    return flags


def _clocks(lines: Lines) -> Ints:
    """Places of times of day (`:mm:ss`) near the beginnings of lines."""
    values = np.frombuffer(lines.data, dtype=np.uint8)
    places: Ints = np.flatnonzero(values[:-6] == _COLON) if len(values) > 6 else np.zeros(0, dtype=np.int64)
    places = places[(values[places + 3] == _COLON) & (places < lines.end[-1])]
    for step in (-1, 1, 2, 4, 5):
        digits = values[np.maximum(places + step, 0)]
        places = places[(digits >= _ZERO) & (digits <= _NINE)]
    if not len(places):
        return places
    found = _line_of(lines, places)
    kept: Ints = places[(found >= 0) & (places - lines.start[np.maximum(found, 0)] <= _NEAR)]
    return kept


def _at_start(lines: Lines, places: Ints) -> Ints:
    """Places before which their line has neither letters nor digits."""
    if not len(places):
        return places
    starts = lines.start[np.maximum(_line_of(lines, places), 0)]
    data = memoryview(lines.data)
    kept = [place for place, start in zip(places.tolist(), starts.tolist(), strict=True) if not _WORD.intersection(data[start:place])]
    return np.array(kept, dtype=np.int64)
