"""Create Delta tables as declared, and upgrade older ones."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import Column, SparkSession
from pyspark.sql.types import StructType

from pipelines.errors import TableMismatch
from pipelines.schema.columns import INSTANT
from pipelines.schema.tables import Table
from pipelines.warehouse.delta import sql as delta
from pipelines.warehouse.delta.first_commit import CONSTRAINT_PREFIX, commit_creation
from pipelines.warehouse.opening.migrations import TABLES_VERSION, VERSION_PROPERTY, steps_of

_log = logging.getLogger(__name__)

_INDEXED = "delta.dataSkippingStatsColumns"
_CHECK_NAME = "declared"
_CHECK = f"{CONSTRAINT_PREFIX}{_CHECK_NAME}"
_DEFAULTS = "spark.databricks.delta.properties.defaults."
"""Settings of a session for all new tables, which only Spark applies."""

KEEP_HOURS = 168
"""Minimum hours to keep unreferenced files.

A reader or a run may still need them.
"""

KEEP_LOG_DAYS = 30
"""Days for which old versions stay in a table's history."""


@dataclass(frozen=True, slots=True)
class ExistingTable:
    """An existing table: columns with comments, latest version, properties, description."""

    schema: StructType
    version: int
    properties: Mapping[str, str | None]
    description: str | None

    @property
    def tables_version(self) -> int:
        """Schema version that the table was upgraded to."""
        return int(self.properties.get(VERSION_PROPERTY) or 1)


def create(spark: SparkSession, path: str, table: Table, *, is_local: bool) -> None:
    """Create an empty table unless it exists."""
    # delta-rs also writes entries of runs and alerts. It derives columns from its data.
    schema = table.spark_schema(strict=table.layer != "ops")
    properties = declared_properties(table)
    as_set_by_user = any(name.startswith(_DEFAULTS) for name in spark.conf.getAll)
    if is_local and not as_set_by_user and commit_creation(path, schema, table.description, properties, table.clustering):
        return
    delta.create(spark, path, schema, table.description, properties, table.clustering)


def declared_properties(table: Table) -> dict[str, str]:
    """Properties of a table as it is created."""
    properties = {
        VERSION_PROPERTY: str(TABLES_VERSION),
        "delta.deletedFileRetentionDuration": f"interval {KEEP_HOURS} hours",
        "delta.logRetentionDuration": f"interval {KEEP_LOG_DAYS} days",
        _INDEXED: _indexed(table),
    }
    check = _checked(table)
    return properties if check is None else properties | {_CHECK: check}


def bring_up_to_date(spark: SparkSession, path: str, table: Table, existing: ExistingTable) -> bool:
    """Upgrade a table to its declaration; return True if anything was written.

    Raises TableMismatch for a difference that cannot be migrated.
    """
    if existing.tables_version > TABLES_VERSION:
        raise TableMismatch(f"{path} was made by a newer version of groupscope: install that version or a later one")
    wanted = table.spark_schema()
    steps = list(steps_of(table.name, existing.tables_version))
    if any(step.remake for step in steps):
        _remake(spark, path, table, wanted)
    else:
        existing = _rename_columns(spark, path, table, existing)
        _add_columns(spark, path, existing.schema, wanted)
    for column, value in (pair for step in steps for pair in step.fill):
        delta.update(spark, path, f"{delta.quote(column)} IS NULL", {column: value})
    for column, before in (pair for step in steps for pair in step.move):
        spark.sql(f"ALTER TABLE {delta.table_at(path)} ALTER COLUMN {delta.quote(column)} AFTER {delta.quote(before)}")
    if existing.tables_version < TABLES_VERSION:
        delta.set_properties(spark, path, {_INDEXED: _indexed(table), VERSION_PROPERTY: str(TABLES_VERSION)})
    rechecked = _recheck(spark, path, table, existing)
    described = _describe(spark, path, table, existing.schema, existing.description)
    return existing.tables_version < TABLES_VERSION or len(existing.schema) < len(wanted) or rechecked or described


def _describe(spark: SparkSession, path: str, table: Table, schema: StructType, description: str | None) -> bool:
    """Update the descriptions of table and columns; return True if any changed."""
    comments = {field.name: field.metadata.get("comment") for field in schema}
    # New columns were added with their comments.
    other = {
        column.name: column.description for column in table.columns if comments.get(column.name, column.description) != column.description
    }
    if other:
        delta.comment(spark, path, other)
    if description != table.description:
        delta.set_properties(spark, path, {"comment": table.description})
    return bool(other) or description != table.description


def _recheck(spark: SparkSession, path: str, table: Table, existing: ExistingTable) -> bool:
    """Update the table's check constraint; return True if it changed."""
    check, present = _checked(table), existing.properties.get(_CHECK)
    if (check and _packed(check)) == (present and _packed(present)):
        return False
    at = delta.table_at(path)
    if present is not None:
        spark.sql(f"ALTER TABLE {at} DROP CONSTRAINT {_CHECK_NAME}")
    if check is not None:
        try:
            spark.sql(f"ALTER TABLE {at} ADD CONSTRAINT {_CHECK_NAME} CHECK ({check})")
        except Exception as error:
            if "CHECK_CONSTRAINT_VIOLATION" not in str(error):
                raise
            # A new version may forbid old values. A rebuild replaces such rows, and the run after it sets the
            # constraint.
            _log.warning("%s holds rows that are not as declared by now: %s", path, str(error).partition("\n")[0])
    return True


def _remake(spark: SparkSession, path: str, table: Table, wanted: StructType) -> None:
    """Empty a table and change its columns.

    Delta rejects statistics on a removed column, so the property is unset first.
    """
    spark.sql(f"ALTER TABLE {delta.table_at(path)} UNSET TBLPROPERTIES IF EXISTS ('{_INDEXED}')")
    empty = spark.createDataFrame([], wanted)
    empty.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
    delta.set_properties(spark, path, {_INDEXED: _indexed(table)})


def _rename_columns(spark: SparkSession, path: str, table: Table, existing: ExistingTable) -> ExistingTable:
    """Rewrite a table if columns have former names; return its new form.

    One commit holds all rows, so a crash leaves either the old table or the new one. Delta's own renaming needs a
    protocol that other readers may lack. A rewritten table has no NOT NULL, which Delta can't set again; the quality
    gate looks for nulls in all tables.
    """
    if not table.former_names.keys() & set(existing.schema.names):
        return existing
    at = delta.table_at(path)
    # Both name columns, which must exist. What they are to be is set after the last step.
    spark.sql(f"ALTER TABLE {at} UNSET TBLPROPERTIES IF EXISTS ('{_INDEXED}')")
    spark.sql(f"ALTER TABLE {at} DROP CONSTRAINT IF EXISTS {_CHECK_NAME}")
    rows = spark.read.format("delta").load(path)
    rows = rows.select(*_with_present_names(table, rows.schema))
    rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
    properties = {name: value for name, value in existing.properties.items() if name != _CHECK}
    return replace(existing, schema=rows.schema, properties=properties)


def _with_present_names(table: Table, stored: StructType) -> Iterator[Column]:
    """Stored columns by their present names, in the stored order.

    Where delta-rs added the present name beside the former one, a row has a value in one of them.
    """
    from pyspark.sql import functions as F

    for field in stored:
        name = table.former_names.get(field.name, field.name)
        if name != field.name and name in stored.names:
            continue
        former = [old for old, new in table.former_names.items() if new == name and old in stored.names]
        value = F.coalesce(*(F.col(delta.quote(name)) for name in dict.fromkeys([field.name, *former])))
        yield value.alias(name, metadata=field.metadata)


def _add_columns(spark: SparkSession, path: str, schema: StructType, wanted: StructType) -> None:
    old = {field.name: field.dataType.simpleString() for field in schema}
    new = {field.name: field.dataType.simpleString() for field in wanted}
    other = [f"{name}: {old[name]} instead of {new.get(name, 'nothing')}" for name in old if new.get(name) != old[name]]
    if other:
        raise TableMismatch(f"{path} was made by another version of groupscope: {'; '.join(other)}")
    if any(field.name not in old for field in wanted):
        empty = spark.createDataFrame([], wanted)  # with all columns: Delta requires non-nullable ones even if there are no rows
        empty.write.format("delta").mode("append").option("mergeSchema", "true").save(path)


def _packed(condition: str) -> str:
    """SQL without spaces, because Delta reformats it."""
    return "".join(condition.split())


def _checked(table: Table) -> str | None:
    """Check constraint of a table.

    None for tables written by delta-rs, because its SQL dialect differs.
    """
    return None if table.layer == "ops" else table.check


def _indexed(table: Table) -> str:
    return ",".join(f"`{name}`" for name in indexed_columns(table))


def indexed_columns(table: Table) -> list[str]:
    """Columns with statistics in Delta: those used in filters."""
    times = [column.name for column in table.columns if column.type == INSTANT]
    return list(dict.fromkeys([*table.clustering, *table.key, *table.slice, *times]))
