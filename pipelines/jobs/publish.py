"""Write gold rows to their tables after the quality gates."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import pyarrow as pa

from pipelines.jobs.registry.resume_states import CLUSTER_STATE
from pipelines.jobs.replay.replay import ReplayResult
from pipelines.quality.gate import Result
from pipelines.schema.tables import without_run
from pipelines.warehouse.rows import predicates as scopes
from pipelines.warehouse.rows.spark_diff import RowChanges
from pipelines.warehouse.warehouse import Warehouse
from pipelines.warehouse.writes.direct_commit import WriteStamp

_AT_ONCE = 2
"""Number of tables written at once.

A small write consists mostly of Spark's planning and Delta's reading of the log, in sequence.
"""


def publish(warehouse: Warehouse, rows: ReplayResult, stamp: WriteStamp) -> dict[str, RowChanges]:
    """Replace the replayed rows table by table, and record the states of clusters."""

    def replaced(name: str) -> RowChanges:
        return warehouse.replace(name, rows.tables[name], stamp, rows.scopes[name], count=rows.counts[name])

    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        writes = {name: pool.submit(replaced, name) for name in rows.tables}
        for write in wait(writes.values(), return_when=FIRST_EXCEPTION).done:
            write.result()
    finally:  # if one write failed or the run is interrupted, the others need not begin
        pool.shutdown(cancel_futures=True)
    changes = {name: write.result() for name, write in writes.items()}
    subjects = {*rows.states["subject"].to_pylist(), *rows.gone}
    if subjects:
        scope = scopes.equals("kind", CLUSTER_STATE) & scopes.among("subject", subjects)
        changes["state_snapshots"] = warehouse.replace("state_snapshots", rows.states, stamp, scope, part="/clusters")
    for table, (taken, scope) in rows.snapshots.items():
        changes[table] = warehouse.replace(table, taken, stamp, scope)
    return changes


def record_results(warehouse: Warehouse, results: Iterable[Result], stamp: WriteStamp) -> RowChanges:
    """Record the gates' results.

    Results of tables that were not checked stay.
    """
    rows = pa.Table.from_pylist([result.row() for result in results], schema=without_run("quality_results"))
    return warehouse.replace("quality_results", rows, stamp, scopes.among("table", set(rows["table"].to_pylist())))
