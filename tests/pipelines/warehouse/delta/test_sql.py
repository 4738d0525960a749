"""Delta's commands in SQL: what is said reads back as it was meant."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.warehouse.delta import sql as delta

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT = datetime(2026, 11, 21, 9, 8, 31, 920017, tzinfo=UTC)
VALUES = [None, "it's", "a\0b", "a\\b\n$x ${spark.app.name} `q` {}", "", 7, 0.1, 1e-9, AT, {"it's": 1, "b": 2}, {"x": 0.5}, {}]


@pytest.mark.spark
def test_literals_read_back(spark: SparkSession) -> None:
    columns = ", ".join(f"{delta.literal(value)} AS {delta.quote(f'`{place}`')}" for place, value in enumerate(VALUES))
    [row] = spark.sql(f"SELECT {columns}").toArrow().to_pylist()
    read = [dict(value) if isinstance(value, list) else value for value in row.values()]

    assert read == [value if value != {} else None for value in VALUES]


@pytest.mark.spark
def test_a_table_is_made_as_it_is_declared_and_changed_where_it_is_meant(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    path = str(tmp_path / "it's a `table` [1]")
    assert delta.properties_of(spark, path) is None
    schema = StructType([StructField("group", StringType(), True, {"comment": "it's"}), StructField("n", LongType())])
    for _ in range(2):
        delta.create(spark, path, schema, "It's \\ a table.", {"groupscope.x": "`1`"}, ["group"])
    found = spark.read.format("delta").load(path)
    spark.createDataFrame([("a", 1), ("b", 2)], schema).write.format("delta").mode("append").save(path)
    delta.update(spark, path, "`group` = 'a'", {"n": delta.literal(5)})
    delta.delete(spark, path, "n = 2")

    properties, description = delta.properties_of(spark, path) or ({}, None)
    assert (properties["groupscope.x"], description) == ("`1`", "It's \\ a table.")
    assert [field.metadata for field in found.schema] == [{"comment": "it's"}, {}]
    assert [tuple(row) for row in spark.read.format("delta").load(path).collect()] == [("a", 5)]
    assert [row["operation"] for row in delta.commits_of(spark, path, 2).collect()] == ["DELETE", "UPDATE"]


@pytest.mark.spark
def test_a_table_is_described_anew_in_one_commit(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    rows = spark.createDataFrame([("a", 1)], "`group` string, n long")
    delta.create(spark, path, rows.schema, "before", {"groupscope.x": "1"})
    delta.comment(spark, path, {"group": "it's", "n": "a \\ number"})
    delta.set_properties(spark, path, {"comment": "after", "groupscope.x": "it's"})

    properties, description = delta.properties_of(spark, path) or ({}, None)
    assert (properties["groupscope.x"], description) == ("it's", "after")
    fields = spark.read.format("delta").load(path).schema
    assert [field.metadata for field in fields] == [{"comment": "it's"}, {"comment": "a \\ number"}]
    assert [row["operation"] for row in delta.commits_of(spark, path).collect()] == ["SET TBLPROPERTIES", "CHANGE COLUMNS", "CREATE TABLE"]


@pytest.mark.spark
def test_clustering_that_an_overwrite_took_away_comes_back_once(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    rows = spark.createDataFrame([("a", 1)], "`group` string, n long")
    delta.create(spark, path, rows.schema, "", {"groupscope.x": "1"}, ["group", "n"])
    rows.write.format("delta").mode("overwrite").save(path)
    for _ in range(2):
        delta.cluster(spark, path, ["group", "n"])
    [detail] = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").select("clusteringColumns").collect()
    assert list(detail[0]) == ["group", "n"]
    assert [row["operation"] for row in delta.commits_of(spark, path).collect()] == ["CLUSTER BY", "WRITE", "CREATE TABLE"]
    delta.cluster(spark, path, [])
    [detail] = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").select("clusteringColumns").collect()
    assert not detail[0]


@pytest.mark.parametrize(
    "said",
    [
        "An error occurred while calling o70.sql.\n: io.delta.exceptions.ConcurrentAppendException: [DELTA_CONCURRENT_APPEND]",
        "(io.delta.exceptions.ConcurrentDeleteReadException) [DELTA_CONCURRENT_DELETE_READ]",
        "[DELTA_METADATA_CHANGED] MetadataChangedException: The metadata of the Delta table has been changed",
        "io.delta.exceptions.ProtocolChangedException: the protocol version was changed",
    ],
)
def test_commits_of_others_are_told_from_errors(said: str) -> None:
    assert delta.is_conflict(RuntimeError(said))
    assert not delta.is_conflict(RuntimeError("[DELTA_MISSING_DELTA_TABLE] No space left on device"))
