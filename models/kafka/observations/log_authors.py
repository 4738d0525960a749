"""Find the client that writes a log whose lines seldom name it.

franz-go, aiokafka and kafka-python name the member where they join, and only the group in most other lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from models.events import Event, Witness
from models.kafka.observations.log_rotation import log_before_rotation
from models.kafka.observations.roster import Roster, owner_in_member_id


@dataclass(slots=True)
class LogAuthor:
    """The member that a log named last, and those before it."""

    member_id: str
    former: set[str] = field(default_factory=set)
    is_shared: bool = False
    """Several clients write the log: a line that names none may be anybody's."""

    def note(self, member_id: str) -> None:
        """Take the next member id: those of one client follow each other."""
        if member_id == self.member_id:
            return
        if owner_in_member_id(member_id) != owner_in_member_id(self.member_id) or member_id in self.former:
            self.is_shared = True
        self.former.add(self.member_id)
        self.member_id = member_id


@dataclass(slots=True)
class LogAuthors:
    """Clients of one group by the log that they write."""

    _authors: dict[str, LogAuthor] = field(default_factory=dict)

    def name(self, event: Event, roster: Roster) -> Event:
        """The event with its client, where its log is of one client."""
        if event.witness is not Witness.CLIENT or event.client_id is not None or event.instance_id is not None:
            return event
        log = log_before_rotation(event.place.file)
        if event.member_id:
            self._authors.setdefault(log, LogAuthor(event.member_id)).note(event.member_id)
        author = self._authors.get(log)
        if author is None or author.is_shared:
            return event
        client = roster.client_of(author.member_id)
        return replace(event, client_id=client) if client is not None else event

    def forget(self, logs: set[str]) -> None:
        """Drop logs that fell silent."""
        for log in logs:
            self._authors.pop(log, None)
