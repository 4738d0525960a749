"""Members that made others wait after a rebalance started.

The line that opens a rebalance names the member that started it. The length of the join phase depends on the old member
that rejoins last, or never.

A member hears of a rebalance by a heartbeat, gives up its partitions in its next poll, and rejoins once its callback has returned
(ConsumerCoordinator.onJoinPrepare). The longest gap between these lines of its own log tells where it was: before its first line it
heard of nothing, before it gave up its partitions it did not poll, and after that it was in its callback.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from models.downtime import is_assignment_awaited
from models.durations import spell
from models.events import Witness, int_field, text_field
from models.incidents.person_reasons import (
    AWAITED_LAST,
    DID_NOT_POLL,
    GHOST,
    HEARD_OF_NOTHING,
    IN_CALLBACK,
    LAST_KNOWN,
    LATE,
    NEVER_SYNCED,
    NOT_BACK,
    NOT_REJOINED,
    NOT_SYNCED,
    REASON_EVICTED,
    REASON_EXPIRED_MEANWHILE,
    REASON_LEFT_MEANWHILE,
    REJOINED_LAST,
    SYNCED_LATE,
)
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.hypotheses.context.departed_members import DepartedMembers
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.phase_deadline import LAST_MOMENT_US
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.context.stated_reasons import listed_actions, named_action
from models.kafka.hypotheses.evictions import evicted_unlogged
from models.kafka.hypotheses.hypothesis import INITIAL_DELAY_OVERRUN, PROMPT_US
from models.kafka.observations.actions import ActionKind, MemberAction, is_rebalance_notice
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.line_delays import stamp_width_us
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.rows import ONE_OF, Person
from models.tolerances import int_tolerance
from models.units import US_PER_MS, US_PER_SECOND

UNNAMED_WAIT_US = int_tolerance("kafka.blockers.unnamed_wait_us")
"""Minimum wait for a member that no line names.

Whoever is well hears of the rebalance with its next heartbeat, 3 s by default in all libraries, and rejoins with its next
poll, within 1.3 s in all ordinary rebalances of the labelled corpora, whose interval is 1 s.
"""

SLOW_REJOIN_US = int_tolerance("kafka.blockers.slow_rejoin_us")
"""Minimum delay of a blocker behind the other members.

They learn of a rebalance with their next heartbeat.
"""

CANDIDATES_MAX = 5
"""Maximum number of candidates that are named.

If more members may be the missing one, none is.
"""

_OWN_LINES = (
    *(ActionKind.REBALANCE_NOTICED, ActionKind.WANTS_REJOIN, ActionKind.REVOKE, ActionKind.STEP),
    *(ActionKind.REJOIN, ActionKind.JOIN, ActionKind.POLL_TIMEOUT),
)

_DELAYED = frozenset({REJOINED_LAST, AWAITED_LAST, REASON_EVICTED, NOT_BACK, NOT_REJOINED, REASON_LEFT_MEANWHILE})
"""Reasons of members that had heard of the rebalance, or should have."""


def blockers(context: RebalanceContext) -> list[Person]:
    """Members that the others waited for, in the join phase or for the assignment.

    Each with what its own log shows of its delay. Empty if the initial delay explains the wait.
    """
    window = context.window
    end = window.joined_at or window.open_until or context.facts.logs_end
    members = _awaited_members(context)
    return [
        _with_delay(context.phase, context.known, context.roster, blocker, end) if end is not None and blocker.act in _DELAYED else blocker
        for blocker in members
    ]


def _awaited_members(context: RebalanceContext) -> list[Person]:
    window = context.window
    if window.started_at is None:
        return _listed(context.roster, context.phase.first_by_actor(ActionKind.EVICT).values())
    if window.outcome == "open":
        return _awaited(context)
    unsynced = _unsynced(context.phase, context.roster) or _late_leader(context.phase, context.roster)
    if unsynced or window.open_until is None or context.phase.was_empty:
        return unsynced
    return _held_up(context, window.open_until)


def _held_up(context: RebalanceContext, end: int) -> list[Person]:
    """Members that the join phase waited for, which ended at a time."""
    for find in (_evicted, _removed_at_last):
        if people := find(context):
            return people
    return _ghosts(context.phase, context.roster, end) or _slow_rejoiner(context, end) or _somebody(context.phase, context.facts, end)


def _person(roster: Roster, action: MemberAction, reason: str, *, is_first: bool) -> Person:
    return roster.person(action.member_id, action.client_id, action.instance_id, reason, is_first=is_first)


def _listed(roster: Roster, removals: Iterable[MemberAction]) -> list[Person]:
    return [_person(roster, action, REASON_EVICTED, is_first=index == 0) for index, action in enumerate(removals)]


def _evicted(context: RebalanceContext) -> list[Person]:
    """Members removed at the rebalance timeout.

    Logged since 2.7; before that the length of the join phase shows it.
    """
    logged = [action for action in context.phase.first_by_actor(ActionKind.EVICT).values() if action.at >= context.phase.start]
    if logged:
        return _listed(context.roster, logged)
    kept = _static_leader(context)
    if kept:
        return kept
    if context.window.witness is Witness.CLIENT:
        return _dropped(context)
    if context.deadline.passed_after_us is None:
        return []
    echoes = evicted_unlogged(context.phase, context.timeouts, context.deadline)
    if echoes:
        return [_person(context.roster, action, REASON_EVICTED, is_first=index == 0) for index, action in enumerate(echoes)]
    after, before, gone = context.members.after, context.members.before, context.departures.by_actor
    if after and before:
        missing = {actor: before[actor] for actor in before if actor not in after and actor not in gone}
        if missing:
            return _people(context.roster, missing, REASON_EVICTED)
    return _one_of(context.phase, context.roster, _old_members(context), REASON_EVICTED)


def _static_leader(context: RebalanceContext) -> list[Person]:
    """The leader that another one replaced as the join phase ended.

    A static member stays in its group, so no line lists it (GroupMetadata.scala, maybeElectNewJoinedLeader). The line names no group.
    """
    joined, groups_own = context.window.joined, context.roster.members
    if joined is None or context.deadline.passed_after_us is None:
        return []
    replacements = [
        event
        for event in context.facts.leaders_replaced
        if event.instance_id and event.place.file == joined.place.file and 0 <= joined.time_us - event.time_us <= LAST_MOMENT_US
    ]
    known = [event for event in replacements if event.member_id in groups_own or event.fields.get("new_leader") in groups_own]
    leaders = known or (replacements if len(replacements) == 1 else [])
    return [context.roster.person(event.member_id, None, event.instance_id, NOT_BACK, is_first=True) for event in leaders[:1]]


def _dropped(context: RebalanceContext) -> list[Person]:
    """Old members gone after a long join phase, by members' logs.

    Those whose logs show that they joined again in time are in, even if no line names their generation. Giving up partitions shows
    that only where no member logs its requests: one that does may still be in its callback.
    """
    start, end, after = context.phase.start, context.window.open_until, context.members.after
    if end is None or end - start < SLOW_REJOIN_US or not after:
        return []
    arrivals = _arrivals(context.phase, context.members, context.departures, end)
    requests = {actor for actor, action in arrivals.items() if action.kind is not ActionKind.REVOKE}
    present = {*after, *context.departures.by_actor, *(requests or arrivals)}
    missing = {actor: member for actor, member in context.members.before.items() if actor not in present}
    return _people(context.roster, {actor: member for actor, member in missing.items() if not context.known.is_ambiguous(actor)}, NOT_BACK)


def _people(roster: Roster, members: Mapping[str, str | None], reason: str) -> list[Person]:
    return [
        roster.person(member_id, roster.client_of(member_id) or actor, None, reason, is_first=index == 0)
        for index, (actor, member_id) in enumerate(members.items())
    ]


def _one_of(phase: LoggedJoinPhase, roster: Roster, members: Mapping[str, str | None], reason: str) -> list[Person]:
    """The missing member.

    Named if only one is possible; all candidates if they are few; else a member without a name.
    """
    count = len(members)
    complete = count >= (phase.window.members_before or 1)
    if count == 1 and complete:
        return _people(roster, members, reason)
    if complete and count <= CANDIDATES_MAX:
        return _people(roster, members, f"{reason}{ONE_OF}{count}")
    return [Person(None, None, None, None, reason, first=True)]


def _old_members(context: RebalanceContext) -> dict[str, str | None]:
    """Known members of the previous generation that may not have rejoined.

    Actor -> member id.
    """
    known = dict(context.members.before)
    settled_at = context.window.previous_ended_at or context.phase.start
    for member in context.roster.members.values():
        if member.first_seen_at is not None and member.first_seen_at <= settled_at and member.ended_how == "open":
            known.setdefault(context.roster.actor(member.member_id) or member.member_id, member.member_id)
    arrivals = (
        {context.phase.actor(action) for action in context.phase.actions_of(ActionKind.REJOIN, ActionKind.JOIN, start=context.phase.start)}
        | set(context.arrivals.by_actor)
        | _asked_first(context.phase)
    )
    return {actor: member_id for actor, member_id in known.items() if actor not in arrivals and actor not in context.departures.by_actor}


def _awaited(context: RebalanceContext) -> list[Person]:
    """Members that a rebalance still waits for at the end of the logs.

    Old members that have not rejoined, or the leader for its assignment.
    """
    window, end = context.window, context.facts.logs_end
    if end is None or end - context.phase.start < SLOW_REJOIN_US:
        return []
    if removed := _removed_at_last(context):
        return removed
    if window.joined is not None and window.open_until is not None and end - window.open_until < SLOW_REJOIN_US:
        return _held_up(context, window.open_until)  # the logs end right behind its join phase
    if window.joined is not None:
        leader = context.phase.previous.leader if context.phase.previous is not None else None
        has_leader = leader is not None and context.roster.actor(leader) not in context.departures.by_actor
        return [context.roster.person(leader if has_leader else None, None, None, NOT_SYNCED, is_first=True)]
    if context.phase.was_empty or end - context.phase.start < UNNAMED_WAIT_US:
        return []  # its members may not have had a heartbeat yet
    return _one_of(context.phase, context.roster, _old_members(context), NOT_REJOINED)


def _unsynced(phase: LoggedJoinPhase, roster: Roster) -> list[Person]:
    """Members that joined the generation but never sent SyncGroup.

    The next rebalance removes them, and its reason says so.
    """
    following = phase.following.started if phase.following is not None else None
    if phase.window.outcome != "superseded" or following is None or text_field(following, "reason_id") != "pending_sync_expiration":
        return []
    return [
        _person(roster, action, NEVER_SYNCED, is_first=index == 0)
        for index, action in enumerate(listed_actions(ActionKind.SYNC_MISSED, following))
    ]


def _late_leader(phase: LoggedJoinPhase, roster: Roster) -> list[Person]:
    """The leader, if its assignment took longer than the join phase."""
    window = phase.window
    joined, ended = window.joined_at, window.ended_at
    if window.outcome != "stable" or joined is None or ended is None or not _is_of_one_generation(window):
        return []
    if not is_assignment_awaited((joined - phase.start) / US_PER_SECOND, (ended - joined) / US_PER_SECOND):
        return []
    return [roster.person(window.leader, None, None, SYNCED_LATE, is_first=True)]


def _is_of_one_generation(window: RebalanceWindow) -> bool:
    """Whether no rebalance between join phase and assignment was lost."""
    generations = [event.generation for event in (window.joined, window.ended) if event is not None]
    return len({*filter(None, generations)}) <= 1


def _removed_at_last(context: RebalanceContext) -> list[Person]:
    """A member that never rejoined.

    Its leave or expiry, well after the start, completed the join phase.
    """
    start, end = context.phase.start, context.window.open_until
    if end is None or end - start < SLOW_REJOIN_US or context.window.outcome == "empty":
        return []
    departed = context.departures.by_actor.values()
    late = [action for action in departed if action.at - start >= SLOW_REJOIN_US and abs(end - action.at) <= LAST_MOMENT_US]
    reasons = {ActionKind.LEAVE: REASON_LEFT_MEANWHILE, ActionKind.EXPIRE: REASON_EXPIRED_MEANWHILE}
    return [_person(context.roster, action, reasons[action.kind], is_first=index == 0) for index, action in enumerate(late)]


def _ghosts(phase: LoggedJoinPhase, roster: Roster, end: int) -> list[Person]:
    """Unused member ids, which hold the join phase for a session timeout.

    They were assigned but never joined (KIP-394, since 2.2).
    """
    if end - phase.start < SLOW_REJOIN_US:
        return []
    late = [
        action
        for action in phase.actions_of(ActionKind.ID_EXPIRED)
        if action.at - phase.start >= SLOW_REJOIN_US and abs(end - action.at) <= LAST_MOMENT_US
    ]
    return [_person(roster, action, GHOST, is_first=index == 0) for index, action in enumerate(late)]


def _slow_rejoiner(context: RebalanceContext, end: int) -> list[Person]:
    """The old member that rejoined last, much later than the others."""
    if end - context.phase.start < SLOW_REJOIN_US:
        return []
    arrivals = _arrivals(context.phase, context.members, context.departures, end)
    ordered = sorted(arrivals.values(), key=lambda action: action.at)
    if not ordered or end - ordered[-1].at - stamp_width_us(ordered[-1].at) > LAST_MOMENT_US * 4:
        return _last_by_elimination(context, end, arrivals)
    before = ordered[-2].at if len(ordered) > 1 else context.phase.start
    if ordered[-1].at - max(before, context.phase.start) < SLOW_REJOIN_US:
        return []
    return [_person(context.roster, ordered[-1], REJOINED_LAST, is_first=True)]


def _somebody(phase: LoggedJoinPhase, facts: ClusterFacts, end: int) -> list[Person]:
    """The member behind a long wait that no line names.

    A join phase of a group with members lasts until the last old one has come or is evicted.
    """
    window = phase.window
    lasted = end - phase.start
    if window.outcome not in {"stable", "superseded"} or window.joined is None or lasted < UNNAMED_WAIT_US:
        return []
    if window.state_before is None and lasted <= facts.initial_delay_ms * US_PER_MS * (1 + INITIAL_DELAY_OVERRUN):
        return []
    return [Person(None, None, None, None, LATE, first=True)]


def _arrivals(phase: LoggedJoinPhase, members: GenerationMembers, departures: DepartedMembers, end: int) -> dict[str, MemberAction]:
    """Rejoins of old members, by actor.

    Sarama and kafka-go only log that they give up what they have.
    """
    arrivals: dict[str, MemberAction] = {}
    for kinds in ((ActionKind.REJOIN, ActionKind.JOIN), (ActionKind.REVOKE,)):
        seen = frozenset(arrivals)
        for action in phase.actions_of(*kinds, start=phase.start, end=end):
            actor = phase.actor(action)
            if actor is not None and not members.is_new(action) and actor not in seen and actor not in departures.by_actor:
                arrivals.setdefault(actor, action)
    return arrivals


def _asked_first(phase: LoggedJoinPhase) -> set[str | None]:
    """Actors whose JoinGroup may have started the rebalance."""
    named = named_action(phase.window.started) if phase.window.started is not None else None
    requests = phase.actions_of(ActionKind.REJOIN, ActionKind.JOIN, start=phase.start - PROMPT_US, end=phase.start)
    return {phase.actor(action) for action in (*requests, *([named] if named is not None else []))}


def _last_by_elimination(context: RebalanceContext, end: int, arrivals: Mapping[str, MemberAction]) -> list[Person]:
    """The one old member that no line shows to rejoin.

    Told if all others are known and came long before the end. Without others, only its own log shows how soon a heartbeat was due.
    """
    if end - context.phase.start < SLOW_REJOIN_US or any(end - action.at < SLOW_REJOIN_US for action in arrivals.values()):
        return []
    old = dict(context.members.before)
    settled_at = context.window.previous_ended_at or context.phase.start
    for member in context.roster.members.values():
        was_there = member.first_seen_at is not None and member.first_seen_at <= settled_at
        if was_there and (member.ended_how == "open" or (member.last_seen_at or 0) >= context.phase.start):
            old.setdefault(context.roster.actor(member.member_id) or member.member_id, member.member_id)
    if len(old) != context.window.members_before or any(context.known.is_ambiguous(actor) for actor in old):
        return []
    present = {*arrivals, *context.departures.by_actor, *_asked_first(context.phase)}
    missing = {actor: member_id for actor, member_id in old.items() if actor not in present}
    if len(missing) != 1 or (
        end - context.phase.start < UNNAMED_WAIT_US and not arrivals and not any(map(context.known.has_client_log, missing))
    ):
        return []
    return _people(context.roster, missing, AWAITED_LAST)


# -- what a blocker's own log shows ------------------------------------------------------------------------------


def _with_delay(phase: LoggedJoinPhase, known: GroupKnowledge, roster: Roster, blocker: Person, end: int) -> Person:
    """Add to a blocker's reason what its own log shows up to `end`."""
    actor = roster.actor(blocker.member_id, blocker.client_id, blocker.instance_id)
    if actor is None or not known.has_client_log(actor) or known.is_ambiguous(actor):
        return blocker
    own_lines = phase.actions_of(*_OWN_LINES, start=phase.start - 1, end=end)  # the first may be what shows the rebalance
    actor_actions = [action for action in own_lines if phase.actor(action) == actor]
    delay = _last_known(actor_actions) or _step(actor_actions) or _gap(phase.start, actor_actions, end)
    if not actor_actions and actor in known.tell_joins and actor not in known.silent:
        delay = _slow_step(HEARD_OF_NOTHING, end - phase.start)  # its heartbeats would have told it, and its log that they did
    return blocker if delay is None else replace(blocker, reason=f"{blocker.reason}: {delay}")


def _last_known(actions: list[MemberAction]) -> str | None:
    """Last action that a Connect worker logged (WorkerCoordinator, handlePollTimeoutExpiry)."""
    last_actions = (text_field(action.event, "last_action") for action in actions if action.kind is ActionKind.POLL_TIMEOUT)
    return next((f"{LAST_KNOWN} {words}" for words in last_actions if words), None)


def _step(actions: list[MemberAction]) -> str | None:
    """A callback that says how long it took."""
    took = (int_field(action.event, "duration_ms") or 0 for action in actions if action.kind is ActionKind.STEP)
    return _slow_step(IN_CALLBACK, max(took, default=0) * US_PER_MS)


def _gap(start: int, actions: list[MemberAction], end: int) -> str | None:
    """The longest gap between its lines up to its JoinGroup.

    Without a JoinGroup, up to the end.
    """
    if not actions:
        return None
    heard, revoked, requested = (
        next((action.at for action in actions if holds(action)), None)
        for holds in (
            is_rebalance_notice,
            lambda action: action.kind is ActionKind.REVOKE,
            lambda action: action.kind in {ActionKind.REJOIN, ActionKind.JOIN},
        )
    )
    rejoined = end if requested is None else requested
    polled = rejoined if revoked is None else revoked
    hearing = heard if heard is not None else start if revoked is not None else rejoined  # not every library logs that it hears
    gaps = [
        (hearing - start, HEARD_OF_NOTHING),
        (0 if heard is None else polled - heard, DID_NOT_POLL),
        (0 if revoked is None else rejoined - revoked, IN_CALLBACK),
    ]
    longest, words = max(gaps)
    return _slow_step(words, longest)


def _slow_step(words: str, took_us: int) -> str | None:
    return f"{words} {spell(took_us / US_PER_SECOND)}" if took_us >= SLOW_REJOIN_US else None
