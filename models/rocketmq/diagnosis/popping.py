"""Standing faults of popped messages: lost proxies, stalls, late receipts."""

from __future__ import annotations

from models.rocketmq.diagnosis.standing_faults import StandingFault
from models.rocketmq.observations.pop_trouble import APART_US, PopTrouble, Stretch
from models.tolerances import whole

HEARTBEAT_US = whole("rocketmq.popping.heartbeat_us")
"""Period of a gRPC client's heartbeats (ClientManagerImpl.java).

A proxy that answers the next one was hardly missed.
"""

STALL_US = whole("rocketmq.popping.stall_us")
"""Minimum duration of a stall.

A cache that fills up once in a while does no harm.
"""

_LEAST_US = {"proxy_unreachable": HEARTBEAT_US, "consumption_stalled": STALL_US, "invisible_time_exceeded": 0}
_SAYS = {
    "proxy_unreachable": "{who} does not reach a proxy",
    "consumption_stalled": "{who} holds too many messages that its listener has not taken ({count} lines)",
    "invisible_time_exceeded": "{count} receipts of {who} came after their messages' invisible time",
}

_BROKER_SAYS = {
    "consumption_stalled": "the group holds too many messages of {topic} unacknowledged, and a broker gives it no more ({count} lines)",
    "invisible_time_exceeded": "{count} messages of {topic} came again, as nobody acknowledged them within their invisible time",
}


def pop_faults(trouble: PopTrouble, end: int) -> list[StandingFault]:
    """Faults of a group's gRPC clients, by time."""
    found = [
        _fault(kind, who, stretch, end)
        for (kind, who), stretches in trouble.stretches.items()
        for stretch in stretches
        if _until(stretch, end) - stretch.began_at >= _LEAST_US[kind]
    ]
    return sorted(found, key=lambda fault: (fault.started_at, fault.kind, fault.members))


def _until(stretch: Stretch, end: int) -> int:
    """End of a stretch.

    As stated, at the end of the logs if it is open, or at its last line.
    """
    if stretch.ended_at is not None:
        return stretch.ended_at
    return end if end - stretch.last_at <= APART_US else stretch.last_at


def _fault(kind: str, who: str, stretch: Stretch, end: int) -> StandingFault:
    until = _until(stretch, end)
    lines = [stretch.first] if stretch.first is stretch.last else [stretch.first, stretch.last]
    says = _SAYS if who else _BROKER_SAYS
    detail = says[kind].format(who=who, count=stretch.count, topic=stretch.first.topic)
    is_open = stretch.ended_at is None and until >= end and kind != "invisible_time_exceeded"
    return StandingFault(kind, [who] if who else [], stretch.began_at, None if is_open else until, lines, detail)
