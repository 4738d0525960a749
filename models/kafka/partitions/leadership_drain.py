"""Departures of brokers without files, inferred from moves of all their leaderships.

A controlled shutdown moves each leadership away before its broker refuses connections, and a follower with a new leader
doesn't try the old one again. So if a broker led several partitions and all of them get other leaders within moments,
it has left. Preferred elections also move many leaderships, but back to a broker that led them before or has just
started.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from models.events import Event
from models.kafka.partitions.brokers import Brokers
from models.kafka.partitions.partition_history import NO_LEADER, PartitionHistory
from models.tolerances import int_tolerance

WITHIN_US = int_tolerance("kafka.leadership_drain.within_us")
"""Maximum duration of a controlled shutdown's moves.

Brokers are notified one after the other.
"""

MOVES_MIN = 2
"""Minimum number of moves, since one leadership moves for many reasons."""


FRESH_US = int_tolerance("kafka.leadership_drain.fresh_us")
"""Time within which a returned broker gets its preferred leaderships back.

leader.imbalance.check.interval.seconds is 300.
"""

PartitionName = tuple[str, int]


def _place(history: PartitionHistory) -> PartitionName:
    return history.topic, history.partition


@dataclass(frozen=True, slots=True)
class LeadershipMove:
    """A move of a leadership to another broker.

    `is_back` is True if that broker may have led the partition before.
    """

    at: int
    is_back: bool
    event: Event


@dataclass(slots=True)
class LeadershipDrain:
    """Partitions led by each broker, and its recently lost leaderships."""

    _led: dict[str, dict[PartitionName, PartitionHistory]] = field(default_factory=dict)
    _moves: dict[str, deque[LeadershipMove]] = field(default_factory=dict)
    _unfollowed: dict[PartitionName, int] = field(default_factory=dict)

    def unfollowed(self, history: PartitionHistory, at: int) -> None:
        """Record that a follower stopped fetching a partition.

        If it leads now, no line of its own says so from Kafka 2.4 on.
        """
        self._unfollowed[_place(history)] = at

    def followed(self, history: PartitionHistory) -> None:
        """Record that a follower fetches a partition."""
        self._unfollowed.pop(_place(history), None)

    def changed(self, history: PartitionHistory, before: str | None, after: str, event: Event | None, brokers: Brokers) -> None:
        """Record a partition's new leader.

        `event` gives the time of the move, None if unknown.
        """
        self._led.setdefault(after, {})[_place(history)] = history
        if before is not None:
            self._led.get(before, {}).pop(_place(history), None)
        if event is not None and before not in {None, NO_LEADER} and after != NO_LEADER:
            move = LeadershipMove(event.time_us, _had_it(history, after, event, brokers), event)
            moves = self._moves.setdefault(before or "", deque())
            while moves and move.at - moves[0].at > WITHIN_US:
                moves.popleft()
            moves.append(move)

    def draining_moves(self, node: str, at: int, brokers: Brokers) -> list[LeadershipMove]:
        """Latest moves of a broker if these were all its leaderships."""
        moves = self._moves.get(node)
        while moves and at - moves[0].at > WITHIN_US:
            moves.popleft()
        if not moves or any(self._stays(move, node, at, brokers) for move in self._led.get(node, {}).values()):
            return []
        return list(moves)

    def forget(self, before: int) -> None:
        """Prune moves from before a time."""
        for node, moves in list(self._moves.items()):
            while moves and moves[0].at < before:
                moves.popleft()
            if not moves:
                del self._moves[node]

    def deleted(self, history: PartitionHistory) -> None:
        """Drop a deleted partition."""
        place = _place(history)
        led = self._led.get(history.leader or "", {})
        if led.get(place) is history:
            del led[place]
        self._unfollowed.pop(place, None)

    def _stays(self, history: PartitionHistory, leader: str, at: int, brokers: Brokers) -> bool:
        """Whether a partition keeps its leader although another broker could lead it."""
        unfollowed_at = self._unfollowed.get(_place(history))
        if history.deleted_at is not None or (unfollowed_at is not None and at - unfollowed_at <= WITHIN_US):
            return False
        return any(node != leader and not brokers.is_down(node) for node in history.candidates)


def _had_it(history: PartitionHistory, node: str, event: Event, brokers: Brokers) -> bool:
    """Whether a broker may have led the partition before."""
    if brokers.is_down(node) or brokers.last_return(node, event.time_us - FRESH_US, event.time_us) is not None:
        return True
    return node in history.led_by or any(leadership.leader == node for leadership in history.leaderships[:-1])
