"""States of a group's clients by their own lines: unjoined, rebalancing, stable.

These are the states of AbstractCoordinator.MemberState, with both steps of a rebalance merged. Those of KIP-848's
membership manager are mapped to the same names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from models.events import Event, text_field
from models.evidence import evidence
from models.ids import make_id
from models.kafka.observations.log_rotation import log_before_rotation
from models.kafka.observations.roster import IDLE_US, LASTING_US
from models.rows import ClientState

_UNJOINED, _REBALANCING, _STABLE = "UNJOINED", "REBALANCING", "STABLE"

_STATES: Mapping[str, str] = {
    **dict.fromkeys(("ClientConfigured", "ClientSubscribed"), _UNJOINED),
    **dict.fromkeys(("ClientJoining", "ClientJoinSent", "ClientJoined"), _REBALANCING),
    **dict.fromkeys(("ClientSynced", "ClientAssigned"), _STABLE),
    **dict.fromkeys(
        ("ClientLeaveSent", "ClientPollTimedOut", "ClientGenerationReset", "ClientFenced", "ClientUnsubscribed", "ClientLost"), _UNJOINED
    ),
}
"""State after each event."""

_BEGINNINGS = frozenset({"ClientConfigured", "ClientSubscribed"})
"""Initial states for clients without one.

A member may subscribe again without a change of state.
"""

_MODERN: Mapping[str, str] = {"STABLE": _STABLE, **dict.fromkeys(("JOINING", "RECONCILING", "ACKNOWLEDGING"), _REBALANCING)}
"""State for each MemberState (KIP-848); all others are outside the group."""


@dataclass(slots=True)
class _Stretch:
    state: str
    started_at: int
    event: Event
    member_id: str | None
    ended_at: int | None = None


@dataclass(slots=True)
class _Lane:
    """One client in one log."""

    number: int
    """Ordinal of the log among those that name the client."""
    stretches: list[_Stretch] = field(default_factory=list)
    written_count: int = 0
    """Number of stretches already written as rows."""
    seen_at: int = 0

    def is_gone(self, before: int) -> bool:
        """Whether the client has been silent for long before a time.

        Members at rest may be silent for longer than clients that left.
        """
        last = self.stretches[-1] if self.stretches else None
        is_lasting = last is not None and last.ended_at is None and last.state != _UNJOINED
        return self.seen_at < before - (LASTING_US if is_lasting else IDLE_US)


@dataclass(slots=True)
class ClientStates:
    """Tracks the clients of one group, by log and client id."""

    _lanes: dict[tuple[str, str], _Lane] = field(default_factory=dict)
    _logs: Counter[str] = field(default_factory=Counter)
    """Number of logs that name each client."""
    unwritten_count: int = 0
    """Number of stretches not yet written."""
    left: int = 0
    """Number of stretches that remained after the last rows."""
    _first: int = 0
    """Number of a new or returning client's first stretch.

    Greater than those of all discarded stretches.
    """

    def feed(self, event: Event) -> None:
        """Process the next event of the group."""
        if event.client_id is None or not event.name.startswith("Client"):
            return
        at = event.time_us
        client_lane = self._lane(log_before_rotation(event.place.file), event.client_id)
        client_lane.seen_at, lane = max(client_lane.seen_at, at), client_lane.stretches
        last = lane[-1] if lane else None
        if event.name == "ClientClosed":
            if last is not None and last.ended_at is None:
                last.ended_at = max(at, last.started_at)
            return
        state = (
            _MODERN.get(text_field(event, "to_state") or "", _UNJOINED) if event.name == "ClientMemberState" else _STATES.get(event.name)
        )
        if state is None:
            return
        if last is not None and last.ended_at is None:
            if event.name in _BEGINNINGS or last.state == state:
                last.member_id = event.member_id or last.member_id
                return
            last.ended_at = at = max(at, last.started_at)
        lane.append(_Stretch(state, at, event, event.member_id))
        self.unwritten_count += 1

    def _lane(self, log: str, client: str) -> _Lane:
        lane = self._lanes.get((log, client))
        if lane is None:
            self._logs[client] += 1
            lane = self._lanes[log, client] = _Lane(self._logs[client], written_count=self._first)
        return lane

    def silent_clients(self, before: int) -> list[tuple[str, str]]:
        """Clients, by log and client id, that have been silent for long."""
        return [key for key, lane in self._lanes.items() if lane.is_gone(before)]

    def forget(self, clients: Iterable[tuple[str, str]]) -> set[str]:
        """Discard clients after their rows are written; return the logs without others.

        A client that comes back counts as new.
        """
        logs = set()
        for key in clients:
            lane = self._lanes.pop(key)
            self._first = max(self._first, lane.written_count)
            logs.add(key[0])
        known_clients = {client for _, client in self._lanes}
        self._logs = Counter({client: count for client, count in self._logs.items() if client in known_clients})
        return logs - {log for log, _ in self._lanes}

    def rows(
        self,
        cluster: str,
        group: str,
        system: str,
        skews: Mapping[str, int],
        before: int | None = None,
        gone: Container[tuple[str, str]] = (),
    ) -> Iterator[ClientState]:
        """Rows of stretches, converted to the coordinator's clock if its difference is known.

        All of them by default. With `before`, only those that ended before it and have a successor, each once, and all
        of clients in `gone`.
        """
        for (log, client), lane in sorted(self._lanes.items()):
            skew = skews.get(log, 0)
            index, whole = 0, before is None or (log, client) in gone
            while index < len(lane.stretches) and (whole or _is_past(lane.stretches, index, (before or 0) + skew)):
                stretch = lane.stretches[index]
                yield ClientState(
                    cluster,
                    system,
                    make_id("client state", cluster, group, client, lane.number, lane.written_count + index),
                    group,
                    client,
                    stretch.member_id,
                    stretch.event.instance_id,
                    stretch.state,
                    stretch.started_at - skew,
                    stretch.ended_at - skew if stretch.ended_at is not None else None,
                    evidence([stretch.event]),
                )
                index += 1
            if before is not None:
                del lane.stretches[:index]
                lane.written_count += index
                self.unwritten_count -= index
        self.left = self.unwritten_count


def _is_past(stretches: list[_Stretch], index: int, before: int) -> bool:
    ended = stretches[index].ended_at
    return index + 1 < len(stretches) and ended is not None and ended < before
