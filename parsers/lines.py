"""Lines of a chunk as numpy arrays, and which of them begin a record.

All later steps work on these arrays, whether the lines stand in the file as they are or were taken out of
an envelope: `start` and `end` are places in `data`, `offset` and `number` are places in the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parsers.layouts import BROKEN_STAMP, HEADER_BYTES, Layout, layouts

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Buffer = bytes | bytearray | memoryview

NEWLINE = 10
_RETURN = 13
# `dddd-dd-dd dd:dd:dd` as three words of eight bytes, each as (offset, mask, value). Digits are 0x30 to 0x3f to this test.
_ISO_SHAPE = "0000-00-00?00:00:00"


def _word(shape: str) -> tuple[int, int]:
    mask = bytes(0xF0 if each == "0" else 0x00 if each == "?" else 0xFF for each in shape)
    value = bytes(0x30 if each == "0" else 0x00 if each == "?" else ord(each) for each in shape)
    return int.from_bytes(mask, "little"), int.from_bytes(value, "little")


_ISO_WORDS = tuple((at, *_word(_ISO_SHAPE[at : at + 8])) for at in (0, 8, 11))
_ISO_LENGTH = len(_ISO_SHAPE)


@dataclass(slots=True)
class Lines:
    """Lines of a chunk: `data[start:end]` is the text, `[offset, stop)` the bytes in the file, newline included."""

    data: Buffer
    start: Ints
    end: Ints
    offset: Ints
    stop: Ints
    number: Ints
    next_number: int

    def __len__(self) -> int:
        return len(self.start)

    def text(self, line: int) -> bytes:
        return bytes(self.data[self.start[line] : self.end[line]])


def plain_lines(data: Buffer, offset: int, number: int, *, final: bool) -> Lines:
    """Split at newlines. Without `final` a last line that has no newline yet is left out."""
    values = np.frombuffer(data, dtype=np.uint8)
    newlines = np.flatnonzero(values == NEWLINE)
    whole = len(newlines)
    if final and len(values) and (not whole or newlines[-1] != len(values) - 1):
        newlines = np.append(newlines, len(values))
    count = len(newlines)
    start = np.zeros(count, dtype=np.int64)
    np.add(newlines[:-1], 1, out=start[1:])
    end = newlines
    returns = (values[np.maximum(end - 1, 0)] == _RETURN) & (end > start) if count else None
    if returns is not None and returns.any():
        end = end - returns
    stop = newlines + (offset + 1)
    if count > whole:
        stop[-1] -= 1
    return Lines(data, start, end, start + offset, stop, np.arange(number, number + count, dtype=np.int64), number + whole)


def words_of(data: Buffer) -> npt.NDArray[np.uint64]:
    """The eight bytes from each place of the data on, as one number."""
    length = max(len(data) - 7, 0)
    return np.ndarray(shape=(length,), dtype="<u8", buffer=data, strides=(1,)) if length else np.zeros(0, dtype="<u8")


def iso_at(data: Buffer, places: Ints, ends: Ints) -> Flags:
    """Whether an ISO date and time stands at each place."""
    words = words_of(data)
    long_enough = places + _ISO_LENGTH <= ends
    safe = np.where(long_enough, places, 0)
    if len(words) < _ISO_LENGTH:
        return np.zeros(len(places), dtype=bool)
    flags = long_enough
    for at, mask, value in _ISO_WORDS:
        flags = flags & ((words[safe + at] & np.uint64(mask)) == np.uint64(value))
    return flags


def heads(lines: Lines, layout: Layout) -> Flags:
    """Which lines begin a record.

    A line does when the file's own layout says so, or any other layout with a date: programs change their
    layout and people paste logs together. Only the dated ones, since `WARN text` may be part of a message.
    The answer for a line depends on that line alone, so the cut into chunks cannot change it.
    """
    if layout.time_at is None:
        return np.fromiter((_begins(lines.text(line), layout) for line in range(len(lines))), dtype=bool, count=len(lines))
    flags = iso_at(lines.data, lines.start + layout.time_at, lines.end)
    if layout.time_at:
        lead = layout.pattern[: layout.time_at].encode()
        values = np.frombuffer(lines.data, dtype=np.uint8)
        for at, byte in enumerate(lead):
            safe = np.minimum(lines.start + at, len(values) - 1)
            flags &= values[safe] == byte
    if not flags.all():
        for line in np.flatnonzero(~flags & _may_begin(lines)).tolist():
            flags[line] = _begins(lines.text(line), layout)
    return flags


def _may_begin(lines: Lines) -> Flags:
    """Lines that are not plainly the middle of a record: empty, or indented as stack traces and settings are."""
    values = np.frombuffer(lines.data, dtype=np.uint8)
    if not len(values):
        return np.zeros(len(lines), dtype=bool)
    first = values[np.minimum(lines.start, len(values) - 1)]
    return (lines.end > lines.start) & (first > 32)


def _begins(line: bytes, layout: Layout) -> bool:
    text = line[:HEADER_BYTES].decode("utf-8", "replace")
    if layout.head.match(text):
        return True
    if _SHAPED.search(text) is None:
        return False
    if BROKEN_STAMP.match(text):
        return True
    return any(other.head.match(text) for other in layouts() if other.date is not None and other.date.dated)


# What any header has: a level near digits, within the first few hundred characters.
_SHAPED = re.compile(r"^.{0,300}?\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)", re.ASCII)
