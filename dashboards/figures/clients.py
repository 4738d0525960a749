"""States of clients over time, from their own logs."""

from __future__ import annotations

from collections import defaultdict

from dashboards.figures.base import Chart, Labels, bars, counted_left_out, figure
from dashboards.figures.palette import CLIENT_STATE_COLOURS, OTHER_STATE_COLOUR
from dashboards.figures.timeline import LANES_HELD, last_moments
from dashboards.view.answer import Answer, Lane
from dashboards.wording.escaping import chart_label

_LANES_SHOWN = 40
STRETCHES_OF_A_LANE = 200

WAITING = "REBALANCING"


def clients(answer: Answer) -> Chart | None:
    """A lane per client, longest waiting time on top."""
    ends = last_moments(answer)
    ranked = sorted(answer.client_lanes, key=lambda lane: (-_waited(lane, ends[lane.cluster]), lane.cluster, lane.group, lane.client or ""))
    lanes = ranked[:LANES_HELD]
    if not lanes:
        return None
    labels = Labels()
    by_state: defaultdict[str, list[tuple[str, int, int, str]]] = defaultdict(list)
    for lane in lanes:
        name = labels.add(lane, f"{lane.client} · {lane.group}", 52)
        for stretch in lane.stretches[-STRETCHES_OF_A_LANE:]:
            text = f"{chart_label(lane.client or '')}<br>{chart_label(stretch.state.lower())}"
            until = stretch.ended_at if stretch.ended_at is not None else ends[lane.cluster]
            by_state[stretch.state].append((name, stretch.started_at, max(until, stretch.started_at), text))
    order = [*CLIENT_STATE_COLOURS, *sorted(set(by_state) - set(CLIENT_STATE_COLOURS))]
    traces = [
        bars(state.lower(), CLIENT_STATE_COLOURS.get(state, OTHER_STATE_COLOUR), by_state[state], 0.55)
        for state in order
        if state in by_state
    ]
    made = figure(traces, times=True, barmode="overlay")
    shown = min(_LANES_SHOWN, len(lanes))
    note = "; ".join(counted_left_out(shown, len(ranked), "clients, those that waited longest"))
    rows = tuple((label, (lane.cluster, lane.group)) for lane, label in labels.lanes.items())
    summary = f"Lanes of {shown} clients in the states that their own logs show: out of the group, waiting for a rebalance, at work."
    return Chart("clients-lanes", "Clients by their own logs", summary, note, made, rows, _LANES_SHOWN, 22, 96)


def _waited(lane: Lane, end: int) -> int:
    waits = [stretch for stretch in lane.stretches if stretch.state == WAITING]
    return sum(max(0, (wait.ended_at if wait.ended_at is not None else end) - wait.started_at) for wait in waits)
