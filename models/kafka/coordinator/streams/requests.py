"""Requests to the coordinator of streams groups."""

from __future__ import annotations

from dataclasses import dataclass

from models.kafka.coordinator.protocol.requests import Request
from models.kafka.coordinator.streams.tasks import Tasks
from models.kafka.coordinator.streams.topology import Topology

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
LEAVE_FOR_A_WHILE_EPOCH = -2
LEAVES = frozenset({LEAVE_EPOCH, LEAVE_FOR_A_WHILE_EPOCH})
NOT_SENT = -1


@dataclass(slots=True)
class StreamsHeartbeat(Request):
    """Request StreamsGroupHeartbeat; a field of None (or -1) was not sent and keeps."""

    member: str
    epoch: int
    instance: str | None = None
    rebalance_ms: int = NOT_SENT
    topology: Topology | None = None
    process: str | None = None
    owned: Tasks | None = None
    wants_shutdown: bool = False
    """Whether the whole application should stop."""
    client_id: str = ""
