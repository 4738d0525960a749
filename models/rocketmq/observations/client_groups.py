"""Groups of clients whose lines seldom name one.

A gRPC client belongs to one group, but only a few of its lines say so; its id, which is in all of them, ties the others to it.
One process may hold several such clients and write all their lines to one log, so each of them has a log of its own here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from models.events import Event, LogPosition, Witness

SAID = frozenset({"RocketAssignmentsChanged", "RocketAssignmentsEmptied"})
"""Events of what a proxy assigned."""

ASSIGNED = SAID | {"RocketQueueAdded", "RocketQueueRemoved"}
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
}
"""Events that name a client only if it is a gRPC client."""


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

    def learn(self, client_id: str | None, group: str | None) -> None:
        """Take what a line names; a client of several groups has none."""
        if client_id and group and self._groups.setdefault(client_id, group) != group:
            self._groups[client_id] = None

    def group_of(self, client_id: str | None) -> str | None:
        """The only group of a client, None if it is unknown."""
        return self._groups.get(client_id or "")

    def named(self, event: Event) -> Event:
        """The event with group and log of its gRPC client."""
        if event.client_id is None or event.name not in OF_GRPC or event.witness is not Witness.CLIENT:
            return event
        place = event.place
        log = f"{place.log}#{event.client_id}"
        own = ClientPlace(place.file, place.line, place.byte_offset, log, place.position)
        return replace(event, group=event.group or self.group_of(event.client_id), place=own)


def is_assigned(event: Event) -> bool:
    """Whether an event is about queues that a proxy assigned."""
    return event.name in SAID or (event.name in ASSIGNED and event.client_id is not None)
