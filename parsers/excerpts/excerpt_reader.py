"""Records in a few lines of text, found by known messages.

Each message is tried where its first words stand, up to the logger behind it, the quote that ends it, the next record
or the end of the line; then with the following lines, as a terminal or a writer may have wrapped it. What stands before
it gives time, level and logger.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import orjson

from parsers.excerpts.leads import Leads, level_in
from parsers.excerpts.openings import Openings, openings_of
from parsers.excerpts.program_errors import ERROR_REPORTED
from parsers.excerpts.stamps import FoundStamp, first_stamp, is_clock, last_stamp
from parsers.formats.cleaning import bare_end, clean_line, mark_of, split_escaped, unclosed_end, unescape_json
from parsers.formats.envelopes import as_record, texts_in
from parsers.formats.json_documents import json_document
from parsers.formats.layouts import Header, layout_named

if TYPE_CHECKING:
    from parsers.catalogue.catalogue import Catalogue, Match

MAX_LINES = 16
"""Lines that one record may be spread over."""

MAX_TEXT = 1 << 16
_MAX_TRIES = 400
"""Messages tried in a text; what lies beyond is not read."""

_CLASS = r"(?:[A-Za-z_$][\w$]*\.)+[A-Za-z_$][\w$]*"
_LOGGER_BEHIND = re.compile(
    rf"\s*(?:\((?P<boxed>{_CLASS})(?::\d+|:\?)?\)|\|\s?(?P<barred>{_CLASS})(?=\s*(?:$|[|\"'`<…])))", re.ASCII | re.MULTILINE
)
_QUOTES = "\"'`“"
_QUOTING = re.compile(f"[{_QUOTES}]")
_CLOSED_BY = {"“": "”"}
_BLANKS = re.compile(r"[ \n]{2,}|\n")
_KEYS = r"(?:@?timestamp|time|ts|level|severity|logger|message|msg|log|line|body|textPayload)"
DOCUMENT = rf'[^"{{}}\n]{{0,80}}[{{"\\]{{0,8}}{_KEYS}\\{{0,3}}":'
_DOCUMENT = re.compile(DOCUMENT)
_FIRST_KEY = re.compile(r'"?@?\b[\w.]+":')
_EDGE = 80
"""Characters on each side of a line's end that may hold first words."""

_QUOTE_END = re.compile(r"(?<!\\)\"(?=\s*[,}\]]|$)")
_TIME_KEY = re.compile(r"(?<![A-Za-z])@?(?:time|timestamp|ts|date|datetime)[\"'\\]{0,3} ?(?:=>?|:) ?[\"'\\]{0,3}$", re.ASCII)
"""Name of a pair whose value is the time of its line."""

_MAX_BREAKS = 6
"""Ends of lines at which a message that was spread over lines may end."""

_NEAR = 400
"""Characters before a message in which its header stands."""


class Excerpt(NamedTuple):
    """A record found in a text, and its lines."""

    header: Header
    match: Match
    first_line: int
    last_line: int
    before: str
    behind: str
    between: str | None = None
    """Text between its time and its message; None if the time is elsewhere."""


def without_program_errors(excerpts: list[Excerpt]) -> list[Excerpt]:
    """Records of one text without the errors in the stacks of others."""
    return [excerpt for excerpt in excerpts if excerpt.match.event != ERROR_REPORTED] or excerpts


def without_repeats(excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    """Records of one document, each once though several fields repeat it."""
    kept: dict[tuple[str, str | None], Excerpt] = {}
    for excerpt in excerpts:
        message, stamp = excerpt.header.message, excerpt.header.stamp
        if (message, stamp) not in kept and (stamp is not None or all(message != known for known, _ in kept)):
            kept[message, stamp] = excerpt
    return list(kept.values())


@dataclass(slots=True)
class ExcerptReader:
    """Finds records with one catalogue.

    `width` is that of the terminal that wrapped the text, or 0; `tail` the text behind each message.
    """

    catalogue: Catalogue
    width: int = 0
    tail: str = ""
    openings: Openings = field(init=False)
    _is_marked: bool = field(init=False)
    """True if the tail consists of marks that end no message."""
    _leads: Leads = field(default_factory=Leads)
    _tries: int = 0

    def __post_init__(self) -> None:
        self.openings = openings_of(self.catalogue)
        self._is_marked = bool(self.tail) and not any(character.isalnum() for character in self.tail)

    def read(self, text: str) -> Iterator[Excerpt]:
        """All records of a text, in order."""
        if (ordinary := self.ordinary(text)) is not None:
            yield ordinary
            return
        raw = text[:MAX_TEXT].split("\n")
        self._tries = 0
        starts = list(document_starts(raw)) if '":' in text else []
        yield from self._plain(raw[: starts[0]] if starts else raw)
        for first, stop in pairwise([*starts, len(raw)]):
            for excerpt in self._document(raw[first:stop][:MAX_LINES]) or self._plain(raw[first:stop]):
                yield excerpt._replace(first_line=excerpt.first_line + first, last_line=excerpt.last_line + first)

    def ordinary(self, text: str) -> Excerpt | None:
        """The only record of a line that ends with message and tail.

        It is what the thorough reading finds, sooner.
        """
        places = self.openings.places(text) if text.isascii() and "\n" not in text and len(text) < MAX_TEXT else ()
        if len(places) != 1 or text[places[0]] in "# " or not text.endswith(self.tail) or not (self._is_marked or not self.tail):
            return None
        start, end = places[0], len(text) - len(self.tail)
        lead, message = text[max(0, start - _NEAR) : start], text[start:end]
        if _QUOTING.search(lead) or '":' in text or clean_line(text) is not text or (not self.tail and message.rstrip() != message):
            return None
        if ((")" in message or "|" in message) and _LOGGER_BEHIND.search(text, start)) or _closes_nothing(message):
            return None
        before = self._leads.read(lead)
        match = self.catalogue.match(before.logger, message) if before.stamp is not None else None
        if match is None or before.stamp is None:
            return None
        header = Header(before.stamp.text, before.level, before.logger, None, message, is_whole=True, date=before.stamp.date)
        return Excerpt(header, match, 0, 0, lead, text[end:], lead[before.stamp.end :])

    def _plain(self, raw: list[str]) -> Iterator[Excerpt]:
        """Records in lines of text."""
        lines = [(number, part) for number, line in enumerate(raw) for part in split_escaped(clean_line(line))]
        widths = [len(line) for line in raw]
        at = begin = 0
        pending = ""
        while at < len(lines) and self._tries < _MAX_TRIES:
            opened = self._record(lines, widths, at, begin, pending)
            if opened is None:
                pending = f"{pending}\n{lines[at][1][begin:]}"[-_NEAR:]
                at, begin = at + 1, 0
                continue
            excerpt, at, begin = opened
            pending = ""
            yield excerpt

    def _document(self, lines: list[str]) -> list[Excerpt]:
        """The record in a JSON document, or those in its log line.

        It may be wrapped, quoted or damaged.
        """
        parts = [clean_line(line).strip() for line in lines]
        mark = mark_of(parts[0]).rstrip()
        parts = [part.removeprefix(mark).strip() for part in parts] if mark else parts
        for glue in ("", " ") if len(parts) > 1 else ("",):
            whole = glue.join(parts)
            for text in dict.fromkeys((whole, unescape_json(whole))):
                braced = _braced(text)
                for document in dict.fromkeys((braced, _as_inner(braced))):
                    header = layout_named("json").read(document)
                    match = self.catalogue.match(header.logger, header.message) if header is not None else None
                    if header is not None and match is not None:
                        return [Excerpt(header, match, 0, len(lines) - 1, "", "", "")]
                if excerpts := self._in_field(_braced(text), len(lines) - 1):
                    return excerpts
        return []

    def _in_field(self, text: str, last: int) -> list[Excerpt]:
        """Records in the field of a document that contains the log line."""
        document = json_document(text)
        if document is None:
            return []
        stamp = first_stamp(text, 0, len(text))
        for value in filter(None, texts_in(document)):
            if excerpts := list(self._plain(value.split("\n"))):
                return [excerpt._replace(header=_with_time(excerpt.header, stamp), first_line=0, last_line=last) for excerpt in excerpts]
        return []

    def header(self, text: str) -> Header | None:
        """Time, level and logger around the first known prefix of a text."""
        text = clean_line(text[:MAX_TEXT]).replace("\n", " ")
        start = next(iter(self.openings.prefix_places(text)), None)
        if start is None:
            return None
        logger = _LOGGER_BEHIND.search(text, start)
        end = logger.start() if logger is not None else len(text)
        lead = text[max(0, start - _NEAR) : start]
        named = _named(logger) if logger is not None else self._leads.read(lead).logger
        return self._header(text, end, lead, "", named, bare_end(text[start:end]))[0]

    def _record(
        self, lines: list[tuple[int, str]], widths: list[int], at: int, begin: int, pending: str
    ) -> tuple[Excerpt, int, int] | None:
        """The first record of a line, and where the text goes on."""
        line = lines[at][1]
        joins = list(self._joined(lines, widths, at, begin)) if at + 1 < len(lines) else []
        wrapped = bool(joins) and self.width > 0 and widths[lines[at][0]] >= self.width
        alone = [(line[begin:], [len(line) - begin])]
        for text, ends in (*joins, *alone) if wrapped else (*alone, *joins):
            opening = self._first(text, ends, pending)
            if opening is not None:
                header, match, end, lead, between = opening
                last = next((number for number, stop in enumerate(ends) if end <= stop), len(ends) - 1)
                behind = len(lines[at + last][1]) - (ends[last] - end) if last else begin + end
                excerpt = Excerpt(header, match, lines[at][0], lines[at + last][0], lead, text[end : ends[last]], between)
                return excerpt, at + last, max(behind, 0)
        return None

    def _joined(self, lines: list[tuple[int, str]], widths: list[int], at: int, begin: int) -> Iterator[tuple[str, list[int]]]:
        """The line with those after it, as one text.

        Joined as the widths tell, without and with blanks; the numbers are the ends of the lines.
        """
        line = lines[at][1]
        is_open = self.openings.places(line[begin:]) or last_stamp(line, begin, min(len(line), begin + _NEAR)) is not None
        if not is_open and not self._opens_over(line[begin:], lines[at + 1][1]):
            return
        mark = mark_of(line) if not begin else ""
        parts = [line[begin:]]
        joined_lines: list[str] = []
        for number in range(at + 1, min(len(lines), at + MAX_LINES)):
            raw = lines[number][1]
            joined_lines.append("" if self._is_hard(lines[number - 1], widths, raw) else " ")
            rest = raw[len(mark) :] if mark.strip() and raw.startswith(mark.rstrip()) else raw
            parts.append(rest.strip() if joined_lines[-1] else rest.rstrip())
        for glues in dict.fromkeys((tuple(joined_lines), ("",) * len(joined_lines), (" ",) * len(joined_lines))):
            text, ends = parts[0].rstrip(), [len(parts[0].rstrip())]
            for glue, part in zip(glues, parts[1:], strict=True):
                text += glue + (part.strip() if glue else part)
                ends.append(len(text))
            yield text, ends

    def _opens_over(self, line: str, following: str) -> bool:
        """Whether a message's first words continue in the next line."""
        ends, begins = line.rstrip()[-_EDGE:], following.lstrip()[:_EDGE]
        return any(self.openings.places(f"{ends}{glue}{begins}") for glue in ("", " "))

    def _is_hard(self, line: tuple[int, str], widths: list[int], following: str) -> bool:
        """Whether a line was wrapped at a fixed width."""
        full = self.width > 0 and widths[line[0]] == self.width
        return full and not line[1].endswith(" ") and not following.startswith(" ")

    def _first(self, text: str, breaks: list[int], pending: str) -> tuple[Header, Match, int, str, str | None] | None:
        """The first message that begins in the first line.

        `breaks` are the ends of the lines.
        """
        for start, place in self._starts(text, breaks[0]):
            logger = _LOGGER_BEHIND.search(text, start)
            for end, message in self._messages(text, start, place, logger, breaks, is_quoted='"' in pending):
                if not self.openings.may_know(message):
                    continue
                self._tries += 1
                if self._tries > _MAX_TRIES:
                    return None
                lead = text[max(0, start - _NEAR) : start]
                named = _named(logger) if logger is not None and logger.start() == end else self._leads.read(lead).logger
                match = self.catalogue.match(named, message)
                exact = logger is not None and logger.start() == end
                if match is not None and (exact or not self.catalogue.swallows(match)):
                    stop = logger.end() if logger is not None and logger.start() == end else end
                    header, between = self._header(text, stop, lead, pending, named, message)
                    return header, match, stop, lead, between
        return None

    def _starts(self, text: str, limit: int) -> list[tuple[int, int]]:
        """Places where a message may begin, and of its known words.

        A mark stands within the first word, or a name before the first words.
        """
        starts: list[tuple[int, int]] = []
        for place in self.openings.places(text):
            if place >= limit:
                break
            if text.startswith("#", place):
                token = text.rfind(" ", 0, place) + 1
                bars = [index + 1 for index in range(token, place) if text[index] == "|"]
                begins = [text.rfind(" ", 0, max(token - 1, 0)) + 1, token, *bars]
                starts += [(begin, place) for begin in begins]
            elif text.startswith(" ", place):
                starts.append((text.rfind(" ", 0, place) + 1, place))  # a name begins the message
            else:
                starts.append((place, place))
        return starts

    def _messages(
        self, text: str, start: int, place: int, logger: re.Match[str] | None, breaks: list[int], *, is_quoted: bool
    ) -> Iterator[tuple[int, str]]:
        """Texts that may be the message from a place on, with their ends."""
        ends: dict[int, None] = {}
        if self._is_marked and logger is None and (stop := next((end for end in breaks if text.endswith(self.tail, start, end)), 0)):
            yield stop - len(self.tail), text[start : stop - len(self.tail)]
        if logger is not None:
            ends[logger.start()] = None
        quote = _quote_before(text, start)
        if quote:
            ends[_closing(text, start, _CLOSED_BY.get(quote, quote))] = None
        elif is_quoted and (closing := _QUOTE_END.search(text, start)) is not None:
            ends[closing.start()] = None
        following = next(iter(self.openings.prefix_places(text[place + 1 :])), None)
        stop = len(text) if following is None else place + 1 + following
        stamp = first_stamp(text, start, stop)
        newline = text.find("\n", start)
        limit = logger.start() if logger is not None else len(text)
        closings = [text.find(closing, start) for closing in (" | ", "]]>", "</", self.tail or " | ")]
        for end in (stop, stamp.begin if stamp is not None else -1, newline, *closings, *breaks[:_MAX_BREAKS]):
            if start < end <= min(limit, stop):
                ends[end] = None
        for end in ends:
            whole = text[start:end]
            exact = logger is not None and end == logger.start()
            # No message ends with an ellipsis of one character, but its last value may.
            whole = whole if exact or not whole.rstrip().endswith("…") else bare_end(whole)
            bare = bare_end(whole)
            texts = [whole.rstrip()] if exact else [whole.rstrip(), bare, bare.rstrip(".,;"), unclosed_end(bare)]
            texts = texts[1:] if not exact and _closes_nothing(whole) else texts
            for message in dict.fromkeys(texts):
                yield end if len(message) == len(whole) else start + len(message), message
                tidy = _BLANKS.sub(" ", unescape_json(message))
                tidy = tidy.replace(2 * quote, quote) if quote else tidy
                if tidy != message and not exact:
                    for candidate in dict.fromkeys((tidy, tidy.rstrip(), bare_end(tidy))):
                        yield start + len(message), candidate
        for end in ends:
            bare = bare_end(text[start:end])
            exact = logger is not None and end == logger.start()
            tidy = bare if exact else _BLANKS.sub(" ", unescape_json(bare))
            # The last value is empty and its blank was lost, or its full stop was.
            yield start + len(bare), f"{tidy} "
            yield start + len(bare), f"{tidy}."

    def _header(self, text: str, stop: int, lead: str, pending: str, logger: str | None, message: str) -> tuple[Header, str | None]:
        """Read time, level and logger from the text around a message.

        Also returns the text between the time and the message.
        """
        before = self._leads.read(lead)
        stamp = (before.stamp, lead) if before.stamp is not None else _stamp(text[stop : stop + _NEAR], pending)
        around = lead if stamp is None or stamp[1] is not lead else lead[stamp[0].end :]
        level = before.level or level_in(text[stop : stop + _NEAR])
        time = stamp[0] if stamp is not None else None
        between = around if stamp is not None and stamp[1] is lead else None
        return Header(time and time.text, level, logger, None, message, is_whole=True, date=time and time.date), between


def _with_time(header: Header, stamp: FoundStamp | None) -> Header:
    """A header with the time of its document if it has none."""
    return header if header.stamp is not None or stamp is None else header._replace(stamp=stamp.text, date=stamp.date)


def document_starts(lines: Sequence[str]) -> Iterator[int]:
    """Numbers of the lines that begin a JSON document.

    Not those with a field of one that is still open.
    """
    is_open = False
    for number, line in enumerate(lines):
        match = _DOCUMENT.match(line)
        if match is not None and ("{" in match[0] or not is_open):
            yield number
            is_open = True
        is_open = is_open and not bare_end(line).endswith("}")


def has_odd_time(header: Header) -> bool:
    """Whether a layout finds a time that it cannot read."""
    return header.stamp is not None and header.date is not None and header.date.read(header.stamp)[0] is None


def with_times(excerpts: Iterable[Excerpt], header: Header | None) -> list[Excerpt]:
    """Drop the records with broken times.

    It may be in a form that the layout does not have; where only a part of it can be read, it is broken.
    """
    if header is None or header.stamp is None or not has_odd_time(header):
        return list(excerpts)
    is_whole = is_clock(header.stamp)
    return [excerpt for excerpt in excerpts if excerpt.header.date is not None and (is_whole or excerpt.header.date.has_date)]


def _braced(text: str) -> str:
    """A text from its first key to its last brace, completed in front."""
    key = _FIRST_KEY.search(text)
    return "{" + text[key.start() : text.rfind("}") + 1] if key is not None else ""


def _as_inner(text: str) -> str:
    """The document of a program inside another one, as one document."""
    document = json_document(text)
    return text if document is None else orjson.dumps(as_record(document)).decode("utf-8", "replace")


def _stamp(behind: str, pending: str) -> tuple[FoundStamp, str] | None:
    """The time of a message with none before it, and its text.

    It stands on earlier lines, or in fields behind the message.
    """
    after = first_stamp(behind, 0, len(behind))
    if after is not None and _TIME_KEY.search(behind[: after.begin]) is not None:
        return after, behind
    stamp = last_stamp(pending, 0, len(pending)) if pending else None
    if stamp is not None:
        return stamp, pending
    return (after, behind) if after is not None and '"' in behind[:4] else None


def _named(logger: re.Match[str]) -> str:
    return str(logger["boxed"] or logger["barred"])


def _closes_nothing(text: str) -> bool:
    """Whether a text ends with an unmatched quote."""
    quote = text.rstrip(" ,;")[-1:]
    return quote in _QUOTES and text.count(quote) % 2 == 1


def _quote_before(text: str, start: int) -> str:
    """The opening quote around the message, or around the line it ends."""
    for place in range(start - 1, max(-1, start - _NEAR), -1):
        if text[place] in _QUOTES:
            return text[place]
    return ""


def _closing(text: str, start: int, quote: str) -> int:
    """The place of the quote that ends a text, or its end.

    Quotes within are escaped or doubled.
    """
    place = text.find(quote, start)
    while place > 0 and (text[place - 1] == "\\" or text.startswith(quote, place + 1)):
        place = text.find(quote, place + (1 if text[place - 1] == "\\" else 2))
    return len(text) if place < 0 else place
