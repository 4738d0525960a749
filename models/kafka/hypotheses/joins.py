"""Why members join: the first of a group, a new one, one that came back, or one that joins again unasked."""

from __future__ import annotations

from models.causes import Cause
from models.downtime import is_cooperative
from models.events import Witness
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses import priors
from models.kafka.hypotheses.hypothesis import CLIENT_LOG, EARLIER_LINES, LOOK_BACK_US, PROMPT_US, Opinion, Settles, with_first
from models.kafka.hypotheses.timeouts import ends_planned_delay, follows_load
from models.kafka.hypotheses.window import Case
from models.kafka.observations.actions import Act, Deed
from models.kafka.observations.tolerances import CLOCK_TOLERANCE_US
from models.units import US_PER_MS

INITIAL_DELAY_OVERRUN = 0.03
"""By this share of it a join phase may last longer than the steps of the initial delay that end it."""

FOLLOWUP_US = 3_000_000
"""A cooperative follow-up starts as soon as the members have revoked: at their next poll after the assignment."""


def joined(case: Case, act: Act | None) -> list[Opinion]:
    """A new member asked to join: the first of its group, an old acquaintance, or one more."""
    joiners = case.joiners
    acts = with_first(act, joiners.values(), case)
    if case.was_empty:
        return [Opinion(Cause.NEW_GROUP, priors.FIRST_MEMBER.value, acts)]
    actor = case.actor(act) if act else None
    went = case.gone.get(actor) if act and actor and not case.is_ambiguous(actor) else None
    if act is not None and went is not None and not went_as_it_came(case, act, went):
        restarted, joins = (priors.CAME_BACK[cause] for cause in (Cause.MEMBER_RESTART, Cause.MEMBER_JOIN))
        return [
            Opinion(Cause.MEMBER_RESTART, restarted, [*acts[:1], went, *restarts(case, actor)]),
            Opinion(Cause.MEMBER_JOIN, joins, acts),
        ]
    if case.draft.witness is Witness.CLIENT and act is not None and actor in case.members_before and not case.is_ambiguous(actor):
        return [Opinion(cause, share, acts) for cause, share in priors.RETURNED_UNSEEN.of.items()]
    if case.draft.state_before is None and not case.members_before:
        return _joined_in_unknown_state(case, acts)
    told = bool(case.reason_id or (act and act.at >= case.start - PROMPT_US))
    twice = bool(case.known.clients or case.known.requests)
    basis = (priors.JOIN_UNTOLD if not told else priors.JOIN_TOLD_TWICE if twice else priors.JOIN_TOLD).value
    return [Opinion(Cause.MEMBER_JOIN, basis, acts), Opinion(Cause.MEMBER_RESTART, (1 - basis) / 2, acts)]


def went_as_it_came(case: Case, came: Act, went: Act) -> bool:
    """Who went is the very member that had come, and not its former self: it was stopped before it got an assignment."""
    are_named = bool(came.member_id and went.member_id)
    return came.member_id == went.member_id if are_named else came.at < went.at and case.actor(came) not in case.members_before


def restarts(case: Case, but: str | None) -> list[Act]:
    """Acts of all members but one that left and came back meanwhile."""
    acts: list[Act] = []
    for actor, came in case.joiners.items():
        went = case.gone.get(actor)
        if went is not None and actor != but and not case.is_ambiguous(actor) and not went_as_it_came(case, came, went):
            acts += [came, went]
    return acts


def _joined_in_unknown_state(case: Case, acts: list[Act]) -> list[Opinion]:
    """The log begins mid-life: an initial delay, or members that all are new, tell a group that was empty.

    Each further step of the delay takes another member that joins, and only the Java coordinator waits so above generation 0.
    """
    duration = (case.draft.open_until or case.start) - case.start
    delay = case.facts.initial_delay_ms * US_PER_MS
    steps = duration // delay if delay else 0
    initial = 1 <= steps <= max(1, len(acts)) and duration - steps * delay <= delay * INITIAL_DELAY_OVERRUN
    members_after = case.draft.members_after
    alone = members_after == 1 or (members_after is not None and len(acts) >= members_after)
    likely = (priors.AS_FROM_EMPTY if initial or alone else priors.MID_LIFE).value
    return [
        Opinion(Cause.NEW_GROUP, likely, acts, EARLIER_LINES),
        Opinion(Cause.MEMBER_JOIN, 1 - likely, acts, EARLIER_LINES),
    ]


_REJOIN_WHY: tuple[tuple[str, Cause], ...] = (
    # ConsumerCoordinator.rejoinNeededOrPending and onJoinComplete; wording since 2.7, sent to the broker since 3.2.
    ("need to revoke partitions", Cause.COOPERATIVE_FOLLOWUP),
    ("followup rebalance", Cause.COOPERATIVE_FOLLOWUP),  # StreamThread: tasks to hand over, or a probe of warm-up
    ("probing rebalance", Cause.COOPERATIVE_FOLLOWUP),  # StreamThread: tasks that have warmed up may move (KIP-441)
    ("cached metadata has changed", Cause.METADATA_CHANGE),
    ("assignment metadata has changed", Cause.METADATA_CHANGE),
    ("partitions changed", Cause.METADATA_CHANGE),  # as the catalogue words it for Sarama, kafkajs and kafka-go
    ("subscription has changed", Cause.SUBSCRIPTION_CHANGE),
)

CONNECT_REJOIN = "connect worker requested rejoin"
"""Words of WorkerCoordinator.

A connector was changed, or the delay after a departure is over (KIP-415).
"""

_REJOIN_AFTER_TROUBLE = (
    "rebalance failed due to",
    "encountered ",
    "group is already rebalancing",
    "need to re-join with the given member-id",
    "rejoining after we previously errored",  # franz-go, consumer_group.go
)


def rejoined(case: Case, act: Act | None) -> list[Opinion]:
    """A member sent JoinGroup again unasked: its topics, their partitions or its assignment changed."""
    actor = case.actor(act) if act else None
    acts = [act] if act else []
    if _work_is_due(case):
        return [Opinion(Cause.COOPERATIVE_FOLLOWUP, priors.WORK_DUE.value, told_by=acts)]
    why = _why_rejoin(case, actor, act)
    unexplained = why is None or why == "not provided" or why.startswith(_REJOIN_AFTER_TROUBLE)
    if unexplained and follows_load(case) and not _subscribed(case, actor):
        return _back_after_load(acts)
    cause = next((cause for fixed, cause in _REJOIN_WHY if why and fixed in why), None)
    if cause is Cause.COOPERATIVE_FOLLOWUP:
        return [Opinion(cause, priors.FOLLOWUP_TOLD.value, _rejoiners(case, acts))]
    if cause is Cause.METADATA_CHANGE:
        told = priors.METADATA_TOLD.value
        return [Opinion(cause, told, acts), Opinion(Cause.SUBSCRIPTION_CHANGE, 1 - told, acts)]
    if why and CONNECT_REJOIN in why:
        shares = priors.CONNECT_PLANNED if ends_planned_delay(case) else priors.CONNECT_REJOIN
        return [Opinion(each, share, acts, CLIENT_LOG) for each, share in shares.of.items()]
    if why and cause is None and why != "not provided" and not why.startswith(_REJOIN_AFTER_TROUBLE):
        return [Opinion(Cause.UNKNOWN, priors.OWN_REASON.value, acts, Settles.APPLICATION)]
    return _topics_or_metadata(case, actor, acts, said_subscription=cause is Cause.SUBSCRIPTION_CHANGE)


def _work_is_due(case: Case) -> bool:
    """Whether Connect's wait for a lost worker ends here (IncrementalCooperativeAssignor, scheduled.rebalance.max.delay.ms)."""
    return any(-CLOCK_TOLERANCE_US <= case.start - due <= FOLLOWUP_US for due in case.known.work_due_at)


def _back_after_load(acts: list[Act]) -> list[Opinion]:
    """A live member rejoins at the new coordinator: nobody's offence."""
    shares = priors.BACK_AFTER_LOAD.of
    return [Opinion(cause, share, [] if cause is Cause.COORDINATOR_FAILOVER else acts) for cause, share in shares.items()]


def _why_rejoin(case: Case, actor: str | None, act: Act | None) -> str | None:
    """The reason that the member gave to the coordinator, else the one in its own log."""
    if act is not None and act.why and act.why != "not provided":
        return act.why
    until = (act.at if act else case.start) + CLOCK_TOLERANCE_US
    wishes = [a for a in case.deeds(Deed.WANTS_REJOIN, end=until) if case.actor(a) == actor and until - a.at <= LOOK_BACK_US]
    return wishes[0].why if wishes else None


def _rejoiners(case: Case, first: list[Act]) -> list[Act]:
    """All members that rejoin to give up partitions; the first one starts the follow-up."""
    actors = {case.actor(act) for act in first}
    more = []
    for act in case.deeds(Deed.WANTS_REJOIN):
        if act.why and "need to revoke partitions" in act.why and case.actor(act) not in actors:
            actors.add(case.actor(act))
            more.append(act)
    return first + more


def _settled_at(case: Case) -> int:
    return case.draft.previous_ended_at or case.phase_began


def _subscribed(case: Case, actor: str | None) -> bool:
    """Whether the member subscribed since the last rebalance."""
    calls = case.deeds(Deed.SUBSCRIBE, start=_settled_at(case), end=case.start + CLOCK_TOLERANCE_US)
    return any(case.actor(act) == actor for act in calls)


def _topics_or_metadata(case: Case, actor: str | None, acts: list[Act], *, said_subscription: bool) -> list[Opinion]:
    """Without a telling reason: did the application subscribe, did a topic change, or is it a second phase?"""
    since = _settled_at(case)
    if _subscribed(case, actor):
        told = priors.SUBSCRIBED.value
        return [Opinion(Cause.SUBSCRIPTION_CHANGE, told, acts), Opinion(Cause.METADATA_CHANGE, 1 - told, acts)]
    changed = bool(case.facts.topic_changes_between(since, case.start))
    if said_subscription:
        holds = (case.has_client_log(actor) and changed, actor in case.known.patterns, changed, True)
        by_metadata = next(prior.value for prior, true in zip(priors.SAID_SUBSCRIPTION_CHANGED, holds, strict=True) if true)
        return [Opinion(Cause.METADATA_CHANGE, by_metadata, acts), Opinion(Cause.SUBSCRIPTION_CHANGE, 1 - by_metadata, acts)]
    if _may_follow_up(case):
        sure = (priors.FOLLOWUP_COOPERATIVE if _is_cooperative(case) else priors.FOLLOWUP).value
        return [
            Opinion(Cause.COOPERATIVE_FOLLOWUP, sure, _rejoiners(case, acts)),
            Opinion(Cause.SUBSCRIPTION_CHANGE, (1 - sure) / 2, acts, CLIENT_LOG),
            Opinion(Cause.METADATA_CHANGE, (1 - sure) / 2, acts, CLIENT_LOG),
        ]
    by_metadata = (priors.TOPIC_CHANGED if changed else priors.NO_TOPIC_CHANGED).value
    return [
        Opinion(Cause.METADATA_CHANGE, by_metadata, acts, CLIENT_LOG),
        Opinion(Cause.SUBSCRIPTION_CHANGE, priors.SUBSCRIBED.value - by_metadata, acts, CLIENT_LOG),
    ]


def _may_follow_up(case: Case) -> bool:
    """The rebalance before has just ended and moved partitions between members."""
    previous, ended = case.previous, case.draft.previous_ended_at
    if previous is None or ended is None or previous.outcome != "stable" or previous.state_before is State.EMPTY:
        return False
    return 0 <= case.start - ended <= FOLLOWUP_US and _eager_is_excluded(case)


def _eager_is_excluded(case: Case) -> bool:
    assignor = case.known.assignors.get(case.draft.generation_before or -1)
    return assignor is None or is_cooperative(assignor)


def _is_cooperative(case: Case) -> bool:
    return is_cooperative(case.known.assignors.get(case.draft.generation_before or -1))
