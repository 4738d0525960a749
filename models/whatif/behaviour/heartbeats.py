"""Estimate of heartbeat.interval.ms from members' delays in rebalances.

No line states the interval. A member hears of a rebalance with its next heartbeat, so the last one to rejoin has waited
for up to one interval. Members that got their assignments together send their heartbeats together: each rebalance is one
observation, evenly distributed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log

from models.rows import Rebalance, RebalanceMember
from models.tolerances import int_tolerance
from models.weights import OTHER_HEARTBEAT, USUAL_HEARTBEAT
from models.whatif.configuration import DEFAULT_HEARTBEAT_MS

USUAL_MS: Mapping[int, float] = {
    usual_ms: (USUAL_HEARTBEAT if usual_ms == DEFAULT_HEARTBEAT_MS else OTHER_HEARTBEAT).value
    for usual_ms in (100, 250, 500, 1_000, 2_000, DEFAULT_HEARTBEAT_MS, 5_000, 10_000, 15_000)
}
"""Intervals that are set in practice, with their weights before any observation.

The default of all libraries has most, and the others have equal shares of the rest.
"""
HEARTBEAT_DELAY_MS = int_tolerance("whatif.heartbeats.late_ms")
"""Usual delay of a heartbeat and rejoin; recordings show 2 to 50 ms."""
SESSION_SHARE = int_tolerance("whatif.heartbeats.session_share")
"""Clients recommend at most a third of the session timeout for the heartbeat interval."""
NOT_HEARD = frozenset({"new_group", "cooperative_followup", "connector_config_change", "scheduled_rebalance"})
"""Causes of rebalances that members know of by themselves."""


def waits_ms(rows: Iterable[Rebalance], parts: Mapping[str, Sequence[RebalanceMember]], session_ms: int) -> list[float]:
    """Longest ordinary wait of each rebalance, in milliseconds."""
    most_ms = session_ms / SESSION_SHARE + HEARTBEAT_DELAY_MS
    waits = []
    for row in rows:
        if row.cause in NOT_HEARD or row.protocol != "classic":
            continue
        heard = [
            part.join_delay_seconds * 1000
            for part in parts.get(row.rebalance_id, ())
            if part.role in {"bystander", "leader"} and part.session_before == part.session_after and part.join_delay_seconds
        ]
        ordinary = [wait_ms for wait_ms in heard if wait_ms <= most_ms]
        if ordinary:
            waits.append(max(ordinary))
    return waits


def others_ms(waits: Sequence[float], interval_ms: int, session_ms: int) -> list[int]:
    """Other intervals that explain the waits, most usual first."""
    longest = max(waits, default=0.0)
    possible = [
        usual_ms
        for usual_ms in USUAL_MS
        if usual_ms != interval_ms and usual_ms * SESSION_SHARE <= session_ms and usual_ms + HEARTBEAT_DELAY_MS >= longest
    ]
    return sorted(possible, key=lambda usual_ms: -USUAL_MS[usual_ms])


def interval_ms(waits: Sequence[float], session_ms: int) -> int:
    """Most likely interval, given observed waits."""
    possible = {usual_ms: share for usual_ms, share in USUAL_MS.items() if usual_ms * SESSION_SHARE <= session_ms}
    if not possible:
        return max(1, session_ms // SESSION_SHARE)
    longest = max(waits, default=0.0)
    explains = {usual_ms: share for usual_ms, share in possible.items() if usual_ms + HEARTBEAT_DELAY_MS >= longest} or {max(possible): 1.0}
    return max(explains, key=lambda usual_ms: log(explains[usual_ms]) - len(waits) * log(usual_ms))
