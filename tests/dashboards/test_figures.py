"""Figures hold what they should, and no label of a log is markup in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dashboards import figures
from dashboards.build import build_answer
from dashboards.units import Clock
from tests.dashboards import made
from tests.dashboards.hostile import CONTROL, PAYLOADS

CLOCK = Clock()


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts(item)


def traces(chart: figures.Chart) -> list[dict[str, Any]]:
    drawn: list[dict[str, Any]] = json.loads(chart.figure.to_json())["data"]
    return drawn


def test_the_story_gives_all_three_charts() -> None:
    charts = figures.charts(build_answer(made.small_story()), CLOCK, 100)
    assert [chart.name for chart in charts] == ["timeline", "phases", "ranking"]
    assert all(chart.summary and not chart.note for chart in charts)


def test_an_empty_answer_gives_no_chart() -> None:
    assert figures.charts(build_answer(made.Made()), CLOCK, 100) == []


def test_the_timeline_has_states_rebalances_and_outages() -> None:
    chart = figures.charts(build_answer(made.small_story()), CLOCK, 100)[0]
    names = {trace["name"] for trace in traces(chart)}
    assert {"Stable", "Empty", "PreparingRebalance", "Members failed", "Members came", "Members left", "Partition without leader"} <= names
    marks = [trace for trace in traces(chart) if trace["type"] == "scatter" and trace["name"] == "Members failed"]
    assert [len(trace["x"]) for trace in marks] == [6]


def test_times_of_the_axis_are_those_of_the_zone_shown() -> None:
    chart = figures.charts(build_answer(made.small_story()), Clock("Europe/Berlin"), 100)[0]
    assert chart.figure.layout.xaxis.title.text == "time (Europe/Berlin)"
    starts = [start for trace in traces(chart) if trace["name"] == "Members failed" and trace["type"] == "scatter" for start in trace["x"]]
    assert starts[0] == "2026-03-01 11:01:00.000"


def test_the_parts_of_a_bar_add_up_to_the_whole() -> None:
    answer = build_answer(made.small_story())
    chart = figures.phases(answer.rebalances, CLOCK)
    assert chart is not None
    sums = [round(sum(parts), 3) for parts in zip(*(trace["x"] for trace in traces(chart)), strict=True)]
    assert sums == sorted((round(item.lasted_seconds, 3) for item in answer.rebalances), reverse=True)


def test_too_many_are_thinned_and_the_chart_says_so() -> None:
    answer = build_answer(made.many(300, groups=80))
    timeline, phases, ranking = figures.charts(answer, CLOCK, 50)
    assert timeline.note == "20 quieter groups are not drawn; the 50 longest of 300 rebalances are drawn"
    assert phases.note == "the 25 longest of 300"
    assert ranking.note == "the first 20 of 80"
    assert sum(len(trace["x"]) for trace in traces(timeline) if trace["type"] == "scatter") == 50


def test_long_names_that_are_cut_alike_keep_lanes_of_their_own() -> None:
    rows = [made.rebalance("x" * 60 + ending, 1, 5) for ending in "abc"]
    chart = figures.timeline(build_answer(made.Made(rebalances=rows)), CLOCK, 100)
    assert chart is not None
    assert len(set(chart.figure.layout.yaxis.categoryarray)) == 3


def test_a_rebalance_without_a_known_length_is_a_mark_only() -> None:
    row = made.rebalance("g", 1, 5, ended_at=None, duration_seconds=None, at_least_seconds=None, outcome="open")
    chart = figures.timeline(build_answer(made.Made(rebalances=[row])), CLOCK, 100)
    assert chart is not None
    assert [trace["x"] for trace in traces(chart) if trace["type"] == "bar"] == [[0.0]]


@pytest.mark.parametrize("text", [*PAYLOADS, *CONTROL])
def test_no_text_of_a_log_is_markup_in_a_chart(text: str) -> None:
    row = made.rebalance(
        text, 1, 5, offenders=[made.person(text, text, first=True, host=text)], blockers=[made.person(text, text)], outcome="stable"
    )
    story = made.Made(
        rebalances=[row], timeline=made.transitions(text, (0, "Empty"), (5, text), (8, "Stable")), outages=made.small_story().outages
    )
    story.outages[0]["topic"] = text
    for chart in figures.charts(build_answer(story), CLOCK, 100):
        for shown in texts(json.loads(chart.figure.to_json())):
            ours = shown.replace("<br>", "").replace("<extra></extra>", "")
            assert "<" not in ours
            assert "&" not in ours
            assert "$" not in ours
