"""Allocation strategies of RocketMQ's client library, and shares of all clients.

RocketMQ 4.9.7 to 5.4.0, `org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueue*` (one rule is older, see
`MachineRoom`). A strategy takes queues and client ids in the given order; clients sort both first (`sorted_inputs`). As
long as all clients see the same lists, their shares add up. A client id that occurs twice counts twice, and both
clients take the share of its first position.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import md5
from typing import TypeVar

from models.clear_names import clear

ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
NULL_POINTER = "java.lang.NullPointerException"

DEFAULT_VIRTUAL_NODES = 10
RINGS_KEPT = 64

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Queue:
    """A message queue; the library hashes its text."""

    topic: str
    broker: str
    queue_id: int

    def __str__(self) -> str:
        return f"MessageQueue [topic={self.topic}, brokerName={self.broker}, queueId={self.queue_id}]"


class AllocationError(Exception):
    """The strategy throws, so the client skips this run.

    The client keeps its queues. `java_class` is the exception's class.
    """

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(message)
        self.java_class = java_class


# -- strategies --------------------------------------------------------------------------------------------


class AllocationStrategy(ABC):
    """A way to share queues; instances are immutable."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name that clients log with each result."""

    @abstractmethod
    def share(self, queues: Sequence[Queue], client_ids: Sequence[str], client_id: str) -> list[Queue]:
        """Queues of `client_id`, which is one of `client_ids`."""

    def allocate(self, queues: Sequence[Queue] | None, client_ids: Sequence[str] | None, client_id: str | None) -> list[Queue] | None:
        """Queues of `client_id`, after the checks common to most strategies.

        Empty if the others don't know the client; None if a share was never configured.
        """
        if not client_id:
            raise AllocationError(ILLEGAL_ARGUMENT, "currentCID is empty")
        if not queues:
            raise AllocationError(ILLEGAL_ARGUMENT, "mqAll is null or mqAll empty")
        if not client_ids:
            raise AllocationError(ILLEGAL_ARGUMENT, "cidAll is null or cidAll empty")
        return self.share(queues, client_ids, client_id) if client_id in client_ids else []

    def everyone(self, queues: Sequence[Queue], client_ids: Sequence[str]) -> dict[str, Sequence[Queue]]:
        """Share of each client, equal to `allocate`."""
        return {client_id: self.allocate(queues, client_ids, client_id) or [] for client_id in client_ids}


@dataclass(frozen=True, slots=True)
class Average(AllocationStrategy):
    """Consecutive blocks; the first clients get one more queue."""

    @property
    def name(self) -> str:
        return "AVG"

    def share(self, queues: Sequence[Queue], client_ids: Sequence[str], client_id: str) -> list[Queue]:
        index = client_ids.index(client_id)
        size, larger = divmod(len(queues), len(client_ids))
        start = index * size + min(index, larger)
        return list(queues[start : start + size + (index < larger)])

    def everyone(self, queues: Sequence[Queue], client_ids: Sequence[str]) -> dict[str, Sequence[Queue]]:
        """Shares of all clients in linear instead of quadratic time."""
        shares: dict[str, Sequence[Queue]] = {}
        size, larger = divmod(len(queues), len(client_ids) or 1)
        for index, client_id in enumerate(client_ids):
            start = index * size + min(index, larger)
            shares.setdefault(client_id, queues[start : start + size + (index < larger)])
        return shares


@dataclass(frozen=True, slots=True)
class AverageByCircle(AllocationStrategy):
    """Queues are dealt one by one."""

    @property
    def name(self) -> str:
        return "AVG_BY_CIRCLE"

    def share(self, queues: Sequence[Queue], client_ids: Sequence[str], client_id: str) -> list[Queue]:
        return list(queues[client_ids.index(client_id) :: len(client_ids)])

    def everyone(self, queues: Sequence[Queue], client_ids: Sequence[str]) -> dict[str, Sequence[Queue]]:
        """Shares of all clients in linear instead of quadratic time."""
        shares: dict[str, Sequence[Queue]] = {}
        for index, client_id in enumerate(client_ids):
            shares.setdefault(client_id, queues[index :: len(client_ids)])
        return shares


@dataclass(frozen=True, slots=True)
class ConsistentHash(AllocationStrategy):
    """Each queue belongs to the next virtual node on an MD5 ring.

    Custom hash functions are not supported, because they leave no trace in logs.
    """

    virtual_nodes: int = DEFAULT_VIRTUAL_NODES

    def __post_init__(self) -> None:
        if self.virtual_nodes < 0:
            raise AllocationError(ILLEGAL_ARGUMENT, f"illegal virtualNodeCnt :{self.virtual_nodes}")

    @property
    def name(self) -> str:
        return "CONSISTENT_HASH"

    def share(self, queues: Sequence[Queue], client_ids: Sequence[str], client_id: str) -> list[Queue]:
        places, owners = _ring(tuple(client_ids), self.virtual_nodes)
        if not places:
            return []
        return [queue for queue in queues if owners[bisect_left(places, _hash(clear(str(queue)))) % len(places)] == client_id]

    def everyone(self, queues: Sequence[Queue], client_ids: Sequence[str]) -> dict[str, Sequence[Queue]]:
        """Shares of all clients with one lookup per queue."""
        shares: dict[str, list[Queue]] = {client_id: [] for client_id in client_ids}
        places, owners = _ring(tuple(client_ids), self.virtual_nodes)
        for queue in queues if places else ():
            shares[owners[bisect_left(places, _hash(clear(str(queue)))) % len(places)]].append(queue)
        return dict(shares)


@lru_cache(maxsize=RINGS_KEPT)
def _ring(client_ids: tuple[str, ...], virtual_nodes: int) -> tuple[list[int], list[str]]:
    """Sorted positions of the virtual nodes, and their clients.

    On a collision the later one wins. A repeated id adds further nodes.
    """
    ring: dict[int, str] = {}
    seen: dict[str, int] = {}
    for client_id in client_ids:
        first = seen.get(client_id, 0)
        seen[client_id] = first + virtual_nodes
        ring.update({_hash(f"{clear(client_id)}-{number}"): client_id for number in range(first, first + virtual_nodes)})
    places = sorted(ring)
    return places, [ring[place] for place in places]


def _hash(text: str) -> int:
    """First four bytes of the MD5, unsigned."""
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:4], "big")


@dataclass(frozen=True, slots=True)
class ConfiguredQueues(AllocationStrategy):
    """A configured list, the same for every topic and any other clients.

    None means never set.
    """

    queues: tuple[Queue, ...] | None = None

    @property
    def name(self) -> str:
        return "CONFIG"

    def share(self, queues: Sequence[Queue], client_ids: Sequence[str], client_id: str) -> list[Queue]:  # noqa: ARG002
        return list(self.queues or ())

    def allocate(self, queues: Sequence[Queue] | None, client_ids: Sequence[str] | None, client_id: str | None) -> list[Queue] | None:  # noqa: ARG002
        """The configured list without any checks."""
        return None if self.queues is None else list(self.queues)


@dataclass(frozen=True, slots=True)
class MachineRoom(AllocationStrategy):
    """Blocks of the queues in the given machine rooms.

    A broker's room is the part before `@` in `<room>@<name>`; remaining queues are dealt one by one. Up to 4.7.1 the blocks
    were cut from all queues by mistake (`blocks_of_all`). `rooms` is None if never set.
    """

    rooms: frozenset[str] | None = None
    blocks_of_all: bool = False

    @property
    def name(self) -> str:
        return "MACHINE_ROOM"

    def share(self, queues: Sequence[Queue], client_ids: Sequence[str], client_id: str) -> list[Queue]:
        index = client_ids.index(client_id)
        wanted = [queue for queue in queues if self._is_in_a_room(queue)]
        size, left = divmod(len(wanted), len(client_ids))
        block = (queues if self.blocks_of_all else wanted)[index * size : (index + 1) * size]
        rest = size * len(client_ids)
        return [*block, *wanted[rest + index : rest + index + (index < left)]]

    def _is_in_a_room(self, queue: Queue) -> bool:
        parts = _split(clear(queue.broker))
        if len(parts) != 2:
            return False
        if self.rooms is None:
            raise AllocationError(NULL_POINTER, "no machine rooms are set")
        return parts[0] in self.rooms


def _split(broker: str) -> list[str]:
    """Split at `@` as Java does, without empty parts at the end."""
    parts = broker.split("@")
    while parts and not parts[-1]:
        parts.pop()
    return parts


@dataclass(frozen=True, slots=True)
class MachineRoomNearby(AllocationStrategy):
    """Queues of a room go to that room's clients.

    Queues of rooms without clients go to everybody. Both use `inner`.
    """

    inner: AllocationStrategy
    room_of_queue: Callable[[Queue], str | None]
    room_of_client: Callable[[str], str | None]

    @property
    def name(self) -> str:
        return f"MACHINE_ROOM_NEARBY-{self.inner.name}"

    def share(self, queues: Sequence[Queue], client_ids: Sequence[str], client_id: str) -> list[Queue]:
        queues_by_room = _by_room(queues, self.room_of_queue, "mq")
        clients_by_room = _by_room(client_ids, self.room_of_client, "consumer id")
        own_room = self.room_of_client(client_id) or ""
        share = list(self._inner_share(queues_by_room.get(own_room, []), clients_by_room.get(own_room, []), client_id))
        for room in sorted(queues_by_room.keys() - clients_by_room.keys(), key=java_order):
            share += self._inner_share(queues_by_room[room], client_ids, client_id)
        return share

    def _inner_share(self, queues: Sequence[Queue], client_ids: Sequence[str], client_id: str) -> list[Queue]:
        return (self.inner.allocate(queues, client_ids, client_id) or []) if queues else []


def _by_room(things: Sequence[Thing], room_of: Callable[[Thing], str | None], what: str) -> dict[str, list[Thing]]:
    rooms: dict[str, list[Thing]] = {}
    for thing in things:
        room = room_of(thing)
        if not room:
            raise AllocationError(ILLEGAL_ARGUMENT, f"Machine room is null for {what} {thing}")
        rooms.setdefault(room, []).append(thing)
    return rooms


NEARBY = "MACHINE_ROOM_NEARBY-"
NAMES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "CONFIG", "MACHINE_ROOM", f"{NEARBY}<strategy>")


def strategy_named(
    name: str,
    *,
    virtual_nodes: int = DEFAULT_VIRTUAL_NODES,
    configured: Iterable[Queue] | None = None,
    rooms: Iterable[str] | None = None,
    room_ends_at: str = "-",
) -> AllocationStrategy:
    """Strategy with the name that clients log.

    Real resolvers of machine rooms are application code; here a room is the part before `room_ends_at` in the broker's name
    and in the client id. Raises ValueError for an unknown name.
    """
    match name:
        case "AVG":
            return Average()
        case "AVG_BY_CIRCLE":
            return AverageByCircle()
        case "CONSISTENT_HASH":
            return ConsistentHash(virtual_nodes)
        case "CONFIG":
            return ConfiguredQueues(None if configured is None else tuple(configured))
        case "MACHINE_ROOM":
            return MachineRoom(None if rooms is None else frozenset(rooms))
    if name.startswith(NEARBY):
        inner = strategy_named(
            name.removeprefix(NEARBY), virtual_nodes=virtual_nodes, configured=configured, rooms=rooms, room_ends_at=room_ends_at
        )
        return MachineRoomNearby(
            inner, lambda queue: queue.broker.partition(room_ends_at)[0], lambda client_id: client_id.partition(room_ends_at)[0]
        )
    raise ValueError(f"no strategy is called {name!r}; known are {', '.join(NAMES)}")


# -- all clients -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """Queues of one client, in the order given by the strategy."""

    client_id: str
    queues: tuple[Queue, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """Shares of all clients, by client id.

    `unowned` queues have no client, so nobody reads them; `contested` ones have several, so their messages are delivered
    twice.
    """

    strategy: str
    shares: tuple[Share, ...]
    unowned: tuple[Queue, ...]
    contested: tuple[Queue, ...]

    def owners(self) -> dict[Queue, tuple[str, ...]]:
        """Clients of each queue."""
        owners: dict[Queue, tuple[str, ...]] = dict.fromkeys(self.unowned, ())
        for share in self.shares:
            owners.update({queue: (*owners.get(queue, ()), share.client_id) for queue in dict.fromkeys(share.queues)})
        return owners


@dataclass(frozen=True, slots=True)
class QueueMove:
    """A queue with changed owners.

    A new or removed queue has none on that side.
    """

    queue: Queue
    before: tuple[str, ...]
    after: tuple[str, ...]


def preview(strategy: AllocationStrategy, queues: Iterable[Queue], client_ids: Iterable[str]) -> Preview:
    """Shares of all clients.

    Raises AllocationError if every client would skip the run.
    """
    queues, client_ids = sorted_inputs(queues, client_ids)
    shares = tuple(Share(client_id, tuple(strategy.allocate(queues, client_ids, client_id) or ())) for client_id in client_ids)
    times: dict[Queue, int] = {}
    for share in shares:
        for queue in set(share.queues):
            times[queue] = times.get(queue, 0) + 1
    return Preview(
        strategy.name,
        shares,
        unowned=tuple(queue for queue in dict.fromkeys(queues) if queue not in times),
        contested=tuple(sorted((queue for queue, count in times.items() if count > 1), key=queue_order)),
    )


def moves(before: Preview, after: Preview) -> tuple[QueueMove, ...]:
    """Queues that change hands, sorted."""
    was, becomes = before.owners(), after.owners()
    changed = (queue for queue in was.keys() | becomes.keys() if was.get(queue, ()) != becomes.get(queue, ()))
    return tuple(QueueMove(queue, was.get(queue, ()), becomes.get(queue, ())) for queue in sorted(changed, key=queue_order))


def readable_queues(topic: str, read_queues: Mapping[str, int]) -> list[Queue]:
    """Readable queues of a topic, from their number by broker.

    Write queues play no part in allocation.
    """
    return [Queue(topic, broker, number) for broker, count in read_queues.items() for number in range(count)]


def sorted_inputs(queues: Iterable[Queue], client_ids: Iterable[str]) -> tuple[list[Queue], list[str]]:
    """Queues and client ids as clients sort them."""
    return sorted(queues, key=queue_order), sorted(client_ids, key=java_order)


def queue_order(queue: Queue) -> tuple[bytes, bytes, int]:
    """Sort key by topic, broker and number (MessageQueue.compareTo)."""
    return java_order(queue.topic), java_order(queue.broker), queue.queue_id


def java_order(text: str) -> bytes:
    """Sort key of Java strings: UTF-16 units instead of code points."""
    return clear(text).encode("utf-16-be", "surrogatepass")
