"""Which broker answers a group's requests, when another took over, and what answers give."""

from __future__ import annotations

from collections.abc import Iterable

from models.events import Event, int_field, text_field
from models.kafka.observations.actions import MEMBER_ID_REQUIRED
from models.kafka.reconstruction.request_members import RequestSign
from models.tolerances import PHASE_OVERRUN_US, PHASE_UNDERRUN_US
from models.units import US_PER_MS

FINE = (0, None)
NOT_COORDINATOR, ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCE_IN_PROGRESS = 16, 22, 25, 27
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


def waited_to_deadline(arrivals: Iterable[RequestSign], joined_at: int) -> bool:
    """Whether a join phase lasted as long as its members allow.

    Who did not rejoin was dropped then; an expiry of the last one awaited would have ended it earlier (tryCompleteJoin).
    """
    signs = list(arrivals)
    lasted = joined_at - min(sign.at for sign in signs)
    allowed = max((int_field(sign.event, "rebalance_timeout_ms") or 0) * US_PER_MS for sign in signs)
    return allowed > 0 and -PHASE_UNDERRUN_US <= lasted - allowed <= PHASE_OVERRUN_US


def gives(event: Event, generation: int) -> bool:
    """Whether a JoinGroup was answered with this generation."""
    return (
        event.name == "JoinGroupCompleted"
        and int_field(event, "error_code") in FINE
        and int_field(event, "response_generation") == generation
    )


def assigns(event: Event, generation: int | None) -> bool:
    """Whether this is the leader's SyncGroup of this generation, accepted."""
    return (
        event.name == "SyncGroupCompleted"
        and event.fields.get("by_leader") is True
        and event.generation == generation
        and int_field(event, "error_code") in FINE
    )
