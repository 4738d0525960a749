"""Envelopes around each line of a page, a mail or a document."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol
from urllib.parse import unquote_plus

from parsers.formats.cleaning import clean_line, unescape_json, with_pairs_joined

_BORDERS = tuple(border.encode() for border in "│┃║")
_BOXED = re.compile(r"\s*[│┃║](.*)[│┃║]\s*")
_SOFT_BREAK = re.compile(rb"^[^\n]{60,75}=\r?$", re.MULTILINE)
_SOFT_BREAKS = 2
"""Lines cut as in a mail before a text is read as one."""
_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_ESCAPE = re.compile(rb"\\u00[2-7][0-9A-Fa-f]|\\x[2-7][0-9A-Fa-f]")
_CODES = 3
"""Coded characters in a line that is written in codes."""
_PROCESS = re.compile(rb"(?P<time>\d\d:\d\d:\d\d(?: [AP]M)?) [\w-]+\.\d+ +\| (?P<line>.*?)\r?")
_PROCESS_HEAD = re.compile(rb"^\d\d:\d\d:\d\d(?: [AP]M)? [\w-]+\.\d+ +\| [^\n]*\):\r?$", re.MULTILINE)
"""A line of foreman that is only the head of a record."""

_HASH = re.compile(rb"(?:\[\d+\] [^\s:]+: )?\[+(?P<stamp>\d{10}\.\d+)(?:, ?\{[^{}\n]*\}\])?, ?(?P<hash>\{.*\})\]\s*")
_HASHES = re.compile(rb"^(?:\[\d+\] [^\s:]+: )?\[+\d{10}\.\d+(?:, ?\{[^{}\n]*\}\])?, ?\{\"", re.MULTILINE)
_ARROW = re.compile(rb'(?<!\\)" ?=> ?')

_MOST_LINES = 200
"""Lines in which values behind messages are looked for."""
_HEX = re.compile(r"\\x([0-9A-Fa-f]{2})")

_PIECE_END = re.compile(rb"(['\"])\s*[+\\]?\s*$")
_PIECE_BEGIN = re.compile(rb"^\s+([bu]?)(['\"])")
_SINGLE = re.compile(rb"^\s+[bu]?(['\"]).*\1\s*[+\\]?\s*$")

_RICH_TEXT = b"{\\rtf"
_RICH_TABLE = re.compile(rb"^\s*\{\\\*?\\?(?:fonttbl|colortbl|stylesheet|info|expandedcolortbl|generator|listtable)\b")
_RICH = re.compile(r"\\'([0-9A-Fa-f]{2})|\\u(-?\d{1,5}) ?\??|\\(par|line)\b ?|\\(tab)\b ?|\\[a-z]{1,32}-?\d* ?|\\([{}\\])|([{}])")
_RICH_BREAKS = (b"\\par", b"\\line")

_NEST = re.compile(
    rb"(?:^|(?<=[\s`'\"])|(?<=\x1b\[\d\dm)|(?<=\x1b\[\dm))(?P<level>ERROR|WARN|INFO|DEBUG) "
    rb"(?P<message>\[(?:Consumer|ConsumerGroup|Runner|Cluster|Connection|BrokerPool)\] [^\n]*?) "
    rb"\{(?:(?P<values>\"timestamp\":[^\n]*\})|(?P<escaped>\\\"timestamp\\\":(?:[^\"\\\n]|\\.)*\}))"
)
"""What NestJS writes of kafkajs (kafka-logger.ts): level, message, and the other values as JSON.

Behind a colour, too, and within a JSON string.
"""

_VALUED = re.compile(
    rb"^(?P<lead>[^\n{]*?)(?P<message>\[(?:Consumer|ConsumerGroup|Runner|Cluster|Connection|BrokerPool)\] [^\n{]*?) "
    rb"\{(?P<values>\"(?:groupId|memberId|broker|brokers|clientId|error|stack|topics)\":[^\n]*\})\s*$"
)
"""Kafkajs by a logger that writes values as JSON behind messages."""
_LEAD_TIME = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?")
_LEAD_LEVEL = re.compile(rb"(?<![\w.-])(?:trace|debug|info|warn|warning|error)(?![\w-])", re.IGNORECASE)


class Unwrapped(NamedTuple):
    """Content of an envelope."""

    line: bytes
    stamp: bytes | None = None
    is_partial: bool = False


class Wrapper(Protocol):
    """Removes one kind of envelope from a line."""

    @property
    def name(self) -> str:
        """Name in reports."""

    def peel(self, line: bytes) -> Unwrapped | None:
        """Return the line inside the envelope, with its stamp.

        None if the line has no such envelope.
        """


@dataclass(frozen=True, slots=True)
class PageWrapper:
    """Tags, entities, colours as editors show them, and blanks of other widths."""

    name: str = "page"

    def peel(self, line: bytes) -> Unwrapped | None:
        text = line.decode("utf-8", "backslashreplace")
        plain = clean_line(text)
        return None if plain is text else Unwrapped(to_utf8(plain))


@dataclass(frozen=True, slots=True)
class BoxWrapper:
    """Borders of a box that a terminal program draws around its lines."""

    name: str = "box"

    def peel(self, line: bytes) -> Unwrapped | None:
        match = _BOXED.fullmatch(line.decode("utf-8", "replace"))
        return None if match is None else Unwrapped(to_utf8(match[1].rstrip()))


@dataclass(frozen=True, slots=True)
class MailWrapper:
    """Quoted-printable, as mails in archives are written (RFC 2045)."""

    name: str = "quoted_printable"

    def peel(self, line: bytes) -> Unwrapped | None:
        bare = line.rstrip()
        partial = bare.endswith(b"=")
        return Unwrapped(quopri.decodestring(bare.removesuffix(b"=")), is_partial=partial)


@dataclass(frozen=True, slots=True)
class PercentWrapper:
    """Text as in addresses and web forms: `%5B` for a bracket."""

    name: str = "percent"

    def peel(self, line: bytes) -> Unwrapped | None:
        if _PERCENT.search(line) is None:
            return None
        text = line if b" " not in line else line.replace(b"+", b"%2B")  # lines with blanks have real plus signs, too
        return Unwrapped(to_utf8(unquote_plus(text.decode("utf-8", "replace"))))


@dataclass(frozen=True, slots=True)
class EscapeWrapper:
    """Text with the escapes of a program's strings: `\\u005b`."""

    name: str = "escaped"

    def peel(self, line: bytes) -> Unwrapped | None:
        if _ESCAPE.search(line) is None:
            return None
        text = _HEX.sub(r"\\u00\1", line.decode("utf-8", "replace"))
        return Unwrapped(to_utf8(unescape_json(text)))


@dataclass(frozen=True, slots=True)
class PiecesWrapper:
    """A string in pieces, one a line.

    Printers of programs' values break it so.
    """

    name: str = "pieces"

    def peel(self, line: bytes) -> Unwrapped | None:
        goes_on = _PIECE_END.search(line)
        piece = _PIECE_BEGIN.match(line) if goes_on is None or _SINGLE.match(line) else None
        inner = line[piece.end() :] if piece is not None else line
        if goes_on is None:
            return None if piece is None else Unwrapped(inner)
        return Unwrapped(inner[: goes_on.start() - len(line)], is_partial=True)


@dataclass(frozen=True, slots=True)
class RichTextWrapper:
    """Rich text of editors: control words, and breaks as marks."""

    name: str = "rich_text"

    def peel(self, line: bytes) -> Unwrapped | None:
        bare = line.rstrip(b"\r")
        if bare.startswith(_RICH_TEXT) or _RICH_TABLE.match(bare) is not None:
            return Unwrapped(b"")
        is_broken = bare.endswith((b"\\", *_RICH_BREAKS)) and not bare.endswith(b"\\\\")
        text = bare.removesuffix(b"\\") if is_broken else bare
        for mark in _RICH_BREAKS if is_broken else ():
            text = text.removesuffix(mark)
        return Unwrapped(
            to_utf8(with_pairs_joined(_RICH.sub(_rich, text.decode("utf-8", "replace")))), is_partial=bool(text) and not is_broken
        )


@dataclass(frozen=True, slots=True)
class NestWrapper:
    """A text followed by values, converted to one document."""

    name: str = "nest_values"

    def peel(self, line: bytes) -> Unwrapped | None:
        match = _NEST.search(line)
        if match is None:
            return self._valued(line)
        message, values = match["message"], match["values"]
        if values is None:
            values = to_utf8(unescape_json(match["escaped"].decode("utf-8", "replace")))
        return Unwrapped(b'{"level":"%s","message":"%s",%s' % (match["level"], _quoted(message), values))

    @staticmethod
    def _valued(line: bytes) -> Unwrapped | None:
        """The document of a line; its lead has time and level."""
        match = _VALUED.match(line)
        if match is None:
            return None
        time, level = _LEAD_TIME.search(match["lead"]), _LEAD_LEVEL.search(match["lead"])
        head = b'"timestamp":"%s",' % time[0] if time is not None else b""
        level_name = level[0].upper() if level is not None else b"INFO"
        return Unwrapped(b'{%s"level":"%s","message":"%s",%s' % (head, level_name, _quoted(match["message"]), match["values"]))


@dataclass(frozen=True, slots=True)
class HashWrapper:
    """A document with arrows for colons, behind its time.

    Fluent Bit's stdout plugin prints records so, with number and tag before.
    """

    name: str = "hash"

    def peel(self, line: bytes) -> Unwrapped | None:
        match = _HASH.fullmatch(line)
        return None if match is None else Unwrapped(_ARROW.sub(b'":', match["hash"]), match["stamp"])


@dataclass(frozen=True, slots=True)
class ProcessWrapper:
    """Time and process, which foreman puts before each line.

    A line that ends with a colon is the head of the next one, and the time stands before both, so that lines of one record stay together.
    """

    name: str = "process"

    def peel(self, line: bytes) -> Unwrapped | None:
        match = _PROCESS.fullmatch(line)
        if match is None:
            return None
        text = match["line"].strip()
        return Unwrapped(b"%s %s " % (match["time"], text), is_partial=True) if text.endswith(b"):") else Unwrapped(text)


def _quoted(text: bytes) -> bytes:
    return text.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def _rich(match: re.Match[str]) -> str:
    """The character of a control word in rich text."""
    code, number, line_break, tab, escaped, _ = match.groups()
    if code:
        return bytes.fromhex(code).decode("cp1252", "replace")
    if number:
        return chr(int(number) % (1 << 16))
    return "\n" if line_break else " " if tab else escaped or ""


PAGES: dict[str, Wrapper] = {
    wrapper.name: wrapper
    for wrapper in (
        PageWrapper(),
        BoxWrapper(),
        MailWrapper(),
        PercentWrapper(),
        EscapeWrapper(),
        PiecesWrapper(),
        RichTextWrapper(),
        NestWrapper(),
        ProcessWrapper(),
        HashWrapper(),
    )
}


def page_wrappers(sample: bytes) -> Iterator[str]:
    """Names of wrappers around a whole page, by most of its lines."""
    if sample.lstrip().startswith(_RICH_TEXT):
        yield "rich_text"
    if len(_SOFT_BREAK.findall(sample)) >= _SOFT_BREAKS:
        yield "quoted_printable"
    if any(border in sample for border in _BORDERS):
        lines = sample.split(b"\n")
        if 2 * sum(_BOXED.fullmatch(line.decode("utf-8", "replace")) is not None for line in lines) >= len(lines):
            yield "box"


def code_wrappers(sample: bytes) -> Iterator[str]:
    """Names of wrappers that may be around codes or pieces."""
    yield from (name for name, code in (("percent", _PERCENT), ("escaped", _ESCAPE)) if _is_coded(sample, code))
    if _NEST.search(sample) is not None or any(_VALUED.match(line) is not None for line in sample.split(b"\n", _MOST_LINES)):
        yield "nest_values"
    if _HASHES.search(sample) is not None:
        yield "hash"
    if _PROCESS_HEAD.search(sample) is not None:
        yield "process"
    if any(_goes_on(*pair) for pair in pairwise(sample.split(b"\n"))):
        yield "pieces"


def _is_coded(sample: bytes, code: re.Pattern[bytes]) -> bool:
    """Whether most lines are encoded."""
    if code.search(sample) is None:
        return False
    lines = [line for line in sample.split(b"\n") if line.strip()]
    return 2 * sum(len(code.findall(line)) >= _CODES for line in lines) >= len(lines)


def _goes_on(line: bytes, following: bytes) -> bool:
    """Whether a string continues in the next line."""
    end = _PIECE_END.search(line)
    begin = _PIECE_BEGIN.match(following) if end is not None else None
    return end is not None and begin is not None and begin[2] == end[1]


def to_utf8(text: str) -> bytes:
    """A text as UTF-8."""
    return text.encode("utf-8", "replace")
