"""One rebalance with what is known around it when its cause is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from models.events import Event
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.hypotheses.context.arrived_members import ArrivedMembers
from models.kafka.hypotheses.context.assignment_lags import AssignmentLags
from models.kafka.hypotheses.context.assignment_write import AssignmentWrite
from models.kafka.hypotheses.context.departed_members import DepartedMembers
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.phase_deadline import PhaseDeadline
from models.kafka.hypotheses.context.timeouts_in_force import TimeoutsInForce
from models.kafka.observations.actions import MemberAction
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction.classic_states import RebalanceWindow


@dataclass(slots=True)
class RebalanceContext:
    """One rebalance window with what is known around it, by subject.

    A rule that needs one or two of the subjects takes these alone.
    """

    phase: LoggedJoinPhase
    roster: Roster
    facts: ClusterFacts
    known: GroupKnowledge
    group: str | None = None
    window: RebalanceWindow = field(init=False)
    """The rebalance itself."""
    members: GenerationMembers = field(init=False)
    """Who was a member before, and who is one after it."""
    arrivals: ArrivedMembers = field(init=False)
    """Who came."""
    departures: DepartedMembers = field(init=False)
    """Who went."""
    timeouts: TimeoutsInForce = field(init=False)
    """Which timeouts are in force."""
    deadline: PhaseDeadline = field(init=False)
    """Whether the rebalance timeout ended the join phase."""
    lags: AssignmentLags = field(init=False)
    """How long after the last assignment it began."""
    write: AssignmentWrite = field(init=False)
    """Whether that assignment could be written."""

    def __post_init__(self) -> None:
        phase, known, roster, facts = self.phase, self.known, self.roster, self.facts
        self.window = phase.window
        self.members = GenerationMembers(phase, known, roster)
        self.arrivals = ArrivedMembers(phase, self.members, known, facts)
        self.departures = DepartedMembers(phase, self.members, self.arrivals, known)
        self.timeouts = TimeoutsInForce(phase, self.members, known, roster, facts, self.group)
        self.deadline = PhaseDeadline(phase, self.members, self.departures, self.timeouts, facts)
        self.lags = AssignmentLags(phase, known, self.timeouts)
        self.write = AssignmentWrite(phase, self.members, self.arrivals, self.departures, self.lags, known, facts)


def evidence_events(window: RebalanceWindow, actions: Sequence[MemberAction]) -> list[Event]:
    """Events that a verdict stands on, in order, once each.

    The coordinator's own lines and those of the actions.
    """
    events = [event for event in (window.started, window.joined, window.ended, *window.extra) if event is not None]
    events += [action.event for action in actions]
    unique = {(event.place.file, event.place.byte_offset): event for event in events}
    return sorted(unique.values(), key=lambda event: (event.order_us, event.place.file, event.place.byte_offset))
