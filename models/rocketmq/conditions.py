"""Standing faults of a group: clients that don't agree in what they were given or told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from models.events import Event
from models.rocketmq.lives import Life
from models.rocketmq.stage import Group
from models.rocketmq.wording import BROADCASTING, RETRY

TOGETHER_US = 5_000_000
"""Two lives that overlap for less than this are a restart."""

FLIPS = 2
"""A topic that goes once is a change of the application; one that goes again and again is a quarrel."""


@dataclass(slots=True)
class Fault:
    """A fault: who differs, since when, and until when."""

    kind: str
    members: list[str]
    started_at: int
    ended_at: int | None
    evidence: list[Event] = field(default_factory=list)


def faults_of(group: Group, end: int) -> list[Fault]:
    """All standing faults of a group."""
    if any(life.model == BROADCASTING for life in group.lives):
        return []
    strategies: dict[int, tuple[str, Event]] = {}
    for run in group.runs:
        if run.strategy:
            strategies.setdefault(id(run.life), (run.strategy, run.result))
    found: list[Fault] = []
    found += _differing("strategy_mismatch", group, end, lambda life: strategies.get(id(life), ("", None))[0])
    for fault in found:
        fault.evidence = [line for who, line in strategies.values() if who][:8]
    found += _differing("subscription_mismatch", group, end, _subscription) or _flapping(group)
    found += _shared_ids(group, end)
    return found


def _subscription(life: Life) -> str:
    """What a client told brokers that it reads, but for the retry topic, which all read."""
    return "\n".join(f"{topic} {by}" for topic, by in sorted(life.topics.items()) if not topic.startswith(RETRY))


def _flapping(group: Group) -> list[Fault]:
    """Brokers keep one subscription per group: where its members differ, their heartbeats take topics from each other in turn."""
    gone = Counter(event.topic for _, event in group.subscribed if event.name == "RocketTopicUnsubscribed")
    lines = [(at, event) for at, event in group.subscribed if gone[event.topic] >= FLIPS and event.topic]
    if not lines:
        return []
    return [Fault("subscription_mismatch", sorted({life.client_id for life in group.lives}), lines[0][0], None, [e for _, e in lines][:8])]


def _span(life: Life, end: int) -> tuple[int, int]:
    return life.begun_at, life.ended_at if life.ended_at is not None else end


def _together(first: Life, second: Life, end: int) -> tuple[int, int] | None:
    low = max(_span(first, end)[0], _span(second, end)[0])
    high = min(_span(first, end)[1], _span(second, end)[1])
    return (low, high) if high - low >= TOGETHER_US else None


def _pairs(lives: list[Life], end: int) -> Iterable[tuple[Life, Life, int, int]]:
    for index, first in enumerate(lives):
        for second in lives[index + 1 :]:
            both = _together(first, second, end)
            if both is not None:
                yield first, second, *both


def _differing(kind: str, group: Group, end: int, said: Callable[[Life], str]) -> list[Fault]:
    apart = [pair for pair in _pairs(group.lives, end) if said(pair[0]) and said(pair[1]) and said(pair[0]) != said(pair[1])]
    return [_fault(kind, apart, end)] if apart else []


def _shared_ids(group: Group, end: int) -> list[Fault]:
    shared = [pair for pair in _pairs(group.lives, end) if pair[0].client_id and pair[0].client_id == pair[1].client_id]
    if shared:
        return [_fault("client_id_conflict", shared, end)]
    for told in group.lists.values():
        for index, listed in enumerate(told.versions):
            begin, over = told.starts[index], told.starts[index + 1] if index + 1 < len(told.starts) else end
            twice = sorted({who for who in listed if listed.count(who) > 1})
            if twice and over - begin >= 2 * TOGETHER_US:
                return [Fault("client_id_conflict", twice, begin, None if over >= end else over)]
    return []


def _fault(kind: str, pairs: list[tuple[Life, Life, int, int]], end: int) -> Fault:
    members = sorted({life.client_id for first, second, _, _ in pairs for life in (first, second)})
    over = max(high for _, _, _, high in pairs)
    lines = [life.events[0] for first, second, _, _ in pairs for life in (first, second) if life.events]
    return Fault(kind, members, min(low for _, _, low, _ in pairs), None if over >= end else over, lines[:8])
