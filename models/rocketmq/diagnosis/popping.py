"""Standing faults of popped messages: lost proxies, stalls, late receipts, lost lite topics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from models.events import text_field
from models.incidents.fault_facts import MessageTrouble
from models.rocketmq.diagnosis.standing_faults import StandingFault
from models.rocketmq.observations.fault_stretches import FaultStretch
from models.rocketmq.observations.pop_trouble import APART_US
from models.rocketmq.rocketmq_stage import RocketmqGroup
from models.tolerances import int_tolerance

HEARTBEAT_US = int_tolerance("rocketmq.popping.heartbeat_us")
"""Period of a gRPC client's heartbeats (ClientManagerImpl.java).

A proxy that answers the next one was hardly missed.
"""

STALL_US = int_tolerance("rocketmq.popping.stall_us")
"""Minimum duration of a stall.

A cache that fills up once in a while does no harm.
"""

_LEAST_US = {"proxy_unreachable": HEARTBEAT_US, "consumption_stalled": STALL_US}
_LEAST_LINES = {"lite_topic_contended": int_tolerance("rocketmq.popping.contended_lines")}
"""An exclusive lite topic that changes its client once is handed over."""

_POINTS = frozenset({"invisible_time_exceeded", "lite_topic_contended"})
"""Faults that don't last beyond their last line."""

QUOTA = "quota"
"""Word of a refusal for too many subscriptions (LiteQuotaException)."""

LITE_LOST = "lite_subscription_lost"
"""Fault that ends as its client subscribes again."""

_LASTING = frozenset({"expired", "untold"})
"""What a broker does to a client's lite topics until the client subscribes again."""


def pop_faults(group: RocketmqGroup, end: int) -> list[StandingFault]:
    """Faults of a group's gRPC clients, by time."""
    trouble = group.trouble
    faults = [
        _fault(kind, who, stretch, end)
        for (kind, who), stretches in trouble.stretches.items()
        for logged in stretches
        for stretch in [_until_subscribed(logged, trouble.subscribed.get(who, ())) if kind == LITE_LOST else logged]
        if _is_harmful(kind, stretch, end) and (kind != LITE_LOST or _goes_on(group, who, stretch.began_at))
    ]
    return sorted(faults, key=lambda fault: (fault.started_at, fault.kind, fault.members))


def _until_subscribed(stretch: FaultStretch, subscribed: Iterable[int]) -> FaultStretch:
    """A stretch that ends as its client subscribes again."""
    return replace(stretch, ended_at=min((at for at in subscribed if at > stretch.last_at), default=None))


def _is_harmful(kind: str, stretch: FaultStretch, end: int) -> bool:
    return _until(stretch, end) - stretch.began_at >= _LEAST_US.get(kind, 0) and stretch.count >= _LEAST_LINES.get(kind, 1)


def _goes_on(group: RocketmqGroup, who: str, at: int) -> bool:
    """Whether a client's own log goes on after a time.

    Subscriptions of one that is gone end, too.
    """
    return any(life.last_at > at and (life.ended_at is None or life.ended_at > at) for life in group.lives_of(who))


def _until(stretch: FaultStretch, end: int) -> int:
    """End of a stretch.

    As stated, at the end of the logs if it is open, or at its last line.
    """
    if stretch.ended_at is not None:
        return stretch.ended_at
    if stretch.first.fields.get("why") in _LASTING:
        return end
    return end if end - stretch.last_at <= APART_US else stretch.last_at


def _fault(kind: str, who: str, stretch: FaultStretch, end: int) -> StandingFault:
    until = _until(stretch, end)
    lines = [stretch.first] if stretch.first is stretch.last else [stretch.first, stretch.last]
    is_quota_used = QUOTA in stretch.last.text.lower()
    facts = MessageTrouble(kind, who, stretch.first.topic, stretch.count, text_field(stretch.first, "lite_topic"), is_quota_used)
    is_open = stretch.ended_at is None and until >= end and kind not in _POINTS
    members = [who] if who else sorted({str(name) for line in lines for name in (line.client_id, line.fields.get("holder")) if name})
    return StandingFault(kind, members, stretch.began_at, None if is_open else until, facts, lines)
