"""The register of runs: signs of life, and who may publish."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.jobs.registry.entries import PUBLISHED, RUNS, RunEntry
from pipelines.jobs.registry.runs import Runs
from pipelines.warehouse.delta import sql as delta
from pipelines.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def entries(place: Warehouse) -> dict[str, dict[str, Any]]:
    """As Spark reads them."""
    return {row["run_id"]: row for row in place.tables.frame(RUNS).toArrow().to_pylist()}


def nobody(*_: Any, **__: Any) -> None:
    raise OSError("not here")


def at_work(place: Warehouse) -> tuple[Runs, RunEntry]:
    """A register with one run that was published, and one that is at work."""
    register = Runs(place, timedelta(minutes=10))
    done, run = (RunEntry(name, ["logs"], {"a": 1}, "1", "1", "1") for name in ("done", "at work"))
    register.start(done)
    register.finish(done, PUBLISHED, 0, table_versions={"events": 3}, counts={"files": 2}, timings={"open": 0.5})
    register.start(run)
    return register, run


def test_a_run_begins_when_it_has_taken_the_warehouse(warehouse: Callable[..., Warehouse]) -> None:
    """Its process may have begun while the run before was at work."""
    place = warehouse(RUNS)
    at_work(place)
    rows = entries(place)

    assert rows["done"]["started_at"] < rows["done"]["ended_at"] < rows["at work"]["started_at"]


def test_a_sign_of_life_changes_nothing_else_and_needs_no_task_of_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Warehouse(spark, str(tmp_path))
    place.open_one(RUNS)
    register, run = at_work(place)
    before = entries(place)
    with monkeypatch.context() as patch:
        patch.setattr(delta, "update", nobody)
        register.sign(run)
    after = entries(place)

    assert after["at work"]["seen_at"] > before["at work"]["seen_at"]
    assert after == before | {"at work": before["at work"] | {"seen_at": after["at work"]["seen_at"]}}
    register.finish(run, PUBLISHED, 0, table_versions={"events": 4})
    last, version = register.last_published(), place.tables.latest(RUNS)
    assert last is not None
    assert (last.run_number, dict(last.table_versions)) == (2, {"events": 4})
    register.sign(run)  # too late: its entry is closed
    assert place.tables.latest(RUNS) == version


def test_spark_gives_the_sign_of_life_where_delta_rs_cannot_write(warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse(RUNS)  # with brackets in its path, at which delta-rs panics
    register, run = at_work(place)
    for _ in range(2):
        before = entries(place)["at work"]["seen_at"]
        register.sign(run)
        assert entries(place)["at work"]["seen_at"] > before
