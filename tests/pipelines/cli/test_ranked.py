"""What SQL says of the rebalances of a warehouse is what is said of the same rows one by one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from conf.causes import causes
from dashboards.answer import rebalance_items
from dashboards.answer.build import build_answer
from dashboards.wording.units import Clock
from models.downtime import COOPERATIVE_PROTOCOLS, stopped_seconds
from models.rows import GroupTransition, Person, Rebalance
from pipelines.cli.answers import sql_ranking as ranked
from pipelines.cli.answers.rebalance_lookup import find_rebalance
from pipelines.cli.answers.selection import Selection, groups_of, last_record_at
from pipelines.errors import UsageError
from pipelines.warehouse.warehouse_reader import WarehouseReader
from tests.dashboards.made import Made, at, incident, log_file, rebalance, transitions
from tests.pipelines.cli.warehouses import store

CLOCK = Clock()
NAMES = ("a", "b", "it's", None, "")
HOSTS = ("/10.0.0.1", "10.0.0.1", "/", "//x", "", None)
SECONDS = (0.0, 0.25, 3.0, 3.0, 7.123457, None)
GROUPS = ("orders", "billing", "o'hara", "Ünïcode", "")


def drawn(seed: int) -> Made:
    """Rebalances, states and incidents with every kind of hole that rows may have."""
    chance = random.Random(seed)  # noqa: S311 - the same rows each time
    known = sorted(causes())

    def person() -> Person:
        return Person(*(chance.choice(NAMES) for _ in range(3)), chance.choice(HOSTS), "", False)

    def row(number: int) -> Rebalance:
        system, cause = chance.choice([*known, ("kafka", "of a newer version")])
        start = chance.choice([at(chance.randrange(500)), None])
        return rebalance(
            chance.choice(GROUPS),
            number,
            0,
            system=system,
            cluster=chance.choice(["east", "west"]),
            rebalance_id=f"{chance.randrange(16):x}{number:05x}",
            protocol=chance.choice(["classic", "consumer", "share", "streams"]),
            assignor=chance.choice([None, "range", "cooperative-sticky", "", *sorted(COOPERATIVE_PROTOCOLS)]),
            outcome=chance.choice(["stable", "empty", "open"]),
            cause=cause,
            root_cause=chance.choice([None, chance.choice(known)[1]]),
            started_at=start,
            ended_at=chance.choice([None, at(chance.randrange(500, 900))]),
            joined_at=None,
            duration_seconds=chance.choice(SECONDS),
            at_least_seconds=chance.choice(SECONDS),
            initial_delay_seconds=chance.choice([None, 0.0, 3.0]),
            pause_seconds=chance.choice([None, None, None, 0.0, 5.5]),
            offenders=[person() for _ in range(chance.randrange(3))],
            blockers=[person() for _ in range(chance.randrange(3))],
        )

    rows = [row(number) for number in range(300)]
    worst = [incident(group, "warning", rows[:2], group, incident_id=group) for group in GROUPS]
    states: list[GroupTransition] = []
    for number, group in enumerate(GROUPS):
        states += transitions(group, *((chance.randrange(900), "Stable") for _ in range(number)))
    return Made(
        inputs={"log_files": [log_file("server.log", last_at=at(10))], "totals": {}}, rebalances=rows, incidents=worst, timeline=states
    )


@pytest.fixture(scope="module", params=range(3))
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Made, Any]:
    story = drawn(request.param)
    return story, WarehouseReader(str(store(story, tmp_path_factory.mktemp("warehouse"))))


@pytest.mark.parametrize("limit", [1, 20, 299, 300, 1000, None])
def test_the_longest(both: tuple[Made, Any], limit: int | None) -> None:
    rows, tables = both
    assert ranked.longest(tables.rebalances, limit) == ranked.longest(rows.rebalances, limit)


def test_downtime_on_the_page_is_that_of_the_models(both: tuple[Made, Any]) -> None:
    rows, _ = both
    measured = [row for row in rows.rebalances if row.pause_seconds is None]
    assert [rebalance_items.rebalance(row).stopped_seconds for row in measured] == [stopped_seconds(row) for row in measured]


@pytest.mark.parametrize("ranked_by", ["client", "member", "instance", "host"])
def test_offenders(both: tuple[Made, Any], ranked_by: str) -> None:
    rows, tables = both
    expected = ranked.offenders(rows.rebalances, ranked_by)
    assert len(expected) > 10
    assert ranked.offenders(tables.rebalances, ranked_by) == expected


@pytest.mark.parametrize("limit", [1, 3, 100, None])
def test_lanes(both: tuple[Made, Any], limit: int | None) -> None:
    rows, tables = both
    assert ranked.first_lanes(tables.timeline, limit) == ranked.first_lanes(rows.timeline, limit)


SPANS = [(at(100), None), (None, at(600)), (at(100), at(600)), (at(2000), None)]
PARTS = [(groups, *span) for groups in ([], ["o'hara"], ["orders", "Ünïcode"]) for span in [*SPANS, *([(None, None)] if groups else [])]]


@pytest.mark.parametrize(("groups", "since", "until"), PARTS)
def test_parts(both: tuple[Made, Any], groups: list[str], since: int | None, until: int | None) -> None:
    rows, tables = (Selection(each, groups, since, until) for each in both)
    for key, name in (("rebalances", "rebalance_id"), ("incidents", "incident_id"), ("timeline", "transition_id")):
        told = [[getattr(row, name) for row in getattr(each, key)] for each in (rows, tables)]
        assert sorted(told[0]) == sorted(told[1]), key
    assert ranked.longest(tables.rebalances, 7) == ranked.longest(rows.rebalances, 7)
    assert ranked.offenders(tables.rebalances) == ranked.offenders(rows.rebalances)


def test_what_is_there(both: tuple[Made, Any]) -> None:
    rows, tables = both
    assert groups_of(tables.rebalances) == groups_of(rows.rebalances)
    assert last_record_at(tables) == last_record_at(rows)


def test_one_by_its_name(both: tuple[Made, Any]) -> None:
    rows, tables = both
    names = [rows.rebalances[7].rebalance_id, "o'hara/12", "orders@10:05", "o'hara", "nothing' or '1'='1", "orders/9999"]
    for name in names:
        told = []
        for each in (rows, tables):
            try:
                told.append(find_rebalance(each, name, CLOCK).rebalance_id)
            except UsageError as error:
                told.append(str(error))
        assert told[0] == told[1]


def test_a_warehouse_without_the_table(tmp_path: Path) -> None:
    warehouse: Any = WarehouseReader(str(store(Made(inputs={"log_files": [], "totals": {}}), tmp_path)))
    warehouse.versions.clear()
    assert ranked.longest(warehouse.rebalances, 5) == ([], 0)
    assert ranked.offenders(warehouse.rebalances) == []
    assert ranked.first_lanes(warehouse.timeline, 5) == ([], 0)


@pytest.mark.parametrize("groups", [[], ["orders", "o'hara"]])
@pytest.mark.parametrize(("kept_max", "incidents_max"), [(1, 2), (30, None), (None, 3)])
def test_the_whole_answer(both: tuple[Made, Any], groups: list[str], kept_max: int | None, incidents_max: int | None) -> None:
    rows, tables = (Selection(each, groups, None, None) for each in both)
    given: Any = {"kept_max": kept_max, "incidents_max": incidents_max, "with_lanes": False}
    rows.rebalances = sorted(
        rows.rebalances, key=lambda row: (row.started_at is None, row.started_at, row.rebalance_id)
    )  # as tables are read
    expected = build_answer(rows, **given)
    assert build_answer(tables, **given, worst=ranked.worst_incidents, tallied=ranked.rebalance_totals) == expected
