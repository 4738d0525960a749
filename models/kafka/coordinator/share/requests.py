"""Requests to the coordinator of share groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models.kafka.coordinator.protocol.requests import Request

JOIN_EPOCH = 0
LEAVE_EPOCH = -1


@dataclass(slots=True)
class ShareHeartbeat(Request):
    """Request ShareGroupHeartbeat; topics of None were not sent and keep."""

    member: str
    epoch: int
    topics: frozenset[str] | None = None
    client_id: str = ""


@dataclass(slots=True)
class Initialization(Request):
    """Result of an initialisation of share partitions by their coordinator.

    The group's coordinator asks for it with a heartbeat's response and later hears of the end.
    """

    partitions: Mapping[str, frozenset[int]]
    is_done: bool = True
