"""Rows kept when a file has grown or was renamed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.warehouse.rows.arrow_diff import to_frame


@dataclass(frozen=True, slots=True)
class CarriedContent:
    """Keep rows of content `file_id` with path `file` under the path `path`.

    Content without an id has no rows. If `upto` is not None, rows at or after it are not kept.
    """

    file: str
    file_id: str | None
    path: str
    upto: int | None = None


def kept_rows(rows: DataFrame, kept: Sequence[CarriedContent], position: str, unit: int = 1) -> DataFrame:
    """Return the kept rows with their new paths.

    `position` counts in units of `unit` bytes.
    """
    specs = set(kept)
    table = pa.table(
        {
            "_file": [spec.file for spec in specs],
            "_file_id": [spec.file_id for spec in specs],
            "_path": [spec.path for spec in specs],
            "_upto": [None if spec.upto is None else spec.upto // unit for spec in specs],
        },
        schema=_SPECS,
    )
    known = F.broadcast(to_frame(rows.sparkSession, table))
    same = (F.col("file") == F.col("_file")) & (F.col("file_id") == F.col("_file_id"))
    staying = F.col("_upto").isNull() | (F.col(position) < F.col("_upto"))
    return rows.join(known, same & staying).select(
        *[F.col("_path").alias("file") if name == "file" else F.col(name) for name in rows.columns]
    )


_SPECS = pa.schema([("_file", pa.string()), ("_file_id", pa.string()), ("_path", pa.string()), ("_upto", pa.int64())])
