"""Members that came in one rebalance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from models.kafka.cluster.facts import ClusterFacts
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.observations.actions import ActionKind, MemberAction, follows_in_log, has_only_given_id
from models.kafka.observations.coordinator_contacts import CoordinatorContacts
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US, EFFECT_US


@dataclass
class ArrivedMembers:
    """Who came: by requests that lines tell, and without one."""

    phase: LoggedJoinPhase
    members: GenerationMembers
    known: GroupKnowledge
    facts: ClusterFacts

    @cached_property
    def by_actor(self) -> dict[str, MemberAction]:
        """First request of each new member of this rebalance."""
        arrivals: dict[str, MemberAction] = {}
        phase, members = self.phase, self.members
        after = members.after if members.are_all_known_after else None
        never_came = {phase.actor(action) for action in phase.actions_of(ActionKind.ID_EXPIRED)}
        for action in phase.actions_of(ActionKind.JOIN, ActionKind.REJOIN, end=phase.window.open_until):
            actor = phase.actor(action)
            if actor in never_came and has_only_given_id(action):
                continue
            if action.instance_id and action.at < phase.start - EFFECT_US:
                continue  # a static member that came back before was answered at once, without a rebalance (KIP-345)
            if self.was_readmitted(action):
                continue
            if phase.window.outcome == "coordinator_lost" and self._has_gone_to_successor(action):
                continue
            if actor is None or actor in arrivals or not members.is_new(action):
                continue
            if not self._has_come_after(self._latest_generation, action, actor) and (after is None or actor in after):
                arrivals[actor] = action
        return arrivals

    @property
    def _latest_generation(self) -> int | None:
        """Generation that this rebalance made, at the most.

        Where no line names it, the next rebalance tells what came before it.
        """
        window, following = self.phase.window, self.phase.following
        before, after = window.generation_before, window.generation_after
        if after is not None or before is None or following is None or following.generation_before is None:
            return after
        return following.generation_before if following.generation_before > before else None

    @property
    def late(self) -> list[MemberAction]:
        """Requests that came too late for the last phase."""
        generation, over = self.phase.window.generation_before, self.phase.previous_end
        joins = self.phase.actions_of(ActionKind.JOIN, ActionKind.REJOIN, start=over - CLOCK_TOLERANCE_US, end=over)
        return [action for action in joins if self._has_come_after(generation, action, self.phase.actor(action))]

    @cached_property
    def inferred(self) -> list[MemberAction]:
        """Members new in this generation that no line lets in.

        Known only where members' own logs show who is in both.
        """
        event = self.phase.window.joined or self.phase.window.started
        before = self.members.before
        if event is None or not before:
            return []
        newcomers = {actor: member for actor, member in self.members.after.items() if actor not in before and actor not in self.by_actor}
        named = [actor for actor in newcomers if actor in self.known.clients and not self.known.is_ambiguous(actor)]
        return [MemberAction(ActionKind.JOIN, self.phase.start, newcomers[actor], actor, None, None, None, event) for actor in named]

    def was_readmitted(self, action: MemberAction) -> bool:
        """Whether a member's JoinGroup was answered with the generation before.

        So are a static one's that comes back (KIP-345), and a second request of one whose answer was lost (GroupCoordinator.doJoinGroup).
        """
        actor = self.phase.actor(action)
        if not action.instance_id and (actor not in self.members.before or self.known.is_ambiguous(actor)):
            return False
        outcome = self._outcome_of(action, actor)
        return outcome is not None and outcome.kind is ActionKind.JOINED and outcome.generation == self.phase.window.generation_before

    def _has_come_after(self, generation: int | None, action: MemberAction, actor: str | None) -> bool:
        """Whether a JoinGroup led into a later generation only.

        A client logs a request when it is sent, and the arrival of one is known to some parts of a millisecond: as the join
        phase ends, only the answer shows whether it came in time.
        """
        if generation is None or actor in self.known.generations.get(generation, {}) or actor in self.known.shared:
            return False
        outcome = self._outcome_of(action, actor)
        return outcome is not None and outcome.kind is ActionKind.JOINED and (outcome.generation or 0) > generation

    def _outcome_of(self, request: MemberAction, actor: str | None) -> MemberAction | None:
        outcomes = (later for later in self._outcomes.get(actor, ()) if later.at >= request.at)
        return next((later for later in outcomes if later.at > request.at or not follows_in_log(request, later)), None)

    @cached_property
    def _outcomes(self) -> dict[str | None, list[MemberAction]]:
        """Ends of requests to join, by actor.

        An answer with a generation, or that no answer is waited for any more.
        """
        outcomes: dict[str | None, list[MemberAction]] = {}
        for action in self.phase.actions:
            if action.kind in {ActionKind.JOINED, ActionKind.LEAVE, ActionKind.LOST_COORDINATOR}:
                outcomes.setdefault(self.phase.actor(action), []).append(action)
        return outcomes

    def _has_gone_to_successor(self, action: MemberAction) -> bool:
        """Whether the request went to the next coordinator of the group."""
        start, node, first_node = self.phase.start, action.event.node, self.phase.window.node
        if first_node is None:
            first_node = self._contacts.common_node(self.members.before, start)
        if not action.is_certain:  # a request log does not say whose it is
            node = self._contacts.node(self.phase.actor(action), action.at)
        restarts = (change for change in self.facts.node_changes_between(start, action.at) if change.node == first_node)
        return (None not in {node, first_node} and node != first_node) or any(change.kind == "starting" for change in restarts)

    @cached_property
    def _contacts(self) -> CoordinatorContacts:
        """Coordinators that each client found."""
        contacts = CoordinatorContacts()
        for action in self.phase.all_of(ActionKind.START):
            contacts.begin(action, self.phase.actor(action))
        return contacts
