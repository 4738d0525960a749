"""From a few parsed records to rows, in this process.

The same rows as `events`, `clusters`, `unknown_messages` and `rejected_records` make with Spark, whose queries take seconds
however few the records are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from models.ids import make_id
from pipelines.analysis.cluster_naming import DEFAULT_CLUSTER
from pipelines.schema.row_conversion import micros
from pipelines.schema.tables import without_run
from pipelines.transforms.events import Parts, times_before


def event_rows(events: pa.Table, parts: Parts, before: Mapping[str, int], names: Mapping[str, str]) -> pa.Table:
    """Events with their cluster and the greatest time so far in the file."""
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
    return _named(rows, names).select(without_run("events").names)


def rejected_rows(rejected: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Unreadable records with their cluster and id."""
    rows = _named(rejected, names)
    return _with_id(rows, "rejected_record_id", "rejected", ["cluster", "file", "byte_offset"]).select(
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
    return _with_id(
        pa.Table.from_pylist(rows, schema=plain), "unknown_in_file_id", "unknown_in_file", ["file", "block_number", "logger", "template"]
    ).select(schema.names)


def unknown_sums(in_files: pa.Table, clusters: Mapping[str, str]) -> pa.Table:
    """Counts of `unknown_in_files` summed up by cluster, logger and masked template.

    Files without a cluster are left out. The sample is the first record of the first file, by path.
    """
    summed: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in in_files.to_pylist():
        if row["file"] not in clusters:
            continue
        row["cluster"] = clusters[row["file"]]
        before = summed.setdefault((row["cluster"], row["template"], row["logger"]), row)
        if before is not row:
            first = min(before, row, key=lambda row: (row["file"].encode(), row["byte_offset"]))
            known = [[part[name] for part in (before, row) if part[name] is not None] for name in ("first_at", "last_at")]
            times = {"first_at": min(known[0], default=None), "last_at": max(known[1], default=None)}
            summed[row["cluster"], row["template"], row["logger"]] = first | times | {"count": before["count"] + row["count"]}
    schema = without_run("unknown_messages")
    plain = pa.schema([field for field in schema if field.name != "unknown_message_id"])
    rows = pa.Table.from_pylist(list(summed.values()), schema=plain)
    return _with_id(rows, "unknown_message_id", "unknown", ["cluster", "logger", "version", "template"]).select(schema.names)


def _named(rows: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Rows with the cluster of their file."""
    clusters = [names.get(file, DEFAULT_CLUSTER) for file in rows["file"].to_pylist()]
    plain = rows.drop_columns(["cluster"]) if "cluster" in rows.column_names else rows
    return plain.append_column("cluster", pa.array(clusters, pa.string()))


def _with_id(rows: pa.Table, name: str, kind: str, key: list[str]) -> pa.Table:
    values = zip(*(rows[column].to_pylist() for column in key), strict=True)
    return rows.append_column(name, pa.array([make_id(kind, *parts) for parts in values], pa.string()))
