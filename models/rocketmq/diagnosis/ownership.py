"""Owners of a topic's queues over time, including none or several."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from models import weights
from models.clear_names import clear
from models.events import Event
from models.rocketmq.diagnosis.unlogged_clients import UnloggedClients
from models.rocketmq.object_text import BROADCASTING, RETRY, assigned_in, queue_name, queues_in
from models.rocketmq.observations.allocation_runs import TopicLines, queue_of
from models.rocketmq.observations.client_processes import ClientProcess
from models.rocketmq.observations.topic_routes import Reads, Routes
from models.rocketmq.rocketmq_stage import RocketmqGroup
from models.rocketmq.timing import PERIOD_US
from models.tolerances import int_tolerance
from models.units import FOREVER

BRIEF_US = int_tolerance("rocketmq.ownership.brief_us")
"""Minimum duration of a window without exactly one owner.

While a queue changes hands it has no owner, or two, for a moment.
"""


START_US = int_tolerance("rocketmq.ownership.start_us")
"""Typical time from a consumer's start to its first share."""


def shares_in(event: Event) -> list[str]:
    """Queues of a result line, by name."""
    texts = queues_in(event.text) or assigned_in(event.fields.get("share")) or []
    return [text.queue for text in texts if text.topic == event.topic]


DROPS = frozenset({"RocketResetOrdered"})


@dataclass(frozen=True, slots=True)
class OwnershipWindow:
    """A time in which a queue's owners did not change.

    `ended_at` is None while it lasts.
    """

    topic: str
    queue: str
    kind: str
    owners: tuple[str, ...]
    started_at: int
    ended_at: int | None
    inferred: bool = False  # depends on a client without a file
    confidence: float = weights.OWNER_IS_LOGGED.value


@dataclass(slots=True)
class _Topic:
    """Assignments of one topic of a group, by queue."""

    holdings: dict[str, list[tuple[int, int, ClientProcess]]] = field(default_factory=lambda: defaultdict(list))
    first_at: int = FOREVER
    started_at: int = FOREVER  # start of the first reader, if no queue was ever taken

    @property
    def begins_at(self) -> int:
        """Time from which its queues should have an owner."""
        return self.first_at if self.first_at != FOREVER else self.started_at + START_US


def has_owners(group: RocketmqGroup) -> bool:
    """Whether each queue of this group should have exactly one owner.

    False if each client reads all queues, has a fixed list, or pops.
    """
    return not group.is_unowned and not any(life.model == BROADCASTING for life in group.lives)


class GroupOwnership:
    """Windows of a group's queues by topic, and clients without a file."""

    def __init__(self, group: RocketmqGroup, routes: Routes, end: int, *, tells_moves: bool) -> None:
        self.group = group
        self.routes = routes
        self.end = end
        self._unseen = UnloggedClients(group, routes, end, tells_moves=tells_moves) if has_owners(group) else None
        self._others_unknown = _others_unknown(group)

    @property
    def unlogged_processes(self) -> list[ClientProcess]:
        """Processes of clients without a file."""
        return self._unseen.lives if self._unseen is not None else []

    @property
    def topics(self) -> set[str]:
        """Topics that the group's clients subscribe to, even without lines about them."""
        if self._unseen is None:
            return set()
        return {topic for life in [*self.group.lives, *self.unlogged_processes] for topic in life.topics}

    def windows(self, lines: TopicLines) -> list[OwnershipWindow]:
        """Windows of one topic's queues, if they should have one owner each."""
        if self._unseen is None:
            return []
        lives = [*self.group.lives, *self.unlogged_processes]
        topic = _assignments_in(lines)
        for holding in self._unseen.holdings(lines):
            topic.holdings[holding.queue].append((holding.begun_at, holding.ended_at, holding.life))
            topic.first_at = min(topic.first_at, holding.begun_at)
        if not topic.holdings:
            started = [life.started_at for life in lives if lines.topic in life.topics and life.started_at is not None]
            topic.started_at = min(started, default=FOREVER)
        until = _live_until(lives, lines.topic)
        readable = _readable(lines.topic, self.group, self.routes)
        windows: list[OwnershipWindow] = []
        for queue in sorted(set(topic.holdings) | set(readable)):
            readable_spans = _clip(readable.get(queue, []), topic.begins_at, min(until, self.end))
            windows += _stretches(lines.topic, queue, topic.holdings.get(queue, []), readable_spans, self.end)
        if self._others_unknown:
            windows = [window for window in windows if window.kind != "no_owner"]
        return [_judged(window, self._unseen, self.end) for window in windows] if self.unlogged_processes else windows


SURE_OF_UNSEEN = weights.OWNER_IS_UNSEEN.value
"""Approximate accuracy of windows that depend on a client without a file."""

SURE_IN_QUARREL = weights.OWNER_IN_QUARREL.value
"""As above, if its strategy is a guess because others differ."""


def _judged(window: OwnershipWindow, unseen: UnloggedClients, end: int) -> OwnershipWindow:
    """Mark a window that depends on a client without a file."""
    missing = window.kind == "no_owner" and unseen.was_present(window.started_at, window.ended_at or end)
    rests = window.inferred or missing
    if not rests:
        return window
    return replace(window, inferred=True, confidence=SURE_IN_QUARREL if unseen.has_quarrel else SURE_OF_UNSEEN)


def _others_unknown(group: RocketmqGroup) -> bool:
    """Whether results mention more clients than are known.

    Queues that seem unowned may then belong to the others.
    """
    if "" not in group.lists:
        return False
    return group.clients_max > len({(life.file, life.client_id) for life in group.lives})


def _assignments_in(lines: TopicLines) -> _Topic:
    """Assignments of each client process from its lines.

    The end of a process frees its queues.
    """
    topic = _Topic()
    for life, timed in lines.by_life.items():
        open_at: dict[str, int] = {}
        over = life.ended_at if life.ended_at is not None else FOREVER
        adds = any(event.name == "RocketQueueAdded" for _, event in timed)  # Go's client logs shares only
        for at, event in timed:
            if event.name == "RocketShareChanged" and not adds:
                for queue in shares_in(event):
                    open_at.setdefault(queue, at)
                    topic.first_at = min(topic.first_at, at)
            elif event.name == "RocketQueueAdded":
                open_at.setdefault(queue_of(event), at)
                topic.first_at = min(topic.first_at, at)
            elif event.name == "RocketQueueRemoved":
                begun = open_at.pop(queue_of(event), None)
                if begun is not None:
                    topic.holdings[queue_of(event)].append((begun, min(at, over), life))
            elif event.name in DROPS:
                for queue, begun in open_at.items():
                    topic.holdings[queue].append((begun, min(at, over), life))
                open_at.clear()
            elif event.name == "RocketOffsetSent" and life.started_at is None and event.fields.get("on") == "period":
                open_at.setdefault(queue_of(event), at)  # the file begins in the middle of a process
        for queue, begun in open_at.items():
            topic.holdings[queue].append((begun, over, life))
    return topic


def _live_until(lives: Iterable[ClientProcess], topic: str) -> int:
    """End of the last client process that reads a topic."""
    readers = [life for life in lives if topic.startswith(RETRY) or topic in life.topics or topic in life.read]
    return max((life.ended_at if life.ended_at is not None else FOREVER for life in readers), default=FOREVER)


def _readable(topic: str, group: RocketmqGroup, routes: Routes) -> dict[str, list[tuple[int, int]]]:
    """Times in which each queue could be read."""
    steps = routes.over_time(topic)
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for index, (at, reads) in enumerate(steps):
        after = steps[index + 1][0] if index + 1 < len(steps) else FOREVER
        delay = _met_after(at, group) if topic.startswith(RETRY) else 0
        for queue in _queues(reads):
            queue_spans = spans[queue]
            if queue_spans and queue_spans[-1][1] >= at:
                queue_spans[-1] = (queue_spans[-1][0], after)
            else:
                queue_spans.append((at + delay, after))
    return spans


def _met_after(at: int, group: RocketmqGroup) -> int:
    """Delay until a client's next run finds a retry topic's new queue.

    Clients are not notified of these.
    """
    index = bisect_right(group.notified, at)
    return min(group.notified[index] - at, PERIOD_US) if index < len(group.notified) else PERIOD_US


def _queues(reads: Reads) -> Iterable[str]:
    return (queue_name(broker, number) for broker, count in reads.items() for number in range(count))


def _clip(spans: list[tuple[int, int]], begin: int, end: int) -> list[tuple[int, int]]:
    return [(max(low, begin), min(high, end)) for low, high in spans if max(low, begin) < min(high, end)]


def _stretches(
    topic: str, queue: str, holdings: list[tuple[int, int, ClientProcess]], readable_spans: list[tuple[int, int]], end: int
) -> Iterable[OwnershipWindow]:
    """Cut a queue's time into windows of constant owners."""
    edges: dict[int, list[tuple[bool, ClientProcess | None]]] = defaultdict(list)
    for low, high, holder in [*holdings, *((low, high, None) for low, high in readable_spans)]:
        if low < min(high, end):
            edges[low].append((True, holder))
            edges[min(high, end)].append((False, holder))
    last: OwnershipWindow | None = None
    claims: list[ClientProcess | None] = []
    for low, high in pairwise(sorted(edges)):
        for comes, holder in edges[low]:
            (claims.append if comes else claims.remove)(holder)
        holders = [life for life in claims if life is not None]
        owners = tuple(sorted((life.client_id for life in holders), key=clear))
        inferred = any(not life.file for life in holders)
        wanted = len(holders) < len(claims)
        kind = "two_owners" if len(owners) > 1 else "owned" if owners else "no_owner" if wanted else ""
        stop = None if high >= end else high
        if last is not None and (last.kind, last.owners, last.ended_at) == (kind, owners, low):
            last = OwnershipWindow(topic, queue, kind, owners, last.started_at, stop, inferred or last.inferred)
            continue
        if last is not None:
            yield last
        last = OwnershipWindow(topic, queue, kind, owners, low, stop, inferred) if kind else None
    if last is not None:
        yield last


def long_windows(windows: Iterable[OwnershipWindow], end: int) -> list[OwnershipWindow]:
    """Windows long enough for a row."""
    return [window for window in windows if window.kind == "owned" or (window.ended_at or end) - window.started_at >= BRIEF_US]
