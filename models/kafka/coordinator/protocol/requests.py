"""Requests to a coordinator, decoded and without framing.

The response has the `request_id` of its request. An empty member id means that the client has none yet.
Nothing changes a request. It is not frozen, because that takes three times as long to build, and each step of a run builds one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Protocol:
    """An assignment strategy that a member supports, with its subscription."""

    name: str
    metadata: bytes


@dataclass(slots=True)
class Request:
    """Fields of all requests."""

    request_id: int
    group: str


@dataclass(slots=True)
class Join(Request):
    """Request JoinGroup.

    Protocols are in the client's order of preference, each name once.
    """

    member: str
    protocol_type: str
    protocols: tuple[Protocol, ...]
    session_ms: int
    rebalance_ms: int
    instance: str | None = None
    client_id: str = ""
    client_host: str = ""
    require_known_member_id: bool = False
    """JoinGroup v4 and later: members must rejoin with their id (KIP-394)."""
    supports_skip_assignment: bool = False
    """JoinGroup v9 and later (KIP-814)."""
    reason: str | None = None


@dataclass(slots=True)
class Sync(Request):
    """Request SyncGroup.

    `protocol_type` and `protocol` are None before v5.
    """

    member: str
    generation: int
    assignments: Mapping[str, bytes] = field(default_factory=dict)
    instance: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None


@dataclass(slots=True)
class Heartbeat(Request):
    """Heartbeat of a classic member."""

    member: str
    generation: int
    instance: str | None = None


@dataclass(slots=True)
class Leaver:
    """One member of a LeaveGroup request."""

    member: str
    instance: str | None = None
    reason: str | None = None


@dataclass(slots=True)
class Leave(Request):
    """Request LeaveGroup; it has one member before v3."""

    members: tuple[Leaver, ...]


@dataclass(slots=True)
class Commit(Request):
    """Request OffsetCommit.

    A simple consumer has generation -1 and no member id.
    """

    offsets: Mapping[tuple[str, int], int]
    """Offset by topic and partition."""
    member: str = ""
    generation: int = -1
    instance: str | None = None
    retention_ms: int | None = None
    """Retention requested by the client (v2 to v4)."""
    api_version: int = 9
    producer_id: int | None = None
    """Set for TxnOffsetCommit: offsets count once this producer's transaction commits."""


@dataclass(slots=True)
class Fetch(Request):
    """Request OffsetFetch; without `places` it asks for all offsets."""

    places: tuple[tuple[str, int], ...] | None = None
    require_stable: bool = False
    """Whether offsets that a transaction may replace are refused (KIP-447)."""


@dataclass(slots=True)
class Delete(Request):
    """Request DeleteGroups, for one group."""
