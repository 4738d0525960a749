"""One commit of few rows to a table on this machine's disk, written here: Spark takes a second for it, however few they are.

It does what Delta's protocol asks of a writer for the features that our tables have (PROTOCOL.md of Delta Lake: actions,
statistics, and commits that are put where none is yet); a table that has any other is left to Spark, and so are rows that are
not as declared, which Delta then refuses. What was compared and what is written belong together: the commit follows the very
version that was read, or it isn't made.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from pipelines.columns import Column, Table
from pipelines.versions import product_version

LOG = "_delta_log"
CHECKPOINT_INTERVAL = 10
"""Spark makes a checkpoint after so many commits, when it makes that commit itself."""

INDEXED = "delta.dataSkippingStatsColumns"
CHECK = "delta.constraints.declared"
_PROPERTIES = frozenset({INDEXED, CHECK, "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"})
_FEATURES = frozenset({"domainMetadata", "checkConstraints", "invariants", "appendOnly", "clustering"})
_PLAIN_WRITERS, _FEATURED_WRITER = (2, 3), 7
_MICROS_IN_MILLI = 1_000


class VersionTaken(Exception):
    """Another commit came between: what was compared is not what is there."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """Makes a write that is tried again do nothing: an application's number, which only grows."""

    application: str
    number: int


def can_commit(table: Table, log: DeltaTable) -> bool:
    """Whether this is a table as we make them, and its next version one that Spark needn't make."""
    protocol, settings = log.protocol(), log.metadata().configuration
    featured = set(protocol.writer_features or ()) | set(protocol.reader_features or ())
    return (
        protocol.min_reader_version == 1
        and (protocol.min_writer_version in _PLAIN_WRITERS or protocol.min_writer_version == _FEATURED_WRITER)
        and featured <= _FEATURES
        and all(name in _PROPERTIES for name in settings if name.startswith("delta."))
        and (CHECK not in settings or packed(settings[CHECK] or "") == packed(table.check or ""))
        and '"delta.' not in log.schema().to_json()
        and (log.version() + 1) % CHECKPOINT_INTERVAL != 0
    )


def packed(condition: str) -> str:
    """SQL without its spaces, which Delta sets by its own taste."""
    return "".join(condition.split())


def as_declared(table: Table, rows: pa.Table) -> bool:
    """Whether all rows hold what their columns are declared to hold."""
    return all(_holds(column, rows[column.name]) for column in table.columns if column.name in rows.column_names)


def _holds(column: Column, values: pa.ChunkedArray) -> bool:
    if column.required and values.null_count:
        return False
    known = values.drop_null()
    met = [pc.is_in(known, pa.array(column.values, column.type))] if column.values else []
    met += [pc.greater_equal(known, column.least)] if column.least is not None else []
    met += [pc.less_equal(known, column.greatest)] if column.greatest is not None else []
    return all(pc.all(each).as_py() is not False for each in met)


def files_of(log: DeltaTable) -> list[tuple[str, int]]:
    """Files that a table is made of, each with its size."""
    files = pa.table(log.get_add_actions())
    return list(zip(files["path"].to_pylist(), files["size_bytes"].to_pylist(), strict=True))


def files_with(log: DeltaTable, condition: pc.Expression) -> tuple[list[tuple[str, int]], pa.Table]:
    """Files that may hold rows of which a condition is true, and all of their rows."""
    dataset = log.to_pyarrow_dataset()
    found = list(dataset.get_fragments(condition))
    names = {fragment.path for fragment in found}
    return [file for file in files_of(log) if file[0] in names], pa.concat_tables(
        [dataset.schema.empty_table(), *(fragment.to_table(schema=dataset.schema) for fragment in found)]
    )


def commit(
    path: str, log: DeltaTable, rows: pa.Table, told: str, removed: Sequence[tuple[str, int]] = (), transaction: Transaction | None = None
) -> None:
    """Write rows, in place of those in the files `removed`, as the version of the table at `path` that follows `log`.

    `told` is kept with the commit. Raises VersionTaken where that version is there already.
    """
    if transaction is not None and (log.transaction_version(transaction.application) or -1) >= transaction.number:
        return
    place = Path(path)
    now = time.time_ns() // 1_000_000
    actions: list[Mapping[str, Any]] = []
    if transaction is not None:
        actions.append({"txn": {"appId": transaction.application, "version": transaction.number, "lastUpdated": now}})
    if rows.num_rows:
        actions.append({"add": _written(place, rows, _indexed(log), now)})
    gone = {"deletionTimestamp": now, "dataChange": True, "extendedFileMetadata": True, "partitionValues": {}}
    actions += [{"remove": {"path": name, "size": size, **gone}} for name, size in removed]
    info = {
        "timestamp": now,
        "operation": "WRITE",
        "operationParameters": {"mode": "Overwrite" if removed else "Append", "partitionBy": "[]"},
        "readVersion": log.version(),
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "userMetadata": told,
        "engineInfo": f"groupscope/{product_version()}",
        "txnId": str(uuid.uuid4()),
    }
    _put(place / LOG, log.version() + 1, [{"commitInfo": info}, *actions])


def _put(folder: Path, version: int, actions: list[Mapping[str, Any]]) -> None:
    """Write a commit whole, where none is yet."""
    beside = folder / f"_commit_{uuid.uuid4()}.json.tmp"
    try:
        with beside.open("wb") as file:
            file.write("".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions).encode())
            file.flush()
            os.fsync(file.fileno())
        os.link(beside, folder / f"{version:020}.json")
    except FileExistsError as error:
        raise VersionTaken(f"{folder.parent}: version {version} is there already") from error
    finally:
        beside.unlink(missing_ok=True)


def _written(place: Path, rows: pa.Table, indexed: list[str], now: int) -> dict[str, Any]:
    name = f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"
    with (place / name).open("wb") as file:
        pq.write_table(rows, file, compression="snappy", coerce_timestamps="us", store_schema=False)
        file.flush()
        os.fsync(file.fileno())
    statistics = json.dumps(_statistics(rows, indexed), separators=(",", ":"))
    size = (place / name).stat().st_size
    return {"path": name, "partitionValues": {}, "size": size, "modificationTime": now, "dataChange": True, "stats": statistics}


def _indexed(log: DeltaTable) -> list[str]:
    """The columns whose bounds readers want to know."""
    names = (log.metadata().configuration.get(INDEXED) or "").split(",")
    return [name.strip("`") for name in names if name]


def _statistics(rows: pa.Table, indexed: list[str]) -> dict[str, Any]:
    least, greatest = {}, {}
    for name in indexed:
        kind = rows.schema.field(name).type
        if rows[name].null_count < rows.num_rows and (pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_timestamp(kind)):
            bounds = pc.min_max(rows[name])
            least[name], greatest[name] = (_shown(bounds[end], kind, end) for end in ("min", "max"))
    nulls = {name: rows[name].null_count for name in indexed}
    return {"numRecords": rows.num_rows, "minValues": least, "maxValues": greatest, "nullCount": nulls}


def _shown(value: pa.Scalar, kind: pa.DataType, end: str) -> object:
    """A bound; those of times have milliseconds, and lie outside of what they bound."""
    if not pa.types.is_timestamp(kind):
        return value.as_py()
    micros = int(value.cast(pa.int64()).as_py())
    millis = micros // _MICROS_IN_MILLI if end == "min" else -(-micros // _MICROS_IN_MILLI)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{millis % 1_000:03}Z"
