"""Tables by name in a catalog: names point to the tables of the warehouse, and to no others."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

from pipelines.errors import CannotWrite, UsageError
from pipelines.schema.tables import TABLES
from pipelines.warehouse.catalog_names import register
from tests.conftest import LONG
from tests.pipelines.site import Site

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
Copied = Callable[[Site], Site]
SCHEMA = "told_by_name"


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    """The name of a schema that is not there."""
    yield SCHEMA
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


def names(spark: SparkSession, schema: str) -> set[str]:
    return {row["tableName"] for row in spark.sql(f"SHOW TABLES IN {schema}").collect() if not row["isTemporary"]}


ALL = {f"{table.layer}_{name}" for name, table in TABLES.items()}


@LONG
def test_every_table_has_a_name_that_stays(spark: SparkSession, published: Site, copied: Copied, schema: str) -> None:
    site = copied(published)
    outcome = site.run(catalog=f"spark_catalog.{schema}")
    assert not outcome.was_skipped, "names are new, if nothing else is"
    assert not any(outcome.changes.values())
    assert "in memory" in outcome.warnings[0]
    assert names(spark, schema) == ALL

    by_name = spark.table(f"spark_catalog.{schema}.gold_rebalances")
    assert sorted(row["rebalance_id"] for row in by_name.collect()) == sorted(row["rebalance_id"] for row in site.table("rebalances"))
    assert spark.catalog.getTable(f"{schema}.gold_rebalances").description == TABLES["rebalances"].description
    assert site.run(catalog=f"spark_catalog.{schema}").was_skipped

    # A name that was dropped, and a table that is made anew, as after a change of version.
    spark.sql(f"DROP TABLE {schema}.gold_rebalances")
    shutil.rmtree(site.warehouse / TABLES["conditions"].path)
    site.run(catalog=f"spark_catalog.{schema}")
    assert names(spark, schema) == ALL
    assert sorted(site.content()["rebalances"]) == sorted(published.content()["rebalances"])
    assert spark.table(f"{schema}.gold_conditions").count() == len(published.table("conditions"))


def test_a_name_that_something_else_has_is_an_error(
    spark: SparkSession, published: Site, halfway: Site, copied: Copied, schema: str
) -> None:
    site = copied(published)
    spark.sql(f"CREATE SCHEMA {schema}")
    elsewhere = halfway.warehouse / TABLES["rebalances"].path
    spark.sql(f"CREATE TABLE {schema}.gold_rebalances USING delta LOCATION '{elsewhere}'")
    with pytest.raises(UsageError, match=rf"{schema}\.gold_rebalances is taken by the table at file:\S+halfway"):
        site.run(catalog=schema)
    assert [row["status"] for row in sorted(site.table("runs"), key=lambda row: row["run_number"])] == ["published", "failed"]

    spark.sql(f"DROP TABLE {schema}.gold_rebalances")
    spark.sql(f"CREATE VIEW {schema}.gold_rebalances AS SELECT 1 AS one")
    with pytest.raises(UsageError, match="no Delta table"):
        site.run(catalog=schema)
    assert names(spark, schema) == {"gold_rebalances"}, "nothing is named by half"


@pytest.mark.parametrize("catalog", ["a.b.c", "a.", ".b", "a b .c", "x`y", "a/b"])
def test_what_is_no_schema_is_refused(published: Site, catalog: str) -> None:
    with pytest.raises(UsageError, match="expected SCHEMA or CATALOG"):
        published.run(catalog=catalog)


def test_a_catalog_that_is_not_there_is_named(published: Site, copied: Copied) -> None:
    with pytest.raises(UsageError, match=r"--catalog nowhere\.tables: the tables can't be named there"):
        copied(published).run(catalog="nowhere.tables")


def test_a_metastore_that_does_not_answer_is_no_wrong_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule goes on after that."""

    def refused(*_: object) -> None:
        raise AnalysisException("HiveException: Connection refused", errorClass="_LEGACY_ERROR_TEMP_3065")

    monkeypatch.setattr("pipelines.warehouse.catalog_names._taken", refused)
    with pytest.raises(CannotWrite, match=r"--catalog tables: the tables can't be named there: .*Connection refused"):
        register(SimpleNamespace(spark=None), "tables")  # type: ignore[arg-type]
