"""A commit made without Spark is the one that Spark would make, and is left to Spark where it may not be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pipelines.errors import WarehouseBusy
from pipelines.schema.row_conversion import to_batch
from pipelines.schema.tables import TABLES
from pipelines.warehouse.delta import sql as delta
from pipelines.warehouse.rows.predicates import among
from pipelines.warehouse.writes.direct_commit import Committer, commit_rows
from tests.conftest import LONG
from tests.pipelines.warehouse.opening.test_migrations import allocation, stamp, stored
from tests.pipelines.warehouse.rows.test_arrow_diff import NAME, arrow, incident

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.warehouse.warehouse import Warehouse

pytestmark = pytest.mark.spark
Opened = Callable[..., "Warehouse"]
LATE = 4_102_444_800_123_456
"""A time with microseconds, of which statistics hold milliseconds."""


def commit_info(place: Warehouse, version: int, name: str = NAME) -> dict[str, Any]:
    """What a commit tells of itself."""
    return next(action["commitInfo"] for action in actions(place, version, name) if "commitInfo" in action)


def actions(place: Warehouse, version: int, name: str = NAME) -> list[dict[str, Any]]:
    lines = (Path(place.tables.path(name)) / "_delta_log" / f"{version:020}.json").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def told(place: Warehouse, version: int, name: str) -> dict[str, Any]:
    """Actions of a commit without what is new in each: times, sizes, ids and the program."""
    found: dict[str, Any] = {kind: action for entry in actions(place, version, name) for kind, action in entry.items()}
    found["files removed"] = sum("remove" in entry for entry in actions(place, version, name))
    found.get("remove", {}).pop("stats", None)  # those of Spark need not be there, and are of the last file
    info = found["commitInfo"]
    for action, names in {
        "commitInfo": ("timestamp", "engineInfo", "txnId"),
        "txn": ("lastUpdated",),
        "add": ("path", "size", "modificationTime"),
        "remove": ("path", "size", "deletionTimestamp"),
    }.items():
        for name_of_value in names:
            found.get(action, {}).pop(name_of_value, None)
    if "add" in found:
        found["add"]["stats"] = json.loads(found["add"]["stats"])
    del info["operationMetrics"], info["operationParameters"], info["isBlindAppend"]
    return found


def by_spark(place: Warehouse) -> Warehouse:
    """A warehouse that commits by Spark alone."""
    place.writer.__dict__["writes_plainly"] = False
    return place


def incidents(*rows: Any) -> pa.Table:
    return pa.Table.from_batches([to_batch("incidents", rows)])


def test_a_commit_is_that_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    from pipelines.warehouse.warehouse import Warehouse

    first = [incident("g", 1, 10), incident("a name of a group that is longer than statistics are", 2, None), incident("ü" * 40, 3, LATE)]
    places = [Warehouse(spark, str(tmp_path / "ours")), by_spark(Warehouse(spark, str(tmp_path / "theirs")))]
    for place in places:
        place.open_one("runs")
        place.open_one("incidents")
        place.replace("incidents", incidents(*first), stamp(1))
        place.replace("incidents", incidents(*first, incident("h", 1, 20)), stamp(2))
        place.replace("incidents", incidents(incident("g", 1, 11), *first[1:]), stamp(3))
    ours, theirs = ([told(place, version, "incidents") for version in (1, 2, 3)] for place in places)
    assert ours == theirs
    assert [commit_info(place, 1, "incidents")["engineInfo"].partition("/")[0] for place in places] == ["groupscope", "Apache-Spark"]
    for read in (lambda place: place.tables.frame("incidents").toArrow(), lambda place: place.rows.as_arrow("incidents")):
        rows = [read(place).sort_by("incident_id").to_pylist() for place in places]
        assert rows[0] == rows[1]
    schemas = [place.tables.frame("incidents").schema for place in places]
    assert schemas[0] == schemas[1]


def test_spark_goes_on_from_our_commits_and_we_from_its(spark: SparkSession, warehouse: Opened) -> None:
    place = warehouse(NAME)
    for number in range(1, 12):
        place.replace(NAME, arrow(*(allocation("g", str(client), queues=number) for client in range(number))), stamp(number))
    programs = {version: commit_info(place, version)["engineInfo"].partition("/")[0] for version in range(1, 12)}
    assert programs == {version: "Apache-Spark" if version == 10 else "groupscope" for version in range(1, 12)}
    assert (Path(place.tables.path(NAME)) / "_delta_log" / f"{10:020}.checkpoint.parquet").exists()
    delta.update(spark, place.tables.path(NAME), "client_id = '3'", {"queues": "70"})
    assert place.rows.as_arrow(NAME).num_rows == place.tables.frame(NAME).count() == 11
    assert set(place.tables.frame(NAME).toArrow()["queues"].to_pylist()) == {11, 70}
    assert tuple(delta_detail(spark, place)) == TABLES[NAME].clustering


def delta_detail(spark: SparkSession, place: Warehouse) -> list[str]:
    [detail] = spark.sql(f"DESCRIBE DETAIL {delta.table_at(place.tables.path(NAME))}").select("clusteringColumns").collect()
    return list(detail[0])


def test_only_files_with_changed_rows_are_rewritten(warehouse: Opened) -> None:
    place = warehouse(NAME)
    for number in (1, 2, 3):
        place.replace(NAME, arrow(*(allocation("g", each) for each in "abc"[:number])), stamp(number))
    log = place.tables.delta_table(NAME)
    changed = place.rows.as_arrow(NAME).filter(pc.field("client_id") == "b")
    assert log is not None
    key = changed[TABLES[NAME].key[0]].to_pylist()
    assert place.writer.commit(log, NAME, changed, Committer("run-9"), {(each,) for each in key}, among(TABLES[NAME].key[0], key))
    assert sum("remove" in action for action in actions(place, 4)) == 1
    assert stored(place) == {"c/g/a": "run-1", "c/g/b": "run-2", "c/g/c": "run-3"}


@LONG
def test_files_stop_growing(warehouse: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows of which the last one changes each time, old ones are rewritten only after Spark has joined all files."""
    monkeypatch.setattr("pipelines.warehouse.writes.direct_commit.MERGED_ROWS_MAX", 4)
    place = warehouse(NAME)
    written = list[int]()
    for number in range(1, 40):
        rows = [allocation("g", f"{each:02}", queues=7 if each < number - 1 else number) for each in range(number)]
        place.replace(NAME, arrow(*rows), stamp(number))
        if number % 10 > 1:
            written += [json.loads(action["add"]["stats"])["numRecords"] for action in actions(place, number) if "add" in action]
    assert max(written) == 4 + 2
    assert place.rows.as_arrow(NAME).sort_by("client_id")["client_id"].to_pylist() == [f"{each:02}" for each in range(39)]
    assert sorted(place.rows.as_arrow(NAME)["queues"].to_pylist()) == [7] * 38 + [39]


@pytest.mark.parametrize(
    "demand",
    [
        "ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        pytest.param("ALTER TABLE {table} ADD CONSTRAINT theirs CHECK (run_id != '')", marks=LONG),
        pytest.param("ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')", marks=LONG),
    ],
)
def test_a_table_that_demands_more_is_left_to_spark(spark: SparkSession, warehouse: Opened, demand: str) -> None:
    place = warehouse(NAME)
    spark.sql(demand.format(table=delta.table_at(place.tables.path(NAME))))
    place = warehouse(NAME)
    place.replace(NAME, arrow(allocation("g", "1")), stamp(1))
    assert commit_info(place, place.tables.latest(NAME))["engineInfo"].startswith("Apache-Spark")
    assert stored(place) == {"c/g/1": "run-1"}


@pytest.mark.parametrize("values", [{"confidence": 1.5}, {"cause": "a word of none"}, {"queues": -1}])
def test_a_row_that_a_constraint_refuses_is_refused(warehouse: Opened, values: dict[str, Any]) -> None:
    place = warehouse(NAME)
    with pytest.raises(Exception, match=r"DELTA_VIOLATE_CONSTRAINT|CHECK constraint"):
        place.replace(NAME, arrow(allocation("g", "1", **values)), stamp(1))
    assert place.tables.latest(NAME) == 0


def test_of_two_commits_at_once_one_is_made(warehouse: Opened) -> None:
    place = warehouse(NAME)
    log = place.tables.delta_table(NAME)
    assert log is not None
    place.replace(NAME, arrow(allocation("g", "1")), stamp(1))
    rows = place.rows.as_arrow(NAME)
    with pytest.raises(WarehouseBusy):
        place.writer.commit(log, NAME, rows, Committer("run-2"))
    assert len(list(Path(place.tables.path(NAME)).glob("*.parquet"))) == 1
    assert stored(place) == {"c/g/1": "run-1"}


def test_a_session_with_settings_of_its_own_writes_itself(spark: SparkSession, warehouse: Opened) -> None:
    setting = "spark.sql.parquet.compression.codec"
    spark.conf.set(setting, "zstd")
    try:
        place = warehouse(NAME)
        place.replace(NAME, arrow(allocation("g", "1")), stamp(1))
    finally:
        spark.conf.unset(setting)
    assert commit_info(place, 1)["engineInfo"].startswith("Apache-Spark")


def test_a_full_disk_is_told_by_spark(warehouse: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    place = warehouse(NAME)
    place.replace(NAME, arrow(allocation("g", "1")), stamp(1))
    rows, log = place.rows.as_arrow(NAME), place.tables.delta_table(NAME)
    assert log is not None
    monkeypatch.setattr("pipelines.warehouse.writes.direct_commit.put_commit", full)
    assert not commit_rows(log, TABLES[NAME], rows, Committer("run-2"))
    assert len(list(Path(place.tables.path(NAME)).glob("*.parquet"))) == 1
