"""What the readers of a chunk share."""

from __future__ import annotations

from dataclasses import dataclass, fields

from parsers.formats.detection import FileFormat
from parsers.formats.time_zones import Clock

MAX_RECORD_BYTES = 1 << 20
RAISED = "could not be read: "
"""How the reason of a record begins that made its reader raise."""


def raised(problem: Exception) -> str:
    """The reason to reject what made its reader raise: the exception's name, as its text may hold what a log says. Raises MemoryError."""
    if isinstance(problem, MemoryError):
        raise problem
    return f"{RAISED}{type(problem).__name__}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands and how long it is in the file."""

    line: int
    offset: int
    length: int
    cut: bool = False
    shared: int = 0  # of these bytes, how many were counted with the record before


@dataclass(frozen=True, slots=True)
class OpenRecord:
    """A record longer than the limit, whose end is not reached yet: its first bytes, and how much of it was read."""

    head: bytes
    line: int
    offset: int
    begins: bool  # false for lines before the first header of a file
    mid_line: bool  # the chunk ended inside a line of it
    stamp: bytes | None = None
    discard: bool = False  # it belongs to the range before and is only passed over


@dataclass(frozen=True, slots=True)
class ChunkContext:
    """Where a chunk stands and how its file is to be read.

    `forced_zone`: the clock was named for this very file, so it wins over an offset in the stamps.
    """

    file: str
    file_id: str
    format: FileFormat
    clock: Clock
    forced_zone: bool = False
    byte_offset: int = 0
    line: int = 1
    max_record_bytes: int = MAX_RECORD_BYTES
    final: bool = False
    fold_runs: bool = False
    stop_offset: int | None = None  # records that begin here or later belong to the range after
    open_record: OpenRecord | None = None
    days: int = 0  # midnights passed and last time of day, in layouts without a date
    clock_time: int | None = None
    zeros: Place | None = None  # the chunk before ended in a hole of zero bytes


@dataclass(slots=True)
class Counts:
    """What became of the lines, records and bytes."""

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

    @property
    def bytes_read(self) -> int:
        """Bytes of records that were looked into."""
        return self.bytes_recognised + self.bytes_unknown + self.bytes_rejected

    @property
    def bytes(self) -> int:
        """All bytes, read or ignored."""
        return self.bytes_read + self.bytes_ignored

    def add(self, other: Counts) -> None:
        """Add what another part counted."""
        for name in (each.name for each in fields(self)):
            setattr(self, name, getattr(self, name) + getattr(other, name))
