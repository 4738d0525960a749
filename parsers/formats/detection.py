"""Detect how to read a file's content: encoding, envelopes, layout."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from parsers.formats.envelopes import RECORD, likely_wrappers, wrapper_named
from parsers.formats.layout_votes import Vote, vote
from parsers.formats.layouts import JSON, MESSAGES, AnyLayout, begins_record, layout_named
from parsers.formats.pages import Unwrapped, Wrapper

NO_HEADER = "no header"
"""Stands for the layout of a text without known record headers."""

_SAMPLE_LINES = 50
_SAMPLE_LINE_BYTES = 1 << 16
_MAX_ENVELOPES = 3
_SAMPLES = 4
_DATED = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d", re.ASCII)
# Of the lines of a log without envelopes at least this part are headers; with less it is worth trying to find one.
_ENOUGH = 0.5
_DOCUMENT = re.compile(r"\n(?=\{)")
# What a power cut or a copied sparse file leaves in a text.
_HOLE = re.compile(rb"\x00{64,}")
_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_ENCODINGS = ("gb18030", "shift_jis", "euc_kr", "cp1252", "cp1251")
"""Default log encodings of a JVM on platforms without UTF-8.

All have newlines as ASCII has them.
"""

_ANY_BYTES = "latin_1"
"""Encoding where none fits: each byte is a character.

No two names become one.
"""

_TELLING_BYTES = 8192
_TEXT_CONTROLS = frozenset(b"\t\n\r\x0b\x0c\x08\x1b\x00")


@dataclass(frozen=True, slots=True)
class FileFormat:
    """How to read a file, derived from its first lines.

    Small, hashable and picklable: it travels to workers.
    """

    layout_name: str
    encoding: str = "utf-8"
    bom_bytes: int = 0
    wrappers: tuple[str, ...] = ()
    shape: str = ""
    """Layout of records that are found by their messages."""
    width: int = 0
    """Width at which a terminal cut such records, or 0."""
    tail: str = ""
    """Text behind the message of each such record."""
    newest_first: bool = False
    """True if each record is older than the one before, as in many exports."""
    base_days: int = 0
    """Days from 1970 to the first record, where times have no date."""
    base_years: int = 0
    """Years from 1972 to the first record, where times have no year."""
    calendar: str = ""
    """Note about its years if they are not Gregorian."""

    @property
    def name(self) -> str:
        """Name of the layout in reports."""
        name = f"{MESSAGES}: {self.shape}" if self.shape else self.layout_name
        name = f"{name}, newest first" if self.newest_first else name
        name = f"{name}, {self.calendar}" if self.calendar else name
        return f"{name}, dated by other files" if self.base_days or self.base_years else name

    @property
    def layout(self) -> AnyLayout:
        """The layout of record headers, by its name."""
        return layout_named(self.layout_name)


class Teller(Protocol):
    """Tells the form of a file from its beginning."""

    def __call__(self, sample: bytes, *, is_complete: bool) -> FileFormat | str:
        """The form, or why there is none: `binary`, `no header`."""


def detect_format(sample: bytes, *, is_complete: bool) -> FileFormat | str:
    """The form of a file that begins with `sample`.

    Or why it has none: `binary`, `no header`.
    """
    encoding, bom_bytes = _encoding(sample)
    body = sample[bom_bytes:].lstrip(b"\x00") if encoding == "utf-8" else sample[bom_bytes:]
    if encoding == "utf-8" and _looks_binary(body):
        return "binary"
    for lines in _samples(body.decode(encoding, "replace"), is_complete=is_complete):
        names, best = _unwrapped(lines)
        if not best.is_sure and (joined := _joined(lines)) and (wrapped := vote(joined)).is_sure:
            names, best = (), wrapped
        if best.layout is None:
            best = vote(_documents(lines))
        if best.layout is not None:
            encoding_name = encoding if encoding != "utf-8" or bom_bytes else _text_encoding(body, is_complete=is_complete)
            return FileFormat(best.layout.name, encoding_name, bom_bytes, names)
    return NO_HEADER


def _samples(text: str, *, is_complete: bool) -> Iterator[list[bytes]]:
    """Lines that may show the layout.

    The first ones, then those that follow the first date behind these.
    """
    lines = text.split("\n")
    if not is_complete and len(lines) > 1:
        lines.pop()
    # Lines of settings and stack traces say nothing about the layout, and a file may begin with hundreds of them.
    samples = [line for line in lines if line.strip()]
    begin = 0
    for _ in range(_SAMPLES):
        if begin == len(samples):
            return
        first, rest = samples[begin : begin + _SAMPLE_LINES], range(begin + _SAMPLE_LINES, len(samples))
        more_starts = list(islice((number for number in rest if not samples[number][:1].isspace()), _SAMPLE_LINES))
        sample = first + [samples[number] for number in more_starts]
        yield [line.rstrip("\r").encode("utf-8", "replace")[:_SAMPLE_LINE_BYTES] for line in sample]
        behind = range(more_starts[-1] + 1 if more_starts else len(samples), len(samples))
        begin = next((number for number in behind if _DATED.search(samples[number])), len(samples))


def _unwrapped(lines: list[bytes], depth: int = 0) -> tuple[tuple[str, ...], Vote]:
    """The envelopes and the layout that show most headers.

    The fewer envelopes the better.
    """
    best = vote(line.decode("utf-8", "replace") for line in lines)
    names: tuple[str, ...] = ()
    plain = best.layout is None or best.layout.name != JSON
    if plain and (depth >= _MAX_ENVELOPES or (best.headers > _ENOUGH * len(lines) and best.is_sure)):
        return names, best
    for name in likely_wrappers(lines):
        wrapper = wrapper_named(name)
        inner = _peeled(wrapper, lines)
        if inner == lines or depth >= _MAX_ENVELOPES:
            continue
        split = [part for line in inner for part in line.split(b"\n")]
        deeper, samples = _unwrapped(split, depth + 1)
        # A JSON document is a record, unless its field contains a line with its own header.
        holds_lines = not plain and name != RECORD and 2 * samples.headers > best.headers
        if samples.score > best.score or holds_lines:
            names, best = (name, *deeper), samples
    return names, best


def _joined(lines: list[bytes]) -> list[str]:
    """Lines that a terminal may have wrapped.

    Each from one header to the next; none when no line follows a header.
    """
    joined: list[str] = []
    for line in lines:
        text = line.decode("utf-8", "replace")
        if begins_record(text):
            joined.append(text)
        elif joined:
            joined[-1] += text
    return joined if len(joined) < len(lines) else []


def _peeled(wrapper: Wrapper, lines: list[bytes]) -> list[bytes]:
    """Lines without an envelope.

    A line that goes on in the next envelope is joined with it.
    """
    inner: list[bytes] = []
    goes_on = False
    for line in lines:
        peeled = wrapper.peel(line) or Unwrapped(line)
        if goes_on:
            inner[-1] += peeled.line
        else:
            inner.append(peeled.line)
        goes_on = peeled.is_partial
    return inner


def _documents(lines: list[bytes]) -> list[str]:
    """JSON documents over several lines, each from a brace onwards.

    The brace stands in the first column.
    """
    text = b"\n".join(lines).decode("utf-8", "replace")
    return [part.strip().rstrip(",") for part in _DOCUMENT.split(text) if part.startswith("{")]


def encoding_of(sample: bytes, *, is_complete: bool) -> tuple[str, int]:
    """Encoding of a sample, and the length of its byte order mark."""
    encoding, bom_bytes = _encoding(sample)
    if encoding != "utf-8" or bom_bytes:
        return encoding, bom_bytes
    return _text_encoding(sample, is_complete=is_complete), 0


def _encoding(sample: bytes) -> tuple[str, int]:
    for bom, encoding in _BOMS:
        if sample.startswith(bom):
            return encoding, len(bom)
    head = sample[:512]
    even, odd = head[0::2], head[1::2]
    if len(head) >= 32:
        # So in UTF-32 three of four bytes.
        for encoding, texts in (("utf-32-le", head[0::4]), ("utf-32-be", head[3::4])):
            if head.count(0) > 0.7 * len(head) and texts.count(0) < 0.1 * len(texts):
                return encoding, 0
    if len(head) >= 16:
        # Mostly Latin text in UTF-16 has a zero in every second byte.
        if odd.count(0) > 0.6 * len(odd) and even.count(0) < 0.1 * len(even):
            return "utf-16-le", 0
        if even.count(0) > 0.6 * len(even) and odd.count(0) < 0.1 * len(odd):
            return "utf-16-be", 0
    return "utf-8", 0


def _text_encoding(body: bytes, *, is_complete: bool) -> str:
    """The text encoding: UTF-8, or that of most other lines.

    Another encoding of bytes is taken where most lines that are not ASCII are no UTF-8.
    """
    lines = [line for line in (body if is_complete else body[: body.rfind(b"\n") + 1]).split(b"\n") if not line.isascii()]
    other = [line for line in lines if not _is_utf8(line)]
    if 2 * len(other) <= len(lines):
        return "utf-8"
    from charset_normalizer import from_bytes  # seldom needed

    best = from_bytes(b"\n".join(other)[:_TELLING_BYTES], cp_isolation=list(_ENCODINGS)).best()
    return best.encoding if best is not None else _ANY_BYTES


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _looks_binary(body: bytes) -> bool:
    head = _HOLE.sub(b"", body[: 1 << 16])[:8192]
    odd = sum(count for byte, count in _histogram(head) if byte < 32 and byte not in _TEXT_CONTROLS)
    return not head or (odd > 0.02 * len(head) or head.count(0) > 0.3 * len(head))


def _histogram(data: bytes) -> list[tuple[int, int]]:
    return [(byte, data.count(byte)) for byte in range(32)]
