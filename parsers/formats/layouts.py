"""Record headers: time, level, thread, logger and place of the message.

A layout is data: a pattern in log4j's notation with samples. It compiles to expressions for what stands around the message, and to a probe.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from parsers.formats import logfmt
from parsers.formats.cleaning import before_markup
from parsers.formats.json_documents import field_of, json_document
from parsers.formats.message_values import Structure, with_keys
from parsers.formats.timestamps import DateFormat, date_format

LEVELS = frozenset({"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"})
_LEVEL_NUMBERS = {
    **dict(zip(range(10, 70, 10), ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"), strict=True)),  # pino, bunyan
    **dict(enumerate(("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG"))),  # syslog, librdkafka
}
"""Levels that are numbers."""
_LEVEL_DIGITS = 2
_LEVEL_NAMES = {
    **dict.fromkeys(("WARNING", "Warning", "4"), "WARN"),
    **dict.fromkeys(("SEVERE", "Error", "3"), "ERROR"),
    **dict.fromkeys(("CRITICAL", "Emergency", "Alert", "Critical", "0", "1", "2"), "FATAL"),
    **dict.fromkeys(("CONFIG", "Notice", "Info", "5", "6"), "INFO"),
    **dict.fromkeys(("FINE", "Debug", "7"), "DEBUG"),
    **dict.fromkeys(("FINER", "FINEST", "TRC", "trace"), "TRACE"),
    "DBG": "DEBUG",
    "debug": "DEBUG",
    "INF": "INFO",
    "info": "INFO",
    "WRN": "WARN",
    "warn": "WARN",
    "ERR": "ERROR",
    "error": "ERROR",
    **dict.fromkeys(("FTL", "PNC", "fatal", "panic", "dpanic", "PANIC", "DPANIC"), "FATAL"),
}
_LEVEL = r"(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|SEVERE|CRITICAL|CONFIG|FINE(?:R|ST)?)"
# `%p{SYSLOG}`: levels of syslog(3), as librdkafka has them, by number or by name.
_SYSLOG_LEVEL = r"(?:[0-7]|Emergency|Alert|Critical|Error|Warning|Notice|Info|Debug)"
# `%p{GO}`: levels of zerolog's console writer, and of zap in small letters.
_GO_LEVEL = r"(?:TRC|DBG|INF|WRN|ERR|FTL|PNC|trace|debug|info|warn|error|fatal|(?:d?panic)|TRACE|DEBUG|INFO|WARN|ERROR|FATAL|D?PANIC)"
# `%`, an optional width, a conversion, an optional argument in braces.
_CONVERSION = re.compile(
    r"%(?P<width>-?\d*(?:\.-?\d+)?)(?P<name>level|logger|thread|message|msg|class|file|line|method|pid|date|mdc|[dpctmXCFLMrxn])"
    r"(?:\{(?P<argument>[^}]*)\})?"
)
_NAMES = {
    "level": "p",
    "logger": "c",
    "thread": "t",
    "message": "m",
    "msg": "m",
    "class": "C",
    "file": "F",
    "line": "L",
    "method": "M",
    "date": "d",
    "mdc": "X",
}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# A header must show itself within this many bytes of its line, however long the line is.
HEADER_BYTES = 4096
_EPOCH_DIGITS = (10, 13, 16, 19)
_MILLIS_END, _NO_TIME = 253_402_300_800_000, "no time"
"""End of the year 9999 in epoch milliseconds; sign of greater numbers."""


# What any header has: a level within the first few hundred characters.
_SHAPED = re.compile(r"^.{0,300}?\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)", re.ASCII)
# A header whose time is no time at all.
BROKEN_STAMP = re.compile(r"\[[^\]\[]{6,40}\] +(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ", re.ASCII)


# A header inside a line: two threads or a crash have torn it.
TORN_HEADER = re.compile(r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3}\]? +\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b", re.ASCII)


def level_named(name: str) -> str:
    """A level by the name that log4j gives it."""
    return _LEVEL_NAMES.get(name, name)


class Header(NamedTuple):
    """Parts of a record's text, as a layout reads them.

    The message may have several lines.
    """

    stamp: str | None
    level: str | None
    logger: str | None
    thread: str | None
    message: str
    is_whole: bool  # false when the part after the message is missing: cut, wrapped, or not this layout
    date: DateFormat | None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


@dataclass(frozen=True, slots=True)
class LazyRegex:
    """A regular expression that is compiled when it is first used.

    Most layouts are none of the files at hand.
    """

    pattern: str

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """Match at a place."""
        return _compiled(self.pattern).match(text, start, end)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Match the whole text."""
        return _compiled(self.pattern).fullmatch(text)


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to write records."""

    name: str
    product: str
    pattern: str
    head: LazyRegex
    tail: LazyRegex | None
    tail_mark: str
    date: DateFormat | None
    time_at: int | None  # position of an ISO time, if it is the same in all lines
    fields: int
    samples: tuple[dict[str, Any], ...] = field(repr=False, default=())
    threads: LazyRegex | None = None  # names of threads, if nothing else distinguishes them from loggers
    loggers: LazyRegex | None = None  # names of loggers, if any word could be one
    begins: str = ""  # required start of messages, if the rest of the header is not distinctive
    beginning: str = ""  # the head up to its first field, which many layouts share

    def read(self, text: str, end: int | None = None) -> Header | None:
        """Read one record whose first line ends at `end`.

        The message may go on over further lines.
        """
        match = self.head.match(text, 0, HEADER_BYTES)
        if match is None:
            return None
        fields = match.groupdict()
        start = match.end()
        whole, logger, thread, stop = True, fields.get("logger"), fields.get("thread"), len(text)
        if self.tail is not None:
            last = len(text) if end is None else end
            closings = (_closing(self.tail, self.tail_mark, text, start, stop) for stop in (last, before_markup(text, start, last)))
            closing = next(filter(None, closings), None)
            whole = closing is not None
            if closing is not None:
                stop = closing.start()
                after = closing.groupdict()
                logger, thread = after.get("logger") or logger, after.get("thread") or thread
        level = fields.get("level")
        if level is not None:
            level = _LEVEL_NAMES.get(level, level)
        return Header(fields.get("stamp"), level, logger, thread and thread.strip(), text[start:stop], whole, self.date)


def _closing(tail: LazyRegex, tail_mark: str, text: str, start: int, first_end: int) -> re.Match[str] | None:
    """The part after the message.

    At the end of the first line, else of a later one (messages of several lines). A window may have filled lines up with
    blanks.
    """
    end = first_end
    while True:
        bare = start + len(text[start:end].rstrip(" "))
        mark = text.rfind(tail_mark, start, bare)
        for _ in range(3):  # a thread name may contain the mark
            if mark < 0:
                break
            match = tail.match(text, mark, bare)
            if match is not None and match.end() == bare:
                return match
            mark = text.rfind(tail_mark, start, mark)
        if end >= len(text):
            return None
        start = end + 1
        end = text.find("\n", start)
        end = len(text) if end < 0 else end


def _literal(text: str) -> str:
    return re.sub(r"(?:\\ )+", " +", re.escape(text))


def _before_message(literal: str, rest: str) -> str:
    """A thread's name, which must not swallow the message's own brackets.

    Right before the message it could be mistaken for `[Consumer clientId=a]`.
    """
    name = r"[^\]=\n]*" if literal == "] " and rest.startswith("] %m") else _up_to(literal)
    return r"(?!\d{4}-\d\d-\d\d)" + name  # a time in brackets is no thread but the line of another envelope


def _up_to(literal: str) -> str:
    """Text of a field that ends where the literal after it begins."""
    return rf"[^{re.escape(literal[0])}\n]*" if literal and literal[0] != " " else r"[^ \n]+"


_LEVELS_BY_ARGUMENT: dict[str | None, str] = {"SYSLOG": f"(?P<level>{_SYSLOG_LEVEL})", "GO": f"(?P<level>{_GO_LEVEL})"}


@dataclass(slots=True)
class _Compiler:
    """Turns a log4j pattern into the parts of a Layout."""

    pattern: str
    before: list[str] = field(default_factory=list)
    after: list[str] | None = None
    date: DateFormat | None = None
    time_at: int | None = None
    names: set[str] = field(default_factory=set)
    beginning: str = ""
    _width: int | None = 0  # characters so far, while known

    def run(self) -> None:
        at = 0
        for match in _CONVERSION.finditer(self.pattern):
            self._text(self.pattern[at : match.start()])
            self._conversion(match, self.pattern[match.end() :])
            at = match.end()
        self._text(self.pattern[at:])

    def _add(self, regex: str) -> None:
        (self.before if self.after is None else self.after).append(regex)

    def _text(self, text: str) -> None:
        if text:
            self._add(_literal(text))
            self._width = None if self._width is None or " " in text else self._width + len(text)

    def _conversion(self, match: re.Match[str], rest: str) -> None:
        name = _NAMES.get(match["name"], match["name"])
        following = _CONVERSION.split(rest, maxsplit=1)[0] if rest else ""
        if name == "m":
            self.after = []
            return
        if name == "n":
            return
        if name == "d":
            self.date = date_format(match["argument"] or "")
            self.time_at = self._width if self.date.is_iso else None
        regex = {
            "d": f"(?P<stamp>{self.date.regex if self.date else ''})",
            "p": _LEVELS_BY_ARGUMENT.get(match["argument"], f" *(?P<level>{_LEVEL}) *"),
            "c": r"(?P<logger>[\w.$/]+(?:::[\w.$/]+)*)",
            "t": f"(?P<thread>{_before_message(following, rest)})",
            "C": r"(?P<logger>[\w.$/]+)" if "%c" not in self.pattern and "%logger" not in self.pattern else r"[\w.$/]+",
            "L": r"[\d?]+",
            "r": r"\d+",
            "pid": r"\d+",
        }.get(name, _up_to(following))
        padded = f" *{regex} *" if match["width"] else regex
        self._add(padded)
        self.beginning = self.beginning or "".join(self.before)
        self.names.add(name)
        self._width = None


def compile_layout(
    name: str,
    pattern: str,
    product: str = "",
    samples: Sequence[dict[str, Any]] = (),
    *,
    threads: str = "",
    loggers: str = "",
    begins: str = "",
) -> Layout:
    """Compile a pattern such as `[%d] %p %m (%c)`.

    Raises ValueError when it holds no message.
    """
    compiler = _Compiler(pattern)
    compiler.run()
    if compiler.after is None:
        raise ValueError(f"layout {name}: the pattern has no %m")
    tail = "".join(compiler.after)
    mark = pattern[pattern.index("%m") + 2 :].split("%")[0] if tail else ""
    mark = re.sub(r"^ message|^essage|^sg", "", mark)
    return Layout(
        name=name,
        product=product,
        pattern=pattern,
        head=LazyRegex("".join(compiler.before) + (f"(?={begins})" if begins else "")),
        tail=LazyRegex(tail) if tail else None,
        tail_mark=mark,
        date=compiler.date,
        time_at=compiler.time_at,
        fields=len(compiler.names) + 1,
        samples=tuple(samples),
        threads=LazyRegex(threads) if threads else None,
        loggers=LazyRegex(loggers) if loggers else None,
        begins=begins,
        beginning=compiler.beginning,
    )


@lru_cache(maxsize=1)
def layouts() -> tuple[Layout, ...]:
    """All layouts, the more common first."""
    loaded: list[Layout] = []
    for path in sorted(files("parsers.formats").joinpath("data").iterdir(), key=lambda path: path.name):
        if path.name.endswith(".yaml") and path.name.startswith("records_"):
            data = load_yaml(path.read_text(encoding="utf-8"))
            loaded += [
                compile_layout(
                    layout["name"],
                    layout["pattern"],
                    data["product"],
                    layout["samples"],
                    **{option: layout.get(option, "") for option in ("threads", "loggers", "begins")},
                )
                for layout in data["layouts"]
            ]
    return tuple(loaded)


def begins_record(line: str) -> bool:
    """Whether a line begins with any layout's dated header.

    Or with one whose time is broken.
    """
    if _SHAPED.search(line) is None:
        return _unshaped().match(line) is not None
    return BROKEN_STAMP.match(line) is not None or any(head.match(line) for head in _dated_heads())


@lru_cache(maxsize=1)
def _dated_heads() -> tuple[re.Pattern[str], ...]:
    return tuple(_compiled(layout.head.pattern) for layout in layouts() if layout.date is not None and layout.date.has_date)


@lru_cache(maxsize=1)
def _unshaped() -> re.Pattern[str]:
    """Headers with a numeric level, known by how messages begin."""
    heads = (layout.head.pattern for layout in layouts() if layout.begins and layout.date is not None)
    return re.compile("|".join(re.sub(r"\(\?P<\w+>", "(?:", head) for head in heads), re.ASCII)


JSON = "json"
LOGFMT = "logfmt"
DOCUMENTS = frozenset({JSON, LOGFMT})
"""Layouts whose records are documents of keys and values."""

MESSAGES = "messages"
"""Name of no layout at all: records are found by their messages."""


@lru_cache(maxsize=128)
def layout_named(name: str) -> AnyLayout:
    """Find a layout by name."""
    if name == MESSAGES:
        return compile_layout(MESSAGES, "%m")
    if name == LOGFMT:
        return logfmt_layout()
    return next((layout for layout in layouts() if layout.name == name), None) or json_layout()


@dataclass(frozen=True, slots=True)
class JsonLayout:
    """Records as JSON documents, one a line or spread over several."""

    name: str
    names: dict[str, list[str]] = field(repr=False)
    structured: tuple[Structure, ...] = field(repr=False, default=())
    samples: tuple[dict[str, Any], ...] = field(repr=False, default=())
    product: str = "common"
    pattern: str = JSON
    head: re.Pattern[str] = re.compile(r"[\[,\s]*\{")
    date: DateFormat | None = None
    time_at: int | None = None
    fields: int = 4

    def read(self, text: str, end: int | None = None) -> Header | None:  # noqa: ARG002 - the document ends where it ends
        document = logfmt.logfmt_document(text) if self.name == LOGFMT else json_document(text)
        if document is None:
            return None
        header_fields = {part: _first(document, part, names) for part, names in _names_among(tuple(document)).items()}
        message, level, logger = header_fields["message"], _level_name(header_fields["level"]), header_fields["logger"]
        if not isinstance(message, str):
            return None
        stamp = _json_stamp(_seconds_and_nanos(document) if header_fields["stamp"] is None else header_fields["stamp"])
        if level is None and "@t" in document:
            level = "INFO"  # Serilog's compact form leaves it out
        whole_message = with_keys(self.structured, message, document)
        if (whole_message is None and (logger is None or level is None)) or (level is None and stamp is None):
            return None  # without the name of a logger or a level only the message could identify it
        thread = header_fields["thread"]
        return Header(
            stamp,
            level,
            str(logger) if logger is not None else None,
            thread if isinstance(thread, str) else None,
            message if whole_message is None else whole_message,
            is_whole=True,
            date=date_format("UNIX_MILLIS" if stamp is not None and stamp.isdecimal() else ""),
        )


def _first(document: dict[str, Any], part: str, names: Sequence[str]) -> Any:
    for name in names:
        value = field_of(document, name)
        if value is not None and (part != "message" or isinstance(value, str)):
            return value
    return None


@lru_cache(maxsize=256)
def _names_among(keys: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Names for each part of a header among these keys."""
    names_by_part = json_layout().names.items()
    return {part: tuple(name for name in names if name in keys or name.partition(".")[0] in keys) for part, names in names_by_part}


def _level_name(value: Any) -> str | None:
    """A level by its name or number."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _LEVEL_DIGITS:
        value = int(value)
    if isinstance(value, int):
        return _LEVEL_NUMBERS.get(value)
    return _LEVEL_NAMES.get(value.upper(), value.upper()) if isinstance(value, str) else None


def _seconds_and_nanos(document: dict[str, Any]) -> dict[str, Any] | None:
    """The time of Google Cloud's layout for Java, in two fields."""
    seconds = document.get("timestampSeconds")
    return None if seconds is None else {"epochSecond": seconds, "nanoOfSecond": document.get("timestampNanos", 0)}


def _json_stamp(value: Any) -> str | None:
    """Text, or epoch milliseconds; impossible numbers as unreadable text."""
    if isinstance(value, dict):
        seconds, nanos = value.get("epochSecond"), value.get("nanoOfSecond", 0)
        return _millis(seconds * 1000 + nanos // 1_000_000) if isinstance(seconds, int) and isinstance(nanos, int) else None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) in _EPOCH_DIGITS:
        value = int(value)
    if isinstance(value, int):
        return _millis(_in_millis(value))
    if isinstance(value, float):
        return _millis(round(value * 1_000_000) // 1000) if abs(value) < _MILLIS_END else _NO_TIME
    return value if isinstance(value, str) and any(map(str.isdecimal, value)) else None  # without a digit it was made unreadable


def _in_millis(value: int) -> int:
    """A count of seconds since 1970, or of smaller units by its size."""
    if value <= 10**11:
        return value * 1000
    return value // 10**6 if value > 10**17 else value // 1000 if value > 10**14 else value


def _millis(value: int) -> str:
    return str(value) if 0 <= value < _MILLIS_END else _NO_TIME


AnyLayout = Layout | JsonLayout
ANY_PRODUCT = "any"
"""Product of layouts without loggers, which fit whatever has time and level."""


def load_yaml(text: str) -> Any:
    """Data of a YAML text, by libyaml's loader where present."""
    return yaml.load(text, Loader=_LOADER)  # noqa: S506 - it is the safe loader


@lru_cache(maxsize=1)
def json_layout() -> JsonLayout:
    """Layout of records that are JSON documents.

    With the names that their parts have (`layouts/json_records.yaml`).
    """
    data = load_yaml(files("parsers.formats").joinpath("data", "json_records.yaml").read_text(encoding="utf-8"))
    names = {name: data[name] for name in data if name not in ("structured", "samples")}
    return JsonLayout(JSON, names, tuple(map(Structure.from_entry, data["structured"])), tuple(data["samples"]))


@lru_cache(maxsize=1)
def logfmt_layout() -> JsonLayout:
    """Records of keys and values, named as in JSON."""
    same = json_layout()
    return JsonLayout(LOGFMT, same.names, same.structured, pattern=LOGFMT, head=logfmt.HEAD)
