"""The first lines of an answer, which a run prints, too."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from dashboards.answer.build import build_answer
from dashboards.wording.units import Clock
from pipelines.cli.output import screens
from tests.dashboards import made


@pytest.mark.parametrize(("incidents_max", "says_problems"), [(None, True), (1, False)])
def test_problems_are_counted_only_where_all_incidents_are_known(incidents_max: int | None, says_problems: bool) -> None:
    rows = [made.rebalance("orders", number, 200.0 * number) for number in range(3)]
    incidents = [made.incident("orders", "warning", [row], "orders: it rebalanced", incident_id=f"i{row.rebalance_id}") for row in rows]
    answer = build_answer(made.Made(rebalances=rows, incidents=incidents), incidents_max=incidents_max)
    shown = io.StringIO()
    screens.summary(Console(file=shown, width=200), answer, Clock("UTC"))

    assert "3 of 3 incidents need attention" in shown.getvalue()
    assert ("1 problem in all" in shown.getvalue()) == says_problems
