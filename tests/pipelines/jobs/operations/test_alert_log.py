"""Incidents that were told, once their rows expire: they are told no second time, no other one is missed, and in the end all that
is known of them goes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from pipelines.jobs.operations.alerts import AlertOptions, send_new, superseded
from pipelines.jobs.registry.runs import Runs
from pipelines.schema.tables import TABLES
from pipelines.warehouse.warehouse import Warehouse
from tests.pipelines.jobs.operations.test_operation import NOW, incident, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def at(minutes: int) -> datetime:
    """So many minutes before the last run."""
    return NOW - timedelta(minutes=minutes)


@dataclass(slots=True)
class Schedule:
    """Runs of a warehouse without Spark, each with the incidents that it publishes, and whom they were told to."""

    place: Path
    told: list[str] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] | None = None

    def __post_init__(self) -> None:
        for table in ("incidents", "alerts", "runs"):
            write(self.place, table, [])

    def versions(self) -> dict[str, int]:
        return {"incidents": DeltaTable(str(self.place / TABLES["incidents"].path)).version()}

    def run(
        self, minutes: int, *rows: dict[str, Any], severity: str = "critical", tells: bool = True, inputs: tuple[str, ...] = ("logs",)
    ) -> list[str]:
        """One run, so many minutes before the last; what it tells."""
        status = "unchanged" if list(rows) == self.rows else "published"
        if status == "published":
            write(self.place, "incidents", list(rows))
            self.rows = list(rows)
        versions = self.versions()
        run_id = f"run-{len(self.runs)}"
        made = {"product_version": "1", "catalogue_version": "1", "model_version": "1", "options": "{}", "owner": "{}"}
        self.runs.append(
            made
            | {"run_id": run_id, "run_number": len(self.runs), "status": status, "started_at": at(minutes), "seen_at": at(minutes)}
            | {"inputs": list(inputs), "table_versions": sorted(versions.items()), "exit_code": 0}
        )
        write(self.place, "runs", self.runs)
        before = len(self.told)
        if tells:
            send_new(str(self.place), versions, run_id, AlertOptions("", severity), lambda each: self.told.append(each["incident_id"]), NOW)
        return self.told[before:]


@pytest.fixture
def schedule(tmp_path: Path) -> Schedule:
    return Schedule(tmp_path)


BEGAN = incident("whole", started_at=at(600), ended_at=None)
REST = incident("rest", started_at=at(300), ended_at=None)

OTHERS = {
    "what is left of it": (REST, 0),
    "what is left of it, over by now": (REST | {"ended_at": at(1)}, 0),
    "what is left of it, with another group": (REST | {"groups": ["audit", "orders"]}, 0),
    "one that began after the last run had looked": (REST | {"started_at": at(9)}, 1),
    "one of another group": (REST | {"groups": ["audit"]}, 1),
    "one of no group": (REST | {"groups": []}, 1),
    "one of another cluster": (REST | {"cluster": "staging"}, 1),
    "one whose beginning is not known": (REST | {"started_at": None}, 1),
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_goes_on_without_its_beginning_is_not_told_again(schedule: Schedule, case: str) -> None:
    other, told_anew = OTHERS[case]
    assert schedule.run(20, BEGAN) == ["whole"]
    assert schedule.run(10, BEGAN) == []
    for minutes in (5, 0):
        schedule.run(minutes, other)
    assert schedule.told == ["whole", "rest"][: 1 + told_anew]
    rows = {row["incident_id"]: row for row in DeltaTable(str(schedule.place / TABLES["alerts"].path)).to_pyarrow_table().to_pylist()}
    assert rows["rest"]["previous_incident_id"] == (None if told_anew else "whole")


@pytest.mark.parametrize(("minutes", "told_anew"), [(300, 0), (60, 0), (59, 1)])
def test_one_that_begins_after_it_was_over_is_told(schedule: Schedule, minutes: int, told_anew: int) -> None:
    schedule.run(20, BEGAN | {"ended_at": at(60)})
    assert len(schedule.run(0, REST | {"started_at": at(minutes)})) == told_anew


def test_one_that_was_told_stands_for_one_that_is_left_of_it(schedule: Schedule) -> None:
    """And for none, where it is there itself."""
    schedule.run(20, BEGAN)
    later = incident("later", started_at=at(30), ended_at=None)
    assert schedule.run(10, BEGAN, later) == ["later"]
    assert len(schedule.run(5, REST, incident("last", started_at=at(200), ended_at=None), later)) == 1


def test_what_is_left_may_lose_its_beginning_in_turn(schedule: Schedule) -> None:
    for minutes in (600, 500, 400, 300, 200):
        schedule.run(minutes // 100, incident(f"from {minutes}", started_at=at(minutes), ended_at=None))
    assert schedule.told == ["from 600"]


def test_what_is_left_is_known_whoever_ran_in_between_and_once_it_is_grave_again(schedule: Schedule) -> None:
    """A run that nobody was told of, upkeep, and runs that find it mild for a while."""
    schedule.run(90, BEGAN)
    schedule.run(80, REST | {"severity": "warning"}, tells=False)
    schedule.run(70, REST | {"severity": "warning", "headline": "put together"}, inputs=())
    for minutes in range(60, 50, -1):
        schedule.run(minutes, REST | {"severity": "warning", "headline": f"{minutes}"})
    assert schedule.run(0, REST) == []
    assert schedule.told == ["whole"]


def test_where_nobody_knows_any_more_what_was_there_it_is_told(schedule: Schedule) -> None:
    schedule.run(20, BEGAN)
    for path in (schedule.place / TABLES["incidents"].path).glob("*.parquet"):
        path.unlink()
    assert schedule.run(0, REST) == ["rest"]


# -- what is known of alerts goes -------------------------------------------------------------------------------


def goes(schedule: Schedule, before: datetime = NOW + timedelta(days=90)) -> set[str]:
    """What upkeep would forget, so much later."""
    return superseded(str(schedule.place), schedule.versions()["incidents"], before, NOW)


LEFT = {
    "it is there": ([BEGAN], False),
    "nothing is there": ([], True),
    "what is left of it was not told yet": ([REST], False),
    "what is left of it was not told yet, and is mild": ([REST | {"severity": "info"}], False),
    "what is left of it is too old to be told": ([REST | {"ended_at": NOW - timedelta(days=2)}], True),
    "one that began earlier was not told yet": ([BEGAN | {"incident_id": "earlier", "started_at": at(700)}], False),
    "it has a cluster's name by now, which was not told yet": ([BEGAN | {"incident_id": "named", "cluster": "east"}], False),
    "one that began after it was not told yet": ([REST | {"started_at": at(9)}], True),
    "one of another group was not told yet": ([REST | {"groups": ["audit"]}], True),
}


@pytest.mark.parametrize("case", LEFT)
def test_an_alert_is_known_as_long_as_something_may_refer_to_it(schedule: Schedule, case: str) -> None:
    left, gone = LEFT[case]
    schedule.run(20, BEGAN)
    schedule.run(10, BEGAN)
    schedule.run(5, *left, tells=False)
    assert goes(schedule) == ({"whole"} if gone else set())
    assert not goes(schedule, before=NOW)  # it was told a moment ago


def test_an_alert_is_known_no_more_once_the_same_incident_is_known_by_another_id(schedule: Schedule) -> None:
    schedule.run(20, BEGAN)
    schedule.run(5, REST)
    assert goes(schedule) == {"whole"}
    schedule.run(0)
    assert goes(schedule) == {"whole", "rest"}


@pytest.mark.spark
def test_what_is_forgotten_of_alerts_keeps_nobody_from_telling(spark: SparkSession, schedule: Schedule) -> None:
    schedule.run(20, BEGAN, incident("other"))
    place = Warehouse(spark, str(schedule.place))
    register = Runs(place, timedelta(minutes=10))
    register.forget_sent(set())
    register.forget_sent({"whole", "never told"})
    assert [row["incident_id"] for row in place.rows.as_arrow("alerts").to_pylist()] == ["other"]
    assert schedule.run(0, incident("other"), incident("new", groups=["audit"])) == ["new"]
    assert goes(schedule) == set()
