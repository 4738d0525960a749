"""Arrow arrays from Python and numpy values, without `pyarrow.array`.

That function imports pandas on its first call if pandas is installed. This costs half a second and a hundred megabytes,
and a log reader does not need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
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


def flags(values: npt.NDArray[np.bool_] | Sequence[bool]) -> pa.Array:
    """Booleans without nulls."""
    flag_array = np.asarray(values, dtype=bool)
    return pa.Array.from_buffers(pa.bool_(), len(flag_array), [None, pa.py_buffer(np.packbits(flag_array, bitorder="little"))])


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
        codes = integers_of(column.dictionary_encode(null_encoding="encode").indices.cast(_INT64))
        group = np.unique(group * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return np.unique(group, return_index=True)[1], group


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
