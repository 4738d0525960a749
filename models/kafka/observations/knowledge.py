"""Knowledge about a group beyond single rebalances, from its events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from models.events import Event, Witness, int_field, names_field, partition_name, text_field
from models.kafka.observations.actions import ActionKind, MemberAction, handled_at
from models.kafka.observations.libraries import is_default_id, known_library, library_of, logs_rebalances
from models.kafka.observations.roster import Roster, RosterMember, owner_in_member_id
from models.tolerances import int_tolerance
from models.units import US_PER_MS

LAGS_HELD = 32
"""Number of remembered durations between an assignment and the next rebalance."""

DUE_TOLERANCE_US = int_tolerance("kafka.knowledge.due_tolerance_us")
"""Tolerance between workers for the end of one wait: assumed."""

TOPICS_HELD = 1_000
"""Number of topics of a group whose partitions are remembered."""

CHANGES_HELD = 32
"""Number of remembered changes of connectors or of a member's topics.

Each worker logs those of connectors.
"""

CONNECT = "connect"
"""Protocol type of the group of Connect's workers (WorkerCoordinator, protocolType)."""

_MEMBERSHIP_BY_GENERATION = dict[int, dict[str, str | None]]


@dataclass(slots=True)
class GroupKnowledge:
    """Knowledge about a group beyond single rebalances."""

    generations: _MEMBERSHIP_BY_GENERATION = field(default_factory=dict)  # generation -> actor -> member id
    first_generation: dict[str, int] = field(default_factory=dict)  # member id -> first generation that it joined
    clients: set[str] = field(default_factory=set)  # actors with a log of their own among the files
    tell_joins: set[str] = field(default_factory=set)  # actors among them whose log names the generations that they join
    silent: set[str] = field(default_factory=set)  # actors among them whose library logs neither late polls nor starts
    has_requests: bool = False  # True if a request log is among the files
    leaves_logged: bool = False  # True if clients' logs show leaves: since 2.1, or at DEBUG
    assignors: dict[int, str] = field(default_factory=dict)
    topics: dict[str, tuple[str, ...]] = field(default_factory=dict)  # actor -> topics of its latest subscription
    patterns: set[str] = field(default_factory=set)  # actors that subscribe by pattern
    shared: set[str] = field(default_factory=set)  # client ids of several members in one generation
    stale_at: dict[str, list[int]] = field(default_factory=dict)  # actor -> times at which it detected a late poll
    settings: dict[str, dict[str, int]] = field(default_factory=dict)  # actor -> timeouts printed in its log
    lags: list[int] = field(default_factory=list)
    """Durations from an assignment to the next rebalance, latest ones (microseconds)."""
    work_due_at: list[int] = field(default_factory=list)
    """Times at which Connect gives out a lost worker's work (microseconds)."""
    work_lost_in: list[int] = field(default_factory=list)
    """Generations whose assignment shows first that a worker is lost."""
    assigned_at: int | None = None
    """Time of the current generation's assignment."""
    work_changed_at: list[int] = field(default_factory=list)
    """Times at which a connector or its tasks were changed, latest ones (microseconds)."""
    protocol_type: str | None = None
    """Protocol type in the members' requests: consumer, connect and so on."""
    leaders: dict[int, str] = field(default_factory=dict)
    """Actor that leads a generation."""
    asked_topics: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Topics in each actor's latest JoinGroup."""
    asked_otherwise_at: dict[str, list[int]] = field(default_factory=dict)
    """Times of JoinGroups with other topics than the one before, latest ones (microseconds)."""
    others_act: bool = False
    """A rebalance began though no member with a log came or went."""
    has_assignments: bool = False
    """Members' logs tell of the assignments that they got."""
    committed_at: dict[str, int] = field(default_factory=dict)
    """Last commit of each member id that was taken, by request logs (microseconds)."""
    begins_amid: dict[str, int] = field(default_factory=dict)
    """Clients whose log begins as they join again, and when (microseconds)."""
    synced_at: dict[int, int] = field(default_factory=dict)
    """Last answer with an assignment in each generation, by request logs (microseconds)."""
    last_partitions: dict[str, int] = field(default_factory=dict)
    """Highest number of a partition that any member got, by topic."""
    joined_in: dict[str, int] = field(default_factory=dict)
    """Generation of each client that has not begun to join again, by its log."""
    unnumbered: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Members that a leader has assigned, whose log names the generation later."""
    ended_in: dict[str, int] = field(default_factory=dict)
    """Generation in which the coordinator last removed each client, by that client's log."""
    readmitted_in: dict[str, int] = field(default_factory=dict)
    """Generation, assigned before, into which each static member id came back, by request logs."""

    def has_client_log(self, actor: str | None) -> bool:
        """Whether the client's own log is among the files."""
        return actor is not None and actor in self.clients

    def is_ambiguous(self, actor: str | None) -> bool:
        """Whether several members may go by this name.

        Of two that have it, none need be the other's former self.
        """
        return actor in self.shared or (actor is not None and is_default_id(actor))

    def note_others(self, generation: int | None) -> None:
        """Note that members without a log act, where a generation shows it.

        It has the known members of the one before, so that none of these came or went.
        """
        if generation is not None:
            before = self.generations.get(generation - 1)
            self.others_act = self.others_act or (before is not None and before == self.generations.get(generation))

    def end_life(self) -> None:
        """Discard what generations tell; a group that died counts anew."""
        self.generations.clear()
        self.leaders.clear()
        self.synced_at.clear()
        self.first_generation.clear()
        self.joined_in.clear()
        self.ended_in.clear()
        self.readmitted_in.clear()

    def forget_generations(self, before: int) -> None:
        """Discard the members of earlier generations."""
        for generation in [generation for generation in self.generations if generation < before]:
            del self.generations[generation]
            self.assignors.pop(generation, None)
        for by_generation in (self.leaders, self.synced_at):
            for generation in [generation for generation in by_generation if generation < before]:
                del by_generation[generation]

    def forget(self, members: Iterable[RosterMember], clients: set[str], before: int) -> None:
        """Discard knowledge about these members, clients in no generation, and old late polls.

        `before` is in microseconds.
        """
        for member in members:
            self.first_generation.pop(member.member_id, None)
            self.committed_at.pop(member.member_id, None)
            self.readmitted_in.pop(member.member_id, None)
        for client in clients.difference(*self.generations.values()):
            self.clients.discard(client)
            self.silent.discard(client)
            self.tell_joins.discard(client)
            self.topics.pop(client, None)
            self.patterns.discard(client)
            self.settings.pop(client, None)
            self.begins_amid.pop(client, None)
            self.asked_topics.pop(client, None)
            self.asked_otherwise_at.pop(client, None)
            self.joined_in.pop(client, None)
            self.ended_in.pop(client, None)
            self.unnumbered.pop(client, None)
        kept = {actor: [at for at in times if at >= before] for actor, times in self.stale_at.items()}
        self.stale_at = {actor: times for actor, times in kept.items() if times}


def learn(knowledge: GroupKnowledge, roster: Roster, event: Event) -> None:
    """Learn from an event about members, generations, settings and subscriptions."""
    _update_roster(knowledge, roster, event)
    lesson = _LESSONS.get(event.name)
    if lesson is not None:
        lesson(knowledge, roster, event)


def _update_roster(knowledge: GroupKnowledge, roster: Roster, event: Event) -> None:
    """Keep the roster: which ids belong together."""
    at = event.time_us
    member_id = event.member_id
    if member_id:
        roster.observe(
            member_id,
            at,
            client_id=event.client_id or text_field(event, "client_id"),
            instance_id=event.instance_id,
            host=text_field(event, "client_host"),
            session_timeout_ms=int_field(event, "session_timeout_ms"),
            rebalance_timeout_ms=int_field(event, "rebalance_timeout_ms"),
        )
    replaced = text_field(event, "old_member_id") if event.name == "StaticMemberReplaced" else None
    if replaced:
        roster.observe(replaced, at, instance_id=event.instance_id)
    reason_member = text_field(event, "reason_member_id")
    if reason_member:
        roster.observe(reason_member, at, instance_id=text_field(event, "reason_instance_id"))
    if event.witness is Witness.CLIENT and event.client_id:
        _hear(knowledge, roster, event, event.client_id)
    if event.witness is Witness.REQUEST:
        knowledge.has_requests = True
        knowledge.protocol_type = text_field(event, "protocol_type") or knowledge.protocol_type


_AMID = frozenset({"ClientRevoked", "ClientJoining"})
"""Events of a member that joins again.

What a client logs first, of its coordinator, or why it joins, stands before.
"""


def _hear(knowledge: GroupKnowledge, roster: Roster, event: Event, client: str) -> None:
    """Note that a client's own log is present, and which library wrote it."""
    family = event.message.rpartition(".")[0]
    if client not in knowledge.clients and event.name in _AMID and logs_rebalances(library_of(family)):
        knowledge.begins_amid[client] = event.time_us
    knowledge.clients.add(client)
    knowledge.has_assignments = knowledge.has_assignments or event.name == "ClientAssigned"
    roster.note_log(client, event.place.file, family)
    if not known_library(library_of(family)).logs_late_polls:
        knowledge.silent.add(client)


_ASSIGNED = re.compile(r"(?:^\{|\), )(.+?)=Assignment\(", re.DOTALL)


def assigned_members(event: Event) -> list[str]:
    """Member ids in a leader's "Finished assignment" line.

    The format is `{member=Assignment(…), …}` (ConsumerCoordinator, since 2.4).
    """
    value = text_field(event, "assignments")
    return _ASSIGNED.findall(value) if value else []


def end_session(knowledge: GroupKnowledge, roster: Roster, action: MemberAction) -> None:
    """Note how a member's session ended, if this action ends it."""
    member = roster.members.get(action.member_id or "")
    ending = _ENDINGS.get(action.kind)
    if ending is not None and action.is_certain:
        actor = roster.actor(action.member_id, action.client_id, action.instance_id) or ""
        if (generation := knowledge.joined_in.get(actor)) is not None:
            knowledge.ended_in[actor] = generation
    if member is not None and ending is not None and member.ended_how == "open":
        member.ended_how = ending
    old = text_field(action.event, "old_member_id") if action.kind is ActionKind.REPLACE else None
    if old and old in roster.members:
        roster.members[old].ended_how = "replaced"


_ENDINGS = {
    ActionKind.LEAVE: "left",
    ActionKind.EXPIRE: "expired",
    ActionKind.EVICT: "evicted",
    ActionKind.SYNC_MISSED: "removed",
    ActionKind.ID_EXPIRED: "expired",
}
"""End of a member's session by action, from coordinator or request logs."""


def _client_joined(knowledge: GroupKnowledge, roster: Roster, event: Event) -> None:
    _joined_with(knowledge, roster, event, event.generation)
    client = event.client_id or roster.client_of(event.member_id, event.instance_id)
    if client is not None:
        _hear(knowledge, roster, event, client)
        if event.generation is not None:
            knowledge.tell_joins.add(client)
            knowledge.joined_in[client] = event.generation
            for member_id in knowledge.unnumbered.pop(client, ()):
                _joined(knowledge, roster, event.generation, member_id, None, None)


def _client_joining(knowledge: GroupKnowledge, _roster: Roster, event: Event) -> None:
    knowledge.joined_in.pop(event.client_id or "", None)
    knowledge.unnumbered.pop(event.client_id or "", None)


def _join_answered(knowledge: GroupKnowledge, roster: Roster, event: Event) -> None:
    _learn_topics(knowledge, roster, event)
    if int_field(event, "error_code") == 0:
        generation = int_field(event, "response_generation")
        if generation in knowledge.synced_at and event.instance_id is not None and event.member_id:
            knowledge.readmitted_in[event.member_id] = generation
        _joined_with(knowledge, roster, event, generation)
        _led(knowledge, roster, generation, text_field(event, "leader_id"))


def _sync_answered(knowledge: GroupKnowledge, _roster: Roster, event: Event) -> None:
    """The members have their assignment once its write is over, which may take seconds.

    A static member that comes back gets the old one.
    """
    if event.generation is None or int_field(event, "error_code") != 0:
        return
    if knowledge.readmitted_in.pop(event.member_id or "", None) != event.generation:
        knowledge.synced_at[event.generation] = max(event.time_us, knowledge.synced_at.get(event.generation, event.time_us))


def _partitions_given(knowledge: GroupKnowledge, _roster: Roster, event: Event) -> None:
    for topic, number in filter(None, map(partition_name, names_field(event, "partitions"))):
        if topic in knowledge.last_partitions or len(knowledge.last_partitions) < TOPICS_HELD:
            knowledge.last_partitions[topic] = max(number, knowledge.last_partitions.get(topic, 0))


def _committed(knowledge: GroupKnowledge, _roster: Roster, event: Event) -> None:
    last = int_field(event, "last_at_us")
    at = last if last is not None else handled_at(event)
    if event.member_id and not int_field(event, "error_code"):
        knowledge.committed_at[event.member_id] = max(at, knowledge.committed_at.get(event.member_id, at))


def _learn_topics(knowledge: GroupKnowledge, roster: Roster, event: Event) -> None:
    """Learn which topics a member asks for."""
    actor, topics = roster.actor(event.member_id, event.client_id, event.instance_id), tuple(sorted(names_field(event, "topics")))
    if actor is None or not topics:
        return
    if knowledge.asked_topics.get(actor, topics) != topics:
        times = knowledge.asked_otherwise_at.setdefault(actor, [])
        times.append(handled_at(event))
        del times[:-CHANGES_HELD]
    knowledge.asked_topics[actor] = topics


def _led(knowledge: GroupKnowledge, roster: Roster, generation: int | None, leader: str | None, client: str | None = None) -> None:
    actor = roster.actor(leader, client)
    if generation is not None and actor is not None:
        knowledge.leaders[generation] = actor


def _joined_with(knowledge: GroupKnowledge, roster: Roster, event: Event, generation: int | None) -> None:
    _joined(knowledge, roster, generation, event.member_id, event.client_id, event.instance_id)
    protocol = text_field(event, "protocol")
    if protocol and generation is not None:
        knowledge.assignors[generation] = protocol


def _assigned(knowledge: GroupKnowledge, roster: Roster, event: Event) -> None:
    """Learn whom a leader assigns.

    Until 2.3 the line lacks the generation, which the client names just before, or once it is assigned itself.
    """
    client, members = event.client_id or "", assigned_members(event)
    generation = knowledge.joined_in.get(client) if event.generation is None else event.generation
    if generation is None and client:
        knowledge.unnumbered[client] = tuple(members)
    _led(knowledge, roster, generation, event.member_id, event.client_id)
    for member_id in members if generation is not None else ():
        _joined(knowledge, roster, generation, member_id, None, None)


def _configured(knowledge: GroupKnowledge, _roster: Roster, event: Event) -> None:
    if event.client_id:
        timeouts = {name: int_field(event, name) for name in ("session_timeout_ms", "max_poll_interval_ms")}
        knowledge.settings[event.client_id] = {name: value for name, value in timeouts.items() if value is not None}


def _poll_timed_out(knowledge: GroupKnowledge, roster: Roster, event: Event) -> None:
    actor = roster.actor(event.member_id, event.client_id, event.instance_id)
    knowledge.stale_at.setdefault(actor or "", []).append(event.time_us)
    interval = int_field(event, "max_poll_interval_ms")
    if interval is not None and actor is not None:
        knowledge.settings.setdefault(actor, {}).setdefault("max_poll_interval_ms", interval)


def _joined(
    knowledge: GroupKnowledge, roster: Roster, generation: int | None, member_id: str | None, client_id: str | None, instance_id: str | None
) -> None:
    if generation is None or generation < 0:
        return
    actor = roster.actor(member_id, client_id, instance_id)
    if actor is None:
        return
    members = knowledge.generations.setdefault(generation, {})
    member = members.get(actor)
    if member_id and member and member != member_id and not _is_static(roster, instance_id, member, member_id):
        knowledge.shared.add(actor)
    members[actor] = member_id or member
    if member_id:
        guess = owner_in_member_id(member_id)
        if guess is not None and guess != actor and members.get(guess) == member_id:
            del members[guess]  # its assignment was logged before a line told whose instance it is
        first = knowledge.first_generation.get(member_id)
        knowledge.first_generation[member_id] = generation if first is None else min(first, generation)


def _is_static(roster: Roster, instance_id: str | None, *member_ids: str) -> bool:
    """Whether a member is static.

    One that comes back gets a new id, and may stay in its generation (KIP-345).
    """
    members = (roster.members.get(member_id) for member_id in member_ids)
    return instance_id is not None or any(member is not None and member.instance_id is not None for member in members)


def _work_assigned(knowledge: GroupKnowledge, _roster: Roster, event: Event) -> None:
    knowledge.protocol_type = CONNECT
    delay = int_field(event, "delay_ms")
    if delay is not None and delay > 0:
        due_at = event.time_us + delay * US_PER_MS
        is_new = all(abs(due_at - known) > DUE_TOLERANCE_US for known in knowledge.work_due_at)
        if is_new and event.generation is not None:
            knowledge.work_lost_in.append(event.generation)
            del knowledge.work_lost_in[:-LAGS_HELD]
        knowledge.work_due_at.append(due_at)
        del knowledge.work_due_at[:-LAGS_HELD]


def _work_changed(knowledge: GroupKnowledge, _roster: Roster, event: Event) -> None:
    knowledge.protocol_type = CONNECT
    knowledge.work_changed_at.append(event.time_us)
    del knowledge.work_changed_at[:-CHANGES_HELD]


def _leaves_logged(knowledge: GroupKnowledge, _roster: Roster, _event: Event) -> None:
    knowledge.leaves_logged = True


def _subscribed(knowledge: GroupKnowledge, _roster: Roster, event: Event) -> None:
    if event.client_id:
        knowledge.topics[event.client_id] = tuple(names_field(event, "topics"))
        if text_field(event, "pattern"):
            knowledge.patterns.add(event.client_id)


def _assignment_received(knowledge: GroupKnowledge, roster: Roster, event: Event) -> None:
    _led(knowledge, roster, event.generation, event.member_id)
    if knowledge.assigned_at is None:  # a repeated SyncGroup changes nothing
        knowledge.assigned_at = event.time_us


def _generation_shown(knowledge: GroupKnowledge, roster: Roster, event: Event) -> None:
    """A generation that requests or clients show, with its members."""
    for member_id in names_field(event, "roster"):
        _joined(knowledge, roster, event.generation, member_id, None, None)


def _rebalance_started(knowledge: GroupKnowledge, roster: Roster, event: Event) -> None:
    _generation_shown(knowledge, roster, event)
    if knowledge.assigned_at is not None:
        knowledge.lags.append(event.time_us - knowledge.assigned_at)
        del knowledge.lags[:-LAGS_HELD]
        knowledge.assigned_at = None


def _loaded(knowledge: GroupKnowledge, _roster: Roster, event: Event) -> None:
    """Forget generations that a coordinator's successor does not know.

    Their numbers come again.
    """
    if event.generation is not None:
        for generation in [generation for generation in knowledge.generations if generation > event.generation]:
            del knowledge.generations[generation]
            knowledge.leaders.pop(generation, None)
            knowledge.synced_at.pop(generation, None)


_LESSONS: Mapping[str, Callable[[GroupKnowledge, Roster, Event], None]] = {
    "AssignmentReceived": _assignment_received,
    "RebalanceStarted": _rebalance_started,
    "GenerationStarted": _generation_shown,
    "GroupLoaded": _loaded,
    "ClientJoined": _client_joined,
    "ClientJoining": _client_joining,
    "JoinGroupCompleted": _join_answered,
    "SyncGroupCompleted": _sync_answered,
    "OffsetCommitCompleted": _committed,
    "ClientAssigned": _partitions_given,
    "ClientAssignmentMade": _assigned,
    "ClientConfigured": _configured,
    "ClientSubscribed": _subscribed,
    "ClientPollTimedOut": _poll_timed_out,
    "ClientLeaveSent": _leaves_logged,
    "ClientSynced": _leaves_logged,
    "ClientWorkAssigned": _work_assigned,
    "ClientWorkChanged": _work_changed,
}
"""Handlers by event name; other events teach nothing about their group."""
