"""What the logs of members show of the clients that wrote them."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.kafka.observations.client_states import ClientStates
from models.kafka.observations.first_joins import Clients
from models.kafka.observations.log_authors import LogAuthors


@dataclass(slots=True)
class MemberLogs:
    """Authors of logs, clients by their ids, and the states of clients."""

    authors: LogAuthors = field(default_factory=LogAuthors)
    clients: Clients = field(default_factory=Clients)
    states: ClientStates = field(default_factory=ClientStates)

    def silent_clients(self, before: int, but_of: set[str]) -> set[tuple[str, str]]:
        """Clients, by log and client id, silent for long.

        Those of the logs `but_of` are left out.
        """
        return {key for key in self.states.silent_clients(before) if key[0] not in but_of}

    def forget(self, clients: set[tuple[str, str]]) -> set[str]:
        """Discard clients; return the logs without any other client."""
        logs = self.states.forget(clients)
        self.authors.forget(logs)
        self.clients.forget(clients)
        return logs
