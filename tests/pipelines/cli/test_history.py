"""Groups over time: profiles, trends, deployments, and who was waited for."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.pipelines.cli.conftest import POLL_TIMEOUT, Cli

RESTART = "data_samples/kafka/2.8.2"
LISTINGS = [
    (("offenders", "--blockers"), "offenders/blockers", "blockers"),
    (("groups", "--budget", "10m"), "groups", "groups"),
    (("trend", "--period", "hour"), "trend", "trend"),
    (("deploys",), "deploys", "deploys"),
]


@pytest.mark.parametrize(("words", "schema", "key"), LISTINGS, ids=[schema for _, schema, _ in LISTINGS])
def test_the_answer_is_as_its_schema_says(cli: Cli, words: tuple[str, ...], schema: str, key: str, sample_warehouse: Path) -> None:
    validator = Draft202012Validator(json.loads(cli("schema", schema).out))
    from_logs = json.loads(cli(*words, POLL_TIMEOUT, "--json").out)
    validator.validate(from_logs)
    assert json.loads(cli(*words, "--warehouse", sample_warehouse, "--json").out) == from_logs
    table = list(csv.DictReader(io.StringIO(cli(*words, POLL_TIMEOUT, "--csv").out, newline="")))
    assert len(table) == len(from_logs[key])
    assert [json.loads(line) for line in cli(*words, POLL_TIMEOUT, "--jsonl").out.splitlines()] == from_logs[key]


def listed(cli: Cli, key: str, *words: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(cli(*words, "--json").out)[key]
    return found


def test_a_deployment_has_its_cost(cli: Cli) -> None:
    [found] = listed(cli, "deploys", "deploys", RESTART)
    assert found["group"] == "email-sender-h"
    assert found["restarted"] == ["email-sender-worker-1", "email-sender-worker-2", "email-sender-worker-3"]
    assert found["rebalances"] == 10
    assert 0 < found["stopped_seconds"] < found["member_seconds_stopped"]
    assert "email-sender-h" in cli("deploys", RESTART).out


READY = [
    ("data_samples/kafka/1.1.1/poll-timeout", "shipping-e", "blocked", "clients of 2.0.1; 4.0 or later is needed"),
    ("data_samples/kafka/4.1.1", "inventory-n1", "migrated", None),
]


@pytest.mark.parametrize(("path", "group", "status", "reason"), READY)
def test_readiness_names_what_is_in_the_way(cli: Cli, path: str, group: str, status: str, reason: str | None) -> None:
    [found] = [row for row in listed(cli, "groups", "groups", path) if row["group"] == group]
    assert found["migration"]["status"] == status
    assert reason is None or reason in found["migration"]["reasons"]


def test_a_budget_counts_what_was_used_and_no_more(cli: Cli) -> None:
    """Half a minute of logs says nothing about a week."""
    [found] = listed(cli, "groups", "groups", POLL_TIMEOUT, "--budget", "1s")
    assert found["stopped_seconds_per_week"] is None
    assert found["budget_used"] == pytest.approx(found["stopped_seconds"])
    [own] = listed(cli, "groups", "groups", POLL_TIMEOUT, "--budget", "1s", "--budget", "ship*=2s", "--budget", "other=9s")
    assert own["budget_seconds"] == 2.0
    assert own["budget_used"] == pytest.approx(found["budget_used"] / 2, abs=1e-5)
    assert cli("groups", POLL_TIMEOUT, "--budget", "soon").code == 2


def test_releases_cut_the_periods(cli: Cli) -> None:
    [found] = listed(cli, "trend", "trend", POLL_TIMEOUT, "--release", "2026-11-21T09:08:50")
    assert [row["rebalances"] for row in found["periods"]] == [2, 2]
    assert "stability" in cli("trend", POLL_TIMEOUT).out


def test_whom_a_group_waited_for(cli: Cli) -> None:
    found = listed(cli, "blockers", "offenders", "data_samples/kafka", "--blockers")
    assert found == sorted(found, key=lambda row: -row["held_up_seconds"])
    assert all(0 < row["held_up_seconds"] <= row["rebalances_held_up"] * row["longest_seconds"] + 1e-6 for row in found)
    assert "No member is known" in cli("offenders", POLL_TIMEOUT, "--blockers", "--cause", "member_join").out


@pytest.mark.parametrize(("period", "is_scored"), [("hour", True), ("day", True)])
def test_a_score_is_told_with_what_made_it_up(cli: Cli, period: str, is_scored: bool) -> None:
    (trend,) = json.loads(cli("trend", POLL_TIMEOUT, "--period", period, "--json").out)["trend"]
    parts = trend["score_parts"]
    assert (parts is not None) == is_scored
    assert trend["score"] == round(100 * parts["stopped_factor"] * parts["unexpected_factor"])
    told = " ".join(cli("trend", POLL_TIMEOUT, "--period", period).out.split())
    assert f"100, times {parts['stopped_factor']:.2f} for standing still for" in told
    assert f"times {parts['unexpected_factor']:.2f} for {parts['unexpected']} unexpected rebalance" in told
