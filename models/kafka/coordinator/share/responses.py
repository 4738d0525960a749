"""Responses of the coordinator of share groups."""

from __future__ import annotations

from dataclasses import dataclass

from models.kafka.coordinator.consumer.topic_partitions import NO_PARTITIONS, PartitionSet
from models.kafka.coordinator.protocol.responses import Response


@dataclass(slots=True)
class ShareResponse(Response):
    """Response to ShareGroupHeartbeat.

    `initialize` are partitions that the share coordinator is asked for; `assignment` is None if it is not sent.
    """

    member: str = ""
    epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: PartitionSet | None = None
    initialize: PartitionSet = NO_PARTITIONS
