"""Broker settings of share groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
