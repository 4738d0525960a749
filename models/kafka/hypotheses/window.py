"""All that is known of one rebalance when its cause is judged."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from models.events import BEFORE_ANY_TIME_US, Event, Witness, names_field, text_field
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.observations.actions import ActionKind, MemberAction, follows_in_log, has_only_given_id
from models.kafka.observations.coordinator_contacts import CoordinatorContacts
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.libraries import is_default_id
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US, EFFECT_US, LATE_LOGGING_US, STRAGGLER_US
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.units import FOREVER


@dataclass
class RebalanceContext:
    """One rebalance window with the actions and members around it.

    `actions` are ordered by time and reach beyond the window's end.

    What several rules ask for is worked out once: a group of thousands has as many actions in one rebalance.
    """

    window: RebalanceWindow
    previous: RebalanceWindow | None
    following: RebalanceWindow | None
    actions: Sequence[MemberAction]
    roster: Roster
    facts: ClusterFacts
    known: GroupKnowledge
    group: str | None = None

    @cached_property
    def start(self) -> int:
        """Start of the rebalance, or the first line that shows it."""
        at = self.window.started_at
        if at is None:
            at = self.window.open_until
        return at if at is not None else 0

    @cached_property
    def join_phase_start(self) -> int:
        """End of the previous join phase: later actions belong to this rebalance.

        A phase that its coordinator gave up has ended, too: the next one does not know who came or went then.
        """
        before, given_up = self.window.previous_joined_at, self._given_up_before
        return max((at for at in (before, given_up) if at is not None), default=-FOREVER)

    @property
    def _given_up_before(self) -> int | None:
        previous = self.previous
        return previous.ended_at if previous is not None and previous.outcome == "coordinator_lost" else None

    @cached_property
    def join_phase_end(self) -> int:
        """End of this join phase.

        Of the rebalance, if it never got so far; far away while it is open.
        """
        until, following = self.window.open_until, self.following
        if until is None:
            return following.began if self.window.outcome == "empty" and following is not None else FOREVER
        return until + STRAGGLER_US if self.window.outcome == "empty" else until

    @cached_property
    def was_empty(self) -> bool:
        """Whether the group had no members when the rebalance began."""
        return self.window.state_before is State.EMPTY

    def actor(self, action: MemberAction) -> str | None:
        """Name of the actor, the same for all member ids of a client."""
        ids = action.member_id, action.client_id, action.instance_id
        try:
            return self._actors[ids]
        except KeyError:
            return self._actors.setdefault(ids, self.roster.actor(*ids))

    @cached_property
    def _actors(self) -> dict[tuple[str | None, str | None, str | None], str | None]:
        """Members asked for before.

        The roster stays as it is while a rebalance is judged.
        """
        return {}

    @cached_property
    def _times(self) -> list[int]:
        return [action.at for action in self.actions]

    def all_of(self, kind: ActionKind) -> Sequence[MemberAction]:
        """All actions of a kind, whatever rebalance they belong to."""
        return self._by_kind.get(kind, ())

    @cached_property
    def _by_kind(self) -> dict[ActionKind, list[MemberAction]]:
        by_kind: dict[ActionKind, list[MemberAction]] = {}
        for action in self.actions:
            by_kind.setdefault(action.kind, []).append(action)
        return by_kind

    def actions_of(self, *kinds: ActionKind, start: int | None = None, end: int | None = None) -> Iterator[MemberAction]:
        """Actions of these kinds since the last join phase.

        After its end (or `start`) and up to the end of this one (or `end`).
        """
        if self._by_kind.keys().isdisjoint(kinds):
            return
        low = self.join_phase_start if start is None else start
        high = self.join_phase_end if end is None else end
        first = bisect_right(self._times, low)
        if not self._has_time:
            high = min(high, self.join_phase_end)
        late = high + (LATE_LOGGING_US if self._has_time else 0)
        last = bisect_right(self._times, late)
        for action in self.actions[first:last]:
            if action.kind not in kinds:
                continue
            if is_logged_after_effect(action):
                if max(low, self.start - CLOCK_TOLERANCE_US) < action.at <= late and not self._has_next_begun_before(action):
                    yield action
            elif low < action.at <= high:
                yield action

    @property
    def _has_time(self) -> bool:
        """Whether its lines have times, and not only an order."""
        return self.start >= BEFORE_ANY_TIME_US

    def _has_next_begun_before(self, action: MemberAction) -> bool:
        began = self.following.started_at if self.following else None
        return began is not None and began <= action.at

    def is_effective(self, action: MemberAction) -> bool:
        """Whether the coordinator in charge still knew who left or expired."""
        if action.is_certain and action.event.node not in {None, self.window.node}:
            return False
        if action.at < self.start - EFFECT_US:
            return False
        before, actor = self.members_before, self.actor(action)
        if self.has_missed_generation(action) or self.is_of_the_generation(action):
            return False  # it acted on an earlier generation, and the next one was made without it
        if action.is_certain or not before or actor in before:
            return True
        joined = self.joiners.get(actor) if actor else None
        return joined is not None and joined.at < action.at

    def is_of_the_generation(self, leave: MemberAction) -> bool:
        """Whether a member had been told that it joined, before it left."""
        after, actor = self.window.generation_after, self.actor(leave)
        if leave.kind is not ActionKind.LEAVE or leave.is_certain or after is None:
            return False
        joins = (action for action in self.all_of(ActionKind.JOINED) if action.generation == after)
        return any(self.actor(join) == actor and follows_in_log(leave, join) for join in joins)

    @cached_property
    def departed(self) -> dict[str, MemberAction]:
        """Departures in this rebalance, by actor."""
        return self.first_by_actor(ActionKind.LEAVE, ActionKind.EXPIRE, of_effective=True)

    @cached_property
    def members_before(self) -> dict[str, str | None]:
        """Known members of the generation before: actor to member id."""
        generation = self.window.generation_before
        return self.known.generations.get(generation, {}) if generation is not None and not self.was_empty else {}

    @cached_property
    def members_after(self) -> dict[str, str | None]:
        """Members of the new generation, as far as they are known."""
        generation = self.window.generation_after
        return self.known.generations.get(generation, {}) if generation is not None else {}

    def is_new(self, action: MemberAction) -> bool:
        """A JoinGroup of somebody who was no member of the generation before."""
        if action.kind is ActionKind.JOIN:
            return True
        if action.kind is not ActionKind.REJOIN:
            return False
        if self.has_missed_generation(action):
            return True
        if action.event.witness is Witness.CLIENT and (self._has_another_id(self.actor(action)) or self._has_new_id(self.actor(action))):
            return True  # its log doesn't say under which id it asks
        if action.member_id is None or self._has_named_id(action):
            return False
        first = self.known.first_generation.get(action.member_id)
        if first is not None and self.window.generation_before is not None:
            return first > self.window.generation_before or self.was_empty
        return first is None and action.member_id not in self._ids_before and bool(self.members_before)

    def _has_named_id(self, action: MemberAction) -> bool:
        """Whether a client names its id, and no line gave it one.

        It had it before its log begins.
        """
        if action.event.witness is not Witness.CLIENT or self.members_before or self.previous is not None:
            return False
        given = (failure for failure in self.all_of(ActionKind.JOIN_FAILED) if failure.at <= action.at and has_only_given_id(failure))
        return all(self.actor(failure) != self.actor(action) for failure in given)

    def _has_another_id(self, actor: str | None) -> bool:
        """Whether a client is in the new generation under another id.

        Only a new member gets one.
        """
        before, after = self.members_before.get(actor or ""), self.members_after.get(actor or "")
        is_dynamic = actor not in self.known.shared and not is_default_id(actor or "") and not self._is_static(before, after)
        return before is not None and after is not None and before != after and is_dynamic

    def _has_new_id(self, actor: str | None) -> bool:
        """Whether a client joins anew that was out of the generation.

        It gets an id that no earlier generation had. Its log tells each of its joins, and told of one before.
        """
        before, after = self.window.generation_before, self.members_after.get(actor or "")
        is_unknown = before is None or (before in self.known.generations and not self.members_before)
        if before is None or after is None or is_unknown or actor in self.members_before or actor not in self.known.tell_joins:
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

    def has_missed_generation(self, action: MemberAction) -> bool:
        """Whether a member skipped the generation before this one.

        Told by its own log, which names each generation that it joins.
        """
        actor, before = self.actor(action), self.window.generation_before
        if before is None or actor not in self.known.tell_joins:
            return False
        departures = (departure for departure in self.actions_of(ActionKind.EXPIRE, ActionKind.LEAVE) if departure.is_certain)
        if self.window.witness is not Witness.CLIENT and any(self.actor(departure) == actor for departure in departures):
            return False  # its coordinator tells that it was still a member
        generations = self.known.generations
        last = max((generation for generation, members in generations.items() if generation <= before and actor in members), default=before)
        alone = generations.get(last, {}).keys() <= {actor}  # a generation that several did not hear of may have been lost
        # Whoever leaves begins a rebalance, so that the generation after its last one was made without it.
        return last < before and (alone or bool(generations.get(before)) or action.kind is ActionKind.LEAVE)

    @cached_property
    def _ids_before(self) -> frozenset[str | None]:
        return frozenset(self.members_before.values())

    @cached_property
    def joiners(self) -> dict[str, MemberAction]:
        """First action of each new member of this rebalance, by actor."""
        joiners: dict[str, MemberAction] = {}
        after = self.members_after if self.knows_all_after else None
        never_came = {self.actor(action) for action in self.actions_of(ActionKind.ID_EXPIRED)}
        for action in self.actions_of(ActionKind.JOIN, ActionKind.REJOIN, end=self.window.open_until):
            actor = self.actor(action)
            if actor in never_came and has_only_given_id(action):
                continue
            if action.instance_id and (action.at < self.start - EFFECT_US or self.was_readmitted(action)):
                continue  # a static member that came back before was answered at once, without a rebalance (KIP-345)
            if self.window.outcome == "coordinator_lost" and self._has_gone_to_successor(action):
                continue
            if actor is None or actor in joiners or not self.is_new(action) or self._has_come_after(self.latest_generation, action, actor):
                continue
            if after is None or actor in after:
                joiners[actor] = action
        return joiners

    @property
    def latest_generation(self) -> int | None:
        """Generation that this rebalance made, at the most.

        Where no line names it, the next rebalance tells what came before it.
        """
        before, after, following = self.window.generation_before, self.window.generation_after, self.following
        if after is not None or before is None or following is None or following.generation_before is None:
            return after
        return following.generation_before if following.generation_before > before else None

    @property
    def late_joiners(self) -> list[MemberAction]:
        """Members that asked to join too late for the last phase."""
        generation, over = self.window.generation_before, self.join_phase_start
        joins = self.actions_of(ActionKind.JOIN, ActionKind.REJOIN, start=over - CLOCK_TOLERANCE_US, end=over)
        return [action for action in joins if self._has_come_after(generation, action, self.actor(action))]

    def was_readmitted(self, action: MemberAction) -> bool:
        """Whether a JoinGroup was answered with the generation before, as a static member's is."""
        joins = self._outcomes_of_joins.get(self.actor(action), ())
        outcome = next((later for later in joins if later.at >= action.at), None)
        return outcome is not None and outcome.kind is ActionKind.JOINED and outcome.generation == self.window.generation_before

    def _has_come_after(self, generation: int | None, action: MemberAction, actor: str | None) -> bool:
        """Whether a JoinGroup led into a later generation only.

        A client logs a request when it is sent, and the arrival of one is known to some parts of a millisecond: as the join
        phase ends, only the answer shows whether it came in time.
        """
        if generation is None or actor in self.known.generations.get(generation, {}) or actor in self.known.shared:
            return False
        outcome = next((later for later in self._outcomes_of_joins.get(actor, ()) if later.at >= action.at), None)
        return outcome is not None and outcome.kind is ActionKind.JOINED and (outcome.generation or 0) > generation

    @cached_property
    def _outcomes_of_joins(self) -> dict[str | None, list[MemberAction]]:
        """Ends of requests to join, by actor.

        An answer with a generation, or that no answer is waited for any more.
        """
        outcomes: dict[str | None, list[MemberAction]] = {}
        for action in self.actions:
            if action.kind in {ActionKind.JOINED, ActionKind.LEAVE, ActionKind.LOST_COORDINATOR}:
                outcomes.setdefault(self.actor(action), []).append(action)
        return outcomes

    def _has_gone_to_successor(self, action: MemberAction) -> bool:
        """Whether the request went to the next coordinator of the group."""
        node, first_node = action.event.node, self.window.node
        if first_node is None:
            first_node = self._contacts.common_node(self.members_before, self.start)
        if not action.is_certain:  # a request log does not say whose it is
            node = self._contacts.node(self.actor(action), action.at)
        restarts = (change for change in self.facts.node_changes_between(self.start, action.at) if change.node == first_node)
        return (None not in {node, first_node} and node != first_node) or any(change.kind == "starting" for change in restarts)

    @cached_property
    def _contacts(self) -> CoordinatorContacts:
        """Coordinators that each client found."""
        contacts = CoordinatorContacts()
        for action in self.all_of(ActionKind.START):
            contacts.begin(action, self.actor(action))
        return contacts

    @cached_property
    def inferred_departures(self) -> list[MemberAction]:
        """Members of the generation before that left unlogged.

        No line sees them off, and they are in the next one no more.

        Only if clients' own logs show who is in both generations, or the leader's shows all of the later one.
        """
        event = self.window.started or self.window.joined
        after = self.members_after
        if event is None or not (after or self.window.outcome == "empty"):
            return []
        logged = (actor for actor in self.members_before if self.knows_all_after or actor in self.known.tell_joins)
        return [
            MemberAction(ActionKind.LEAVE, self.start, self.members_before[actor], actor, None, None, None, event)
            for actor in logged
            if actor not in after and actor not in self.departed
        ]

    @cached_property
    def appeared(self) -> list[MemberAction]:
        """Members new in this generation that no line lets in.

        Known only where members' own logs show who is in both.
        """
        event = self.window.joined or self.window.started
        before = self.members_before
        if event is None or not before:
            return []
        newcomers = {actor: member for actor, member in self.members_after.items() if actor not in before and actor not in self.joiners}
        named = [actor for actor in newcomers if actor in self.known.clients and not self.is_ambiguous(actor)]
        return [MemberAction(ActionKind.JOIN, self.start, newcomers[actor], actor, None, None, None, event) for actor in named]

    @property
    def knows_all_after(self) -> bool:
        """Every member of the new generation is known by name."""
        count = self.window.members_after
        return bool(count) and len(self.members_after) == count

    def first_by_actor(self, *kinds: ActionKind, of_effective: bool = False) -> dict[str, MemberAction]:
        """First action of these kinds of each actor.

        Of the effective ones alone if asked for; a coordinator's line is preferred.
        """
        known = self._firsts.get((kinds, of_effective))
        if known is not None:
            return known
        first_actions: dict[str, MemberAction] = {}
        for action in self.actions_of(*kinds):
            actor = self.actor(action)
            if self._is_superseded_by_coordinator(action, actor) or (of_effective and not self.is_effective(action)):
                continue
            if actor is not None and (actor not in first_actions or (action.is_certain and not first_actions[actor].is_certain)):
                first_actions[actor] = action
        return self._firsts.setdefault((kinds, of_effective), first_actions)

    @cached_property
    def _firsts(self) -> dict[tuple[tuple[ActionKind, ...], bool], dict[str, MemberAction]]:
        """Cache of `first_by_actor`."""
        return {}

    def since(self, at: int) -> Sequence[MemberAction]:
        """Actions later than a time, whatever rebalance they belong to."""
        return self.actions[bisect_right(self._times, at) :]

    def _is_superseded_by_coordinator(self, action: MemberAction, actor: str | None) -> bool:
        """Whether the coordinator dates a leave later than others announced it."""
        if action.kind is not ActionKind.LEAVE or action.is_certain or actor is None:
            return False
        leave_at = self._leaves_afterwards.get(actor)
        return leave_at is not None and leave_at <= action.at + EFFECT_US

    @cached_property
    def _leaves_afterwards(self) -> dict[str, int]:
        """Times of leaves logged soon after this phase, by actor."""
        over = self.join_phase_end
        leaves: dict[str, int] = {}
        for action in self.since(over):
            if action.at > over + EFFECT_US:
                break
            actor = self.actor(action)
            if action.kind is ActionKind.LEAVE and action.is_certain and actor is not None and not is_logged_after_effect(action):
                leaves.setdefault(actor, action.at)
        return leaves

    def trigger_first(self, first: MemberAction | None, others: Iterable[MemberAction]) -> list[MemberAction]:
        """Actions with the one that started it in front, one per actor."""
        actor = self.actor(first) if first else None
        rest = [action for action in others if self.actor(action) != actor]
        return [first, *rest] if first else rest

    def is_ambiguous(self, actor: str | None) -> bool:
        """Whether several members may go by this name.

        Of two that have it, none need be the other's former self.
        """
        return actor in self.known.shared or (actor is not None and is_default_id(actor))

    def has_client_log(self, actor: str | None) -> bool:
        """Whether the client's own log is among the files."""
        return actor is not None and actor in self.known.clients

    @property
    def reason_id(self) -> str | None:
        """Id of the reason in the coordinator's line."""
        return text_field(self.window.started, "reason_id") if self.window.started else None

    @property
    def reason(self) -> str | None:
        """The coordinator's reason, in its own words."""
        return text_field(self.window.started, "reason") if self.window.started else None

    def reason_actions(self, kind: ActionKind, event: Event) -> list[MemberAction]:
        """Members that this line's reason lists, as actions at the start."""
        return [MemberAction(kind, event.time_us, member, None, None, None, None, event) for member in names_field(event, "reason_members")]

    def reason_action(self, event: Event) -> MemberAction | None:
        """The member that this line's reason names, as an action.

        At the start of the rebalance.
        """
        member_id = text_field(event, "reason_member_id")
        if member_id is None:
            return None
        kind = {"new_member": ActionKind.JOIN, "leave": ActionKind.LEAVE, "heartbeat_expiration": ActionKind.EXPIRE}.get(
            self.reason_id or "", ActionKind.REJOIN
        )
        instance = text_field(event, "reason_instance_id")
        return MemberAction(kind, event.time_us, member_id, None, instance, text_field(event, "client_reason"), None, event)


def is_logged_after_effect(action: MemberAction) -> bool:
    """Whether a leave is logged after "Preparing" or "Stabilized".

    GroupCoordinator.scala, 3.0 to 3.9.

    It is the wording that prints the whole member.
    """
    return action.event.name == "MemberLeft" and "session_timeout_ms" in action.event.fields


def evidence_events(context: RebalanceContext, actions: Sequence[MemberAction]) -> list[Event]:
    """Events that a verdict stands on, in order, once each.

    The coordinator's own lines and those of the actions.
    """
    window = context.window
    events = [event for event in (window.started, window.joined, window.ended, *window.extra) if event is not None]
    events += [action.event for action in actions]
    unique = {(event.place.file, event.place.byte_offset): event for event in events}
    return sorted(unique.values(), key=lambda event: (event.order_us, event.place.file, event.place.byte_offset))
