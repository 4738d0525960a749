"""What state each client of a group was in, by its own lines: unjoined, rebalancing or stable.

These are the states of AbstractCoordinator.MemberState, its two steps of a rebalance taken as one; those of KIP-848's
membership manager are brought under the same three names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from models.events import Event
from models.evidence import evidence
from models.ids import make_id
from models.kafka.observations.actions import text_field
from models.kafka.observations.client_ids import log_of
from models.kafka.observations.roster import IDLE_US, LASTING_US
from models.rows import ClientState

UNJOINED, REBALANCING, STABLE = "UNJOINED", "REBALANCING", "STABLE"

_STATES: Mapping[str, str] = {
    **dict.fromkeys(("ClientConfigured", "ClientSubscribed"), UNJOINED),
    **dict.fromkeys(("ClientJoining", "ClientJoinSent", "ClientJoined"), REBALANCING),
    **dict.fromkeys(("ClientSynced", "ClientAssigned"), STABLE),
    **dict.fromkeys(
        ("ClientLeaveSent", "ClientPollTimedOut", "ClientGenerationReset", "ClientFenced", "ClientUnsubscribed", "ClientLost"), UNJOINED
    ),
}
"""By the event that shows it."""

_BEGINNINGS = frozenset({"ClientConfigured", "ClientSubscribed"})
"""These tell a state of a client that has none yet: a member may subscribe again and stay what it is."""

_MODERN: Mapping[str, str] = {"STABLE": STABLE, **dict.fromkeys(("JOINING", "RECONCILING", "ACKNOWLEDGING"), REBALANCING)}
"""By the state of MemberState (KIP-848); all others are outside the group."""


@dataclass(slots=True)
class _Stretch:
    state: str
    started_at: int
    event: Event
    member_id: str | None
    ended_at: int | None = None


@dataclass(slots=True)
class _Lane:
    """One client as one log shows it."""

    number: int
    """Logs of the client, in the order in which they name it first."""
    stretches: list[_Stretch] = field(default_factory=list)
    told: int = 0
    """Stretches before these, whose rows are written."""
    seen_at: int = 0

    def is_gone(self, before: int) -> bool:
        """Whether nothing was heard of the client for long by a time; what ended or left is sooner gone than who may be at rest."""
        last = self.stretches[-1] if self.stretches else None
        is_lasting = last is not None and last.ended_at is None and last.state != UNJOINED
        return self.seen_at < before - (LASTING_US if is_lasting else IDLE_US)


@dataclass(slots=True)
class ClientStates:
    """Follows the clients of one group, told apart by log and client id."""

    _lanes: dict[tuple[str, str], _Lane] = field(default_factory=dict)
    _logs: Counter[str] = field(default_factory=Counter)
    """How many logs name each client."""
    held: int = 0
    """Stretches whose rows are not written."""
    left: int = 0
    """How many there were after some were."""
    _first: int = 0
    """Number of the first stretch of a client that is new, or comes back: beyond all of those that were forgotten."""

    def feed(self, event: Event) -> None:
        """Take the next event of the group."""
        if event.client_id is None or not event.name.startswith("Client"):
            return
        at = event.time_us
        found = self._lane(log_of(event.place.file), event.client_id)
        found.seen_at, lane = max(found.seen_at, at), found.stretches
        last = lane[-1] if lane else None
        if event.name == "ClientClosed":
            if last is not None and last.ended_at is None:
                last.ended_at = max(at, last.started_at)
            return
        state = _MODERN.get(text_field(event, "to_state") or "", UNJOINED) if event.name == "ClientMemberState" else _STATES.get(event.name)
        if state is None:
            return
        if last is not None and last.ended_at is None:
            if event.name in _BEGINNINGS or last.state == state:
                last.member_id = event.member_id or last.member_id
                return
            last.ended_at = at = max(at, last.started_at)
        lane.append(_Stretch(state, at, event, event.member_id))
        self.held += 1

    def _lane(self, log: str, client: str) -> _Lane:
        found = self._lanes.get((log, client))
        if found is None:
            self._logs[client] += 1
            found = self._lanes[log, client] = _Lane(self._logs[client], told=self._first)
        return found

    def gone(self, before: int) -> list[tuple[str, str]]:
        """Clients, each by log and client id, of which nothing was heard for long by a time."""
        return [key for key, lane in self._lanes.items() if lane.is_gone(before)]

    def forget(self, clients: Iterable[tuple[str, str]]) -> set[str]:
        """Forget these clients, whose rows are written, and return the logs that show no other one. If they come back, they are new."""
        logs = set()
        for key in clients:
            lane = self._lanes.pop(key)
            self._first = max(self._first, lane.told)
            logs.add(key[0])
        held = {client for _, client in self._lanes}
        self._logs = Counter({client: count for client, count in self._logs.items() if client in held})
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
        """Stretches, on the coordinator's clock as far as the difference of each log's clock is known.

        All of them; or, once, those that a later one follows and that ended before a time, and all of clients that are `gone`.
        """
        for (log, client), lane in sorted(self._lanes.items()):
            skew = skews.get(log, 0)
            index, whole = 0, before is None or (log, client) in gone
            while index < len(lane.stretches) and (whole or _is_past(lane.stretches, index, (before or 0) + skew)):
                each = lane.stretches[index]
                yield ClientState(
                    cluster,
                    system,
                    make_id("client state", cluster, group, client, lane.number, lane.told + index),
                    group,
                    client,
                    each.member_id,
                    each.event.instance_id,
                    each.state,
                    each.started_at - skew,
                    each.ended_at - skew if each.ended_at is not None else None,
                    evidence([each.event]),
                )
                index += 1
            if before is not None:
                del lane.stretches[:index]
                lane.told += index
                self.held -= index
        self.left = self.held


def _is_past(stretches: list[_Stretch], index: int, before: int) -> bool:
    ended = stretches[index].ended_at
    return index + 1 < len(stretches) and ended is not None and ended < before
