"""Broker settings of streams groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupSettings:
    """Broker settings of streams groups, with their defaults."""

    session_ms: int = 45_000
    """group.streams.session.timeout.ms"""
    heartbeat_interval_ms: int = 5_000
    """group.streams.heartbeat.interval.ms"""
    max_size: int = 2**31 - 1
    """group.streams.max.size"""
    assignment_interval_ms: int = 1_000
    """group.streams.assignment.interval.ms"""
    initial_delay_ms: int = 3_000
    """group.streams.initial.rebalance.delay.ms"""
    standby_replicas: int = 0
    """group.streams.num.standby.replicas"""
    topics: Mapping[str, int] = field(default_factory=dict)
    """Initial partition counts of topics."""
