"""How evenly a group's queues are shared while nothing changes: clients with nothing to read, and clients with too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from models.rocketmq.conditions import Fault
from models.rocketmq.lives import Life
from models.rocketmq.ownership import Window
from models.rocketmq.wording import RETRY, named

STEADY_US = 20_000_000
"""A share that lasted for a period of the clients' rebalance is no passing one."""

SKEWED = 1.5
"""A client that holds so many times its even part holds too much."""


@dataclass(slots=True)
class _Shares:
    """Who is there and who holds how much, at one time."""

    there: Counter[str]
    held: Counter[str]
    topics: Counter[str]
    queues: int = 0


def unevenness(windows: Iterable[Window], lives: Sequence[Life], end: int) -> list[Fault]:
    """Standing unevenness of a group: more consumers than queues, and one client with the surplus of each of several topics."""
    faults: list[Fault] = []
    standing: dict[str, Fault] = {}
    for low, high, shares in _steady(windows, lives, end):
        now = {fault.kind: fault for fault in (_idle(shares, low), _skewed(shares, low)) if fault is not None}
        for kind, fault in now.items():
            known = standing.get(kind)
            if known is None or known.members != fault.members:
                standing[kind] = fault
                faults.append(fault)
            standing[kind].ended_at = None if high >= end else high
        standing = {kind: fault for kind, fault in standing.items() if kind in now}
    return faults


def _steady(windows: Iterable[Window], lives: Sequence[Life], end: int) -> Iterator[tuple[int, int, _Shares]]:
    """Stretches in which no share of the group changed, with the shares."""
    edges: list[tuple[int, int, str, str]] = []  # time, +1 or -1, client, topic; a queue has no client, a life no topic
    for window in windows:
        if window.topic.startswith(RETRY):
            continue
        over = min(window.ended_at if window.ended_at is not None else end, end)
        for owner in ("", *window.owners):
            edges += [(window.started_at, 1, owner, window.topic), (over, -1, owner, window.topic)]
    for life in lives:
        edges += [(life.ran_at, 1, life.client_id, ""), (min(life.ended_at or end, end), -1, life.client_id, "")]
    edges.sort(key=lambda edge: edge[0])
    shares = _Shares(Counter(), Counter(), Counter())
    for (at, step, who, topic), after in pairwise([*edges, (end, 0, "", "")]):
        if not topic:
            shares.there[who] += step
        elif who:
            shares.held[who] += step
        else:
            shares.queues += step
            shares.topics[topic] += step
        if after[0] - at >= STEADY_US:
            yield at, after[0], shares


def _live(shares: _Shares) -> list[str]:
    return sorted(who for who, count in shares.there.items() if count > 0)


def _idle(shares: _Shares, at: int) -> Fault | None:
    live = _live(shares)
    if not shares.queues or len(live) <= shares.queues:
        return None
    idle = [who for who in live if not shares.held[who]]
    told = f"{len(live)} clients, {shares.queues} queues: {named(idle)} {'has' if len(idle) == 1 else 'have'} nothing to read"
    return Fault("more_consumers_than_queues", idle, at, None, [], told) if idle else None


def _skewed(shares: _Shares, at: int) -> Fault | None:
    live = _live(shares)
    topics = sum(count > 0 for count in shares.topics.values())
    if topics < 2 or len(live) < 2:
        return None
    even = -(-shares.queues // len(live))
    much = sorted((who for who in live if shares.held[who] >= SKEWED * even and shares.held[who] > even), key=lambda who: -shares.held[who])
    if not much:
        return None
    least = min(shares.held[who] for who in live)
    told = ", ".join(f"{who} holds {shares.held[who]}" for who in much[:3])
    return Fault(
        "multi_topic_skew", sorted(much), at, None, [], f"{told} of {shares.queues} queues over {topics} topics, another client {least}"
    )
