"""What is known of rebalances after a replay, for the rules of rows that name them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pipelines.jobs.replay import replayed_rows
from pipelines.jobs.replay.replayed_rows import ReplayedRows
from pipelines.jobs.replay.table_rows import TableRows
from pipelines.warehouse.rows.predicates import RowScope, among

STORED = pa.table({"rebalance_id": ["stored 1", "stored 2", "gone"], "cluster": ["c"] * 3})


def replayed(members: list[str], incidents: list[list[str]]) -> ReplayedRows:
    """Two rebalances, replayed in place of a stored one, beside rows that name some."""

    def as_either(_: str, scope: RowScope, columns: tuple[str, ...]) -> pa.Table:
        return STORED.filter(scope.arrow).select(columns)

    warehouse: Any = SimpleNamespace(
        spark=None, versions=SimpleNamespace(is_known_empty=lambda _: False), rows=SimpleNamespace(as_either=as_either)
    )
    rows = ReplayedRows(warehouse, ["c"])
    rows.add("rebalances", TableRows(2, pa.table({"rebalance_id": ["new 1", "new 2"]})), among("rebalance_id", ["gone"]))
    rows.add("rebalance_members", TableRows(len(members), pa.table({"rebalance_id": pa.array(members, pa.string())})), among("cluster", []))
    lists = pa.table({"rebalance_ids": pa.array(incidents, pa.list_(pa.string()))})
    rows.add("incidents", TableRows(len(incidents), lists), among("cluster", []))
    return rows


def known(rows: ReplayedRows) -> list[str]:
    table = rows.known_rebalances()
    assert isinstance(table, pa.Table)
    return sorted(pc.unique(table["rebalance_id"].combine_chunks()).to_pylist())


def test_replayed_rebalances_are_known_and_stored_ones_that_are_named() -> None:
    assert known(replayed(["new 1", "stored 1"], [["new 2", "gone"]])) == ["new 1", "new 2", "stored 1"]


def test_replayed_rebalances_are_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many they are: were all stored ones read instead, the gate would have to ask Spark."""
    monkeypatch.setattr(replayed_rows, "NAMES_MAX", 1)
    assert known(replayed(["new 1", "new 2", "stored 1"], [["new 1", "new 2", "stored 1"]])) == ["new 1", "new 2", "stored 1"]
    assert known(replayed(["stored 1", "stored 2"], [])) == ["new 1", "new 2", "stored 1", "stored 2"]


def test_many_stored_ones_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayed_rows, "NAMES_MAX", 0)
    assert known(replayed(["stored 1"], [])) == ["new 1", "new 2", "stored 1", "stored 2"]
