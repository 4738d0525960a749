"""Lines of a chunk as numpy arrays, with flags for starts of records.

All later steps work on these arrays, whether the lines are plain, in another encoding, or in an envelope: `start` and
`end` are positions in `data`; `offset`, `stop` and `number` are positions in the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parsers.formats.layouts import HEADER_BYTES, JSON, AnyLayout, begins_record

if TYPE_CHECKING:
    from collections.abc import Sequence

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Buffer = bytes | bytearray | memoryview

_NEWLINE = 10
_RETURN = 13
_BRACE = ord("{")
_UNITS = {"utf-16-le": "<u2", "utf-16-be": ">u2", "utf-32-le": "<u4", "utf-32-be": ">u4"}
# A hole of at least this many zero bytes is separate; a shorter one belongs to the adjacent record.
ZERO_RUN_BYTES = 1 << 16


@dataclass(slots=True)
class Lines:
    """Lines of a chunk.

    `data[start:end]` is the text, `[offset, stop)` the bytes in the file with the newline. `zeros` counts zero bytes
    before the text of some lines, `stamps` are times from envelopes, and `open_end` is True if the last line has no
    newline yet.
    """

    data: Buffer
    start: Ints
    end: Ints
    offset: Ints
    stop: Ints
    number: Ints
    next_number: int
    open_end: bool = False
    zeros: dict[int, int] = field(default_factory=dict)
    stamps: Sequence[bytes | None] | None = None
    opened: Sequence[Ints] = ()
    """Places of first words, once they were searched."""

    def __len__(self) -> int:
        return len(self.start)

    def without_last(self) -> Lines:
        """The lines without the last one, which may be incomplete."""
        number = int(self.number[-1])
        kept = {line: count for line, count in self.zeros.items() if line < len(self) - 1}
        return Lines(self.data, self.start[:-1], self.end[:-1], self.offset[:-1], self.stop[:-1], self.number[:-1], number, zeros=kept)

    def text(self, line: int) -> bytes:
        """The bytes of one line."""
        return bytes(self.data[self.start[line] : self.end[line]])


def plain_lines(data: Buffer, offset: int, number: int, *, is_final: bool) -> Lines:
    """Split at newlines.

    Without `is_final` a last line without a newline is omitted.
    """
    values = np.frombuffer(data, dtype=np.uint8)
    newlines = _newlines(values)
    whole = len(newlines)
    if is_final and len(values) and (not whole or newlines[-1] != len(values) - 1):
        newlines = np.append(newlines, len(values))
    count = len(newlines)
    start = np.zeros(count, dtype=np.int64)
    np.add(newlines[:-1], 1, out=start[1:])
    offsets = start + offset
    end = newlines
    if count:
        returns = (values[np.maximum(end - 1, 0)] == _RETURN) & (end > start)
        if returns.any():
            end = end - returns
    stop = newlines + (offset + 1)
    if count > whole:
        stop[-1] -= 1
    lines = Lines(data, start, end, offsets, stop, np.arange(number, number + count, dtype=np.int64), number + whole, count > whole)
    _pass_zeros(lines, values)
    return lines


def item_lines(data: Buffer, offset: int, number: int, mark: bytes, *, is_final: bool) -> Lines:
    """Split at newlines and before each mark that begins an item.

    A document of a whole export may be one line.
    """
    whole = plain_lines(data, offset, number, is_final=True)
    places = np.fromiter((match.start() for match in re.finditer(re.escape(mark), bytes(data))), dtype=np.int64)
    begins = whole.offset - offset
    starts = np.union1d(begins, places)
    if len(starts) > len(whole):
        line = np.searchsorted(begins, starts, side="right") - 1
        is_first = np.isin(starts, begins)
        is_last = np.append(line[1:] != line[:-1], True)
        following = np.append(starts[1:], 0)
        whole = replace(
            whole,
            start=np.where(is_first, whole.start[line], starts),
            end=np.where(is_last, whole.end[line], following),
            offset=starts + offset,
            stop=np.where(is_last, whole.stop[line], following + offset),
            number=whole.number[line],
            zeros={int(np.searchsorted(line, at)): count for at, count in whole.zeros.items()},
        )
    return whole.without_last() if whole.open_end and not is_final else whole


def _newlines(values: npt.NDArray[np.uint8]) -> Ints:
    """Positions of newlines.

    Fast path: words of eight bytes with at most one newline each.
    """
    flags = values == _NEWLINE
    whole = len(flags) // 8 * 8
    words = flags[:whole].view("<u8")
    hot = np.flatnonzero(words != 0)
    ones = words[hot]
    if (ones & (ones - np.uint64(1))).any():
        return np.flatnonzero(flags)
    # A power of 256, with an exact logarithm.
    places = hot * 8 + (np.log2(ones).astype(np.int64) >> 3)
    return np.concatenate((places, whole + np.flatnonzero(flags[whole:]))) if whole < len(flags) else places


def _pass_zeros(lines: Lines, values: npt.NDArray[np.uint8]) -> None:
    """Move starts of lines behind leading zero bytes.

    A power cut or a copied sparse file leaves them.
    """
    if not len(lines):
        return
    for line in np.flatnonzero((values[np.minimum(lines.start, len(values) - 1)] == 0) & (lines.end > lines.start)).tolist():
        start, end = int(lines.start[line]), int(lines.end[line])
        texts = np.flatnonzero(values[start:end])
        count = int(texts[0]) if len(texts) else end - start
        lines.zeros[line] = count
        lines.start[line] += count


def width_of(encoding: str) -> int:
    """Number of bytes of a newline."""
    return np.dtype(_UNITS[encoding]).itemsize if encoding in _UNITS else 1


def transcoded_lines(data: Buffer, offset: int, number: int, encoding: str, *, is_final: bool) -> Lines:
    """Split lines in an encoding with ASCII newlines.

    The text becomes UTF-8; positions in the file are unchanged.
    """
    lines = plain_lines(data, offset, number, is_final=is_final)
    raw = bytes(data)
    if not len(lines) or raw.isascii():
        return lines
    parts = raw[: int(lines.stop[-1]) - offset].split(b"\n")
    text = b"\n".join(part.decode(encoding, "backslashreplace").encode("utf-8", "backslashreplace") for part in parts)
    text_lines = plain_lines(text, 0, number, is_final=is_final)
    return replace(lines, data=text_lines.data, start=text_lines.start, end=text_lines.end, zeros=text_lines.zeros)


def wide_lines(data: Buffer, offset: int, number: int, encoding: str, *, is_final: bool) -> Lines:
    """Split lines in UTF-16 or UTF-32.

    The text becomes UTF-8; positions in the file are unchanged.
    """
    width = width_of(encoding)
    even = len(data) // width * width
    units = np.frombuffer(data, dtype=_UNITS[encoding], count=even // width)
    breaks = np.flatnonzero(units == _NEWLINE)
    if not is_final:
        even = int(breaks[-1] + 1) * width if len(breaks) else 0
    lines = plain_lines(bytes(data[:even]).decode(encoding, "replace").encode("utf-8", "replace"), 0, number, is_final=is_final)
    for line, count in lines.zeros.items():
        lines.start[line] -= count
    lines.zeros.clear()
    stop = (breaks + 1) * width + offset
    if len(lines) > len(breaks):
        stop = np.append(stop, offset + even)
    lines.stop = stop
    lines.offset = np.concatenate(([offset], stop[:-1])).astype(np.int64) if len(stop) else stop
    return lines


def find_newline(data: memoryview, encoding: str) -> int:
    """Position after the first newline, or -1."""
    if encoding not in _UNITS:
        step = 1 << 16
        for begin in range(0, len(data), step):
            offset = bytes(data[begin : begin + step]).find(b"\n")
            if offset >= 0:
                return begin + offset + 1
        return -1
    width = width_of(encoding)
    units = np.frombuffer(data, dtype=_UNITS[encoding], count=len(data) // width)
    breaks = np.flatnonzero(units == _NEWLINE)
    return int(breaks[0] + 1) * width if len(breaks) else -1


def words_of(data: Buffer) -> npt.NDArray[np.uint64]:
    """The eight bytes from each position on, as one number."""
    length = max(len(data) - 7, 0)
    return np.ndarray(shape=(length,), dtype="<u8", buffer=data, strides=(1,)) if length else np.zeros(0, dtype="<u8")


def _word(shape: str) -> tuple[np.uint64, np.uint64]:
    """Mask and value of eight characters.

    `0` is a digit (or one of `:;<=>?`), `?` is anything.
    """
    mask = bytes({"0": 0xF0, "?": 0}.get(character, 0xFF) for character in shape)
    value = bytes({"0": 0x30, "?": 0}.get(character, ord(character)) for character in shape)
    return np.uint64(int.from_bytes(mask, "little")), np.uint64(int.from_bytes(value, "little"))


_ISO_SHAPE = "0000-00-00?00:00:00"
_ISO_WORDS = tuple((at, *_word(_ISO_SHAPE[at : at + 8])) for at in (0, 8, 11))


def bytes_at(data: Buffer, places: Ints, width: int) -> npt.NDArray[np.void]:
    """`width` bytes from each position on.

    One pass over the data is much faster than one per word.
    """
    whole = np.ndarray(shape=(len(data) - width + 1,), dtype=f"V{width}", buffer=data, strides=(1,))
    cut: npt.NDArray[np.void] = whole[places]
    return cut


def word_in(cut: npt.NDArray[np.void], at: int) -> npt.NDArray[np.uint64]:
    """The eight bytes at an offset of each piece, as one number."""
    return np.ndarray(shape=(len(cut),), dtype="<u8", buffer=cut, offset=at, strides=(cut.itemsize,)).copy()


def iso_at(data: Buffer, places: Ints, ends: Ints) -> Flags:
    """Flag positions with an ISO date and time."""
    width = len(_ISO_SHAPE)
    flags: Flags = places + width <= ends
    if len(data) < width or not len(places):
        return np.zeros(len(places), dtype=bool)
    cut = bytes_at(data, places if flags.all() else np.where(flags, places, 0), width)
    for at, mask, value in _ISO_WORDS:
        flags &= (word_in(cut, at) & mask) == value
    return flags


def record_starts(lines: Lines, layout: AnyLayout) -> Flags:
    """Flag the lines that begin a record.

    A line begins one according to the file's own layout, or any other layout with a date, because programs change their
    layout and logs are pasted together. Undated layouts do not count, since `WARN text` may be part of a message. The
    result depends on that line alone, so it is the same for every split into chunks.
    """
    if layout.time_at is None:
        flags = np.zeros(len(lines), dtype=bool)
        if layout.name == JSON and len(lines):
            flags |= (np.frombuffer(lines.data, dtype=np.uint8)[np.minimum(lines.start, len(lines.data) - 1)] == _BRACE) & (
                lines.end > lines.start
            )
        for line in np.flatnonzero(~flags).tolist():
            flags[line] = _begins(lines.text(line), layout)
        return flags
    flags = iso_at(lines.data, lines.start + layout.time_at, lines.end)
    values = np.frombuffer(lines.data, dtype=np.uint8)
    for at, byte in enumerate(layout.pattern[: layout.time_at].encode()):
        flags &= values[np.minimum(lines.start + at, len(values) - 1)] == byte
    if not flags.all():
        for line in np.flatnonzero(~flags & _may_begin(lines, values)).tolist():
            flags[line] = _begins(lines.text(line), layout)
    return flags


def _may_begin(lines: Lines, values: npt.NDArray[np.uint8]) -> Flags:
    """Flag lines that may begin a record.

    Empty or indented lines, as in stack traces and settings, cannot.
    """
    first = values[np.minimum(lines.start, len(values) - 1)]
    flags: Flags = (lines.end > lines.start) & (first > 32)
    return flags


def _begins(line: bytes, layout: AnyLayout) -> bool:
    text = line[:HEADER_BYTES].decode("utf-8", "replace")
    return layout.head.match(text) is not None or begins_record(text)
