"""Which broker answers a group's requests, and when another took over."""

from __future__ import annotations

from collections.abc import Iterable

from models.events import Event, int_field, text_field
from models.kafka.observations.actions import MEMBER_ID_REQUIRED, answered_at, handled_at
from models.kafka.reconstruction.request_members import RequestSign
from models.tolerances import PHASE_OVERRUN_US, PHASE_UNDERRUN_US, whole
from models.units import US_PER_MS

PARKED_US = whole("kafka.request_windows.parked_us")
"""Waiting time of a JoinGroup that a join phase parked: assumed."""

FINE = (0, None)
COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCE_IN_PROGRESS = 15, 16, 22, 25, 27
"""Error codes (protocol/Errors.java)."""

_AS_COORDINATOR = (*FINE, ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED)
"""Answers that a coordinator alone gives; others refuse all requests."""

_LOOPBACK = ("127.", "localhost", "[::1]", "::1")


def answering_broker(event: Event) -> str | None:
    """The broker that answered as the group's coordinator.

    By its end of the connection: its host, because a broker may have several listeners. On loopback, where brokers share the host, the
    port tells them apart.
    """
    if int_field(event, "error_code") not in _AS_COORDINATOR:
        return None
    address = (text_field(event, "connection") or "").partition("-")[0]
    host, _, _ = address.rpartition(":")
    return address if host.startswith(_LOOPBACK) else host or None


def has_waited(event: Event) -> bool:
    """Whether the answer had to wait for something else."""
    return answered_at(event) - handled_at(event) >= PARKED_US


def waited_to_deadline(arrivals: Iterable[RequestSign], joined_at: int) -> bool:
    """Whether a join phase lasted as long as its members allow.

    Who did not rejoin was dropped then; an expiry of the last one awaited would have ended it earlier (tryCompleteJoin).
    """
    signs = list(arrivals)
    lasted = joined_at - min(sign.at for sign in signs)
    allowed = max((int_field(sign.event, "rebalance_timeout_ms") or 0) * US_PER_MS for sign in signs)
    return allowed > 0 and -PHASE_UNDERRUN_US <= lasted - allowed <= PHASE_OVERRUN_US


def is_taken_unanswered(event: Event) -> bool:
    """Whether the coordinator took the request, and its answer timed out.

    Since 4.0 an answer waits until earlier records of the partition are replicated. A member's session goes on, and its join counts,
    though the answer is that the coordinator is not available (CoordinatorRuntime.scheduleWriteOperation, OperationTimeout).
    """
    return int_field(event, "error_code") == COORDINATOR_NOT_AVAILABLE and has_waited(event)
