"""From a few parsed records to rows, in this process.

The same rows as `events`, `unknown_messages` and `rejected_records` make with Spark, whose queries take seconds however
few the records are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from pipelines.schema.row_conversion import micros
from pipelines.schema.tables import without_run
from pipelines.transforms.events import PartsByFile, times_before
from pipelines.transforms.ids import with_id_column


def event_rows(events: pa.Table, parts: PartsByFile, before: Mapping[str, int]) -> pa.Table:
    """Events with the greatest time so far in the file."""
    unit = math.gcd(*(part["part_offset"] for reports in parts.values() for part in reports))
    reached = {
        (file, number): at for path, reports in parts.items() for file, number, at in times_before(path, reports, before.get(path), unit)
    }
    files = events["file"].to_pylist()
    places = events["byte_offset"].to_pylist()
    earlier = [reached.get((file, place // unit if unit else 0)) for file, place in zip(files, places, strict=True)]
    own_times = micros(events["file_time_max_at"])
    latest = [max((at for at in pair if at is not None), default=None) for pair in zip(own_times, earlier, strict=True)]
    index = events.schema.get_field_index("file_time_max_at")
    field = events.schema.field(index)
    rows = events.set_column(index, field, pa.array(latest, pa.int64()).cast(field.type))
    return rows.select(without_run("events").names)


def rejected_rows(rejected: pa.Table) -> pa.Table:
    """Unreadable records with their id."""
    return with_id_column(rejected, "rejected_record_id", "rejected", ["cluster", "file", "byte_offset"]).select(
        without_run("rejected_records").names
    )


def unknown_rows(unknown: pa.Table, block_bytes: int) -> pa.Table:
    """Records without a catalogue entry, counted by file, block and masked template."""
    counted: dict[tuple[Any, ...], dict[str, Any]] = {}
    at = micros(unknown["at"])
    for place, record in enumerate(unknown.to_pylist()):
        block = record["byte_offset"] // block_bytes
        key = (record["file"], record["file_id"], block, record["template"], record["logger"])
        row = counted.setdefault(key, {"count": 0, "times": [], "first": record, "block_number": block})
        row["count"] += 1
        row["first"] = min(row["first"], record, key=lambda row: int(row["byte_offset"]))
        if at[place] is not None:
            row["times"].append(at[place])
    rows = [
        row["first"]
        | {name: row[name] for name in ("count", "block_number")}
        | {"sample": row["first"]["text"], "first_at": min(row["times"], default=None), "last_at": max(row["times"], default=None)}
        for row in counted.values()
    ]
    schema = without_run("unknown_in_files")
    plain = pa.schema([field for field in schema if field.name != "unknown_in_file_id"])
    return with_id_column(
        pa.Table.from_pylist(rows, schema=plain), "unknown_in_file_id", "unknown_in_file", ["file", "block_number", "logger", "template"]
    ).select(schema.names)
