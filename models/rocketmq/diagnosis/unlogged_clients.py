"""Assignments of clients without files, derived from brokers' lists.

Brokers' lists show when such a client was connected, and the other clients' strategy shows its share. The client is
simulated like its library: it allocates when it starts, when the others are notified, and every 20 s; it asks for
routes every 30 s from its start on. Only runs with new input are computed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from models.clear_names import clear
from models.rocketmq.object_text import RETRY, queue_name
from models.rocketmq.observations.allocation_runs import TopicLines, queue_of
from models.rocketmq.observations.client_lists import ListChange, ListChangeKind
from models.rocketmq.observations.client_processes import ClientProcess
from models.rocketmq.observations.subscription_versions import SubscriptionVersions
from models.rocketmq.observations.subscriptions import ExpressionsByTopic
from models.rocketmq.observations.topic_routes import Routes
from models.rocketmq.rocketmq_stage import RocketmqGroup
from models.rocketmq.strategies import (
    AllocationError,
    AllocationStrategy,
    Queue,
    java_order,
    readable_queues,
    sorted_inputs,
    strategy_named,
)
from models.rocketmq.time_ranges import Spans
from models.rocketmq.timing import LIST_US, NOTIFIED_US, PERIOD_US, ROUTE_POLL_US, ROUTE_US
from models.tolerances import int_tolerance
from models.units import FOREVER

REACTION_US = int_tolerance("rocketmq.unlogged_clients.reaction_us")
"""Typical time from a changed list to a changed share."""

FIRST_RUN_US = int_tolerance("rocketmq.unlogged_clients.first_run_us")
"""Typical time from the first heartbeat to the first queue."""

START_US = int_tolerance("rocketmq.unlogged_clients.start_us")
"""Maximum delay of a file's beginning after the broker's first contact."""


FORGOTTEN_US = int_tolerance("rocketmq.unlogged_clients.forgotten_us")
"""Time in which a stopping broker's closed connections don't count.

Its clients live on.
"""

RECONNECT_US = int_tolerance("rocketmq.unlogged_clients.reconnect_us")
"""Maximum time until a live client reconnects, with its next heartbeat.

Heartbeats are sent every 30 s.
"""

FROZEN_US = int_tolerance("rocketmq.unlogged_clients.frozen_us")
"""Typical time from a client's silence to its removal by a broker.

Brokers remove it 120 to 130 s after its last heartbeat; it fell silent within 30 s after that.
"""


LOCK_US = int_tolerance("rocketmq.unlogged_clients.lock_us")
"""Duration for which a broker keeps a dead client's queue locks."""

RESET_US = int_tolerance("rocketmq.unlogged_clients.reset_us")
"""Time from an order to reset offsets to the new queues."""

DEFAULT = "AVG"
"""Default strategy of clients."""

UNIQUE = "#"
"""Mark before the process's time in ids of library 4.9 and later.

Two connections with such an id are one client.
"""


@dataclass(frozen=True, slots=True)
class QueueAssignment:
    """Inferred assignment of a queue to a client without a file."""

    topic: str
    queue: str
    begun_at: int
    ended_at: int
    life: ClientProcess


@dataclass(frozen=True, slots=True)
class _SimulatedClient:
    """Simulated runs of such a client, with its subscriptions and strategy."""

    life: ClientProcess
    strategy: AllocationStrategy
    topic_steps: list[tuple[int, ExpressionsByTopic]]
    runs: list[int]


@dataclass(frozen=True, slots=True)
class PresenceChange:
    """A change of the number of broker lists' entries of a client.

    `times` is the count from `at` on; `how` is the kind of the list's change.
    """

    at: int
    who: str
    times: int
    how: ListChangeKind


def client_list_changes(group: RocketmqGroup) -> list[PresenceChange]:
    """Changes of clients' presence, combined over all brokers' lists.

    A restarted broker has forgotten clients that are still alive.
    """
    by_list = enumerate(group.lists.values())
    steps = sorted(((at, number, step) for number, client_list in by_list for at, step in client_list.heard()), key=lambda item: item[:2])
    connections = _Connections()
    last: dict[str, int] = {}
    changes: list[PresenceChange] = []
    for at, number, step in steps:
        for client in connections.apply(number, step):
            times = connections.most(client)
            if times != last.get(client, 0):
                last[client] = times
                changes.append(PresenceChange(at, client, times, step.how))
    return changes


class _Connections:
    """Connections of each client to each broker, by the brokers' lists."""

    def __init__(self) -> None:
        self._by_client: dict[str, Counter[int]] = {}
        self._restarted_at: dict[int, int] = {}

    def most(self, client: str) -> int:
        """Return the greatest number at one broker; a listed client has at least one."""
        lists = self._by_client.get(client)
        return max(1, *lists.values()) if lists else 0

    def apply(self, number: int, step: ListChange) -> list[str]:
        """Apply a change of list `number`; return the clients that it concerns."""
        if step.how is ListChangeKind.RESTARTED:
            return self._restart(number, step.at)
        if step.how is ListChangeKind.CONNECTED:
            self._by_client.setdefault(step.who, Counter())[number] += 1
        elif step.at - self._restarted_at.get(number, -FORGOTTEN_US) >= FORGOTTEN_US:
            lists = self._by_client.get(step.who, Counter())
            lists[number] -= 1
            if lists[number] <= 0:
                del lists[number]
        return [step.who]

    def _restart(self, number: int, at: int) -> list[str]:
        self._restarted_at[number] = at
        repeated = [client for client, lists in self._by_client.items() if lists[number] > 1]
        for client in repeated:
            self._by_client[client][number] = 1
        for lists in self._by_client.values():
            if number in lists:
                lists[number] = 0
        return repeated


def client_list_versions(changes: Iterable[PresenceChange]) -> tuple[list[int], list[tuple[str, ...]]]:
    """Versions of the combined client list, with their start times.

    Clients are sorted as they sort themselves.
    """
    starts: list[int] = []
    versions: list[tuple[str, ...]] = []
    order: list[tuple[bytes, str]] = []
    times: Counter[str] = Counter()
    for change in changes:
        entry = (java_order(change.who), change.who)
        for _ in range(change.times - times[change.who]):
            insort(order, entry)
        for _ in range(times[change.who] - change.times):
            del order[bisect_left(order, entry)]
        times[change.who] = change.times
        starts.append(change.at)
        versions.append(tuple(who for _, who in order))
    return starts, versions


class UnloggedClients:
    """Clients of one group without a file."""

    def __init__(self, group: RocketmqGroup, routes: Routes, end: int, *, tells_moves: bool) -> None:
        """Derive their processes and runs.

        `tells_moves` is True if brokers log changed shares.
        """
        self.group = group
        self.routes = routes
        self.end = end
        self._tells_moves = tells_moves
        changes = client_list_changes(group)
        self._frozen: dict[int, list[tuple[int, int]]] = {}
        self.lives = self._lives(changes)
        # A client that can ask only one broker gets that broker's list, even if it is incomplete.
        only = next(iter(group.lists.values())) if len(group.lists) == 1 else None
        self._starts, self._listed = (
            (only.starts[1:], only.versions[1:]) if only is not None else client_list_versions(changes if self.lives else ())
        )
        self.strategies = sum(group.strategies.values(), Counter())
        self._topics = group.topics | {topic for life in group.lives for topic in life.topics}
        self._queues: dict[tuple[str, int], list[Queue]] = {}
        self._presence = Spans((life.begun_at, None if life.ended_at is None else _doubtful(life)) for life in self.lives)
        self._paths = [self._path(life) for life in self.lives]

    # -- presence ---------------------------------------------------------------------------------------------------

    def _lives(self, changes: Iterable[PresenceChange]) -> list[ClientProcess]:
        by_who: dict[str, list[PresenceChange]] = {}
        for change in changes:
            by_who.setdefault(change.who, []).append(change)
        lives = [life for who, client_changes in by_who.items() for life in [*self._lives_of(who, client_changes)] if self._is_real(life)]
        return sorted(lives, key=lambda life: (life.begun_at, life.client_id))

    def _is_real(self, life: ClientProcess) -> bool:
        """Whether a process is none that only connections seem to tell of.

        A client that has files and reconnects is on a list twice until its old connection is closed.
        """
        return life.ended_at is None or life.ended_at - life.begun_at >= RECONNECT_US or not self.group.lives_of(life.client_id)

    def _lives_of(self, who: str, changes: Sequence[PresenceChange]) -> Iterator[ClientProcess]:
        """Processes of one client id without a file.

        An id that also has files must be on the list more often than these explain.
        """
        files = self.group.lives_of(who)
        if files and UNIQUE in clear(who):
            return
        life: ClientProcess | None = None
        frozen: int | None = None
        for change in changes:
            at = change.at
            known = sum(process.begun_at - START_US <= at + REACTION_US <= (process.ended_at or FOREVER) for process in files)
            if change.times > known and (known or life is not None or not files):
                if life is None or (life.lost_at is not None and at - life.lost_at > RECONNECT_US):
                    life = ClientProcess(self.group.name, "", at, client_id=who, started_at=at)
                    yield life
                self._note_frozen(life, frozen, at)
                frozen = life.lost_at = None
            elif life is not None and change.how is ListChangeKind.EXPIRED:
                frozen = max(at - FROZEN_US, life.begun_at)
            elif life is not None and change.how is ListChangeKind.LOST:
                life.lost_at = life.last_at = at
            elif life is not None:
                life.unregistered_at = at
                life = None
        self._note_frozen(life, frozen, FOREVER)

    def _note_frozen(self, life: ClientProcess | None, since: int | None, until: int) -> None:
        if life is not None and since is not None:
            self._frozen.setdefault(id(life), []).append((since, until))

    # -- assignments ------------------------------------------------------------------------------------------------

    def _path(self, life: ClientProcess) -> _SimulatedClient:
        topic_steps = self._topic_steps(life)
        path = _SimulatedClient(life, self._strategy(life), topic_steps, self._runs(life, topic_steps))
        for at in path.runs:
            life.topics.update({topic: by for topic, by in self._topics_at(topic_steps, at).items() if topic not in life.topics})
        return path

    def holdings(self, lines: TopicLines) -> Iterator[QueueAssignment]:
        """Assignments of these clients to a topic's queues."""
        if not self.lives:
            return
        locks = _locks(lines)
        left = _left_locked(lines) if self.group.is_orderly else {}
        resets = sorted({at for timed in lines.by_life.values() for at, event in timed if event.name == "RocketResetOrdered"})
        versions = self.group.versions.get(lines.topic, ())
        moves = SubscriptionVersions(versions, lines.runs, self.group.lives, self.end) if self._tells_moves else None
        for path in self._paths:
            for holding in self._assignments_of(path, lines.topic, moves):
                if holding.queue not in locks:
                    yield from _pieces(holding, left.get(holding.queue, ()), resets)
            yield from self._locked_by(path.life, lines.topic, locks)

    @staticmethod
    def _locked_by(life: ClientProcess, topic: str, locks: Mapping[str, Sequence[tuple[int, str]]]) -> Iterator[QueueAssignment]:
        """Assignments of an orderly group's queues, each from its lock on."""
        over = life.ended_at if life.ended_at is not None else FOREVER
        for queue, steps in locks.items():
            for (at, who), (until, _) in pairwise([*steps, (FOREVER, "")]):
                if who == life.client_id and life.begun_at - START_US <= at < min(until, over):
                    yield QueueAssignment(topic, queue, at, min(until, over), life)

    def _assignments_of(self, path: _SimulatedClient, topic: str, moves: SubscriptionVersions | None) -> Iterator[QueueAssignment]:
        life = path.life
        over = life.ended_at if life.ended_at is not None else FOREVER
        begun_by_queue: dict[str, int] = {}
        route = 0
        moved = moves.between(life.begun_at, over) if moves is not None else ()
        for at, sure in sorted([*((at, False) for at in path.runs), *((at, True) for at in moved)]):
            met = max(route, self._route_at(topic, life, at, is_sure=sure))
            share = self._share(path, topic, at, met, begun_by_queue)
            if (
                not sure
                and moves is not None
                and share != begun_by_queue.keys()
                and moves.is_awaited(at, over, ROUTE_US if met > route else LIST_US)
            ):
                continue
            route = met
            for queue in [queue for queue in begun_by_queue if queue not in share]:
                yield QueueAssignment(topic, queue, begun_by_queue.pop(queue), min(at, over), life)
            for queue in share:
                begun_by_queue.setdefault(queue, at)
        for queue, begun in begun_by_queue.items():
            yield QueueAssignment(topic, queue, begun, over, life)

    def _topic_steps(self, life: ClientProcess) -> list[tuple[int, ExpressionsByTopic]]:
        tables = [table.topic_steps[life.client_id] for table in self.group.tables.values() if life.client_id in table.topic_steps]
        return max(tables, key=len, default=[])

    def _topics_at(self, topic_steps: list[tuple[int, ExpressionsByTopic]], at: int) -> ExpressionsByTopic:
        index = bisect_right(topic_steps, at, key=lambda step: step[0]) - 1
        if index < 0:
            return dict.fromkeys(sorted(self._topics), "")
        return {RETRY + self.group.name: "*", **topic_steps[index][1]}

    def _runs(self, life: ClientProcess, topic_steps: list[tuple[int, ExpressionsByTopic]]) -> list[int]:
        """Times of a client's runs with new lists, routes or topics."""
        over = min(life.ended_at if life.ended_at is not None else FOREVER, self.end)
        first = life.begun_at + FIRST_RUN_US
        woken = sorted({first, *(at for at in self._wakes(life) if first < at < over)})
        news = [at + REACTION_US for at in self._starts] + [at for at, _ in topic_steps]
        topics = {topic for _, step_topics in topic_steps for topic in step_topics} or self._topics
        news += [self._polled(life, at) for topic in topics for at, _ in self.routes.over_time(topic)]
        runs = set(woken)
        for at in news:
            if at > first:
                last = woken[bisect_left(woken, at) - 1]
                runs.add(last + -(-(at - last) // PERIOD_US) * PERIOD_US)
        return sorted(at for at in runs if at < over and not self._is_frozen(life, at))

    @staticmethod
    def _polled(life: ClientProcess, at: int) -> int:
        """Time at which a client got a route available since `at`."""
        return max(life.begun_at, life.begun_at + -(-(at - life.begun_at) // ROUTE_POLL_US) * ROUTE_POLL_US)

    def _is_frozen(self, life: ClientProcess, at: int) -> bool:
        return any(low <= at < high for low, high in self._frozen.get(id(life), ()))

    def _wakes(self, life: ClientProcess) -> Iterator[int]:
        """Times of a client's notifications.

        As logged by others, or about when the list changed.
        """
        notifications = self.group.notified
        for listed in self.group.lists.values():
            times = 0
            for step in listed.steps:
                if step.how is ListChangeKind.RESTARTED:
                    times = 0
                elif step.who == life.client_id:
                    times += 1 if step.how is ListChangeKind.CONNECTED else -1
                if step.how in {ListChangeKind.EXPIRED, ListChangeKind.RESTARTED} or times <= 0:
                    continue
                near = bisect_left(notifications, step.at)
                yield (
                    notifications[near] if near < len(notifications) and notifications[near] <= step.at + NOTIFIED_US else step.at
                ) + REACTION_US

    def _route_at(self, topic: str, life: ClientProcess, at: int, *, is_sure: bool) -> int:
        """Index of the topic's route known to a client.

        If its share changed for certain (`is_sure`) it knew the latest; the first known route counts before its time too.
        """
        steps = self.routes.over_time(topic)
        return max(bisect_right(steps, at, key=lambda step: step[0] if is_sure else self._polled(life, step[0])) - 1, 0)

    def _share(self, path: _SimulatedClient, topic: str, at: int, route: int, present_queues: Iterable[str]) -> set[str]:
        """Queues assigned in a run.

        A run without a route or a list is skipped and keeps the current queues.
        """
        if topic not in self._topics_at(path.topic_steps, at):
            return set()
        version = bisect_right(self._starts, at) - 1
        steps = self.routes.over_time(topic)
        if not steps or version < 0 or not self._listed[version]:
            return set(present_queues)
        queues = self._queues.get((topic, route))
        if queues is None:
            queues = self._queues[topic, route] = sorted_inputs(readable_queues(topic, steps[route][1]), ())[0]
        try:
            share = path.strategy.allocate(queues, self._listed[version], path.life.client_id)
        except AllocationError:
            return set(present_queues)
        return {queue_name(queue.broker, queue.queue_id) for queue in share or ()}

    def _strategy(self, life: ClientProcess) -> AllocationStrategy:
        """Strategy of the clients present then, or of the group.

        Their library's default if these differ.
        """
        over = life.ended_at if life.ended_at is not None else FOREVER
        usages = self.group.strategies.items()
        counters = (
            counts
            for process, counts in usages
            if process.begun_at < over and (process.ended_at is None or process.ended_at > life.begun_at)
        )
        beside = sum(counters, Counter())
        names = [name for name, _ in [*beside.most_common(), *self.strategies.most_common()]]
        for name in sorted(names, key=lambda name: name != DEFAULT):
            try:
                return strategy_named(name)
            except ValueError:
                continue
        return strategy_named(DEFAULT)

    # -- certainty --------------------------------------------------------------------------------------------------

    def was_present(self, low: int, high: int) -> bool:
        """Whether a client without a file was present in an interval."""
        return self._presence.overlaps(low, high)

    @property
    def has_quarrel(self) -> bool:
        """Whether other clients' strategies differ, so that theirs is a guess."""
        return len(self.strategies) > 1


def _doubtful(life: ClientProcess) -> int:
    """Latest time at which a client may still be alive.

    A client whose connection was lost may have reconnected.
    """
    return max((life.unregistered_at or 0) + FORGOTTEN_US, (life.lost_at or 0) + RECONNECT_US)


def _locks(lines: TopicLines) -> dict[str, list[tuple[int, str]]]:
    """Holder of each queue's lock over time, from brokers' lock.log.

    An empty name means nobody.
    """
    holders: dict[str, list[tuple[int, str]]] = {}
    for at, event in lines.locks:
        who = event.client_id or "" if event.name == "RocketLockTaken" else ""
        holders.setdefault(queue_of(event), []).append((at, who))
    return holders


def _left_locked(lines: TopicLines) -> dict[str, list[tuple[int, int]]]:
    """Times in which a queue stays locked for a dead client."""
    spans_by_queue: dict[str, list[tuple[int, int]]] = {}
    for life, timed in lines.by_life.items():
        died = life.ended_at
        if died is None or life.unregistered_at is not None:
            continue
        queues: set[str] = set()
        for _, event in timed:
            if event.name == "RocketQueueAdded":
                queues.add(queue_of(event))
            elif event.name == "RocketQueueRemoved":
                queues.discard(queue_of(event))
        for queue in queues:
            spans_by_queue.setdefault(queue, []).append((died, died + LOCK_US))
    return spans_by_queue


def _pieces(holding: QueueAssignment, locked: Iterable[tuple[int, int]], resets: Iterable[int]) -> Iterator[QueueAssignment]:
    """Remove times of other locks and offset resets from an assignment."""
    begun = holding.begun_at
    for low, high in locked:
        if low <= begun < high:
            begun = high
    for at in resets:
        if begun < at < holding.ended_at:
            yield replace(holding, begun_at=begun, ended_at=at)
            begun = at + RESET_US
    if begun < holding.ended_at:
        yield replace(holding, begun_at=begun)
