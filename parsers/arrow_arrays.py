"""Arrow arrays from Python and numpy values, without `pyarrow.array`.

That function imports pandas on its first call if pandas is installed. This costs half a second and a hundred megabytes,
and a log reader does not need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_INT64 = pa.int64()


def numbers(values: npt.NDArray[Any], kind: pa.DataType = _INT64, known: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Integers or times of `kind`, null if `known` is False."""
    values = np.ascontiguousarray(values, dtype=np.int32 if kind == pa.int32() else np.int64)
    return pa.Array.from_buffers(kind, len(values), [_bitmap(known), pa.py_buffer(values)])


def optional_numbers(values: Sequence[int | None], kind: pa.DataType = _INT64) -> pa.Array:
    """Integers or times of `kind`.

    None and values out of range become null.
    """
    limit = 1 << 31 if kind == pa.int32() else 1 << 63
    with suppress(TypeError, OverflowError):
        plain = np.array(values, dtype=np.int64)
        if kind != pa.int32() or not len(plain) or -limit <= plain.min() <= plain.max() < limit:
            return numbers(plain, kind)
    known = np.array([value is not None and -limit <= value < limit for value in values], dtype=bool)
    filled = [value if keep else 0 for value, keep in zip(values, known.tolist(), strict=True)]
    return numbers(np.array(filled, dtype=np.int64), kind, None if known.all() else known)


def flags(values: npt.NDArray[np.bool_] | Sequence[bool], known: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Booleans, null if `known` is False."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [_bitmap(known), _bitmap(np.asarray(values, dtype=bool))])


def decimals(values: Sequence[float | None]) -> pa.Array:
    """Floating-point numbers, None as null."""
    plain = np.array(values, dtype=np.float64)
    return pa.Array.from_buffers(pa.float64(), len(plain), [_bitmap(_known(values)), pa.py_buffer(plain)])


def array_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Python values as an Arrow array of a type, None as null.

    Structs are given as mappings, from which fields may be absent; maps as mappings, sorted here, or as pairs.
    """
    if pa.types.is_string(kind):
        return strings(values)
    if pa.types.is_boolean(kind):
        return flags(values, _known(values))
    if pa.types.is_float64(kind):
        return decimals(values)
    if kind in (_INT64, pa.int32()) or pa.types.is_timestamp(kind):
        return optional_numbers(values, kind)
    if pa.types.is_list(kind):
        return lists_of(values, array_of(list(chain.from_iterable(value or () for value in values)), kind.value_type), kind)
    if pa.types.is_map(kind):
        pairs = [pair for value in values for pair in (sorted(value.items()) if isinstance(value, Mapping) else value or ())]
        parts = [array_of([pair[0] for pair in pairs], kind.key_type), array_of([pair[1] for pair in pairs], kind.item_type)]
        return lists_of(values, pa.StructArray.from_arrays(parts, fields=[kind.key_field, kind.item_field]), kind)
    if pa.types.is_struct(kind):
        return structs_of(values, [array_of([(value or {}).get(field.name) for value in values], field.type) for field in kind], kind)
    return pa.array(values, kind)


def lists_of(values: Sequence[Any], items: pa.Array, kind: pa.DataType) -> pa.Array:
    """Lists or maps with all their items in order.

    They are as long as `values`, whose None becomes null.
    """
    ends = np.zeros(len(values) + 1, dtype=np.int32)
    np.cumsum([len(value or ()) for value in values], out=ends[1:])
    return pa.Array.from_buffers(kind, len(values), [_bitmap(_known(values)), pa.py_buffer(ends)], children=[items])


def structs_of(values: Sequence[Any], parts: Sequence[pa.Array], kind: pa.StructType) -> pa.Array:
    """Structs of an array for each field.

    They are null where `values` has None.
    """
    return pa.Array.from_buffers(kind, len(values), [_bitmap(_known(values))], children=list(parts))


def batch_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """A batch of rows, with null for columns that a row lacks."""
    return pa.RecordBatch.from_arrays([array_of([row.get(field.name) for row in rows], field.type) for field in schema], schema=schema)


def strings(values: Sequence[str | None]) -> pa.Array:
    """Texts, None as null.

    Lone surrogates become question marks, because they cannot be encoded as UTF-8.
    """
    known: npt.NDArray[np.bool_] | None = None
    try:
        joined = "".join(values)  # type: ignore[arg-type]
        texts: Sequence[str] = values  # type: ignore[assignment]
    except TypeError:
        known = np.array([value is not None for value in values], dtype=bool)
        texts = [value or "" for value in values]
        joined = "".join(texts)
    if joined.isascii():
        data = joined.encode("ascii")
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    else:
        encoded = [text.encode("utf-8", "replace") for text in texts]
        data = b"".join(encoded)
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(texts))
    return _text(lengths, data, known)


def repeated_text(value: str, count: int) -> pa.Array:
    """One text, `count` times."""
    data = value.encode("utf-8", "replace")
    return _text(np.full(count, len(data), dtype=np.int64), data * count, None)


def names_of_codes(names: Sequence[str | None], codes: npt.NDArray[np.int64]) -> pa.Array:
    """The name of each code."""
    return strings(names).take(numbers(codes))


def alike(columns: Sequence[pa.Array]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Group rows with equal values.

    Returns the first row of each group, and the group number of each row. `pyarrow.Table.group_by` would import pandas.
    """
    group = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        codes = codes_of(column)
        group = np.unique(group * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return np.unique(group, return_index=True)[1], group


def codes_of(column: pa.Array) -> npt.NDArray[np.int64]:
    """A number for each distinct value, from 0 on; null counts as one."""
    return integers_of(column.dictionary_encode(null_encoding="encode").indices.cast(_INT64))


def integers_of(array: pa.Array) -> npt.NDArray[np.int64]:
    """Values of an array of 64-bit numbers or times; undefined for nulls."""
    integers: npt.NDArray[np.int64] = np.frombuffer(array.buffers()[1], dtype=np.int64)[array.offset : array.offset + len(array)]
    return integers


def known_of(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Flags of values that are not null."""
    bitmap = array.buffers()[0]
    if bitmap is None:
        return np.ones(len(array), dtype=bool)
    bits = np.unpackbits(np.frombuffer(bitmap, dtype=np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(bool)


def _known(values: Sequence[Any]) -> npt.NDArray[np.bool_] | None:
    known = [value is not None for value in values]
    return None if all(known) else np.array(known, dtype=bool)


def _bitmap(known: npt.NDArray[np.bool_] | None) -> pa.Buffer | None:
    return None if known is None else pa.py_buffer(np.packbits(known, bitorder="little"))


def _text(lengths: npt.NDArray[np.int64], data: bytes, known: npt.NDArray[np.bool_] | None) -> pa.Array:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] < 1 << 31:
        return pa.Array.from_buffers(
            pa.string(), len(lengths), [_bitmap(known), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
        )
    raise OverflowError("more than 2 GiB of text in one batch")
