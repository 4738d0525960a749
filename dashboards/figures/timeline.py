"""Groups over time: states, rebalances, moves of coordinators, and outages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from conf.causes import FAMILIES
from dashboards.figures.base import (
    FAMILY_SYMBOLS,
    FAMILY_TITLES,
    Chart,
    GroupKey,
    bars,
    figure,
    group_labels,
    lanes_of,
    milliseconds,
)
from dashboards.figures.broker_outages import down_lanes, down_traces
from dashboards.figures.palette import FAMILY_COLOURS, MOVE_COLOUR, OTHER_STATE_COLOUR, OUTLINE_COLOUR, STATE_COLOURS
from dashboards.view.answer import Answer, Lane, Move, Rebalance, StateStretch
from dashboards.wording.durations import duration
from dashboards.wording.escaping import chart_label
from dashboards.wording.units import MarkedClock, lasted, share

LANES_SHOWN = 60
LANES_HELD = 400
_STRETCHES_MAX = 12_000
PIXELS = 1500
"""Horizontal resolution.

Anything shorter than this fraction of the total time is invisible.
"""
FAIR_SHARE = 12
"""Number of rebalances drawn for each group, even if other groups have longer ones."""

CLOCK = MarkedClock()


def timeline(answer: Answer, drawn_max: int) -> Chart | None:
    """A lane per group, with states as bars and rebalances over them."""
    if not (answer.rebalances or answer.lanes or answer.outages):
        return None
    weights = lane_weights(answer)
    labels = group_labels(weights, LANES_HELD)
    drawn = longest_rebalances(
        [(row, item) for row, item in enumerate(answer.rebalances) if (item.cluster, item.group) in labels.lanes], drawn_max
    )
    down = down_lanes(answer)
    ends = last_moments(answer)
    states, merged = _state_traces(answer.lanes, labels.lanes, ends)
    traces = [
        *states,
        *_rebalance_traces(drawn, labels.lanes),
        *_move_traces(answer.moves, labels.lanes),
        *down_traces(answer, down, ends),
    ]
    hidden = len(weights) - len(labels.lanes)
    left_out = [f"{hidden:,} quieter groups have no lane"] if hidden else []
    if len(drawn) < len(answer.rebalances):
        left_out.append(f"the {len(drawn):,} longest of {len(answer.rebalances):,} rebalances")
    left_out += [f"states shorter than {duration(merged)} are drawn as one"] if merged else []
    made = figure(traces, times=True, barmode="overlay")
    summary = f"Swimlanes of {len(labels.lanes)} groups with {len(drawn)} rebalances; the table below holds the same in numbers."
    lanes = lanes_of(labels, down.order)
    return Chart("timeline", "Groups over time", summary, "; ".join(left_out), made, lanes, LANES_SHOWN, room=130)


def lane_weights(answer: Answer) -> dict[GroupKey, float]:
    """Downtime of each group."""
    weights: dict[GroupKey, float] = {(lane.cluster, lane.group): 0.0 for lane in answer.lanes}
    for item in answer.rebalances:
        key = (item.cluster, item.group)
        weights[key] = weights.get(key, 0.0) + item.stopped_seconds
    return weights


def last_moments(answer: Answer) -> defaultdict[str, int]:
    """End of each cluster's logs, where open bars are cut off."""
    ends: defaultdict[str, int] = defaultdict(int)
    for item in answer.rebalances:
        ends[item.cluster] = max(ends[item.cluster], item.ended_at or item.started_at or 0)
    for lane in answer.lanes:
        ends[lane.cluster] = max([ends[lane.cluster], *(stretch.started_at for stretch in lane.stretches[-1:])])
    for file in answer.files:
        ends[file.cluster] = max(ends[file.cluster], file.last_at or 0 if file.recognised else 0)
    return ends


def longest_rebalances(items: Sequence[tuple[int, Rebalance]], limit: int) -> list[tuple[int, Rebalance]]:
    """The longest rebalances of each group and overall, up to the limit."""
    known = [(row, item) for row, item in items if item.started_at is not None]
    longest = sorted(known, key=lambda pair: (-pair[1].stopped_seconds, pair[1].started_at or 0, pair[1].id))
    seen: defaultdict[GroupKey, int] = defaultdict(int)
    first: list[tuple[int, Rebalance]] = []
    rest: list[tuple[int, Rebalance]] = []
    for pair in longest:
        key = (pair[1].cluster, pair[1].group)
        seen[key] += 1
        (first if seen[key] <= FAIR_SHARE else rest).append(pair)
    return [*first, *rest][:limit]


def _state_traces(lanes: Sequence[Lane], names: Mapping[Any, str], ends: Mapping[str, int]) -> tuple[list[dict[str, Any]], float | None]:
    """Bars of each state.

    The second value is the length in seconds below which states were merged, None unless there were too many to draw.
    """
    shown = [lane for lane in lanes if (lane.cluster, lane.group) in names and lane.stretches]
    start = min((lane.stretches[0].started_at for lane in shown), default=0)
    too_many = sum(len(lane.stretches) for lane in shown) > _STRETCHES_MAX
    least = (max(ends.values(), default=start) - start) // PIXELS if too_many else 0
    by_state: dict[str, list[tuple[str, int, int, str]]] = {}
    for lane in shown:
        for stretch, until in _merged(lane.stretches, ends[lane.cluster], least):
            item = (names[lane.cluster, lane.group], stretch.started_at, until, _state_text(stretch))
            by_state.setdefault(stretch.state, []).append(item)
    order = [*STATE_COLOURS, *sorted(set(by_state) - set(STATE_COLOURS))]
    traces = [bars(state, STATE_COLOURS.get(state, OTHER_STATE_COLOUR), by_state[state], 0.36) for state in order if state in by_state]
    return traces, least / 1_000_000 if too_many else None


def _merged(stretches: Sequence[StateStretch], end: int, least: int) -> list[tuple[StateStretch, int]]:
    """Stretches with their ends.

    A run of stretches shorter than `least` is merged into one, with the state that lasted longest.
    """
    known = [(stretch, stretch.ended_at if stretch.ended_at is not None else max(end, stretch.started_at)) for stretch in stretches]
    if not least:
        return known
    merged: list[tuple[StateStretch, int]] = []
    run: list[tuple[StateStretch, int]] = []

    def close() -> None:
        if run:
            longest = max(run, key=lambda pair: pair[1] - pair[0].started_at)[0]
            whole = StateStretch(longest.state, run[0][0].started_at, None, longest.generation, longest.member_count, longest.inferred)
            merged.append((whole, run[-1][1]))
            run.clear()

    for stretch, until in known:
        if until - stretch.started_at >= least:
            close()
            merged.append((stretch, until))
        else:
            run.append((stretch, until))
            if until - run[0][0].started_at >= least:
                close()
    close()
    return merged


def _state_text(stretch: StateStretch) -> str:
    generation = "" if stretch.generation is None else f", generation {stretch.generation}"
    members = "" if stretch.member_count is None else f", {stretch.member_count} members"
    return f"{chart_label(stretch.state)}{generation}{members}{', inferred' if stretch.inferred else ''}"


def _rebalance_traces(items: Sequence[tuple[int, Rebalance]], names: Mapping[Any, str]) -> list[dict[str, Any]]:
    """Bars of each family of causes, and marks at their starts.

    The marks keep short rebalances visible at any zoom.
    """
    traces: list[dict[str, Any]] = []
    for family in FAMILIES:
        of_family = [(row, item) for row, item in items if item.family == family]
        if not of_family:
            continue
        lanes = [names[item.cluster, item.group] for _, item in of_family]
        starts = [milliseconds(item.started_at or 0) for _, item in of_family]
        texts = [[row, hover(item)] for row, item in of_family]
        shared = {"y": lanes, "customdata": texts, "legendgroup": family, "hovertemplate": "%{customdata[1]}<extra></extra>"}
        stretches = {
            **shared,
            "type": "bar",
            "orientation": "h",
            "name": FAMILY_TITLES[family],
            "meta": {"times": "base"},
            "base": starts,
            "x": [item.lasted_seconds * 1000 for _, item in of_family],
            "width": 0.62,
            "marker": {"color": FAMILY_COLOURS[family], "opacity": 0.92, "line": {"width": 0}},
            "showlegend": False,
        }
        traces += [stretches, {**shared, **cause_marks(family), "x": starts}]
    return traces


def cause_marks(family: str) -> dict[str, Any]:
    """Marks of rebalances, by family of causes."""
    marker = {"color": FAMILY_COLOURS[family], "symbol": FAMILY_SYMBOLS[family], "size": 10, "line": {"width": 1, "color": OUTLINE_COLOUR}}
    return {"type": "scatter", "mode": "markers", "name": FAMILY_TITLES[family], "meta": {"times": "x"}, "marker": marker}


def hover(item: Rebalance) -> str:
    """Lines of the hover box.

    Only the line breaks are markup; all other text passes through `chart_label`.
    """
    who = ", ".join(chart_label(person.name, 32) for person in item.offenders[:3])
    lines = [
        f"{chart_label(item.group)}, " + (f"generation {item.generations}" if item.generations else chart_label(item.topic or "")),
        f"{item.cause_title} ({share(item.confidence)})",
        who,
        f"{CLOCK.full(item.started_at)}, {lasted(item.duration_seconds, item.at_least_seconds)}, {item.outcome}",
    ]
    return "<br>".join(line for line in lines if line)


def _move_traces(moves: Sequence[Move], names: Mapping[Any, str]) -> list[dict[str, Any]]:
    known = [(item, at) for item in moves if (item.cluster, item.group) in names and (at := item.left_at or item.loaded_at)]
    if not known:
        return []
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "Coordinator moved",
        "meta": {"times": "x"},
        "y": [names[item.cluster, item.group] for item, _ in known],
        "x": [milliseconds(at) for _, at in known],
        "marker": {"color": MOVE_COLOUR, "symbol": "arrow-up", "size": 11, "line": {"width": 1, "color": OUTLINE_COLOUR}},
        "customdata": [[None, _move_text(item)] for item, _ in known],
        "hovertemplate": "%{customdata[1]}<extra></extra>",
    }
    return [trace]


def _move_text(item: Move) -> str:
    nodes = f"{chart_label(item.from_node or '?', 20)} → {chart_label(item.to_node or '?', 20)}"
    gap = "" if item.gap_seconds is None else f", {duration(item.gap_seconds)} without one"
    return f"{chart_label(item.group)}<br>coordinator {nodes}{gap}<br>{CLOCK.full(item.left_at or item.loaded_at)}"
