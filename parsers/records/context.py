"""Types shared by the readers of a chunk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from parsers.formats.detection import FileFormat
from parsers.formats.partial_dates import PartialDates
from parsers.formats.time_zones import ZoneConverter

MAX_RECORD_BYTES = 1 << 20
RAISED = "could not be read: "
"""Prefix of the reason for a record that made its reader raise."""


def failure_reason(problem: Exception) -> str:
    """Return the reason for rejecting a record that made its reader raise.

    It has only the exception's name, because the message may contain text from the log. Raises MemoryError.
    """
    if isinstance(problem, MemoryError):
        raise problem
    return f"{RAISED}{type(problem).__name__}"


@dataclass(frozen=True, slots=True)
class RecordSpan:
    """Position and length of a record in its file."""

    line: int
    offset: int
    length: int
    is_cut: bool = False
    shared: int = 0  # number of bytes already counted with the previous record


@dataclass(frozen=True, slots=True)
class OpenRecord:
    """A record longer than the limit, before its end is reached.

    Holds its first bytes and how much of it was read.
    """

    head: bytes
    line: int
    offset: int
    begins: bool  # False for lines before the first header of a file
    mid_line: bool  # the chunk ended within one of its lines
    stamp: bytes | None = None
    discard: bool = False  # the record belongs to the previous range and is skipped


@dataclass(frozen=True, slots=True)
class ChunkContext:
    """Position of a chunk, and how to read its file.

    `forced_zone`: the clock was given for this file, so it overrides an offset in the stamps.
    """

    file: str
    file_id: str
    format: FileFormat
    clock: ZoneConverter
    forced_zone: bool = False
    byte_offset: int = 0
    line: int = 1
    max_record_bytes: int = MAX_RECORD_BYTES
    is_final: bool = False
    fold_runs: bool = False
    stop_offset: int | None = None  # records from here on belong to the next range
    open_record: OpenRecord | None = None
    partial_dates: PartialDates = field(default_factory=PartialDates)  # for layouts without a day or a year
    seen: Mapping[tuple[str | None, str, str | None], None] = field(default_factory=dict)  # what a text may quote: time, message, between
    zeros: RecordSpan | None = None  # the previous chunk ended in a hole of zero bytes


@dataclass(slots=True)
class Counts:
    """Counts of lines, records and bytes by result."""

    lines: int = 0
    records: int = 0
    recognised: int = 0
    unknown: int = 0
    rejected: int = 0
    invalid_utf8: int = 0
    bytes_recognised: int = 0
    bytes_unknown: int = 0
    bytes_ignored: int = 0
    bytes_rejected: int = 0
    first_hint: int = 0
    """The first line with words of a known message, or 0."""

    @property
    def bytes_read(self) -> int:
        """Bytes of records that were read."""
        return self.bytes_recognised + self.bytes_unknown + self.bytes_rejected

    @property
    def bytes(self) -> int:
        """All bytes, read or ignored."""
        return self.bytes_read + self.bytes_ignored

    def add(self, other: Counts) -> None:
        """Add the counts of another part."""
        hint = self.first_hint or other.first_hint
        for name in (counter.name for counter in fields(self)):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first_hint = hint

    def hint(self, line: int) -> None:
        """Keep the first of such lines."""
        self.first_hint = self.first_hint or line


def whole_characters(raw: bytes) -> bytes:
    """Remove an incomplete last character."""
    for back in range(1, min(4, len(raw)) + 1):
        byte = raw[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return raw if length <= back else raw[:-back]
        if byte < 0x80:
            break
    return raw.rstrip(b"\r\n")
