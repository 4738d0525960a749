"""The same question has the same answer from logs and from the tables that hold what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import spread
from tests.pipelines.cli.conftest import POLL_TIMEOUT, Cli

QUESTIONS = [
    ("analyze",),
    ("analyze", "-v"),
    ("analyze", "--group", "shipping-e", "--limit", "1"),
    ("analyze", "--since", "10s"),
    ("rebalances",),
    ("rebalances", "--limit", "2"),
    ("rebalances", "--since", "09:08:40", "--until", "09:08:50"),
    ("rebalances", "--group", "shipping-e"),
    ("timeline", "--group", "shipping-e", "--since", "09:08:40"),
    ("offenders", "--group", "shipping-e", "--until", "09:08:50"),
    ("offenders",),
    ("timeline",),
    ("timeline", "--tz", "Asia/Kolkata"),
    ("outages",),
    ("compare", "--at", "09:08:45"),
    ("compare", "--before", "09:08:30..09:08:45", "--after", "09:08:45..09:08:50"),
    ("explain", "shipping-e/2"),
    ("explain", "shipping-e@09:08:47"),
    ("explain", "shipping-e/2", "--proof"),
]
LISTS = [("rebalances",), ("offenders",), ("timeline",), ("outages",), ("analyze",)]


@pytest.mark.parametrize("width", spread([60, 80, 140], 2))
@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_screens(cli: Cli, sample_warehouse: Path, question: tuple[str, ...], width: int) -> None:
    logs = cli(*question, POLL_TIMEOUT, columns=width)
    tables = cli(*question, "--warehouse", sample_warehouse, columns=width)
    assert logs.code == tables.code == 0
    assert logs.out == tables.out


def test_a_group_that_is_not_there(cli: Cli, sample_warehouse: Path) -> None:
    question = ("rebalances", "--group", "shipping-e", "--group", "it's none")
    logs, tables = cli(*question, POLL_TIMEOUT), cli(*question, "--warehouse", sample_warehouse)
    assert logs.code == tables.code == 2
    assert logs.err == tables.err
    assert "it's none" in logs.err


@pytest.mark.parametrize("question", LISTS, ids=" ".join)
def test_json(cli: Cli, sample_warehouse: Path, question: tuple[str, ...]) -> None:
    logs = json.loads(cli(*question, POLL_TIMEOUT, "--json").out)
    tables = json.loads(cli(*question, "--warehouse", sample_warehouse, "--json").out)
    assert _sorted(logs) == _sorted(tables)


def _sorted(value: Any) -> Any:
    """Lists of rows have no order of their own."""
    if isinstance(value, dict):
        return {key: _sorted(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((_sorted(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value
