"""Whether the rebalance timeout ended a join phase."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from models.kafka.cluster.facts import ClusterFacts
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.context.departed_members import DepartedMembers
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.timeouts_in_force import TimeoutsInForce
from models.kafka.observations.actions import ActionKind
from models.tolerances import PHASE_OVERRUN_US, PHASE_UNDERRUN_US, USUAL_REBALANCE_TIMEOUTS_MS, WHOLE_SECONDS_MIN_US, int_tolerance
from models.units import US_PER_MS, US_PER_SECOND

TIMEOUT_TOLERANCE_US = int_tolerance("kafka.timeouts.timeout_tolerance_us")

LAST_MOMENT_US = int_tolerance("kafka.timeouts.last_moment_us")
"""Longest time from the last missing member to the phase's end."""


@dataclass
class PhaseDeadline:
    """The deadline of one join phase, which passed or not."""

    phase: LoggedJoinPhase
    members: GenerationMembers
    departures: DepartedMembers
    timeouts: TimeoutsInForce
    facts: ClusterFacts

    @cached_property
    def passed_after_us(self) -> int | None:
        """The rebalance timeout that ended the join phase, or None.

        None where something else may have ended it.

        From Empty a phase ends by the initial delay, which the Scala coordinator waits for once at generations above 0.
        """
        window = self.phase.window
        if window.started_at is None or window.joined_at is None or self.phase.was_empty or window.outcome == "empty":
            return None
        timeout = self._as_long_as(window.joined_at - window.started_at)
        return None if timeout is None or self._has_ended_otherwise(window.joined_at) else timeout

    def _as_long_as(self, lasted: int) -> int | None:
        """The rebalance timeout that is just as long as the join phase."""
        timeout, window = self.timeouts.longest_rebalance_us, self.phase.window
        if timeout is not None:
            return timeout if abs(lasted - timeout) <= TIMEOUT_TOLERANCE_US else None
        if window.state_before is None and is_just_over(lasted, self.facts.initial_delay_ms * US_PER_MS):
            return None
        usual = (timeout_ms * US_PER_MS for timeout_ms in USUAL_REBALANCE_TIMEOUTS_MS)
        known = next((timeout for timeout in usual if is_just_over(lasted, timeout)), None)
        return known if known is not None else _unusual(lasted, lists_evictions=window.members_after is not None)

    def _has_ended_otherwise(self, end: int) -> bool:
        """Whether something else ended the join phase.

        The last one that was missing came, or went, or all old members are known to have come.
        """
        phase, members = self.phase, self.members
        if phase.first_by_actor(ActionKind.EVICT):
            return False
        gone = [*self.departures.by_actor.values(), *phase.actions_of(ActionKind.ID_EXPIRED)]
        requests = phase.actions_of(ActionKind.REJOIN, ActionKind.JOIN, start=phase.start, end=end)
        arrivals = (action for action in requests if not members.is_new(action))
        if any(abs(end - action.at) <= LAST_MOMENT_US for action in (*gone, *arrivals)):
            return True
        before = members.before
        return bool(before) and phase.window.state_before is not State.EMPTY and all(actor in members.after for actor in before)


def is_just_over(lasted: int, timeout: int) -> bool:
    """Whether a phase lasted as long as a timeout, as timers run."""
    return -PHASE_UNDERRUN_US <= lasted - timeout <= PHASE_OVERRUN_US


def _unusual(lasted: int, *, lists_evictions: bool) -> int | None:
    """An unusual timeout, from logs that would list removals.

    Whoever writes head counts (2.8 and later) would list those that it removed.
    """
    timeout = (lasted + PHASE_UNDERRUN_US) // US_PER_SECOND * US_PER_SECOND
    return timeout if lasted >= WHOLE_SECONDS_MIN_US and is_just_over(lasted, timeout) and not lists_evictions else None
