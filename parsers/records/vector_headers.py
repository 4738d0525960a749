"""Read headers of Kafka's own layout as columns.

This does for all records of a chunk in `[%d] %p %m (%c)` what `RecordReader` does for one: times, levels and loggers by
numpy, messages by the catalogue's quick forms, columns per wording. Any unusual record (several lines, a torn line, an
id with a space) is left to `RecordReader`. A test checks that both give equal results.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from parsers.arrow_arrays import numbers, strings
from parsers.formats.layouts import LEVELS
from parsers.formats.lines import Flags, Ints, Lines, bytes_at, word_in, words_of
from parsers.formats.time_zones import ZoneConverter
from parsers.formats.timestamps import CALENDAR_US, civil_us

if TYPE_CHECKING:
    from parsers.catalogue.catalogue import Catalogue

MachineWords = npt.NDArray[np.uint64]
# Columns of `yyyy-MM-dd HH:mm:ss,SSS]`: separators, and starts of pairs of digits.
_BETWEEN = [4, 7, 10, 13, 16, 19, 23]
_PAIRS = (0, 2, 5, 8, 11, 14, 17, 20)
_LEVEL_AT = 26
_STAMP_BYTES = 26
_MAX_TAIL_BYTES = 120
_MAX_LOGGERS = 4096
_LONG_ENOUGH = 24
REQUEST_BEGINNINGS = ("Completed request:", "Processor ")
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Tail(NamedTuple):
    """The text after a message: ` (logger)`."""

    logger: str
    text: bytes


class LoggerSuffixes:
    """Loggers at the ends of lines, found by their last 16 bytes.

    `agree` then compares them completely.
    """

    def __init__(self) -> None:
        # Open table from 16 bits of a key to its code; colliding keys are in `_others`.
        self._places = np.zeros(1 << 16, dtype=np.int16)
        self._keys = np.zeros(1, dtype=np.uint64)
        self._codes = np.zeros(1, dtype=np.int64)
        self._others: dict[int, int] = {}
        self.known: list[Tail] = [Tail("", b"")]
        self._by_text: dict[bytes, int] = {}

    def codes(self, data: memoryview, starts: Ints, ends: Ints) -> Ints:
        """Code of the logger of each line, 0 for none.

        Names with the same ending may share a code; see `agree`.
        """
        if not len(starts) or len(data) < _LONG_ENOUGH:
            return np.zeros(len(starts), dtype=np.int64)
        enough = ends - starts >= _LONG_ENOUGH
        safe = ends if enough.all() else np.where(enough, ends, _LONG_ENOUGH)
        cut = bytes_at(data, safe - 16, 16)
        keys = (word_in(cut, 8) * _MIX) ^ word_in(cut, 0)
        keys *= _MIX
        place = self._places[keys >> np.uint64(48)]
        codes: Ints = self._codes[place]
        for at in np.flatnonzero(self._keys[place] != keys).tolist():
            codes[at] = self._look_up(int(keys[at]), data, int(starts[at]), int(safe[at]))
        if safe is not ends:
            codes[~enough] = 0
        return codes

    def _look_up(self, key: int, data: memoryview, start: int, end: int) -> int:
        slot = int(self._places[key >> 48])
        if slot and int(self._keys[slot]) == key:
            return int(self._codes[slot])
        code = self._others.get(key)
        if code is not None:
            return code
        code = self._code(bytes(data[max(start, end - _MAX_TAIL_BYTES) : end]))
        if not slot and len(self._keys) < _MAX_LOGGERS:
            self._places[key >> 48] = len(self._keys)
            self._keys = np.append(self._keys, np.uint64(key))
            self._codes = np.append(self._codes, code)
        elif len(self._others) < _MAX_LOGGERS:
            self._others[key] = code
        return code

    def _code(self, end: bytes) -> int:
        mark = end.rfind(b" (")
        text = end[mark:]
        logger = text[2:-1].decode("ascii", "replace")
        if mark < 0 or not text.endswith(b")") or len(text) < 8 or not logger.replace(".", "").replace("$", "").isalnum():
            return 0
        code = self._by_text.get(text)
        if code is None:
            code = self._by_text[text] = len(self.known)
            self.known.append(Tail(logger, text))
        return code

    def agree(self, words: MachineWords, codes: Ints, ends: Ints) -> Flags:
        """Flag lines that end with the complete text of their code."""
        flags: Flags = codes > 0
        for code in np.unique(codes).tolist():
            if not code:
                continue
            text = self.known[code].text
            where = np.flatnonzero(codes == code)
            same = np.ones(len(where), dtype=bool)
            begins = np.maximum(ends[where] - len(text), 0)
            for at in [*range(0, len(text) - 8, 8), len(text) - 8]:
                same &= words[begins + at] == np.uint64(int.from_bytes(text[at : at + 8], "little"))
            flags[where] &= same
        return flags


@lru_cache(maxsize=1)
def tails() -> LoggerSuffixes:
    """The table of this process.

    There are few loggers, and every chunk has them.
    """
    return LoggerSuffixes()


class MessagePrefixes:
    """Flags messages that the catalogue may know, by their first 16 bytes."""

    def __init__(self, catalogue: Catalogue) -> None:
        outer = (prefix for prefix in catalogue.prefixes.values() if not prefix.inside and not prefix.mark)  # brokers print no marks
        texts = [text.literals[0] for prefix in outer for text in prefix.texts]
        texts += [pattern.template.literals[0] for pattern in catalogue.patterns if not pattern.prefix]
        texts = [text for text in texts if len(text) > 1]  # half of a broker's messages begin with a bracket
        # A blank: the level was padded, and the message begins later.
        self._texts = tuple({text.encode()[:16] for text in (*texts, *REQUEST_BEGINNINGS, " ")})
        # Open table by 16 bits of a key; colliding keys are compared each time.
        self._keys = np.zeros(1 << 16, dtype=np.uint64)
        self._known = np.zeros(1 << 16, dtype=bool)

    def flags(self, first: MachineWords, second: MachineWords) -> Flags:
        """Flag messages with a beginning in the catalogue.

        Arguments are their first and second eight bytes.
        """
        keys = ((first * _MIX) ^ second) * _MIX
        slots = keys >> np.uint64(48)
        flags: Flags = self._known[slots]
        for at in np.flatnonzero(self._keys[slots] != keys).tolist():
            text = int(first[at]).to_bytes(8, "little") + int(second[at]).to_bytes(8, "little")
            flags[at] = text.startswith(self._texts)
            self._keys[slots[at]], self._known[slots[at]] = keys[at], flags[at]
        return flags


def may_be_known(data: memoryview, starts: Ints, beginnings: MessagePrefixes) -> Flags:
    """Flag lines that begin like a known message or unusually, whatever their logger.

    Concurrent threads or a crash may have torn such a line: its logger then belongs to the second record.
    """
    if len(data) < 2 * _LONG_ENOUGH or not len(starts):
        return np.ones(len(starts), dtype=bool)
    safe = np.minimum(starts, len(data) - 2 * _LONG_ENOUGH)
    cut = bytes_at(data, safe + _LONG_ENOUGH, _LONG_ENOUGH)
    level = word_in(cut, 0)  # `] INFO [` or `] ERROR `
    usual = ((level & np.uint64(0xFFFF)) == np.uint64(0x205D)) & (safe == starts)
    short = ((level >> np.uint64(48)) & np.uint64(0xFF)) == np.uint64(0x20)  # INFO and WARN
    first, second = (np.where(short, word_in(cut, at - 1), word_in(cut, at)) for at in (8, 16))
    flags: Flags = ~usual | beginnings.flags(first, second)
    return flags


def _level_word(name: str) -> tuple[str, np.uint64, np.uint64]:
    text = f"{name} ".encode()
    mask = int.from_bytes(b"\xff" * len(text) + b"\x00" * (8 - len(text)), "little")
    return name, np.uint64(mask), np.uint64(int.from_bytes(text.ljust(8, b"\x00"), "little"))


_LEVEL_WORDS = tuple(_level_word(name) for name in sorted(LEVELS))


@dataclass(slots=True)
class HeaderColumns:
    """Headers of ordinary records, as parallel arrays."""

    ordinary: Flags
    local_us: Ints
    level: Ints  # index in `_LEVEL_WORDS`
    start: Ints  # of the message

    @staticmethod
    def levels() -> list[str]:
        """Names of levels by index."""
        return [name for name, _, _ in _LEVEL_WORDS]


def read_heads(data: memoryview, words: MachineWords, starts: Ints, ends: Ints) -> HeaderColumns:
    """Read headers `[yyyy-MM-dd HH:mm:ss,SSS] LEVEL message`.

    Returns times, levels and starts of messages.
    """
    values = np.frombuffer(data, dtype=np.uint8)
    ordinary: Flags = ends - starts >= _STAMP_BYTES + 8
    safe = np.where(ordinary, starts, 0)
    if len(values) < _STAMP_BYTES + 8:
        zero = np.zeros(len(starts), dtype=np.int64)
        return HeaderColumns(np.zeros(len(starts), dtype=bool), zero, zero, zero)
    stamp = bytes_at(data, safe, _STAMP_BYTES).view(np.uint8).reshape(-1, _STAMP_BYTES)
    for at, byte in ((0, "["), (11, " "), (24, "]"), (25, " ")):
        ordinary &= stamp[:, at] == ord(byte)
    ordinary &= (stamp[:, 20] == ord(",")) | (stamp[:, 20] == ord("."))
    digits = stamp[:, 1:25] - np.uint8(48)
    wrong = digits > 9
    wrong[:, _BETWEEN] = False
    ordinary &= ~wrong.view("<u8").any(axis=1)
    local = _local_us(digits)
    ordinary &= local >= 0
    level = np.full(len(starts), -1, dtype=np.int64)
    start = np.zeros(len(starts), dtype=np.int64)
    word = words[safe + _LEVEL_AT]
    for number, (name, mask, value) in enumerate(_LEVEL_WORDS):
        is_equal = (word & mask) == value
        level[is_equal] = number
        start[is_equal] = safe[is_equal] + _LEVEL_AT + len(name) + 1
    ordinary &= level >= 0
    ordinary &= values[np.minimum(start, len(values) - 1)] != ord(" ")
    return HeaderColumns(ordinary, local, level, start)


def _local_us(digits: npt.NDArray[np.uint8]) -> Ints:
    """Local microseconds from digits of `yyyy-MM-dd HH:mm:ss,SSS`.

    -1 for dates that do not exist.
    """
    pairs = digits[:, :-1] * np.uint8(10) + digits[:, 1:]
    century, year, month, day, hour, minute, second, hundredths = (pairs[:, at].astype(np.int64) for at in _PAIRS)
    date = ((century * 100 + year) * 100 + month) * 100 + day
    is_one_day = len(date) and (date == date[0]).all()  # true for most chunks, and sorting would take long
    days, where = (date[:1], np.zeros(len(date), dtype=np.int64)) if is_one_day else np.unique(date, return_inverse=True)
    starts = np.array([_day_us(day) for day in days.tolist()], dtype=np.int64)[where] if len(days) else np.zeros(0, dtype=np.int64)
    local: Ints = starts + ((hour * 60 + minute) * 60 + second) * 1_000_000 + (hundredths * 10 + digits[:, 22]) * 1000
    wrong = (starts < 0) | (starts >= CALENDAR_US.stop) | (hour > 23) | (minute > 59) | (second > 60)
    local[wrong] = -1
    return local


def _day_us(date: int) -> int:
    day_us = civil_us(date // 10_000, date // 100 % 100, date % 100, 0, 0, 0)
    return -1 if day_us is None else day_us


@dataclass(slots=True)
class Candidates:
    """Ordinary records with messages that the catalogue may know.

    Holds positions in the file, times and messages.
    """

    unit: Ints
    text: pa.Array
    messages: list[str]
    at: Ints
    odd: Flags
    level: Ints
    tail: Ints


def ordinary_records(lines: Lines, units: Ints, starts: Ints, ends: Ints, codes: Ints, clock: ZoneConverter) -> Candidates | None:
    """Cut the messages out of ordinary records.

    Returns None if a text is not UTF-8. Other records are omitted.
    """
    data = memoryview(lines.data)
    words = words_of(data)
    read = read_heads(data, words, starts, ends)
    keep = np.flatnonzero(read.ordinary & tails().agree(words, codes, ends))
    units, starts, ends, codes = units[keep], starts[keep], ends[keep], codes[keep]
    lengths = np.array([len(suffix.text) for suffix in tails().known], dtype=np.int64)
    begins, stops = read.start[keep], ends - lengths[codes]
    edges = np.empty(2 * len(keep), dtype=np.int64)
    edges[0::2], edges[1::2] = starts, ends
    at, odd = clock.utc_many(read.local_us[keep])
    if not len(keep):
        return Candidates(units, strings([]), [], at, odd, read.level[keep], codes)
    pieces = pa.Array.from_buffers(pa.large_binary(), len(edges) - 1, [None, pa.py_buffer(edges), pa.py_buffer(data)])
    binary = pieces.take(numbers(np.arange(0, len(edges) - 1, 2)))
    try:
        text = binary.cast(pa.large_string()).cast(pa.string())
    except pa.ArrowInvalid:
        return None
    return Candidates(units, text, _messages(data, binary, starts, begins, stops), at, odd, read.level[keep], codes)


def _messages(data: memoryview, texts: pa.Array, starts: Ints, begins: Ints, stops: Ints) -> list[str]:
    """The messages as strings: slices of one string if all is ASCII."""
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int64)[: len(texts) + 1]
    whole = bytes(texts.buffers()[2])[: int(offsets[-1])]
    if whole.isascii():
        joined = whole.decode("ascii")
        shift = offsets[:-1] - starts
        return [joined[begin:stop] for begin, stop in zip((begins + shift).tolist(), (stops + shift).tolist(), strict=True)]
    return [str(data[begin:stop], "utf-8") for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True)]
