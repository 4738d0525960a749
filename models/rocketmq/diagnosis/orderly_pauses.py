"""Pauses of groups in order while a broker set changes its master.

A set without a master gives no locks, and a new master holds none. The pause lasts until it gives the group the first one.
"""

from __future__ import annotations

from collections.abc import Iterable

from models.clear_names import clear
from models.incidents.fault_facts import MasterAbsence
from models.rocketmq.diagnosis.standing_faults import FAULT_LINES_MAX, StandingFault
from models.rocketmq.observations.set_masters import MasterChange
from models.rocketmq.rocketmq_stage import RocketmqGroup
from models.units import FOREVER, US_PER_SECOND


def orderly_pauses(group: RocketmqGroup, changes: Iterable[MasterChange], end: int) -> list[StandingFault]:
    """Changes of masters that a group in order had to wait for, by time."""
    awaited = [change for change in changes if change.broker in group.locked_on and _was_used(group, change)]
    ordered = sorted(awaited, key=lambda change: (change.began_at, change.broker))
    return [_fault(group, change, _first_lock(group, change, _next_began(change, awaited)), end) for change in ordered]


def _was_used(group: RocketmqGroup, change: MasterChange) -> bool:
    """Whether a client of the group ran meanwhile."""
    until = change.ended_at
    return any(
        (until is None or life.begun_at <= until) and (life.ended_at is None or life.ended_at >= change.began_at) for life in group.lives
    )


def _next_began(change: MasterChange, awaited: Iterable[MasterChange]) -> int:
    """When the set lost its next master."""
    return min((later.began_at for later in awaited if later.broker == change.broker and later.began_at > change.began_at), default=FOREVER)


def _first_lock(group: RocketmqGroup, change: MasterChange, until: int) -> int | None:
    """When the new master gave the group its first lock, if known."""
    since = change.elected_at
    if since is None:
        return None
    return min((at for at in group.lock_grants.get(change.broker, ()) if since <= at < until), default=None)


def _fault(group: RocketmqGroup, change: MasterChange, locked_at: int | None, end: int) -> StandingFault:
    members = sorted({life.client_id for life in group.lives if life.ended_at is None or life.ended_at >= change.began_at}, key=clear)
    ended_at = change.ended_at if locked_at is None else locked_at
    since = end if change.elected_at is None else change.elected_at
    facts = MasterAbsence(
        change.broker,
        (since - change.began_at) // US_PER_SECOND,
        change.ended_at is None,
        change.master,
        None if locked_at is None else (locked_at - since) // US_PER_SECOND,
    )
    return StandingFault("master_changed", members, change.began_at, ended_at, facts, change.lines[:FAULT_LINES_MAX])
