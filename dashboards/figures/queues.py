"""RocketMQ: a lane per queue with its owners and faults."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from dashboards.figures.base import Chart, Labels, bars, counted_left_out, figure
from dashboards.figures.palette import NO_OWNER_COLOUR, OUTAGE_COLOUR, OWNER_COLOURS
from dashboards.figures.timeline import LANES_HELD, last_moments
from dashboards.view.answer import Answer
from dashboards.view.charts import OwnershipSpan, QueueLane
from dashboards.wording.escaping import chart_label
from dashboards.wording.units import listed

_LANES_SHOWN = 64
_STRETCHES_MAX = 8_000

_FAULTS = {
    "no_owner": {"color": NO_OWNER_COLOUR, "pattern": {"shape": "/", "size": 5}, "line": {"width": 0}},
    "two_owners": {"color": OUTAGE_COLOUR, "pattern": {"shape": "x", "size": 5}, "line": {"width": 0}},
}
"""Hatched, to differ from every owner."""

Bar = tuple[str, int, int, str]


def queues(answer: Answer) -> Chart | None:
    """Owners of queues over time, contested queues on top."""
    lanes = answer.queue_lanes[:LANES_HELD]
    if not lanes:
        return None
    labels = Labels()
    has_groups = len({(lane.cluster, lane.group) for lane in lanes}) > 1
    for lane in lanes:
        labels.add(lane, f"{lane.queue} · {lane.topic}" + (f" ({lane.group})" if has_groups else ""), 52)
    ends = last_moments(answer)
    colours: dict[str, int] = {}
    owned: defaultdict[int, list[Bar]] = defaultdict(list)
    faulty: defaultdict[str, list[Bar]] = defaultdict(list)
    for lane, span in _stretches(lanes):
        owner = span.owners[0] if span.owners else "?"
        items = faulty[span.kind] if span.kind in _FAULTS else owned[colours.setdefault(owner, len(colours)) % len(OWNER_COLOURS)]
        until = span.ended_at if span.ended_at is not None else max(ends[lane.cluster], span.started_at)
        items.append((labels.lanes[lane], span.started_at, until, _text(lane, span)))
    traces = [bars(_title(colours, place), OWNER_COLOURS[place], items, 0.62) for place, items in sorted(owned.items())]
    traces += [_faults(kind, faulty[kind]) for kind in _FAULTS if faulty[kind]]
    made = figure(traces, times=True, barmode="overlay")
    contested = sum(lane.is_contested for lane in lanes)
    summary = f"Lanes of {len(lanes)} queues in the colours of the clients that held them; {contested} were at times held by none or two."
    note = "; ".join(counted_left_out(min(_LANES_SHOWN, len(lanes)), len(answer.queue_lanes), "queues, the contested first"))
    rows = tuple((label, (lane.cluster, lane.group)) for lane, label in labels.lanes.items())
    return Chart("queue-lanes", "Who held which queue", summary, note, made, rows, _LANES_SHOWN, 20, 110)


def _stretches(lanes: Sequence[QueueLane]) -> Iterator[tuple[QueueLane, OwnershipSpan]]:
    """Stretches of all lanes, up to the limit of a drawing."""
    left = _STRETCHES_MAX
    for lane in lanes:
        for stretch in lane.stretches[:left]:
            yield lane, stretch
        left = max(0, left - len(lane.stretches))


def _text(lane: QueueLane, span: OwnershipSpan) -> str:
    who = listed([chart_label(owner, 40) for owner in span.owners]) if span.owners else ""
    return f"{chart_label(lane.queue)}<br>{span.kind.replace('_', ' ')}" + (f": {who}" if who else "")


def _title(colours: dict[str, int], place: int) -> str:
    """Names of the owners that share a colour."""
    owners = [name for name, number in colours.items() if number % len(OWNER_COLOURS) == place]
    return owners[0] if len(owners) == 1 else f"{owners[0]} and {len(owners) - 1} more"


def _faults(kind: str, items: list[Bar]) -> dict[str, Any]:
    return bars(kind.replace("_", " "), OUTAGE_COLOUR, items, 0.62, marker=_FAULTS[kind])
