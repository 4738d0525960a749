"""Which queues a RocketMQ client takes: the six strategies of its client library, and the shares of all clients together.

RocketMQ 4.9.7 to 5.4.0, `org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueue*` (one rule is older, see
`MachineRoom`). A strategy takes queues and client ids in the order given; clients sort both before they ask (`sorted_inputs`),
and as long as all see the same lists their shares add up. A client id that is there twice counts twice, and both its bearers
take the share of its first place.
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
    """A message queue. Its text is what the library hashes."""

    topic: str
    broker: str
    queue_id: int

    def __str__(self) -> str:
        return f"MessageQueue [topic={self.topic}, brokerName={self.broker}, queueId={self.queue_id}]"


class AllocationError(Exception):
    """The strategy throws: a client skips this run for the topic and keeps what it holds. `java_class` is what it throws."""

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(message)
        self.java_class = java_class


# -- strategies --------------------------------------------------------------------------------------------


class Strategy(ABC):
    """A way to share queues. Strategies are values: no call changes one."""

    @property
    @abstractmethod
    def name(self) -> str:
        """As clients print it with each result."""

    @abstractmethod
    def share(self, queues: Sequence[Queue], client_ids: Sequence[str], client_id: str) -> list[Queue]:
        """The queues of `client_id`, which is one of `client_ids`."""

    def allocate(self, queues: Sequence[Queue] | None, client_ids: Sequence[str] | None, client_id: str | None) -> list[Queue] | None:
        """The queues of `client_id` after the checks that nearly all strategies make; nothing if others don't know of it.

        None is a share that was never configured (`Configured`).
        """
        if not client_id:
            raise AllocationError(ILLEGAL_ARGUMENT, "currentCID is empty")
        if not queues:
            raise AllocationError(ILLEGAL_ARGUMENT, "mqAll is null or mqAll empty")
        if not client_ids:
            raise AllocationError(ILLEGAL_ARGUMENT, "cidAll is null or cidAll empty")
        return self.share(queues, client_ids, client_id) if client_id in client_ids else []

    def everyone(self, queues: Sequence[Queue], client_ids: Sequence[str]) -> dict[str, Sequence[Queue]]:
        """The share of each client, as `allocate` gives it."""
        return {client_id: self.allocate(queues, client_ids, client_id) or [] for client_id in client_ids}


@dataclass(frozen=True, slots=True)
class Average(Strategy):
    """Consecutive blocks; the first clients get one queue more."""

    @property
    def name(self) -> str:
        return "AVG"

    def share(self, queues: Sequence[Queue], client_ids: Sequence[str], client_id: str) -> list[Queue]:
        index = client_ids.index(client_id)
        size, larger = divmod(len(queues), len(client_ids))
        start = index * size + min(index, larger)
        return list(queues[start : start + size + (index < larger)])

    def everyone(self, queues: Sequence[Queue], client_ids: Sequence[str]) -> dict[str, Sequence[Queue]]:
        """In one go: looking each client up would take its square."""
        shares: dict[str, Sequence[Queue]] = {}
        size, larger = divmod(len(queues), len(client_ids) or 1)
        for index, client_id in enumerate(client_ids):
            start = index * size + min(index, larger)
            shares.setdefault(client_id, queues[start : start + size + (index < larger)])
        return shares


@dataclass(frozen=True, slots=True)
class AverageByCircle(Strategy):
    """Dealt out one by one."""

    @property
    def name(self) -> str:
        return "AVG_BY_CIRCLE"

    def share(self, queues: Sequence[Queue], client_ids: Sequence[str], client_id: str) -> list[Queue]:
        return list(queues[client_ids.index(client_id) :: len(client_ids)])

    def everyone(self, queues: Sequence[Queue], client_ids: Sequence[str]) -> dict[str, Sequence[Queue]]:
        """In one go: looking each client up would take its square."""
        shares: dict[str, Sequence[Queue]] = {}
        for index, client_id in enumerate(client_ids):
            shares.setdefault(client_id, queues[index :: len(client_ids)])
        return shares


@dataclass(frozen=True, slots=True)
class ConsistentHash(Strategy):
    """Each queue belongs to the next virtual node on a ring of MD5 hashes. A hash function of one's own leaves no trace in logs."""

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
        """In one go: each queue is looked up once."""
        shares: dict[str, list[Queue]] = {client_id: [] for client_id in client_ids}
        places, owners = _ring(tuple(client_ids), self.virtual_nodes)
        for queue in queues if places else ():
            shares[owners[bisect_left(places, _hash(clear(str(queue)))) % len(places)]].append(queue)
        return dict(shares)


@lru_cache(maxsize=RINGS_KEPT)
def _ring(client_ids: tuple[str, ...], virtual_nodes: int) -> tuple[list[int], list[str]]:
    """Places of the virtual nodes in rising order, and whose they are; where two meet the later one stays.

    An id that is there again adds further nodes of its own.
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
    """The first four bytes of the MD5, unsigned."""
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:4], "big")


@dataclass(frozen=True, slots=True)
class Configured(Strategy):
    """What was configured, whoever else is there; it is the same list for every topic of the group. None: never set."""

    queues: tuple[Queue, ...] | None = None

    @property
    def name(self) -> str:
        return "CONFIG"

    def share(self, queues: Sequence[Queue], client_ids: Sequence[str], client_id: str) -> list[Queue]:  # noqa: ARG002
        return list(self.queues or ())

    def allocate(self, queues: Sequence[Queue] | None, client_ids: Sequence[str] | None, client_id: str | None) -> list[Queue] | None:  # noqa: ARG002
        """The list as it is: nothing is checked."""
        return None if self.queues is None else list(self.queues)


@dataclass(frozen=True, slots=True)
class MachineRoom(Strategy):
    """Blocks of those queues whose broker is called `<room>@<name>` with one of the rooms; what is left over goes one by one.

    Up to 4.7.1 the blocks were cut from the list of all queues by mistake (`blocks_of_all`). `rooms` None: never set.
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
    """Split at `@` as Java does: empty parts at the end vanish."""
    parts = broker.split("@")
    while parts and not parts[-1]:
        parts.pop()
    return parts


@dataclass(frozen=True, slots=True)
class MachineRoomNearby(Strategy):
    """Queues of a room go to the clients of that room, those of a room without clients to everybody, each time by `inner`."""

    inner: Strategy
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
) -> Strategy:
    """The strategy that clients print as `name`, with the settings that it needs.

    A real resolver of machine rooms is the application's own code; here a room is what stands before `room_ends_at` in the
    broker's name and in the client id. Raises ValueError for a name that no strategy has.
    """
    match name:
        case "AVG":
            return Average()
        case "AVG_BY_CIRCLE":
            return AverageByCircle()
        case "CONSISTENT_HASH":
            return ConsistentHash(virtual_nodes)
        case "CONFIG":
            return Configured(None if configured is None else tuple(configured))
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


# -- all clients together ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """What one client takes, in the order in which the strategy gives it."""

    client_id: str
    queues: tuple[Queue, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """The shares of all clients that see the same queues and clients, in the order of their ids.

    `unowned` queues have no client, so nobody reads them; `contested` ones have several, so their messages come twice.
    """

    strategy: str
    shares: tuple[Share, ...]
    unowned: tuple[Queue, ...]
    contested: tuple[Queue, ...]

    def owners(self) -> dict[Queue, tuple[str, ...]]:
        """Whose each queue is."""
        owners: dict[Queue, tuple[str, ...]] = dict.fromkeys(self.unowned, ())
        for share in self.shares:
            owners.update({queue: (*owners.get(queue, ()), share.client_id) for queue in dict.fromkeys(share.queues)})
        return owners


@dataclass(frozen=True, slots=True)
class Move:
    """A queue that has other owners than before. A queue that is new or gone has none on that side."""

    queue: Queue
    before: tuple[str, ...]
    after: tuple[str, ...]


def preview(strategy: Strategy, queues: Iterable[Queue], client_ids: Iterable[str]) -> Preview:
    """The shares of all clients. Raises AllocationError where every client would skip the run."""
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


def moves(before: Preview, after: Preview) -> tuple[Move, ...]:
    """Which queues change hands, in their order."""
    was, becomes = before.owners(), after.owners()
    changed = (queue for queue in was.keys() | becomes.keys() if was.get(queue, ()) != becomes.get(queue, ()))
    return tuple(Move(queue, was.get(queue, ()), becomes.get(queue, ())) for queue in sorted(changed, key=queue_order))


def readable_queues(topic: str, read_queues: Mapping[str, int]) -> list[Queue]:
    """A topic's queues from how many each broker lets be read; queues for writing play no part in allocation."""
    return [Queue(topic, broker, number) for broker, count in read_queues.items() for number in range(count)]


def sorted_inputs(queues: Iterable[Queue], client_ids: Iterable[str]) -> tuple[list[Queue], list[str]]:
    """Queues and client ids as clients sort them before they ask a strategy."""
    return sorted(queues, key=queue_order), sorted(client_ids, key=java_order)


def queue_order(queue: Queue) -> tuple[bytes, bytes, int]:
    """By topic, broker and number (MessageQueue.compareTo)."""
    return java_order(queue.topic), java_order(queue.broker), queue.queue_id


def java_order(text: str) -> bytes:
    """Java compares strings by UTF-16 units, which is not the order of code points."""
    return clear(text).encode("utf-16-be", "surrogatepass")
