"""Few rows are compared without Spark, by the same rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from models.rows import Incident
from pipelines.schema.row_conversion import to_batch
from pipelines.schema.tables import TABLES, without_run
from pipelines.warehouse.rows import arrow_diff
from tests.conftest import LONG
from tests.pipelines.warehouse.opening.test_migrations import AT, allocation, frame, stamp, stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.warehouse.warehouse import Warehouse

NAME = "allocation_changes"
TABLE = TABLES[NAME]


def arrow(*rows: dict[str, Any]) -> pa.Table:
    told = [row | {"alternatives": list(row["alternatives"].items())} for row in rows]
    return pa.Table.from_pylist(told, schema=without_run(NAME))


CHANGES: dict[str, dict[str, Any]] = {
    "number": {"confidence": 0.75},
    "map": {"alternatives": {"unknown": 0.5}},
    "null": {"trigger": "x"},
    "list": {"evidence": []},
    "time": {"changed_at": AT.replace(microsecond=1)},
}


def test_rows_differ_by_what_they_hold() -> None:
    before = [allocation("g", client) for client in ["same", "gone", *CHANGES]]
    after = [allocation("g", client, **values) for client, values in ({"same": {}, "new": {}} | CHANGES).items()]
    found = arrow_diff.compare(TABLE, arrow(*after), arrow(*before))
    assert (found.inserted, found.before.num_rows, found.gone.num_rows) == (1, 5, 1)
    assert set(found.rows["client_id"].to_pylist()) == {"new", *CHANGES}
    assert found.replaced(TABLE) == {(f"c/g/{client}",) for client in ["gone", *CHANGES]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"alternatives": {"unknown": 0.25, "broker_up": 0.25}}),
        ({"confidence": math.nan}, {"confidence": math.nan}),
        ({}, {"trigger": None}),
    ],
    ids=["a map has no order", "no number", "nothing"],
)
def test_what_is_equal_is_not_written_again(before: dict[str, Any], after: dict[str, Any]) -> None:
    found = arrow_diff.compare(TABLE, arrow(allocation("g", "1", **after)), arrow(allocation("g", "1", **before)))
    assert not found.rows.num_rows
    assert (found.before.num_rows, found.gone.num_rows) == (0, 0)


@pytest.mark.spark
@pytest.mark.parametrize(
    "most", [arrow_diff.LOCAL_ROWS_MAX, pytest.param(2, marks=LONG), 0], ids=["all are few", "those of a slice are few", "none are few"]
)
def test_a_slice_is_replaced_however_many_rows_there_are(
    spark: SparkSession, warehouse: Callable[..., Warehouse], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    from pipelines.warehouse.rows.predicates import equals
    from pipelines.warehouse.rows.spark_diff import Watch

    place = warehouse(NAME)
    clients = ["same", "changed", "gone"]
    earlier = AT - timedelta(microseconds=1)
    before = [allocation("g" if each == "same" else "h", each, changed_at=earlier) for each in clients]
    place.replace(NAME, arrow(*before), stamp(1))
    monkeypatch.setattr(arrow_diff, "LOCAL_ROWS_MAX", most)
    seen: set[tuple[Any, ...]] = set()
    wanted = arrow(allocation("h", "changed", queues=5), allocation("h", "new", changed_at=None))
    scope = equals("cluster", "c") & equals("group", "h")
    change = place.replace(NAME, wanted, stamp(2), scope, watch=Watch(("group", "client_id"), "changed_at", seen.update))
    assert (change.inserted, change.updated, change.deleted) == (1, 1, 1)
    at = int(AT.timestamp()) * 1_000_000 + AT.microsecond - 1
    assert seen == {("h", "changed", at), ("h", "gone", at), ("h", "new", None)}
    assert stored(place) == {"c/g/same": "run-1", "c/h/changed": "run-2", "c/h/new": "run-2"}
    assert not place.replace(NAME, wanted, stamp(3), scope)
    assert place.versions.current() == {NAME: 2}
    [detail] = spark.sql(f"DESCRIBE DETAIL delta.`{place.tables.path(NAME)}`").select("clusteringColumns").collect()
    assert tuple(detail[0]) == TABLE.clustering


def incident(group: str, number: int, final_at: int | None, **values: Any) -> Incident:
    return Incident(
        **{
            "cluster": "c",
            "system": "kafka",
            "incident_id": f"{group}/{number}",
            "kind": "single",
            "severity": "info",
            "groups": [group],
            "started_at": number,
            "ended_at": number,
            "rebalance_count": 1,
            "stopped_seconds": 0.0,
            "root_cause": None,
            "worst_offender": None,
            "headline": "-",
            "rebalance_ids": ["r"],
            "outage_ids": [],
            "final_at": final_at,
            **values,
        }
    )


@pytest.mark.spark
@pytest.mark.parametrize(
    "most", [arrow_diff.LOCAL_ROWS_MAX, pytest.param(3, marks=LONG), 0], ids=["all are few", "those of a slice are few", "none are few"]
)
def test_rows_that_were_final_are_not_looked_for(
    spark: SparkSession, warehouse: Callable[..., Warehouse], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """The condition on what is replaced holds in each way to write: a list and a word of it, a time that may be missing."""
    from pipelines.warehouse.rows import predicates as scopes

    def rows(*incidents: Incident) -> pa.Table:
        return pa.Table.from_batches([to_batch("incidents", incidents)])

    place = warehouse("incidents")
    outage = incident("g", 9, None, outage_ids=["o"], rebalance_ids=[])
    place.replace(
        "incidents", rows(incident("g", 1, 10), incident("g", 2, 30), incident("g", 3, None), incident("h", 1, 30), outage), stamp(1)
    )
    monkeypatch.setattr(arrow_diff, "LOCAL_ROWS_MAX", most)
    of_group = scopes.equals("cluster", "c") & scopes.first_among("groups", ["g"]) & scopes.is_later("final_at", 20)
    scope = (scopes.nothing() | of_group) & scopes.is_empty("outage_ids") & scopes.equals("system", "kafka")
    change = place.replace("incidents", rows(incident("g", 2, 40), incident("g", 4, None)), stamp(2), scope)
    assert (change.inserted, change.updated, change.deleted) == (1, 1, 1)
    assert {row["incident_id"]: row["run_id"] for row in place.rows.as_arrow("incidents").to_pylist()} == {
        **dict.fromkeys(("g/1", "g/9", "h/1"), "run-1"),
        **dict.fromkeys(("g/2", "g/4"), "run-2"),
    }


@pytest.mark.spark
@pytest.mark.parametrize(
    ("still_open", "parts", "late_max"),
    [
        pytest.param(0, 100, 25, id="all are final", marks=LONG),
        pytest.param(5, 100, 25, id="some are open"),
        pytest.param(300, 100, 300, id="all are open", marks=LONG),
        pytest.param(5, 1, 60, id="too many files to compare with each"),
    ],
)
def test_of_many_rows_the_latest_are_written_into_small_files(
    spark: SparkSession, warehouse: Callable[..., Warehouse], monkeypatch: pytest.MonkeyPatch, still_open: int, parts: int, late_max: int
) -> None:
    """The next run changes those, and writes anew what else is in their files."""
    monkeypatch.setattr(arrow_diff, "LOCAL_ROWS_MAX", 20)
    for name, value in {"_FILE_ROWS": 100, "_LATEST_ROWS": 40, "_LATEST_FILES": 4, "_PARTS_MAX": parts}.items():
        monkeypatch.setattr(f"pipelines.warehouse.rows.spark_diff.{name}", value)
    place = warehouse("incidents")
    finals = [None if number < still_open else number for number in range(300)]
    rows = pa.Table.from_batches([to_batch("incidents", [incident("g", number, at) for number, at in enumerate(finals)])])
    place.replace("incidents", arrow_diff.to_frame(spark, rows), stamp(1), count=rows.num_rows)
    stored = place.rows.as_arrow("incidents").to_pylist()
    assert sorted(row["started_at"].microsecond for row in stored) == list(range(300))

    sizes: dict[str, list[object]] = {}
    dataset = DeltaTable(place.tables.path("incidents")).to_pyarrow_dataset()
    for part in dataset.get_fragments():
        sizes[part.path] = part.to_table(columns=["final_at"])["final_at"].cast(pa.int64()).to_pylist()
    late = [held for held in sizes.values() if None in held or 299 in held]
    assert sum(map(len, sizes.values())) == 300
    assert max(map(len, late)) <= late_max, "of those that change, a file has few"
    assert max(map(len, sizes.values())) >= 50, "of those that stay, a file has many"


@pytest.mark.spark
def test_who_comes_between_is_seen(spark: SparkSession, warehouse: Callable[..., Warehouse], monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was taken for dead may write once more: what was compared with is not what is there."""
    place, other = warehouse(NAME), warehouse(NAME)
    rows = arrow(allocation("g", "1"), allocation("g", "2"))
    place.replace(NAME, arrow(allocation("g", "1")), stamp(1))
    compare, late = arrow_diff.compare, [arrow(allocation("g", "2"), allocation("g", "3"))]

    def meanwhile(*tables: Any) -> arrow_diff.RowDiff:
        if late:
            other.writer.append(
                NAME,
                arrow_diff.to_frame(spark, late.pop().append_column("run_id", pa.array(["run-0"] * 2))),
                replace(stamp(0), application="other"),
            )
        return compare(*tables)

    monkeypatch.setattr(arrow_diff, "compare", meanwhile)
    assert place.replace(NAME, rows, stamp(2)).deleted == 1
    assert stored(place) == {"c/g/1": "run-1", "c/g/2": "run-0"}


@pytest.mark.spark
def test_the_same_replacement_is_not_applied_twice(warehouse: Callable[..., Warehouse]) -> None:
    """A write that is tried again has the number of the first, and Delta passes it over."""
    place = warehouse(NAME)
    place.replace(NAME, arrow(allocation("g", "1")), stamp(1))
    place.replace(NAME, arrow(allocation("g", "1", queues=5)), stamp(2))
    place.replace(NAME, arrow(allocation("g", "1", queues=6)), stamp(2))
    assert place.rows.as_arrow(NAME)["queues"].to_pylist() == [5]


@pytest.mark.spark
def test_a_condition_means_the_same_to_spark_and_to_arrow(spark: SparkSession) -> None:
    from pipelines.warehouse.rows import predicates as scopes
    from pipelines.warehouse.rows.predicates import RowScope

    rows = pa.table(
        {
            "name": pa.array(["a", "b", "c", None, "a"]),
            "place": pa.array([1, 2, None, 4, 5]),
            "list": pa.array([["x", "y"], [], None, ["y"], [None]], pa.list_(pa.string())),
            "final_at": pa.array([10, None, 11, 9, None], pa.timestamp("us", tz="UTC")),
        }
    )
    conditions: list[RowScope] = [
        scopes.nothing(),
        ~scopes.nothing(),
        scopes.among("name", ["b", "a"]),
        scopes.among("name", []),
        ~scopes.among("name", ["b", "a"]) & ~scopes.is_null("name"),
        scopes.first_among("list", ["y", "x"]),
        scopes.equals("name", "a") & scopes.at_least("place", 2),
        scopes.equals("name", "a") | ~scopes.at_least("place", 3),
        scopes.is_null("name") | scopes.is_null("place"),
        ~scopes.is_null("list") & ~scopes.is_empty("list"),
        scopes.is_empty("list"),
        scopes.is_later("final_at", 10),
        scopes.equals("name", "a") & scopes.is_later("final_at", 10),
        scopes.equals("name", "it's a\\b, $${c}"),
        scopes.any_of([]),
        scopes.any_of(scopes.equals("name", "a") & scopes.at_least("place", place) for place in range(5, 1_505)),
    ]
    everything = spark.createDataFrame(rows)
    for condition in conditions:
        by_spark = everything.where(condition.column).toArrow().to_pylist()
        assert rows.filter(condition.arrow).to_pylist() == by_spark, str(condition.arrow)
        assert everything.alias("old").where(condition.sql("old")).toArrow().to_pylist() == by_spark


@LONG
@pytest.mark.spark
def test_what_delta_rs_cannot_read_is_left_to_spark(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse(NAME)
    place.replace(NAME, frame(spark, allocation("g", "1"), allocation("g", "2")), stamp(1))
    spark.sql(f"ALTER TABLE delta.`{place.tables.path(NAME)}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM delta.`{place.tables.path(NAME)}` WHERE client_id = '2'")
    assert place.rows.if_local(NAME) is None
    assert place.rows.as_arrow(NAME, columns=("client_id",)).to_pylist() == [{"client_id": "1"}]
    change = place.replace(NAME, arrow(allocation("g", "3")), stamp(2))
    assert (change.inserted, change.updated, change.deleted) == (1, 0, 1)
    assert place.rows.as_arrow(NAME)["client_id"].to_pylist() == ["3"]


@pytest.mark.spark
@pytest.mark.parametrize(
    "most", [arrow_diff.LOCAL_ROWS_MAX, pytest.param(3, marks=LONG), 1], ids=["all are few", "those looked for are few", "none are few"]
)
def test_a_few_of_many_rows_are_found(warehouse: Callable[..., Warehouse], monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    from pipelines.warehouse.rows.predicates import among, equals

    place = warehouse(NAME)
    for number in range(4):  # a file each
        times = [AT + timedelta(microseconds=each - 10 * number) for each in range(2)]
        rows = [allocation("g", f"{number}-{each}", queues=each, topic=f"t{number}", changed_at=times[each]) for each in range(2)]
        place.writer.append(NAME, place.spark.createDataFrame(arrow(*rows).append_column("run_id", pa.array(["r", "r"]))), stamp(number))
    monkeypatch.setattr(arrow_diff, "LOCAL_ROWS_MAX", most)
    scope = equals("cluster", "c") & among("client_id", {"1-0", "3-1", "x"})
    assert sorted(place.rows.as_arrow(NAME, scope, ("client_id",))["client_id"].to_pylist()) == ["1-0", "3-1"]
    assert sorted(row["client_id"] for row in place.rows.as_frame(NAME, scope, ("client_id",)).collect()) == ["1-0", "3-1"]
    assert sorted(place.rows.distinct(NAME, scope, ("group", "queues"))) == [("g", 0), ("g", 1)]
    assert sorted(place.rows.distinct(NAME, equals("cluster", "c"), ("topic",))) == [("t0",), ("t1",), ("t2",), ("t3",)]
    at = int(AT.timestamp()) * 1_000_000 + AT.microsecond
    assert sorted(place.rows.first_seen(NAME, scope, ("queues",), ("changed_at",))) == [(0, at - 10), (1, at - 29)]
    assert sorted(place.rows.first_seen(NAME, equals("cluster", "c"), ("queues",), ("changed_at",))) == [(0, at - 30), (1, at - 29)]
    found = place.rows.if_local(NAME, scope)
    assert (found is None) == (most < 2)
    for_memory = place.rows.if_local(NAME, scope, rows_max=2)
    assert for_memory is not None
    assert for_memory.num_rows == 2
    assert place.rows.if_local(NAME, scope, rows_max=1) is None
    monkeypatch.setattr(arrow_diff, "SCANNED_ROWS_MAX", 7)
    assert (place.rows.if_local(NAME, scope) is None) == (most < 8)
    monkeypatch.undo()
    assert place.rows.if_local(NAME, scope, bytes_max=1) is None
    assert place.rows.as_arrow(NAME, scope).num_rows == 2


@pytest.mark.spark
def test_no_row_is_lost_on_the_way_to_spark(spark: SparkSession) -> None:
    """Spark stops at an empty part of an Arrow table, and files without a row that is looked for leave such parts."""
    rows = [arrow(*(allocation("g", f"{size}-{each}") for each in range(size))) for size in (1, 0, 2, 0, 0, 3)]
    found = arrow_diff.to_frame(spark, pa.concat_tables(rows)).select("client_id").collect()
    assert [row["client_id"] for row in found] == ["1-0", "2-0", "2-1", "3-0", "3-1", "3-2"]
