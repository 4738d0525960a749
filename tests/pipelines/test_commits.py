"""Commits that are written without Spark are commits to Spark, delta-rs and DuckDB alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from pipelines import commits
from pipelines.schemas import TABLES
from tests.pipelines.test_few import arrow
from tests.pipelines.test_tables import AT, allocation, frame, stamp, stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.tables import Warehouse

pytestmark = pytest.mark.spark
NAME = "allocation_changes"
TABLE = TABLES[NAME]


def actions(place: Warehouse, version: int) -> dict[str, list[dict[str, Any]]]:
    """What one commit says, by kind of action."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (Path(place.path(NAME)) / "_delta_log" / f"{version:020}.json").read_text(encoding="utf-8").splitlines():
        [(kind, said)] = json.loads(line).items()
        found.setdefault(kind, []).append(said)
    return found


def test_a_table_is_written_without_spark_and_read_by_all(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    """Appended to, replaced, emptied; each version stays readable, and Delta's own commands go on from there."""
    place = warehouse(NAME)
    place.replace(NAME, arrow(allocation("g", "1"), allocation("g", "2", trigger="x" * 40)), stamp(1))
    place.replace(NAME, arrow(allocation("g", "1"), allocation("g", "2", queues=9)), stamp(2))
    engines = [actions(place, version)["commitInfo"][0]["engineInfo"].partition("/")[0] for version in (1, 2)]
    assert engines == ["groupscope", "groupscope"]
    assert stored(place) == {"c/g/1": "run-1", "c/g/2": "run-2"}
    assert place.read(NAME, version=1).count() == 2
    by_delta_rs = sorted(DeltaTable(place.path(NAME)).to_pyarrow_table().to_pylist(), key=lambda row: str(row["client_id"]))
    by_spark = [row.asDict(recursive=True) for row in place.read(NAME).orderBy("client_id").collect()]
    for ours, theirs in zip(by_delta_rs, by_spark, strict=True):
        assert ours | {"alternatives": dict(ours["alternatives"])} == theirs | {"changed_at": theirs["changed_at"].astimezone(UTC)}
    assert [row.userMetadata for row in spark.sql(f"DESCRIBE HISTORY delta.`{place.path(NAME)}`").collect()] == ["run-2", "run-1", None]
    spark.sql(f"OPTIMIZE delta.`{place.path(NAME)}` FULL")
    assert place.read(NAME).where("queues = 9 AND cluster = 'c'").count() == 1
    assert place.replace(NAME, arrow(), stamp(3)).deleted == 2
    assert place.read(NAME).count() == 0
    assert place.read(NAME, version=2).count() == 2
    assert check_holds(spark, place)


def check_holds(spark: SparkSession, place: Warehouse) -> bool:
    """Whether the table still refuses what it refused."""
    with pytest.raises(Exception, match="CHECK constraint declared"):
        place.replace(NAME, frame(spark, allocation("g", "1", queues=-1)), stamp(9))
    return True


def test_bounds_lie_outside_of_what_they_bound(warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse(NAME)
    later = AT + timedelta(microseconds=600)
    place.replace(
        NAME, arrow(allocation("g", "1"), allocation("h", "2", changed_at=later), allocation("i", "3", changed_at=None)), stamp(1)
    )
    told = json.loads(actions(place, 1)["add"][0]["stats"])
    assert told["numRecords"] == 3
    assert (told["minValues"]["group"], told["maxValues"]["group"]) == ("g", "i")
    least, greatest = (datetime.fromisoformat(told[side]["changed_at"]) for side in ("minValues", "maxValues"))
    assert AT - timedelta(milliseconds=1) < least <= AT
    assert later <= greatest < later + timedelta(milliseconds=1)
    assert told["nullCount"]["changed_at"] == 1
    for at in (AT, later):
        assert place.read(NAME).where(f"changed_at = timestamp_micros({int(at.timestamp()) * 1_000_000 + at.microsecond})").count() == 1
        assert DeltaTable(place.path(NAME)).to_pyarrow_dataset().to_table(filter=pc.field("changed_at") == at).num_rows == 1


def test_spark_makes_each_tenth_version_and_the_checkpoint_with_it(warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse(NAME)
    for number in range(1, 12):
        place.replace(NAME, arrow(allocation("g", "1", queues=number)), stamp(number))
    assert place.versions() == {NAME: 11}
    log = Path(place.path(NAME)) / "_delta_log"
    assert [path.name for path in log.glob("*.checkpoint*.parquet")] == [f"{10:020}.checkpoint.parquet"]
    assert "Spark" in actions(place, 10)["commitInfo"][0]["engineInfo"]
    assert place.read(NAME).first().queues == 11  # type: ignore[union-attr]
    assert clustered_by(place) == TABLE.clustering


def clustered_by(place: Warehouse) -> tuple[str, ...]:
    [row] = place.spark.sql(f"DESCRIBE DETAIL delta.`{place.path(NAME)}`").select("clusteringColumns").collect()
    return tuple(row[0])


def test_a_commit_follows_what_was_read_or_is_not_made(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    """A writer that was taken for dead may come between: it is compared with what it left."""
    place, other = warehouse(NAME), warehouse(NAME)
    log = DeltaTable(place.path(NAME))
    rows = arrow(allocation("g", "1")).append_column("run_id", pa.array(["run-1"]))
    other.replace(NAME, frame(spark, allocation("g", "1"), allocation("g", "2")), stamp(1))
    with pytest.raises(commits.VersionTaken):
        commits.commit(place.path(NAME), log, rows.select(TABLE.column_names), "run-2")
    assert place.replace(NAME, arrow(allocation("g", "1"), allocation("g", "3")), stamp(2)).inserted == 1
    assert stored(place) == {"c/g/1": "run-1", "c/g/3": "run-2"}


def test_the_same_transaction_is_not_applied_twice(warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse(NAME)
    rows = arrow(allocation("g", "1")).append_column("run_id", pa.array(["run-1"])).select(TABLE.column_names)
    for number, expected in ((1, 1), (1, 1), (2, 2)):
        log = DeltaTable(place.path(NAME))
        commits.commit(place.path(NAME), log, rows, "run-1", transaction=commits.Transaction("test/once", number))
        assert place.read(NAME).count() == expected


@pytest.mark.parametrize(
    ("values", "declared"),
    [({}, True), ({"confidence": 1.5}, False), ({"cause": "weather"}, False), ({"queues": -1}, False), ({"topic": None}, False)],
    ids=["as it should be", "out of bounds", "a strange word", "less than nothing", "null"],
)
def test_what_is_not_declared_is_left_to_delta(values: dict[str, Any], declared: bool) -> None:
    rows = arrow(allocation("g", "1", **values)).append_column("run_id", pa.array(["run-1"]))
    assert commits.as_declared(TABLE, rows) is declared
    assert commits.as_declared(TABLE, rows.slice(1))


@pytest.mark.parametrize(
    "change",
    ["SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')", "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"],
)
def test_tables_of_other_features_are_left_to_spark(spark: SparkSession, warehouse: Callable[..., Warehouse], change: str) -> None:
    place = warehouse(NAME)
    assert commits.can_commit(TABLE, DeltaTable(place.path(NAME)))
    spark.sql(f"ALTER TABLE delta.`{place.path(NAME)}` {change}")
    assert not commits.can_commit(TABLE, DeltaTable(place.path(NAME)))
    place.replace(NAME, arrow(allocation("g", "1")), stamp(1))
    assert stored(place) == {"c/g/1": "run-1"}
