"""Responses of the coordinator of streams groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.kafka.coordinator.protocol.responses import Response
from models.kafka.coordinator.streams.tasks import Tasks
from models.kafka.coordinator.streams.topology import Status


@dataclass(slots=True)
class StreamsResponse(Response):
    """Response to StreamsGroupHeartbeat.

    `tasks` is None if they are not sent; `missing` are topics that the broker creates for the application.
    """

    member: str = ""
    epoch: int = 0
    heartbeat_interval_ms: int = 0
    tasks: Tasks | None = None
    status: tuple[Status, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
