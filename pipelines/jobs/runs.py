"""The register of runs, `ops.runs`: who holds the warehouse, how far each run came, and what it published.

A run appends its row before it touches anything else, and then looks whether another living run stood there first:
Delta orders the commits, so of two that start at once exactly one goes on, on any store.
"""

from __future__ import annotations

import json
import logging
import os
import random
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
from delta.exceptions import DeltaConcurrentModificationException
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.errors import WarehouseBusy
from pipelines.schemas import TABLES
from pipelines.tables import Warehouse

RUNNING, PUBLISHED, FAILED = "running", "published", "failed"
_TABLE = "runs"
_TRIES = 5
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that holds a warehouse. `born` tells it from a later process of the same number, where the system says."""

    host: str
    process: int
    born: str | None

    @classmethod
    def here(cls) -> Owner:
        return cls(socket.gethostname(), os.getpid(), _born(os.getpid()))

    def text(self) -> str:
        return json.dumps({"host": self.host, "process": self.process, "born": self.born}, sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Owner:
        values = json.loads(text)
        return cls(values["host"], values["process"], values["born"])

    def lives(self) -> bool | None:
        """Whether the process is still there; None for one of another host."""
        if self.host != socket.gethostname():
            return None
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return self.born is None or self.born == _born(self.process)


def _born(process: int) -> str | None:
    """When a process was started, as the kernel counts (field 22 of /proc/PID/stat); None where there is no /proc."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()[19]


@dataclass(frozen=True, slots=True)
class Published:
    """The last published run, as the next one needs it."""

    run_number: int
    table_versions: Mapping[str, int]
    model_version: str
    options: Mapping[str, Any]


@dataclass(slots=True)
class Run:
    """This run's entry. `start` writes it, `finish` closes it."""

    run_id: str
    inputs: list[str]
    options: Mapping[str, Any]
    product_version: str
    catalogue_version: str
    model_version: str
    run_number: int = 0
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Runs:
    """The register of one warehouse, whose table is open."""

    def __init__(self, warehouse: Warehouse, stale_after: timedelta) -> None:
        self._warehouse = warehouse
        self._stale_after = stale_after
        self.before: Published | None = None
        """The last published run, once the warehouse is taken."""

    def start(self, run: Run) -> None:
        """Take the warehouse, or raise WarehouseBusy. Runs that ended without a word are closed."""
        rows = self._rows(F.lit(True)).select("run_id", "run_number", "status", "owner", "seen_at").toArrow().to_pylist()
        self._refuse_if_held([row for row in rows if row["status"] == RUNNING])
        run.run_number = 1 + max((row["run_number"] for row in rows), default=0)
        self._append(run)
        telling = self._rows(F.col("status").isin(RUNNING, PUBLISHED) & (F.col("run_id") != run.run_id)).toArrow().to_pylist()
        others = [row for row in telling if row["status"] == RUNNING]
        first = self._first_of([run.run_id, *(row["run_id"] for row in others)]) if others else run.run_id
        if first != run.run_id:
            holder = next(row for row in others if row["run_id"] == first)
            self.finish(run, FAILED, WarehouseBusy.exit_code, error="another run was there first")
            raise WarehouseBusy(_held(holder))
        published = [row for row in telling if row["status"] == PUBLISHED]
        self.before = _published(max(published, key=itemgetter("run_number"))) if published else None

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
        }
        self._update(F.col("run_id") == run.run_id, values)

    def _rows(self, condition: Column) -> DataFrame:
        return self._warehouse.read(_TABLE).where(condition)

    def _refuse_if_held(self, running: list[dict[str, Any]]) -> None:
        for row in running:
            if self._lives(row):
                raise WarehouseBusy(_held(row))
            _log.warning("run %s ended without a word; its entry is closed", row["run_id"])
            values = {"status": F.lit(FAILED), "error": F.lit("the process ended without a word")}
            self._update((F.col("run_id") == row["run_id"]) & (F.col("status") == RUNNING), values)

    def _lives(self, row: Mapping[str, Any]) -> bool:
        lives = Owner.read(row["owner"]).lives()
        return lives if lives is not None else datetime.now(UTC) - row["seen_at"] < self._stale_after

    def _append(self, run: Run) -> None:
        row = dict.fromkeys(TABLES[_TABLE].column_names) | {
            "run_id": run.run_id,
            "run_number": run.run_number,
            "status": RUNNING,
            "started_at": run.started_at,
            "seen_at": run.started_at,
            "owner": Owner.here().text(),
            "inputs": run.inputs,
            "options": json.dumps(run.options, sort_keys=True, default=str),
            "product_version": run.product_version,
            "catalogue_version": run.catalogue_version,
            "model_version": run.model_version,
        }
        table = pa.Table.from_pylist([row], schema=TABLES[_TABLE].arrow_schema())
        frame = self._warehouse.spark.createDataFrame(table)
        path = self._warehouse.path(_TABLE)
        frame.coalesce(1).write.format("delta").mode("append").option("userMetadata", run.run_id).save(path)

    def _first_of(self, run_ids: list[str]) -> str:
        """Which of these runs was written down first."""
        history = DeltaTable.forPath(self._warehouse.spark, self._warehouse.path(_TABLE)).history()
        written = history.where(F.col("userMetadata").isin(run_ids)).orderBy("version").select("userMetadata").limit(1).collect()
        return str(written[0][0])

    def _update(self, condition: Column, values: Mapping[str, Column]) -> None:
        now = F.lit(datetime.now(UTC))
        table = DeltaTable.forPath(self._warehouse.spark, self._warehouse.path(_TABLE))
        _again(lambda: table.update(condition, {"seen_at": now, "ended_at": now, **values}))


def _again(write: Callable[[], object]) -> None:
    """Try once more, a little later, where another run wrote to the register at the same moment."""
    for left in reversed(range(_TRIES)):
        try:
            write()
        except DeltaConcurrentModificationException:
            if not left:
                raise
            time.sleep(random.uniform(0.1, 1.0))  # noqa: S311 - spreads tries, guards nothing
        else:
            return


def _published(row: Mapping[str, Any]) -> Published:
    return Published(row["run_number"], dict(row["table_versions"] or ()), row["model_version"], json.loads(row["options"]))


def _held(row: Mapping[str, Any]) -> str:
    owner = Owner.read(row["owner"])
    since = row["seen_at"].isoformat(timespec="seconds")
    return (
        f"another run holds the warehouse: {row['run_id']}, process {owner.process} on {owner.host}, last seen {since}; wait for it to end"
    )


def _map(values: Mapping[str, int] | Mapping[str, float] | None, kind: str) -> Column:
    if values is None:
        return F.lit(None)
    pairs = [part for name, value in sorted(values.items()) for part in (F.lit(name), F.lit(value).cast(kind))]
    return F.create_map(*pairs) if pairs else F.lit(None)
