"""Delta's commands as SQL: these run wherever Spark does, while the Python API needs a JVM at hand or, under Spark Connect, a
plug-in of the server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from pipelines.spark.scoped_settings import set_to

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_MISSING = ("DELTA_MISSING_DELTA_TABLE", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND")
# Commits of others at the same moment. The exceptions have no base in common, and under Spark Connect no class of their own.
_CONFLICT = re.compile(
    r"\bConcurrent\w*Exception|\b(?:Metadata|Protocol)ChangedException|\bDELTA_(?:CONCURRENT|METADATA_CHANGED|PROTOCOL_CHANGED)"
)
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
"""Setting: what commits of SQL commands keep in the history, as those of writers do of their option."""

_FILE_BYTES = "spark.databricks.delta.optimize.maxFileSize"
_TELLING = re.compile(r"['\\\\$\x00]")


def quoted(name: str) -> str:
    """An identifier in SQL."""
    return "`" + name.replace("`", "``") + "`"


def table_at(path: str) -> str:
    """The table below a path, in SQL."""
    return f"delta.{quoted(path)}"


def text(value: str) -> str:
    """A text literal in SQL, which reads the same whatever the parser makes of backslashes, and of variables within `${}`."""
    return f"CAST(X'{value.encode().hex()}' AS STRING)" if _TELLING.search(value) else f"'{value}'"


def literal(value: object) -> str:
    """A value in SQL: text, numbers, moments, maps of text to numbers, or nothing. Delta binds no parameters in UPDATE."""
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return f"timestamp_micros({micros_of(value)})"
    if isinstance(value, Mapping):
        pairs = [part for name, each in sorted(value.items()) for part in (text(name), literal(each))]
        return f"map({', '.join(pairs)})" if pairs else "NULL"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    return f"CAST({value} AS BIGINT)" if isinstance(value, int) else text(str(value))


def micros_of(moment: datetime) -> int:
    """Microseconds since 1970 of a time with a zone."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _plain(value: str) -> str:
    """A literal where the grammar wants one, as in comments."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _pairs(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{_plain(key)} = {_plain(value)}" for key, value in properties.items())


def create(
    spark: SparkSession, path: str, schema: StructType, description: str, properties: Mapping[str, str], clustering: Sequence[str] = ()
) -> None:
    """Make an empty table, unless it is there."""
    columns = []
    for field in schema:
        told = (field.metadata or {}).get("comment")
        empty, about = "" if field.nullable else " NOT NULL", f" COMMENT {_plain(told)}" if told else ""
        columns.append(f"{quoted(field.name)} {field.dataType.simpleString()}{empty}{about}")
    order = f" CLUSTER BY ({', '.join(map(quoted, clustering))})" if clustering else ""
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {table_at(path)} ({', '.join(columns)}) USING delta{order} "
        f"COMMENT {_plain(description)} TBLPROPERTIES ({_pairs(properties)})"
    )


def name_table(spark: SparkSession, name: str, path: str) -> None:
    """Let a name (in SQL) stand for the table below a path, unless it stands for one already."""
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name} USING delta LOCATION {_plain(path)}")


def told_of(spark: SparkSession, path: str) -> tuple[dict[str, str], str | None] | None:
    """The properties of a table and its description, or None where there is no table."""
    try:
        [detail] = spark.sql(f"DESCRIBE DETAIL {table_at(path)}").select("properties", "description").collect()
    except AnalysisException as error:
        if (error.getCondition() or "").split(".")[0] in _MISSING:
            return None
        raise
    return dict(detail[0] or {}), detail[1]


def identity(spark: SparkSession, path: str) -> str:
    """What tells a table from any other, also from one that was at its place before it."""
    [[found]] = spark.sql(f"DESCRIBE DETAIL {table_at(path)}").select("id").collect()
    return str(found)


def set_properties(spark: SparkSession, path: str, properties: Mapping[str, str]) -> None:
    """Set properties of a table; `comment` is its description."""
    spark.sql(f"ALTER TABLE {table_at(path)} SET TBLPROPERTIES ({_pairs(properties)})")


def comment(spark: SparkSession, path: str, comments: Mapping[str, str]) -> None:
    """Describe columns of a table, in one commit."""
    each = ", ".join(f"{quoted(name)} COMMENT {_plain(told)}" for name, told in comments.items())
    spark.sql(f"ALTER TABLE {table_at(path)} ALTER COLUMN {each}")


def cluster(spark: SparkSession, path: str, columns: Sequence[str]) -> None:
    """Let a table be clustered by these columns from now on; none where there are none. A plain overwrite takes that away."""
    [detail] = spark.sql(f"DESCRIBE DETAIL {table_at(path)}").select("clusteringColumns").collect()
    if list(detail[0] or ()) != list(columns):
        spark.sql(f"ALTER TABLE {table_at(path)} CLUSTER BY {'(' + ', '.join(map(quoted, columns)) + ')' if columns else 'NONE'}")


def optimize(spark: SparkSession, path: str, file_bytes: int | None = None) -> tuple[int, int]:
    """Put small files together, of about so many bytes each; files of the table before and after. None: as large as the session wants."""
    with set_to(spark, {} if file_bytes is None else {_FILE_BYTES: file_bytes}):
        [[metrics]] = spark.sql(f"OPTIMIZE {table_at(path)}").select("metrics").collect()
    considered = int(metrics["totalConsideredFiles"] or 0)
    return considered, considered + int(metrics["numFilesAdded"] or 0) - int(metrics["numFilesRemoved"] or 0)


def restore(spark: SparkSession, path: str, version: int, told: str) -> None:
    """Make a table what it was at a version; the versions since stay in its history, which keeps what is `told` of this."""
    with set_to(spark, {USER_METADATA: told}):
        spark.sql(f"RESTORE TABLE {table_at(path)} TO VERSION AS OF {version}").collect()


def history(spark: SparkSession, path: str, limit: int | None = None) -> DataFrame:
    """Commits, the latest first."""
    return spark.sql(f"DESCRIBE HISTORY {table_at(path)}" + (f" LIMIT {limit}" if limit else ""))


def update(spark: SparkSession, path: str, condition: str, values: Mapping[str, str]) -> None:
    """Set columns of the rows that meet a condition; condition and values are SQL."""
    sets = ", ".join(f"{quoted(name)} = {value}" for name, value in values.items())
    spark.sql(f"UPDATE {table_at(path)} SET {sets} WHERE {condition}")  # noqa: S608 - made of literals


def delete(spark: SparkSession, path: str, condition: str, told: str | None = None) -> None:
    """Remove the rows that meet a condition, which is SQL; the table's history keeps what is `told` of this."""
    with set_to(spark, {} if told is None else {USER_METADATA: told}):
        spark.sql(f"DELETE FROM {table_at(path)} WHERE {condition}")  # noqa: S608 - made of literals


def merge(changes: DataFrame, path: str, key: Sequence[str], columns: Sequence[str], action: str, delete: str, where: str = "") -> None:
    """Insert, update or delete rows by key, as the column `action` says.

    `where` is what all stored rows with these keys meet, as SQL on the table `old`: Delta looks for them nowhere else.
    """
    spark, view = changes.sparkSession, "groupscope_changes"
    same = " AND ".join([*(f"old.{quoted(name)} = new.{quoted(name)}" for name in key), *([where] if where else [])])
    sets = ", ".join(f"old.{quoted(name)} = new.{quoted(name)}" for name in columns)
    names, values = ", ".join(map(quoted, columns)), ", ".join(f"new.{quoted(name)}" for name in columns)
    changes.createOrReplaceTempView(view)
    try:
        spark.sql(
            f"MERGE INTO {table_at(path)} AS old USING {view} AS new ON {same} "  # noqa: S608 - names are our own
            f"WHEN MATCHED AND new.{quoted(action)} = {text(delete)} THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET {sets} WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})"
        )
    finally:
        spark.catalog.dropTempView(view)


def is_conflict(error: BaseException) -> bool:
    """Another commit came between: the same may succeed a moment later."""
    return _CONFLICT.search(f"{type(error).__name__} {error}") is not None
