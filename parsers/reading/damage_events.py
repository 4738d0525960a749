"""The event of a file with changed content.

A checksum or a decoder shows the change, but not its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from parsers.arrow_arrays import batch_of
from parsers.records.chunks import ParsedChunk
from parsers.records.context import ChunkContext, Counts
from parsers.records.row_builders import canonical_json
from parsers.schema import EVENT_SCHEMA, REJECTED_SCHEMA, UNKNOWN_SCHEMA

EVENT = "LogDamaged"
MESSAGE = "log.damaged"
PLACES_OF_A_CHUNK = 32


@dataclass(frozen=True, slots=True)
class DamagedRange:
    """Content in [begin, end) whose checksum is wrong; its times, microseconds."""

    begin: int
    end: int
    since: int
    until: int
    problem: str


def some_of(events: pa.RecordBatch) -> Iterator[tuple[int, int]]:
    """Places and times of some events of a chunk."""
    order = events["file_time_max_at"]
    step = max(1, events.num_rows // PLACES_OF_A_CHUNK)
    for row in range(0, events.num_rows, step):
        if order[row].is_valid:
            yield events["byte_offset"][row].as_py(), order[row].value


def since(damaged_from: int, reached: Sequence[tuple[int, int]], first_at: int) -> int:
    """Last known time before a position."""
    return max((at for place, at in reached if place < damaged_from), default=first_at)


def damage_chunk(damage: DamagedRange, context: ChunkContext, system: str) -> ParsedChunk:
    """The event as a record of no bytes at the end of the file."""
    row = dict.fromkeys(EVENT_SCHEMA.names) | {
        "file": context.file,
        "file_id": context.file_id,
        "line": context.line,
        "byte_offset": damage.end,
        "byte_length": 0,
        "at": damage.until,
        "file_time_max_at": damage.until,
        "ambiguous_time": False,
        "system": system,
        "message": MESSAGE,
        "event": EVENT,
        "witness": "broker",
        "fields": canonical_json({"begins_at_byte": damage.begin, "since_us": damage.since}),
        "text": f"{damage.problem}: any line of the bytes {damage.begin} to {damage.end} may be changed, and others may be missing",
        "truncated": False,
    }
    return ParsedChunk(
        events=batch_of([row], EVENT_SCHEMA),
        unknown=batch_of([], UNKNOWN_SCHEMA),
        rejected=batch_of([], REJECTED_SCHEMA),
        counts=Counts(records=1, recognised=1),
        rest=b"",
        context=context,
        is_done=True,
    )
