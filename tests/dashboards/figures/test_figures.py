"""Figures hold what they should, and no label of a log is markup in them."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

import dashboards
from conf.causes import FAMILIES
from dashboards.answer.build import build_answer
from dashboards.figures.bars import phases
from dashboards.figures.base import FAMILY_SYMBOLS, FAMILY_TITLES, Chart
from dashboards.figures.broker_outages import OUTAGE_LANES_MAX
from dashboards.figures.charts import charts as charts_of
from dashboards.figures.palette import FAMILY_COLOURS, STEP_COLOURS
from dashboards.figures.timeline import timeline
from dashboards.page.tables import tables
from dashboards.view.answer import Answer
from tests.dashboards import made
from tests.dashboards.hostile import CONTROL, PAYLOADS
from tests.dashboards.page.test_page import all_of

DASHBOARDS = Path(dashboards.__file__).parent


def answer_of(story: made.Made) -> Answer:
    return build_answer(story, for_page=True)


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts(item)


def traces(chart: Chart) -> list[dict[str, Any]]:
    drawn: list[dict[str, Any]] = json.loads(go.Figure(chart.figure).to_json())["data"]
    return drawn


def chart_of(story: made.Made, name: str, drawn_max: int = 100) -> Chart:
    return next(chart for chart in charts_of(answer_of(story), drawn_max) if chart.name == name)


def test_the_story_gives_all_charts_of_kafka() -> None:
    charts = charts_of(answer_of(made.small_story()), 100)
    assert [chart.name for chart in charts] == ["timeline", "heat", "members", "clients-lanes", "phases", "ranking", "coverage"]
    assert all(chart.summary and not chart.note for chart in charts)


def test_an_empty_answer_gives_no_chart() -> None:
    assert charts_of(answer_of(made.Made()), 100) == []


def test_the_timeline_has_states_rebalances_and_outages() -> None:
    chart = charts_of(answer_of(made.small_story()), 100)[0]
    names = {trace["name"] for trace in traces(chart)}
    assert {"Stable", "Empty", "PreparingRebalance", "Members failed", "Members came", "Members left", "Partition without leader"} <= names
    marks = [trace for trace in traces(chart) if trace["type"] == "scatter" and trace["name"] == "Members failed"]
    assert [len(trace["x"]) for trace in marks] == [6]


def test_times_are_milliseconds_utc_and_each_trace_says_where_they_are() -> None:
    drawn = traces(chart_of(made.small_story(), "timeline"))
    starts = [trace["x"][0] for trace in drawn if trace["name"] == "Members failed" and trace["type"] == "scatter"]
    assert starts == [made.at(60) // 1000]
    assert {(trace["type"], trace["meta"]["times"]) for trace in drawn} == {("bar", "base"), ("scatter", "x")}


def test_points_of_rebalances_name_their_row() -> None:
    answer = answer_of(made.small_story())
    for chart in charts_of(answer, 100):
        for trace in traces(chart):
            for row, *_ in trace.get("customdata", []):
                assert row is None or 0 <= row < len(answer.rebalances)


def test_moves_and_what_was_down_are_on_the_axis_of_the_groups() -> None:
    chart = chart_of(made.small_story(), "timeline")
    found = {trace["name"]: (trace["y"], trace["customdata"][0][1]) for trace in traces(chart)}
    assert found["Coordinator moved"][0] == ["billing"]
    assert "coordinator 1 → 2, 1.5 s without one" in found["Coordinator moved"][1]
    assert found["Broker down"] == (["broker 3 down"], "killed, 42 s")
    assert found["Partition without leader"][0] == ["no leader: orders-4"]
    assert [key for label, key in chart.lanes if label.startswith(("broker", "no leader"))] == [None, None]


def test_the_heat_map_counts_by_group_and_time() -> None:
    (trace,) = traces(chart_of(made.small_story(), "heat"))
    assert dict(zip(trace["y"], [sum(filter(None, row)) for row in trace["z"]], strict=True)) == {"billing": 2, "orders": 6}
    assert len(trace["x"]) == len(trace["z"][0])


@pytest.mark.parametrize(("days", "title", "columns"), [(0.001, "10 s", 8), (0.5, "30 min", 24), (3, "hour", 72), (90, "day", 90)])
def test_the_heat_map_is_cut_into_parts_that_people_think_in(days: float, title: str, columns: int) -> None:
    rows = [made.rebalance("g", 1, 0), made.rebalance("g", 2, days * 86_400 - 10)]
    chart = chart_of(made.Made(rebalances=rows), "heat")
    assert chart.title == f"Rebalances per {title} and group"
    assert chart.bins is not None
    assert columns - 2 <= chart.bins[2] <= columns + 2


def test_a_lane_is_as_thick_as_its_group_is_large() -> None:
    drawn = {trace["y"][0]: trace for trace in traces(chart_of(made.small_story(), "members"))}
    assert drawn["billing"]["text"] == ["3", "", "2", "3"]
    thick = drawn["billing"]["width"]
    assert thick[1] < thick[2] < thick[3]


def test_clients_that_waited_longest_are_on_top() -> None:
    chart = chart_of(made.small_story(), "clients-lanes")
    assert [label for label, _ in chart.lanes] == ["orders-worker-1 · orders", "orders-worker-2 · orders"]
    found = {trace["name"]: trace["x"] for trace in traces(chart)}
    assert found == {"stable": [602_000], "rebalancing": [38_000, 1_000], "unjoined": [10_000]}


def test_queues_have_lanes_in_the_colours_of_their_owners_and_faults_stand_out() -> None:
    chart = chart_of(made.queue_story(), "queue-lanes")
    found = {trace["name"]: trace["y"] for trace in traces(chart)}
    assert found == {
        "app@7": ["broker-a:0 · Stock"],
        "no owner": ["broker-a:3 · Orders", "broker-a:2 · Stock"],
        "two owners": ["broker-a:0 · Stock", "broker-a:1 · Stock"],
    }


def test_what_would_have_helped_is_drawn_and_what_would_not_is_told() -> None:
    answer = replace(answer_of(made.small_story()), what_ifs=[made.what_if("Static", 200.0), made.what_if("Longer polls", -50.0)])
    (chart,) = (chart for chart in charts_of(answer, 100) if chart.name == "whatif-bars")
    assert [(trace["name"], trace["y"], trace["x"]) for trace in traces(chart)] == [
        ("Still stopped", ["Static"], [31.0]),
        ("Saved", ["Static"], [200.0]),
    ]
    told = tables(answer, [])
    assert [(row[0], row[1][1], row[5]) for row in told["whatif"].rows] == [
        ("Static", 4, ["3 min 20 s", 200.0]),
        ("Longer polls", 4, ["-50 s", -50.0]),
    ]
    assert [row[1] for row in told["whatif-groups"].rows] == ["Static", "Longer polls"]
    assert {row[-1] for row in told["whatif-groups"].rows} == {"session.timeout.ms is taken to be 45 s"}


def test_what_was_stands_beside_what_would_have_been() -> None:
    answer = replace(answer_of(made.small_story()), what_ifs=[made.what_if("Static", 200.0), made.what_if("Longer polls", -50.0)])
    (chart,) = (chart for chart in charts_of(answer, 100) if chart.name == "whatif-lanes")
    assert [label for label, _ in chart.lanes] == ["orders, as it was", "orders, as it would have been"]
    bars = {trace["meta"].get("configuration"): trace for trace in traces(chart) if trace["name"].startswith("Rebalance")}
    assert {place: len(trace["base"]) for place, trace in bars.items()} == {None: 6, 0: 2, 1: 4}


def test_what_no_configuration_changes_has_no_lanes() -> None:
    found = [made.what_if("Static", 200.0), made.what_if("Longer polls", -50.0)]
    alike = [replace(each, groups=tuple(replace(one, would_be=one.was) for one in each.groups)) for each in found]
    answer = replace(answer_of(made.small_story()), what_ifs=alike)
    assert "whatif-lanes" not in {chart.name for chart in charts_of(answer, 100)}


def test_what_has_no_end_ends_with_the_logs_of_its_cluster() -> None:
    story = made.small_story()
    other = made.log_file("other.log", cluster="other", last_at=made.at(100_000))
    story.inputs["log_files"].append(other)
    drawn = traces(chart_of(story, "timeline"))
    ends = [base + length for trace in drawn if trace["type"] == "bar" for base, length in zip(trace["base"], trace["x"], strict=True)]
    assert max(ends) <= made.at(700) // 1000


def test_the_parts_of_a_bar_add_up_to_the_whole() -> None:
    answer = build_answer(made.small_story())
    chart = phases(answer)
    assert chart is not None
    sums = [round(sum(parts), 3) for parts in zip(*(trace["x"] for trace in traces(chart)), strict=True)]
    assert sums == sorted((round(item.lasted_seconds, 3) for item in answer.rebalances), reverse=True)


def test_too_many_are_thinned_and_the_chart_says_so() -> None:
    charts = {chart.name: chart for chart in charts_of(answer_of(made.many(5000, groups=500)), 3000)}
    assert charts["timeline"].note == "100 quieter groups have no lane; the 3,000 longest of 5,000 rebalances"
    assert charts["phases"].note == "the 25 longest of 5,000"
    assert charts["ranking"].note == "20 of 500 members"
    assert sum(len(trace["x"]) for trace in traces(charts["timeline"]) if trace["type"] == "scatter") == 3000


def test_each_group_has_its_share_of_what_is_drawn() -> None:
    loud = [made.rebalance("loud", n, n, duration_seconds=500.0) for n in range(50)]
    quiet = [made.rebalance("quiet", n, n, duration_seconds=1.0) for n in range(3)]
    drawn = traces(chart_of(made.Made(rebalances=[*loud, *quiet]), "timeline", 15))
    lanes = [lane for trace in drawn if trace["type"] == "scatter" for lane in trace["y"]]
    assert (lanes.count("quiet"), lanes.count("loud")) == (3, 12)


def test_too_many_states_are_merged_where_no_eye_could_part_them() -> None:
    steps = [(n * 0.01, "Stable" if n % 2 else "PreparingRebalance") for n in range(20_000)]
    story = made.Made(timeline=made.transitions("g", *steps, (86_400, "Empty")), rebalances=[made.rebalance("g", 1, 5)])
    chart = chart_of(story, "timeline")
    assert "states shorter than" in chart.note
    assert sum(len(trace["x"]) for trace in traces(chart)) < 100


def test_long_names_that_are_cut_alike_keep_lanes_of_their_own() -> None:
    rows = [made.rebalance("x" * 60 + ending, 1, 5) for ending in "abc"]
    chart = timeline(build_answer(made.Made(rebalances=rows)), 100)
    assert chart is not None
    assert len({label for label, _ in chart.lanes}) == 3


def test_a_rebalance_without_a_known_length_is_a_mark_only() -> None:
    row = made.rebalance("g", 1, 5, ended_at=None, duration_seconds=None, at_least_seconds=None, outcome="open")
    chart = timeline(build_answer(made.Made(rebalances=[row])), 100)
    assert chart is not None
    assert [trace["x"] for trace in traces(chart) if trace["type"] == "bar"] == [[0.0]]


def test_no_text_of_a_log_is_markup_in_a_chart() -> None:
    story = all_of([*PAYLOADS, *CONTROL])
    charts = charts_of(answer_of(story), 1000)
    assert len(charts) == 8
    for chart in charts:
        assert not [label for label, _ in chart.lanes if set("<>&$") & set(label)]
        for shown in texts(json.loads(go.Figure(chart.figure).to_json())):
            ours = re.sub("\x01-?[0-9]+\x02", "", shown).replace("<br>", "").replace("<extra></extra>", "")
            assert not set("<>&$") & set(ours)
            assert ours.isprintable()


def seen(colour: str, matrix: tuple[tuple[float, float, float], ...]) -> tuple[float, ...]:
    """The colour in OKLab, as an eye with this deficiency sees it (matrices of Machado and others, 2009, at full strength)."""
    linear = [((c / 255 + 0.055) / 1.055) ** 2.4 if c > 10 else c / 255 / 12.92 for c in bytes.fromhex(colour[1:])]
    r, g, b = (min(1.0, max(0.0, sum(m * c for m, c in zip(row, linear, strict=True)))) for row in matrix)
    cones = (0.4122 * r + 0.5363 * g + 0.0514 * b, 0.2119 * r + 0.6807 * g + 0.1074 * b, 0.0883 * r + 0.2817 * g + 0.63 * b)
    long, middle, short = (cone ** (1 / 3) for cone in cones)
    return (
        0.2105 * long + 0.7936 * middle - 0.0041 * short,
        1.978 * long - 2.4286 * middle + 0.4506 * short,
        0.0259 * long + 0.7828 * middle - 0.8087 * short,
    )


SIGHT = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "red-blind": ((0.1523, 1.0526, -0.2049), (0.1145, 0.7863, 0.0992), (-0.0039, -0.0481, 1.052)),
    "green-blind": ((0.3673, 0.8606, -0.228), (0.2801, 0.6725, 0.0474), (-0.0118, 0.0429, 0.9689)),
}


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_of_causes_can_be_told_apart(sight: str) -> None:
    pairs = combinations(FAMILY_COLOURS.values(), 2)
    assert min(math.dist(seen(one, SIGHT[sight]), seen(other, SIGHT[sight])) for one, other in pairs) > 0.1


def test_every_family_of_causes_has_a_colour_a_title_and_a_shape_of_its_own() -> None:
    assert list(FAMILY_COLOURS) == list(FAMILY_TITLES) == list(FAMILIES)
    assert len({FAMILY_SYMBOLS[name] for name in FAMILIES}) == len(FAMILIES)


def test_only_the_palette_holds_colours_of_pictures() -> None:
    sources = [*(DASHBOARDS / "figures").glob("*.py"), *(DASHBOARDS / "page").glob("*.py"), *(DASHBOARDS / "assets").glob("*.js")]
    assert [path.name for path in sources if re.search(r"#[0-9a-fA-F]{6}\b|rgba?\([0-9]", path.read_text(encoding="utf-8"))] == [
        "palette.py"
    ]


def test_the_page_draws_steps_in_all_colours_that_it_is_given_and_in_no_others() -> None:
    script = (DASHBOARDS / "assets" / "details.js").read_text(encoding="utf-8")
    assert set(re.findall(r"\bcolours\.(\w+)", script)) == set(STEP_COLOURS)


def test_partitions_without_leader_stand_under_the_brokers_that_were_lost() -> None:
    story = made.small_story()
    [first] = story.outages
    short = {**first, "topic": "b", "partition": 0, "lost_brokers": ["10", "2"], "online_at": first["offline_at"] + 5_000_000}
    story.outages = [first, short, {**first, "topic": "a", "partition": 1}, {**first, "topic": "c", "lost_brokers": [], "online_at": None}]
    story.broker_outages = [*story.broker_outages, dataclasses.replace(story.broker_outages[0], node="2")]
    chart = chart_of(story, "timeline")
    fixed = [label for label, group in chart.lanes if group is None]
    assert fixed == [
        "no leader: c-4",
        "broker 2 down",
        "broker 3 down",
        "no leader: a-1",
        "no leader: orders-4",
        "no leader: b-0",
    ]
    drawn = next(trace for trace in traces(chart) if trace["name"] == "Partition without leader")
    assert sorted(drawn["y"]) == [label for label in sorted(fixed) if label.startswith("no leader")]


def test_of_very_many_partitions_those_without_leader_for_longest_have_lanes() -> None:
    story = made.small_story()
    [first] = story.outages
    story.outages = [{**first, "partition": number, "online_at": first["offline_at"] + number * 1_000_000} for number in range(1, 40)]
    lanes = [label for label, group in chart_of(story, "timeline").lanes if group is None and "leader" in label]
    assert lanes == [f"no leader: orders-{number}" for number in range(40 - OUTAGE_LANES_MAX, 40)]
