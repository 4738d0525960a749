"""From parsed records to `silver.events`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

PartsByFile = Mapping[str, Sequence[Mapping[str, Any]]]
"""Reports on the parts of each file, in order, with times in microseconds."""


def in_file_order(events: DataFrame, parts: PartsByFile, before: Mapping[str, int]) -> DataFrame:
    """Set `file_time_max_at` to the greatest time up to each record of the whole file.

    A file is read in parts, and each part knows only its own times. `before` is the greatest time, in microseconds, of
    the bytes read by earlier runs. Rows stay in their partitions, because a large file does not fit into one.
    """
    unit = math.gcd(*(part["part_offset"] for reports in parts.values() for part in reports))
    times = [row for file, reports in parts.items() for row in times_before(file, reports, before.get(file), unit)]
    if not times:
        return events
    rows = pa.Table.from_pylist([dict(zip(_BEFORE.names, row, strict=True)) for row in times], schema=_BEFORE)
    known = F.broadcast(events.sparkSession.createDataFrame(rows))
    unit_of = F.expr(f"byte_offset DIV {unit}") if unit else F.lit(0)
    joined = events.join(known, (F.col("file") == F.col("_file")) & (unit_of == F.col("_unit")), "left")
    return joined.withColumn("file_time_max_at", F.greatest("file_time_max_at", F.timestamp_micros("_before"))).drop(*_BEFORE.names)


def times_before(file: str, reports: Sequence[Mapping[str, Any]], before: int | None, unit: int) -> Iterator[tuple[str, int, int]]:
    """The greatest time before each unit of a file's parts.

    Units without an earlier time are omitted.
    """
    ends = [part["part_offset"] for part in reports[1:]] + [reports[-1]["part_offset"] + reports[-1]["bytes_read"]]
    for part, end in zip(reports, ends, strict=True):
        if before is not None:
            first = part["part_offset"] // unit if unit else 0
            yield from ((file, number, before) for number in range(first, max(first, (end - 1) // unit if unit else 0) + 1))
        if part["last_at"] is not None:
            before = part["last_at"] if before is None else max(before, part["last_at"])


_BEFORE = pa.schema([("_file", pa.string()), ("_unit", pa.int64()), ("_before", pa.int64())])
