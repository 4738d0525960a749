"""RocketMQ: standing faults of groups, and queues with no owner or several."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from conf.causes import causes, incident_kinds
from dashboards.answer.totals import unknown_last
from dashboards.view import answer as data
from dashboards.view import charts as pictured
from dashboards.view.row_access import column, evidence_lines
from dashboards.wording.units import MICROSECONDS

_TITLES = {"multi_topic_skew": "Topics shared out unevenly"}
"""Kinds of conditions that never cause a rebalance."""


def conditions(rows: Iterable[Any]) -> list[data.Condition]:
    """Standing faults, oldest first."""
    return sorted(map(_condition, rows), key=lambda item: (unknown_last(item.started_at), item.cluster, item.group, item.kind))


def _condition(row: Any) -> data.Condition:
    kind = column(row, "kind")
    entry = causes().get((column(row, "system"), kind)) or incident_kinds().get(kind)
    return data.Condition(
        cluster=column(row, "cluster"),
        group=column(row, "group"),
        kind=kind,
        title=entry.title if entry else _TITLES.get(kind, kind.replace("_", " ")),
        members=tuple(column(row, "members") or ()),
        started_at=column(row, "started_at"),
        ended_at=column(row, "ended_at"),
        evidence=evidence_lines(row),
        advice=entry.advice if entry else (),
        detail=column(row, "detail") or "",
    )


def contested(rows: Iterable[Any]) -> list[data.ContestedQueues]:
    """Queues with no owner or two, one entry per topic, longest first."""
    grouped: defaultdict[tuple[str, str, str, str], list[Any]] = defaultdict(list)
    for row in rows:
        if column(row, "kind") != "owned":
            grouped[column(row, "cluster"), column(row, "group"), column(row, "topic"), column(row, "kind")].append(row)
    queues = [_contested(key, members) for key, members in grouped.items()]
    return sorted(
        queues, key=lambda item: (item.ended_at is not None, -(item.seconds or 0.0), item.cluster, item.group, item.topic, item.kind)
    )


def _contested(key: tuple[str, str, str, str], rows: list[Any]) -> data.ContestedQueues:
    starts = [time for row in rows if (time := column(row, "started_at")) is not None]
    ends = [column(row, "ended_at") for row in rows]
    lengths = [
        (column(row, "ended_at") - column(row, "started_at")) / MICROSECONDS
        for row in rows
        if column(row, "ended_at") is not None and column(row, "started_at") is not None
    ]
    return data.ContestedQueues(
        *key,
        queues=tuple(sorted({column(row, "queue") for row in rows})),
        owners=tuple(sorted({name for row in rows for name in column(row, "owners") or ()})),
        started_at=min(starts, default=None),
        ended_at=max(ends) if all(end is not None for end in ends) else None,
        seconds=max(lengths, default=None),
        inferred=all(column(row, "inferred") for row in rows),
    )


def queue_lanes(rows: Iterable[Any]) -> list[pictured.QueueLane]:
    """Owners of each queue over time.

    Queues that were ever contested come first, the rest by name.
    """
    grouped: defaultdict[tuple[str, str, str, str], list[pictured.OwnershipSpan]] = defaultdict(list)
    for row in rows:
        if column(row, "started_at") is not None:
            span = pictured.OwnershipSpan(
                column(row, "kind"), tuple(column(row, "owners") or ()), column(row, "started_at"), column(row, "ended_at")
            )
            grouped[column(row, "cluster"), column(row, "group"), column(row, "topic"), column(row, "queue")].append(span)
    lanes = [pictured.QueueLane(*key, tuple(sorted(spans, key=lambda span: span.started_at))) for key, spans in grouped.items()]
    return sorted(lanes, key=lambda lane: (not lane.is_contested, lane.cluster, lane.group, lane.topic, _by_number(lane.queue)))


def _by_number(queue: str) -> tuple[str, int]:
    """Sort `broker-a:10` after `broker-a:9`."""
    broker, _, number = queue.rpartition(":")
    return (broker, int(number)) if number.isdecimal() else (queue, 0)
