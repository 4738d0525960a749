"""Members that went in one rebalance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from models import weights
from models.events import Witness
from models.kafka.hypotheses.context.arrived_members import ArrivedMembers
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.observations.actions import JOIN_REQUESTS, ActionKind, MemberAction, is_unknown_as_it_leaves, says_unknown_member
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US, EFFECT_US
from models.tolerances import int_tolerance

CLOSE_TIMEOUT_US = int_tolerance("kafka.departures.close_timeout_us")
"""Longest time that a consumer takes to close."""

FREED_US = int_tolerance("kafka.departures.freed_us")
"""Longest time from a leave's answer to the end of close()."""

CLOSED_AT_DEBUG = "kafka.client.closed"
"""Message of the Java consumer, at DEBUG in all versions."""


@dataclass
class DepartedMembers:
    """Who went: by leaves and expiries that lines tell, and without one."""

    phase: LoggedJoinPhase
    members: GenerationMembers
    arrivals: ArrivedMembers
    known: GroupKnowledge

    @cached_property
    def by_actor(self) -> dict[str, MemberAction]:
        """First effective leave or expiry of each member that went in this rebalance."""
        gone = self.phase.actions_of(ActionKind.LEAVE, ActionKind.EXPIRE)
        return self.phase.firsts_among(action for action in gone if self.is_effective(action))

    @cached_property
    def inferred(self) -> list[MemberAction]:
        """Members of the generation before that left unlogged.

        No line sees them off, and they are in the next one no more.

        Only if clients' own logs show who is in both generations, or the leader's shows all of the later one.
        """
        window, before, after = self.phase.window, self.members.before, self.members.after
        event = window.started or window.joined
        if event is None or not (after or window.outcome == "empty"):
            return []
        logged = (actor for actor in before if self.members.are_all_known_after or actor in self.known.tell_joins)
        return [
            MemberAction(ActionKind.LEAVE, self.phase.start, before[actor], actor, None, None, None, event)
            for actor in logged
            if actor not in after and actor not in self.by_actor
        ]

    @cached_property
    def told_unknown(self) -> dict[str, MemberAction]:
        """First answers to members that the coordinator knows them no more, by actor."""
        answers = self.phase.actions_of(ActionKind.LEAVE_ANSWERED, ActionKind.FENCED)
        return self.phase.firsts_among(answer for answer in answers if is_unknown_as_it_leaves(answer) or says_unknown_member(answer))

    def is_effective(self, action: MemberAction) -> bool:
        """Whether the coordinator in charge still knew who left or expired."""
        phase, members = self.phase, self.members
        if action.is_certain and action.event.node not in {None, phase.window.node}:
            return False
        if action.at < phase.start - EFFECT_US or self.was_refused(action) or self._had_expired(action):
            return False
        before, actor = members.before, phase.actor(action)
        if members.has_missed_generation(action) or members.is_of_the_generation(action):
            return False  # it acted on an earlier generation, and the next one was made without it
        if action.is_certain or not before or actor in before:
            return True
        joined = self.arrivals.by_actor.get(actor) if actor else None
        return joined is not None and joined.at < action.at

    def _had_expired(self, action: MemberAction) -> bool:
        """Whether the coordinator had removed a member before its own log has it leave."""
        if action.kind is not ActionKind.LEAVE or action.event.witness is not Witness.CLIENT:
            return False
        member = self.phase.roster.members.get(action.member_id or "")
        return member is not None and member.ended_how in {"expired", "evicted"}

    def was_refused(self, action: MemberAction) -> bool:
        """Whether the client's log has an error as the answer to its leave."""
        if action.kind is not ActionKind.LEAVE or action.event.witness is not Witness.CLIENT:
            return False
        answers = self._while_closing(action, ActionKind.LEAVE_ANSWERED)
        return bool(answers) and bool(answers[0].why)

    def doubt_of_arrival(self, leave: MemberAction, *, lives_on: bool) -> float:
        """Probability that a client's leave did not reach the coordinator.

        The Java consumer that closes waits for the answer, which it logs at DEBUG, as it does its end. At all levels it logs that
        it waited in vain, or that the connection ended (AbstractCoordinator.java, close; LeaveGroupResponseHandler). One that
        lives on may lose its coordinator later.
        """
        if leave.event.witness is not Witness.CLIENT or self._is_followed_by_coordinator(leave):
            return 0.0
        if any(self._while_closing(leave, ActionKind.LEAVE_UNANSWERED)):
            return weights.LEFT_UNANSWERED.value
        if any(self._while_closing(leave, ActionKind.LEAVE_ANSWERED)):
            return 0.0
        if any(close.event.message == CLOSED_AT_DEBUG for close in self._while_closing(leave, ActionKind.CLOSE)):
            return weights.LEFT_UNANSWERED.value
        losses, joins = self._while_closing(leave, ActionKind.LOST_COORDINATOR), self._while_closing(leave, *JOIN_REQUESTS)
        if not losses or lives_on:
            return 0.0
        return (weights.LEFT_PERHAPS_UNANSWERED if joins and joins[0].at < losses[0].at else weights.LEFT_UNANSWERED).value

    def was_lost_with_coordinator(self, leave: MemberAction) -> bool:
        """Whether other members lost their coordinator between a leave and the beginning.

        By members' logs alone. Its successor knows the last generation, with the member that left (GroupMetadataManager.loadGroup).
        """
        phase, actor = self.phase, self.phase.actor(leave)
        if not (leave.event.witness is phase.window.witness is Witness.CLIENT):
            return False
        losses = phase.actions_of(ActionKind.LOST_COORDINATOR, start=leave.at, end=phase.start - 1)
        return any(phase.actor(loss) in self.members.before.keys() - {actor} for loss in losses)

    def is_closed_later(self, leave: MemberAction) -> bool:
        """Whether a consumer was closed long after its leave was answered.

        Then its heartbeat thread left, as it polled too late.
        """
        answers, closes = self._while_closing(leave, ActionKind.LEAVE_ANSWERED), self._while_closing(leave, ActionKind.CLOSE)
        is_told = bool(answers) and bool(closes) and closes[0].event.message == CLOSED_AT_DEBUG
        return is_told and closes[0].at - answers[0].at > FREED_US

    def _is_followed_by_coordinator(self, leave: MemberAction) -> bool:
        """Whether the coordinator's own line tells of a rebalance at once."""
        started = self.phase.window.started
        at_once = -CLOCK_TOLERANCE_US <= self.phase.start - leave.at <= CLOCK_TOLERANCE_US
        return at_once and started is not None and started.witness is Witness.COORDINATOR

    def _while_closing(self, leave: MemberAction, *kinds: ActionKind) -> list[MemberAction]:
        """What a member that leaves does until it is closed."""
        actions = self.phase.actions_of(*kinds, start=leave.at - 1, end=leave.at + CLOSE_TIMEOUT_US + CLOCK_TOLERANCE_US)
        return [action for action in actions if self.phase.actor(action) == self.phase.actor(leave)]
