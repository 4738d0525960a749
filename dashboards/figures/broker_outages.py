"""Outages of brokers, each followed by its leaderless partitions, one lane each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dashboards.figures.base import Labels, bars
from dashboards.figures.palette import OUTAGE_COLOUR
from dashboards.view.answer import Answer, Outage
from dashboards.wording.escaping import chart_label

OUTAGE_LANES_MAX = 12


@dataclass(slots=True)
class BrokerLanes:
    """Lanes of brokers, each followed by lanes of its leaderless partitions."""

    brokers: Labels = field(default_factory=Labels)
    partitions: Labels = field(default_factory=Labels)
    order: list[str] = field(default_factory=list)


def lost_together(item: Outage) -> tuple[str, str]:
    """Cluster and lost brokers of an outage: the heading of its lane."""
    return item.cluster, " and ".join(sorted(item.lost_brokers, key=_by_number))


def _by_number(node: str) -> tuple[int, str]:
    return len(node), node


def down_lanes(answer: Answer) -> BrokerLanes:
    """Lanes for the longest outages of partitions, up to the limit."""
    down = BrokerLanes()
    longest = sorted(answer.outages, key=lambda item: (-(item.seconds or float("inf")), item.topic, item.partition))
    kept = {(*lost_together(item), item.topic, item.partition): None for item in longest}
    partitions = sorted(list(kept)[:OUTAGE_LANES_MAX], key=lambda key: (key[0], *_by_number(key[1]), key[2], key[3]))
    gone = sorted({(item.cluster, item.node) for item in answer.broker_outages}, key=lambda key: (key[0], *_by_number(key[1])))
    gone = gone[:OUTAGE_LANES_MAX]
    under = [key[:2] for key in partitions]
    for cluster, nodes in sorted({*gone, *under}, key=lambda key: (key[0], *_by_number(key[1]))):
        if (cluster, nodes) in gone:
            down.order.append(down.brokers.add((cluster, nodes), f"broker {nodes} down"))
        for key in partitions:
            if key[:2] == (cluster, nodes):
                down.order.append(down.partitions.add(key, f"no leader: {key[2]}-{key[3]}"))
    return down


def down_traces(answer: Answer, lanes: BrokerLanes, ends: Mapping[str, int]) -> list[dict[str, Any]]:
    """Bars of outages.

    An open outage extends to the end of its cluster's logs.
    """
    broken: list[tuple[str, int, int, str]] = []
    for item in answer.outages:
        label = lanes.partitions.lanes.get((*lost_together(item), item.topic, item.partition))
        if label is not None and item.offline_at is not None:
            until = item.online_at if item.online_at is not None else max(ends[item.cluster], item.offline_at)
            broken.append((label, item.offline_at, until, f"{item.cause_title}, ended by {chart_label(item.ended_by.replace('_', ' '))}"))
    down: list[tuple[str, int, int, str]] = []
    for gone in answer.broker_outages:
        label = lanes.brokers.lanes.get((gone.cluster, gone.node))
        if label is not None and gone.down_at is not None:
            until = gone.up_at if gone.up_at is not None else max(ends[gone.cluster], gone.down_at)
            down.append((label, gone.down_at, until, chart_label(gone.how.replace("_", " "))))
    hatched = {"marker": {"color": OUTAGE_COLOUR, "pattern": {"shape": "/", "size": 5}, "line": {"width": 0}}}
    traces = [bars("Broker down", OUTAGE_COLOUR, down, 0.5, **hatched)] if down else []
    return traces + ([bars("Partition without leader", OUTAGE_COLOUR, broken, 0.5)] if broken else [])
