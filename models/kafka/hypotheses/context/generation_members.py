"""The members of the generations before and after one rebalance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from models.events import Witness
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.observations.actions import ActionKind, MemberAction, follows_in_log, has_only_given_id
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.libraries import is_default_id
from models.kafka.observations.roster import Roster


@dataclass
class GenerationMembers:
    """Who was a member before the rebalance, and who is one after it.

    As far as lines name them.
    """

    phase: LoggedJoinPhase
    known: GroupKnowledge
    roster: Roster

    @cached_property
    def before(self) -> dict[str, str | None]:
        """Known members of the generation before: actor to member id."""
        generation = self.phase.window.generation_before
        return self.known.generations.get(generation, {}) if generation is not None and not self.phase.was_empty else {}

    @cached_property
    def after(self) -> dict[str, str | None]:
        """Members of the new generation, as far as they are known."""
        generation = self.phase.window.generation_after
        return self.known.generations.get(generation, {}) if generation is not None else {}

    @property
    def are_all_known_before(self) -> bool:
        """Every member of the generation before is known by name."""
        window, previous = self.phase.window, self.phase.previous
        count = window.members_before
        if count is None and previous is not None and previous.generation_after == window.generation_before:
            count = previous.members_after
        return bool(count) and len(self.before) == count

    @property
    def are_all_known_after(self) -> bool:
        """Every member of the new generation is known by name."""
        count = self.phase.window.members_after
        return bool(count) and len(self.after) == count

    def is_of_the_generation(self, leave: MemberAction) -> bool:
        """Whether a member had been told that it joined, before it left."""
        after, actor = self.phase.window.generation_after, self.phase.actor(leave)
        if leave.kind is not ActionKind.LEAVE or leave.is_certain or after is None:
            return False
        joins = (action for action in self.phase.all_of(ActionKind.JOINED) if action.generation == after)
        return any(self.phase.actor(join) == actor and follows_in_log(leave, join) for join in joins)

    def has_missed_generation(self, action: MemberAction) -> bool:
        """Whether a member skipped the generation before this one.

        Told by its own log, which names each generation that it joins.
        """
        phase, generations = self.phase, self.known.generations
        actor, before = phase.actor(action), phase.window.generation_before
        if before is None or actor not in self.known.tell_joins:
            return False
        departures = (departure for departure in phase.actions_of(ActionKind.EXPIRE, ActionKind.LEAVE) if departure.is_certain)
        if phase.window.witness is not Witness.CLIENT and any(phase.actor(departure) == actor for departure in departures):
            return False  # its coordinator tells that it was still a member
        last = max((generation for generation, members in generations.items() if generation <= before and actor in members), default=before)
        alone = generations.get(last, {}).keys() <= {actor}  # a generation that several did not hear of may have been lost
        # Whoever leaves begins a rebalance, so that the generation after its last one was made without it.
        is_over = action.kind is ActionKind.LEAVE or self.known.ended_in.get(actor) == last
        return last < before and (alone or is_over or bool(generations.get(before)))

    def is_new(self, action: MemberAction) -> bool:
        """A JoinGroup of somebody who was no member of the generation before."""
        if action.kind is ActionKind.JOIN:
            return True
        if action.kind is not ActionKind.REJOIN:
            return False
        if self.has_missed_generation(action):
            return True
        actor = self.phase.actor(action)
        if action.event.witness is Witness.CLIENT and (self._has_another_id(actor) or self._has_new_id(actor)):
            return True  # its log doesn't say under which id it asks
        if action.member_id is None or self._has_named_id(action):
            return False
        first, before = self.known.first_generation.get(action.member_id), self.phase.window.generation_before
        if first is not None and before is not None:
            return first > before or self.phase.was_empty
        is_unknown = first is None and action.member_id not in self._ids_before
        return is_unknown and (bool(self.before) or self._was_given_its_id(action))

    def _was_given_its_id(self, action: MemberAction) -> bool:
        """Whether an earlier request was answered with this id alone.

        No member has such an id (KIP-394).
        """
        requests = self.phase.actions_of(ActionKind.JOIN, end=action.at)
        return any(request.member_id == action.member_id and has_only_given_id(request) for request in requests)

    def _has_named_id(self, action: MemberAction) -> bool:
        """Whether a client names its id, and no line gave it one.

        It had it before its log begins.
        """
        phase = self.phase
        if action.event.witness is not Witness.CLIENT or self.before or phase.previous is not None:
            return False
        given = (failure for failure in phase.all_of(ActionKind.JOIN_FAILED) if failure.at <= action.at and has_only_given_id(failure))
        return all(phase.actor(failure) != phase.actor(action) for failure in given)

    def _has_another_id(self, actor: str | None) -> bool:
        """Whether a client is in the new generation under another id.

        Only a new member gets one.
        """
        before, after = self.before.get(actor or ""), self.after.get(actor or "")
        is_dynamic = actor not in self.known.shared and not is_default_id(actor or "") and not self._is_static(before, after)
        return before is not None and after is not None and before != after and is_dynamic

    def _has_new_id(self, actor: str | None) -> bool:
        """Whether a client joins anew that was out of the generation.

        It gets an id that no earlier generation had. Its log tells each of its joins, and told of one before.
        """
        before, after = self.phase.window.generation_before, self.after.get(actor or "")
        is_unknown = before is None or (before in self.known.generations and not self.before)
        if before is None or after is None or is_unknown or actor in self.before or actor not in self.known.tell_joins:
            return False
        first = self._first_joins.get(actor)
        return self.known.first_generation.get(after, before) > before and first is not None and first <= before

    @cached_property
    def _first_joins(self) -> dict[str | None, int]:
        """First generation that each actor joined under any id."""
        first: dict[str | None, int] = {}
        for member_id, generation in self.known.first_generation.items():
            actor = self.roster.actor(member_id, None, None)
            first[actor] = min(generation, first.get(actor, generation))
        return first

    def _is_static(self, *ids: str | None) -> bool:
        members = (self.roster.members.get(member_id or "") for member_id in ids)
        return any(member is not None and member.instance_id is not None for member in members)

    @cached_property
    def _ids_before(self) -> frozenset[str | None]:
        return frozenset(self.before.values())
