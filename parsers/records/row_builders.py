"""Builders of rows: lists per column, converted to Arrow batches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import orjson
import pyarrow as pa

from parsers.arrow_arrays import flags, optional_numbers, repeated_text, strings
from parsers.schema import COMMON_FIELDS, EVENT_SCHEMA, REJECTED_SCHEMA, UNKNOWN_SCHEMA

REJECTED_TEXT_CHARACTERS = 500
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|\n")


def escaped_start(text: str) -> str:
    """The first characters of a text, with control characters escaped."""
    return _CONTROL.sub(_visible, text[:REJECTED_TEXT_CHARACTERS])


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def canonical_json(fields: dict[str, Any]) -> str:
    """JSON of fields with sorted keys.

    Equal fields give equal texts.
    """
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode() if fields else "{}"


@dataclass(slots=True)
class EventRows:
    """Recognised records, as parallel lists."""

    line: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    length: list[int] = field(default_factory=list)
    at: list[int | None] = field(default_factory=list)
    odd_time: list[bool] = field(default_factory=list)
    level: list[str | None] = field(default_factory=list)
    logger: list[str | None] = field(default_factory=list)
    thread: list[str | None] = field(default_factory=list)
    match: list[Any] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    cut: list[bool] = field(default_factory=list)
    shared: list[int] = field(default_factory=list)
    ready: list[pa.RecordBatch] = field(default_factory=list)  # batches built column by column

    def batch(self, file: str, file_id: str, runs: Sequence[tuple[int, int, int]]) -> pa.RecordBatch:
        """All rows in file order, without `file_time_max_at`.

        Only a reader of the whole file knows that column.
        """
        parts = [*self.ready, self._batch(file, file_id, runs)] if self.line or not self.ready else self.ready
        if len(parts) == 1:
            return parts[0]
        return pa.concat_batches(parts).sort_by("byte_offset")

    def unfit(self) -> Iterator[tuple[int, Exception]]:
        """Rows that cannot be converted even alone, with the exception."""
        for row in range(len(self.line)):
            alone = EventRows(**{name: [getattr(self, name)[row]] for name in _ROWS})
            try:
                alone.batch("", "", ())
            except Exception as problem:
                yield row, problem

    def drop(self, row: int) -> None:
        """Remove a row."""
        for name in _ROWS:
            del getattr(self, name)[row]

    def _batch(self, file: str, file_id: str, runs: Sequence[tuple[int, int, int]]) -> pa.RecordBatch:
        count = len(self.line)
        matches = self.match
        names = list(self.fields)
        for row, times, last_at in runs:
            names[row] = canonical_json({**matches[row].fields, "count": times, "last_at_us": last_at})
        columns = [match.columns for match in matches]
        common = {name: [column.get(name) for column in columns] for name in COMMON_FIELDS}
        values: dict[str, Any] = {
            "file": repeated_text(file, count),
            "file_id": repeated_text(file_id, count),
            "line": self.line,
            "byte_offset": self.offset,
            "byte_length": self.length,
            "at": self.at,
            "file_time_max_at": pa.nulls(count, EVENT_SCHEMA.field("file_time_max_at").type),
            "ambiguous_time": self.odd_time,
            "system": [match.system for match in matches],
            "message": [match.message_id for match in matches],
            "event": [match.event for match in matches],
            "witness": [match.witness for match in matches],
            "level": self.level,
            "logger": self.logger,
            "thread": self.thread,
            **common,
            "fields": names,
            "text": self.text,
            "truncated": self.cut,
        }
        return _batch(EVENT_SCHEMA, values)


_ROWS = tuple(column.name for column in fields(EventRows) if column.name != "ready")


@dataclass(slots=True)
class UnknownRows:
    """Unrecognised records of coordinators, controllers and clients."""

    line: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    at: list[int | None] = field(default_factory=list)
    template: list[str] = field(default_factory=list)
    logger: list[str | None] = field(default_factory=list)
    level: list[str | None] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def batch(self, file: str, file_id: str) -> pa.RecordBatch:
        values = {
            "file": repeated_text(file, len(self.line)),
            "file_id": repeated_text(file_id, len(self.line)),
            "line": self.line,
            "byte_offset": self.offset,
            "at": self.at,
            "template": self.template,
            "logger": self.logger,
            "level": self.level,
            "text": self.text,
        }
        return _batch(UNKNOWN_SCHEMA, values)


@dataclass(slots=True)
class RejectedRows:
    """Unreadable records with the reason."""

    line: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    length: list[int] = field(default_factory=list)
    reason: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def add(self, line: int, offset: int, length: int, reason: str, text: str) -> None:
        """Add a record, with its text escaped."""
        self.line.append(line)
        self.offset.append(offset)
        self.length.append(length)
        self.reason.append(reason)
        self.text.append(escaped_start(text))

    def batch(self, file: str, file_id: str) -> pa.RecordBatch:
        values = {
            "file": repeated_text(file, len(self.line)),
            "file_id": repeated_text(file_id, len(self.line)),
            "line": self.line,
            "byte_offset": self.offset,
            "byte_length": self.length,
            "reason": self.reason,
            "text": self.text,
        }
        made = _batch(REJECTED_SCHEMA, values)
        return made.sort_by("byte_offset") if self.line else made


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    if kind == pa.bool_():
        return flags(values)
    return strings(values) if kind == pa.string() else optional_numbers(values, kind)


def _batch(schema: pa.Schema, values: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_array(values[field.name], field.type) for field in schema], schema=schema)
