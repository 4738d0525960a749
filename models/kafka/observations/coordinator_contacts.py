"""When each client of a group found its coordinator, and when it lost it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from models.kafka.observations.actions import MemberAction

CONTACTS_MAX = 1_000
"""Contacts kept of one client; beyond it the oldest go."""

CLIENTS_KEPT_MAX = 10_000
"""Clients whose contacts are kept. Beyond it the first ones go."""


@dataclass(slots=True)
class CoordinatorContacts:
    """Contacts of a group's clients with its coordinators, by client."""

    _beginnings: dict[str | None, list[tuple[int, str | None]]] = field(default_factory=dict)
    """Times at which a client found its coordinator, with the broker's id."""
    _ends: dict[str | None, list[int]] = field(default_factory=dict)
    """Times at which a client lost it."""

    def begin(self, action: MemberAction, actor: str | None) -> None:
        """Note that a client found its coordinator."""
        contacts = self._beginnings.setdefault(actor, [])
        contacts.append((action.at, action.event.node))
        del contacts[:-CONTACTS_MAX]
        if len(self._beginnings) > CLIENTS_KEPT_MAX:
            del self._beginnings[next(iter(self._beginnings))]

    def end(self, action: MemberAction, actor: str | None) -> None:
        """Note that a client lost its coordinator."""
        times = self._ends.setdefault(actor, [])
        times.append(action.at)
        del times[:-CONTACTS_MAX]
        if len(self._ends) > CLIENTS_KEPT_MAX:
            del self._ends[next(iter(self._ends))]

    def forget(self, before: int) -> None:
        """Discard what no later request needs."""
        for contacts in self._beginnings.values():
            del contacts[: max(bisect_right(contacts, before, key=_at) - 1, 0)]
        kept = ((actor, times[bisect_right(times, before) :]) for actor, times in self._ends.items())
        self._ends = {actor: times for actor, times in kept if times}

    def node(self, actor: str | None, at: int) -> str | None:
        """The broker that a client took for its coordinator."""
        contacts = self._beginnings.get(actor, [])
        index = bisect_right(contacts, at, key=_at)
        return contacts[index - 1][1] if index else None

    def common_node(self, actors: Iterable[str | None], at: int) -> str | None:
        """The broker that all of these took for it; None if they differ."""
        nodes = {node for actor in actors if (node := self.node(actor, at)) is not None}
        return next(iter(nodes)) if len(nodes) == 1 else None

    def first_loss(self, after: int, until: int, but: str | None) -> int | None:
        """When a client, but for this one, lost it first between two times."""
        return min((at for actor, times in self._ends.items() if actor != but for at in times if after <= at <= until), default=None)

    def has_ended(self, request: MemberAction, actor: str | None, until: int) -> bool:
        """Whether the process that sent a request ended without an answer.

        Another one then looks for the coordinator, which that one had not lost.
        """
        was_lost = any(request.at <= at <= until for at in self._ends.get(actor, ()))
        return not was_lost and any(request.at < at <= until for at, _ in self._beginnings.get(actor, ()))


def _at(contact: tuple[int, str | None]) -> int:
    return contact[0]
