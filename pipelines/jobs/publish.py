"""Rows of gold into their tables, once the gates have let them through."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import pyarrow as pa

from pipelines.jobs.registry.resume_states import CLUSTER
from pipelines.jobs.replay.replay import Replayed
from pipelines.quality.gate import Result
from pipelines.schema.tables import without_run
from pipelines.warehouse import predicates as scopes
from pipelines.warehouse.warehouse import Change, Stamp, Warehouse

_AT_ONCE = 2
"""Tables that are written at once: a small write is mostly Spark's planning and Delta's look at its log, one step after the other."""


def publish(warehouse: Warehouse, rows: Replayed, stamp: Stamp) -> dict[str, Change]:
    """Make the stored rows that were replayed equal to what came out, table by table, and say what they rest on."""

    def replaced(name: str) -> Change:
        return warehouse.replace(name, rows.few.get(name, rows.frames[name]), stamp, rows.scopes[name], count=rows.counts[name])

    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        writes = {name: pool.submit(replaced, name) for name in rows.frames}
        for write in wait(writes.values(), return_when=FIRST_EXCEPTION).done:
            write.result()
    finally:  # where one has failed, or the run is told to end, the others need not begin
        pool.shutdown(cancel_futures=True)
    changes = {name: write.result() for name, write in writes.items()}
    subjects = {*rows.states["subject"].to_pylist(), *rows.gone}
    if subjects:
        scope = scopes.equals("kind", CLUSTER) & scopes.among("subject", subjects)
        changes["state_snapshots"] = warehouse.replace("state_snapshots", rows.states, stamp, scope, part="/clusters")
    for table, (taken, scope) in rows.snapshots.items():
        changes[table] = warehouse.replace(table, taken, stamp, scope)
    return changes


def record_results(warehouse: Warehouse, results: Iterable[Result], stamp: Stamp) -> Change:
    """Write down what the gates found; results of tables that were not checked stay."""
    rows = pa.Table.from_pylist([result.row() for result in results], schema=without_run("quality_results"))
    return warehouse.replace("quality_results", rows, stamp, scopes.among("table", set(rows["table"].to_pylist())))
