"""Why members go.

By their own will, because they polled too late, by an administrator, or because they fell silent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from models import weights
from models.causes import Cause
from models.events import Witness
from models.kafka.hypotheses.context.arrived_members import ArrivedMembers
from models.kafka.hypotheses.context.departed_members import DepartedMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.evictions import is_echo
from models.kafka.hypotheses.hypothesis import CLIENT_LOG, LOOK_BACK_US, PROMPT_US, Hypothesis
from models.kafka.hypotheses.joins import came_meanwhile, restarts
from models.kafka.hypotheses.last_polls import has_committed_in_time, has_polled_in_time
from models.kafka.observations.actions import (
    ActionKind,
    MemberAction,
    doubt_us,
)
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.libraries import JAVA, is_default_id
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.kafka.observations.roster import Roster


def propose_departure(context: RebalanceContext, action: MemberAction | None) -> list[Hypothesis]:
    """Weigh why a member left.

    By its own will, because it polled too late, or by an administrator.
    """
    leaves = {actor: a for actor, a in context.phase.first_by_actor(ActionKind.LEAVE).items() if context.departures.is_effective(a)}
    if action is None and leaves:
        action = min(leaves.values(), key=lambda a: abs(a.at - context.phase.start))
    arrived = _propose_arrived(context, action, leaves)
    if action is None:
        return arrived
    doubt = context.departures.doubt_of_arrival(action, lives_on=arrived[0].cause is Cause.POLL_TIMEOUT)
    return _unless_it_was_lost(action, arrived, doubt) if doubt else arrived


def _propose_arrived(context: RebalanceContext, action: MemberAction | None, leaves: Mapping[str, MemberAction]) -> list[Hypothesis]:
    """Weigh why a member left whose leave reached the coordinator."""
    actor = context.phase.actor(action) if action else None
    returned = context.arrivals.by_actor.get(actor) or came_meanwhile(context.phase, context.members, action) if actor and action else None
    hypotheses = kind_of_leave(context, actor, action)
    likeliest = hypotheses[0].cause
    if likeliest is Cause.POLL_TIMEOUT and context.window.witness is Witness.CLIENT and context.window.joined is None:
        returned = None  # the same process polled at last; nothing shows that the others still waited
    perhaps_back = returned
    if context.known.is_ambiguous(actor):
        returned = None  # perhaps another member with the same client id
    if (
        likeliest is Cause.MEMBER_LEAVE
        and action is not None
        and (other := _left_at_once_with_another_end(context.phase, context.arrivals, context.known, action, leaves))
    ):
        returned = returned or context.arrivals.by_actor[context.phase.actor(other) or ""]
        came_back, stayed_away = (action, other) if context.phase.actor(returned) == actor else (other, action)
        return [
            Hypothesis(Cause.MEMBER_RESTART, weights.LEFT_TOGETHER[Cause.MEMBER_RESTART], [came_back, returned, stayed_away]),
            Hypothesis(Cause.MEMBER_LEAVE, weights.LEFT_TOGETHER[Cause.MEMBER_LEAVE], [stayed_away, came_back]),
        ]
    if returned is not None and context.window.outcome != "empty" and likeliest not in _NO_RESTARTS and action is not None:
        sure = weights.LEFT_AND_SEEN_BACK.value
        may_be_late = likeliest is Cause.MEMBER_LEAVE and any(hypothesis.cause is Cause.POLL_TIMEOUT for hypothesis in hypotheses)
        late = weights.LATE_AND_BACK_UNLOGGED.value if may_be_late and not context.known.has_client_log(actor) else 0.0
        return [
            Hypothesis(Cause.MEMBER_RESTART, sure - late, [action, returned, *restarts(context, actor)]),
            Hypothesis(likeliest, 1 - sure, [action]),
            *([Hypothesis(Cause.POLL_TIMEOUT, late, [action], CLIENT_LOG)] if late else []),
        ]
    ways = _ways_of_leaving(context, leaves)
    for hypothesis in hypotheses:
        hypothesis.actions = _leavers_alike(context.phase, ways.get(hypothesis.cause, ()), action)
    if perhaps_back is not None and action is not None and context.window.outcome != "empty" and likeliest not in _NO_RESTARTS:
        return _unless_for_a_namesake(actor, [action, perhaps_back], hypotheses)
    if likeliest is Cause.POLL_TIMEOUT and action is not None:
        return _late_or_restarted(context.phase, action, perhaps_back, hypotheses)
    return _unless_it_returned(context, action, hypotheses, weights.LEFT_AND_RETURNED.value)


def _unless_it_was_lost(action: MemberAction, hypotheses: list[Hypothesis], doubt: float) -> list[Hypothesis]:
    """Weigh a leave, whatever its reason, against a session timeout."""
    for hypothesis in hypotheses:
        hypothesis.probability *= 1 - doubt
        hypothesis.actions = hypothesis.actions or [action]
    return [Hypothesis(Cause.SESSION_TIMEOUT, doubt, [action]), *hypotheses]


def _left_at_once_with_another_end(
    phase: LoggedJoinPhase, arrivals: ArrivedMembers, known: GroupKnowledge, action: MemberAction, leaves: Mapping[str, MemberAction]
) -> MemberAction | None:
    """Another that left at once, where one of the two came back.

    Each client logs by its own clock: either request may have begun the rebalance.
    """
    actor, back = phase.actor(action), arrivals.by_actor
    if action.event.witness is not Witness.CLIENT or phase.window.outcome == "empty" or known.is_ambiguous(actor):
        return None
    for other_actor, other in leaves.items():
        is_near = abs(other.at - action.at) <= CLOCK_TOLERANCE_US and other.event.witness is Witness.CLIENT
        if is_near and other_actor != actor and (other_actor in back) != (actor in back) and not known.is_ambiguous(other_actor):
            return other
    return None


def _late_or_restarted(
    phase: LoggedJoinPhase, action: MemberAction, returned: MemberAction | None, hypotheses: list[Hypothesis]
) -> list[Hypothesis]:
    """Add to a late poll that its member came back meanwhile.

    In the wider sense that is a restart.
    """
    if returned is not None and phase.window.outcome != "empty":
        share = weights.LATE_AND_SEEN_BACK.value
        for hypothesis in hypotheses:
            hypothesis.probability *= 1 - share
        hypotheses.append(Hypothesis(Cause.MEMBER_RESTART, share, [action, returned]))
    return hypotheses


_NO_RESTARTS = frozenset({Cause.ADMIN_REMOVAL, Cause.POLL_TIMEOUT})
"""Ways of going that a return makes no restart.

Who polled too late rejoins at its next poll, in the same process.
"""


def _unless_for_a_namesake(actor: str | None, actions: list[MemberAction], hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Add that one came in the place of another by its name."""
    share = (weights.NAMELESS_CAME if is_default_id(actor or "") else weights.NAMESAKE_CAME).value
    for hypothesis in hypotheses:
        hypothesis.probability *= 1 - share
    return [Hypothesis(Cause.MEMBER_RESTART, share, actions), *hypotheses]


def _unless_it_returned(
    context: RebalanceContext, action: MemberAction | None, hypotheses: list[Hypothesis], usual: float
) -> list[Hypothesis]:
    """Add to the hypotheses that it was a restart.

    As likely as what is not known leaves room for it.
    """
    actor = context.phase.actor(action) if action is not None else None
    share = usual if context.known.is_ambiguous(actor) else _unseen_return(context, actor, usual)
    if share:
        for hypothesis in hypotheses:
            hypothesis.probability *= 1 - share
        hypotheses.append(Hypothesis(Cause.MEMBER_RESTART, share, [action] if action else [], CLIENT_LOG))
    return hypotheses


def _unseen_return(context: RebalanceContext, actor: str | None, usual: float) -> float:
    """Probability of an unlogged return before the end of the rebalance."""
    would_tell = context.known.has_client_log(actor) if actor is not None else bool(context.known.clients)
    if context.window.outcome == "coordinator_lost":
        return 0.0 if would_tell else usual  # a request log tells of answers, which its broker gave no more
    joined_at = context.window.joined_at
    if would_tell or context.known.has_requests or joined_at is None or context.window.outcome == "empty":
        return 0.0
    gone = max(1, len(context.departures.by_actor))
    unnamed = _unnamed_arrivals(context.phase, context.arrivals, context.departures, gone, joined_at)
    is_missing = unnamed <= 0 if unnamed is not None else None
    until = joined_at - 1 if is_missing else joined_at  # who asks as the phase ends is in the next generation
    handed = context.phase.actions_of(ActionKind.ID_HANDED_OUT, start=context.phase.start - 1, end=until)
    if actor is not None and any(context.phase.actor(action) == actor for action in handed):
        return weights.HANDED_A_NEW_ID.value
    if is_missing is None:
        return usual
    if is_missing:
        return 0.0
    return (weights.AS_MANY_AS_BEFORE if unnamed == gone else weights.FEWER_WENT_THAN_LEFT).value


def _unnamed_arrivals(
    phase: LoggedJoinPhase, arrivals: ArrivedMembers, departures: DepartedMembers, gone: int, joined_at: int
) -> int | None:
    """Number of members that no line lets in, by head counts.

    Who comes under another name than those that went is no return of theirs.
    """
    before, after = phase.window.members_before, phase.window.members_after
    if not before or not after:
        return None
    handed = phase.actions_of(ActionKind.ID_HANDED_OUT, start=phase.start - 1, end=joined_at)
    came = {*arrivals.by_actor, *filter(None, map(phase.actor, handed))} - departures.by_actor.keys()
    return after - (before - gone + len(came))


def _ways_of_leaving(context: RebalanceContext, leaves: Mapping[str, MemberAction]) -> dict[Cause, list[MemberAction]]:
    """Members that left here, by the likeliest way."""
    ways: dict[Cause, list[MemberAction]] = {}
    for actor, action in leaves.items():
        ways.setdefault(kind_of_leave(context, actor, action)[0].cause, []).append(action)
    return ways


def _leavers_alike(phase: LoggedJoinPhase, leavers: Iterable[MemberAction], action: MemberAction | None) -> list[MemberAction]:
    """Members that left in the same way here, the initiator first."""
    first = phase.actor(action) if action else None
    same = sorted(leavers, key=lambda a: (phase.actor(a) != first, a.at))
    return same if same or action is None else [action]


LEAVE_TEXTS: tuple[tuple[str, Cause], ...] = (
    # AbstractCoordinator.maybeLeaveGroup and KafkaConsumer; the client's reason reaches the broker since 3.2 (KIP-800).
    ("poll timeout has expired", Cause.POLL_TIMEOUT),
    ("removed by an admin", Cause.ADMIN_REMOVAL),  # with the administrator's own words behind it (KafkaAdminClient)
    ("the consumer is being closed", Cause.MEMBER_LEAVE),
    ("unsubscribed from all topics", Cause.MEMBER_LEAVE),
    ("pro-actively leaving", Cause.MEMBER_LEAVE),
)


def kind_of_leave(context: RebalanceContext, actor: str | None, action: MemberAction | None) -> list[Hypothesis]:
    """Classify a leave: graceful, poll interval exceeded, or an administrator's removal.

    The likeliest comes first.
    """
    whys = [a.why for a in context.phase.actions_of(ActionKind.LEAVE) if a.why and context.phase.actor(a) == actor]
    if action is not None and action.why:
        whys.append(action.why)
    for fixed, cause in LEAVE_TEXTS:
        if any(fixed in why for why in whys):
            return [Hypothesis(cause, weights.LEAVE_REASON.value)]
    noticed = _noticed_poll_timeout(context.phase, actor, action) if action is not None else None
    if noticed is not None:
        return [Hypothesis(Cause.POLL_TIMEOUT, weights.POLL_TIMEOUT_NOTICED.value, supporting_actions=[noticed])]
    if action is not None and is_static(context.roster, action):
        return _shared_out(weights.STATIC_LEFT)
    if any(why != "not provided" for why in whys):
        return _shared_out(weights.OWN_LEAVE_REASON)
    if actor in context.known.silent:
        return _shared_out(weights.LEFT_AND_COMMITS if _commits_after(context.phase, actor, action) else weights.LOG_OF_SILENT_LIBRARY)
    if context.known.has_client_log(actor):
        if _rejoins_unasked(context.phase, context.known, actor, action):
            return _shared_out(weights.REJOINED_UNASKED)
        if action is not None and context.departures.is_closed_later(action):
            return _shared_out(weights.CLOSED_LATER)
        return _shared_out(
            weights.LOG_OF_SILENT_LIBRARY if _is_too_old_to_tell(context.known, context.roster, actor) else weights.OWN_LOG_SILENT
        )
    poll = _polled_late(context, actor, action)
    by_will, late = Hypothesis(Cause.MEMBER_LEAVE, weights.LEFT.value - poll), Hypothesis(Cause.POLL_TIMEOUT, poll)
    by_will.settled_by = late.settled_by = CLIENT_LOG
    return sorted([by_will, late], key=lambda hypothesis: -hypothesis.probability)


def _is_too_old_to_tell(known: GroupKnowledge, roster: Roster, actor: str | None) -> bool:
    """Whether a Java client left without a line, as those before 2.1.

    At INFO these do not tell of late polls either.
    """
    log = roster.logs.get(actor or "")
    return log is not None and log.library == JAVA and not known.leaves_logged


def _commits_after(phase: LoggedJoinPhase, actor: str | None, action: MemberAction | None) -> bool:
    """Whether a commit of the client's is refused after its leave.

    Then it was not closed: a consumer commits before it leaves.
    """
    return action is not None and any(
        phase.actor(refused) == actor
        for refused in phase.actions_of(ActionKind.COMMIT_REFUSED, start=action.at, end=action.at + LOOK_BACK_US)
    )


def _shared_out(shares: weights.Shares) -> list[Hypothesis]:
    return [Hypothesis(cause, share) for cause, share in shares.of.items()]


def _polled_late(context: RebalanceContext, actor: str | None, action: MemberAction | None) -> float:
    """Probability that an unexplained leave followed a late poll.

    It is the heartbeat thread that leaves for a consumer that polled too late.
    """
    if has_polled_in_time(context.phase, context.members, context.timeouts, actor=actor, action=action):
        return weights.POLLED_IN_TIME.value
    in_time = has_committed_in_time(context.timeouts, context.known, action, actor)
    if in_time is not None:
        return (weights.COMMITTED_IN_TIME if in_time else weights.COMMITTED_ONE_INTERVAL_AGO).value
    often = 0 if has_whole_group_left(context.phase) else context.lags.poll_rhythm
    if often:
        return weights.LEAVE_RHYTHM[min(often, len(weights.LEAVE_RHYTHM)) - 1].value
    if _comes_back(context.phase, actor, action):
        return weights.POLLED_LATE_CAME_BACK.value
    return (weights.EMPTIED_BY_LATE_POLLS if has_whole_group_left(context.phase) else weights.POLLED_LATE).value


def _noticed_poll_timeout(phase: LoggedJoinPhase, actor: str | None, action: MemberAction) -> MemberAction | None:
    """The client's own line that it polled too late.

    One that does not say whose it is must stand right before the leave.
    """
    for noticed in phase.all_of(ActionKind.POLL_TIMEOUT):
        whose, away = phase.actor(noticed), action.at - noticed.at
        if (whose == actor and abs(away) <= LOOK_BACK_US) or (whose is None and abs(away) <= PROMPT_US):
            return noticed
    return None


def is_static(roster: Roster, action: MemberAction) -> bool:
    """Whether it is static; such members send no LeaveGroup (KIP-345).

    One that left was removed.
    """
    member = roster.members.get(action.member_id or "")
    return bool(action.instance_id or (member and member.instance_id))


def _rejoins_unasked(phase: LoggedJoinPhase, known: GroupKnowledge, actor: str | None, action: MemberAction | None) -> bool:
    """Whether the same process joins again without looking for its coordinator.

    It does so after a poll timeout.

    It may subscribe to other topics before it does; who leaves because it unsubscribes says so. Where another process follows,
    and the log tells of closes but of none that belongs to this leave, the one before polled too late and then died.
    """
    left_at = action.at if action else phase.start
    searches = False
    for later in phase.actions:
        if phase.actor(later) != actor:
            continue
        if later.kind in {ActionKind.CLOSE, ActionKind.UNSUBSCRIBE} and abs(later.at - left_at) <= LOOK_BACK_US:
            return False
        if later.at <= left_at:
            continue
        if later.kind is ActionKind.LOST_COORDINATOR or (later.kind is ActionKind.START and searches):
            searches = later.kind is ActionKind.LOST_COORDINATOR
            continue  # the same process looks for a coordinator that is gone
        searches = searches and later.kind is not ActionKind.SUBSCRIBE  # a new process subscribes before it looks
        if later.kind is ActionKind.LEAVE_UNANSWERED:
            return False
        if later.kind is ActionKind.CLOSE:
            return not searches  # close() leaves and is done, unless its answer is lost: else it came too late to be what left
        if later.kind is ActionKind.START:
            return any(action.kind is ActionKind.CLOSE and phase.actor(action) == actor for action in phase.actions)
        if later.kind is ActionKind.UNSUBSCRIBE:
            return False
        if later.kind is ActionKind.JOIN or (later.kind is ActionKind.REJOIN and not known.is_ambiguous(actor)):
            return later.event.witness is Witness.CLIENT
    return False


def has_whole_group_left(phase: LoggedJoinPhase) -> bool:
    """Whether a group of several was closed.

    That all of them poll too late at once is rare.
    """
    return phase.window.outcome == "empty" and (phase.window.members_before or 0) > 1


def _comes_back(phase: LoggedJoinPhase, actor: str | None, action: MemberAction | None) -> bool:
    left_at = action.at if action else phase.start
    return any(later.at > left_at and phase.actor(later) == actor for later in phase.all_of(ActionKind.JOIN))


def propose_expiry(context: RebalanceContext, action: MemberAction | None) -> list[Hypothesis]:
    """A member's session ran out."""
    expiries = {actor: a for actor, a in context.phase.first_by_actor(ActionKind.EXPIRE).items() if context.departures.is_effective(a)}
    if action is None and expiries:
        action = min(expiries.values(), key=lambda a: a.at)
    actor = context.phase.actor(action) if action else None
    returned = context.arrivals.by_actor.get(actor) or came_meanwhile(context.phase, context.members, action) if actor and action else None
    first = _all_expired(context.phase, context.departures, context.known, expiries.values(), action)
    if returned is not None and action is not None and context.window.outcome != "empty":
        if context.known.is_ambiguous(actor):
            return _unless_for_a_namesake(actor, [action, returned], [Hypothesis(Cause.SESSION_TIMEOUT, weights.EXPIRED.value, first)])
        sure = (weights.EXPIRED_SOMETIME_AND_SEEN_BACK if doubt_us(action) else weights.EXPIRED_AND_SEEN_BACK).value
        again = [action, returned, *restarts(context, actor)]
        return [Hypothesis(Cause.MEMBER_RESTART, sure, again), Hypothesis(Cause.SESSION_TIMEOUT, 1 - sure, first)]
    if action is not None and is_echo(context.phase, context.timeouts, action):
        return [Hypothesis(cause, share, first) for cause, share in weights.ECHO_OF_EVICTION.of.items()]
    sure = (weights.EXPIRED_SOMETIME if action is not None and doubt_us(action) else weights.EXPIRED).value
    return _unless_it_returned(context, action, [Hypothesis(Cause.SESSION_TIMEOUT, sure, first)], weights.EXPIRED_AND_RETURNED.value)


def _all_expired(
    phase: LoggedJoinPhase,
    departures: DepartedMembers,
    known: GroupKnowledge,
    expiries: Collection[MemberAction],
    action: MemberAction | None,
) -> list[MemberAction]:
    """Members whose sessions ran out, that of the rebalance's reason in front.

    Of a name that several clients have, each member id is another member.
    """
    all_expired = [other for other in phase.actions_of(ActionKind.EXPIRE) if departures.is_effective(other)]
    named = {other.member_id: other for other in all_expired if known.is_ambiguous(phase.actor(other))}
    named |= {other.member_id: other for other in expiries}
    if action is None:
        return sorted(named.values(), key=lambda other: other.at)
    actor = phase.actor(action)
    by_id = known.is_ambiguous(actor)
    if action.member_id not in named and (by_id or all(phase.actor(other) != actor for other in expiries)):
        named[action.member_id] = action

    def is_another(other: MemberAction) -> bool:
        return other.member_id != action.member_id if by_id else phase.actor(other) != actor

    return sorted(named.values(), key=lambda other: (is_another(other), other.at))
