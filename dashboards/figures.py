"""Plotly figures. Labels come through `chart_label`, since Plotly obeys markup; colours carry no meaning alone.

Figures are theme-free: the page sets the colours of paper, text and grid, so that one figure serves light, dark
and print. Times are UTC; the page shifts nothing, so the axis title names the zone that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conf.causes import FAMILIES
from dashboards.data import Answer, Lane, Offender, Outage, Rebalance
from dashboards.text import chart_label
from dashboards.units import Clock, duration, share

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Middle tones, legible on white and on near-black; neighbours differ in lightness too.
FAMILY_COLOURS = {
    "join": "#3b82d0",
    "restart": "#12a594",
    "leave": "#d99a00",
    "timeout": "#dc4a3d",
    "change": "#8e5bd0",
    "followup": "#86a5cf",
    "admin": "#7a8394",
    "broker": "#c8468f",
    "fault": "#b4551d",
    "unknown": "#9aa0a6",
}
FAMILY_TITLES = {
    "join": "Members came",
    "restart": "Members restarted",
    "leave": "Members left",
    "timeout": "Members failed",
    "change": "Topics or subscriptions changed",
    "followup": "Second step",
    "admin": "Administrator",
    "broker": "Brokers",
    "fault": "Standing fault",
    "unknown": "Unknown cause",
}
FAMILY_SYMBOLS = {
    "join": "triangle-right",
    "restart": "diamond",
    "leave": "triangle-left",
    "timeout": "x",
    "change": "square",
    "followup": "circle-open",
    "admin": "star",
    "broker": "hexagon",
    "fault": "cross",
    "unknown": "circle",
}
STATE_COLOURS = {
    "Stable": "rgba(46,160,90,0.38)",
    "Empty": "rgba(128,134,145,0.22)",
    "PreparingRebalance": "rgba(232,150,30,0.85)",
    "CompletingRebalance": "rgba(240,200,70,0.85)",
    "Assigning": "rgba(240,200,70,0.85)",
    "Reconciling": "rgba(232,150,30,0.85)",
    "Dead": "rgba(20,20,20,0.45)",
    "NotReady": "rgba(128,134,145,0.5)",
}
LANES_MAX = 60
OUTAGE_LANES_MAX = 12
BARS_MAX = 25
OFFENDERS_MAX = 20
_LANE_HEIGHT = 34
FEW = 8
"""Up to so many each whole number has its tick; else the axis would repeat them."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure with what a reader who can't see it needs, and what was left out of it."""

    name: str
    title: str
    summary: str
    note: str
    figure: go.Figure


def charts(answer: Answer, clock: Clock, drawn_max: int) -> list[Chart]:
    """The charts that this answer has something for."""
    made = [timeline(answer, clock, drawn_max), phases(answer.rebalances, clock), ranking(answer.offenders)]
    return [chart for chart in made if chart is not None]


def timeline(answer: Answer, clock: Clock, drawn_max: int) -> Chart | None:
    """A swimlane per group: its states as bars, its rebalances over them, coloured by what caused them."""
    if not answer.rebalances and not answer.lanes and not answer.outages:
        return None
    names, hidden = _lanes_shown(answer)
    drawn = _longest([item for item in answer.rebalances if (item.cluster, item.group) in names and item.started_at is not None], drawn_max)
    broken = _outage_labels(answer.outages)
    end = max(filter(None, [answer.totals.last_at, *(item.ended_at or item.started_at for item in drawn)]), default=None)
    traces = _state_traces([lane for lane in answer.lanes if (lane.cluster, lane.group) in names], names, clock, end)
    traces += _rebalance_traces(drawn, names, clock)
    traces += _outage_traces(answer.outages, broken, clock, end)
    rows = [*broken.values(), *reversed(names.values())]
    figure = _figure(traces, height=110 + _LANE_HEIGHT * max(len(rows), 2), barmode="overlay")
    figure.update_xaxes(type="date", title_text=f"time ({clock.zone_name})")
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=rows, range=[-0.6, len(rows) - 0.4])
    left_out = [f"{hidden} quieter groups are not drawn"] if hidden else []
    if len(drawn) < len(answer.rebalances):
        left_out.append(f"the {len(drawn):,} longest of {len(answer.rebalances):,} rebalances are drawn")
    summary = f"Swimlanes of {len(names)} groups with {len(drawn)} rebalances; the table below holds the same in numbers."
    return Chart("timeline", "Groups over time", summary, "; ".join(left_out), figure)


def phases(rebalances: Sequence[Rebalance], clock: Clock) -> Chart | None:
    """Where the time of the longest rebalances went: initial delay, waiting for members, assignment."""
    known = [item for item in rebalances if item.join_seconds is not None or item.duration_seconds or item.at_least_seconds]
    longest = sorted(_longest(known, BARS_MAX), key=lambda item: (-item.lasted_seconds, item.started_at or 0, item.id))
    if not longest:
        return None
    labels = [_bar_label(item, clock, position) for position, item in enumerate(longest, start=1)]
    delay = [item.initial_delay_seconds or 0.0 for item in longest]
    join = [max(0.0, item.waiting_seconds - (item.initial_delay_seconds or 0.0)) for item in longest]
    rest = [item.assignment_seconds for item in longest]
    parts = (
        ("Initial delay (expected)", delay, "#9aa0a6"),
        ("Waiting for members", join, "#dc4a3d"),
        ("Assignment", rest, "#d99a00"),
    )
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": labels,
            "x": values,
            "marker": {"color": colour},
            "customdata": [[item.id, duration(value)] for item, value in zip(longest, values, strict=True)],
            "hovertemplate": f"{name}: %{{customdata[1]}}<extra></extra>",
        }
        for name, values, colour in parts
    ]
    figure = _figure(traces, height=120 + 24 * max(len(longest), 3), barmode="stack")
    figure.update_xaxes(title_text="seconds", rangemode="tozero")
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=labels[::-1])
    note = f"the {len(longest)} longest of {len(rebalances):,}" if len(longest) < len(rebalances) else ""
    summary = f"Stacked bars of the {len(longest)} longest rebalances, split into initial delay, waiting for members, and assignment."
    return Chart("phases", "Where the time went", summary, note, figure)


def ranking(offenders: Sequence[Offender]) -> Chart | None:
    """Who set off most rebalances, by what they did."""
    shown = [item for item in offenders if item.caused or item.blocked][:OFFENDERS_MAX]
    if not shown:
        return None
    labels = [f"{position}. {chart_label(item.name, 32)} · {chart_label(item.group, 24)}" for position, item in enumerate(shown, start=1)]
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": FAMILY_TITLES[family],
            "y": labels,
            "x": [dict(item.families).get(family, 0) for item in shown],
            "marker": {"color": FAMILY_COLOURS[family]},
            "hovertemplate": f"{FAMILY_TITLES[family]}: %{{x}}<extra></extra>",
        }
        for family in FAMILIES
        if any(dict(item.families).get(family) for item in shown)
    ]
    if any(item.blocked for item in shown):
        held_up = {
            "type": "bar",
            "orientation": "h",
            "name": "Held others up",
            "y": labels,
            "x": [item.blocked for item in shown],
            "marker": {"color": "rgba(140,147,160,0.75)", "pattern": {"shape": "/", "size": 6}},
            "hovertemplate": "Held others up: %{x}<extra></extra>",
        }
        traces.append(held_up)
    figure = _figure(traces, height=120 + 26 * max(len(shown), 3), barmode="stack")
    few = max((item.caused + item.blocked for item in shown), default=0) <= FEW
    figure.update_xaxes(title_text="rebalances", rangemode="tozero", tickformat=",d", dtick=1 if few else None)
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=labels[::-1])
    note = f"the first {len(shown)} of {len(offenders):,}" if len(shown) < len(offenders) else ""
    summary = (
        f"Stacked bars of the {len(shown)} members that groups stood still for longest, by how many rebalances they caused and held up."
    )
    return Chart("ranking", "Who was behind it", summary, note, figure)


def _figure(traces: list[dict[str, Any]], **layout: Any) -> go.Figure:
    """A figure without a template: what it needs it says, and the page gives it its colours."""
    import plotly.graph_objects as go

    return go.Figure(
        {
            "data": traces,
            "layout": {
                "template": {},
                "margin": {"l": 8, "r": 16, "t": 8, "b": 44},
                "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "xanchor": "left", "traceorder": "normal"},
                "hovermode": "closest",
                "bargap": 0.35,
                "xaxis": {"automargin": True, "title": {"font": {"size": 12}}},
                "yaxis": {"automargin": True, "ticklabelstandoff": 6},
                "paper_bgcolor": "rgba(0,0,0,0)",
                "plot_bgcolor": "rgba(0,0,0,0)",
                **layout,
            },
        }
    )


def _lanes_shown(answer: Answer) -> tuple[dict[tuple[str, str], str], int]:
    """Label of each group's lane, the ones with most stopped time if there are too many. Labels are told apart by number."""
    weight: dict[tuple[str, str], float] = {(lane.cluster, lane.group): 0.0 for lane in answer.lanes}
    for item in answer.rebalances:
        key = (item.cluster, item.group)
        weight[key] = weight.get(key, 0.0) + item.stopped_seconds
    chosen = sorted(sorted(weight, key=lambda key: (-weight[key], key))[:LANES_MAX])
    many_clusters = len({cluster for cluster, _ in weight}) > 1
    labels: dict[tuple[str, str], str] = {}
    for cluster, group in chosen:
        label = chart_label(f"{cluster} / {group}" if many_clusters else group, 40)
        labels[cluster, group] = _told_apart(label, labels.values())
    return labels, len(weight) - len(chosen)


def _told_apart(label: str, taken: Iterable[str]) -> str:
    """Two long names may be cut to one label, and would share a lane."""
    used = set(taken)
    number = 2
    candidate = label
    while candidate in used:
        candidate = f"{label} ({number})"
        number += 1
    return candidate


def _longest(items: Sequence[Rebalance], limit: int) -> list[Rebalance]:
    return sorted(items, key=lambda item: (-item.stopped_seconds, item.started_at or 0, item.id))[:limit]


def _state_traces(lanes: Sequence[Lane], names: dict[tuple[str, str], str], clock: Clock, end: int | None) -> list[dict[str, Any]]:
    by_state: dict[str, list[tuple[str, int, int, str]]] = {}
    for lane in lanes:
        for stretch in lane.stretches:
            until = stretch.ended_at if stretch.ended_at is not None else max(end or 0, stretch.started_at)
            generation = "" if stretch.generation is None else f", generation {stretch.generation}"
            members = "" if stretch.member_count is None else f", {stretch.member_count} members"
            text = f"{stretch.state}{generation}{members}{', inferred' if stretch.inferred else ''}"
            by_state.setdefault(stretch.state, []).append((names[lane.cluster, lane.group], stretch.started_at, until, text))
    order = [*STATE_COLOURS, *sorted(set(by_state) - set(STATE_COLOURS))]
    return [_bars(state, STATE_COLOURS.get(state, "#808080"), by_state[state], clock, 0.36) for state in order if state in by_state]


def _bars(name: str, colour: str, items: Sequence[tuple[str, int, int, str]], clock: Clock, width: float) -> dict[str, Any]:
    """Bars along the time axis: (lane, start, end, text of the hover)."""
    return {
        "type": "bar",
        "orientation": "h",
        "name": chart_label(name),
        "y": [lane for lane, *_ in items],
        "base": [_axis_time(start, clock) for _, start, _, _ in items],
        "x": [(end - start) / 1000 for _, start, end, _ in items],
        "width": width,
        "marker": {"color": colour, "line": {"width": 0}},
        "customdata": [[chart_label(text, 120), duration((end - start) / 1_000_000)] for _, start, end, text in items],
        "hovertemplate": "%{customdata[0]}, %{customdata[1]}<extra></extra>",
    }


def _rebalance_traces(items: Sequence[Rebalance], names: dict[tuple[str, str], str], clock: Clock) -> list[dict[str, Any]]:
    """For each family of causes its stretches, and a mark at each start, so that a short one can be seen at any zoom."""
    traces: list[dict[str, Any]] = []
    for family in FAMILIES:
        alike = [item for item in items if item.family == family]
        if not alike:
            continue
        lanes = [names[item.cluster, item.group] for item in alike]
        starts = [_axis_time(item.started_at or 0, clock) for item in alike]
        texts = [[item.id, _hover(item, clock)] for item in alike]
        shared = {"y": lanes, "customdata": texts, "legendgroup": family, "hovertemplate": "%{customdata[1]}<extra></extra>"}
        traces.append(
            {
                **shared,
                "type": "bar",
                "orientation": "h",
                "name": FAMILY_TITLES[family],
                "base": starts,
                "x": [item.lasted_seconds * 1000 for item in alike],
                "width": 0.62,
                "marker": {"color": FAMILY_COLOURS[family], "opacity": 0.92, "line": {"width": 0}},
                "showlegend": False,
            }
        )
        marker = {"color": FAMILY_COLOURS[family], "symbol": FAMILY_SYMBOLS[family], "size": 9, "line": {"width": 1, "color": "#ffffff"}}
        traces.append({**shared, "type": "scatter", "mode": "markers", "name": FAMILY_TITLES[family], "x": starts, "marker": marker})
    return traces


def _hover(item: Rebalance, clock: Clock) -> str:
    """Lines of the hover box. Only the line breaks are ours; the rest has gone through `chart_label`."""
    who = ", ".join(chart_label(person.name, 32) for person in item.offenders[:3])
    lasted = duration(item.duration_seconds) if item.duration_seconds is not None else f"at least {duration(item.at_least_seconds)}"
    lines = [
        f"{chart_label(item.group)}, " + (f"generation {item.generations}" if item.generations else chart_label(item.topic or "")),
        f"{item.cause_title} ({share(item.confidence)})",
        who,
        f"{clock.time(item.started_at)} {clock.zone(item.started_at)}, {lasted}, {item.outcome}",
    ]
    return "<br>".join(line for line in lines if line)


def _outage_labels(outages: Sequence[Outage]) -> dict[str, str]:
    names = sorted({f"no leader: {item.topic}-{item.partition}" for item in outages})[:OUTAGE_LANES_MAX]
    labels: dict[str, str] = {}
    for name in names:
        labels[name] = _told_apart(chart_label(name, 40), labels.values())
    return labels


def _outage_traces(outages: Sequence[Outage], labels: dict[str, str], clock: Clock, end: int | None) -> list[dict[str, Any]]:
    items: list[tuple[str, int, int, str]] = []
    for item in outages:
        label = labels.get(f"no leader: {item.topic}-{item.partition}")
        if label is not None and item.offline_at is not None:
            until = item.online_at if item.online_at is not None else max(end or 0, item.offline_at)
            items.append((label, item.offline_at, until, f"{item.cause_title}, ended by {item.ended_by.replace('_', ' ')}"))
    return [_bars("Partition without leader", "#8f1d2c", items, clock, 0.5)] if items else []


def _axis_time(when: int, clock: Clock) -> str:
    """A time for a date axis, on the wall clock of the zone shown; Plotly's axes know no zones."""
    moment = clock.at(when)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}"


def _bar_label(item: Rebalance, clock: Clock, position: int) -> str:
    which = item.generations or chart_label(item.topic or "", 16)
    return f"{position}. {chart_label(item.group, 24)} {which} · {clock.time(item.started_at)[:8]}"
