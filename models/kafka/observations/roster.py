"""Who is who in a group: member ids, client ids, instance ids and hosts.

The coordinator makes a member id from the client id (dynamic members) or from the instance id (static
members, since 2.3) and a random UUID, so an id tells its owner even where no other line does.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from models.rows import Person

IDLE_US = 86_400_000_000
"""What nothing has named for so long, and what is over or has a successor, is not told of any more."""

LASTING_US = 30 * IDLE_US
"""The last that is known of a client, if it did not say that it goes: members of a group that is at rest write nothing."""

_UUID_SUFFIX = re.compile(r"^(?P<owner>.*)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.DOTALL)


@lru_cache(maxsize=4096)
def owner_of(member_id: str) -> str | None:
    """Return the client id or instance id that a member id was made from; None for ids of KIP-848 members."""
    found = _UUID_SUFFIX.match(member_id)
    return found["owner"] if found else None


@dataclass(slots=True)
class Member:
    """A member id and what is known of its owner. Times are microseconds."""

    member_id: str
    client_id: str | None = None
    instance_id: str | None = None
    host: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    first_seen_at: int | None = None
    last_seen_at: int | None = None
    ended_how: str = "open"


@dataclass(slots=True)
class Roster:
    """All member ids that a group was seen with."""

    members: dict[str, Member] = field(default_factory=dict)
    _current: dict[str, str] = field(default_factory=dict)  # client id -> its latest member id
    _instances: dict[str, str] = field(default_factory=dict)  # instance id -> client id

    def see(
        self,
        member_id: str,
        at: int,
        *,
        client_id: str | None = None,
        instance_id: str | None = None,
        host: str | None = None,
        session_timeout_ms: int | None = None,
        rebalance_timeout_ms: int | None = None,
    ) -> Member:
        """Note that a line names this member, and what it says of it."""
        member = self.members.get(member_id)
        if member is None:
            member = self.members[member_id] = Member(member_id, first_seen_at=at)
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

    def past(self, before: int, named: Container[str | None]) -> list[Member]:
        """Members whose session was over by a time, or that nothing had named for long, and that no open question is about (`named`)."""
        latest = set(self._current.values())
        return [
            member
            for member in self.members.values()
            if member.member_id not in named and (member.last_seen_at or 0) < before - _kept_for(member, member.member_id in latest)
        ]

    def forget(self, members: Iterable[Member]) -> set[str]:
        """Nothing will ask for these again. Lines that name them nevertheless make new ones. Returns the clients that went with them."""
        gone = set()
        for member in members:
            del self.members[member.member_id]
            if member.client_id is not None and self._current.get(member.client_id) == member.member_id:
                del self._current[member.client_id]
                gone.add(member.client_id)
        return gone

    def client_of(self, member_id: str | None, instance_id: str | None = None) -> str | None:
        """Client id of a member: as a line said it, else by its static instance, else as its id says."""
        member = self.members.get(member_id) if member_id else None
        if member and member.client_id:
            return member.client_id
        instance = instance_id or (member.instance_id if member else None)
        owner = owner_of(member_id) if member_id else None
        if instance is not None:
            return self._instances.get(instance)
        if owner is not None and owner in self._instances:
            return self._instances[owner]
        return owner

    def member_of(self, client_id: str | None) -> str | None:
        """Latest member id that a client id was seen with."""
        return self._current.get(client_id) if client_id else None

    def actor(self, member_id: str | None, client_id: str | None = None, instance_id: str | None = None) -> str | None:
        """One name for who acts, whichever of its ids a line gives: client id, else instance id, else member id."""
        known = self.members.get(member_id) if member_id and instance_id is None else None
        return client_id or self.client_of(member_id, instance_id) or instance_id or (known.instance_id if known else None) or member_id

    def person(self, member_id: str | None, client_id: str | None, instance_id: str | None, reason: str, *, first: bool = False) -> Person:
        """The member as an offender or blocker, with all that is known of it."""
        member_id = member_id or self.member_of(client_id)
        member = self.members.get(member_id) if member_id else None
        instance = instance_id or (member.instance_id if member else None)
        client = client_id or self.client_of(member_id, instance)
        return Person(member_id, client, instance, member.host if member else None, reason, first)


def _kept_for(member: Member, is_latest: bool) -> int:
    """How long after its last line a member is held. What names only a client is about its latest member."""
    if member.ended_how == "open":
        return LASTING_US if is_latest else IDLE_US
    return IDLE_US if is_latest else 0
