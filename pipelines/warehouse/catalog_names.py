"""Names of the tables in a catalog.

`schema.gold_rebalances` or `catalog.schema.gold_rebalances` is an external table at the location below the warehouse.
So readers by path and by name see the same table; columns, comments and versions come from the table's own log.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.errors import AnalysisException, PySparkException

from pipelines.errors import CannotWrite, UsageError
from pipelines.schema.tables import TABLES, Table
from pipelines.storage.uris import catalog_parts
from pipelines.warehouse.delta import sql as delta

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.warehouse.delta.tables import DeltaTables

_NO_SCHEMA = ("SCHEMA_NOT_FOUND", "DATABASE_NOT_FOUND")
_LOCAL_SLASHES = re.compile(r"^file:/+")
_OF_METASTORE = ("_LEGACY_ERROR_TEMP_3065", "UNABLE_TO_FETCH_HIVE_TABLES")
"""Error conditions of an unavailable metastore (HiveExternalCatalog.withClient)."""

_THREADS = 4
_SESSION_CATALOG = "spark_catalog"


def catalog_name(table: Table) -> str:
    """Name of a table within a schema: layer and name."""
    return f"{table.layer}_{table.name}"


def register(tables: DeltaTables, catalog: str) -> list[str]:
    """Register the open tables in a catalog; return warnings.

    Tables with a name keep it. Raises UsageError if a name is taken by something else or cannot be created, CannotWrite
    if the catalog does not answer.
    """
    spark, schema = tables.spark, ".".join(map(delta.quote, catalog_parts(catalog)))
    try:
        taken = _taken(spark, schema)
        known = [table for table in TABLES.values() if catalog_name(table) in taken]
        missing = [table for table in TABLES.values() if catalog_name(table) not in taken]
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(lambda table: _check(tables, schema, table), known))
            list(pool.map(lambda table: _name(tables, schema, table), missing))
    except AnalysisException as error:
        kind = CannotWrite if error.getCondition() in _OF_METASTORE else UsageError  # a later run may find the metastore available
        raise kind(f"--catalog {catalog}: the tables can't be named there: {_first_line(error)}") from error
    return _warnings(spark, catalog)


def _taken(spark: SparkSession, schema: str) -> set[str]:
    """Names in a schema.

    Creates the schema if it is missing.
    """
    try:
        rows = spark.sql(f"SHOW TABLES IN {schema}").where("NOT isTemporary").select("tableName").collect()
    except AnalysisException as error:
        if (error.getCondition() or "").split(".")[0] not in _NO_SCHEMA:
            raise
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        return set()
    return {row[0].lower() for row in rows}


def _name(tables: DeltaTables, schema: str, table: Table) -> None:
    delta.name_table(tables.spark, f"{schema}.{delta.quote(catalog_name(table))}", tables.path(table.name))
    _check(tables, schema, table)  # another process may have been first


def _check(tables: DeltaTables, schema: str, table: Table) -> None:
    """Raise UsageError if a name refers to anything but this warehouse's table."""
    name, path = f"{schema}.{delta.quote(catalog_name(table))}", tables.path(table.name)
    location = _location(tables.spark, name)
    # Only Spark can normalise its paths (escapes, default stores), so it is asked if the texts differ.
    if location is None or (_plain(location) != _plain(path) and location != _location(tables.spark, delta.table_at(path))):
        other = "something that is no Delta table" if location is None else f"the table at {location}"
        raise UsageError(
            f"{name.replace('`', '')} is taken by {other}: drop it, or name another schema; the table of this warehouse is at {path}"
        )


def _location(spark: SparkSession, table: str) -> str | None:
    """Location of a Delta table, None if there is no such table."""
    try:
        [row] = spark.sql(f"DESCRIBE DETAIL {table}").select("format", "location").collect()
    except PySparkException:
        return None
    return str(row["location"]) if row["format"] == "delta" else None


def _plain(location: str) -> str:
    return unquote(_LOCAL_SLASHES.sub("/", location)).rstrip("/")


def _warnings(spark: SparkSession, catalog: str) -> list[str]:
    parts = catalog_parts(catalog)
    session_catalog = parts[0] if len(parts) > 1 else spark.catalog.currentCatalog()
    if session_catalog == _SESSION_CATALOG and spark.conf.get("spark.sql.catalogImplementation", "in-memory") == "in-memory":
        return [f"{catalog}: this session's catalog is in memory, and its names end with it: set spark.sql.catalogImplementation=hive"]
    return []


def _first_line(error: PySparkException) -> str:
    return str(error).partition("\n")[0]
