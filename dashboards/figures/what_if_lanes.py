"""Groups as they were beside how they would have been, under each computed configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from dashboards.figures.base import CLUSTER_LENGTH, Chart, GroupKey, Labels, bars, counted_left_out, figure, heaviest_keys
from dashboards.figures.palette import ACTUAL_COLOUR, PREDICTED_COLOUR, STATE_COLOURS
from dashboards.view.answer import Answer
from dashboards.view.charts import WhatIf, WhatIfLane
from dashboards.wording.escaping import chart_label, shortened
from dashboards.wording.units import MarkedClock

_NAME = "whatif-lanes"
GROUPS_SHOWN = 20
NAME_LENGTH = 22
"""Characters of a group's name, so that the lane's other words have room."""
LANE_LENGTH = CLUSTER_LENGTH + 3 + 2 * NAME_LENGTH
WAS, WOULD_BE = "as it was", "as it would have been"

CLOCK = MarkedClock()


def what_if_lanes(answer: Answer) -> Chart | None:
    """Two lanes for each group that some configuration would have changed.

    Traces of a configuration have its place in `meta`; the page draws those of the one that is chosen.
    """
    weights = {
        (group.cluster, group.group): group.stopped_seconds
        for item in answer.what_ifs
        for group in item.groups
        if group.was != group.would_be
    }
    if not weights:
        return None
    keys = heaviest_keys(weights, GROUPS_SHOWN)
    labels = _labels(keys)
    first = {(group.cluster, group.group): group for group in answer.what_ifs[0].groups}
    traces = [
        _stable(answer.what_ifs, keys, labels),
        _rebalances("Rebalance that there was", ACTUAL_COLOUR, (first[key] for key in keys), labels, WAS),
        *(_would_be(place, item, labels) for place, item in enumerate(answer.what_ifs)),
    ]
    made = figure([trace for trace in traces if trace["y"]], times=True, barmode="overlay")
    lanes = tuple((labels.lanes[key, which], key) for key in keys for which in (WAS, WOULD_BE))
    summary = f"Two lanes for each of {len(keys)} groups: its rebalances, and those under the configuration that is chosen."
    note = "; ".join(counted_left_out(len(keys), len(weights), "groups"))
    return Chart(_NAME, "As it was, and as it would have been", summary, note, made, lanes, len(lanes), room=130)


def _labels(keys: Collection[GroupKey]) -> Labels:
    """Names of the lanes; the cluster is included if there are several."""
    labels = Labels()
    has_clusters = len({cluster for cluster, _ in keys}) > 1
    for cluster, group in keys:
        name = f"{shortened(cluster, CLUSTER_LENGTH)} / " * has_clusters + shortened(group, NAME_LENGTH)
        for which in (WAS, WOULD_BE):
            labels.add(((cluster, group), which), f"{name}, {which}", length=LANE_LENGTH)
    return labels


def _stable(results: Iterable[WhatIf], keys: Iterable[GroupKey], labels: Labels) -> dict[str, Any]:
    """The time between a group's first rebalance and its last, in both lanes."""
    times: dict[GroupKey, list[int]] = {}
    for item in results:
        for group in item.groups:
            times.setdefault((group.cluster, group.group), []).extend(at for pair in (*group.was, *group.would_be) for at in pair)
    spans = [
        (labels.lanes[key, which], min(times[key]), max(times[key]), f"{chart_label(key[1])}<br>between rebalances")
        for key in keys
        for which in (WAS, WOULD_BE)
    ]
    return bars("Stable", STATE_COLOURS["Stable"], spans, 0.36)


def _rebalances(name: str, colour: str, groups: Iterable[WhatIfLane], labels: Labels, which: str) -> dict[str, Any]:
    """Bars of the rebalances of some groups in one of their lanes."""
    spans = [
        (labels.lanes[(group.cluster, group.group), which], start, end, f"{chart_label(group.group)}, {which}<br>{CLOCK.full(start)}")
        for group in groups
        if ((group.cluster, group.group), which) in labels.lanes
        for start, end in (group.was if which == WAS else group.would_be)
    ]
    lined = {"color": colour, "line": {"width": 1, "color": colour}}  # which keeps short ones visible
    return bars(name, colour, spans, 0.62, marker=lined)


def _would_be(place: int, item: WhatIf, labels: Labels) -> dict[str, Any]:
    trace = _rebalances("Rebalance that there would have been", PREDICTED_COLOUR, item.groups, labels, WOULD_BE)
    return {**trace, "meta": {**trace["meta"], "configuration": place}}
