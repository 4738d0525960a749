"""Envelopes around log lines: removed line by line, also nested ones.

Most are data (`data/envelopes.yaml`): a regular expression with the line in a group. For JSON documents and CSV
tables of log platforms a field or column holds the line. Terminal colours are an envelope too. A wrapper has a short
name (`cri`, `json:log`, `csv:,:3`), so that a FileFormat can be sent to workers.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import orjson

from parsers.formats.json_documents import (
    field_of,
    first_value,
    item_marks,
    json_document,
    lifted,
    text_of_key,
)
from parsers.formats.layouts import load_yaml
from parsers.formats.pages import PAGES, Unwrapped, Wrapper, to_utf8
from parsers.formats.tails import tail_named

_MOST_LINES = 200
"""Lines in which items of lists are looked for."""

_TELLING_LINES = 3
"""Lines that show whether each is a document with a line of a log."""

RECORD = "record"
"""Name of the wrapper for documents around those of programs."""

_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9])")


@dataclass(frozen=True, slots=True)
class RegexWrapper:
    name: str
    regex: re.Pattern[bytes]
    partial_mark: bytes
    samples: tuple[dict[str, Any], ...] = ()

    @property
    def form(self) -> re.Pattern[bytes]:
        """The form of most lines."""
        return self.regex

    def peel(self, line: bytes) -> Unwrapped | None:
        """The line inside, as for all wrappers."""
        match = self.regex.fullmatch(line)
        if match is None:
            return None
        fields = match.groupdict()
        return Unwrapped(fields["line"], fields.get("stamp"), fields.get("partial") == self.partial_mark)


@dataclass(frozen=True, slots=True)
class AnsiWrapper:
    """Colours and other control sequences of terminals."""

    name: str = "ansi"

    def peel(self, line: bytes) -> Unwrapped | None:
        if b"\x1b" not in line:
            return None
        return Unwrapped(_ANSI.sub(b"", line))


@dataclass(frozen=True, slots=True)
class JsonWrapper:
    """The line is a field of a JSON document.

    With `newline`, a value without a newline at its end continues in the next document.
    """

    name: str
    path: str
    ends_line: bool

    @property
    def form(self) -> re.Pattern[bytes] | None:
        """The form of documents whose line needs no decoding, if it is known."""
        return _document_forms().get(self.path)

    def peel(self, line: bytes) -> Unwrapped | None:
        document = json_document(line)
        value = text_of_key(document, self.path)
        if value is None:
            return None
        return Unwrapped(to_utf8(value.rstrip("\r\n")), _json_stamp(document), self.ends_line and not value.endswith("\n"))


@dataclass(frozen=True, slots=True)
class ItemWrapper:
    """One item of a list, whatever stands before and behind it.

    Lines are split at the mark before; an item is an object, or a pair of time and line.
    """

    name: str
    mark: bytes

    def peel(self, line: bytes) -> Unwrapped | None:
        if not line.startswith(self.mark):
            return Unwrapped(b"") if line.lstrip().startswith((b"{", b"[", b"]", b"}")) else None
        value = first_value(line.decode("utf-8", "replace"))
        if isinstance(value, list) and len(value) > 1 and all(isinstance(part, str) for part in value[:2]):
            return Unwrapped(to_utf8(value[1].rstrip("\r\n")), to_utf8(value[0]))
        return Unwrapped(orjson.dumps(value)) if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class CsvWrapper:
    """The line is a column of a table.

    Quoted fields may span several lines of the file.
    """

    name: str
    delimiter: str
    column: int
    stamp_column: int | None
    columns: tuple[str, ...] = ()
    """Names of columns, where rows are read as documents."""

    def peel(self, line: bytes) -> Unwrapped | None:
        try:
            row = next(csv.reader(io.StringIO(line.decode("utf-8", "replace"), newline=""), delimiter=self.delimiter))
        except (csv.Error, StopIteration):
            return None
        if self.columns and len(row) == len(self.columns):
            return Unwrapped(orjson.dumps({name: value for name, value in zip(self.columns, row, strict=True) if value}))
        if self.column >= len(row) or self.columns:
            return None
        at = self.stamp_column
        stamp = to_utf8(row[at]) if at is not None and at < len(row) and row[at] else None
        return Unwrapped(to_utf8(row[self.column].rstrip("\r\n")), stamp)


@dataclass(frozen=True, slots=True)
class ObjectWrapper:
    """Turns an object of an indented JSON document into one line.

    Fields of known inner objects are lifted, so that it reads as a record.
    """

    name: str
    blanks: bytes

    def peel(self, line: bytes) -> Unwrapped | None:
        text = line.strip()
        document = json_document(text[text.find(b"{") :]) if text.endswith((b"}", b"},")) and b"{" in text else None
        return Unwrapped(orjson.dumps(as_record(document)), _json_stamp(document)) if document is not None else None


@dataclass(frozen=True, slots=True)
class RecordWrapper:
    """A platform's document around a program's, as one document."""

    name: str = RECORD

    def peel(self, line: bytes) -> Unwrapped | None:
        document = json_document(line)
        return Unwrapped(orjson.dumps(as_record(document)), _json_stamp(document)) if document is not None else None


def as_record(document: dict[str, Any]) -> dict[str, Any]:
    """A document with the fields of its known inner objects, time first.

    If its line is a document, too, that is the record.
    """
    stamp, line = _stamp_in(document), _line_in(document)
    timed: dict[str, Any] = {"timestamp": str(stamp) if isinstance(stamp, int) else stamp} if stamp is not None else {}
    inner = json_document(line) if line is not None else None
    if inner is not None:
        return inner if _json_stamp(inner) is not None else timed | inner
    record = timed | lifted(document, _data()["json"]["roots"])
    if line is None or _is_recorded(record):
        return record
    return {name: value for name, value in record.items() if value != line} | {"message": line}


def _stamp_in(document: dict[str, Any] | None) -> str | int | float | None:
    """The time of a document, as it stands there."""
    for path in envelope_fields("json", "stamp"):
        value = field_of(document, path)
        if isinstance(value, str | float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63):
            return value
    return None


def _json_stamp(document: dict[str, Any] | None) -> bytes | None:
    value = _stamp_in(document)
    return None if value is None else to_utf8(f"{value:.6f}" if isinstance(value, float) else str(value))


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    loaded: dict[str, Any] = load_yaml(files("parsers.formats").joinpath("data", "envelopes.yaml").read_text(encoding="utf-8"))
    return loaded


@lru_cache(maxsize=8)
def envelope_fields(kind: str, part: str) -> tuple[str, ...]:
    """Names of fields, combined with each root if there are any."""
    names: list[str] = _data()[kind][part]
    roots: list[str] = _data()[kind].get("roots", [""])
    return tuple(f"{root}.{name}" if root else name for root in roots for name in names)


@lru_cache(maxsize=1)
def regex_wrappers() -> tuple[RegexWrapper, ...]:
    """Envelopes defined by a regular expression (`data/envelopes.yaml`)."""
    return tuple(
        RegexWrapper(
            envelope["name"],
            re.compile(envelope["regex"].encode("utf-8"), re.DOTALL),
            envelope.get("partial_mark", "").encode() or b"\x00",
            tuple(envelope["samples"]),
        )
        for envelope in _data()["envelopes"]
    )


@lru_cache(maxsize=1)
def _document_forms() -> dict[str, re.Pattern[bytes]]:
    """Forms of documents by the field with their line."""
    return {entry["line"]: re.compile(entry["regex"].encode()) for entry in _data()["json"]["forms"]}


@lru_cache(maxsize=64)
def wrapper_named(name: str) -> Wrapper:
    """Return the wrapper with this name."""
    kind, _, rest = name.partition(":")
    if kind == "ansi":
        return AnsiWrapper()
    if kind in PAGES:
        return PAGES[kind]
    if kind == "tail":
        return tail_named(name)
    if kind == "json":
        path, _, flag = rest.partition(":")
        return JsonWrapper(name, path, flag == "newline")
    if kind == RECORD:
        return RecordWrapper()
    if kind == "items":
        return ItemWrapper(name, rest.encode())
    if kind == "object":
        return ObjectWrapper(name, b"\t" * int(rest[1:]) if rest.startswith("t") else b" " * int(rest))
    if kind == "csv":
        delimiter, column, stamp = rest.split(":")
        return CsvWrapper(name, "\t" if delimiter == "tab" else delimiter, int(column), int(stamp) if stamp else None)
    if kind == "row":
        delimiter, _, columns = rest.partition(":")
        return CsvWrapper(name, "\t" if delimiter == "tab" else delimiter, 0, None, tuple(columns.split("|")))
    return next(wrapper for wrapper in regex_wrappers() if wrapper.name == name)


def likely_wrappers(lines: Sequence[bytes]) -> Iterable[str]:
    """Names of wrappers that fit most of these lines."""
    if any(b"\x1b" in line for line in lines):
        yield "ansi"
    document = next((candidate for line in lines if (candidate := json_document(line)) is not None), None)
    if document is not None:
        for path in envelope_fields("json", "line"):
            if text_of_key(document, path) is not None:
                newline = all(
                    str(text_of_key(line_document, path)).endswith("\n") for line in lines[:3] if (line_document := json_document(line))
                )
                yield f"json:{path}:newline" if newline else f"json:{path}"
        if any(isinstance(value, dict | list) for value in document.values()) or _line_in(document) is not None:
            yield RECORD
    elif lines:
        yield from _csv_candidates(lines[0])
    enough = max(1, len(lines) // 3)
    for wrapper in regex_wrappers():
        if sum(wrapper.regex.fullmatch(line) is not None for line in lines) >= enough:
            yield wrapper.name


def item_mark(names: Sequence[str]) -> bytes:
    """The beginning of items if a file is read item by item."""
    wrapper = wrapper_named(names[0]) if names else None
    return wrapper.mark if isinstance(wrapper, ItemWrapper) else b""


def item_wrappers(sample: bytes) -> Iterator[str]:
    """Name of the wrapper for lists whose items hold log lines."""
    lines = [line for line in sample.split(b"\n", _MOST_LINES)[:_MOST_LINES] if line.lstrip()[:1] in (b"{", b"[")]
    if not lines or any(_has_message(json_document(line) or {}) for line in lines[:_TELLING_LINES]):
        return
    counts = {mark: sum(_is_item(part) for line in lines for part in _parts(line, mark)) for mark in item_marks(sample)}
    best = max(counts, key=lambda mark: counts[mark], default=b"")
    if counts.get(best):
        yield f"items:{best.decode()}"


def _parts(line: bytes, mark: bytes) -> list[bytes]:
    """A line split before each mark, without what stands before the first."""
    return [mark + part for part in line.split(mark)[1:]]


def _is_item(part: bytes) -> bool:
    """Whether an item holds the line of a log."""
    value = first_value(part.decode("utf-8", "replace"))
    return isinstance(value, list) or (isinstance(value, dict) and _has_message(value))


def _has_message(document: dict[str, Any]) -> bool:
    """Whether a document holds the line of a log, or a program's record."""
    return _line_in(document) is not None or _is_recorded(as_record(document))


def _is_recorded(record: dict[str, Any]) -> bool:
    return any(isinstance(record.get(name), str) for name in ("message", "msg"))


def texts_in(document: Any) -> Iterator[str]:
    """Texts of a document that may be a log's line, likeliest first."""
    for root in _data()["json"]["roots"] if isinstance(document, dict) else ():
        inner = field_of(document, root) if root else document
        if isinstance(inner, dict):
            yield from (text for name in _data()["json"]["line"] if (text := text_of_key(inner, name)) is not None)


def _line_in(document: Any) -> str | None:
    return next(texts_in(document), None)


def _csv_candidates(header: bytes) -> Iterable[str]:
    text = header.decode("utf-8", "replace").lstrip("\ufeff").strip()
    for delimiter in (",", ";", "\t"):
        columns = [name.strip().strip('"') for name in text.split(delimiter)]
        names = [name.lower() for name in columns]
        mark = "tab" if delimiter == "\t" else delimiter
        if len(names) == 1 and (delimiter != "," or names[0] not in envelope_fields("csv", "line")):
            continue
        stamp = next((names.index(name) for name in envelope_fields("csv", "stamp") if name in names), "")
        for name in envelope_fields("csv", "line"):
            if name in names:
                yield f"csv:{mark}:{names.index(name)}:{stamp}"
        if len(names) > 1 and not set(names).isdisjoint(envelope_fields("csv", "line")):
            yield f"row:{mark}:{'|'.join(columns)}"
