"""`groupscope compare`: two periods or two clusters, counted by group and cause."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pipelines.cli.commands.compare import LONG
from tests.dashboards import golden, made
from tests.pipelines.cli import warehouses
from tests.pipelines.cli.conftest import POLL_TIMEOUT, Cli
from tests.pipelines.cli.test_screens import OBEYED

AT = ("--at", "2026-03-01T10:05")
PERIODS = ("--before", "10:00..10:03", "--after", "10:03..10:10")


@pytest.fixture(scope="session")
def two_clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    story = made.small_story()
    for row in story.rebalances[4:]:
        row.cluster = "west"
    story.inputs["log_files"][1]["cluster"] = "west"
    return warehouses.store(story, tmp_path_factory.mktemp("two") / "warehouse")


@pytest.fixture
def compared(cli: Cli, story_warehouse: Path) -> Any:
    def compare(*options: object, warehouse: Path = story_warehouse) -> Any:
        done = cli("compare", "--warehouse", warehouse, *options, "--json")
        assert done.code == 0, done.err
        answer = json.loads(done.out)
        assert [error.message for error in Draft202012Validator(json.loads(cli("schema", "compare").out)).iter_errors(answer)] == []
        return answer

    return compare


def counts(answer: Any) -> dict[tuple[str, str], tuple[int, int]]:
    return {(one["group"], one["cause"]): (one["count_before"], one["count_after"]) for one in answer["changes"]}


def test_before_and_after_a_time(compared: Any) -> None:
    answer = compared(*AT)
    assert counts(answer) == {("orders", "poll_timeout"): (3, 3), ("billing", "new_group"): (1, 0), ("billing", "member_leave"): (0, 1)}
    assert [side["name"] for side in answer["sides"]] == ["before", "after"]
    assert [side["rebalances"] for side in answer["sides"]] == [4, 4]
    assert answer["sides"][0]["ended_at"] == answer["sides"][1]["started_at"] == "2026-03-01T10:05:00.000000Z"
    assert answer["changes"][0]["cause"] == "member_leave"
    assert answer["changes"][0]["stopped_seconds_after"] == 212.0


def test_two_periods(compared: Any) -> None:
    answer = compared(*PERIODS)
    assert counts(answer)["orders", "poll_timeout"] == (2, 4)
    assert [round(side["rebalances_per_hour"], 1) for side in answer["sides"]] == [60.0, 42.9]


def test_a_period_ends_before_its_end_and_the_second_with_it(compared: Any) -> None:
    answer = compared("--before", "10:00..10:01", "--after", "10:01..10:02:40", "--group", "orders")
    assert counts(answer) == {("orders", "poll_timeout"): (0, 2)}


def test_who_is_new_and_who_is_gone(compared: Any) -> None:
    answer = compared("--before", "10:00..10:00:45", "--after", "10:01..10:10")
    assert [one["name"] for one in answer["new_offenders"]] == ["orders-worker-3", "orders-worker-1"]
    assert answer["new_offenders"][0]["causes"] == {"poll_timeout": 6}
    assert answer["gone_offenders"] == []
    turned = compared("--before", "10:01..10:10", "--after", "10:00..10:00:45")
    assert turned["gone_offenders"] == answer["new_offenders"]


def test_two_clusters(compared: Any, two_clusters: Path) -> None:
    answer = compared("--clusters", "default", "west", warehouse=two_clusters)
    assert [side["name"] for side in answer["sides"]] == ["default", "west"]
    assert [side["rebalances"] for side in answer["sides"]] == [4, 4]
    assert counts(answer)["orders", "poll_timeout"] == (4, 2)


def test_the_forms_hold_the_same(cli: Cli, story_warehouse: Path, compared: Any) -> None:
    asked = ("compare", "--warehouse", story_warehouse, *AT)
    changes = compared(*AT)["changes"]
    assert list(map(json.loads, cli(*asked, "--jsonl").out.splitlines())) == changes
    table = list(csv.DictReader(io.StringIO(cli(*asked, "--csv").out)))
    assert [tuple(row) for row in table] == [LONG] * len(changes)
    assert [row["cause"] for row in table] == [one["cause"] for one in changes]


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)], ids=str)
def test_logs_and_tables_give_one_answer(cli: Cli, sample_warehouse: Path, form: tuple[str, ...]) -> None:
    logs = cli("compare", POLL_TIMEOUT, "--at", "09:08:50", *form)
    tables = cli("compare", "--warehouse", sample_warehouse, "--at", "09:08:50", *form)
    assert logs.code == tables.code == 0
    assert logs.out == tables.out


@pytest.mark.parametrize("width", [80, 140])
def test_screens_are_as_written_down(cli: Cli, story_warehouse: Path, request: pytest.FixtureRequest, width: int) -> None:
    done = cli("compare", "--warehouse", story_warehouse, *PERIODS, columns=width)
    assert (done.code, done.err) == (0, "")
    text = "".join(line.rstrip() + "\n" for line in done.out.splitlines())
    assert max(map(len, text.splitlines())) <= width
    golden.check(f"screens/compare-{width}.txt", text, rewrite=request.config.getoption("--rewrite"))


def test_hostile_names(cli: Cli, hostile_warehouse: Path) -> None:
    done = cli("compare", "--warehouse", hostile_warehouse, "--at", "2026-03-01T10:00:01", "--limit", "0")
    assert done.code == 0
    assert OBEYED.findall(done.out) == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "say what to compare"),
        (("--before", "10:00..10:01"), "say what to compare"),
        ((*AT, "--clusters", "a", "b"), "say what to compare"),
        (("--before", "10:00", "--after", "10:01..10:02"), "expected FROM..TO"),
        (("--before", "10:02..10:01", "--after", "10:01..10:02"), "ends before it begins"),
        (("--at", "noon"), "--at 'noon' is no time"),
        (("--clusters", "default", "defualt"), "did you mean 'default'?"),
        (("--clusters", "default", "default"), "the same cluster twice"),
    ],
)
def test_what_cannot_be_compared(cli: Cli, story_warehouse: Path, options: tuple[str, ...], told: str) -> None:
    done = cli("compare", "--warehouse", story_warehouse, *options)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_no_rebalance_on_either_side(cli: Cli, story_warehouse: Path) -> None:
    done = cli("compare", "--warehouse", story_warehouse, "--before", "10:11:30..10:11:35", "--after", "10:11:35..10:11:40")
    assert "No rebalance on either side." in done.out


@pytest.mark.parametrize(
    "options",
    [
        ("--at", "2026-11-23"),
        ("--at", "2026-11-20"),
        ("--before", "2026-11-19..2026-11-20", "--after", "2026-11-21..2026-11-22"),
        ("--before", "2026-11-21..2026-11-22", "--after", "2026-11-23..2026-11-24"),
    ],
    ids=" ".join,
)
def test_a_time_without_logs_is_no_quiet_time(cli: Cli, options: tuple[str, ...]) -> None:
    done = cli("compare", POLL_TIMEOUT, *options)

    assert (done.code, done.out) == (3, "")
    assert "the logs last from 2026-11-21 09:08:30" in done.err


def test_rates_are_of_the_time_that_the_logs_cover(cli: Cli) -> None:
    periods = ("--before", "2026-11-21T08:00..2026-11-21T09:08:50", "--after", "2026-11-21T09:08:50..2026-11-21T12:00")
    by_period, by_time = (
        json.loads(cli("compare", POLL_TIMEOUT, *options, "--json").out)["sides"] for options in (periods, ("--at", "2026-11-21T09:08:50"))
    )

    assert by_period == by_time
