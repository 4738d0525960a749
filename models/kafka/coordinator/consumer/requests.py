"""What members ask of the coordinator of consumer groups; commits and deletions are those of all groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models.kafka.coordinator.protocol.requests import Request

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
LEAVE_FOR_A_WHILE_EPOCH = -2
LEAVES = frozenset({LEAVE_EPOCH, LEAVE_FOR_A_WHILE_EPOCH})
NOT_SENT = -1


@dataclass(frozen=True, slots=True)
class ConsumerHeartbeat(Request):
    """ConsumerGroupHeartbeat. A field that is None (or -1) was not sent, so it is as before."""

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
    """In version 0 the coordinator makes the id of a member that joins without one."""

    @property
    def is_full(self) -> bool:
        """Whether it tells everything, as a client does that doesn't know what became of its last one."""
        subscribed = self.topics is not None or self.regex is not None
        return self.rebalance_ms != NOT_SENT and subscribed and self.owned is not None

    @property
    def tells_nothing(self) -> bool:
        """Whether it says nothing new of its sender, as nearly all do."""
        return self.rebalance_ms == NOT_SENT and self.topics is None and self.regex is None and self.assignor is None and self.rack is None
