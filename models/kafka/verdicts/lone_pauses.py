"""Pauses of a coordinator that a single group shows.

Its members expire together and are back with the next heartbeat, whose answer tells them that they are out. They were alive, so
their coordinator stood still, or nothing reached it. Brokers before 2.5 do not name all who come back.
"""

from __future__ import annotations

from models.events import Witness
from models.kafka.cluster.expiry_bursts import BURST_US, LOAD_US
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.observations.actions import ActionKind, MemberAction
from models.tolerances import TOGETHER_MIN, int_tolerance

RETURNED_US = int_tolerance("kafka.lone_pauses.returned_us")
"""Longest time until a living member hears that it is out, and joins."""

_RETURNS = frozenset({ActionKind.JOIN, ActionKind.ID_HANDED_OUT, ActionKind.REPLACE})


def has_expired_alive(phase: LoggedJoinPhase, facts: ClusterFacts, start: int) -> bool:
    """Whether all members that expired at a time came back at once."""
    expiries = [action for action in phase.all_of(ActionKind.EXPIRE) if abs(action.at - start) <= BURST_US and _is_told(action)]
    if len({action.member_id for action in expiries}) < TOGETHER_MIN or _follows_load(facts, start):
        return False
    until = max(action.at for action in expiries)
    return {phase.actor(action) for action in expiries} <= _back_by(phase, until)


def _back_by(phase: LoggedJoinPhase, expired_at: int) -> set[str | None]:
    """Members that a line shows to come back at once."""
    later = phase.since(expired_at)
    return {phase.actor(action) for action in later if action.kind in _RETURNS and action.at - expired_at <= RETURNED_US}


def _is_told(action: MemberAction) -> bool:
    return action.event.witness is Witness.COORDINATOR


def _follows_load(facts: ClusterFacts, start: int) -> bool:
    """Whether all sessions may have begun together, as their group was loaded."""
    return any(load.is_loaded for load in facts.loads_between(start - LOAD_US, start))
