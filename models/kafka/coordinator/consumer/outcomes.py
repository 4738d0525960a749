"""What the coordinator of consumer groups answers, beside what that of classic groups does, and the settings that it looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from models.kafka.coordinator.consumer.topic_partitions import Partitions
from models.kafka.coordinator.protocol.responses import Response


class Migration(Enum):
    """group.consumer.migration.policy: whether a classic group becomes a consumer group (upgrade) and the other way (downgrade)."""

    DISABLED = "disabled"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def upgrades(self) -> bool:
        """Whether a member of the consumer protocol may join a classic group."""
        return self in (Migration.UPGRADE, Migration.BIDIRECTIONAL)

    @property
    def downgrades(self) -> bool:
        """Whether a group goes back to the classic protocol once nobody speaks the other one any more."""
        return self in (Migration.DOWNGRADE, Migration.BIDIRECTIONAL)


@dataclass(frozen=True, slots=True)
class HeartbeatResponse(Response):
    """ConsumerGroupHeartbeat's answer. `assignment` is None where it is not sent."""

    member: str = ""
    epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Partitions | None = None


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
    migration: Migration = Migration.BIDIRECTIONAL
    """group.consumer.migration.policy"""
    topics: Mapping[str, int] = field(default_factory=dict)
    """Partition counts of the topics that are there at the start."""
