"""Requests to the coordinator of consumer groups.

Commits and deletions are the same for all groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models.kafka.coordinator.protocol.requests import Request

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
LEAVE_FOR_A_WHILE_EPOCH = -2
LEAVES = frozenset({LEAVE_EPOCH, LEAVE_FOR_A_WHILE_EPOCH})
NOT_SENT = -1


@dataclass(slots=True)
class ConsumerHeartbeat(Request):
    """Request ConsumerGroupHeartbeat.

    A field of None (or -1) was not sent and keeps its value.
    """

    member: str
    epoch: int
    instance: str | None = None
    rack: str | None = None
    rebalance_ms: int = NOT_SENT
    topics: frozenset[str] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Mapping[str, frozenset[int]] | None = None
    client_id: str = ""
    api_version: int = 1
    """In version 0 the coordinator generates ids of joining members."""

    @property
    def is_full(self) -> bool:
        """Whether all fields are sent, as after a lost response."""
        subscribed = self.topics is not None or self.regex is not None
        return self.rebalance_ms != NOT_SENT and subscribed and self.owned is not None

    @property
    def tells_nothing(self) -> bool:
        """Whether no field about the sender is sent, the usual case."""
        return self.rebalance_ms == NOT_SENT and self.topics is None and self.regex is None and self.assignor is None and self.rack is None
