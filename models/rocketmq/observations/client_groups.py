"""Groups of clients whose lines seldom name one.

A gRPC client belongs to one group, but only a few of its lines say so; its id, which is in all of them, ties the others to it.
One process may hold several such clients and write all their lines to one log, so each of them has a log of its own here.
A line that names no client is of the only one that its log names. Logs of C++ name none, so that the log stands for its client.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from models.events import Event, LogPosition, Witness
from models.rocketmq.observations.log_rotation import log_name_of

ASSIGNMENT_LINES = frozenset({"RocketAssignmentsChanged", "RocketAssignmentsEmptied"})
"""Events of what a proxy assigned."""

ASSIGNED = ASSIGNMENT_LINES | {"RocketQueueAdded", "RocketQueueRemoved"}
"""Events of a client's assignments; they name a topic, too."""

OF_GRPC = ASSIGNED | {
    "RocketConsumerStarting",
    "RocketConsumerStarted",
    "RocketConsumerStopping",
    "RocketConsumerStopped",
    "RocketUnregistered",
    "RocketConsumeServiceCreated",
    "RocketHeartbeatSent",
    "RocketHeartbeatFailed",
    "RocketSessionChanged",
    "RocketConsumptionCounted",
    "RocketQueueQuiet",
    "RocketReceiptFailed",
    "RocketReceiptSettled",
    "RocketMessageGivenUp",
    "RocketLiteSubscribed",
    "RocketLiteRefused",
}
"""Events that name a client only if it is a gRPC client."""


LITE = frozenset({"RocketLiteSubscribed", "RocketLiteRefused"})
"""Events of lite topics, which may name no client."""

BY_QUEUE = "POP_BY_QUEUE"
"""Mode of assigned queues that a log tells one by one.

Its lines name neither client nor group.
"""


@dataclass(frozen=True, slots=True)
class ClientPlace(LogPosition):
    """A position in the lines of one client among others."""

    whole: str
    at: int

    @property
    def log(self) -> str:
        """Name of the log with the client's id."""
        return self.whole

    @property
    def position(self) -> int:
        """Byte offset within the whole log."""
        return self.at


class ClientGroups:
    """The group of each client, as far as lines name both."""

    def __init__(self) -> None:
        self._groups: dict[str, str | None] = {}
        self._clients_in: dict[str, str | None] = {}
        """The only client that a log names, by log; None of several."""
        self._groups_in: dict[str, str | None] = {}
        self._unnamed: set[str] = set()
        """Logs of gRPC clients whose lines about queues name neither client nor group."""

    def learn(self, event: Event) -> None:
        """Take what a line names."""
        client_id, group, log = event.client_id, event.group, log_name_of(event.place.file)
        self.tie(client_id, group)
        if event.witness is not Witness.CLIENT or event.name not in OF_GRPC:
            return
        if client_id and self._clients_in.setdefault(log, client_id) != client_id:
            self._clients_in[log] = None
        if group and self._groups_in.setdefault(log, group) != group:
            self._groups_in[log] = None
        if event.name in ASSIGNED and event.fields.get("mode") == BY_QUEUE:
            self._unnamed.add(log)

    def tie(self, client_id: str | None, group: str | None) -> None:
        """Tie a client to its group; one of several groups has none."""
        if client_id and group and self._groups.setdefault(client_id, group) != group:
            self._groups[client_id] = None

    def group_of(self, client_id: str | None) -> str | None:
        """The only group of a client, None if it is unknown."""
        return self._groups.get(client_id or "")

    def named(self, event: Event) -> Event:
        """The event with group and log of its gRPC client."""
        if event.name not in OF_GRPC or event.witness is not Witness.CLIENT:
            return event
        client_id = event.client_id or self._client_of(event)
        if client_id is None:
            return event
        place = event.place
        log = f"{place.log}#{client_id}"
        client_place = ClientPlace(place.file, place.line, place.byte_offset, log, place.position)
        group = event.group or self.group_of(client_id) or self._groups_in.get(log_name_of(place.file))
        return replace(event, group=group, client_id=client_id, place=client_place)

    def _client_of(self, event: Event) -> str | None:
        """The client of a line that names none."""
        log = log_name_of(event.place.file)
        if log in self._unnamed and log not in self._clients_in:
            return log
        return self._clients_in.get(log) if event.name in LITE else None


def is_assigned(event: Event) -> bool:
    """Whether an event is about queues that a proxy assigned."""
    return event.name in ASSIGNMENT_LINES or (event.name in ASSIGNED and event.client_id is not None)
