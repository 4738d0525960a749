"""Rows of gold into their tables, once the gates have let them through."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import functions as F

from pipelines.jobs.replay import Replayed
from pipelines.jobs.states import CLUSTER
from pipelines.quality.gate import Result
from pipelines.schemas import TABLES
from pipelines.tables import Change, Stamp, Warehouse


def publish(warehouse: Warehouse, rows: Replayed, stamp: Stamp) -> dict[str, Change]:
    """Make the stored rows that were replayed equal to what came out, table by table, and say what they rest on."""
    changes = {
        name: warehouse.replace(name, frame, stamp, rows.scopes[name], count=rows.counts[name]) for name, frame in rows.frames.items()
    }
    if rows.states.num_rows:
        subjects = rows.states["subject"].to_pylist()
        scope = (F.col("kind") == CLUSTER) & F.col("subject").isin(subjects)
        states = warehouse.spark.createDataFrame(rows.states)
        changes["state_snapshots"] = warehouse.replace("state_snapshots", states, stamp, scope, part="/clusters")
    return changes


def record_results(warehouse: Warehouse, results: Iterable[Result], stamp: Stamp) -> Change:
    """Write down what the gates found; results of tables that were not checked stay."""
    rows = [result.row() for result in results]
    schema = pa.schema([each for each in TABLES["quality_results"].arrow_schema() if each.name != "run_id"])
    frame = warehouse.spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))
    return warehouse.replace("quality_results", frame, stamp, F.col("table").isin(sorted({row["table"] for row in rows})), count=len(rows))
