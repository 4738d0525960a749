"""Rows of gold into their tables, once the gates have let them through."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from pipelines import scopes
from pipelines.jobs.replay import Replayed
from pipelines.jobs.states import CLUSTER
from pipelines.quality.gate import Result
from pipelines.schemas import without_run
from pipelines.tables import Change, Stamp, Warehouse
from pipelines.transforms.snapshots import SNAPSHOTS


def publish(warehouse: Warehouse, rows: Replayed, stamp: Stamp) -> dict[str, Change]:
    """Make the stored rows that were replayed equal to what came out, table by table, and say what they rest on."""
    changes = {
        name: warehouse.replace(name, rows.few.get(name, frame), stamp, rows.scopes[name], count=rows.counts[name])
        for name, frame in rows.frames.items()
    }
    subjects = {*rows.states["subject"].to_pylist(), *rows.gone}
    if subjects:
        scope = scopes.equals("kind", CLUSTER) & scopes.among("subject", subjects)
        changes["state_snapshots"] = warehouse.replace("state_snapshots", rows.states, stamp, scope, part="/clusters")
    if rows.snapshots is not None:
        taken, scope = rows.snapshots
        changes[SNAPSHOTS] = warehouse.replace(SNAPSHOTS, taken, stamp, scope)
    return changes


def record_results(warehouse: Warehouse, results: Iterable[Result], stamp: Stamp) -> Change:
    """Write down what the gates found; results of tables that were not checked stay."""
    rows = pa.Table.from_pylist([result.row() for result in results], schema=without_run("quality_results"))
    return warehouse.replace("quality_results", rows, stamp, scopes.among("table", set(rows["table"].to_pylist())))
