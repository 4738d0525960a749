"""Bars: phases of rebalances, ranking of offenders, savings of other configurations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from conf.causes import FAMILIES
from dashboards.figures.base import (
    AXIS,
    BAR_HEIGHT,
    FAMILY_TITLES,
    Chart,
    GroupKey,
    Labels,
    counted_left_out,
    figure,
    milliseconds,
)
from dashboards.figures.palette import (
    ASSIGNMENT_COLOUR,
    BLOCKING_COLOUR,
    BLOCKING_MARK_COLOUR,
    DELAY_COLOUR,
    FAMILY_COLOURS,
    SAVED_COLOUR,
    WAITING_COLOUR,
)
from dashboards.figures.timeline import cause_marks, hover
from dashboards.view.answer import Answer, Offender, Rebalance
from dashboards.wording.durations import duration
from dashboards.wording.escaping import chart_label

BARS_SHOWN = 25
BARS_OF_A_GROUP = 8
BARS_HELD = 400
OFFENDERS_SHOWN = 20
OFFENDERS_HELD = 200
MARKS_OF_AN_OFFENDER = 200
TICKED_COUNTS_MAX = 8
"""Up to this number each integer has a tick.

Otherwise the axis would repeat them.
"""
PHASES = (("Initial delay (expected)", DELAY_COLOUR), ("Waiting for members", WAITING_COLOUR), ("Assignment", ASSIGNMENT_COLOUR))


def phases(answer: Answer) -> Chart | None:
    """Phases of the longest rebalances.

    These are the initial delay, waiting for members, and assignment.
    """
    # RocketMQ's clients do not wait for each other; the queues show what takes long.
    rows = [(row, item) for row, item in enumerate(answer.rebalances) if item.lasted_seconds > 0 and item.system == "kafka"]
    longest = _longest_bars(sorted(rows, key=lambda pair: (-pair[1].lasted_seconds, pair[1].started_at or 0, pair[1].id)))
    if not longest:
        return None
    labels = Labels()
    for place, (_, item) in enumerate(longest, start=1):
        which = item.generations or chart_label(item.topic or "", 16)
        labels.add(place, f"{place}. {chart_label(item.group, 24)} {which}".strip(), 60)
    names = list(labels.lanes.values())
    delays = [min(item.initial_delay_seconds or 0.0, item.waiting_seconds) for _, item in longest]
    waits = [item.waiting_seconds - delay for (_, item), delay in zip(longest, delays, strict=True)]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "meta": {},
            "y": names,
            "x": [round(value, 3) for value in values],
            "marker": {"color": colour},
            "customdata": [
                [row, f"{hover(item)}<br>{name}: {duration(value)}"] for (row, item), value in zip(longest, values, strict=True)
            ],
            "hovertemplate": "%{customdata[1]}<extra></extra>",
        }
        for (name, colour), values in zip(PHASES, (delays, waits, [item.assignment_seconds for _, item in longest]), strict=True)
    ]
    made = figure(traces, barmode="stack", xaxis={**AXIS, "title": {"text": "seconds", "font": {"size": 12}}, "rangemode": "tozero"})
    lanes = tuple((name, (item.cluster, item.group)) for name, (_, item) in zip(names, longest, strict=True))
    shown = min(BARS_SHOWN, len(longest))
    note = f"the {shown} longest of {len(answer.rebalances):,}" if shown < len(answer.rebalances) else ""
    summary = f"Stacked bars of the {shown} longest rebalances, split into initial delay, waiting for members, and assignment."
    return Chart("phases", "Where the time went", summary, note, made, lanes, BARS_SHOWN, BAR_HEIGHT)


def _longest_bars(ordered: Sequence[tuple[int, Rebalance]]) -> list[tuple[int, Rebalance]]:
    """The longest rebalances overall, then the longest of each group.

    The latter appear if the reader selects a group.
    """
    seen: defaultdict[GroupKey, int] = defaultdict(int)
    kept: list[tuple[int, Rebalance]] = []
    for place, (row, item) in enumerate(ordered):
        seen[item.cluster, item.group] += 1
        if place < BARS_SHOWN or (seen[item.cluster, item.group] <= BARS_OF_A_GROUP and len(kept) < BARS_HELD):
            kept.append((row, item))
    return kept


def ranking(answer: Answer) -> Chart | None:
    """Members ranked by rebalances caused, with the times beside them."""
    acted = [item for item in answer.offenders if item.caused or item.blocked]
    members = acted[:OFFENDERS_HELD]
    if not members:
        return None
    labels = Labels()
    for place, item in enumerate(members, start=1):
        labels.add((item.cluster, item.group, item.name), f"{place}. {chart_label(item.name, 32)} · {chart_label(item.group, 24)}", 64)
    names = list(labels.lanes.values())
    traces = [*_counts(members, names), *_moments(answer.rebalances, labels.lanes)]
    has_few_bars = max(item.caused + item.blocked for item in members) <= TICKED_COUNTS_MAX
    counts = {**AXIS, "title": {"text": "rebalances", "font": {"size": 12}}, "domain": [0, 0.44], "rangemode": "tozero", "tickformat": ",d"}
    moments = {**AXIS, "type": "date", "anchor": "y", "domain": [0.48, 1]}
    made = figure(traces, barmode="stack", bargap=0.45, xaxis={**counts, **({"dtick": 1} if has_few_bars else {})}, xaxis2=moments)
    lanes = tuple((name, (item.cluster, item.group)) for name, item in zip(names, members, strict=True))
    note = "; ".join(counted_left_out(min(len(members), OFFENDERS_SHOWN), len(acted), "members"))
    summary = (
        f"Stacked bars of the {min(len(members), OFFENDERS_SHOWN)} members that groups stood still for longest, "
        "by how many rebalances they caused and held up, and marks at the times when they did."
    )
    return Chart("ranking", "Who was behind it, and when", summary, note, made, lanes, OFFENDERS_SHOWN, BAR_HEIGHT)


def _counts(offenders: Sequence[Offender], names: Sequence[str]) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = []
    for family in FAMILIES:
        counts = [dict(item.families).get(family, 0) for item in offenders]
        if any(counts):
            traces.append(_bar(FAMILY_TITLES[family], {"color": FAMILY_COLOURS[family]}, names, counts, family))
    if any(item.blocked for item in offenders):
        marker = {"color": BLOCKING_COLOUR, "pattern": {"shape": "/", "size": 6}}
        traces.append(_bar("Held others up", marker, names, [item.blocked for item in offenders], "blocked"))
    return traces


def _bar(title: str, marker: Mapping[str, Any], names: Sequence[str], counts: Sequence[int], legend: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": title,
        "meta": {},
        "legendgroup": legend,
        "y": list(names),
        "x": list(counts),
        "marker": dict(marker),
        "hovertemplate": f"{title}: %{{x}}<extra></extra>",
    }


def _moments(rebalances: Sequence[Rebalance], names: Mapping[Any, str]) -> list[dict[str, Any]]:
    """A strip of marks for each offender, on one time axis."""
    strips: defaultdict[str, list[tuple[str, int, Rebalance]]] = defaultdict(list)
    drawn: defaultdict[str, int] = defaultdict(int)
    for row, item in enumerate(rebalances):
        if item.started_at is None:
            continue
        roles = [(item.family, person.name) for person in item.offenders] + [("blocked", person.name) for person in item.blockers]
        for kind, person in dict.fromkeys(roles):
            name = names.get((item.cluster, item.group, person))
            if name is not None and drawn[name] < MARKS_OF_AN_OFFENDER:
                drawn[name] += 1
                strips[kind].append((name, row, item))
    held_up = {"marker": {"color": BLOCKING_MARK_COLOUR, "symbol": "line-ns-open", "size": 11, "line": {"width": 2}}}
    return [
        {
            **cause_marks(kind if kind in FAMILIES else "unknown"),
            **({} if kind in FAMILIES else held_up),
            "legendgroup": kind,
            "showlegend": False,
            "xaxis": "x2",
            "y": [name for name, _, _ in strips[kind]],
            "x": [milliseconds(item.started_at or 0) for _, _, item in strips[kind]],
            "customdata": [[row, hover(item)] for _, row, item in strips[kind]],
            "hovertemplate": "%{customdata[1]}<extra></extra>",
        }
        for kind in (*FAMILIES, "blocked")
        if strips[kind]
    ]


def what_ifs(answer: Answer) -> Chart | None:
    """Downtime under other configurations that would have saved some."""
    shown = [item for item in answer.what_ifs if item.total("saved_seconds") > 0]
    if not shown:
        return None
    names = [chart_label(item.title) for item in shown]
    left = [max(0.0, item.total("stopped_seconds") - item.total("saved_seconds")) for item in shown]
    saved = [item.total("saved_seconds") for item in shown]
    parts: list[tuple[str, list[float], dict[str, Any]]] = [
        ("Still stopped", left, {"color": WAITING_COLOUR}),
        ("Saved", saved, {"color": SAVED_COLOUR, "pattern": {"shape": "/", "size": 5}}),
    ]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": title,
            "meta": {},
            "y": names,
            "x": [round(value, 3) for value in values],
            "marker": marker,
            "customdata": [
                [None, f"{name}<br>{title.lower()}: {duration(value)}<br>{int(item.total('avoided'))} rebalances would have been avoided"]
                for name, item, value in zip(names, shown, values, strict=True)
            ],
            "hovertemplate": "%{customdata[1]}<extra></extra>",
        }
        for title, values, marker in parts
    ]
    seconds = {**AXIS, "title": {"text": "seconds that groups stood still", "font": {"size": 12}}, "rangemode": "tozero"}
    made = figure(traces, barmode="stack", xaxis=seconds)
    lanes = tuple((name, None) for name in names)
    summary = f"Stacked bars for {len(shown)} other configurations: how long groups would still have stood still, and how much shorter."
    return Chart("whatif-bars", "What would have helped", summary, "", made, lanes, len(lanes), BAR_HEIGHT)
