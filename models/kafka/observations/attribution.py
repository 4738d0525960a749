"""Attribution of clients' lines without a group.

librdkafka names the client in each line and the group only in debug output; kafka-python often names neither. Other
lines help: those of the same client in the same log, else those of any witness that saw the client id in a group at
that time. A line that fits several groups is not attributed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple, TypeVar

from models.events import Event, Witness
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.observations.log_rotation import log_before_rotation
from models.kafka.observations.roster import owner_in_member_id
from models.tolerances import int_tolerance

EVENTS_WITHOUT_GROUP = frozenset(
    {
        "ClientAssigned",
        "ClientClosed",
        "ClientCommitFailed",
        "ClientCoordinatorLost",
        "ClientErrorReported",
        "ClientFenced",
        "ClientHeartbeatFailed",
        "ClientHeartbeatRebalancing",
        "ClientJoined",
        "ClientJoinFailed",
        "ClientLeaveAnswered",
        "ClientLeaveSent",
        "ClientLost",
        "ClientPollTimedOut",
        "ClientRejoinRequested",
        "ClientRevoked",
        "ClientStepEnded",
        "ClientSynced",
        "ClientThreadState",
        "ClientTroubled",
        "StaticMemberFenced",
    }
)
"""Client events needed by a group's history, even without a group in their lines."""


def attributed_events(group: str, facts: ClusterFacts) -> deque[Event]:
    """Return lines about `group` that name several groups or none.

    These are bulk deletions, and client lines attributed to the group.
    """
    deletions = [
        Event("GroupDied", event.at_us, event.order_us, event.place, event.witness, event.message, event.text, event.node, group)
        for _, name, event in facts.deletions
        if name == group
    ]
    return deque(sorted([*deletions, *facts.attributed_events.get(group, ())], key=lambda event: event.order_us))


_REPORT = "ClientErrorReported"

SIGHTING_TOLERANCE_US = int_tolerance("kafka.attribution.slack_us")
"""Time before its first sighting for which a client counts as present.

Clocks differ, and joins take time.
"""


CLIENTS_OF_LOG_MAX = 2
"""Clients of a log that are told apart: one, or several."""


class ClientSighting(NamedTuple):
    """A client in a group, as seen in one file.

    Times are those of the first and last line, in microseconds. `client_number` distinguishes clients with the same id
    in one process.
    """

    file: str
    witness: str
    group: str
    client_id: str | None
    client_number: int | None
    member_id: str | None
    first_us: int
    last_us: int


@dataclass(slots=True)
class _Span:
    first_us: int
    last_us: int

    def widen(self, seen: ClientSighting) -> None:
        self.first_us, self.last_us = min(self.first_us, seen.first_us), max(self.last_us, seen.last_us)

    def holds(self, at: int) -> bool:
        return self.first_us - SIGHTING_TOLERANCE_US <= at <= self.last_us + SIGHTING_TOLERANCE_US


_Spans = dict[str, _Span]
"""Keyed by group or by member id."""

_Key = TypeVar("_Key")


@dataclass(slots=True)
class Sightings:
    """Sightings of the clients of one cluster."""

    _in_log: dict[tuple[str, str | None, int | None], _Spans] = field(default_factory=dict)
    _anywhere: dict[str, _Spans] = field(default_factory=dict)
    _members: dict[tuple[str, str], _Spans] = field(default_factory=dict)
    _clients: dict[str, set[tuple[str, str | None, int | None]]] = field(default_factory=dict)
    """Groups with their clients, by log; of many a few."""

    def note(self, seen: ClientSighting) -> None:
        """Record a sighting."""
        if seen.witness == Witness.CLIENT:
            log = log_before_rotation(seen.file)
            _note(self._in_log, (log, seen.client_id, seen.client_number), seen.group, seen)
            clients = self._clients.setdefault(log, set())
            if len(clients) < CLIENTS_OF_LOG_MAX:
                clients.add((seen.group, seen.client_id, seen.client_number))
            if seen.member_id:
                _note(self._members, (log, seen.group), seen.member_id, seen)
        client = seen.client_id or (owner_in_member_id(seen.member_id) if seen.member_id else None)
        if client:
            _note(self._anywhere, client, seen.group, seen)

    def attribute(self, events: Iterable[Event]) -> dict[str, list[Event]]:
        """Attribute lines to groups; those of each group in order of time.

        What a program tells of its client may be told by the client, too, and is of no group.
        """
        homes: dict[str, list[Event]] = {}
        for event in events:
            only_group, only_client = self._only_client(event)
            group = (self._group_of(event) or only_group) if event.name != _REPORT else None
            if group is not None and group == only_group:
                event = replace(event, client_id=only_client)
            if group is not None:
                homes.setdefault(group, []).append(replace(event, group=group, member_id=event.member_id or self._member(event, group)))
        for group_of_log in homes.values():
            group_of_log.sort(key=lambda event: (event.order_us, event.place.file, event.place.byte_offset))
        return homes

    def logs_with_groups(self) -> set[str]:
        """Logs of clients that name a group."""
        return set(self._clients)

    def _group_of(self, event: Event) -> str | None:
        client = event.client_id or (owner_in_member_id(event.member_id) if event.member_id else None)
        number = event.fields.get("client_number")
        log_key = (log_before_rotation(event.place.file), event.client_id, number if isinstance(number, int) else None)
        group = _the_one(self._in_log.get(log_key, {})) if event.client_id else None
        group = group or _only(self._in_log.get(log_key, {}), event.time_us)
        anywhere = self._anywhere.get(client, {}) if client and event.at_us is not None else {}
        return group or _only(anywhere, event.time_us)

    def _only_client(self, event: Event) -> tuple[str | None, str | None]:
        """The only group and client of the log, for a line that names neither.

        Programs print the callbacks of their consumers so.
        """
        clients = self._clients.get(log_before_rotation(event.place.file), ())
        if event.client_id is not None or event.member_id is not None or len(clients) != 1:
            return None, None
        ((group, client_id, _),) = clients
        return group, client_id

    def _member(self, event: Event, group: str) -> str | None:
        """Member id of a log's client at the time of an event.

        None unless the log has a single client, so that its ids follow each other.
        """
        spans = self._members.get((log_before_rotation(event.place.file), group), {})
        if event.client_id is not None or event.at_us is None:
            return None
        ids = sorted(spans, key=lambda member_id: spans[member_id].first_us)
        if any(spans[before].last_us >= spans[after].first_us for before, after in pairwise(ids)):
            return None
        return next((member_id for member_id in reversed(ids) if spans[member_id].first_us <= event.at_us), None)


def _note(spans: dict[_Key, _Spans], key: _Key, name: str, seen: ClientSighting) -> None:
    span = spans.setdefault(key, {}).setdefault(name, _Span(seen.first_us, seen.last_us))
    span.widen(seen)


def _the_one(spans: _Spans) -> str | None:
    """The only group in which a log ever has a client."""
    return next(iter(spans)) if len(spans) == 1 else None


def _only(spans: _Spans, at: int) -> str | None:
    """The only group, or the only one with the client at that time."""
    if len(spans) == 1:
        ((group, span),) = spans.items()
        return group if span.first_us - SIGHTING_TOLERANCE_US <= at else None
    groups = [group for group, span in spans.items() if span.holds(at)]
    return groups[0] if len(groups) == 1 else None
