"""Delta's commands as SQL, which also works under Spark Connect.

Delta's Python API needs a local JVM or, under Spark Connect, a plug-in of the server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from pipelines.spark.scoped_settings import conf_overridden

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_MISSING = ("DELTA_MISSING_DELTA_TABLE", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND")
# Conflicts with concurrent commits. The exceptions share no base class, and under Spark Connect they have no class of
# their own.
_CONFLICT = re.compile(
    r"\bConcurrent\w*Exception|\b(?:Metadata|Protocol)ChangedException|\bDELTA_(?:CONCURRENT|METADATA_CHANGED|PROTOCOL_CHANGED)"
)
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
"""Setting for `userMetadata` of SQL commands.

Corresponds to the option of the same name of DataFrame writers.
"""

_FILE_BYTES = "spark.databricks.delta.optimize.maxFileSize"
_TELLING = re.compile(r"['\\\\$\x00]")


def quote(name: str) -> str:
    """Quote an identifier for SQL."""
    return "`" + name.replace("`", "``") + "`"


def table_at(path: str) -> str:
    """SQL name of the table at a path."""
    return f"delta.{quote(path)}"


def sql_text(value: str) -> str:
    """Quote a text for SQL.

    Text with backslashes or `${}` is encoded in hexadecimal, because parsers differ in how they read it.
    """
    return f"CAST(X'{value.encode().hex()}' AS STRING)" if _TELLING.search(value) else f"'{value}'"


def literal(value: object) -> str:
    """Write a value as an SQL literal.

    None, text, number, time, or map of text to numbers. Delta binds no parameters in UPDATE.
    """
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return f"timestamp_micros({micros_of(value)})"
    if isinstance(value, Mapping):
        pairs = [part for name, item in sorted(value.items()) for part in (sql_text(name), literal(item))]
        return f"map({', '.join(pairs)})" if pairs else "NULL"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    return f"CAST({value} AS BIGINT)" if isinstance(value, int) else sql_text(str(value))


def micros_of(moment: datetime) -> int:
    """Convert a time with a zone to microseconds since 1970."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _plain(value: str) -> str:
    """A plain literal, for places where the grammar accepts no expression, such as comments."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _pairs(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{_plain(key)} = {_plain(value)}" for key, value in properties.items())


def create(
    spark: SparkSession, path: str, schema: StructType, description: str, properties: Mapping[str, str], clustering: Sequence[str] = ()
) -> None:
    """Create an empty table unless it exists."""
    columns = []
    for field in schema:
        comment = (field.metadata or {}).get("comment")
        empty, about = "" if field.nullable else " NOT NULL", f" COMMENT {_plain(comment)}" if comment else ""
        columns.append(f"{quote(field.name)} {field.dataType.simpleString()}{empty}{about}")
    order = f" CLUSTER BY ({', '.join(map(quote, clustering))})" if clustering else ""
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {table_at(path)} ({', '.join(columns)}) USING delta{order} "
        f"COMMENT {_plain(description)} TBLPROPERTIES ({_pairs(properties)})"
    )


def name_table(spark: SparkSession, name: str, path: str) -> None:
    """Register a name (in SQL) for the table at a path, unless taken."""
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name} USING delta LOCATION {_plain(path)}")


def properties_of(spark: SparkSession, path: str) -> tuple[dict[str, str], str | None] | None:
    """Properties and description of a table, None if there is no table."""
    try:
        [detail] = spark.sql(f"DESCRIBE DETAIL {table_at(path)}").select("properties", "description").collect()
    except AnalysisException as error:
        if (error.getCondition() or "").split(".")[0] in _MISSING:
            return None
        raise
    return dict(detail[0] or {}), detail[1]


def identity(spark: SparkSession, path: str) -> str:
    """Unique id of a table.

    It differs even between successive tables at the same path.
    """
    [[table_id]] = spark.sql(f"DESCRIBE DETAIL {table_at(path)}").select("id").collect()
    return str(table_id)


def set_properties(spark: SparkSession, path: str, properties: Mapping[str, str]) -> None:
    """Set properties of a table.

    `comment` is its description.
    """
    spark.sql(f"ALTER TABLE {table_at(path)} SET TBLPROPERTIES ({_pairs(properties)})")


def comment(spark: SparkSession, path: str, comments: Mapping[str, str]) -> None:
    """Set comments of columns, in one commit."""
    comments_text = ", ".join(f"{quote(name)} COMMENT {_plain(comment)}" for name, comment in comments.items())
    spark.sql(f"ALTER TABLE {table_at(path)} ALTER COLUMN {comments_text}")


def cluster(spark: SparkSession, path: str, columns: Sequence[str]) -> None:
    """Set the clustering columns of a table; an empty list means none.

    A plain overwrite removes the clustering.
    """
    [detail] = spark.sql(f"DESCRIBE DETAIL {table_at(path)}").select("clusteringColumns").collect()
    if list(detail[0] or ()) != list(columns):
        spark.sql(f"ALTER TABLE {table_at(path)} CLUSTER BY {'(' + ', '.join(map(quote, columns)) + ')' if columns else 'NONE'}")


def optimize(spark: SparkSession, path: str, file_bytes: int | None = None) -> tuple[int, int]:
    """Compact small files; return the number of files before and after.

    `file_bytes` is the target size, None for the session's default.
    """
    with conf_overridden(spark, {} if file_bytes is None else {_FILE_BYTES: file_bytes}):
        [[metrics]] = spark.sql(f"OPTIMIZE {table_at(path)}").select("metrics").collect()
    considered = int(metrics["totalConsideredFiles"] or 0)
    return considered, considered + int(metrics["numFilesAdded"] or 0) - int(metrics["numFilesRemoved"] or 0)


def restore(spark: SparkSession, path: str, version: int, user_metadata: str) -> None:
    """Restore a table to a version.

    Later versions stay in its history; `user_metadata` becomes the `userMetadata` of the commit.
    """
    with conf_overridden(spark, {USER_METADATA: user_metadata}):
        spark.sql(f"RESTORE TABLE {table_at(path)} TO VERSION AS OF {version}").collect()


def commits_of(spark: SparkSession, path: str, limit: int | None = None) -> DataFrame:
    """Commits, newest first."""
    return spark.sql(f"DESCRIBE HISTORY {table_at(path)}" + (f" LIMIT {limit}" if limit else ""))


def update(spark: SparkSession, path: str, condition: str, values: Mapping[str, str]) -> None:
    """Set columns of rows that meet a condition.

    Condition and values are SQL.
    """
    sets = ", ".join(f"{quote(name)} = {value}" for name, value in values.items())
    spark.sql(f"UPDATE {table_at(path)} SET {sets} WHERE {condition}")  # noqa: S608 - built from literals


def delete(spark: SparkSession, path: str, condition: str, user_metadata: str | None = None) -> None:
    """Delete rows that meet an SQL condition.

    `user_metadata` becomes the `userMetadata` of the commit.
    """
    with conf_overridden(spark, {} if user_metadata is None else {USER_METADATA: user_metadata}):
        spark.sql(f"DELETE FROM {table_at(path)} WHERE {condition}")  # noqa: S608 - built from literals


def merge(changes: DataFrame, path: str, key: Sequence[str], columns: Sequence[str], action: str, delete: str, where: str = "") -> None:
    """Insert, update or delete rows by key, according to the column `action`.

    `where` is an SQL condition on the table `old` that all stored rows with these keys meet; it limits Delta's search.
    """
    spark, view = changes.sparkSession, "groupscope_changes"
    same = " AND ".join([*(f"old.{quote(name)} = new.{quote(name)}" for name in key), *([where] if where else [])])
    sets = ", ".join(f"old.{quote(name)} = new.{quote(name)}" for name in columns)
    names, values = ", ".join(map(quote, columns)), ", ".join(f"new.{quote(name)}" for name in columns)
    changes.createOrReplaceTempView(view)
    try:
        spark.sql(
            f"MERGE INTO {table_at(path)} AS old USING {view} AS new ON {same} "  # noqa: S608 - names come from the declarations
            f"WHEN MATCHED AND new.{quote(action)} = {sql_text(delete)} THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET {sets} WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})"
        )
    finally:
        spark.catalog.dropTempView(view)


def is_conflict(error: BaseException) -> bool:
    """Whether a concurrent commit caused the error.

    The operation may succeed if repeated.
    """
    return _CONFLICT.search(f"{type(error).__name__} {error}") is not None
