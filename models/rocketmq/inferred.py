"""Clients whose files are missing: brokers' lists say that they were there, and the strategy of the others what they held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from models.rocketmq.allocation import AllocationError, Strategy, readable_queues, sorted_inputs, strategy_named
from models.rocketmq.lists import How
from models.rocketmq.lives import Life
from models.rocketmq.routes import Routes
from models.rocketmq.stage import Group
from models.rocketmq.wording import queue_name

REACTION_US = 300_000
"""From a change of the list to the change of a share, about."""

FORGOTTEN_US = 5_000_000
"""A broker that stops closes its connections for a while; that is no end of its clients."""


@dataclass(frozen=True, slots=True)
class Holding:
    """A queue that a client without a file most likely held."""

    topic: str
    queue: str
    begun_at: int
    ended_at: int
    life: Life


def presence(group: Group) -> list[tuple[int, tuple[str, ...]]]:
    """Who was there from when on, by any broker's list. A broker that starts anew has forgotten clients that are still there."""
    by_list = enumerate(group.lists.values())
    steps = sorted(((step.at, number, step) for number, told in by_list for step in told.steps), key=lambda each: each[:2])
    on: dict[int, Counter[str]] = {number: Counter() for number in range(len(group.lists))}
    forgot: dict[int, int] = {}
    found: list[tuple[int, tuple[str, ...]]] = []
    for at, number, step in steps:
        mine = on[number]
        if step.how is How.RESTARTED:
            forgot[number] = at
            on[number] = Counter(dict.fromkeys(mine, 0))
        elif step.how is How.CONNECTED:
            mine[step.who] += 1
        elif at - forgot.get(number, -FORGOTTEN_US) >= FORGOTTEN_US:
            mine[step.who] -= 1
            if mine[step.who] <= 0:
                del mine[step.who]
        everyone = sorted({who for each in on.values() for who in each})
        now = tuple(who for who in everyone for _ in range(max(1, *(each[who] for each in on.values()))))
        if not found or found[-1][1] != now:
            found.append((at, now))
    return found


def absent(group: Group, listed: Sequence[str], at: int) -> list[str]:
    """Who stands on a list and has no file, or has fewer than it stands there times."""
    there = Counter(listed)
    known = Counter(
        life.client_id for life in group.lives if life.begun_at - 5_000_000 <= at and (life.ended_at is None or life.ended_at >= at)
    )
    ever = {life.client_id for life in group.lives}
    return [who for who, count in there.items() if count > known[who] and (who not in ever or known[who])]


def holdings(group: Group, routes: Routes, end: int) -> Iterator[Holding]:
    """What clients without files held, from one change of who was there to the next."""
    versions = presence(group)
    strategies = Counter(run.strategy for run in group.runs if run.strategy)
    topics = sorted({run.topic for run in group.runs} | {topic for life in group.lives for topic in life.topics})
    lives: dict[str, Life] = {}
    for index, (at, listed) in enumerate(versions):
        begin = at + REACTION_US
        stop = versions[index + 1][0] + REACTION_US if index + 1 < len(versions) else end
        missing = absent(group, listed, begin)
        if not missing or stop <= begin:
            continue
        strategy = _strategy(strategies)
        for who in missing:
            life = lives.setdefault(who, Life(group.name, "", begin, client_id=who))
            for topic in topics:
                for low, high, reads in _pieces(routes.over_time(topic), begin, stop):
                    for queue in _share(strategy, topic, reads, listed, who):
                        yield Holding(topic, queue, low, high, life)


def _strategy(names: Counter[str]) -> Strategy:
    for name, _ in names.most_common():
        try:
            return strategy_named(name)
        except ValueError:
            continue
    return strategy_named("AVG")


def _pieces(route: list[tuple[int, dict[str, int]]], begin: int, end: int) -> Iterator[tuple[int, int, dict[str, int]]]:
    for index, (at, reads) in enumerate(route):
        low = max(at, begin)
        high = min(route[index + 1][0] if index + 1 < len(route) else end, end)
        if low < high:
            yield low, high, reads


def _share(strategy: Strategy, topic: str, reads: dict[str, int], listed: Sequence[str], who: str) -> list[str]:
    queues, ids = sorted_inputs(readable_queues(topic, reads), listed)
    try:
        return [queue_name(each.broker, each.queue_id) for each in strategy.allocate(queues, ids, who) or ()]
    except AllocationError:
        return []
