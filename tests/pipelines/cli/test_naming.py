"""How a rebalance is named, and what is said where the name fits none or several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.pipelines.cli.conftest import Cli

GENERATION_41 = "orders/41"


@pytest.fixture
def explained(cli: Cli, story_warehouse: Path) -> Any:
    def explain(name: str, *options: object) -> Any:
        done = cli("explain", name, "--warehouse", story_warehouse, "--json", *options)
        assert done.code == 0, done.err
        return json.loads(done.out)["rebalance"]

    return explain


def test_by_generation_that_it_made(explained: Any) -> None:
    assert explained(GENERATION_41)["generation_after"] == 41


def test_by_generation_that_it_left_where_none_made_it(explained: Any) -> None:
    assert explained("orders/40")["generation_before"] == 40


def test_by_id_and_its_beginning(cli: Cli, sample_warehouse: Path) -> None:
    def identity(name: str) -> str:
        answer = json.loads(cli("explain", name, "--warehouse", sample_warehouse, "--json").out)
        return str(answer["rebalance"]["rebalance_id"])

    whole = identity("shipping-e/2")
    assert identity(whole) == identity(whole[:6]) == whole


@pytest.mark.parametrize(
    ("name", "options", "generation"),
    [
        ("orders@2026-03-01T10:02:45", (), 42),
        ("orders@2026-03-01 10:02:45,500", (), 42),
        ("orders@2026-03-01T12:02:45+02:00", (), 42),
        ("orders@2026-03-01T11:02:45", ("--tz", "Europe/Berlin"), 42),
        ("orders@10:02:45", (), 42),
        ("orders@10:00", (), 41),
    ],
)
def test_by_time(explained: Any, name: str, options: tuple[str, ...], generation: int) -> None:
    assert explained(name, *options)["generation_after"] == generation


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ordres/41", "did you mean 'orders'?"),
        ("billing/7", "no rebalance of 'billing' made generation 7; the logs have generations 1 to 1"),
        ("ordrs", "the nearest group is 'orders'"),
        ("orders@2026-03-02T10:00", "the nearest is 23 h"),
        ("orders@noon", "is no time; examples are"),
        ("zzz", "give the id of a rebalance or an incident (or its first 4 characters or more), GROUP, GROUP/GENERATION or GROUP@TIME"),
    ],
)
def test_a_name_that_fits_none_says_what_there_is(cli: Cli, story_warehouse: Path, name: str, told: str) -> None:
    done = cli("explain", name, "--warehouse", story_warehouse)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_a_name_that_fits_several_lists_them(cli: Cli, story_warehouse: Path, explained: Any) -> None:
    prefix = explained(GENERATION_41)["rebalance_id"][:8]
    done = cli("explain", prefix, "--warehouse", story_warehouse)
    assert done.code == 2
    assert done.err.startswith(f"error: '{prefix}' may mean 6 rebalances; name one by its id:\n")
    assert done.err.count("\n") == 7


def test_a_group_lists_its_rebalances(cli: Cli, story_warehouse: Path) -> None:
    told = cli("explain", "orders", "--warehouse", story_warehouse, "--json")
    rows = json.loads(told.out)["rebalances"]
    assert told.code == 0
    assert {row["group"] for row in rows} == {"orders"}
    assert [row["started_at"] for row in rows] == sorted(row["started_at"] for row in rows)
    shown = cli("explain", "orders", "--warehouse", story_warehouse).out
    assert all(row["rebalance_id"][:10] in shown for row in rows)
