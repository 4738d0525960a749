"""What a coordinator is asked, as its request handlers see it: decoded, without the protocol's framing.

`request_id` tells requests apart; the answer bears it. An empty member id means that the client has none yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Protocol:
    """An assignment strategy that a member can follow, with its subscription."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class Request:
    """What all requests have."""

    request_id: int
    group: str


@dataclass(frozen=True, slots=True)
class Join(Request):
    """JoinGroup. Protocols are in the client's order of preference, each name once."""

    member: str
    protocol_type: str
    protocols: tuple[Protocol, ...]
    session_ms: int
    rebalance_ms: int
    instance: str | None = None
    client_id: str = ""
    client_host: str = ""
    require_known_member_id: bool = False
    """JoinGroup v4 and later: a dynamic member must come back with the id that it was given (KIP-394)."""
    supports_skip_assignment: bool = False
    """JoinGroup v9 and later (KIP-814)."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Sync(Request):
    """SyncGroup. `protocol_type` and `protocol` are None where the client does not send them (before v5)."""

    member: str
    generation: int
    assignments: Mapping[str, bytes] = field(default_factory=dict)
    instance: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None


@dataclass(frozen=True, slots=True)
class Heartbeat(Request):
    """Heartbeat of a classic member."""

    member: str
    generation: int
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class Leaver:
    """One member of a LeaveGroup request."""

    member: str
    instance: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Leave(Request):
    """LeaveGroup; one member before v3."""

    members: tuple[Leaver, ...]


@dataclass(frozen=True, slots=True)
class Commit(Request):
    """OffsetCommit. A simple consumer has generation -1 and no member id."""

    offsets: Mapping[tuple[str, int], int]
    """Offset by topic and partition."""
    member: str = ""
    generation: int = -1
    instance: str | None = None
    retention_ms: int | None = None
    """Retention that the client asks for itself (v2 to v4)."""
    api_version: int = 9
    producer_id: int | None = None
    """TxnOffsetCommit: the offsets count once this producer's transaction is committed."""


@dataclass(frozen=True, slots=True)
class Fetch(Request):
    """OffsetFetch. Without `places` all offsets of the group are asked for."""

    places: tuple[tuple[str, int], ...] | None = None
    require_stable: bool = False
    """Offsets that a transaction may still replace are not wanted (KIP-447)."""


@dataclass(frozen=True, slots=True)
class Delete(Request):
    """DeleteGroups, for one group."""
