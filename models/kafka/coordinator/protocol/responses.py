"""What a coordinator answers. Where `error` is not NONE the other fields keep their defaults, save where a client needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.kafka.coordinator.protocol.errors import Error


@dataclass(frozen=True, slots=True)
class Response:
    """An answer that is nothing but an error or its absence: Heartbeat, OffsetCommit, DeleteGroups."""

    error: Error = Error.NONE


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member as the leader is told of it, with its metadata for the chosen protocol."""

    member: str
    instance: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinResponse(Response):
    """JoinGroup's answer; only the leader is told the members."""

    member: str = ""
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncResponse(Response):
    """SyncGroup's answer."""

    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class MemberLeft:
    """What became of one member of a LeaveGroup request."""

    member: str
    instance: str | None
    error: Error = Error.NONE


@dataclass(frozen=True, slots=True)
class LeaveResponse(Response):
    """LeaveGroup's answer, members in the order of the request."""

    members: tuple[MemberLeft, ...] = ()


@dataclass(frozen=True, slots=True)
class FetchResponse(Response):
    """OffsetFetch's answer: the offset of each partition, None where there is none, or why it can't be told."""

    offsets: Mapping[tuple[str, int], int | Error | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response on its way to whoever sent the request. `at_ms` is the virtual time of its completion."""

    request_id: int
    at_ms: int
    response: Response


RESPONSES = {error: Response(error) for error in Error}
"""Heartbeats are answered often, so their answers are made once."""
