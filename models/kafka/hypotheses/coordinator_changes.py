"""Rebalances and removals that follow a change of the coordinator."""

from __future__ import annotations

from collections.abc import Container, Iterator

from models.events import when
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.timeouts_in_force import TimeoutsInForce
from models.kafka.observations.actions import ActionKind, MemberAction
from models.tolerances import (
    int_tolerance,
)

MOVED_US = int_tolerance("kafka.timeouts.moved_us")
"""Longest time from the news of another coordinator to an unknown member id."""


def had_coordinator_moved(phase: LoggedJoinPhase, action: MemberAction) -> bool:
    """Whether a member heard shortly before that its coordinator is another."""
    actor, lost = phase.actor(action), ActionKind.LOST_COORDINATOR
    moved = (action for action in phase.actions if action.kind is lost and "NOT_COORDINATOR" in f"{action.why or ''}{action.event.text}")
    return any(0 <= action.at - move.at <= MOVED_US and phase.actor(move) == actor for move in moved)


def times_of_moves(phase: LoggedJoinPhase, members: Container[str]) -> Iterator[int]:
    """Times at which members found another coordinator than the one they had lost."""
    lost: dict[str | None, str | None] = {}
    for action in phase.actions:
        actor, node = phase.actor(action), action.event.node
        if action.kind is ActionKind.LOST_COORDINATOR:
            lost[actor] = node
        elif action.kind is ActionKind.START and node is not None and lost.pop(actor, None) not in {None, node} and actor in members:
            yield action.at


def follows_load(phase: LoggedJoinPhase, timeouts: TimeoutsInForce) -> bool:
    """Whether this is the first rebalance after a load, within a session.

    Members that live are back by then.
    """
    loaded_at, before = when(phase.window.load_before), phase.window.previous_ended_at
    if loaded_at is None or (before is not None and before > loaded_at):
        return False
    return 0 <= phase.start - loaded_at <= timeouts.longest_session_us
