"""Responses and settings that only share groups have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.kafka.coordinator.consumer.topic_partitions import NO_PARTITIONS, Partitions
from models.kafka.coordinator.protocol.responses import Response


@dataclass(frozen=True, slots=True)
class ShareResponse(Response):
    """Response to ShareGroupHeartbeat.

    `initialize` are partitions that the share coordinator is asked for; `assignment` is None if it is not sent.
    """

    member: str = ""
    epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Partitions | None = None
    initialize: Partitions = NO_PARTITIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupSettings:
    """Broker settings of share groups, with their defaults."""

    session_ms: int = 45_000
    """group.share.session.timeout.ms"""
    heartbeat_interval_ms: int = 5_000
    """group.share.heartbeat.interval.ms"""
    max_size: int = 200
    """group.share.max.size"""
    assignment_interval_ms: int = 1_000
    """group.share.assignment.interval.ms"""
    topics: Mapping[str, int] = field(default_factory=dict)
    """Initial partition counts of topics."""
