"""Selection of joint expiries, against one that looks at each second."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.kafka.cluster.expiry_bursts import BURST_US, GROUPS_MIN
from parsers.arrow_arrays import batch_of
from parsers.schema import TIME
from pipelines.analysis.joint_expiries import joint

SCHEMA = pa.schema([pa.field("file", pa.string()), pa.field("group", pa.string()), pa.field("at", TIME)])
Expiry = tuple[str, str | None, int | None]
FAR_US = 250_000_000_000_000_000
"""The year 9892: a wrong clock in a log."""
TIMES = st.none() | st.integers(0, 6 * BURST_US) | st.integers(-BURST_US, 0) | st.just(FAR_US)
EXPIRIES = st.lists(st.tuples(st.sampled_from("ab"), st.none() | st.sampled_from("pqrst"), TIMES), max_size=30)


def batch(expiries: list[Expiry]) -> pa.RecordBatch:
    return batch_of([dict(zip(SCHEMA.names, expiry, strict=True)) for expiry in expiries], SCHEMA)


def expected(expiries: list[Expiry]) -> list[bool]:
    groups: dict[tuple[str, int], set[str]] = defaultdict(set)
    for file, group, at in expiries:
        if group is not None and at is not None:
            groups[file, at // BURST_US].add(group)
    starts = {(file, second) for file, second in groups if len(groups[file, second] | groups.get((file, second + 1), set())) >= GROUPS_MIN}

    def is_joint(file: str, group: str | None, at: int | None) -> bool:
        return group is not None and at is not None and not starts.isdisjoint({(file, at // BURST_US), (file, at // BURST_US - 1)})

    return [is_joint(*expiry) for expiry in expiries]


@given(EXPIRIES)
def test_expiries_of_several_groups_within_two_seconds_are_joint(expiries: list[Expiry]) -> None:
    rows = batch(expiries)
    assert joint(rows).to_pylist() == expected(expiries)
    assert joint(pa.Table.from_batches([rows.slice(0, 3), rows.slice(3)])).to_pylist() == expected(expiries)


@pytest.mark.parametrize("second_us", [0, BURST_US, 2 * BURST_US])
def test_the_last_of_three_groups_may_come_a_second_later(second_us: int) -> None:
    expiries: list[Expiry] = [("a", "p", 0), ("a", "q", 0), ("a", "r", second_us)]
    assert joint(batch(expiries)).to_pylist() == [second_us < 2 * BURST_US] * 3
