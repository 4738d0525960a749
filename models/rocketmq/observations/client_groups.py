"""Groups of clients whose lines seldom name one.

A gRPC client belongs to one group, but only a few of its lines say so; its id, which is in all of them, ties the others to it.
"""

from __future__ import annotations


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
