"""Rows of gold into their tables, once the gates have let them through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.quality.gate import Result
from pipelines.schemas import TABLES
from pipelines.tables import Change, Stamp, Warehouse


def publish(
    warehouse: Warehouse, frames: Mapping[str, DataFrame], counts: Mapping[str, int], clusters: set[str], stamp: Stamp
) -> dict[str, Change]:
    """Make the rows of these clusters equal to `frames`, which have `counts` rows, table by table."""
    scope = F.col("cluster").isin(sorted(clusters))
    return {name: warehouse.replace(name, frame, stamp, scope, count=counts[name]) for name, frame in frames.items()}


def record_results(warehouse: Warehouse, results: Iterable[Result], stamp: Stamp) -> Change:
    """Write down what the gates found; results of tables that were not checked stay."""
    rows = [result.row() for result in results]
    schema = pa.schema([each for each in TABLES["quality_results"].arrow_schema() if each.name != "run_id"])
    frame = warehouse.spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))
    return warehouse.replace("quality_results", frame, stamp, F.col("table").isin(sorted({row["table"] for row in rows})), count=len(rows))
