"""Balance of a group's queues in steady times: idle and overloaded clients."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from models.events import Event
from models.incidents.fault_facts import IdleClients, SkewedShares
from models.rocketmq.diagnosis.ownership import OwnershipWindow
from models.rocketmq.diagnosis.standing_faults import FAULT_LINES_MAX, StandingFault
from models.rocketmq.object_text import RETRY
from models.rocketmq.observations.allocation_runs import AllocationRun
from models.rocketmq.observations.client_processes import ClientProcess
from models.rocketmq.timing import PERIOD_US
from models.tolerances import float_tolerance
from models.units import FOREVER

STEADY_US = PERIOD_US
"""Minimum duration of a steady share: one period of the clients' rebalance."""

LINES_KEPT = 8
"""Number of results before a pause with lines kept."""

SKEWED = float_tolerance("rocketmq.balance.skewed")
"""Ratio to its even share above which a client has too much."""


@dataclass(slots=True)
class _Shares:
    """Clients and their queue counts at one time."""

    clients: Counter[str]
    queue_counts: Counter[str]
    topics: Counter[str]
    queues: int = 0


@dataclass(frozen=True, slots=True)
class _Pause:
    """A time in which no share of one topic changed.

    The counters hold the changes since the previous pause, `lines` the last result lines of these.
    """

    low: int
    high: int
    topic: str
    queues: int
    queue_counts: Counter[str]
    clients: Counter[str] = field(default_factory=Counter)
    lines: Sequence[tuple[str, Event]] = ()  # by client


class Balance:
    """Collects a group's windows topic by topic and finds uneven shares.

    Only pauses are kept, because a moment of imbalance is no fault.
    """

    def __init__(self, end: int) -> None:
        self._end = end
        self._pauses: list[_Pause] = []
        self._parts = 1  # topics, plus one for the clients themselves

    def add(self, topic: str, windows: Iterable[OwnershipWindow], runs: Sequence[AllocationRun]) -> None:
        """Add one topic; `runs` must be in order."""
        if topic.startswith(RETRY):
            return
        edges: list[tuple[int, int, str]] = []  # time, +1 or -1, client; "" counts queues
        for window in windows:
            over = min(window.ended_at if window.ended_at is not None else self._end, self._end)
            for owner in ("", *window.owners):
                edges += [(window.started_at, 1, owner), (over, -1, owner)]
        if not edges:
            return
        self._parts += 1
        known = 0
        for low, high, queue_counts in _pauses(edges, self._end):
            until = bisect_left(runs, high, key=_time_of_run)
            lines = {run.life.client_id: run.result for run in runs[max(until - LINES_KEPT, known) : until]}
            known = until
            self._pauses.append(_Pause(low, high, topic, queue_counts.pop("", 0), queue_counts, lines=[*lines.items()]))

    def faults(self, lives: Iterable[ClientProcess]) -> list[StandingFault]:
        """Standing imbalances of a group.

        Either more consumers than queues, or one client with the surplus of each of several topics.
        """
        edges = [
            edge
            for life in lives
            for edge in ((life.ran_at, 1, life.client_id), (min(life.ended_at or self._end, self._end), -1, life.client_id))
        ]
        self._pauses += [_Pause(low, high, "", 0, Counter(), clients) for low, high, clients in _pauses(edges, self._end)]
        faults: list[StandingFault] = []
        standing: dict[str, StandingFault] = {}
        for low, high, shares, lines in self._steady():
            now = {fault.kind: fault for fault in (_idle(shares, low), _skewed(shares, low)) if fault is not None}
            for kind, fault in now.items():
                known = standing.get(kind)
                if known is None or known.members != fault.members:
                    standing[kind] = fault
                    fault.evidence = _lines_of(fault.members, lines)
                    faults.append(fault)
                standing[kind].ended_at = None if high >= self._end else high
            standing = {kind: fault for kind, fault in standing.items() if kind in now}
        return faults

    def _steady(self) -> Iterator[tuple[int, int, _Shares, Mapping[tuple[str, str], Event]]]:
        """Times in which no share of the group changed.

        All topics and the clients pause at once.
        """
        edges = sorted(
            [(pause.low, 1, number) for number, pause in enumerate(self._pauses)]
            + [(pause.high, 0, number) for number, pause in enumerate(self._pauses)]
        )
        shares = _Shares(Counter(), Counter(), Counter())
        lines: dict[tuple[str, str], Event] = {}
        pausing = 0
        for (at, begins, number), (after, _, _) in pairwise([*edges, (self._end, 0, 0)]):
            pause = self._pauses[number]
            pausing += 1 if begins else -1
            if begins:
                shares.clients.update(pause.clients)
                shares.queue_counts.update(pause.queue_counts)
                shares.queues += pause.queues
                shares.topics[pause.topic] += pause.queues
                for who, line in pause.lines:
                    lines.pop((pause.topic, who), None)  # keeps the latest last
                    lines[pause.topic, who] = line
            if pausing == self._parts and after - at >= STEADY_US and at > -FOREVER:
                yield at, after, shares, lines


def _pauses(edges: list[tuple[int, int, str]], end: int) -> Iterator[tuple[int, int, Counter[str]]]:
    """Times in which no count changed, with the changes before each.

    The first one starts at -FOREVER.
    """
    changed: Counter[str] = Counter()
    edges.sort(key=lambda edge: edge[0])
    for (at, step, who), (after, _, _) in pairwise([(-FOREVER, 0, ""), *edges, (end, 0, "")]):
        if step:
            changed[who] += step
        if after - at >= STEADY_US:
            yield at, after, Counter({name: count for name, count in changed.items() if count})
            changed = Counter()


def _time_of_run(run: AllocationRun) -> int:
    return run.at


def _lines_of(members: Sequence[str], lines: Mapping[tuple[str, str], Event]) -> list[Event]:
    """Result lines that show an imbalance: of the affected clients if possible."""
    wanted = set(members)
    member_lines = [line for (_, who), line in lines.items() if who in wanted]
    return (member_lines or [*lines.values()])[-FAULT_LINES_MAX:]


def _live(shares: _Shares) -> list[str]:
    return sorted(who for who, count in shares.clients.items() if count > 0)


def _idle(shares: _Shares, at: int) -> StandingFault | None:
    live = _live(shares)
    if not shares.queues or len(live) <= shares.queues:
        return None
    idle = [who for who in live if not shares.queue_counts[who]]
    facts = IdleClients(len(live), shares.queues, tuple(idle))
    return StandingFault("more_consumers_than_queues", idle, at, None, facts) if idle else None


def _skewed(shares: _Shares, at: int) -> StandingFault | None:
    live = _live(shares)
    topics = sum(count > 0 for count in shares.topics.values())
    if topics < 2 or len(live) < 2:
        return None
    even = -(-shares.queues // len(live))
    much = sorted(
        (who for who in live if shares.queue_counts[who] >= SKEWED * even and shares.queue_counts[who] > even),
        key=lambda who: -shares.queue_counts[who],
    )
    if not much:
        return None
    counts = tuple((client, shares.queue_counts[client]) for client in much)
    facts = SkewedShares(counts, shares.queues, topics, min(shares.queue_counts[client] for client in live))
    return StandingFault("multi_topic_skew", sorted(much), at, None, facts)
