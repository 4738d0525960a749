"""Compare small sets of rows in the driver.

A Spark query has a fixed cost that exceeds the cost of comparing tens of thousands of rows with Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.schema.columns import Table
from pipelines.warehouse.delta.arrow_files import arrow_file_system
from pipelines.warehouse.rows.first_times import FIRST_AT, DerivedColumns, firsts_of, time_of
from pipelines.warehouse.rows.predicates import RowScope

LOCAL_ROWS_MAX = 50_000
"""Maximum number of rows processed in the driver instead of Spark."""

SCANNED_ROWS_MAX = 20_000_000
"""Maximum number of rows scanned in search of a small set.

Arrow needs a few seconds for this many.
"""

READ_BYTES = 256 << 20
"""Maximum number of bytes read in search of a small set.

Counts the requested columns, in the size that they have in files.
"""

_SPARING = {"batch_size": 8_192, "batch_readahead": 2, "fragment_readahead": 1}
"""Limits on Arrow's read-ahead.

By default Arrow would hold two million of the rows that it scans.
"""

RowKey = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class RowDiff:
    """Changes that make stored rows equal to wanted ones.

    `rows` are new or changed, `gone` are to be deleted. Neither has a `run_id`.
    """

    rows: pa.Table
    gone: pa.Table
    before: pa.Table
    """Previous contents of changed rows."""

    @property
    def inserted(self) -> int:
        """Number of new rows."""
        return int(self.rows.num_rows - self.before.num_rows)

    def keys(self, table: Table) -> set[RowKey]:
        """Keys of all rows that are inserted, changed or deleted."""
        return {*keys_of(table, self.rows), *keys_of(table, self.gone)}

    def replaced(self, table: Table) -> set[RowKey]:
        """Keys of stored rows that are changed or deleted."""
        return {*keys_of(table, self.gone), *keys_of(table, self.before)}


def read_local(
    delta_table: DeltaTable,
    columns: Sequence[str],
    condition: pc.Expression | None = None,
    bytes_max: int = READ_BYTES,
    rows_max: int | None = None,
) -> pa.Table | None:
    """Read the rows of a local table that meet a condition.

    Returns None if there are more than `rows_max` (by default `LOCAL_ROWS_MAX`), or if delta-rs cannot read the table.
    `bytes_max` limits the bytes of the requested columns, as stored, in files that hold such rows.
    """
    most = LOCAL_ROWS_MAX if rows_max is None else rows_max
    try:
        dataset = delta_table.to_pyarrow_dataset(filesystem=arrow_file_system(delta_table))
        parts = _worth_reading(dataset, condition, most)
        if parts is None or sum(_bytes_of(part, set(columns)) for part in parts) > bytes_max:
            return None
        table = restricted(dataset, parts).scanner(columns=list(columns), filter=condition, **_SPARING).head(most + 1)
    except (DeltaError, OSError):
        return None
    return table if table.num_rows <= most else None


def declared_rows(
    table: Table,
    delta_table: DeltaTable,
    scope: RowScope | None,
    columns: Sequence[str] | None = None,
    bytes_max: int = READ_BYTES,
    rows_max: int | None = None,
) -> pa.Table | None:
    """Rows of a slice as `read_local` gives them, in their declared types."""
    rows = read_local(delta_table, columns or table.column_names, None if scope is None else scope.arrow, bytes_max, rows_max)
    return None if rows is None else cast_to_schema(table, rows)


def _worth_reading(dataset: pads.Dataset, condition: pc.Expression | None, rows_max: int) -> list[pads.ParquetFileFragment] | None:
    """Choose the files to read for rows that meet a condition.

    All files of a small table, else those that hold such rows. Returns None if there are too many rows, or too many to
    scan.
    """
    parts = list(dataset.get_fragments(condition))
    rows = sum(part.metadata.num_rows for part in parts)
    if rows <= LOCAL_ROWS_MAX:
        return parts
    if condition is None or rows > SCANNED_ROWS_MAX:
        return None
    # Counting reads only the columns of the condition. The other columns are read from files with such rows.
    counts = [restricted(dataset, [part]).count_rows(filter=condition) for part in parts]
    return [part for part, count in zip(parts, counts, strict=True) if count] if sum(counts) <= rows_max else None


def restricted(dataset: pads.Dataset, parts: list[pads.ParquetFileFragment]) -> pads.Dataset:
    """The table restricted to these files.

    Their columns may be those of an older version.
    """
    return pads.FileSystemDataset(parts, dataset.schema, dataset.format)


def _bytes_of(part: pads.ParquetFileFragment, columns: set[str]) -> int:
    groups = (part.metadata.row_group(number) for number in range(part.metadata.num_row_groups))
    leaves = (group.column(number) for group in groups for number in range(group.num_columns))
    return sum(leaf.total_compressed_size for leaf in leaves if leaf.path_in_schema.partition(".")[0] in columns)


def read_distinct(delta_table: DeltaTable, columns: Sequence[str], condition: pc.Expression) -> pa.Table | None:
    """Read the distinct values of columns in rows that meet a condition.

    Returns None if there are too many, or if delta-rs cannot read the table.
    """
    return _read_once(
        delta_table, {name: pc.field(name) for name in columns}, condition, lambda rows: rows.group_by(list(columns)).aggregate([])
    )


def read_first(
    delta_table: DeltaTable, columns: Sequence[str], condition: pc.Expression, times: Sequence[str], drawn: DerivedColumns | None = None
) -> pa.Table | None:
    """Read distinct values as `read_distinct`, each with the earliest time of its rows.

    The time of a row, in microseconds, is the first non-null of the columns `times`. `drawn` derives other columns from
    each batch; only the derived rows are kept in memory.
    """
    read = {name: pc.field(name) for name in columns} | {FIRST_AT: time_of(times)}
    if drawn is None:
        return _read_once(delta_table, read, condition, partial(firsts_of, columns=columns))
    return _read_once(delta_table, read, condition, partial(firsts_of, columns=drawn.columns), drawn.arrow)


def _read_once(
    delta_table: DeltaTable,
    columns: dict[str, pc.Expression],
    condition: pc.Expression,
    summed: Callable[[pa.Table], pa.Table],
    drawn: Callable[[pa.Table], pa.Table] = lambda rows: rows,
) -> pa.Table | None:
    """Read a table batch by batch, combined by `summed`."""
    try:
        dataset = delta_table.to_pyarrow_dataset(filesystem=arrow_file_system(delta_table))
        if sum(part.metadata.num_rows for part in dataset.get_fragments(condition)) > SCANNED_ROWS_MAX:
            return None
        scanner = dataset.scanner(columns=columns, filter=condition, **_SPARING)
        sums = summed(drawn(scanner.projected_schema.empty_table()))
        for batch in scanner.to_batches():
            batch_sums = summed(drawn(pa.Table.from_batches([batch])))
            sums = summed(pa.concat_tables([sums, batch_sums]))
            if sums.num_rows > LOCAL_ROWS_MAX:
                return None
    except (DeltaError, OSError):
        return None
    return sums


def to_frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Convert rows to a DataFrame.

    Spark Connect accepts no Arrow table without rows, Spark treats an empty chunk as the end of the data, and of an empty
    list it makes a task for Python's workers.
    """
    if rows.num_rows:
        return spark.createDataFrame(rows.combine_chunks())
    nothing = (F.lit(None).cast(field.dataType).alias(field.name) for field in from_arrow_schema(rows.schema))
    return spark.range(0).select(*nothing)


def cast_to_schema(table: Table, rows: pa.Table) -> pa.Table:
    """Cast rows to the declared columns, order and types.

    `run_id` is kept if present.
    """
    schema = pa.schema([field.remove_metadata() for field in table.arrow_schema() if field.name in rows.column_names])
    return rows.select(schema.names).cast(schema)


def keys_of(table: Table, rows: pa.Table) -> list[RowKey]:
    """Key of each row."""
    return list(zip(*(rows[name].to_pylist() for name in table.key), strict=True))


def compare(table: Table, wanted: pa.Table, present: pa.Table) -> RowDiff:
    """Compare wanted with stored rows by the table's key.

    Both must have the same columns.
    """
    old = {key: place for place, key in enumerate(keys_of(table, present))}
    contents_old, contents_new = _contents(present), _contents(wanted)
    changed: list[int] = []
    before: list[int] = []
    stay: set[RowKey] = set()
    for place, key in enumerate(keys_of(table, wanted)):
        stay.add(key)
        at = old.get(key)
        if at is None:
            changed.append(place)
        elif contents_new[place] != contents_old[at]:
            changed.append(place)
            before.append(at)
    gone = [place for key, place in old.items() if key not in stay]
    return RowDiff(_taken(wanted, changed), _taken(present, gone), _taken(present, before))


def drop_keys(table: Table, rows: pa.Table, keys: set[RowKey]) -> pa.Table:
    """Rows without these keys."""
    return _taken(rows, [place for place, key in enumerate(keys_of(table, rows)) if key not in keys])


def distinct(tables: Iterable[pa.Table], columns: Sequence[str], least: str) -> list[RowKey]:
    """Distinct values of columns with the least time in `least`.

    Microseconds; None if a row has no time.
    """
    values: dict[RowKey, int | None] = {}
    for rows in tables:
        times = rows[least].cast(pa.int64()).to_pylist()
        for key, at in zip(zip(*(rows[name].to_pylist() for name in columns), strict=True), times, strict=True):
            before = values.get(key, at)
            values[key] = None if at is None or before is None else min(at, before)
    return [(*key, at) for key, at in values.items()]


def _taken(rows: pa.Table, places: list[int]) -> pa.Table:
    return rows.take(pa.array(places, pa.int64()))


def _contents(rows: pa.Table) -> list[str]:
    """Rows as comparable text.

    Maps are sorted, and NaN equals NaN.
    """
    columns = [_comparable(rows[field.name], field.type) for field in rows.schema if field.name != "run_id"]
    return list(map(repr, zip(*columns, strict=True)))


def _comparable(column: pa.ChunkedArray, kind: pa.DataType) -> list[object]:
    if pa.types.is_map(kind):
        return [None if value is None else sorted(value) for value in column.to_pylist()]
    if pa.types.is_timestamp(kind):
        return list(column.cast(pa.int64()).to_pylist())
    return list(column.to_pylist())
