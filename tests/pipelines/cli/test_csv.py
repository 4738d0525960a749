"""CSV: the same rows as JSON, and no cell that a spreadsheet or a terminal would obey."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from pipelines.cli.output.json_csv import FORMULA, cell
from pipelines.schema.tables import TABLES
from tests.dashboards.hostile import CONTROL, PAYLOADS
from tests.pipelines.cli.conftest import Cli
from tests.pipelines.cli.test_screens import OBEYED

LISTINGS = ["rebalances", "offenders", "timeline", "outages"]


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("command", LISTINGS)
def test_the_rows_and_columns_are_those_of_json(cli: Cli, story_warehouse: Path, command: str) -> None:
    """Without the former names of columns, which only JSON repeats."""
    asked = (command, "--warehouse", story_warehouse)
    table, rows = rows_of(cli(*asked, "--csv").out), json.loads(cli(*asked, "--json").out)[command]
    former = TABLES["rebalances"].former_names if command == "rebalances" else {}
    rows = [{name: value for name, value in row.items() if name not in former} for row in rows]
    assert [list(row) for row in table] == [list(row) for row in rows]
    for shown, row in zip(table, rows, strict=True):
        plain = {name: value for name, value in row.items() if not isinstance(value, list | dict)}
        assert {name: shown[name] for name in plain} == {name: cell(value) for name, value in plain.items()}


def test_an_analysis_as_csv_is_its_rebalances(cli: Cli, story_warehouse: Path) -> None:
    asked = ("--warehouse", story_warehouse, "--csv")
    assert cli("analyze", *asked).out == cli("rebalances", *asked).out


def test_an_empty_answer_has_its_heading(cli: Cli, story_warehouse: Path) -> None:
    done = cli("rebalances", "--warehouse", story_warehouse, "--until", "2020-01-01", "--csv")
    assert done.out.count("\n") == 1
    assert "rebalance_id" in done.out


def test_lists_are_told_in_one_cell(cli: Cli, story_warehouse: Path) -> None:
    first = rows_of(cli("rebalances", "--warehouse", story_warehouse, "--group", "orders", "--csv").out)[0]
    assert first["offenders"] == "orders-worker-3 on 10.0.0.7"
    assert first["alternatives"] == "member_leave=0.05"
    assert first["evidence"].startswith("broker-2/server.log:120; broker-2/server.log:121")


@pytest.mark.parametrize("command", [*LISTINGS, "analyze"])
def test_no_cell_is_a_formula_and_no_byte_a_command(cli: Cli, hostile_warehouse: Path, command: str) -> None:
    done = cli(command, "--warehouse", hostile_warehouse, "--csv")
    assert done.code == 0
    assert OBEYED.findall(done.out) == []
    for row in rows_of(done.out):
        for name, value in row.items():
            assert not value.startswith(FORMULA) or name.endswith("_seconds"), (name, value)


@pytest.mark.parametrize("text", [*PAYLOADS, *CONTROL, "=1+1", "\t=1+1", "\r=1+1", " =1+1", "-1+1", "@SUM(1)", "\uff1d1"])
def test_texts(text: str) -> None:
    shown = cell(text)
    assert not shown.lstrip().startswith(FORMULA)
    assert OBEYED.findall(shown) == []


@pytest.mark.parametrize(("value", "shown"), [(None, ""), (True, "true"), (-0.5, "-0.5"), (7, "7"), ([], ""), ({"a": 1}, "a=1")])
def test_values(value: object, shown: str) -> None:
    assert cell(value) == shown
