"""Responses of the coordinator of consumer groups."""

from __future__ import annotations

from dataclasses import dataclass

from models.kafka.coordinator.consumer.topic_partitions import PartitionSet
from models.kafka.coordinator.protocol.responses import Response


@dataclass(slots=True)
class HeartbeatResponse(Response):
    """Response to ConsumerGroupHeartbeat.

    `assignment` is None if it is not sent.
    """

    member: str = ""
    epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: PartitionSet | None = None
