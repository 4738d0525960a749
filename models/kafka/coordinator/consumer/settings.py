"""Broker settings of consumer groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class MigrationPolicy(Enum):
    """Setting group.consumer.migration.policy.

    Upgrades turn classic groups into consumer groups, downgrades the reverse.
    """

    DISABLED = "disabled"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def upgrades(self) -> bool:
        """Whether a consumer protocol member may join a classic group."""
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def downgrades(self) -> bool:
        """Whether a group turns classic once only classic members remain."""
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupSettings:
    """Broker settings of consumer groups, with their defaults."""

    session_ms: int = 45_000
    """group.consumer.session.timeout.ms"""
    heartbeat_interval_ms: int = 5_000
    """group.consumer.heartbeat.interval.ms"""
    max_size: int = 2**31 - 1
    """group.consumer.max.size"""
    assignors: tuple[str, ...] = ("uniform", "range")
    """group.consumer.assignors; the first is the default."""
    retention_ms: int = 604_800_000
    """offsets.retention.minutes"""
    retention_check_interval_ms: int = 600_000
    """offsets.retention.check.interval.ms"""
    migration: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    """group.consumer.migration.policy"""
    topics: Mapping[str, int] = field(default_factory=dict)
    """Initial partition counts of topics."""
