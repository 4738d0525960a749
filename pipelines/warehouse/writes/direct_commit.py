"""Small commits to a table on a local disk, without Spark.

Spark needs half a second or more for a commit, however few its rows are, and a run writes more than thirty tables. A commit
made here holds what Spark's own would hold (Delta's PROTOCOL.md: add file, remove file, transaction identifiers, per-file
statistics). Only a table exactly as this product creates it is written like this; any other is left to Spark, as is every
commit after which Delta writes a checkpoint, and every row that a constraint may refuse.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.crash_points import crash_point
from pipelines.schema.tables import Column, Table
from pipelines.warehouse.delta.arrow_files import arrow_file_system
from pipelines.warehouse.delta.files import put_commit
from pipelines.warehouse.delta.first_commit import FEATURES
from pipelines.warehouse.opening.schema_upgrades import declared_properties, indexed_columns
from pipelines.warehouse.rows.arrow_diff import RowKey, cast_to_schema, drop_keys, restricted
from pipelines.warehouse.rows.predicates import RowScope

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import SparkSession

_CHECKPOINT_INTERVAL = 10
"""Delta's default: each such version gets a checkpoint."""

_TEXT_MAX = 32
"""Characters of a text in the statistics of a file, as in Spark's."""

_REWRITTEN_MAX = 50_000
"""Rows of files that are rewritten here; Spark rewrites more of them faster."""

_SEARCHED_MAX = 2_000_000
"""Rows of files in which keys are looked for here."""

MERGED_ROWS_MAX = 1_000
"""Rows that go into a file together with new ones.

Rows change for a while after they were written, then never: without a limit, one file would hold all that a table ever got,
and each run of a schedule would rewrite more than the run before.
"""

_LAST_CHARACTER = "\U0010ffff"
_FEATURES = {*FEATURES, "checkConstraints"}
_WRITER_VERSION_MAX = 7
_SETTINGS = (
    "parquet.",
    "spark.databricks.delta.optimizeWrite.",
    "spark.databricks.delta.properties.",
    "spark.hadoop.parquet.",
    "spark.sql.parquet.compression.",
)
"""Beginnings of settings that concern how tables are written."""


@dataclass(frozen=True, slots=True)
class Committer:
    """Who commits: the run, and its transaction, which is never applied twice."""

    run_id: str
    application: str | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class WriteStamp:
    """Author of a write: run, number, and application (versions of catalogue and models)."""

    run_id: str
    run_number: int
    application: str

    def transaction(self, table_name: str, part: str) -> str:
        """Name under which Delta keeps that this write was made."""
        return f"{self.application}/{table_name}{part}"

    def committer(self, table_name: str, part: str) -> Committer:
        """Author of a commit that is made without Spark."""
        return Committer(self.run_id, self.transaction(table_name, part), self.run_number)


def writes_plainly(spark: SparkSession) -> bool:
    """Whether no setting of the session concerns how tables are written."""
    return not any(name.startswith(_SETTINGS) for name in spark.conf.getAll)


def commit_rows(
    delta_table: DeltaTable, table: Table, rows: pa.Table, author: Committer, keys: Collection[RowKey] = (), within: RowScope | None = None
) -> bool:
    """Append rows, instead of those with the given keys.

    Returns False if Spark must do it. `delta_table` is the table at the version that the commit follows, on a local disk. All
    rows with these keys are `within` a scope. Raises FileExistsError if another commit was first.
    """
    if not keys:
        return _commit(delta_table, table, [rows], author, ())
    dataset = delta_table.to_pyarrow_dataset(filesystem=arrow_file_system(delta_table))
    condition = _has_keys(table, keys) if within is None else within.arrow & _has_keys(table, keys)
    parts = list(dataset.get_fragments(condition))
    if sum(part.metadata.num_rows for part in parts) > _SEARCHED_MAX:
        return False
    parts = [part for part in parts if restricted(dataset, [part]).count_rows(filter=condition)]
    if sum(part.metadata.num_rows for part in parts) > _REWRITTEN_MAX:
        return False
    stored = cast_to_schema(table, restricted(dataset, parts).to_table(columns=table.column_names))
    stay = drop_keys(table, stored, set(keys))
    files = [stay, rows] if stay.num_rows > MERGED_ROWS_MAX else [pa.concat_tables([stay, rows])]
    return _commit(delta_table, table, files, author, [part.path for part in parts])


def _has_keys(table: Table, keys: Collection[RowKey]) -> pc.Expression:
    """A condition that rows with these keys meet, and few others."""
    schema = table.arrow_schema()
    columns = zip(table.key, zip(*keys, strict=True), strict=True)
    return reduce(and_, (pc.field(name).isin(pa.array(set(values), schema.field(name).type)) for name, values in columns))


def _commit(delta_table: DeltaTable, table: Table, files: Sequence[pa.Table], author: Committer, replaced: Collection[str]) -> bool:
    """Add a file for each table that has rows, instead of those replaced."""
    version, folder = delta_table.version() + 1, _folder(delta_table)
    if folder is None or version % _CHECKPOINT_INTERVAL == 0 or not _is_as_created(delta_table, table):
        return False
    if not all(_are_allowed(table, rows) for rows in files):
        return False
    if _is_applied(delta_table, author):
        return True
    sizes = _sizes(delta_table) if replaced else {}
    if not sizes.keys() >= set(replaced):
        return False
    job = uuid.uuid4()
    added = {
        folder / f"part-{number:05}-{job}-c000.snappy.parquet": rows for number, rows in enumerate(rows for rows in files if rows.num_rows)
    }
    is_committed = False
    try:
        for file, rows in added.items():
            pq.write_table(rows, file, compression="snappy", store_schema=False)
            crash_point(f"within {table.name}")
        put_commit(folder, version, _actions(delta_table, table, added, author, {name: sizes[name] for name in replaced}))
        is_committed = True
    except FileExistsError:
        raise
    except OSError:  # Spark tells what is wrong with the disk
        return False
    finally:
        if not is_committed:
            for file in added:
                with suppress(OSError):
                    file.unlink()
    return True


def _is_applied(delta_table: DeltaTable, author: Committer) -> bool:
    """Whether the table has this transaction already."""
    number = None if author.application is None else delta_table.transaction_version(author.application)
    return number is not None and number >= author.number


def _folder(delta_table: DeltaTable) -> Path | None:
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(delta_table.table_uri)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _is_as_created(delta_table: DeltaTable, table: Table) -> bool:
    """Whether the table demands no more of its writers."""
    protocol, metadata = delta_table.protocol(), delta_table.metadata()
    features = set(protocol.writer_features or ())
    return (
        protocol.min_reader_version == 1
        and protocol.min_writer_version <= _WRITER_VERSION_MAX
        and features <= _FEATURES
        and not protocol.reader_features
        and not metadata.partition_columns
        and dict(metadata.configuration) == declared_properties(table)
        and [field.name for field in delta_table.schema().fields] == table.column_names
    )


def _are_allowed(table: Table, rows: pa.Table) -> bool:
    """Whether all rows meet the constraints of the table."""
    return all(_is_allowed(column, rows[column.name]) for column in table.columns)


def _is_allowed(column: Column, values: pa.ChunkedArray) -> bool:
    present = values.drop_null()
    conditions = [pc.is_in(present, value_set=pa.array(column.values, present.type))] if column.values else []
    conditions += [pc.greater_equal(present, column.least)] if column.least is not None else []
    conditions += [pc.less_equal(present, column.greatest)] if column.greatest is not None else []
    return not (column.is_required and values.null_count) and all(pc.all(condition, min_count=0).as_py() for condition in conditions)


def _sizes(delta_table: DeltaTable) -> dict[str, int]:
    """Bytes of the table's files by path."""
    files = pa.table(delta_table.get_add_actions())
    return dict(zip(files["path"].to_pylist(), files["size_bytes"].to_pylist(), strict=True))


def _actions(
    delta_table: DeltaTable, table: Table, added: Mapping[Path, pa.Table], author: Committer, replaced: Mapping[str, int]
) -> Iterator[Mapping[str, Any]]:
    now, sizes = time.time_ns() // 1_000_000, {file: file.stat().st_size for file in added}
    yield {
        "commitInfo": {
            "timestamp": now,
            "operation": "WRITE",
            "operationParameters": {"mode": "Overwrite" if replaced else "Append", "partitionBy": "[]"},
            "readVersion": delta_table.version(),
            "isolationLevel": "Serializable",
            "isBlindAppend": not replaced,
            "operationMetrics": {
                "numFiles": str(len(added)),
                "numOutputRows": str(sum(rows.num_rows for rows in added.values())),
                "numOutputBytes": str(sum(sizes.values())),
            },
            "userMetadata": author.run_id,
            "engineInfo": "groupscope",
            "txnId": str(uuid.uuid4()),
        }
    }
    if author.application is not None:
        yield {"txn": {"appId": author.application, "version": author.number, "lastUpdated": now}}
    for file, rows in added.items():
        add = {"path": file.name, "partitionValues": {}, "size": sizes[file], "modificationTime": now, "dataChange": True}
        yield {"add": {**add, "stats": json.dumps(_statistics(table, rows), ensure_ascii=False)}}
    for name, bytes_of_file in sorted(replaced.items()):
        gone = {"path": name, "deletionTimestamp": now, "dataChange": True, "extendedFileMetadata": True, "partitionValues": {}}
        yield {"remove": {**gone, "size": bytes_of_file}}


def _statistics(table: Table, rows: pa.Table) -> dict[str, Any]:
    """Number of rows, and bounds and nulls of columns used in filters."""
    names = [name for name in indexed_columns(table) if not pa.types.is_nested(rows.schema.field(name).type)]
    bounds: dict[str, dict[str, Any]] = {"min": {}, "max": {}}
    for name in names:
        if rows[name].null_count == rows.num_rows or pa.types.is_boolean(rows[name].type):
            continue
        of_column = pc.min_max(rows[name].cast(pa.int64()) if pa.types.is_timestamp(rows[name].type) else rows[name]).as_py()
        for bound, value in of_column.items():
            bounds[bound][name] = _bound(value, rows[name].type, is_max=bound == "max")
    nulls = {name: rows[name].null_count for name in names}
    return {"numRecords": rows.num_rows, "minValues": bounds["min"], "maxValues": bounds["max"], "nullCount": nulls}


def _bound(value: Any, kind: pa.DataType, *, is_max: bool) -> Any:
    """A value for the statistics, as Spark writes it."""
    if pa.types.is_timestamp(kind):
        seconds, micros = divmod(value, 1_000_000)
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{micros // 1000:03}Z"
    if not isinstance(value, str) or len(value) <= _TEXT_MAX:
        return value
    cut = value[:_TEXT_MAX] + (_LAST_CHARACTER if is_max else "")
    return cut if not is_max or cut >= value else value
