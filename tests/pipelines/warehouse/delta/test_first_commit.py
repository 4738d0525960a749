"""A table that is created without Spark is the one that Spark would create."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import LongType, StructField, StructType

from pipelines.schema.tables import TABLES, Table
from pipelines.warehouse.delta import files as delta_files
from pipelines.warehouse.delta import first_commit
from pipelines.warehouse.opening.schema_upgrades import create
from tests.conftest import spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = StructType([StructField("n", LongType())])


def forms() -> dict[tuple[str, bool, bool], Table]:
    """One table of each layer, with and without clustering, with and without a condition for its rows."""
    return {(table.layer, bool(table.clustering), table.check is not None): table for table in TABLES.values()}


def first_actions(path: str) -> dict[str, Any]:
    """The first commit without what is new in each: times, ids and authors."""
    lines = (Path(path) / "_delta_log" / f"{0:020}.json").read_text(encoding="utf-8").splitlines()
    actions: dict[str, Any] = {name: action for line in lines for name, action in json.loads(line).items()}
    meta, protocol = actions["metaData"], actions["protocol"]
    meta["schemaString"] = json.loads(meta["schemaString"])
    protocol["writerFeatures"] = sorted(protocol.get("writerFeatures", ()))
    if "domainMetadata" in actions:
        actions["domainMetadata"]["configuration"] = json.loads(actions["domainMetadata"]["configuration"])
    for name in ("id", "createdTime"):
        del meta[name]
    operation = actions.pop("commitInfo")["operation"]
    return actions | {"operation": operation}


@pytest.mark.spark
@pytest.mark.parametrize("table", [pytest.param(table, id=table.name) for table in spread(forms().values(), 2)])
def test_the_first_commit_is_that_of_spark(spark: SparkSession, tmp_path: Path, table: Table) -> None:
    paths = {is_local: str(tmp_path / f"it's local {is_local}") for is_local in (True, False)}
    for is_local, path in paths.items():
        create(spark, path, table, is_local=is_local)
    assert first_actions(paths[True]) == first_actions(paths[False])
    assert spark.read.format("delta").load(paths[True]).count() == 0


def test_a_table_that_is_there_stays(tmp_path: Path) -> None:
    assert first_commit.commit_creation(str(tmp_path), SCHEMA, "first", {})
    before = first_actions(str(tmp_path))
    assert first_commit.commit_creation(str(tmp_path), SCHEMA, "second", {}, ["n"])
    assert first_actions(str(tmp_path)) == before
    assert [path.name for path in (tmp_path / "_delta_log").iterdir()] == [f"{0:020}.json"]


def test_a_disk_without_links_leaves_the_table_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(delta_files.os, "link", link)
    assert not first_commit.commit_creation(str(tmp_path), SCHEMA, "", {})
    assert not list((tmp_path / "_delta_log").iterdir())


@pytest.mark.spark
def test_what_a_session_sets_for_new_tables_holds(spark: SparkSession, tmp_path: Path) -> None:
    name = "spark.databricks.delta.properties.defaults.enableChangeDataFeed"
    spark.conf.set(name, "true")
    try:
        create(spark, str(tmp_path / "runs"), TABLES["runs"], is_local=True)
    finally:
        spark.conf.unset(name)
    assert first_actions(str(tmp_path / "runs"))["metaData"]["configuration"]["delta.enableChangeDataFeed"] == "true"
