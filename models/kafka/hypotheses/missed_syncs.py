"""Members that sent no SyncGroup."""

from __future__ import annotations

from dataclasses import replace

from models import weights
from models.causes import Cause
from models.events import Witness
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.phase_deadline import TIMEOUT_TOLERANCE_US
from models.kafka.hypotheses.context.timeouts_in_force import TimeoutsInForce
from models.kafka.hypotheses.hypothesis import EARLIER_LINES, Hypothesis
from models.kafka.observations.actions import ActionKind
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.tolerances import (
    USUAL_REBALANCE_TIMEOUTS_MS,
)
from models.units import US_PER_MS

SYNC_REFUSED = "REBALANCE_IN_PROGRESS"
"""Error of a SyncGroup that waited for one that never came."""


def by_missed_syncs(phase: LoggedJoinPhase, members: GenerationMembers, timeouts: TimeoutsInForce) -> list[Hypothesis]:
    """Weigh members that sent no SyncGroup, where the coordinator's log is missing.

    It removes them once the rebalance timeout is over, and refuses the SyncGroup of those that waited (ClassicGroup, KAFKA-13688).
    """
    began, previous = phase.window.previous_joined_at, phase.previous
    if phase.window.witness is Witness.COORDINATOR or began is None or previous is None:
        return []
    answers = phase.actions_of(ActionKind.SYNCED, ActionKind.ASSIGNED, start=began, end=phase.start)
    was_assigned = any(answers) if phase.window.witness is Witness.CLIENT else previous.outcome == "stable"
    if was_assigned:
        return []
    refused = list(phase.actions_of(ActionKind.SYNC_FAILED, start=began, end=phase.start + CLOCK_TOLERANCE_US))
    known = timeouts.longest_rebalance_us
    waits = [known] if known is not None else [timeout_ms * US_PER_MS for timeout_ms in USUAL_REBALANCE_TIMEOUTS_MS]
    waited = [action for action in refused if any(abs(action.at - began - wait) <= TIMEOUT_TOLERANCE_US for wait in waits)]
    if not waited or any(action.why and SYNC_REFUSED not in action.why for action in waited):
        return []
    sent = {phase.actor(action) for action in refused}
    missing = [
        replace(waited[0], kind=ActionKind.SYNC_MISSED, member_id=member_id, client_id=actor, instance_id=None, why=None)
        for actor, member_id in members.before.items()
        if actor not in sent and actor not in members.after
    ]
    return [Hypothesis(Cause.SYNC_TIMEOUT, weights.SYNC_AWAITED_IN_VAIN.value, missing, EARLIER_LINES)]
