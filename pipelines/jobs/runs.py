"""The register of runs, `ops.runs`: who holds the warehouse, how far each run came, and what it published.

A run appends its row before it touches anything else, and then looks whether another living run stood there first:
Delta orders the commits, so of two that start at once exactly one goes on, on any store.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from delta import exceptions as conflicts
from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.errors import WarehouseBusy
from pipelines.jobs.entries import FAILED, PUBLISHED, RUNNING, RUNS, Published, Run, held, holds, published_from
from pipelines.jobs.owner import Owner
from pipelines.points import reached
from pipelines.schemas import TABLES
from pipelines.tables import Warehouse

ALIVE_SECONDS = 60.0
"""A run gives a sign of life so often."""

JVM_SECONDS = 60.0
"""A dead run's JVM may take so long to end."""

_TRIES = 5
_CONFLICTS = (
    conflicts.DeltaConcurrentModificationException,
    conflicts.ConcurrentAppendException,
    conflicts.ConcurrentDeleteReadException,
    conflicts.ConcurrentDeleteDeleteException,
    conflicts.ConcurrentTransactionException,
    conflicts.ConcurrentWriteException,
    conflicts.MetadataChangedException,
    conflicts.ProtocolChangedException,
)
"""Delta's exceptions of commits at the same moment, which have no base in common."""
_log = logging.getLogger(__name__)


class Runs:
    """The register of one warehouse, whose table is open."""

    def __init__(self, warehouse: Warehouse, stale_after: timedelta) -> None:
        self._warehouse = warehouse
        self._stale_after = stale_after
        self._here: str | None = None
        self.before: Published | None = None
        """The last published run, once the warehouse is taken."""

    def start(self, run: Run) -> None:
        """Take the warehouse, or raise WarehouseBusy. Runs that ended without a word are closed."""
        self._here = run.host
        rows = self._rows(F.lit(True)).select("run_id", "run_number", "status", "owner", "seen_at").toArrow().to_pylist()
        self._refuse_if_held([row for row in rows if row["status"] == RUNNING])
        run.run_number = 1 + max((row["run_number"] for row in rows), default=0)
        reached("before entry")
        self._append(run)
        reached("after entry")
        rows = self._rows(F.col("run_id") != run.run_id).select("run_id", "run_number", "status", "owner", "seen_at").toArrow().to_pylist()
        others = [row for row in rows if row["status"] == RUNNING]
        first = self._first_of([run.run_id, *(row["run_id"] for row in others)]) if others else run.run_id
        if first != run.run_id:
            holder = next(row for row in others if row["run_id"] == first)
            self.finish(run, FAILED, WarehouseBusy.exit_code, error="another run was there first")
            raise WarehouseBusy(held(holder))
        self._number(run, max((row["run_number"] for row in rows), default=0))
        self.before = self._last_published()

    def _number(self, run: Run, before: int) -> None:
        """A run that came and went while this one took the warehouse may have the same number: transactions need their own."""
        if before >= run.run_number:
            run.run_number = before + 1
            self._update(F.col("run_id") == run.run_id, {"run_number": F.lit(run.run_number)})

    def _last_published(self) -> Published | None:
        found = self._rows(F.col("status") == PUBLISHED).orderBy(F.desc("run_number")).limit(1).toArrow().to_pylist()
        return published_from(found[0]) if found else None

    def finish(
        self,
        run: Run,
        status: str,
        exit_code: int,
        *,
        table_versions: Mapping[str, int] | None = None,
        counts: Mapping[str, int] | None = None,
        timings: Mapping[str, float] | None = None,
        error: str | None = None,
    ) -> None:
        """Close this run's entry; with status `published` readers see its tables from now on."""
        values = {
            "status": F.lit(status),
            "exit_code": F.lit(exit_code).cast("bigint"),
            "error": F.lit(error),
            "table_versions": _map(table_versions, "bigint"),
            "counts": _map(counts, "bigint"),
            "timings": _map(timings, "double"),
            "ended_at": F.lit(datetime.now(UTC)),
        }
        reached(f"before {status}")
        self._update((F.col("run_id") == run.run_id) & (F.col("status") == RUNNING), values)
        if status == PUBLISHED and not self._is(run, PUBLISHED):
            raise WarehouseBusy("this run was taken for dead, and another one has taken the warehouse over: nothing of it is published")
        reached(f"after {status}")

    def _is(self, run: Run, status: str) -> bool:
        return bool(self._rows((F.col("run_id") == run.run_id) & (F.col("status") == status)).limit(1).collect())

    def takes_over(self, run: Run, before: Published) -> None:
        """This entry publishes what an earlier run has made, so it has that run's options and versions."""
        told = {
            "options": F.lit(json.dumps(before.options, sort_keys=True, default=str)),
            "catalogue_version": F.lit(before.catalogue_version),
            "model_version": F.lit(before.model_version),
        }
        self._update(F.col("run_id") == run.run_id, told)

    def scrub(self, run: Run) -> None:
        """Take names out of the entries of earlier runs, which told them before they were to be redacted."""
        others = F.col("run_id") != run.run_id
        values: dict[str, str | Column] = {
            "inputs": F.array().cast("array<string>"),
            "owner": F.lit("{}"),
            "error": F.lit(None).cast("string"),
        }
        kept = {name: value for name, value in (self.before.options if self.before else {}).items() if name != "read"}
        DeltaTable.forPath(self._warehouse.spark, self._warehouse.path(RUNS)).update(
            others & (F.col("status") != RUNNING), values | {"options": F.lit(json.dumps(kept, sort_keys=True, default=str))}
        )

    def expire(self, before: datetime) -> int:
        """Remove entries of runs that ended before that time, but for the last published one; say how many."""
        kept = self.before.run_number if self.before is not None else -1
        old = F.col("ended_at").isNotNull() & (F.col("ended_at") < F.lit(before)) & (F.col("run_number") != kept)
        count = self._rows(old).count()
        if count:
            _again(lambda: DeltaTable.forPath(self._warehouse.spark, self._warehouse.path(RUNS)).delete(old))
        return count

    @contextmanager
    def alive(self, run: Run) -> Iterator[None]:
        """Give signs of life meanwhile, in a session of their own: transactions of the run's writes are none of theirs."""
        over = threading.Event()
        session = self._session()
        if session is None:
            yield
            return

        def tell() -> None:
            while not over.wait(ALIVE_SECONDS):
                table = DeltaTable.forPath(session, self._warehouse.path(RUNS))
                try:
                    _again(lambda table=table: table.update(F.col("run_id") == run.run_id, {"seen_at": F.lit(datetime.now(UTC))}))  # type: ignore[misc]
                except Exception:
                    _log.exception("run %s could not give a sign of life", run.run_id)

        thread = threading.Thread(target=tell, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _session(self) -> SparkSession | None:
        """Another session of the same application, or None where the platform gives none."""
        try:
            return self._warehouse.spark.newSession()
        except (AttributeError, NotImplementedError, PySparkException):
            _log.warning("this Spark gives no second session: the run gives no signs of life")
            return None

    def _rows(self, condition: Column) -> DataFrame:
        return self._warehouse.read(RUNS).where(condition)

    def _refuse_if_held(self, running: list[dict[str, Any]]) -> None:
        for row in running:
            if self._lives(row):
                raise WarehouseBusy(held(row))
            _log.warning("run %s ended without a word; its entry is closed", row["run_id"])
            values = {"status": F.lit(FAILED), "ended_at": F.col("seen_at"), "error": F.lit("the process ended without a word")}
            self._update((F.col("run_id") == row["run_id"]) & (F.col("status") == RUNNING), values)

    def _lives(self, row: Mapping[str, Any]) -> bool:
        owner = Owner.read(row["owner"])
        lives = holds(row, self._stale_after, self._here)
        # A killed driver leaves a JVM for a moment, which may still be writing.
        return lives or (owner.lives(self._here) is False and not owner.wait_for_jvm(JVM_SECONDS))

    def _append(self, run: Run) -> None:
        row = run.row() | {
            "status": RUNNING,
            "seen_at": run.started_at,
            "owner": Owner.here(run.host).text(),
        }
        table = pa.Table.from_pylist([row], schema=TABLES[RUNS].arrow_schema())
        frame = self._warehouse.spark.createDataFrame(table)
        path = self._warehouse.path(RUNS)
        frame.coalesce(1).write.format("delta").mode("append").option("userMetadata", run.run_id).save(path)

    def _first_of(self, run_ids: list[str]) -> str:
        """Which of these runs was written down first."""
        history = DeltaTable.forPath(self._warehouse.spark, self._warehouse.path(RUNS)).history()
        written = history.where(F.col("userMetadata").isin(run_ids)).orderBy("version").select("userMetadata").limit(1).collect()
        return str(written[0][0])

    def _update(self, condition: Column, values: Mapping[str, Column]) -> None:
        now = F.lit(datetime.now(UTC))
        table = DeltaTable.forPath(self._warehouse.spark, self._warehouse.path(RUNS))
        _again(lambda: table.update(condition, {"seen_at": now, **values}))


def _again(write: Callable[[], object]) -> None:
    """Try once more, a little later, where another run wrote to the register at the same moment."""
    for left in reversed(range(_TRIES)):
        try:
            write()
        except _CONFLICTS:
            if not left:
                raise
            time.sleep(random.uniform(0.1, 1.0))  # noqa: S311 - spreads tries, guards nothing
        else:
            return


def _map(values: Mapping[str, int] | Mapping[str, float] | None, kind: str) -> Column:
    if values is None:
        return F.lit(None)
    pairs = [part for name, value in sorted(values.items()) for part in (F.lit(name), F.lit(value).cast(kind))]
    return F.create_map(*pairs) if pairs else F.lit(None)


__all__ = ["Owner", "Run", "Runs"]
