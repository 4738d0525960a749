"""Why members join: the first of a group, a new one, a former one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from models import weights
from models.causes import Cause
from models.events import Witness, text_field
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.context.arrived_members import ArrivedMembers
from models.kafka.hypotheses.context.departed_members import DepartedMembers
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.context.stated_reasons import reason_id_in
from models.kafka.hypotheses.hypothesis import (
    EARLIER_LINES,
    INITIAL_DELAY_OVERRUN,
    LOOK_BACK_US,
    PROMPT_US,
    Hypothesis,
)
from models.kafka.hypotheses.unlogged_members import has_one_gone
from models.kafka.observations.actions import (
    ActionKind,
    MemberAction,
    gives_up_some,
    has_only_given_id,
    is_rebalance_notice,
    is_unknown_as_it_joins,
    says_session_over,
    says_unknown_member,
)
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.libraries import known_library
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US, HEARD_US, LATE_LOGGING_US, stamp_width_us
from models.tolerances import GROUP_MIN_SESSION_US, PHASE_OVERRUN_US
from models.units import US_PER_MS


def propose_join(context: RebalanceContext, action: MemberAction | None) -> list[Hypothesis]:
    """Weigh why a new member joined.

    The first of its group, an old acquaintance, or one more.
    """
    joiners = context.arrivals.by_actor
    actions = _with_trigger_first(context.phase, action, joiners.values())
    if context.phase.was_empty:
        return first_of_empty(context, actions, weights.FIRST_MEMBER.value)
    if _may_have_died_out(context):
        return [Hypothesis(cause, share, actions, EARLIER_LINES) for cause, share in weights.FIRST_OF_ONE_KNOWN.of.items()]
    actor = context.phase.actor(action) if action else None
    may_be_back = action is not None and actor is not None and not context.known.is_ambiguous(actor) and context.window.outcome != "empty"
    departure = _former_self(context.phase, context.members, context.departures, action) if may_be_back and action is not None else None
    if departure is not None:
        back = weights.CAME_TO_ANOTHER if context.departures.was_lost_with_coordinator(departure) else weights.CAME_BACK
        return [
            Hypothesis(Cause.MEMBER_RESTART, back[Cause.MEMBER_RESTART], [*actions[:1], departure, *restarts(context, actor)]),
            Hypothesis(Cause.MEMBER_JOIN, back[Cause.MEMBER_JOIN], actions),
        ]
    namesake = (
        _former_self(context.phase, context.members, context.departures, action)
        if action is not None and context.known.is_ambiguous(actor)
        else None
    )
    if action is not None and namesake is not None and namesake.kind is ActionKind.EXPIRE and context.window.outcome != "empty":
        of = {Cause.MEMBER_RESTART: [*actions[:1], namesake], Cause.MEMBER_JOIN: actions}
        return [Hypothesis(cause, share, of[cause]) for cause, share in weights.NAMESAKE_EXPIRED.of.items()]
    if action is not None and _is_static_back_before_sync(context.phase, context.members, context.known, action):
        return [Hypothesis(cause, share, actions) for cause, share in weights.STATIC_BACK_BEFORE_SYNC.of.items()]
    if (
        context.window.witness is not Witness.COORDINATOR
        and action is not None
        and actor in context.members.before
        and not context.known.is_ambiguous(actor)
    ):
        return [Hypothesis(cause, share, actions) for cause, share in returned_unseen(context, [action]).of.items()]
    if context.window.state_before is None and not context.members.before:
        return _joined_in_unknown_state(context, actions)
    if action is not None and _is_logged_behind_a_departure(context.phase, context.departures, action):
        return [Hypothesis(cause, share, actions) for cause, share in weights.JOINED_AS_ANOTHER_WENT.of.items()]
    silent = silent_before(context.phase, context.departures)
    if silent or _may_follow_one_unlogged(context):
        of = {Cause.MEMBER_JOIN: actions}
        return [Hypothesis(c, share, of.get(c, silent), EARLIER_LINES) for c, share in weights.APPEARED_AND_SILENT.of.items()]
    left = [] if context.known.leaves_logged else _unawaited(context.phase, context.departures)
    if left:
        of = {Cause.MEMBER_JOIN: actions, Cause.MEMBER_LEAVE: left}
        return [Hypothesis(c, share, of[c], EARLIER_LINES) for c, share in weights.APPEARED_AS_ONE_LEFT_UNLOGGED.of.items()]
    if _may_have_found_nobody(context, actor):
        return [Hypothesis(cause, share, actions, EARLIER_LINES) for cause, share in weights.JOINED_UNANSWERED.of.items()]
    has_reason = bool(reason_id_in(context.window.started) or (action and action.at >= context.phase.start - PROMPT_US))
    twice = bool(context.known.clients or context.known.has_requests)
    basis = (weights.JOIN_UNTOLD if not has_reason else weights.JOIN_TOLD_TWICE if twice else weights.JOIN_TOLD).value
    return [Hypothesis(Cause.MEMBER_JOIN, basis, actions), Hypothesis(Cause.MEMBER_RESTART, (1 - basis) / 2, actions)]


def _may_have_found_nobody(context: RebalanceContext, actor: str | None) -> bool:
    """Whether a join without an answer may be the first of its group.

    Before 2.1 clients log no leaves at INFO, and no other member shows a sign of life since.
    """
    phase, known = context.phase, context.known
    if phase.window.witness is not Witness.CLIENT or phase.window.outcome != "open" or known.leaves_logged:
        return False
    others = context.members.before.keys() - {actor}
    logs = [log for other in others if (log := context.roster.logs.get(other)) is not None]
    alive = {phase.actor(action) for action in phase.since(phase.start) if action.event.witness is Witness.CLIENT}
    return others.isdisjoint(alive) and not any(known_library(log.library).logs_leaves for log in logs)


def _with_trigger_first(phase: LoggedJoinPhase, first: MemberAction | None, others: Iterable[MemberAction]) -> list[MemberAction]:
    """Actions with the one that started it in front, one per actor."""
    actor = phase.actor(first) if first else None
    rest = [action for action in others if phase.actor(action) != actor]
    return [first, *rest] if first else rest


def _is_static_back_before_sync(phase: LoggedJoinPhase, members: GenerationMembers, known: GroupKnowledge, action: MemberAction) -> bool:
    """Whether a static member came back while others awaited assignments.

    A rebalance begins then (GroupCoordinator.updateStaticMemberAndRebalance); in a stable group, none does. One that is out of the
    generation joins anew.
    """
    before, previous, known_before = phase.window.generation_before, phase.previous, members.before
    if known_before and len(known_before) == phase.window.members_before and phase.actor(action) not in known_before:
        return False
    if phase.window.witness is Witness.COORDINATOR or not action.instance_id or before is None or previous is None:
        return False
    earlier = (actors for generation, actors in known.generations.items() if generation <= before)
    refused = any(phase.actions_of(ActionKind.SYNC_FAILED, start=action.at - CLOCK_TOLERANCE_US))
    return refused and previous.outcome in {"open", "superseded"} and any(phase.actor(action) in actors for actors in earlier)


def _is_logged_behind_a_departure(phase: LoggedJoinPhase, departures: DepartedMembers, action: MemberAction) -> bool:
    """Whether a client logged its request behind a beginning without it.

    It logs what it is about to send, and another member was gone by then. Or clocks that differ put its line behind the coordinator's.
    """
    is_later = action.event.witness is Witness.CLIENT and action.at > phase.start
    return is_later and phase.window.witness is Witness.COORDINATOR and not reason_id_in(phase.window.started) and bool(departures.inferred)


def _may_follow_one_unlogged(context: RebalanceContext) -> bool:
    """Whether a member without a log went, and was not waited for long."""
    phase, until = context.phase, context.window.open_until
    if phase.window.witness is not Witness.CLIENT or until is None or until - phase.start > HEARD_US:
        return False
    return has_one_gone(phase, context.members, context.known)


def silent_before(phase: LoggedJoinPhase, departures: DepartedMembers) -> list[MemberAction]:
    """Members that may have expired before one joined or left, by members' logs alone.

    None was waited for, as one whose session still runs is (DelayedJoin), and none shows a sign of life for as long as a session lasts.
    """
    gone = _unawaited(phase, departures)
    if not gone:
        return []
    alive = _alive_until(phase, (phase.window.open_until or phase.start) + LATE_LOGGING_US) - departures.told_unknown.keys()
    return [departure for departure in gone if phase.actor(departure) not in alive]


def back_after_silence(phase: LoggedJoinPhase, departures: DepartedMembers, trigger: MemberAction) -> list[MemberAction]:
    """Requests of new processes whose former selves may have expired before.

    By members' logs alone. A former self that neither left nor expired would be waited for. One without a sign of life for as long as a
    session lasts may have expired before another member acted, who seems to have begun the rebalance.
    """
    if phase.window.witness is not Witness.CLIENT or not _waits_for_nobody(phase):
        return []
    members, alive = departures.members, _alive_until(phase, phase.start) | {phase.actor(trigger)}
    return [
        arrival
        for actor, arrival in departures.arrivals.by_actor.items()
        if actor in members.before.keys() - alive - departures.by_actor.keys()
        and not (departures.known.is_ambiguous(actor) or _is_the_same_member(phase, members, arrival))
    ]


def _is_the_same_member(phase: LoggedJoinPhase, members: GenerationMembers, request: MemberAction) -> bool:
    """Whether a member asks again, by its id or what it heard."""
    actor = phase.actor(request)
    before, after = members.before.get(actor or ""), members.after.get(actor or "")
    notices = filter(is_rebalance_notice, phase.since(phase.start))
    return (before == after is not None) or any(notice.at <= request.at and phase.actor(notice) == actor for notice in notices)


def _alive_until(phase: LoggedJoinPhase, until: int) -> set[str | None]:
    """Members alive within the shortest session before a rebalance, or later.

    Who is closed may have sent its last heartbeat an interval before, and what its next process does is no sign of it.
    """
    since, closed_at = phase.start - GROUP_MIN_SESSION_US, dict[str | None, int]()
    for action in phase.actions_of(ActionKind.CLOSE, ActionKind.JOINED, end=phase.start):
        if action.kind is ActionKind.CLOSE:
            closed_at[phase.actor(action)] = action.at
        else:
            closed_at.pop(phase.actor(action), None)
    signs = (action for action in phase.since(since) if action.kind is not ActionKind.CLOSE or action.at - HEARD_US > since)
    return {phase.actor(action) for action in signs if action.at <= min(until, closed_at.get(phase.actor(action), until))}


def _unawaited(phase: LoggedJoinPhase, departures: DepartedMembers) -> list[MemberAction]:
    """Members that are gone unlogged, by members' logs alone, and that nobody waited for."""
    if phase.window.witness is not Witness.CLIENT:
        return []
    if _waits_for_nobody(phase):
        return departures.inferred
    notices = phase.actions_of(ActionKind.REBALANCE_NOTICED, ActionKind.WANTS_REJOIN, start=phase.start, end=phase.window.open_until)
    heard_by = {phase.actor(notice) for notice in notices if is_rebalance_notice(notice)}
    awaited = [departure for departure in departures.inferred if phase.actor(departure) in heard_by]  # it did not rejoin
    return [departure for departure in departures.inferred if departure not in awaited] if awaited else []


def _waits_for_nobody(phase: LoggedJoinPhase) -> bool:
    """Whether a join phase is over as soon as members have heard of it."""
    until = phase.window.open_until
    return until is not None and (until - phase.start <= HEARD_US or _ends_with_late_heartbeat(phase, until))


def _ends_with_late_heartbeat(phase: LoggedJoinPhase, until: int) -> bool:
    """Whether a leave's phase ends as the last member asks.

    It may hear an interval after the leave, and asks with its next poll.
    """
    if until - phase.start > 2 * HEARD_US or not any(phase.actions_of(ActionKind.LEAVE, start=phase.start - 1, end=phase.start)):
        return False
    return any(phase.actions_of(ActionKind.REJOIN, start=until - LATE_LOGGING_US, end=until))


def came_meanwhile(phase: LoggedJoinPhase, members: GenerationMembers, departure: MemberAction) -> MemberAction | None:
    """The request of one that came back, and stopped again meanwhile."""
    actor, until = phase.actor(departure), phase.window.open_until
    if phase.window.outcome == "coordinator_lost":
        return None
    kinds = (ActionKind.JOIN, ActionKind.REJOIN, ActionKind.LEAVE, ActionKind.EXPIRE)
    later = [action for action in phase.actions_of(*kinds, start=departure.at, end=until) if phase.actor(action) == actor]
    ends = [action.at for action in later if action.kind not in _REQUESTS and action.member_id != departure.member_id]
    requests = (action for action in later if action.kind in _REQUESTS and not has_only_given_id(action) and members.is_new(action))
    return next((action for action in requests if ends and action.at <= ends[-1]), None)


_REQUESTS = frozenset({ActionKind.JOIN, ActionKind.REJOIN})


def returned_unseen(context: RebalanceContext, arrivals: list[MemberAction]) -> weights.Shares:
    """Weigh members that came back, whose former selves ended unseen.

    A former self that neither left nor expired is waited for until the rebalance timeout; so this was no restart within a rebalance. A
    static one is replaced at once, and the group rebalances only if its protocols choose another assignor (KIP-345).
    """
    before, after = (context.known.assignors.get(generation or -1) for generation in _generations(context.phase))
    if before and after and before != after and any(action.instance_id for action in arrivals):
        return weights.RETURNED_WITH_ANOTHER_ASSIGNOR
    return weights.RETURNED_UNSEEN if context.deadline.passed_after_us is None else weights.RETURNED_BEFORE_EVICTION


def _generations(phase: LoggedJoinPhase) -> tuple[int | None, int | None]:
    return phase.window.generation_before, phase.window.generation_after


def _may_have_died_out(context: RebalanceContext) -> bool:
    """Whether a generation that was never stored may have gone with its coordinator.

    The next one goes on from the generation before (GroupMetadataManager.loadGroup), whose members may all have expired. Requests tell
    of neither, and those that came then know nobody of before.
    """
    previous, members = context.phase.previous, context.members
    is_unstored = context.window.witness is Witness.REQUEST and previous is not None and previous.outcome == "superseded"
    return is_unstored and bool(members.before) and bool(members.after) and members.before.keys().isdisjoint(members.after)


def first_of_empty(context: RebalanceContext, joiners: list[MemberAction], sure: float) -> list[Hypothesis]:
    """Hypotheses on who joins a group that had no members.

    Members' logs show only members that have logs: others may have been there if not all members are known to be new.
    """
    window = context.window
    are_all = context.members.are_all_known_after and context.members.after.keys() <= context.arrivals.by_actor.keys()
    if window.witness is not Witness.CLIENT or window.generation_before == 0 or are_all:
        return [Hypothesis(Cause.NEW_GROUP, sure, joiners)]
    if _was_answered_at_once(context.phase, joiners):
        likely = weights.FOUND_NOBODY.value
        return [
            Hypothesis(cause, share, joiners, EARLIER_LINES)
            for cause, share in ((Cause.NEW_GROUP, likely), (Cause.MEMBER_JOIN, 1 - likely))
        ]
    shares = weights.FIRST_OF_KNOWN if len(context.known.clients) > 1 else weights.FIRST_OF_ONE_KNOWN
    return [Hypothesis(cause, share, joiners, EARLIER_LINES) for cause, share in shares.of.items()]


def _was_answered_at_once(phase: LoggedJoinPhase, joiners: list[MemberAction]) -> bool:
    """Whether the first one's request to join waited for nobody, by members' logs.

    A new member waits until all others have rejoined, which only their next heartbeats tell them to do (GroupCoordinator, DelayedJoin).
    """
    window = phase.window
    is_first = any(action.at == phase.start and action.kind is ActionKind.JOIN for action in joiners)
    if window.witness is not Witness.CLIENT or window.joined_at is None or not is_first:
        return False
    return window.joined_at - phase.start + stamp_width_us(window.joined_at) <= CLOCK_TOLERANCE_US


def _former_self(
    phase: LoggedJoinPhase, members: GenerationMembers, departures: DepartedMembers, arrival: MemberAction
) -> MemberAction | None:
    """The member that went under the name of one that came.

    The new one may have gone again, too.
    """
    actor = phase.actor(arrival)
    first = departures.by_actor.get(actor or "")
    if first is None:
        return None
    others = [
        action for action in phase.actions_of(ActionKind.LEAVE, ActionKind.EXPIRE) if action.is_certain and phase.actor(action) == actor
    ]
    return next((action for action in (first, *others) if not has_gone_as_it_came(phase, members, arrival, action)), None)


def has_gone_as_it_came(phase: LoggedJoinPhase, members: GenerationMembers, arrival: MemberAction, departure: MemberAction) -> bool:
    """Whether the member that went is the one that had come.

    It is not its former self: it was stopped before it got an assignment.
    """
    if arrival.member_id and departure.member_id:
        return arrival.member_id == departure.member_id
    actor = phase.actor(arrival)
    former = members.before.get(actor or "")
    if former is None and actor not in members.before:
        is_gone = actor not in members.after and not _is_answered_after(phase, departure)
        return arrival.at < departure.at and is_gone
    return former is not None and departure.member_id is not None and former != departure.member_id and arrival.at < departure.at


def _is_answered_after(phase: LoggedJoinPhase, departure: MemberAction) -> bool:
    """Whether the client's request is answered though a member of its name went."""
    kinds = (ActionKind.START, *_REQUESTS, ActionKind.JOINED)
    later = phase.actions_of(*kinds, start=departure.at, end=(phase.window.open_until or departure.at) + LATE_LOGGING_US)
    of_client = (action for action in later if phase.actor(action) == phase.actor(departure))
    after = next(of_client, None)
    return after is not None and after.kind is ActionKind.JOINED


def restarts(context: RebalanceContext, but: str | None) -> list[MemberAction]:
    """Actions of all members but one that left and came back meanwhile."""
    actions: list[MemberAction] = []
    for actor, arrival in context.arrivals.by_actor.items():
        departure = context.departures.by_actor.get(actor)
        if (
            departure is not None
            and actor != but
            and not context.known.is_ambiguous(actor)
            and not has_gone_as_it_came(context.phase, context.members, arrival, departure)
        ):
            actions += [arrival, departure]
    return actions


def _joined_in_unknown_state(context: RebalanceContext, actions: list[MemberAction]) -> list[Hypothesis]:
    """Weigh a join where the log begins mid-life.

    An initial delay, or members that all are new, show a group that was empty.

    Each further step of the delay takes another member that joins, and only the Java coordinator waits so above generation 0.
    """
    evicted = {context.phase.actor(action) for action in context.phase.actions_of(ActionKind.EVICT)}
    if any(context.phase.actor(action) in evicted and not context.known.is_ambiguous(context.phase.actor(action)) for action in actions):
        return [Hypothesis(cause, share, actions, EARLIER_LINES) for cause, share in weights.RETURNED_BEFORE_EVICTION.of.items()]
    duration = (context.window.open_until or context.phase.start) - context.phase.start
    delay = context.facts.initial_delay_ms * US_PER_MS
    steps = duration // delay if delay else 0
    initial = 1 <= steps <= max(1, len(actions)) and duration - steps * delay <= delay * INITIAL_DELAY_OVERRUN
    members_after = context.window.members_after
    alone = members_after == 1 or (members_after is not None and len(actions) >= members_after)
    had_others = had_members(context.phase) or (not initial and _ends_as_one_goes(context.phase, context.arrivals, context.departures))
    likely = (weights.HELD_UNTIL_ONE_WENT if had_others else weights.AS_FROM_EMPTY if initial or alone else weights.MID_LIFE).value
    if not had_others and _was_answered_at_once(context.phase, actions):
        likely = weights.FOUND_NOBODY.value
    elif context.window.witness is Witness.CLIENT and context.window.generation_before and len(context.known.clients) == 1:
        likely = min(likely, weights.FIRST_OF_ONE_KNOWN[Cause.NEW_GROUP])  # others may be in the group
    return [
        Hypothesis(Cause.NEW_GROUP, likely, actions, EARLIER_LINES),
        Hypothesis(Cause.MEMBER_JOIN, 1 - likely, actions, EARLIER_LINES),
    ]


def had_members(phase: LoggedJoinPhase) -> bool:
    """Whether lines show that the group had members as it began.

    The coordinator prints the group's state as one comes, and later who did not rejoin. Only members hear of a rebalance.
    """
    near = phase.actions_of(ActionKind.JOIN, start=phase.start - CLOCK_TOLERANCE_US, end=phase.start + CLOCK_TOLERANCE_US)
    states = {text_field(action.event, "state") for action in near}
    heard = phase.actions_of(ActionKind.REBALANCE_NOTICED, ActionKind.WANTS_REJOIN, start=phase.start - 1)
    if State.STABLE.value in states or any(map(is_rebalance_notice, heard)):
        return True
    return bool(phase.first_by_actor(ActionKind.EVICT)) or _has_one_given_up(phase)


def _has_one_given_up(phase: LoggedJoinPhase) -> bool:
    """Whether a member that had not gone gave up its partitions to join again.

    Who has gone may have left the group empty, and who got an assignment since has rejoined already.
    """
    since = phase.start - LOOK_BACK_US
    if any(phase.actions_of(ActionKind.LEAVE, ActionKind.FENCED, ActionKind.POLL_TIMEOUT, start=since, end=phase.start)):
        return False
    if any(map(is_unknown_as_it_joins, phase.actions_of(ActionKind.JOIN_FAILED, start=since, end=phase.start))):
        return False
    assigned_at = {phase.actor(action): action.at for action in phase.actions_of(ActionKind.ASSIGNED, start=since, end=phase.start)}
    revocations = filter(gives_up_some, phase.actions_of(ActionKind.REVOKE, start=since, end=phase.start))
    return any(action.at > assigned_at.get(phase.actor(action), since) for action in revocations)


def _ends_as_one_goes(phase: LoggedJoinPhase, arrivals: ArrivedMembers, departures: DepartedMembers) -> bool:
    """Whether the join phase ended as a member of the last generation went.

    Only a phase that waits for members of the last generation ends then (GroupCoordinator.removeMemberAndUpdateGroup,
    DelayedJoin); an initial delay runs to its end (InitialDelayedJoin).
    """
    until = phase.window.open_until
    arrived_ids = {action.member_id for action in arrivals.by_actor.values()}
    gone = [action for action in departures.by_actor.values() if action.is_certain and action.member_id not in arrived_ids]
    return until is not None and any(0 <= until - action.at <= PHASE_OVERRUN_US for action in gone)


def removed_and_back(phase: LoggedJoinPhase, members: GenerationMembers) -> list[Hypothesis]:
    """Hypotheses where a member that the coordinator had removed joins anew."""
    if members.before:
        return []
    previous = phase.previous
    is_apart = previous is not None and previous.outcome == "superseded"  # that was its removal
    answers = (ActionKind.JOINED, ActionKind.SYNCED) if is_apart else (ActionKind.JOINED,)
    joined = {phase.actor(action): action for action in phase.actions_of(*answers)}
    back = [
        action
        for action in phase.actions_of(ActionKind.FENCED, ActionKind.JOIN_FAILED)
        if phase.actor(action) in joined and (says_unknown_member(action) or is_unknown_as_it_joins(action))
    ]
    actors = {phase.actor(action): action for action in reversed(back)}
    if not is_apart and any(_had_heard_of_rebalance(phase, action) for action in actors.values()):
        return []  # it was a member that others made join again, and no new process
    if actors and is_apart:
        arrivals = [replace(joined[actor], kind=ActionKind.JOIN) for actor in actors]
        new = weights.MID_LIFE.value
        shares = {Cause.MEMBER_JOIN: 1 - new, Cause.NEW_GROUP: new}
        return [Hypothesis(cause, share, arrivals, EARLIER_LINES) for cause, share in shares.items()]
    expired = bool(actors) and all(_had_no_answer(phase, action) for action in actors.values())
    shares_of = weights.HEARD_TOO_LATE.of if expired else weights.RETURNED_UNSEEN.of
    return [Hypothesis(cause, share, list(actors.values()), EARLIER_LINES) for cause, share in shares_of.items() if actors]


def _had_no_answer(phase: LoggedJoinPhase, removed: MemberAction) -> bool:
    """Whether a member just had no answer for its session."""
    losses = phase.actions_of(ActionKind.LOST_COORDINATOR, start=removed.at - LOOK_BACK_US, end=removed.at)
    return any(phase.actor(loss) == phase.actor(removed) and says_session_over(loss) for loss in losses)


def _had_heard_of_rebalance(phase: LoggedJoinPhase, removed: MemberAction) -> bool:
    """Whether a member heard of a rebalance before it heard that it was out."""
    notices = phase.actions_of(ActionKind.REBALANCE_NOTICED, start=phase.start - 1, end=removed.at)
    return any(phase.actor(notice) == phase.actor(removed) for notice in notices)
