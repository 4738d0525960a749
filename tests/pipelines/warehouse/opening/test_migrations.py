"""Delta tables are changed only where content differs, and can be read without Spark."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from deltalake import DeltaTable
from pyspark.sql import functions as F

from pipelines.errors import ConcurrentWrite, TableMismatch
from pipelines.schema.tables import TABLES
from pipelines.warehouse.opening.migrations import TABLES_VERSION, VERSION_PROPERTY
from tests.conftest import LONG

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipelines.warehouse.warehouse import Warehouse
    from pipelines.warehouse.writes.direct_commit import WriteStamp

pytestmark = pytest.mark.spark

AT = datetime(2024, 3, 31, 1, 2, 3, 456789, tzinfo=UTC)


def stamp(number: int) -> WriteStamp:
    from pipelines.warehouse.writes.direct_commit import WriteStamp

    return WriteStamp(f"run-{number}", number, "test/1")


def allocation(group: str, client: str, cluster: str = "c", **values: Any) -> dict[str, Any]:
    """A row with nested columns and a map."""
    row = {
        "cluster": cluster,
        "system": "rocketmq",
        "allocation_change_id": f"{cluster}/{group}/{client}",
        "group": group,
        "topic": "orders",
        "client_id": client,
        "changed_at": AT,
        "cause": "consumer_start",
        "confidence": 0.5,
        "alternatives": {"broker_up": 0.25, "unknown": 0.25},
        "offenders": [{"member_id": None, "client_id": client, "instance_id": None, "host": None, "reason": "started", "first": True}],
        "trigger": None,
        "added": ["b:0"],
        "removed": [],
        "allocated": ["b:0"],
        "queues": 4,
        "clients": 2,
        "strategy": None,
        "evidence": [{"file": "a.log", "line": 1, "byte_offset": 0, "text": "x", "inferred": False}],
    }
    return row | values


def frame(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    from pyspark.sql.types import StructType

    schema = StructType([field for field in TABLES["allocation_changes"].spark_schema() if field.name != "run_id"])
    return spark.createDataFrame(rows, schema)


def stored(place: Warehouse) -> dict[str, str]:
    """Id of each row -> the run that wrote it."""
    return {row.allocation_change_id: row.run_id for row in place.tables.frame("allocation_changes").collect()}


def test_the_first_rows_are_appended(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse("allocation_changes")
    change = place.replace("allocation_changes", frame(spark, allocation("g", "1"), allocation("g", "2")), stamp(1))
    assert (change.inserted, change.updated, change.deleted) == (2, 0, 0)
    assert stored(place) == {"c/g/1": "run-1", "c/g/2": "run-1"}
    assert place.versions.current() == {"allocation_changes": 1}


@LONG
def test_what_somebody_else_wrote_meanwhile_is_not_published(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    """As a run does that was taken for dead and goes on."""
    name = "allocation_changes"
    place, other = warehouse(name), warehouse(name)

    def others_write(number: int) -> None:
        other.writer.append(name, frame(spark, allocation("h", "1")).withColumn("run_id", F.lit(f"run-{number}")), stamp(number))

    place.replace(name, frame(spark, allocation("g", "1")), stamp(1))
    place.replace(name, frame(spark, allocation("g", "1"), allocation("g", "2", confidence=0.75)), stamp(1), part="/more")
    other.writer.optimize(name)  # changes no row
    assert place.versions.current() == {name: 3}
    others_write(2)
    with pytest.raises(ConcurrentWrite, match="somebody else writes to this table, too; nothing is published"):
        place.versions.current()
    place.replace(name, frame(spark, allocation("g", "1")), stamp(1), part="/less")  # makes it good, but whoever counts has counted
    assert stored(place) == {"c/g/1": "run-1"}
    with pytest.raises(ConcurrentWrite, match="nothing is published"):
        place.versions.current()


@LONG
def test_what_somebody_else_wrote_before_is_not_published_where_it_is_what_was_to_be(
    spark: SparkSession, warehouse: Callable[..., Warehouse]
) -> None:
    name = "allocation_changes"
    warehouse(name).writer.append(name, frame(spark, allocation("g", "1")).withColumn("run_id", F.lit("run-1")), stamp(1))
    place, other = warehouse(name), warehouse(name)
    both = frame(spark, allocation("g", "1"), allocation("g", "2"))
    other.replace(name, both, stamp(2))
    assert not place.replace(name, both, stamp(3))
    with pytest.raises(ConcurrentWrite, match="nothing is published"):
        place.versions.current()


def test_what_somebody_else_wrote_to_an_empty_table_is_not_published(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    name = "allocation_changes"
    place, other = warehouse(name), warehouse(name)
    other.writer.append(name, frame(spark, allocation("g", "1")).withColumn("run_id", F.lit("run-2")), stamp(2))
    place.writer.append(name, frame(spark, allocation("g", "1")).withColumn("run_id", F.lit("run-1")), stamp(1))
    with pytest.raises(ConcurrentWrite, match="nothing is published"):
        place.versions.current()


def test_a_table_refuses_what_is_never_null(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse("allocation_changes")
    with pytest.raises(Exception, match="NOT NULL constraint violated for column: topic"):
        place.replace("allocation_changes", frame(spark, allocation("g", "1", topic=None)), stamp(1))
    assert place.versions.current() == {"allocation_changes": 0}
    log = DeltaTable(place.tables.path("allocation_changes"))
    assert [field.name for field in log.schema().fields if not field.nullable] == [
        column.name for column in TABLES["allocation_changes"].columns if column.is_required
    ]
    assert log.metadata().configuration["delta.deletedFileRetentionDuration"] == "interval 168 hours"


@pytest.mark.parametrize(
    ("values", "holds"),
    [({"confidence": 1.5}, False), ({"cause": "weather"}, False), ({"queues": -1}, False), ({"queues": None, "confidence": 0.0}, True)],
    ids=["out of bounds", "a strange word", "less than nothing", "unknown"],
)
def test_a_table_refuses_what_is_not_declared(
    spark: SparkSession, warehouse: Callable[..., Warehouse], values: dict[str, Any], holds: bool
) -> None:
    place = warehouse("allocation_changes")
    rows = frame(spark, allocation("g", "1", **values))
    if holds:
        assert place.replace("allocation_changes", rows, stamp(1))
        return
    with pytest.raises(Exception, match="CHECK constraint declared"):
        place.replace("allocation_changes", rows, stamp(1))
    assert place.versions.current() == {"allocation_changes": 0}


@LONG
def test_tables_are_held_to_what_is_declared_by_now(
    spark: SparkSession, warehouse: Callable[..., Warehouse], caplog: pytest.LogCaptureFixture
) -> None:
    """A table without the constraint, one with an older one, one with rows that it does not allow; then such rows are gone."""
    place = warehouse("conditions", "allocation_changes")
    path = place.tables.path("allocation_changes")
    spark.sql(f"ALTER TABLE delta.`{path}` DROP CONSTRAINT declared")
    spark.sql(f"ALTER TABLE delta.`{place.tables.path('conditions')}` DROP CONSTRAINT declared")
    spark.sql(f"ALTER TABLE delta.`{place.tables.path('conditions')}` ADD CONSTRAINT declared CHECK (system = 'kafka')")
    place.replace("allocation_changes", frame(spark, allocation("g", "1", queues=-1)), stamp(1))
    place.open()
    assert "allocation_changes holds rows that are not as declared" in caplog.text
    assert check_of(place, "allocation_changes") is None
    assert "rocketmq" in str(check_of(place, "conditions"))
    place.replace("allocation_changes", frame(spark, allocation("g", "1")), stamp(2))
    for _ in range(2):
        place.open()
        version = place.versions.current()
    assert "`queues`>=0" in str(check_of(place, "allocation_changes")).replace(" ", "")
    place.open()
    assert place.versions.current() == version, "what is said already is said again"


def check_of(place: Warehouse, name: str) -> str | None:
    return DeltaTable(place.tables.path(name)).metadata().configuration.get("delta.constraints.declared")


def test_equal_content_is_not_written_again(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse("allocation_changes")
    place.replace("allocation_changes", frame(spark, allocation("g", "1")), stamp(1))
    turned = allocation("g", "1", alternatives={"unknown": 0.25, "broker_up": 0.25})
    assert not place.replace("allocation_changes", frame(spark, turned), stamp(2))
    assert place.versions.current() == {"allocation_changes": 1}
    assert warehouse("allocation_changes").versions.current() == {"allocation_changes": 1}


def test_no_rows_make_no_version(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse("allocation_changes")
    assert not place.replace("allocation_changes", frame(spark), stamp(1))
    assert place.versions.current() == {"allocation_changes": 0}


def test_only_rows_that_differ_are_written(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    changes: dict[str, dict[str, Any]] = {
        "number": {"confidence": 0.75},
        "map": {"alternatives": {"unknown": 0.5}},
        "null": {"trigger": "x"},
        "list": {"evidence": []},
        "time": {"changed_at": AT.replace(microsecond=1)},
    }
    place = warehouse("allocation_changes")
    first = [allocation("g", client) for client in ["same", "gone", *changes]]
    place.replace("allocation_changes", frame(spark, *first), stamp(1))
    second = [allocation("g", client, **values) for client, values in ({"same": {}, "new": {}} | changes).items()]
    done = place.replace("allocation_changes", frame(spark, *second), stamp(2))
    assert (done.inserted, done.updated, done.deleted) == (1, 5, 1)
    assert stored(place) == {"c/g/same": "run-1", "c/g/new": "run-2"} | {f"c/g/{client}": "run-2" for client in changes}
    assert place.tables.frame("allocation_changes", version=1).count() == 7


@LONG
def test_rows_outside_the_slice_stay(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    from pipelines.warehouse.rows.predicates import among, equals

    place = warehouse("allocation_changes")
    groups = ["g", "o'x`y", "gone"]
    place.replace("allocation_changes", frame(spark, *(allocation(group, "1") for group in groups), allocation("g", "1", "d")), stamp(1))
    scope = equals("cluster", "c") & among("group", ["gone", "o'x`y"])
    place.replace("allocation_changes", frame(spark, allocation("o'x`y", "2")), stamp(2), scope)
    assert stored(place) == {"c/g/1": "run-1", "d/g/1": "run-1", "c/o'x`y/2": "run-2"}


def test_the_same_write_is_not_applied_twice(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    from pyspark.sql import functions as F

    place = warehouse("allocation_changes")
    rows = frame(spark, allocation("g", "1")).withColumn("run_id", F.lit("run-1"))
    place.writer.append("allocation_changes", rows, stamp(1))
    place.writer.append("allocation_changes", rows, stamp(1))
    assert place.tables.frame("allocation_changes").count() == 1
    place.writer.append("allocation_changes", rows, stamp(1), part="/other")
    assert place.tables.frame("allocation_changes").count() == 2


def test_tables_of_an_older_version_get_the_new_columns(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse()
    path = place.tables.path("conditions")
    wanted = TABLES["conditions"].spark_schema()
    older = type(wanted)(wanted.fields[:-2])
    spark.createDataFrame([], older).write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
    place.open_one("conditions")
    assert place.tables.frame("conditions").columns == TABLES["conditions"].column_names


def test_tables_of_the_first_version_are_brought_up_to_date(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    """As they were made before files were read on: states of another form, unknown records counted by file."""
    from pyspark.sql import functions as F

    place = warehouse("runs")
    states = spark.createDataFrame([], "cluster string, group string, format_version bigint, state string, positions map<string,bigint>")
    states.write.format("delta").save(place.tables.path("state_snapshots"))
    unknown = TABLES["unknown_in_files"].spark_schema()
    older = [name for name in TABLES["unknown_in_files"].column_names if name != "block_number"]
    spark.range(1).select(*[F.lit(None).cast(unknown[name].dataType).alias(name) for name in older]).write.format("delta").save(
        place.tables.path("unknown_in_files")
    )
    for name in ("state_snapshots", "unknown_in_files"):
        place.open_one(name)
        assert set(place.tables.frame(name).columns) == set(TABLES[name].column_names)
        assert DeltaTable(place.tables.path(name)).metadata().configuration[VERSION_PROPERTY] == str(TABLES_VERSION)
    assert [row.block_number for row in place.tables.frame("unknown_in_files").collect()] == [0]
    spark.sql(f"ALTER TABLE delta.`{place.tables.path('unknown_in_files')}` SET TBLPROPERTIES ('groupscope.schema_version' = '99')")
    with pytest.raises(TableMismatch, match="newer version of groupscope"):
        place.open_one("unknown_in_files")


def test_tables_of_another_kind_are_refused(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse("conditions")
    spark.range(1).write.format("delta").save(place.tables.path("incidents"))
    with pytest.raises(TableMismatch, match="id: bigint instead of nothing"):
        place.open_one("incidents")


def test_every_table_opens_without_spark(spark: SparkSession, warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse()
    place.replace("allocation_changes", frame(spark, allocation("g", "1")), stamp(1))
    for name, table in TABLES.items():
        plain = DeltaTable(place.tables.path(name))
        assert [field.name for field in plain.schema().fields] == table.column_names
        assert plain.metadata().description == table.description
        assert plain.protocol().min_reader_version == 1
    changes = DeltaTable(place.tables.path("allocation_changes")).to_pyarrow_dataset()
    found = duckdb.from_arrow(changes).project("client_id, epoch_us(changed_at), len(evidence)").fetchall()
    assert found == [("1", int(AT.timestamp() * 1_000_000), 1)]
    [row] = DeltaTable(place.tables.path("allocation_changes")).to_pyarrow_table().to_pylist()
    assert row.pop("run_id") == "run-1"
    assert dict(row.pop("alternatives")) == {"broker_up": 0.25, "unknown": 0.25}
    expected = allocation("g", "1")
    del expected["alternatives"]
    assert row == expected


def test_descriptions_reach_the_tables(warehouse: Callable[..., Warehouse]) -> None:
    place = warehouse("rebalances")
    fields = place.tables.frame("rebalances").schema.fields
    assert [field.metadata["comment"] for field in fields] == [column.description for column in TABLES["rebalances"].columns]


def test_uris_are_only_added_to() -> None:
    from pipelines.storage.uris import warehouse_uri

    assert warehouse_uri("s3a://bucket/a b/") == "s3a://bucket/a b"
    assert warehouse_uri("file:/x/") == "file:/x"
    assert warehouse_uri("/x/y") == "/x/y"
