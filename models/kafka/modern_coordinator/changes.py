"""What the coordinator of consumer groups answers and does. Deeds and timers are told as those of classic groups are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.kafka.coordinator.changes import Deed, Fired
from models.kafka.modern_coordinator.errors import Error
from models.kafka.modern_coordinator.partitions import Partitions


@dataclass(frozen=True, slots=True)
class Response:
    """An answer that is nothing but an error or its absence."""

    error: Error = Error.NONE


@dataclass(frozen=True, slots=True)
class HeartbeatResponse(Response):
    """ConsumerGroupHeartbeat's answer. `assignment` is None where it is not sent."""

    member: str = ""
    epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Partitions | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A response on its way to whoever sent the request; every request is answered at once."""

    request_id: int
    at_ms: int
    response: Response


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that follows from one request or from the passing of time, each in order."""

    answers: tuple[Answer, ...] = ()
    fired: tuple[Fired, ...] = ()
    deeds: tuple[Deed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The broker's settings that matter to consumer groups, with their defaults."""

    session_ms: int = 45_000
    """group.consumer.session.timeout.ms"""
    heartbeat_interval_ms: int = 5_000
    """group.consumer.heartbeat.interval.ms"""
    max_size: int = 2**31 - 1
    """group.consumer.max.size"""
    assignors: tuple[str, ...] = ("uniform", "range")
    """group.consumer.assignors; the first is taken where members name none."""
    retention_ms: int = 604_800_000
    """offsets.retention.minutes"""
    retention_check_interval_ms: int = 600_000
    """offsets.retention.check.interval.ms"""
    topics: Mapping[str, int] = field(default_factory=dict)
    """Partition counts of the topics that are there at the start."""
