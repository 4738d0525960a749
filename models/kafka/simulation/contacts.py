"""Heartbeats and commits of members between rebalances.

Most of them renew a session and do nothing else. Where nobody wants to see requests, such contacts are not sent as events of their
own, which took most of a simulation's time; what happens is the same (`renew_sessions`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace

from models.kafka.coordinator.protocol.embedded_consumer import Partition
from models.kafka.coordinator.protocol.requests import Commit, Heartbeat
from models.kafka.coordinator.runtime.timers import Session
from models.kafka.simulation.client import Client, DelayedAction
from models.kafka.simulation.cluster import LATENCY_MS, Flight, GroupCoordinatorSeat, Receive
from models.kafka.simulation.world import World

_LEAST_MS = LATENCY_MS[0]
_WIDTH = LATENCY_MS[1] - LATENCY_MS[0] + 1
_BITS = _WIDTH.bit_length()
Sender = tuple[str, int, str | None]
"""Member id, generation and instance id."""


def sender_of(client: Client) -> Sender:
    """The member that a client is now."""
    return client.member, client.generation, client.instance


def heartbeat(client: Client, sender: Sender) -> Heartbeat:
    """A client's next heartbeat."""
    return Heartbeat(client.cluster.number(), client.plan.name, *sender)


def commit(client: Client, sender: Sender, sent_ms: int, owned: tuple[Partition, ...]) -> Commit:
    """A client's next commit, whose offsets are the time."""
    return Commit(client.cluster.number(), client.plan.name, dict.fromkeys(owned, sent_ms), *sender)


@dataclass(slots=True, eq=False)
class RepeatedContact(DelayedAction):
    """The next heartbeat or commit of a stable member.

    It plans the one after it.
    """

    attempt: int
    every_ms: int
    beaten: Receive | None = None
    """Takes the response to a heartbeat; None for commits."""
    seat: GroupCoordinatorSeat = field(init=False)
    arrival: RenewalArrival | None = None
    """The last one, with the session that it renewed."""

    def __post_init__(self) -> None:
        self.seat = self.client.cluster.seats[self.client.plan.name]

    def new_arrival(self) -> RenewalArrival | None:
        """Ask the coordinator for the session.

        Needed after anything that may have changed the group. None if the request may do more than renew it.
        """
        client, seat = self.client, self.seat
        node = client.node
        if node is None or node != seat.node or node not in client.cluster.up:
            return None
        sender = sender_of(client)
        session = seat.coordinator.session_to_renew(Heartbeat(0, seat.group, *sender))
        return None if session is None else RenewalArrival(self, seat, node, session, seat.changes, sender, self.beaten is None)

    def flight(self, sender: Sender, sent_ms: int, owned: tuple[Partition, ...]) -> Flight:
        """The request that was sent at a time.

        A commit is of these partitions.
        """
        client = self.client
        if self.beaten is not None:
            return client.flight(heartbeat(client, sender), self.attempt, self.beaten, lambda: None, only_refusals=True)
        return client.flight(commit(client, sender, sent_ms, owned), self.attempt, lambda _: None, lambda: None, only_refusals=True)


@dataclass(slots=True, eq=False)
class RenewalArrival:
    """The arrival of a request that renews a session, unless the group changes first."""

    contact: RepeatedContact
    seat: GroupCoordinatorSeat
    node: int
    session: Session
    changes: int
    """Those of the seat when the coordinator was asked for the session."""
    sender: Sender
    is_commit: bool
    is_under_way: bool = False
    sent_ms: int = 0
    owned: tuple[Partition, ...] = ()

    def __call__(self) -> None:
        """Let the request arrive as any other does."""
        self.is_under_way = False
        self.contact.client.cluster.arrive(self.node, self.contact.flight(self.sender, self.sent_ms, self.owned))


def renew_sessions(world: World, before_ms: int) -> None:
    """Carry out contacts that renew sessions only.

    Until there is anything else to do, or it is `before_ms`. It comes to the same as one event for each step: delays are drawn in the
    same order, and ties broken.
    """
    due, draw = world.due, world.dice.getrandbits
    while due:
        at_ms, _, action = due[0]
        if at_ms >= before_ms:
            return
        if action.__class__ is RenewalArrival:
            seat = action.seat
            if action.changes != seat.changes:
                return
            heappop(due)
            action.is_under_way = False
            action.session.timer.at_ms = at_ms + action.session.session_ms
            seat.renewed_ms = at_ms
            if action.is_commit:
                seat.commits[action.owned] = action.sent_ms, at_ms
            while draw(_BITS) >= _WIDTH:  # the delay of the response
                pass
        elif action.__class__ is not RepeatedContact:
            return
        elif action.attempt != (client := action.client).attempt:
            heappop(due)  # as long as there is no other attempt, the member is stable in one generation
        else:
            if at_ms < client.paused_until_ms or at_ms < client.cut_until_ms or client.life != action.life:
                return
            if action.beaten is None and (not client.owned or client.busy_until_ms > at_ms):
                return
            arrival = action.arrival
            if arrival is None or arrival.changes != action.seat.changes or arrival.node != client.node or arrival.is_under_way:
                arrival = action.arrival = action.new_arrival()
                if arrival is None:
                    return
            arrival.is_under_way, arrival.sent_ms, arrival.owned = True, at_ms, client.owned
            drawn = draw(_BITS)  # as `World.between` does it
            while drawn >= _WIDTH:
                drawn = draw(_BITS)
            world.planned = number = world.planned + 2
            heapreplace(due, (at_ms + action.every_ms, number, action))
            heappush(due, (at_ms + _LEAST_MS + drawn, number - 1, arrival))
