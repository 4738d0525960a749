"""`groupscope sql`: a SELECT sees the rows of the answer, and nothing else of the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaProtocolError

from tests.pipelines.cli.conftest import POLL_TIMEOUT, Cli
from tests.pipelines.cli.test_screens import OBEYED

BY_CAUSE = 'select "group", cause, count(*) as n, sum(duration_seconds) as seconds from rebalances group by all order by n desc, cause'


def rows(text: str) -> Any:
    return json.loads(text)["rows"]


def test_sums_by_cause(cli: Cli, story_warehouse: Path) -> None:
    found = rows(cli("sql", BY_CAUSE, "--warehouse", story_warehouse, "--json").out)
    assert found == [
        {"group": "orders", "cause": "poll_timeout", "n": 6, "seconds": 231.0},
        {"group": "billing", "cause": "member_leave", "n": 1, "seconds": None},
        {"group": "billing", "cause": "new_group", "n": 1, "seconds": 3.1},
    ]


@pytest.mark.parametrize("form", [(), ("--json",), ("--jsonl",), ("--csv",)], ids=str)
def test_logs_and_tables_give_one_answer(cli: Cli, sample_warehouse: Path, form: tuple[str, ...]) -> None:
    for query in (
        BY_CAUSE,
        "select * from rebalances order by rebalance_id",
        "select * from log_files order by path",
        "select incident_id, worst_offender.client_id as worst from incidents",
        "select r.cause, i.kind from rebalances r join incidents i on list_contains(i.rebalance_ids, r.rebalance_id) order by all",
        "with t as (select to_state, count(*) as n from group_transitions group by 1) select * from t order by 1",
    ):
        logs = cli("sql", query, POLL_TIMEOUT, *form)
        tables = cli("sql", query, "--warehouse", sample_warehouse, *form)
        assert (logs.code, logs.err) == (tables.code, tables.err) == (0, "")
        assert logs.out == tables.out


@pytest.mark.parametrize(
    "condition",
    [
        "cause = 'poll_timeout'",
        "cause in ('poll_timeout', 'member_leave') and system <> 'rocketmq'",
        "cause like 'poll%' or cause is null",
        "duration_seconds > 20.5",
        "duration_seconds is null",
        "started_at >= timestamptz '2020-01-01 00:00:00+02' and started_at < now()",
        "generation_before between 2 and 4",
        "evidence[1].line > 1",
        "len(offenders) > 0 and confidence >= 0.5",
    ],
)
def test_conditions_that_reach_the_files_choose_the_same_rows(cli: Cli, sample_warehouse: Path, condition: str) -> None:
    query = f"select rebalance_id, cause, duration_seconds, started_at from rebalances where {condition} order by all"
    logs, tables = cli("sql", query, POLL_TIMEOUT, "--json"), cli("sql", query, "--warehouse", sample_warehouse, "--json")
    assert (logs.code, logs.err) == (tables.code, tables.err) == (0, "")
    assert logs.out == tables.out


def test_tables_that_arrow_cannot_read_are_read_by_delta_rs(cli: Cli, story_warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those whose owner has turned on deletion vectors."""
    asked = ("sql", BY_CAUSE, "--warehouse", story_warehouse)
    before = cli(*asked).out

    def refuse(*_: object, **__: object) -> None:
        raise DeltaProtocolError("deletionVectors are not supported")

    monkeypatch.setattr(DeltaTable, "to_pyarrow_dataset", refuse)
    assert cli(*asked).out == before


def test_the_forms_hold_the_same(cli: Cli, story_warehouse: Path) -> None:
    asked = ("sql", BY_CAUSE, "--warehouse", story_warehouse)
    found = rows(cli(*asked, "--json").out)
    assert [json.loads(line) for line in cli(*asked, "--jsonl").out.splitlines()] == found
    assert cli(*asked, "--csv").out.splitlines()[:2] == ["group,cause,n,seconds", "orders,poll_timeout,6,231.0"]


def test_values_as_json_has_them(cli: Cli, story_warehouse: Path) -> None:
    query = """select 170141183460469231731687303715884105727 as huge, 1.50::decimal(9, 2) as exact, 'nan'::double as none,
        interval 90 second as span, date '2026-03-01' as day, timestamptz '2026-03-01 10:00:00+01' as at, map {'a': 1} as pairs,
        map {} as no_pairs, {'x': [1, 2]} as nested, 'ab'::blob as bytes, null as nothing, true as yes"""
    (row,) = rows(cli("sql", query, "--warehouse", story_warehouse, "--json").out)
    assert row["exact"] == 1.5
    assert row["none"] is row["nothing"] is None
    assert (row["day"], row["span"]) == ("2026-03-01", "90 s")
    assert row["at"] == "2026-03-01T09:00:00.000000Z"
    assert (row["pairs"], row["no_pairs"], row["nested"]) == ({"a": 1}, {}, {"x": [1, 2]})
    assert (row["bytes"], row["yes"]) == ("6162", True)
    assert str(row["huge"]).startswith("1701411834604692") or row["huge"] > 1e38


def test_people_see_their_zone(cli: Cli, story_warehouse: Path) -> None:
    query = "select min(started_at) as start, date_trunc('day', min(started_at)) as day from rebalances"
    shown = cli("sql", query, "--warehouse", story_warehouse, "--tz", "Asia/Kolkata").out
    assert "2026-03-01 15:30:30.000" in shown
    assert "2026-03-01 00:00:00.000" in shown


def test_rows_too_wide_for_a_table_stand_one_below_the_other(cli: Cli, story_warehouse: Path) -> None:
    done = cli("sql", "select * from rebalances order by started_at limit 2", "--warehouse", story_warehouse, columns=80)
    lines = [line.split() for line in done.out.splitlines()]
    assert [line[1] for line in lines if line and line[0] == "cause"] == ["new_group", "poll_timeout"]
    assert max(len(line.rstrip()) for line in done.out.splitlines()) <= 80


def test_a_limit_for_people_only(cli: Cli, story_warehouse: Path) -> None:
    asked = ("sql", "select rebalance_id from rebalances", "--warehouse", story_warehouse, "--limit", 3)
    assert "3 of 8 rows; --limit 0 shows all" in cli(*asked).out
    assert len(rows(cli(*asked, "--json").out)) == 8


def test_what_there_is(cli: Cli, story_warehouse: Path) -> None:
    found = {row["name"] for row in rows(cli("sql", "show tables", "--warehouse", story_warehouse, "--json").out)}
    assert {"rebalances", "incidents", "member_sessions", "partition_outages", "log_files"} <= found
    assert "worst_offender" in cli("sql", "describe incidents", "--warehouse", story_warehouse).out


REFUSED = [
    ("delete from rebalances", "only one SELECT"),
    ("create table x as select 1", "only one SELECT"),
    ("select 1; select 2", "only one SELECT"),
    ("set threads = 1", "only one SELECT"),
    ("attach 'x.db'", "only one SELECT"),
    ("copy rebalances to 'x.csv'", "only one SELECT"),
    ("install httpfs", "only one SELECT"),
    ("call pragma_version()", "only one SELECT"),
    ("", "only one SELECT"),
    ("select * from read_csv('README.md')", "disabled by configuration"),
    ("select * from read_text('/etc/hostname')", "disabled by configuration"),
    ("select * from glob('*')", "disabled by configuration"),
    ("select * from 'README.md'", "does not exist"),
    ("select * from source", "does not exist"),
    ("select getenv('HOME')", "does not exist"),
    ("select * from rebalance", 'Did you mean "rebalances"'),
    ("select 1 as a, 2 as a", "more than one column 'a'"),
    ("selec 1", "syntax error"),
]


@pytest.mark.parametrize(("query", "told"), REFUSED)
def test_refused(cli: Cli, story_warehouse: Path, query: str, told: str) -> None:
    done = cli("sql", query, "--warehouse", story_warehouse)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert done.err.count("\n") == 1


def test_what_only_a_warehouse_keeps(cli: Cli) -> None:
    assert "kept in a warehouse only" in cli("sql", "select * from events", POLL_TIMEOUT).err


def test_what_only_a_warehouse_keeps_is_not_narrowed_down(cli: Cli, story_warehouse: Path) -> None:
    done = cli("sql", "select * from events", "--warehouse", story_warehouse, "--group", "orders")
    assert (done.code, done.out) == (2, "")
    assert "events can't be narrowed down by options: leave out --group" in done.err


@pytest.mark.parametrize("form", [(), ("--csv",)], ids=str)
def test_hostile_rows(cli: Cli, hostile_warehouse: Path, form: tuple[str, ...]) -> None:
    done = cli("sql", 'select "group", offenders, trigger_text, evidence from rebalances', "--warehouse", hostile_warehouse, *form)
    assert done.code == 0
    assert OBEYED.findall(done.out) == []


def test_hostile_names_of_columns(cli: Cli, story_warehouse: Path) -> None:
    for form in ((), ("--csv",)):
        done = cli("sql", 'select 1 as "\x1b[31mred", 2 as "=1+1"', "--warehouse", story_warehouse, *form)
        assert done.code == 0
        assert OBEYED.findall(done.out) == []
