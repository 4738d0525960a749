"""Identities in a group: member ids, client ids, instance ids and hosts.

The coordinator makes a member id from the client id (dynamic members) or from the instance id (static members, since
2.3) and a random UUID. So an id identifies its owner without any other line.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from models.kafka.observations.libraries import known_library, library_of
from models.rows import Person
from models.tolerances import int_tolerance

IDLE_US = int_tolerance("kafka.roster.idle_us")
"""Time without a line after which a finished or replaced member is discarded."""

LASTING_US = int_tolerance("kafka.roster.lasting_us")
"""Time without a line after which a client's last open member is discarded.

Members of a group at rest write nothing.
"""

_UUID_SUFFIX = re.compile(r"^(?P<owner>.*)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.DOTALL)


@lru_cache(maxsize=4096)
def owner_in_member_id(member_id: str) -> str | None:
    """Return the client id or instance id within a member id.

    None for ids of KIP-848 members.
    """
    match = _UUID_SUFFIX.match(member_id)
    return match["owner"] if match else None


@dataclass(slots=True)
class RosterMember:
    """A member id and facts about its owner.

    Times are microseconds.
    """

    member_id: str
    client_id: str | None = None
    instance_id: str | None = None
    host: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    first_seen_at: int | None = None
    last_seen_at: int | None = None
    ended_how: str = "open"


SHARED = "java"
"""Library whose wordings others have, too.

It displaces none that the same file names.
"""


@dataclass(slots=True)
class ClientLog:
    """Place of a client's own lines, and the library that writes them."""

    file: str
    library: str


@dataclass(slots=True)
class Roster:
    """All member ids seen in a group."""

    members: dict[str, RosterMember] = field(default_factory=dict)
    _current: dict[str, str] = field(default_factory=dict)  # client id -> its latest member id
    _instances: dict[str, str] = field(default_factory=dict)  # instance id -> client id
    logs: dict[str, ClientLog] = field(default_factory=dict)  # client id -> its own log, the latest

    def observe(
        self,
        member_id: str,
        at: int,
        *,
        client_id: str | None = None,
        instance_id: str | None = None,
        host: str | None = None,
        session_timeout_ms: int | None = None,
        rebalance_timeout_ms: int | None = None,
    ) -> RosterMember:
        """Record a line's facts about a member."""
        member = self.members.get(member_id)
        if member is None:
            member = self.members[member_id] = RosterMember(member_id, first_seen_at=at)
        member.client_id = client_id or member.client_id
        member.instance_id = instance_id or member.instance_id
        member.host = host or member.host
        member.session_timeout_ms = session_timeout_ms or member.session_timeout_ms
        member.rebalance_timeout_ms = rebalance_timeout_ms or member.rebalance_timeout_ms
        member.first_seen_at = at if member.first_seen_at is None else min(member.first_seen_at, at)
        member.last_seen_at = at if member.last_seen_at is None else max(member.last_seen_at, at)
        if client_id:
            self._current[client_id] = member_id
            if member.instance_id:
                self._instances[member.instance_id] = client_id
        return member

    def note_log(self, client_id: str, file: str, family: str) -> None:
        """Keep where a client writes, by the family of its message (`kafka.librdkafka`)."""
        library = library_of(family)
        known = self.logs.get(client_id)
        is_host = known_library(library).built_on is not None
        is_shared = library == SHARED and known is not None and known.file == file and known_library(known.library).built_on is None
        if known is None or (not is_host and not is_shared and (known.file, known.library) != (file, library)):
            self.logs[client_id] = ClientLog(file, library)

    def inactive_since(self, before: int, named: Container[str | None]) -> list[RosterMember]:
        """Members that ended or were silent for long before a time.

        Those in `named`, which open rebalances still need, are excluded.
        """
        latest = set(self._current.values())
        return [
            member
            for member in self.members.values()
            if member.member_id not in named and (member.last_seen_at or 0) < before - _kept_for(member, member.member_id in latest)
        ]

    def forget(self, members: Iterable[RosterMember]) -> set[str]:
        """Discard members; return the clients that were discarded with them.

        A later line about one of them creates a new member.
        """
        gone = set()
        for member in members:
            del self.members[member.member_id]
            if member.client_id is not None and self._current.get(member.client_id) == member.member_id:
                del self._current[member.client_id]
                self.logs.pop(member.client_id, None)
                gone.add(member.client_id)
        return gone

    def client_of(self, member_id: str | None, instance_id: str | None = None) -> str | None:
        """Client id of a member.

        From a line, else from its static instance, else from its id.
        """
        member = self.members.get(member_id) if member_id else None
        if member and member.client_id:
            return member.client_id
        instance = instance_id or (member.instance_id if member else None)
        owner = owner_in_member_id(member_id) if member_id else None
        if instance is not None:
            return self._instances.get(instance)
        if owner is not None and owner in self._instances:
            return self._instances[owner]
        return owner

    def member_of(self, client_id: str | None) -> str | None:
        """Latest member id of a client id."""
        return self._current.get(client_id) if client_id else None

    def actor(self, member_id: str | None, client_id: str | None = None, instance_id: str | None = None) -> str | None:
        """One name for a member, whichever of its ids a line has.

        Client id, else instance id, else member id.
        """
        known = self.members.get(member_id) if member_id and instance_id is None else None
        return client_id or self.client_of(member_id, instance_id) or instance_id or (known.instance_id if known else None) or member_id

    def person(
        self, member_id: str | None, client_id: str | None, instance_id: str | None, reason: str, *, is_first: bool = False
    ) -> Person:
        """The member as an offender or blocker, with all known ids."""
        member_id = member_id or self.member_of(client_id)
        member = self.members.get(member_id) if member_id else None
        instance = instance_id or (member.instance_id if member else None)
        client = client_id or self.client_of(member_id, instance)
        return Person(member_id, client, instance, member.host if member else None, reason, is_first)


def _kept_for(member: RosterMember, is_latest: bool) -> int:
    """Time for which a member is kept after its last line.

    Lines with only a client id refer to the client's latest member, which is kept longer.
    """
    if member.ended_how == "open":
        return LASTING_US if is_latest else IDLE_US
    return IDLE_US if is_latest else 0
