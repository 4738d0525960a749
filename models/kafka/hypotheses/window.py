"""All that is known of one rebalance when its cause is judged."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from models.events import Event, Witness
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.observations.actions import Act, Deed, int_field, names_field, text_field
from models.kafka.observations.default_client_ids import is_default
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.roster import Roster
from models.kafka.observations.tolerances import AFTERTHOUGHT_US, CLOCK_TOLERANCE_US, EFFECT_US, STRAGGLER_US
from models.kafka.reconstruction.classic_log import Draft
from models.units import FOREVER

MEMBER_ID_REQUIRED = 79
"""Error code (protocol/Errors.java)."""


@dataclass
class Case:
    """One draft and its surroundings. `acts` are ordered by time and reach beyond the draft's end.

    What several rules ask for is worked out once: a group of thousands has as many deeds in one rebalance.
    """

    draft: Draft
    previous: Draft | None
    following: Draft | None
    acts: Sequence[Act]
    roster: Roster
    facts: ClusterFacts
    known: GroupKnowledge

    @property
    def start(self) -> int:
        """Start of the rebalance; where its line is missing, the first line that shows it."""
        at = self.draft.started_at
        if at is None:
            at = self.draft.open_until
        return at if at is not None else 0

    @property
    def phase_began(self) -> int:
        """End of the join phase before: deeds after it belong to this rebalance."""
        before = self.draft.previous_joined_at
        return before if before is not None else -FOREVER

    @property
    def phase_over(self) -> int:
        """End of this join phase (of the rebalance, if it never got so far; far away while it is open)."""
        until = self.draft.open_until
        if until is None:
            return FOREVER
        return until + STRAGGLER_US if self.draft.outcome == "empty" else until

    @property
    def was_empty(self) -> bool:
        """Whether the group had no members when the rebalance began."""
        return self.draft.state_before is State.EMPTY

    def actor(self, act: Act) -> str | None:
        """Who did it: one name for all member ids of a client."""
        ids = act.member_id, act.client_id, act.instance_id
        try:
            return self._actors[ids]
        except KeyError:
            return self._actors.setdefault(ids, self.roster.actor(*ids))

    @cached_property
    def _actors(self) -> dict[tuple[str | None, str | None, str | None], str | None]:
        """Who was asked for before: the roster stays as it is while a rebalance is judged."""
        return {}

    @cached_property
    def _times(self) -> list[int]:
        return [act.at for act in self.acts]

    def deeds(self, *kinds: Deed, start: int | None = None, end: int | None = None) -> Iterator[Act]:
        """Deeds of these kinds after the last join phase (or `start`) and up to the end of this one (or `end`)."""
        low = self.phase_began if start is None else start
        high = self.phase_over if end is None else end
        first = bisect_right(self._times, low)
        last = bisect_right(self._times, high + AFTERTHOUGHT_US)
        for act in self.acts[first:last]:
            if act.deed not in kinds:
                continue
            if is_afterthought(act):
                if max(low, self.start - CLOCK_TOLERANCE_US) < act.at <= high + AFTERTHOUGHT_US and not self._next_began_before(act):
                    yield act
            elif low < act.at <= high:
                yield act

    def _next_began_before(self, act: Act) -> bool:
        began = self.following.started_at if self.following else None
        return began is not None and began <= act.at

    def is_effective(self, act: Act) -> bool:
        """The coordinator still knew the member that left or expired, and was the one in charge."""
        if act.certain and act.event.node not in {None, self.draft.node}:
            return False
        if act.at < self.start - EFFECT_US:
            return False
        before, actor = self.members_before, self.actor(act)
        if act.certain or not before or actor in before:
            return True
        joined = self.joiners.get(actor) if actor else None
        return joined is not None and joined.at < act.at

    @cached_property
    def gone(self) -> dict[str, Act]:
        """Who left or expired in this rebalance, by actor."""
        return self.by_actor(Deed.LEAVE, Deed.EXPIRE, effective=True)

    @cached_property
    def members_before(self) -> dict[str, str | None]:
        """Known members of the generation before: actor to member id."""
        generation = self.draft.generation_before
        return self.known.generations.get(generation, {}) if generation is not None and not self.was_empty else {}

    @cached_property
    def members_after(self) -> dict[str, str | None]:
        """Members of the new generation, as far as they are known."""
        generation = self.draft.generation_after
        return self.known.generations.get(generation, {}) if generation is not None else {}

    def is_new(self, act: Act) -> bool:
        """A JoinGroup of somebody who was no member of the generation before."""
        if act.deed is Deed.JOIN:
            return True
        if act.deed is not Deed.REJOIN:
            return False
        if self._missed_generation(act):
            return True
        if act.member_id is None:
            return False
        first = self.known.first_generation.get(act.member_id)
        if first is not None and self.draft.generation_before is not None:
            return first > self.draft.generation_before or self.was_empty
        return first is None and act.member_id not in self._ids_before and bool(self.members_before)

    def _missed_generation(self, act: Act) -> bool:
        """Whether a member was in an earlier generation, and not in the one before.

        Told by its own log, which names each generation that it joins.
        """
        actor, before = self.actor(act), self.draft.generation_before
        if self.draft.witness is not Witness.CLIENT or before is None or actor not in self.known.tell_joins:
            return False
        generations = self.known.generations
        last = max((generation for generation, members in generations.items() if generation <= before and actor in members), default=before)
        alone = generations.get(last, {}).keys() <= {actor}  # a generation that several did not hear of may have been lost
        return last < before and (alone or bool(generations.get(before)))

    @cached_property
    def _ids_before(self) -> frozenset[str | None]:
        return frozenset(self.members_before.values())

    @cached_property
    def joiners(self) -> dict[str, Act]:
        """Who asked to become a member in this rebalance, by actor, with the first act of each."""
        found: dict[str, Act] = {}
        after = self.members_after if self.knows_all_after else None
        never_came = {self.actor(act) for act in self.deeds(Deed.ID_EXPIRED)}
        for act in self.deeds(Deed.JOIN, Deed.REJOIN, end=self.draft.open_until):
            actor = self.actor(act)
            if actor in never_came and _was_only_given_an_id(act):
                continue
            if act.instance_id and act.at < self.start - EFFECT_US:
                continue  # a static member that came back before was answered at once, without a rebalance (KIP-345)
            if self.draft.outcome == "coordinator_lost" and self._went_to_successor(act):
                continue
            if actor is None or actor in found or not self.is_new(act) or self._came_after(self.draft.generation_after, act, actor):
                continue
            if after is None or actor in after:
                found[actor] = act
        return found

    @property
    def latecomers(self) -> list[Act]:
        """Who asked to join as the last join phase ended, and came too late for it."""
        generation, over = self.draft.generation_before, self.phase_began
        asked = self.deeds(Deed.JOIN, Deed.REJOIN, start=over - CLOCK_TOLERANCE_US, end=over)
        return [act for act in asked if self._came_after(generation, act, self.actor(act))]

    def _came_after(self, generation: int | None, act: Act, actor: str | None) -> bool:
        """What came of the JoinGroup is a membership in a later generation than this one, and in this one there was none.

        A client logs a request when it is sent, and the arrival of one is known to some parts of a millisecond: as the join
        phase ends, only the answer shows whether it came in time.
        """
        if generation is None or actor in self.known.generations.get(generation, {}) or actor in self.known.shared:
            return False
        outcome = next((later for later in self._outcomes_of_joins.get(actor, ()) if later.at >= act.at), None)
        return outcome is not None and outcome.deed is Deed.JOINED and (outcome.generation or 0) > generation

    @cached_property
    def _outcomes_of_joins(self) -> dict[str | None, list[Act]]:
        """What ends a wish to join, by actor: an answer with a generation, or that no answer is waited for any more."""
        found: dict[str | None, list[Act]] = {}
        for act in self.acts:
            if act.deed in {Deed.JOINED, Deed.LEAVE, Deed.LOST_COORDINATOR}:
                found.setdefault(self.actor(act), []).append(act)
        return found

    def _went_to_successor(self, act: Act) -> bool:
        """The request went to the coordinator that came after the one whose rebalance this is."""
        node = act.event.node
        if not act.certain:  # a request log does not say whose it is
            found = self._coordinators.get(self.actor(act), [])
            node = next((other for at, other in reversed(found) if at <= act.at), None)
        restarts = (change for change in self.facts.node_changes_between(self.start, act.at) if change.node == self.draft.node)
        return node not in {None, self.draft.node} or any(change.kind == "starting" for change in restarts)

    @cached_property
    def _coordinators(self) -> dict[str | None, list[tuple[int, str | None]]]:
        """Which coordinator each client found, and when."""
        found: dict[str | None, list[tuple[int, str | None]]] = {}
        for act in self.acts:
            if act.deed is Deed.START:
                found.setdefault(self.actor(act), []).append((act.at, act.event.node))
        return found

    @cached_property
    def vanished(self) -> list[Act]:
        """Members of the generation before that no line sees off and that are in the next one no more: they left unlogged.

        Told only where clients' own logs show who is in both generations.
        """
        event = self.draft.started or self.draft.joined
        after = self.members_after
        if event is None or not (after or self.draft.outcome == "empty"):
            return []
        logged = (actor for actor in self.members_before if actor in self.known.tell_joins)
        return [
            Act(Deed.LEAVE, self.start, self.members_before[actor], actor, None, None, None, event)
            for actor in logged
            if actor not in after and actor not in self.gone
        ]

    @cached_property
    def appeared(self) -> list[Act]:
        """Members new in this generation that no line lets in.

        Known only where members' own logs show who is in both.
        """
        event = self.draft.joined or self.draft.started
        before = self.members_before
        if event is None or not before:
            return []
        news = {actor: member for actor, member in self.members_after.items() if actor not in before and actor not in self.joiners}
        named = [actor for actor in news if actor in self.known.clients and not self.is_ambiguous(actor)]
        return [Act(Deed.JOIN, self.start, news[actor], actor, None, None, None, event) for actor in named]

    @property
    def knows_all_after(self) -> bool:
        """Every member of the new generation is known by name."""
        count = self.draft.members_after
        return bool(count) and len(self.members_after) == count

    def by_actor(self, *kinds: Deed, effective: bool = False) -> dict[str, Act]:
        """First act of each actor among deeds of these kinds (that had an effect); a coordinator's line is preferred."""
        found: dict[str, Act] = {}
        for act in self.deeds(*kinds):
            actor = self.actor(act)
            if self._took_effect_later(act, actor) or (effective and not self.is_effective(act)):
                continue
            if actor is not None and (actor not in found or (act.certain and not found[actor].certain)):
                found[actor] = act
        return found

    def _took_effect_later(self, act: Act, actor: str | None) -> bool:
        """The coordinator itself dates a leave that others announced before: its line counts."""
        if act.deed is not Deed.LEAVE or act.certain or actor is None:
            return False
        dated = self._leaves_afterwards.get(actor)
        return dated is not None and dated <= act.at + EFFECT_US

    @cached_property
    def _leaves_afterwards(self) -> dict[str, int]:
        """When the coordinator says that somebody left, soon after this join phase; by actor."""
        over = self.phase_over
        found: dict[str, int] = {}
        for act in self.acts[bisect_right(self._times, over) :]:
            if act.at > over + EFFECT_US:
                break
            actor = self.actor(act)
            if act.deed is Deed.LEAVE and act.certain and actor is not None and not is_afterthought(act):
                found.setdefault(actor, act.at)
        return found

    def is_ambiguous(self, actor: str | None) -> bool:
        """Whether several members may go by this name: of two that have it, none need be the other's former self."""
        return actor in self.known.shared or (actor is not None and is_default(actor))

    def has_client_log(self, actor: str | None) -> bool:
        """Whether the client's own log is among the files."""
        return actor is not None and actor in self.known.clients

    @property
    def reason_id(self) -> str | None:
        """Which of the coordinator's reasons its line names."""
        return text_field(self.draft.started, "reason_id") if self.draft.started else None

    @property
    def reason(self) -> str | None:
        """The coordinator's reason, in its own words."""
        return text_field(self.draft.started, "reason") if self.draft.started else None

    def reason_acts(self, deed: Deed, event: Event) -> list[Act]:
        """The members that the reason of this line lists, where it lists several, as acts at the start of the rebalance."""
        return [Act(deed, event.time_us, member, None, None, None, None, event) for member in names_field(event, "reason_members")]

    def reason_act(self, event: Event) -> Act | None:
        """The member that the reason of this line names, as an act at the start of the rebalance."""
        member_id = text_field(event, "reason_member_id")
        if member_id is None:
            return None
        deed = {"new_member": Deed.JOIN, "leave": Deed.LEAVE, "heartbeat_expiration": Deed.EXPIRE}.get(self.reason_id or "", Deed.REJOIN)
        instance = text_field(event, "reason_instance_id")
        return Act(deed, event.time_us, member_id, None, instance, text_field(event, "client_reason"), None, event)


def _was_only_given_an_id(act: Act) -> bool:
    """The answer to a first JoinGroup that is no join yet: come back with this member id (KIP-394)."""
    return int_field(act.event, "error_code") == MEMBER_ID_REQUIRED


def is_afterthought(act: Act) -> bool:
    """The line of a leave that is written after "Preparing" or "Stabilized": GroupCoordinator.scala, 3.0 to 3.9.

    It is the wording that prints the whole member.
    """
    return act.event.name == "MemberLeft" and "session_timeout_ms" in act.event.fields


def evidence_events(case: Case, acts: Sequence[Act]) -> list[Event]:
    """Events that a verdict stands on: the coordinator's own lines and those of the acts, in order, once each."""
    draft = case.draft
    events = [event for event in (draft.started, draft.joined, draft.ended, *draft.extra) if event is not None]
    events += [act.event for act in acts]
    unique = {(event.place.file, event.place.byte_offset): event for event in events}
    return sorted(unique.values(), key=lambda event: (event.order_us, event.place.file, event.place.byte_offset))
