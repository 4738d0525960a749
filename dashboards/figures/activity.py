"""Activity over time: rebalances per hour, member counts, coverage of files."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from dashboards.figures.base import Chart, Labels, bars, counted_left_out, figure, group_labels, lanes_of, milliseconds
from dashboards.figures.palette import (
    CLIENT_FILE_COLOUR,
    MEMBERS_COLOUR,
    NO_MEMBERS_COLOUR,
    OTHER_FILE_COLOUR,
    OUTLINE_COLOUR,
    SERVER_FILE_COLOUR,
)
from dashboards.figures.timeline import LANES_HELD, LANES_SHOWN, lane_weights, last_moments
from dashboards.view.answer import Answer
from dashboards.view.charts import HeadCount
from dashboards.wording.durations import duration
from dashboards.wording.escaping import chart_label, common_folder
from dashboards.wording.units import MICROSECONDS

BIN_SECONDS = (10, 30, 60, 300, 600, 1800, 3600, 6 * 3600, 24 * 3600)
BINS_MAX = 60
HOURLY_BINS_MAX = 14 * 24
"""Hourly bins are preferred while they can be distinguished."""
BINS_HELD_MAX = 400
LANES_MAX = 40
STEPS_MAX = 8_000
COLOUR_BAR = {"lenmode": "pixels", "len": 180, "y": 1, "yanchor": "top"}

FILE_STYLES: dict[str, dict[str, Any]] = {
    "server": {"color": SERVER_FILE_COLOUR},
    "client": {"color": CLIENT_FILE_COLOUR},
    "request": {"color": SERVER_FILE_COLOUR, "pattern": {"shape": "/", "size": 5}},
    "controller": {"color": CLIENT_FILE_COLOUR, "pattern": {"shape": "x", "size": 5}},
    "state_change": {"color": SERVER_FILE_COLOUR, "pattern": {"shape": ".", "size": 5}},
    "other": {"color": OTHER_FILE_COLOUR},
}


def heat(answer: Answer) -> Chart | None:
    """Rebalances of each group per hour.

    Shorter logs use shorter bins.
    """
    starts = [item.started_at for item in answer.rebalances if item.started_at is not None]
    if len(starts) < 2:
        return None
    width, first, count = _bins(min(starts), max(starts))
    weights = lane_weights(answer)
    labels = group_labels(weights, LANES_HELD)
    cells: Counter[tuple[str, int]] = Counter()
    for item in answer.rebalances:
        lane = labels.lanes.get((item.cluster, item.group))
        if lane is not None and item.started_at is not None:
            cells[lane, (item.started_at - first) // width] += 1
    # Lanes without a rebalance would be empty here.
    busy = {lane for lane, _ in cells}
    rows = [label for label in labels.lanes.values() if label in busy]
    trace = {
        "type": "heatmap",
        "meta": {"times": "x"},
        "x": [milliseconds(first + place * width + width // 2) for place in range(count)],
        "y": rows,
        "z": [[cells.get((label, place)) for place in range(count)] for label in rows],
        "zmin": 0,
        "xgap": 1,
        "ygap": 2,
        "colorbar": {
            "title": {"text": "rebalances", "side": "right"},
            "thickness": 10,
            "outlinewidth": 0,
            "tickformat": ",d",
            **COLOUR_BAR,
        },
        "hovertemplate": "%{y}<br>%{z} from about %{x|%Y-%m-%d %H:%M:%S}<extra></extra>",
    }
    made = figure([trace], times=True)
    words = duration(width / MICROSECONDS)
    per = {"1 h": "hour", "1 min": "minute", "1 d": "day"}.get(words, words)
    summary = f"A heat map of rebalances per {per} for {len(rows)} groups."
    lanes = tuple((label, key) for key, label in labels.lanes.items() if label in busy)
    bins = (first // 1000, width // 1000, count)
    return Chart("heat", f"Rebalances per {per} and group", summary, "", made, lanes, LANES_SHOWN, 26, 80, bins)


def _bins(first: int, last: int) -> tuple[int, int, int]:
    """Width, start and number of bins."""
    for seconds in BIN_SECONDS:
        width = seconds * MICROSECONDS
        count = last // width - first // width + 1
        if count <= (HOURLY_BINS_MAX if seconds == 3600 else BINS_MAX):
            return width, first // width * width, count
    width = -(-(last - first) // (BINS_HELD_MAX * 86_400 * MICROSECONDS)) * 86_400 * MICROSECONDS
    return width, first // width * width, last // width - first // width + 1


def member_bands(answer: Answer) -> Chart | None:
    """Member counts of each group, as thickness of its lane."""
    shown = [count for count in answer.head_counts if len(count.steps) > 1]
    if not shown:
        return None
    weights = lane_weights(answer)
    labels = group_labels({(count.cluster, count.group): weights.get((count.cluster, count.group), 0.0) for count in shown}, LANES_HELD)
    ends = last_moments(answer)
    share = max(2, STEPS_MAX // len(labels.lanes))
    drawn = [count for count in shown if (count.cluster, count.group) in labels.lanes]
    traces = [_head_count_trace(count, labels.lanes[count.cluster, count.group], ends[count.cluster], share) for count in drawn]
    cut = [f"the last {share:,} changes of each group"] if any(len(count.steps) > share for count in shown) else []
    note = "; ".join([*counted_left_out(len(labels.lanes), len(shown), "groups"), *cut])
    made = figure(traces, times=True, barmode="overlay", showlegend=False, uniformtext={"minsize": 9, "mode": "hide"})
    summary = f"Members over time in {len(labels.lanes)} groups: a lane is as thick as the group is large, and says the number."
    return Chart("members", "Members over time", summary, note, made, lanes_of(labels), LANES_MAX, room=64)


def _head_count_trace(count: HeadCount, lane: str, end: int, limit: int) -> dict[str, Any]:
    steps = count.steps[-limit:]
    members_max = max(number for _, number in count.steps) or 1
    ends = [at for at, _ in steps[1:]] + [max(end, steps[-1][0])]
    items = [(lane, at, until, f"{chart_label(count.group)}<br>{number} members") for (at, number), until in zip(steps, ends, strict=True)]
    trace = bars("members", MEMBERS_COLOUR, items, 0.0)
    trace["width"] = [0.06 + 0.74 * number / members_max for _, number in steps]
    trace["marker"] = {"color": [NO_MEMBERS_COLOUR if number == 0 else MEMBERS_COLOUR for _, number in steps], "line": {"width": 0}}
    trace |= {"text": [str(number) if number else "" for _, number in steps], "textposition": "inside", "insidetextanchor": "middle"}
    return trace | {"constraintext": "both", "textangle": 0, "textfont": {"color": OUTLINE_COLOUR, "size": 11}}


def coverage(answer: Answer) -> Chart | None:
    """Time range of each file.

    Outside all lanes nothing is known.
    """
    files = [item for item in answer.files if item.first_at is not None and item.last_at is not None and item.recognised]
    if len(files) < 2:
        return None
    base = common_folder([item.path for item in files])
    labels = Labels()
    by_kind: defaultdict[str, list[tuple[str, int, int, str]]] = defaultdict(list)
    for item in files:
        name = labels.add(item.path, _end_of(item.path.removeprefix(base), 44), 44)
        text = f"{_end_of(item.path, 60)}<br>{item.recognised:,} of {item.lines:,} lines recognised"
        by_kind[item.kind or "other"].append((name, item.first_at or 0, item.last_at or 0, text))
    kinds = sorted(by_kind, key=lambda kind: ([*FILE_STYLES, kind].index(kind), kind))
    traces = [bars(kind.replace("_", " "), "", by_kind[kind], 0.5, marker=FILE_STYLES.get(kind, FILE_STYLES["other"])) for kind in kinds]
    made = figure(traces, times=True, barmode="overlay")
    shown = min(LANES_MAX, len(files))
    lanes = tuple((label, None) for label in labels.lanes.values())
    note = "; ".join(counted_left_out(shown, len(files), "files"))
    summary = f"The time that each of {shown} files covers."
    return Chart("coverage", "Which file tells of which time", summary, note, made, lanes, LANES_MAX, 20, 100)


def _end_of(path: str, length: int) -> str:
    """Shorten a path from the left, because its end is more informative."""
    while len(path) > length and "/" in path:
        path = "…/" + path.removeprefix("…/").partition("/")[2] if path.removeprefix("…/").count("/") else path.rpartition("/")[2]
    return chart_label(path if len(path) <= length else "…" + path[1 - length :], length)
