"""Arrays from Python values against those of `pyarrow.array`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.arrow_arrays import array_of, batch_of
from parsers.schema import TIME

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBER = st.integers(-(1 << 31), (1 << 31) - 1)
PLACE = pa.struct([pa.field("file", pa.string()), pa.field("line", pa.int64()), pa.field("is_sure", pa.bool_())])
PLACES = st.fixed_dictionaries({}, optional={"file": st.none() | TEXT, "line": st.none() | NUMBER, "is_sure": st.none() | st.booleans()})
KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "string": (pa.string(), TEXT),
    "int32": (pa.int32(), NUMBER),
    "int64": (pa.int64(), st.integers(-(1 << 63), (1 << 63) - 1)),
    "bool": (pa.bool_(), st.booleans()),
    "double": (pa.float64(), st.floats(allow_nan=False) | NUMBER),
    "time": (TIME, st.integers(0, 1 << 52)),
    "bytes": (pa.binary(), st.binary(max_size=4)),
    "texts": (pa.list_(pa.string()), st.lists(st.none() | TEXT, max_size=3)),
    "lists": (pa.list_(pa.list_(pa.int64())), st.lists(st.lists(NUMBER, max_size=3), max_size=3)),
    "struct": (PLACE, PLACES),
    "structs": (pa.list_(PLACE), st.lists(st.none() | PLACES, max_size=3)),
    "pairs": (pa.map_(pa.int64(), pa.string()), st.lists(st.tuples(NUMBER, st.none() | TEXT), max_size=3)),
    "map": (pa.map_(pa.string(), pa.float64()), st.dictionaries(TEXT, st.none() | st.floats(allow_nan=False), max_size=3)),
}


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_values_become_the_array_that_arrow_makes(name: str, data: st.DataObject) -> None:
    kind, values = KINDS[name]
    given_values = data.draw(st.lists(st.none() | values, max_size=20))
    pairs = [sorted(value.items()) if isinstance(value, dict) and name == "map" else value for value in given_values]
    made = array_of(given_values, kind)
    made.validate(full=True)
    assert made.equals(pa.array(pairs, kind))


def test_what_arrow_cannot_hold_is_null() -> None:
    assert array_of([1 << 31, 1, None], pa.int32()).to_pylist() == [None, 1, None]
    assert array_of([1 << 70, 1, None], TIME).to_pylist() == [None, datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=1), None]


def test_lone_surrogates_become_question_marks() -> None:
    assert array_of(["a\ud800", None], pa.string()).to_pylist() == ["a?", None]


@pytest.mark.parametrize("count", [0, 2])
def test_absent_columns_of_rows_are_null(count: int) -> None:
    schema = pa.schema([pa.field("name", pa.string()), pa.field("at", TIME), pa.field("places", pa.list_(PLACE))])
    batch = batch_of([{"name": "a"}] * count, schema)
    assert batch.schema == schema
    assert batch.to_pylist() == [{"name": "a", "at": None, "places": None}] * count
