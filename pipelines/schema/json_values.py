"""JSON values of rows, by the Arrow types of their columns.

How a type is written is decided once: deciding for each value took most of the time of a large answer.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache, partial
from typing import Any

import pyarrow as pa

from models.units import EPOCH

Writer = Callable[[Any], Any]


def instant_text(at: int | datetime | None) -> str | None:
    """Format a time as RFC 3339 in UTC with microseconds.

    An integer is microseconds since 1970, a naive datetime is UTC.
    """
    if at is None:
        return None
    moment = at if isinstance(at, datetime) else EPOCH + timedelta(microseconds=at)
    if moment.tzinfo is not None and moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


@cache
def writer_of(kind: pa.DataType) -> Writer | None:
    """Conversion of values of a type, None if they stay as they are."""
    if pa.types.is_timestamp(kind):
        return instant_text
    if pa.types.is_floating(kind):
        return _finite
    if pa.types.is_list(kind):
        return _list_writer(writer_of(kind.value_type))
    if pa.types.is_map(kind):
        return _map_writer(writer_of(kind.item_type))
    return _struct_writer(kind) if pa.types.is_struct(kind) else None


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _list_writer(write: Writer | None) -> Writer:
    if write is None:
        return list
    return lambda values: [None if value is None else write(value) for value in values]


def _map_writer(write: Writer | None) -> Writer:
    def written(value: Any) -> dict[str, Any]:
        pairs = sorted(value.items() if isinstance(value, Mapping) else value)
        return dict(pairs) if write is None else {key: None if item is None else write(item) for key, item in pairs}

    return written


def _struct_writer(kind: pa.StructType) -> Writer:
    members = [(field.name, writer_of(field.type)) for field in kind]

    def written(value: Any) -> dict[str, Any]:
        get = value.get if isinstance(value, Mapping) else partial(_attribute, value)
        return object_of(members, get)

    return written


def _attribute(value: Any, name: str) -> Any:
    return getattr(value, name, None)


def object_of(members: list[tuple[str, Writer | None]], get: Callable[[str], Any]) -> dict[str, Any]:
    """A JSON object with these members, in their order."""
    return {name: value if write is None or value is None else write(value) for name, write in members for value in (get(name),)}


@lru_cache(maxsize=64)
def field_names(kind: Hashable) -> tuple[str, ...]:
    """Names of a dataclass's fields; empty for any other class."""
    return tuple(field.name for field in dataclasses.fields(kind)) if isinstance(kind, type) and dataclasses.is_dataclass(kind) else ()
