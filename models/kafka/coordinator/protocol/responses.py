"""Responses of a coordinator.

If `error` is not NONE, other fields keep their defaults unless a client needs them. Like requests, responses are not
frozen, and nothing changes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from models.kafka.coordinator.protocol.errors import NO_ERROR, Error


@dataclass(slots=True)
class Response:
    """A response with an error code only.

    For Heartbeat, OffsetCommit and DeleteGroups.
    """

    error: Error = NO_ERROR


@dataclass(slots=True)
class JoinedMember:
    """A member in the leader's response, with metadata for the chosen protocol."""

    member: str
    instance: str | None
    metadata: bytes


@dataclass(slots=True)
class JoinResponse(Response):
    """Response to JoinGroup; only the leader's has members."""

    member: str = ""
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


@dataclass(slots=True)
class SyncResponse(Response):
    """Response to SyncGroup."""

    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@dataclass(slots=True)
class MemberLeft:
    """Result of one member of a LeaveGroup request."""

    member: str
    instance: str | None
    error: Error = NO_ERROR


@dataclass(slots=True)
class LeaveResponse(Response):
    """Response to LeaveGroup, with members in request order."""

    members: tuple[MemberLeft, ...] = ()


@dataclass(slots=True)
class FetchResponse(Response):
    """Response to OffsetFetch: offset or error by partition, None if uncommitted."""

    offsets: Mapping[tuple[str, int], int | Error | None] = field(default_factory=dict)


class TimedResponse(NamedTuple):
    """A response to a request, completed at virtual time `at_ms`."""

    request_id: int
    at_ms: int
    response: Response


RESPONSES = {error: Response(error) for error in Error}
"""Shared responses, because heartbeats are answered often."""
