"""Pauses of groups in order while a broker set changes its master.

A set without a master gives no locks, and a new master holds none.
"""

from __future__ import annotations

from collections.abc import Iterable

from models.clear_names import clear
from models.rocketmq.diagnosis.standing_faults import LINES_MAX, StandingFault
from models.rocketmq.observations.set_masters import MasterChange
from models.rocketmq.stage import Group
from models.units import US_PER_SECOND


def orderly_pauses(group: Group, changes: Iterable[MasterChange], end: int) -> list[StandingFault]:
    """Changes of masters that a group in order had to wait for, by time."""
    found = [_fault(group, change, end) for change in changes if change.broker in group.locked_on and _was_used(group, change)]
    return sorted(found, key=lambda fault: (fault.started_at, fault.detail))


def _was_used(group: Group, change: MasterChange) -> bool:
    """Whether a client of the group ran meanwhile."""
    until = change.ended_at
    return any(
        (until is None or life.begun_at <= until) and (life.ended_at is None or life.ended_at >= change.began_at) for life in group.lives
    )


def _fault(group: Group, change: MasterChange, end: int) -> StandingFault:
    members = sorted({life.client_id for life in group.lives if life.ended_at is None or life.ended_at >= change.began_at}, key=clear)
    until = end if change.ended_at is None else change.ended_at
    seconds = (until - change.began_at) // US_PER_SECOND
    lacks = (
        f"{change.broker} had no master for {seconds} s" if seconds or change.ended_at is None else f"{change.broker} changed its master"
    )
    then = f"; broker {change.master} is it now and holds no locks yet" if change.master else ""
    return StandingFault("master_changed", members, change.began_at, change.ended_at, change.lines[:LINES_MAX], f"{lacks}{then}")
