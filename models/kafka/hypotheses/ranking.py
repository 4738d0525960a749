"""Rank the causes that may have started a rebalance.

If the coordinator printed a reason, the rule for that reason proposes hypotheses. If not, the rule for the action that
triggered the rebalance does, and if there is none either, elimination. The best hypothesis is the verdict, the others are
its alternatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from models import weights
from models.causes import Cause
from models.events import Witness, int_field, text_field
from models.kafka.hypotheses.context.arrived_members import ArrivedMembers
from models.kafka.hypotheses.context.assignment_write import NOT_STORED
from models.kafka.hypotheses.context.departed_members import DepartedMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.context.stated_reasons import named_action, reason_id_in, reason_in
from models.kafka.hypotheses.elimination import (
    by_elimination,
    start_not_seen,
)
from models.kafka.hypotheses.hypothesis import EARLIER_LINES, LOOK_BACK_US, PROMPT_US, REQUEST_LOG, Hypothesis
from models.kafka.hypotheses.joins import back_after_silence, propose_join, silent_before
from models.kafka.hypotheses.missed_syncs import by_missed_syncs
from models.kafka.hypotheses.removals import by_removed_members
from models.kafka.hypotheses.rules_by_trigger import RULES_BY_ACTION, RULES_BY_REASON, store_failed
from models.kafka.hypotheses.unlogged_members import unless_others_began
from models.kafka.observations.actions import (
    JOIN_REQUESTS,
    ActionKind,
    MemberAction,
    doubt_us,
    has_only_given_id,
    is_given_id,
    is_rebalance_notice,
    is_refused_sync,
    says_group_went_on,
    says_old_generation,
    says_unknown_member,
)
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US, HEARD_US, STAMP_US, stamp_width_us
from models.tolerances import STORE_TIMEOUT_US, float_tolerance, int_tolerance

EXPIRY_LAG_US = int_tolerance("kafka.ranking.expiry_lag_us")
"""Maximum time of an expiry's line before "Preparing" on busy brokers."""

SENT_LATER_US = int_tolerance("kafka.ranking.sent_later_us")
"""Maximum delay of a request's line in its client's log."""

MAX_CONFIDENCE = float_tolerance("kafka.hypothesis.surest")
RIVAL_MIN = float_tolerance("kafka.hypothesis.rival_min")
"""Rivals less likely than this are not named."""

_PARTS = 10_000
"""Resolution of confidences: parts of one."""


@dataclass(slots=True)
class Ranking:
    """The hypotheses on one rebalance, best first.

    Probabilities add up to at most one.
    """

    hypotheses: list[Hypothesis]
    trigger: MemberAction | None = None

    def shares(self) -> tuple[float, dict[str, float]]:
        """Confidence of the best hypothesis, and its rivals by cause.

        Rounded, they are together no surer than certain.
        """
        sure = round(min(self.best.probability, MAX_CONFIDENCE) * _PARTS)
        left, rivals = _PARTS - sure, {}
        for hypothesis in self.hypotheses[1:]:
            if hypothesis.probability >= RIVAL_MIN:
                share = min(round(hypothesis.probability * _PARTS), left)
                left, rivals[hypothesis.cause.value] = left - share, share / _PARTS
        return sure / _PARTS, rivals

    @property
    def best(self) -> Hypothesis:
        """The likeliest."""
        return self.hypotheses[0]


def rank(context: RebalanceContext) -> Ranking:
    """Judge what started the rebalance."""
    hypotheses, trigger = _hypotheses(context)
    if trigger is not None:
        hypotheses = _among_unordered(context, trigger, hypotheses)
    if context.window.witness is Witness.CLIENT:
        hypotheses = unless_others_began(context, trigger, hypotheses)
    ranked = sorted((o for o in hypotheses if o.probability > 0), key=lambda o: -o.probability)
    total = sum(o.probability for o in ranked)
    if total > 1:
        for hypothesis in ranked:
            hypothesis.probability /= total
    return Ranking(ranked or [Hypothesis(Cause.UNKNOWN, weights.UNEXPLAINED.value)], trigger)


def _among_unordered(context: RebalanceContext, trigger: MemberAction, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Weigh a trigger against requests and expiries that a log does not order.

    A request log tells when a session ended by the last answer alone, whose stamp is rounded as those of requests are. Sessions that
    were renewed by the same answer end at once, too. Where another coordinator took over, sessions began anew at an unknown time. A
    request whose write is not confirmed in time is refused, and may be written all the same (CoordinatorRuntime, scheduleWriteOperation).
    """
    if reason_id_in(context.window.started) or context.phase.was_empty:
        return hypotheses
    rivals = _of_the_same_moment(context, trigger)
    shares = [(rival, 1 / (1 + len(rivals))) for rival in rivals] or list(_earlier_expiries(context, trigger))
    shares = shares or [(request, weights.WRITTEN_LATE.value) for request in _unwritten_requests(context.phase, trigger)][:1]
    shares = shares or [(request, weights.NEVER_ANSWERED.value) for request in _unanswered_requests(context, trigger)][:1]
    return _mixed(context, hypotheses, shares) if shares else hypotheses


def _mixed(context: RebalanceContext, hypotheses: list[Hypothesis], shares: list[tuple[MemberAction, float]]) -> list[Hypothesis]:
    """Hypotheses, and those on rivals with their shares, by cause."""
    by_cause: dict[Cause, Hypothesis] = {}
    of_rivals = [(RULES_BY_ACTION[rival.kind](context, rival), share) for rival, share in shares]
    for hypotheses_of_one, share in ((hypotheses, 1 - sum(share for _, share in shares)), *of_rivals):
        for hypothesis in hypotheses_of_one:
            total = by_cause.setdefault(hypothesis.cause, replace(hypothesis, probability=0.0))
            total.probability += hypothesis.probability * share
    return list(by_cause.values())


def _of_the_same_moment(context: RebalanceContext, trigger: MemberAction) -> list[MemberAction]:
    """Requests and expiries at the moment of a trigger."""
    phase, is_expiry = context.phase, trigger.kind is ActionKind.EXPIRE
    kinds = (ActionKind.JOIN, ActionKind.REJOIN, ActionKind.LEAVE, ActionKind.EXPIRE) if is_expiry else (ActionKind.EXPIRE,)
    near = phase.actions_of(*kinds, start=trigger.at - STAMP_US - 1, end=trigger.at + STAMP_US)
    by_requests = (action for action in near if Witness.REQUEST is action.event.witness is trigger.event.witness)
    others = (action for action in by_requests if action.member_id != trigger.member_id or action.kind is not trigger.kind)
    return [
        action for action in others if context.members.is_new(action) or (action.kind in _GONE and context.departures.is_effective(action))
    ]


def _earlier_expiries(context: RebalanceContext, trigger: MemberAction) -> Iterator[tuple[MemberAction, float]]:
    """Expiries whose times are in doubt, and how likely each was the first act.

    A session may have ended at any time in doubt; of several, each is as likely the first.
    """
    expiries = context.phase.actions_of(ActionKind.EXPIRE, start=trigger.at + 1)
    in_doubt = [expiry for expiry in expiries if expiry.at - doubt_us(expiry) < trigger.at and context.departures.is_effective(expiry)]
    of_others = [expiry for expiry in in_doubt if expiry.member_id != trigger.member_id]
    chances = [1 - (expiry.at - trigger.at) / doubt_us(expiry) for expiry in of_others]
    any_before = 1 - prod(1 - chance for chance in chances)
    for expiry, chance in zip(of_others, chances, strict=True):
        yield expiry, any_before * chance / sum(chances)


def _unwritten_requests(phase: LoggedJoinPhase, trigger: MemberAction) -> Iterator[MemberAction]:
    """Others' earlier requests to join whose writes were not confirmed in time."""
    if trigger.event.witness is not Witness.CLIENT or trigger.kind not in JOIN_REQUESTS:
        return
    requests: dict[str | None, MemberAction] = {}
    others = (
        action
        for action in phase.actions_of(*JOIN_REQUESTS, ActionKind.JOIN_FAILED, end=trigger.at)
        if phase.actor(action) != phase.actor(trigger)
    )
    for action in others:
        actor, request = phase.actor(action), requests.pop(phase.actor(action), None)
        if action.kind in JOIN_REQUESTS:
            requests[actor] = action
        elif request is not None and NOT_STORED in (action.why or "") and action.at - request.at >= STORE_TIMEOUT_US:
            yield request


def _unanswered_requests(context: RebalanceContext, trigger: MemberAction) -> Iterator[MemberAction]:
    """Others' earlier requests to join, whose answers did not reach them.

    By members' logs: a new process hears nothing until it loses the coordinator, which may have the request.
    """
    phase, until = context.phase, context.window.open_until
    if context.window.witness is not Witness.CLIENT or until is None:
        return
    since = max(phase.previous_end, phase.start - HEARD_US)
    for request in phase.actions_of(ActionKind.JOIN, start=since, end=trigger.at):
        actor = phase.actor(request)
        after = next((action for action in phase.since(request.at) if action is not request and phase.actor(action) == actor), None)
        is_unanswered = after is not None and after.at > until and after.kind is ActionKind.LOST_COORDINATOR
        if is_unanswered and actor != phase.actor(trigger) and context.members.is_new(request):
            yield request


_GONE = frozenset({ActionKind.LEAVE, ActionKind.EXPIRE})


def _hypotheses(context: RebalanceContext) -> tuple[list[Hypothesis], MemberAction | None]:
    by_reason, line = RULES_BY_REASON.get(reason_id_in(context.window.started) or ""), context.window.started
    if by_reason is not None and line is not None:
        action = named_action(line)
        return by_reason(context, action), action
    if context.window.started is None and not context.phase.was_empty:
        return start_not_seen(context), None
    removed = by_removed_members(context) if context.window.outcome == "empty" or _begins_with_removal(context.phase) else []
    if removed:
        return removed, None
    trigger = find_trigger(context)
    if trigger is not None and _begins_amid(context, trigger):
        return start_not_seen(context), None
    has_returned = trigger is not None and trigger.kind is ActionKind.REJOIN and not context.members.is_new(trigger)
    nobody_before = trigger is None or has_returned or trigger.at > context.phase.start
    is_told = context.write.is_told_by_requests or (context.window.witness is Witness.CLIENT and context.write.was_given_up)
    if is_told or (nobody_before and context.write.has_failed_silently):
        return store_failed(context, None), None
    if nobody_before and context.write.may_have_failed_in_trouble:
        return [Hypothesis(cause, share, settled_by=REQUEST_LOG) for cause, share in weights.STORE_FAILED_IN_TROUBLE.of.items()], None
    if (
        trigger is not None
        and (trigger.at > context.phase.start or _meets_a_failing_write(context, trigger))
        and context.write.may_have_failed
        and not _has_own_reason(context.phase, trigger)
    ):
        return [Hypothesis(cause, share, settled_by=REQUEST_LOG) for cause, share in weights.STORE_FAILED_AT_ONCE.of.items()], None
    if missed := by_missed_syncs(context.phase, context.members, context.timeouts):
        return missed, None
    if trigger is not None:
        rule = propose_join if context.phase.was_empty else RULES_BY_ACTION[trigger.kind]  # only a first member moves a group out of Empty
        return _unless_others_expired(context, trigger, rule(context, trigger)), trigger
    return by_elimination(context), None


def _meets_a_failing_write(context: RebalanceContext, trigger: MemberAction) -> bool:
    """Whether a client asks just as one more write fails."""
    return trigger.at == context.phase.start and trigger.event.witness is Witness.CLIENT and context.write.fails_in_a_row


def _begins_amid(context: RebalanceContext, trigger: MemberAction) -> bool:
    """Whether all that shows the start is a member whose log begins there.

    Why it joins, for the first time or again, stands in lines before.
    """
    if context.window.witness is not Witness.CLIENT or trigger.kind not in {ActionKind.JOIN, ActionKind.REJOIN}:
        return False
    if context.window.generation_before == 0 or context.phase.was_empty:
        return False
    actor, phase = context.phase.actor(trigger), context.phase
    began = context.known.begins_amid.get(actor or "")
    if began is None or not phase.previous_end <= began <= trigger.at or _was_in_earlier_generation(context, actor):
        return False
    if context.known.clients - {actor}:
        return False  # logs of others show what they did before
    answers = phase.actions_of(ActionKind.WANTS_REJOIN, ActionKind.JOIN_FAILED, start=trigger.at)
    return not any(phase.actor(answer) == actor and is_given_id(answer) for answer in answers)


def _was_in_earlier_generation(context: RebalanceContext, actor: str | None) -> bool:
    """Whether its log shows a generation of a member before the rebalance."""
    before = context.window.generation_before
    generations = context.known.generations.items()
    return before is not None and any(actor in members for generation, members in generations if generation <= before)


def _unless_others_expired(context: RebalanceContext, trigger: MemberAction, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Weigh what a member did against others that were gone by then.

    Had they been members still, the join phase would have waited for them.
    """
    phase, departures = context.phase, context.departures
    is_rejoin = trigger.kind is ActionKind.REJOIN and not context.members.is_new(trigger)
    silent = silent_before(phase, departures) if is_rejoin or trigger.kind is ActionKind.LEAVE else []
    until, back = trigger.at + CLOCK_TOLERANCE_US, [] if phase.was_empty else back_after_silence(phase, departures, trigger)
    if not silent:
        shares = weights.MOVED_AS_ONE_CAME_BACK.of if back else {}
    elif any(answer.at <= until and phase.actor(answer) in context.members.before for answer in departures.told_unknown.values()):
        shares = weights.LEFT_AFTER_ONE_UNKNOWN.of
    else:
        shares = (weights.REJOINED_AFTER_EXPIRY if is_rejoin else weights.LEFT_AFTER_EXPIRY).of
    for hypothesis in hypotheses:
        hypothesis.probability *= 1 - sum(shares.values())
    of = {Cause.SESSION_TIMEOUT: [replace(action, kind=ActionKind.EXPIRE) for action in silent]}
    return [*hypotheses, *(Hypothesis(cause, share, of.get(cause, silent or back), EARLIER_LINES) for cause, share in shares.items())]


def _has_own_reason(phase: LoggedJoinPhase, request: MemberAction) -> bool:
    """Whether a member asks because of what it wished or gave up."""
    actor = phase.actor(request)
    reasons = phase.actions_of(ActionKind.WANTS_REJOIN, ActionKind.REVOKE, start=phase.start - 1, end=request.at)
    return any(phase.actor(reason) == actor for reason in reasons)


def _begins_with_removal(phase: LoggedJoinPhase) -> bool:
    """Whether a member was put out.

    It is in the generation after the next, or in none that is known.
    """
    if phase.window.witness is not Witness.CLIENT or phase.window.outcome not in {"superseded", "open"}:
        return False
    shown = [*filter(says_unknown_member, phase.all_of(ActionKind.FENCED))]
    if phase.window.outcome == "open":
        shown += (*phase.all_of(ActionKind.LOST), *filter(says_group_went_on, phase.all_of(ActionKind.COMMIT_REFUSED)))
    return any(action.at == phase.start for action in shown)


# -- the trigger, where the coordinator names none ----------------------------------------------------------


def find_trigger(context: RebalanceContext) -> MemberAction | None:
    """The action that the coordinator answered with "Preparing".

    Needed for versions that print no reason (before 2.1). An expiry decides, because it is the coordinator's own. Otherwise
    it is the earliest request that came promptly before the line, or else the last one before it. A member that rejoins
    because the coordinator asked it to triggers nothing.
    """
    start = context.phase.start
    expiry = [
        action
        for action in context.phase.actions_of(ActionKind.EXPIRE, end=start)
        if start - action.at <= EXPIRY_LAG_US and context.departures.is_effective(action)
    ]
    if expiry:
        return expiry[0]
    candidates = [
        action
        for action in (
            *context.arrivals.late,
            *context.phase.actions_of(
                ActionKind.JOIN, ActionKind.LEAVE, ActionKind.REJOIN, ActionKind.REPLACE, end=start + CLOCK_TOLERANCE_US
            ),
        )
        if _may_trigger(context, action)
    ]
    prompt = [action for action in candidates if start - action.at <= PROMPT_US]
    if prompt:
        return _as_requested(context.phase, min(prompt, key=lambda action: action.at), prompt)
    late = [action for action in candidates if action.kind is not ActionKind.REJOIN]
    return max(late, key=lambda action: action.at) if late and start - late[-1].at <= 2 * EXPIRY_LAG_US else None


def _as_requested(phase: LoggedJoinPhase, first: MemberAction, actions: list[MemberAction]) -> MemberAction:
    """The same action by the request log, if it tells that too.

    A client's log does not say under which id it asks, nor when the coordinator heard of it: other requests may have come before.
    """
    if first.event.witness is not Witness.CLIENT:
        return first
    requests = [action for action in actions if action.event.witness is Witness.REQUEST and abs(action.at - first.at) <= CLOCK_TOLERANCE_US]
    request = next((action for action in requests if phase.actor(action) == phase.actor(first)), None)
    return first if request is None else min((action for action in requests if action.at <= request.at), key=lambda action: action.at)


def _may_trigger(context: RebalanceContext, action: MemberAction) -> bool:
    phase = context.phase
    is_request = action.kind in {ActionKind.JOIN, ActionKind.REJOIN}
    if is_request and (_was_refused_before(phase, action) or _was_sent_later(phase, action) or _is_asked_for_its_id(action)):
        return False
    if context.arrivals.was_readmitted(action):
        return False
    is_earlier = action.at <= phase.previous_end and action.event.witness is Witness.CLIENT
    if is_earlier and action.kind is ActionKind.REJOIN and _was_told(phase, action):
        return False
    if action.kind is ActionKind.REJOIN and not context.members.is_new(action):
        return not (
            _was_told(context.phase, action)
            or _follows_others(context.phase, context.arrivals, context.departures, action)
            or _is_of_the_next(context.phase, action)
        )
    if action.kind is ActionKind.JOIN and action.member_id is None and context.phase.actor(action) in context.members.before:
        return True
    if action.kind is not ActionKind.LEAVE:
        return True
    if (
        context.members.has_missed_generation(action)
        or context.members.is_of_the_generation(action)
        or _was_refused_a_sync(context.phase, action)
    ):
        return False
    return not context.members.before or context.phase.actor(action) in context.members.before


def _was_refused_a_sync(phase: LoggedJoinPhase, leave: MemberAction) -> bool:
    """Whether a member had heard of the rebalance before it left."""
    refusals = (action for action in phase.all_of(ActionKind.SYNC_FAILED) if phase.previous_end < action.at <= leave.at)
    return any(is_refused_sync(action) and phase.actor(action) == phase.actor(leave) for action in refusals)


def _was_sent_later(phase: LoggedJoinPhase, request: MemberAction) -> bool:
    """Whether a client asked after the coordinator had begun.

    The client's clock is ahead by no more than its line about the answer lies behind the coordinator's about the end of the join phase.
    """
    window, joined_at = phase.window, phase.window.joined_at
    if request.event.witness is not Witness.CLIENT or window.witness is not Witness.COORDINATOR or joined_at is None:
        return False
    answers = phase.actions_of(ActionKind.JOINED, start=request.at, end=joined_at + CLOCK_TOLERANCE_US)
    actor = phase.actor(request)
    behind = [
        answer.at - joined_at
        for answer in answers
        if answer.event.witness is Witness.CLIENT and answer.generation == window.generation_after and phase.actor(answer) == actor
    ]
    return bool(behind) and request.at - phase.start > min(behind) + stamp_width_us(request.at) + SENT_LATER_US


def _was_refused_before(phase: LoggedJoinPhase, action: MemberAction) -> bool:
    """Whether the JoinGroup was refused before the rebalance began.

    Another one must have started it then.
    """
    if action.event.witness is Witness.REQUEST:
        return action.event.time_us < phase.start and bool(int_field(action.event, "error_code")) and not has_only_given_id(action)
    actor = phase.actor(action)
    if (request := _request_of(phase, action)) is not None:
        return _was_refused_before(phase, request)
    failures = (
        phase.actions_of(ActionKind.JOIN_FAILED, start=action.at - 1, end=phase.start - 1) if action.event.witness is Witness.CLIENT else ()
    )
    return any(phase.actor(failure) == actor and not has_only_given_id(failure) for failure in failures)


def _is_asked_for_its_id(request: MemberAction) -> bool:
    """Whether the coordinator answered with a member id alone, which changes no group (KIP-394)."""
    return request.event.witness is Witness.REQUEST and has_only_given_id(request)


def _request_of(phase: LoggedJoinPhase, action: MemberAction) -> MemberAction | None:
    """The request that a client's line announces, by the request log."""
    if action.event.witness is not Witness.CLIENT:
        return None
    actor, since, until = phase.actor(action), action.at - CLOCK_TOLERANCE_US - 1, action.at + CLOCK_TOLERANCE_US
    requests = phase.actions_of(ActionKind.JOIN, ActionKind.REJOIN, start=since, end=until)
    of_actor = (request for request in requests if request.event.witness is Witness.REQUEST and phase.actor(request) == actor)
    return min(of_actor, key=lambda request: abs(request.at - action.at), default=None)


def _follows_others(phase: LoggedJoinPhase, arrivals: ArrivedMembers, departures: DepartedMembers, action: MemberAction) -> bool:
    """Whether a member without a reason of its own follows others.

    Not every library logs that it heard of a rebalance.
    """
    if phase.window.witness is not Witness.CLIENT or not (arrivals.inferred or departures.inferred or departures.by_actor):
        return False
    actor, since = phase.actor(action), phase.previous_end
    return not any(
        phase.actor(wish) == actor
        for wish in phase.actions_of(ActionKind.WANTS_REJOIN, ActionKind.SUBSCRIBE, start=since, end=action.at)
        if not is_rebalance_notice(wish)
    )


def _was_told(phase: LoggedJoinPhase, action: MemberAction) -> bool:
    """Whether the coordinator told the member to rejoin, after its last join.

    franz-go logs its own wish as a heartbeat that was refused: what comes first counts.
    """
    actor = phase.actor(action)
    joined = max(
        (a.at for a in phase.all_of(ActionKind.JOINED) if phase.actor(a) == actor and a.at < action.at),
        default=phase.previous_end,
    )
    heard = (a for a in phase.actions if joined <= a.at <= action.at and phase.actor(a) == actor)
    first = next((a for a in heard if _is_notice(a) or a.kind is ActionKind.WANTS_REJOIN), None)
    return first is not None and _is_notice(first)


def _is_notice(action: MemberAction) -> bool:
    """Whether an answer told a member of a rebalance."""
    is_refused = is_refused_sync(action) or (action.kind is ActionKind.SYNC_FAILED and action.why == "REBALANCE_IN_PROGRESS")
    return is_rebalance_notice(action) or is_refused or says_old_generation(action)


def _is_of_the_next(phase: LoggedJoinPhase, action: MemberAction) -> bool:
    """Whether the member had joined this rebalance's generation already."""
    generation = phase.window.generation_after
    return generation is not None and any(
        joined.generation == generation and joined.at < action.at and phase.actor(joined) == phase.actor(action)
        for joined in phase.actions_of(ActionKind.JOINED, end=action.at)
    )


def trigger_text(phase: LoggedJoinPhase, judgement: Ranking) -> str | None:
    """The coordinator's printed reason, else the starting action's line."""
    if reason_in(phase.window.started):
        return reason_in(phase.window.started)
    wished = _wished(phase, judgement.trigger) if phase.window.witness is Witness.CLIENT else None
    if wished is not None:
        return f"client reason: {wished}"
    if judgement.trigger is not None:
        return text_field(judgement.trigger.event, "reason") or judgement.trigger.event.text[:300] or None
    return None


def _wished(phase: LoggedJoinPhase, action: MemberAction | None) -> str | None:
    """Why who began a rebalance wished to rejoin, by its own log."""
    if action is None or action.kind not in {ActionKind.REJOIN, ActionKind.WANTS_REJOIN}:
        return None
    actor, since = phase.actor(action), action.at - LOOK_BACK_US
    wishes = phase.actions_of(ActionKind.WANTS_REJOIN, start=since, end=action.at + 1)
    return next((wish.why for wish in reversed(list(wishes)) if phase.actor(wish) == actor), None)
