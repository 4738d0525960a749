"""Arrow schemas of the parsers' output, one per kind of record.

Times are microseconds, UTC. `file` is the path as the user would open it, `line` counts from 1, `byte_offset` is the
position in the decompressed stream. `fields` is canonical JSON (sorted keys) of all fields without a column.
"""

from __future__ import annotations

import pyarrow as pa

TIME = pa.timestamp("us", tz="UTC")

PLACE_COLUMNS: tuple[pa.Field, ...] = (
    pa.field("file", pa.string()),
    pa.field("file_id", pa.string()),
    pa.field("line", pa.int64()),
    pa.field("byte_offset", pa.int64()),
)

EVENT_SCHEMA: pa.Schema = pa.schema(
    [
        *PLACE_COLUMNS,
        pa.field("byte_length", pa.int64()),
        pa.field("at", TIME),
        pa.field("file_time_max_at", TIME),
        pa.field("ambiguous_time", pa.bool_()),
        pa.field("system", pa.string()),
        pa.field("message", pa.string()),
        pa.field("event", pa.string()),
        pa.field("witness", pa.string()),
        pa.field("level", pa.string()),
        pa.field("logger", pa.string()),
        pa.field("thread", pa.string()),
        pa.field("node", pa.string()),
        pa.field("group", pa.string()),
        pa.field("generation", pa.int64()),
        pa.field("member_id", pa.string()),
        pa.field("client_id", pa.string()),
        pa.field("instance_id", pa.string()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("fields", pa.string()),
        pa.field("text", pa.string()),
        pa.field("truncated", pa.bool_()),
    ]
)
"""One row per recognised record, in file order.

`file_time_max_at` is the running maximum of `at` in the file, including events without a time. `ambiguous_time`: the local time
occurs twice or never in its zone (daylight saving). `cut`: the record is incomplete, because it is longer than the
limit or was broken by a terminal.
"""

UNKNOWN_SCHEMA: pa.Schema = pa.schema(
    [
        *PLACE_COLUMNS,
        pa.field("at", TIME),
        pa.field("template", pa.string()),
        pa.field("logger", pa.string()),
        pa.field("level", pa.string()),
        pa.field("text", pa.string()),
    ]
)
"""One row per coordinator, controller or client record without a catalogue entry."""

REJECTED_SCHEMA: pa.Schema = pa.schema(
    [
        *PLACE_COLUMNS,
        pa.field("byte_length", pa.int64()),
        pa.field("reason", pa.string()),
        pa.field("text", pa.string()),
    ]
)
"""One row per unreadable record.

Has the first 500 characters, with control characters escaped.
"""

_TALLY = pa.map_(pa.string(), pa.int64())

FILE_REPORT_SCHEMA: pa.Schema = pa.schema(
    [
        pa.field("system", pa.string()),
        pa.field("path", pa.string()),
        pa.field("file_id", pa.string()),
        pa.field("size_bytes", pa.int64()),
        pa.field("bytes_read", pa.int64()),
        pa.field("bytes_parsed", pa.int64()),
        pa.field("bytes_ignored", pa.int64()),
        pa.field("bytes_rejected", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("layout", pa.string()),
        pa.field("encoding", pa.string()),
        pa.field("node", pa.string()),
        pa.field("version", pa.string()),
        pa.field("version_range", pa.string()),
        pa.field("time_zone", pa.string()),
        pa.field("first_at", TIME),
        pa.field("last_at", TIME),
        pa.field("lines", pa.int64()),
        pa.field("records", pa.int64()),
        pa.field("recognised", pa.int64()),
        pa.field("unknown", pa.int64()),
        pa.field("rejected", pa.int64()),
        pa.field("status", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("cluster_ids", pa.list_(pa.string())),
        pa.field("ended_at", TIME),
        pa.field("part_offset", pa.int64()),
        pa.field("part_line", pa.int64()),
        pa.field("checkpoints", pa.map_(pa.int64(), pa.string())),
        pa.field("version_ranges", pa.map_(pa.string(), pa.string())),
        pa.field("nodes", _TALLY),
        pa.field("witnesses", _TALLY),
        pa.field("systems", _TALLY),
    ]
)
"""One row per file, or per part of a split file.

`part_offset` is the start of the part, `part_line` the line of the byte before. `checkpoints` exist for content that
can only be read forward (`parsers.sources.content_checkpoints`). `nodes`, `witnesses` and `systems` count events, so that parts
can be merged (`parsers.reading.file_reports.merge_reports`).
"""

RECORD_KINDS: dict[str, pa.Schema] = {
    "events": EVENT_SCHEMA,
    "unknown": UNKNOWN_SCHEMA,
    "rejected": REJECTED_SCHEMA,
    "files": FILE_REPORT_SCHEMA,
}

RECORD_SCHEMA: pa.Schema = pa.schema(
    [pa.field("kind", pa.string()), *(pa.field(kind, pa.struct(list(schema))) for kind, schema in RECORD_KINDS.items())]
)
"""Rows of all kinds in one stream.

Each has the name of its kind, and the row in the column of that name.
"""

COMMON_FIELDS: tuple[str, ...] = (
    "node",
    "group",
    "generation",
    "member_id",
    "client_id",
    "instance_id",
    "topic",
    "partition",
)
"""Fields of a message with a column of their own."""
