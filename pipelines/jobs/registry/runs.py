"""The register of runs, `ops.runs`: lock, progress, and published versions.

A run appends its row before it changes anything else, and then checks for an earlier row of a living run. Delta orders
the commits, so of two runs that start at the same time exactly one continues, on any store.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote

from pipelines.crash_points import crash_point
from pipelines.errors import WarehouseBusy
from pipelines.jobs.registry.entries import (
    FAILED,
    PUBLISHED,
    RUNNING,
    RUNS,
    PublishedRun,
    RunEntry,
    published_from,
)
from pipelines.jobs.registry.lease import Owner, busy_message, is_alive, work_begins, work_ends
from pipelines.schema.tables import TABLES
from pipelines.storage.object_stores import open_table
from pipelines.warehouse.delta import sql as delta
from pipelines.warehouse.rows import predicates as scopes
from pipelines.warehouse.rows.arrow_diff import cast_to_schema, read_local
from pipelines.warehouse.rows.predicates import RowScope
from pipelines.warehouse.warehouse import Warehouse
from pipelines.warehouse.writes.direct_commit import Committer

ALIVE_SECONDS = 60.0
"""Interval of heartbeats."""

JVM_SECONDS = 60.0
"""Maximum time until the JVM of a dead run ends."""

_TRIES = 5
_log = logging.getLogger(__name__)


class Runs:
    """The register of one warehouse, with its table open."""

    def __init__(self, warehouse: Warehouse, stale_after: timedelta) -> None:
        self._warehouse = warehouse
        self._path = warehouse.tables.path(RUNS)
        self._stale_after = stale_after
        self._host: str | None = None
        self._aside: SparkSession | None = None
        self._by_spark = False
        self.before: PublishedRun | None = None
        """The last published run, set once the warehouse is taken."""

    def start(self, run: RunEntry) -> None:
        """Take the warehouse, or raise WarehouseBusy.

        Closes the entries of dead runs.
        """
        work_begins(run.run_id)
        try:
            self._take(run)
        except BaseException:
            work_ends(run.run_id)
            raise

    def _take(self, run: RunEntry) -> None:
        self._host = run.host
        rows = self._rows()
        self._refuse_if_held([row for row in rows if row["status"] == RUNNING])
        run.started_at = datetime.now(UTC)  # the run before may have ended since this process began
        run.run_number = 1 + max((row["run_number"] for row in rows), default=0)
        crash_point("before entry")
        self._append(run)
        crash_point("after entry")
        rows = [row for row in self._rows() if row["run_id"] != run.run_id]
        others = [row for row in rows if row["status"] == RUNNING]
        first = self._first_of([run.run_id, *(row["run_id"] for row in others)]) if others else run.run_id
        if first != run.run_id:
            holder = next(row for row in others if row["run_id"] == first)
            self.finish(run, FAILED, WarehouseBusy.exit_code, error="another run was there first")
            raise WarehouseBusy(busy_message(holder))
        self._number(run, max((row["run_number"] for row in rows), default=0))
        self.before = self.last_published()

    def _number(self, run: RunEntry, before: int) -> None:
        """Choose another number if a run that ended meanwhile has the same one.

        Transactions need unique numbers.
        """
        if before >= run.run_number:
            run.run_number = before + 1
            self._update(run.run_id, {"run_number": run.run_number})

    def knows(self, run_ids: Iterable[str | None]) -> bool:
        """Whether all of these are runs of this warehouse."""
        return set(run_ids) <= {row["run_id"] for row in self._rows()}

    def last_published(self) -> PublishedRun | None:
        """The run with the tables that readers see."""
        runs = self._rows(scopes.equals("status", PUBLISHED))
        return published_from(max(runs, key=itemgetter("run_number"))) if runs else None

    def finish(
        self,
        run: RunEntry,
        status: str,
        exit_code: int,
        *,
        table_versions: Mapping[str, int] | None = None,
        counts: Mapping[str, int] | None = None,
        timings: Mapping[str, float] | None = None,
        error: str | None = None,
    ) -> None:
        """Close this run's entry; status `published` makes its tables visible.

        If that cannot be written, the run ends anyway, and the next one closes its entry.
        """
        values = {
            "status": status,
            "exit_code": exit_code,
            "error": error,
            "table_versions": table_versions,
            "counts": counts,
            "timings": timings,
            "ended_at": datetime.now(UTC),
        }
        crash_point(f"before {status}")
        try:
            self._update(run.run_id, values, status=RUNNING)
        finally:
            work_ends(run.run_id)
        if status == PUBLISHED and not self._is(run, PUBLISHED):
            raise WarehouseBusy("this run was taken for dead, and another one has taken the warehouse over: nothing of it is published")
        crash_point(f"after {status}")

    def _is(self, run: RunEntry, status: str) -> bool:
        return any(row["status"] == status for row in self._rows(scopes.equals("run_id", run.run_id)))

    def takes_over(self, run: RunEntry, before: PublishedRun) -> None:
        """Copy options and versions of an earlier run, whose rows this entry publishes."""
        row = {
            "options": json.dumps(before.options, sort_keys=True, default=str),
            "catalogue_version": before.catalogue_version,
            "model_version": before.model_version,
        }
        self._update(run.run_id, row)

    def scrub(self, run: RunEntry) -> None:
        """Remove names from entries of earlier runs and of alerts.

        They were stored before redaction was requested.
        """
        kept = {name: value for name, value in (self.before.options if self.before else {}).items() if name != "read"}
        values = {
            "inputs": "CAST(array() AS ARRAY<STRING>)",
            "owner": delta.sql_text("{}"),
            "error": delta.literal(None),
            "options": delta.sql_text(json.dumps(kept, sort_keys=True, default=str)),
        }
        others = f"run_id != {delta.sql_text(run.run_id)} AND status != {delta.sql_text(RUNNING)}"
        spark, alerts = self._warehouse.spark, self._warehouse.tables.path("alerts")
        _retry(lambda: delta.update(spark, self._path, others, values))
        _retry(lambda: delta.update(spark, alerts, f"{delta.quote('groups')} IS NOT NULL", {"groups": delta.literal(None)}))

    def expire(self, before: datetime) -> int:
        """Delete entries of runs that ended before a time; return their number.

        The last published run stays.
        """
        kept = self.before.run_number if self.before is not None else -1
        old = f"ended_at < {delta.literal(before)} AND run_number != {kept}"
        count = self._warehouse.tables.frame(RUNS).where(old).count()
        if count:
            _retry(lambda: delta.delete(self._warehouse.spark, self._path, old))
        return count

    def forget_sent(self, incident_ids: Collection[str]) -> None:
        """Delete the alerts for these incidents."""
        if incident_ids:
            spark, alerts = self._warehouse.spark, self._warehouse.tables.path("alerts")
            _retry(lambda: delta.delete(spark, alerts, scopes.among("incident_id", incident_ids).sql()))

    @contextmanager
    def alive(self, run: RunEntry) -> Iterator[None]:
        """Send heartbeats during the block."""
        over = threading.Event()

        def tell() -> None:
            while not over.wait(ALIVE_SECONDS):
                try:
                    self.sign(run)
                except Exception:
                    _log.exception("run %s could not give a sign of life", run.run_id)

        thread = threading.Thread(target=tell, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def sign(self, run: RunEntry) -> None:
        """Send one heartbeat.

        Uses delta-rs, because a Spark task may have to wait for a stage of the run. If delta-rs cannot write to the
        store, Spark does so in a session of its own, without the transaction settings of the run's writes.
        """
        if not self._by_spark:
            now = f"arrow_cast({delta.micros_of(datetime.now(UTC))}, 'Timestamp(Microsecond, Some(\"UTC\"))')"
            try:
                open_table(self._path).update({"seen_at": now}, predicate=f"run_id = '{run.run_id}' AND status = '{RUNNING}'")
                return
            except Exception as error:  # for example a concurrent commit
                _log.debug("the sign of life can't be given without Spark: %s", error)
            except BaseException as error:  # panics in Rust are not subclasses of Exception, and would recur each time
                if isinstance(error, KeyboardInterrupt | SystemExit):
                    raise
                self._by_spark = True
        self._aside = self._aside or self._session()
        if self._aside is not None:
            self._update(run.run_id, {}, status=RUNNING, session=self._aside)

    def _session(self) -> SparkSession | None:
        """Another session of the same application, None if the platform has none."""
        spark = self._warehouse.spark
        try:
            # Spark Connect cannot create sessions, only clone them.
            return spark.cloneSession() if is_remote() else spark.newSession()  # type: ignore[attr-defined]
        except (AttributeError, NotImplementedError, PySparkException):
            _log.warning("this Spark gives no second session: the run gives no signs of life")
            return None

    def _rows(self, scope: RowScope | None = None) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._warehouse.rows.as_arrow(RUNS, scope).to_pylist()
        return rows

    def _refuse_if_held(self, running: list[dict[str, Any]]) -> None:
        for row in running:
            if self._lives(row):
                raise WarehouseBusy(busy_message(row))
            _log.warning("run %s ended without a word; its entry is closed", row["run_id"])
            values = {"status": FAILED, "ended_at": row["seen_at"], "error": "the process ended without a word"}
            self._update(row["run_id"], values, status=RUNNING)

    def _lives(self, row: Mapping[str, Any]) -> bool:
        owner = Owner.read(row["owner"])
        lives = is_alive(row, self._stale_after, self._host)
        # The JVM of a killed driver exists for a moment, and may still write.
        return lives or (owner.lives(self._host) is False and not owner.wait_for_jvm(JVM_SECONDS))

    def _append(self, run: RunEntry) -> None:
        row = run.row() | {
            "status": RUNNING,
            "seen_at": run.started_at,
            "owner": Owner.this_process(run.host).text(),
        }
        table = pa.Table.from_pylist([row], schema=TABLES[RUNS].arrow_schema())
        if self._append_directly(run.run_id, cast_to_schema(TABLES[RUNS], table)):
            return
        frame = self._warehouse.spark.createDataFrame(table)
        frame.coalesce(1).write.format("delta").mode("append").option("userMetadata", run.run_id).save(self._path)

    def _append_directly(self, run_id: str, rows: pa.Table) -> bool:
        """Add an entry without Spark; return False if that can't be."""
        for _ in range(_TRIES):
            with suppress(WarehouseBusy):  # another process was first, and the entry follows its own
                return self._warehouse.writer.commit(self._warehouse.tables.delta_table(RUNS), RUNS, rows, Committer(run_id))
        return False

    def _first_of(self, run_ids: list[str]) -> str:
        """The run that was registered first."""
        written = (
            delta.commits_of(self._warehouse.spark, self._path)
            .where(F.col("userMetadata").isin(run_ids))
            .orderBy("version")
            .select("userMetadata")
            .limit(1)
            .collect()
        )
        return str(written[0][0])

    def _update(self, run_id: str, values: Mapping[str, object], status: str | None = None, session: SparkSession | None = None) -> None:
        """Change the entry of a run, if it has the given status."""
        condition = f"run_id = {delta.literal(run_id)}" + (f" AND status = {delta.literal(status)}" if status else "")
        changed = {"seen_at": datetime.now(UTC), **values}
        literals = {name: delta.literal(value) for name, value in changed.items()}

        def write() -> None:
            if not self._update_directly(run_id, changed, status):
                delta.update(session or self._warehouse.spark, self._path, condition, literals)

        _retry(write)

    def _update_directly(self, run_id: str, values: Mapping[str, object], status: str | None) -> bool:
        """Change the entry without Spark; return False if that can't be."""
        delta_table, its_own = self._warehouse.tables.delta_table(RUNS), scopes.equals("run_id", run_id)
        scope = its_own & scopes.equals("status", status) if status else its_own
        rows = None if delta_table is None else read_local(delta_table, TABLES[RUNS].column_names, scope.arrow)
        if delta_table is None or rows is None:
            return False
        if not rows.num_rows:
            return True
        row = rows.to_pylist()[0] | {
            name: list(value.items()) or None if isinstance(value, Mapping) else value for name, value in values.items()
        }
        table = cast_to_schema(TABLES[RUNS], pa.Table.from_pylist([row], schema=TABLES[RUNS].arrow_schema()))
        return self._warehouse.writer.commit(delta_table, RUNS, table, Committer(run_id), {(run_id,)}, its_own)


def _retry(write: Callable[[], object]) -> None:
    """Write, and retry after a short delay if another run wrote too."""
    for left in reversed(range(_TRIES)):
        try:
            write()
        except Exception as error:  # exceptions of the JVM unknown to pyspark arrive as py4j's own
            if not left or not (isinstance(error, WarehouseBusy) or delta.is_conflict(error)):
                raise
            time.sleep(random.uniform(0.1, 1.0))  # noqa: S311 - spreads retries, no security involved
        else:
            return


__all__ = ["Owner", "RunEntry", "Runs"]
