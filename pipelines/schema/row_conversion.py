"""Convert Arrow batches to events, and rows to Arrow and back.

Both runners use these functions, so both see the same values.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any, TypeAlias

import orjson
import pyarrow as pa

from models.events import Event, LogPosition, Witness
from parsers.arrow_arrays import array_of, lists_of, structs_of
from pipelines.schema.json_values import field_names
from pipelines.schema.tables import ROW_TABLES, without_run

_EVENT_COLUMNS = (
    "event", "at", "file_time_max_at", "file", "line", "byte_offset", "witness", "message", "text",
    "node", "group", "generation", "member_id", "client_id", "instance_id", "topic", "partition", "fields",
)  # fmt: skip

# Columns with few distinct values share one string object per value, because a stage may hold millions.
_SHARED = frozenset({"event", "file", "witness", "message", "node", "group", "member_id", "client_id", "instance_id", "topic"})
_TIMES = frozenset({"at", "file_time_max_at"})
FEW_ROWS = 64
"""Below this number, a dictionary costs more than it saves."""

_INSTANT = pa.timestamp("us", tz="UTC")

_WITNESSES: Mapping[str, Witness] = {witness.value: witness for witness in Witness}
_NO_FIELDS: Mapping[str, object] = {}


def micros(column: pa.ChunkedArray | pa.Array) -> list[int | None]:
    """Convert a timestamp column to microseconds since 1970."""
    instants = column if column.type == _INSTANT else column.cast(_INSTANT)  # a cast imports `pyarrow.compute`, slow for short commands
    parts = instants.chunks if isinstance(instants, pa.ChunkedArray) else [instants]
    return [value for part in parts for value in part.view(pa.int64()).to_pylist()]


def _values(column: pa.ChunkedArray | pa.Array, name: str) -> list[Any]:
    if name in _TIMES:
        return micros(column)
    if name not in _SHARED or len(column) < FEW_ROWS:
        values: list[Any] = column.to_pylist()
        return values if name not in _SHARED else [None if value is None else sys.intern(value) for value in values]
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = whole.dictionary_encode()
    known = [sys.intern(value) for value in encoded.dictionary.to_pylist()]
    return [None if code is None else known[code] for code in encoded.indices.to_pylist()]


def events_of(batch: pa.RecordBatch | pa.Table, node_of: Mapping[str, str] | None = None) -> Iterator[Event]:
    """Convert a batch of `parsers.schema.EVENT_SCHEMA` to events, in its order.

    Rows without an event name (recognised, but irrelevant to models) are omitted. `node_of` gives the node of a file
    (by path) for lines that do not name it.
    """
    nodes = node_of or {}
    columns = [_values(batch[name], name) for name in _EVENT_COLUMNS]
    for name, at, order, file, line, offset, witness, message, text, node, group, *rest in zip(*columns, strict=True):
        if name is None:
            continue
        generation, member_id, client_id, instance_id, topic, partition, fields = rest
        yield Event(
            name,
            at,
            order if order is not None else (at or 0),
            LogPosition(file, line, offset),
            _WITNESSES[witness],
            message or "",
            text or "",
            node if node is not None else (nodes.get(file) if witness == "coordinator" else None),
            group,
            generation,
            member_id,
            client_id,
            instance_id,
            topic,
            partition,
            orjson.loads(fields) if fields else _NO_FIELDS,
        )


# Most values; Arrow accepts them unchanged.
_SIMPLE = frozenset({str, int, float, bool, type(None)})


def row_values(row: Any) -> dict[str, Any]:
    """Convert a row dataclass and nested ones to dicts.

    Maps become sorted lists of pairs, as Arrow requires.
    """
    return {name: _plain(getattr(row, name)) for name in field_names(row.__class__)}


def _plain(value: Any) -> Any:
    kind = value.__class__
    if kind in _SIMPLE:
        return value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return sorted(value.items())
    return row_values(value) if field_names(kind) else value


def to_batch(table: str, rows: Iterable[object]) -> pa.RecordBatch:
    """Convert rows of one gold table to Arrow, without `run_id`."""
    schema, rows = without_run(table), list(rows)
    return pa.RecordBatch.from_arrays([_array(list(map(attrgetter(field.name), rows)), field.type) for field in schema], schema=schema)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Convert values of a column to Arrow.

    Nested dataclasses are converted field by field, because dicts would cost several times more.
    """
    if pa.types.is_struct(kind):
        return _structs_array(values, kind)
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        return lists_of(values, _structs_array([item for value in values for item in value or ()], kind.value_type), kind)
    return array_of(values, kind)


def _structs_array(values: list[Any], kind: pa.StructType) -> pa.Array:
    if any(value is None for value in values):
        parts = [_array([None if value is None else getattr(value, field.name) for value in values], field.type) for field in kind]
    else:
        parts = [_array(list(map(attrgetter(field.name), values)), field.type) for field in kind]
    return structs_of(values, parts, kind)


_ROW_TYPES: Mapping[str, type] = {table: row_type for row_type, table in ROW_TABLES.items()}


_Reader: TypeAlias = Callable[[Any], list[Any]]


def from_batch(table: str, batch: pa.RecordBatch | pa.Table) -> list[Any]:
    """Convert Arrow rows of one gold table to dataclasses, the inverse of `to_batch`."""
    row_type = _ROW_TYPES[table]
    names = field_names(row_type)
    return _made(row_type, names, (_column(batch[name], _READERS.get((row_type.__name__, name))) for name in names))


def values_in(table: str, batch: pa.RecordBatch, names: Sequence[str]) -> list[list[Any]]:
    """Values of some columns of one gold table, as `from_batch` reads them."""
    row_type = _ROW_TYPES[table]
    return [_column(batch[name], _READERS.get((row_type.__name__, name))) for name in names]


def _made(of: type, names: Sequence[str], columns: Iterable[list[Any]]) -> list[Any]:
    return [of(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)]


def _column(column: pa.ChunkedArray | pa.Array, reader: _Reader | None) -> list[Any]:
    if reader is not None:
        return reader(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
    return micros(column) if pa.types.is_timestamp(column.type) else column.to_pylist()


def _objects(of: type, structs: pa.StructArray) -> list[Any]:
    """Objects of structs without nulls.

    Field by field, because Arrow takes several times longer for structs.
    """
    names = [field.name for field in structs.type]
    return _made(of, names, (structs.field(name).to_pylist() for name in names))


def _structs(of: type) -> _Reader:
    def read(lists: pa.ListArray) -> list[Any]:
        ends = lists.offsets.to_pylist()
        items = _objects(of, lists.values.slice(ends[0], ends[-1] - ends[0])) if len(lists) else []
        return [items[start - ends[0] : end - ends[0]] for start, end in pairwise(ends)]

    return read


def _struct(of: type) -> _Reader:
    return lambda structs: [None if value is None else of(**value) for value in structs.to_pylist()]


def _mapping(maps: pa.MapArray) -> list[dict[str, float]]:
    return [dict(value or ()) for value in maps.to_pylist()]


def _readers() -> dict[tuple[str, str], _Reader]:
    """Readers of nested columns for each row type, chosen by field type."""
    from models import rows

    nested: dict[str, _Reader] = {
        "list[Evidence]": _structs(rows.Evidence),
        "list[GroupStateMember]": _structs(rows.GroupStateMember),
        "list[GroupStateTimer]": _structs(rows.GroupStateTimer),
        "list[Person]": _structs(rows.Person),
        "Person | None": _struct(rows.Person),
        "Conformance": _struct(rows.Conformance),
        "dict[str, float]": _mapping,
    }
    return {(t.__name__, f.name): nested[str(f.type)] for t in ROW_TABLES for f in dataclasses.fields(t) if str(f.type) in nested}


_READERS = _readers()
