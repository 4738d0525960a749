"""Common parts of figures: titles, symbols, labels, traces along a time axis.

Labels pass through `chart_label`, because Plotly interprets markup. Colour never carries a meaning alone. Figures
contain neither themes nor time zones: the page sets the colours of paper, text and grid, and converts times
(milliseconds UTC here) to the zone chosen by the reader. Each trace names the attribute that holds its times in `meta`.
If the first value of a point's `customdata` is a number, it is the index of a rebalance in the answer; the page draws
the point only if that rebalance passes the filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboards.figures.palette import TRANSPARENT
from dashboards.wording.durations import duration
from dashboards.wording.escaping import chart_label, shortened

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
AXIS = {"automargin": True, "title": {"font": {"size": 12}}}
LANE_HEIGHT = 34
BAR_HEIGHT = 26
LABEL_LENGTH = 40
CLUSTER_LENGTH = 20

GroupKey = tuple[str, str]
"""Cluster and group."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure, its text alternative, and a note on omitted data.

    `lanes` are the rows of the vertical axis from top to bottom. Each has its group, or None if it is shown whatever
    group is selected. The page draws the first `lanes_max` lanes that pass the filters. The height is `room` pixels
    plus `lane_height` per lane.
    """

    name: str
    title: str
    summary: str
    note: str
    figure: Mapping[str, Any]
    lanes: tuple[tuple[str, GroupKey | None], ...]
    lanes_max: int
    lane_height: int = LANE_HEIGHT
    room: int = 96
    bins: tuple[int, int, int] | None = None


@dataclass(slots=True)
class Labels:
    """Unique labels of lanes.

    Long names may be shortened to the same label, so a number is appended.
    """

    lanes: dict[Any, str] = field(default_factory=dict)

    def add(self, key: Any, text: str, length: int = LABEL_LENGTH) -> str:
        """Add a lane and return its unique label."""
        label = candidate = chart_label(text, length)
        used = set(self.lanes.values())
        number = 2
        while candidate in used:
            candidate = f"{label} ({number})"
            number += 1
        self.lanes[key] = candidate
        return candidate


def group_labels(weights: Mapping[GroupKey, float], limit: int) -> Labels:
    """Lanes of the heaviest groups, by name.

    The cluster is included if there are several.
    """
    labels = Labels()
    has_clusters = len({cluster for cluster, _ in weights}) > 1
    for cluster, group in heaviest_keys(weights, limit):
        labels.add((cluster, group), f"{shortened(cluster, CLUSTER_LENGTH)} / {group}" if has_clusters else group)
    return labels


def heaviest_keys(weights: Mapping[GroupKey, float], limit: int) -> list[GroupKey]:
    """Keys with the greatest weights, ties broken by key."""
    return sorted(weights, key=lambda key: (-weights[key], key))[:limit]


def bars(name: str, colour: str, items: Sequence[tuple[str, int, int, str]], width: float, **extra: Any) -> dict[str, Any]:
    """Bars along the time axis.

    Items are (lane, start, end, hover text). The text must have passed through `chart_label`.
    """
    return {
        "type": "bar",
        "orientation": "h",
        "name": chart_label(name),
        "meta": {"times": "base"},
        "y": [lane for lane, *_ in items],
        "base": [milliseconds(start) for _, start, _, _ in items],
        "x": [(end - start) / 1000 for _, start, end, _ in items],
        "width": width,
        "marker": {"color": colour, "line": {"width": 0}},
        "customdata": [[None, f"{text}, {duration((end - start) / 1_000_000)}"] for _, start, end, text in items],
        "hovertemplate": "%{customdata[1]}<extra></extra>",
        **extra,
    }


def milliseconds(when: int) -> float:
    """Convert microseconds to milliseconds for a date axis."""
    return when / 1000 if when % 1000 else when // 1000


def figure(traces: list[dict[str, Any]], *, times: bool = False, **layout: Any) -> dict[str, Any]:
    """A figure as Plotly's JSON, without a template; the page sets its colours."""
    return {
        "data": traces,
        "layout": {
            "template": {},
            "margin": {"l": 8, "r": 16, "t": 8, "b": 44},
            "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "xanchor": "left", "traceorder": "normal"},
            "hovermode": "closest",
            "bargap": 0.35,
            "xaxis": {**AXIS, **({"type": "date"} if times else {})},
            "yaxis": {"automargin": True, "ticklabelstandoff": 6, "type": "category", "categoryorder": "array"},
            "paper_bgcolor": TRANSPARENT,
            "plot_bgcolor": TRANSPARENT,
            **layout,
        },
    }


def counted_left_out(shown: int, of: int, noun: str) -> list[str]:
    """A note on omitted items, empty if all are shown."""
    return [f"{shown:,} of {of:,} {noun}"] if shown < of else []


def lanes_of(labels: Labels, *fixed: Iterable[str]) -> tuple[tuple[str, GroupKey | None], ...]:
    """Lanes of groups, after the fixed lanes.

    Fixed lanes are shown whatever group is selected.
    """
    always: list[tuple[str, GroupKey | None]] = [(label, None) for labels_ in fixed for label in labels_]
    return (*always, *((label, key) for key, label in labels.lanes.items()))
