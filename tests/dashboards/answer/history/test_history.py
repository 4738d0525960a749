"""Waiting, periods, change points, stability and deployments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dashboards.answer.history.blocker_ranking import blockers
from dashboards.answer.history.change_points import change_points
from dashboards.answer.history.group_profiles import Files, profiles
from dashboards.answer.history.periods import between, cover_of, covered_seconds, periods
from dashboards.answer.history.trends import score_parts, stability, trends
from dashboards.answer.rebalance_items import rebalance
from dashboards.wording.units import Clock
from tests.dashboards import made

S = made.SECOND


def test_blockers_of_the_story_have_their_seconds() -> None:
    items = [rebalance(row) for row in made.small_story().rebalances]
    found = blockers(items)
    waited = [item for item in items if item.blockers]
    assert {one.name for one in found} == {person.name for item in waited for person in item.blockers}
    assert all(one.longest_seconds <= one.seconds for one in found), "a wait for several is booked once"
    assert sum(one.seconds for one in found) <= sum(item.held_up_seconds for item in waited) + 1e-6
    assert sum(one.group_share for one in found) == pytest.approx(len({one.group for one in found}), abs=1e-5)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_longest_wait_for_one_of_several_is_its_share(count: int) -> None:
    item = next(item for row in made.small_story().rebalances if (item := rebalance(row)).blockers and item.held_up_seconds)
    names = [replace(item.blockers[0], client_id=f"c-{number}", member_id=f"c-{number}#1", name=f"c-{number}") for number in range(count)]
    found = blockers([replace(item, blockers=tuple(names))])
    assert [one.longest_seconds for one in found] == [pytest.approx(one.seconds, abs=1e-5) for one in found]


def test_a_group_tells_how_many_of_its_clients_run_a_version() -> None:
    def session(client: str, seen_at: int, version: str | None) -> dict[str, object]:
        named = {"cluster": "c", "system": "kafka", "group": "orders", "member_id": f"{client}-{seen_at}", "client_id": client}
        return {**named, "instance_id": None, "first_seen_at": seen_at, "client_version": version}

    seen = [("a", 1, "2.0.1"), ("a", 9, "3.9.1"), ("b", 2, "2.0.1"), ("c", 3, None), ("d", 4, "2.0.1")]
    sessions = [session(*each) for each in seen]
    found = profiles([], sessions, [], Files({}, {}), {})
    assert [(one.clients, one.clients_by_version) for one in found] == [(4, {"2.0.1": 2, "3.9.1": 1})]


SERIES = [
    ([1.0] * 20, []),
    ([0.0] * 12 + [9.0] * 12, [12]),
    ([0.0] * 12 + [9.0] * 12 + [0.0] * 12, [12, 24]),
    ([1.0, 2.0, 9.0, 8.0], []),  # too short for any significance
    ([0.0] * 10 + [500.0] + [0.0] * 10, []),  # one outlier is no change of level
]


@pytest.mark.parametrize(("values", "places"), SERIES)
def test_changes_of_level_are_found(values: list[float], places: list[int]) -> None:
    assert [point.place for point in change_points(values)] == places


def test_chance_is_no_change() -> None:
    """At a level of 5 %, about 5 of 100 series without a change may show one."""
    alarms = sum(bool(change_points(list(np.random.default_rng(seed).exponential(size=24)))) for seed in range(100))
    assert alarms <= 12


SCORES = [
    ((0.0, 0, 3600.0), 100),
    ((36.0, 0, 3600.0), 50),
    ((0.0, 1, 3600.0), 50),
    ((36.0, 1, 3600.0), 25),
    ((3600.0, 0, 3600.0), 1),
    ((3.0, 1, 30.0), 46),  # half a minute of logs is no rate
    ((0.0, 0, 0.0), None),
]


@pytest.mark.parametrize(("values", "score"), SCORES)
def test_the_score_is_as_documented(values: tuple[float, int, float], score: int | None) -> None:
    parts = score_parts(*values)
    assert stability(*values) == score
    assert (None if parts is None else parts.score) == score
    if parts is not None:
        assert parts.unexpected == values[1]
        assert (parts.stopped_factor < 1, parts.unexpected_factor < 1) == (values[0] > 0, values[1] > 0)


def test_periods_follow_the_zone() -> None:
    berlin = Clock("Europe/Berlin")
    weeks = periods(made.START, made.START + 8 * 86_400 * S, "week", berlin)
    assert [week.name for week in weeks] == ["2026-02-23", "2026-03-02", "2026-03-09"]
    assert all(berlin.at(week.begin).weekday() == 0 and berlin.at(week.begin).hour == 0 for week in weeks)
    [first, second] = between(made.at(0), made.at(100), [made.at(40), made.at(900)], Clock())
    assert (first.end, second.begin, second.end) == (made.at(40), made.at(40), made.at(100) + 1)


def test_cover_counts_overlapping_files_once() -> None:
    rows = [{"cluster": "a", "recognised": 1, "first_at": made.at(begin), "last_at": made.at(end)} for begin, end in ((0, 60), (30, 90))]
    assert covered_seconds(cover_of(rows)["a"], made.at(0), made.at(1000)) == 90


def test_a_trend_adds_up_to_the_rebalances() -> None:
    items = [rebalance(row) for row in made.small_story().rebalances]
    spans = periods(made.START, made.at(3600), "hour", Clock())
    found = trends(items, spans, {})
    assert sum(row.rebalances for one in found for row in one.periods) == sum(item.started_at is not None for item in items)
    assert {one.score for one in found} == {None}
