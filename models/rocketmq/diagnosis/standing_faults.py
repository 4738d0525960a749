"""Standing faults of a group: clients that disagree or share queues unevenly."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from models.clear_names import clear
from models.events import Event
from models.incidents.fault_facts import ClientFault, DifferingClients, FaultFacts, RemovedTopics, ReplacedFilters, SharedClientIds
from models.rocketmq.object_text import BROADCASTING, RETRY, replaced_filter
from models.rocketmq.observations.client_processes import ClientProcess
from models.rocketmq.rocketmq_stage import RocketmqGroup
from models.tolerances import int_tolerance

TOGETHER_US = int_tolerance("rocketmq.standing_faults.together_us")
"""Minimum overlap of two processes; a shorter one is a restart."""

FLIPS = 2
"""Minimum removals of a topic that show a conflict.

A topic that is removed once is a change of the application.
"""

SET_BACK_US = int_tolerance("rocketmq.standing_faults.set_back_us")
"""Time within which a filter is set back only by another client.

The heartbeats of one client are further apart.
"""

FAULT_LINES_MAX = 8
"""Maximum lines of a fault."""


@dataclass(slots=True)
class StandingFault:
    """A fault: kind, affected clients and time."""

    kind: str
    members: list[str]
    started_at: int
    ended_at: int | None
    facts: FaultFacts
    evidence: list[Event] = field(default_factory=list)


def is_of_group(fault: StandingFault) -> bool:
    """Whether a fault shapes the episodes around it.

    What a client tells of itself has an incident of its own.
    """
    return not isinstance(fault.facts, ClientFault)


def faults_of(group: RocketmqGroup, unseen: Sequence[ClientProcess], end: int) -> list[StandingFault]:
    """All faults of a group's clients; `unseen` are processes without a file."""
    if any(life.model == BROADCASTING for life in group.lives):
        return []
    strategies = group.first_said
    faults = _differing("strategy_mismatch", "strategy", group.lives, end, lambda life: strategies[life][1] if life in strategies else "")
    for fault in faults:
        fault.evidence = _one_of_each((name, line) for _, name, line in sorted(strategies.values(), key=_first_lines))
    faults += _differing("subscription_mismatch", "subscription", [*group.lives, *unseen], end, _subscription) or _flapping(group)
    faults += _shared_ids(group, end)
    return faults


def _first_lines(statement: tuple[int, str, Event]) -> tuple[int, str, int]:
    at, _, line = statement
    return at, line.place.file, line.place.byte_offset


def _one_of_each(statements: Iterable[tuple[str, Event]]) -> list[Event]:
    """Lines of the differing clients, one of each strategy first."""
    firsts: dict[str, Event] = {}
    rest = [line for name, line in statements if firsts.setdefault(name, line) is not line]
    return [*firsts.values(), *rest][:FAULT_LINES_MAX]


def _subscription(life: ClientProcess) -> str:
    """Subscriptions sent to brokers, without the retry topic common to all."""
    return ", ".join(f"{topic} {by}" for topic, by in sorted(life.topics.items()) if not topic.startswith(RETRY))


def _flapping(group: RocketmqGroup) -> list[StandingFault]:
    """Alternating subscriptions of a group's clients.

    Brokers keep one subscription per group. If members differ, their heartbeats remove each other's topics in turn.
    """
    return _removing(group) or _filtering(group)


def _filtering(group: RocketmqGroup) -> list[StandingFault]:
    """A topic whose filter is set back to what it was, again and again."""
    changes = [(at, replaced, event) for at, event in group.subscribed if (replaced := replaced_filter(event)) is not None]
    counts = Counter(replaced for _, replaced, _ in changes)
    there_and_back = {(topic, *sorted((old, new))) for topic, old, new in counts if (topic, new, old) in counts}
    for topic, old, new in sorted(there_and_back):
        both = {(topic, old, new), (topic, new, old)}
        lines = [(at, event) for at, replaced, event in changes if replaced in both]
        is_at_once = len(lines) == FLIPS and lines[-1][0] - lines[0][0] < SET_BACK_US
        if len(lines) > FLIPS or is_at_once:  # there, back, and there once more, or sooner than one client's heartbeats: no change of mind
            members = sorted({life.client_id for life in group.lives}, key=clear)
            facts = ReplacedFilters(topic, (old, new))
            return [
                StandingFault("subscription_mismatch", members, lines[0][0], None, facts, [event for _, event in lines][:FAULT_LINES_MAX])
            ]
    return []


def _removing(group: RocketmqGroup) -> list[StandingFault]:
    """Topics that are removed again and again."""
    gone = Counter(event.topic for _, event in group.subscribed if event.name == "RocketTopicUnsubscribed")
    lines = [(at, event) for at, event in group.subscribed if gone[event.topic] >= FLIPS and event.topic]
    if not lines:
        return []
    members = sorted({life.client_id for life in group.lives}, key=clear)
    topics = RemovedTopics(tuple(sorted({event.topic or "" for _, event in lines})))
    return [StandingFault("subscription_mismatch", members, lines[0][0], None, topics, [event for _, event in lines][:FAULT_LINES_MAX])]


# -- processes that differ -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Span:
    """A time in which a client process had one value."""

    low: int
    high: int
    value: str
    life: ClientProcess


def _spans(lives: Iterable[ClientProcess], end: int, value_of: Callable[[ClientProcess], str]) -> list[_Span]:
    spans = (_Span(life.begun_at, life.ended_at if life.ended_at is not None else end, value_of(life), life) for life in lives)
    return sorted((span for span in spans if span.value and span.high - span.low >= TOGETHER_US), key=lambda span: span.low)


class _Others:
    """Lookup of concurrent processes with another value, by bisection."""

    def __init__(self, spans: Sequence[_Span]) -> None:
        self._lows = [span.low for span in spans]
        self._longest: list[tuple[tuple[int, str], tuple[int, str]]] = []  # latest end so far, and latest end with another value
        best, second = (0, ""), (0, "")
        for span in spans:
            reached = (span.high, span.value)
            if span.value == best[1]:
                best = max(best, reached)
            elif span.high > best[0]:
                best, second = reached, best
            else:
                second = max(second, reached)
            self._longest.append((best, second))

    def is_beside(self, span: _Span) -> bool:
        index = bisect_right(self._lows, span.high - TOGETHER_US) - 1  # includes the span itself
        best, second = self._longest[index]
        return (best if best[1] != span.value else second)[0] >= span.low + TOGETHER_US


def _differing(
    kind: str, setting: str, lives: Iterable[ClientProcess], end: int, value_of: Callable[[ClientProcess], str]
) -> list[StandingFault]:
    spans = _spans(lives, end, value_of)
    if len({span.value for span in spans}) < 2:
        return []
    others = _Others(spans)
    apart = [span for span in spans if others.is_beside(span)]
    return [_fault(kind, apart, end, _differing_clients(apart, setting))] if apart else []


def _differing_clients(spans: Sequence[_Span], setting: str) -> DifferingClients:
    """The differing clients by value, smallest group first."""
    by_word: dict[str, set[str]] = defaultdict(set)
    for span in spans:
        by_word[span.value].add(span.life.client_id)
    ordered = sorted(by_word.items(), key=lambda item: (len(item[1]), item[0]))
    return DifferingClients(setting, tuple((value, tuple(sorted(clients, key=clear))) for value, clients in ordered))


def _shared_ids(group: RocketmqGroup, end: int) -> list[StandingFault]:
    by_id: dict[str, list[_Span]] = defaultdict(list)
    for span in _spans(group.lives, end, lambda life: life.client_id):
        by_id[span.value].append(span)
    shared = [span for spans in by_id.values() for span in _overlapping(spans)]
    if shared:
        return [_fault("client_id_conflict", shared, end, SharedClientIds(tuple(sorted({span.value for span in shared}))))]
    for client_list in group.lists.values():
        doubles = client_list.doubles()
        for index, listed in enumerate(client_list.versions):
            if len(set(listed)) == len(listed):
                continue
            begin, over = client_list.starts[index], client_list.starts[index + 1] if index + 1 < len(client_list.starts) else end
            twice = sorted(who for who in set(listed) if any(low <= begin + TOGETHER_US < high for low, high in doubles.get(who, ())))
            if twice and over - begin >= 2 * TOGETHER_US:
                lines = [step.line for who in twice for step in client_list.by_who.get(who, ()) if step.line is not None]
                ended_at, facts = None if over >= end else over, SharedClientIds(tuple(twice))
                return [StandingFault("client_id_conflict", twice, begin, ended_at, facts, lines[:FAULT_LINES_MAX])]
    return []


def _overlapping(spans: Sequence[_Span]) -> list[_Span]:
    """Processes that overlap with another one."""
    by_id: dict[int, _Span] = {}
    longest: _Span | None = None
    for span in spans:
        if longest is not None and min(longest.high, span.high) - span.low >= TOGETHER_US:
            by_id.update({id(longest): longest, id(span): span})
        if longest is None or span.high > longest.high:
            longest = span
    return list(by_id.values())


def _fault(kind: str, spans: Sequence[_Span], end: int, facts: FaultFacts) -> StandingFault:
    low, high = _together(spans, is_twice=kind == "client_id_conflict")
    lines = [span.life.first for span in spans if span.life.first is not None]
    members = sorted({span.life.client_id for span in spans}, key=clear)
    return StandingFault(kind, members, low, None if high >= end else high, facts, lines[:FAULT_LINES_MAX])


def _together(spans: Sequence[_Span], *, is_twice: bool) -> tuple[int, int]:
    """First and last time at which values differed.

    With `is_twice`, at which two processes had the same value.
    """
    edges = sorted([(span.low, 1, span.value) for span in spans] + [(span.high, 0, span.value) for span in spans])
    counts: Counter[str] = Counter()
    first, last = 0, 0
    for at, comes, value in edges:
        counts[value] += comes
        if (counts[value] if is_twice else len(counts)) > 1:
            first, last = first or at, at
        counts[value] -= 1 - comes
        if not counts[value]:
            del counts[value]
    return first, last
