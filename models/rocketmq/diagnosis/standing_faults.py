"""Standing faults of a group: clients that don't agree in what they were given or told, or share its queues unevenly."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from models.clear_names import clear
from models.events import Event
from models.rocketmq.object_text import BROADCASTING, RETRY, named
from models.rocketmq.observations.client_processes import Life
from models.rocketmq.stage import Group

TOGETHER_US = 5_000_000
"""Two lives that overlap for less than this are a restart."""

FLIPS = 2
"""A topic that goes once is a change of the application; one that goes again and again is a quarrel."""

LINES_MAX = 8
"""Lines that a fault names."""


@dataclass(slots=True)
class Fault:
    """A fault: who differs, since when and until when, and in what."""

    kind: str
    members: list[str]
    started_at: int
    ended_at: int | None
    evidence: list[Event] = field(default_factory=list)
    detail: str = ""


def faults_of(group: Group, unseen: Sequence[Life], end: int) -> list[Fault]:
    """All faults of a group's clients; `unseen` are those without a file."""
    if any(life.model == BROADCASTING for life in group.lives):
        return []
    said = group.first_said
    found = _differing("strategy_mismatch", "uses", group.lives, end, lambda life: said[life][1] if life in said else "")
    for fault in found:
        fault.evidence = _one_of_each((name, line) for _, name, line in sorted(said.values(), key=_first_lines))
    found += _differing("subscription_mismatch", "reads", [*group.lives, *unseen], end, _subscription) or _flapping(group)
    found += _shared_ids(group, end)
    return found


def _first_lines(said: tuple[int, str, Event]) -> tuple[int, str, int]:
    at, _, line = said
    return at, line.place.file, line.place.byte_offset


def _one_of_each(said: Iterable[tuple[str, Event]]) -> list[Event]:
    """Lines of all that differ: one of each strategy first."""
    firsts: dict[str, Event] = {}
    rest = [line for name, line in said if firsts.setdefault(name, line) is not line]
    return [*firsts.values(), *rest][:LINES_MAX]


def _subscription(life: Life) -> str:
    """What a client told brokers that it reads, but for the retry topic, which all read."""
    return ", ".join(f"{topic} {by}" for topic, by in sorted(life.topics.items()) if not topic.startswith(RETRY))


def _flapping(group: Group) -> list[Fault]:
    """Brokers keep one subscription per group: where its members differ, their heartbeats take topics from each other in turn."""
    gone = Counter(event.topic for _, event in group.subscribed if event.name == "RocketTopicUnsubscribed")
    lines = [(at, event) for at, event in group.subscribed if gone[event.topic] >= FLIPS and event.topic]
    if not lines:
        return []
    members = sorted({life.client_id for life in group.lives}, key=clear)
    topics = named(sorted({event.topic or "" for _, event in lines}))
    told = f"heartbeats take {topics} from the group's subscription again and again"
    return [Fault("subscription_mismatch", members, lines[0][0], None, [event for _, event in lines][:LINES_MAX], told)]


# -- lives that differ ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Span:
    """From when to when a client said something."""

    low: int
    high: int
    said: str
    life: Life


def _spans(lives: Iterable[Life], end: int, said: Callable[[Life], str]) -> list[_Span]:
    spans = (_Span(life.begun_at, life.ended_at if life.ended_at is not None else end, said(life), life) for life in lives)
    return sorted((each for each in spans if each.said and each.high - each.low >= TOGETHER_US), key=lambda each: each.low)


class _Others:
    """Whether anybody who said something else was there at the same time: a look-up by bisection."""

    def __init__(self, spans: Sequence[_Span]) -> None:
        self._lows = [each.low for each in spans]
        self._longest: list[tuple[tuple[int, str], tuple[int, str]]] = []  # the latest end so far, and that of another word
        best, second = (0, ""), (0, "")
        for each in spans:
            reached = (each.high, each.said)
            if each.said == best[1]:
                best = max(best, reached)
            elif each.high > best[0]:
                best, second = reached, best
            else:
                second = max(second, reached)
            self._longest.append((best, second))

    def beside(self, span: _Span) -> bool:
        index = bisect_right(self._lows, span.high - TOGETHER_US) - 1  # the span itself is among those
        best, second = self._longest[index]
        return (best if best[1] != span.said else second)[0] >= span.low + TOGETHER_US


def _differing(kind: str, verb: str, lives: Iterable[Life], end: int, said: Callable[[Life], str]) -> list[Fault]:
    spans = _spans(lives, end, said)
    if len({each.said for each in spans}) < 2:
        return []
    others = _Others(spans)
    apart = [each for each in spans if others.beside(each)]
    return [_fault(kind, apart, end, _who_says_what(apart, verb))] if apart else []


def _who_says_what(spans: Sequence[_Span], verb: str) -> str:
    """Who differs from whom, the few before the many."""
    by_word: dict[str, set[str]] = defaultdict(set)
    for each in spans:
        by_word[each.said].add(each.life.client_id)
    ordered = sorted(by_word.items(), key=lambda item: (len(item[1]), item[0]))
    return "; ".join(f"{named(sorted(who, key=clear))} {verb if len(who) == 1 else verb[:-1]} {word}" for word, who in ordered)


def _shared_ids(group: Group, end: int) -> list[Fault]:
    by_id: dict[str, list[_Span]] = defaultdict(list)
    for span in _spans(group.lives, end, lambda life: life.client_id):
        by_id[span.said].append(span)
    shared = [span for spans in by_id.values() for span in _overlapping(spans)]
    if shared:
        return [_fault("client_id_conflict", shared, end, _called(sorted({span.said for span in shared})))]
    for told in group.lists.values():
        for index, listed in enumerate(told.versions):
            if len(set(listed)) == len(listed):
                continue
            begin, over = told.starts[index], told.starts[index + 1] if index + 1 < len(told.starts) else end
            if over - begin >= 2 * TOGETHER_US:
                twice = sorted(who for who, count in Counter(listed).items() if count > 1)
                lines = [step.line for who in twice for step in told.by_who.get(who, ()) if step.line is not None]
                return [Fault("client_id_conflict", twice, begin, None if over >= end else over, lines[:LINES_MAX], _called(twice))]
    return []


def _overlapping(spans: Sequence[_Span]) -> list[_Span]:
    """Those that were there together with another."""
    found: dict[int, _Span] = {}
    longest: _Span | None = None
    for each in spans:
        if longest is not None and min(longest.high, each.high) - each.low >= TOGETHER_US:
            found.update({id(longest): longest, id(each): each})
        if longest is None or each.high > longest.high:
            longest = each
    return list(found.values())


def _called(ids: list[str]) -> str:
    """Several processes by one name; where a placeholder shows, why."""
    told = f"more than one process is called {named(ids)}"
    return told + (": a placeholder was not resolved" if any("${" in each for each in ids) else "")


def _fault(kind: str, spans: Sequence[_Span], end: int, detail: str) -> Fault:
    low, high = _together(spans, twice=kind == "client_id_conflict")
    lines = [each.life.first for each in spans if each.life.first is not None]
    members = sorted({each.life.client_id for each in spans}, key=clear)
    return Fault(kind, members, low, None if high >= end else high, lines[:LINES_MAX], detail)


def _together(spans: Sequence[_Span], *, twice: bool) -> tuple[int, int]:
    """From when to when two were there that said different things, or, `twice`, the same."""
    edges = sorted([(each.low, 1, each.said) for each in spans] + [(each.high, 0, each.said) for each in spans])
    there: Counter[str] = Counter()
    first, last = 0, 0
    for at, comes, said in edges:
        there[said] += comes
        if (there[said] if twice else len(there)) > 1:
            first, last = first or at, at
        there[said] -= 1 - comes
        if not there[said]:
            del there[said]
    return first, last
