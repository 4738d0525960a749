"""Why members join.

The first of a group, a new one, one that came back, or one that joins again unasked.
"""

from __future__ import annotations

from models import weights
from models.causes import Cause
from models.downtime import is_cooperative
from models.events import Witness, text_field
from models.incidents.refusals import is_of_assignor
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.runtime.version_policy import parse_version
from models.kafka.hypotheses.hypothesis import (
    CLIENT_LOG,
    EARLIER_LINES,
    INITIAL_DELAY_OVERRUN,
    LOOK_BACK_US,
    PROMPT_US,
    DecidingEvidence,
    Hypothesis,
)
from models.kafka.hypotheses.timeouts import ends_planned_delay, ends_probing_interval, follows_load, phase_deadline_us
from models.kafka.hypotheses.window import RebalanceContext
from models.kafka.observations.actions import ActionKind, MemberAction, gives_up_some, is_rebalance_notice, is_unknown_as_it_joins
from models.kafka.observations.knowledge import CONNECT
from models.kafka.observations.libraries import JAVA
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.tolerances import PHASE_OVERRUN_US, whole
from models.units import US_PER_MS

COOPERATIVE_SINCE = (2, 4)
"""First clients with a cooperative assignor (KIP-429)."""

FOLLOWUP_US = whole("kafka.joins.followup_us")
"""Longest time from an assignment to its cooperative follow-up.

Members revoke at their next poll after the assignment.
"""


def propose_join(context: RebalanceContext, action: MemberAction | None) -> list[Hypothesis]:
    """Weigh why a new member joined.

    The first of its group, an old acquaintance, or one more.
    """
    joiners = context.joiners
    actions = context.trigger_first(action, joiners.values())
    if context.was_empty:
        return first_of_empty(context, actions, weights.FIRST_MEMBER.value)
    actor = context.actor(action) if action else None
    may_be_back = action is not None and actor is not None and not context.is_ambiguous(actor) and context.window.outcome != "empty"
    departure = _former_self(context, action) if may_be_back and action is not None else None
    if departure is not None:
        restarted, joins = (weights.CAME_BACK[cause] for cause in (Cause.MEMBER_RESTART, Cause.MEMBER_JOIN))
        return [
            Hypothesis(Cause.MEMBER_RESTART, restarted, [*actions[:1], departure, *restarts(context, actor)]),
            Hypothesis(Cause.MEMBER_JOIN, joins, actions),
        ]
    if action is not None and _is_static_back_before_sync(context, action):
        return [Hypothesis(cause, share, actions) for cause, share in weights.STATIC_BACK_BEFORE_SYNC.of.items()]
    if (
        context.window.witness is not Witness.COORDINATOR
        and action is not None
        and actor in context.members_before
        and not context.is_ambiguous(actor)
    ):
        return [Hypothesis(cause, share, actions) for cause, share in returned_unseen(context, [action]).of.items()]
    if context.window.state_before is None and not context.members_before:
        return _joined_in_unknown_state(context, actions)
    if action is not None and _is_logged_behind_a_departure(context, action):
        return [Hypothesis(cause, share, actions) for cause, share in weights.JOINED_AS_ANOTHER_WENT.of.items()]
    has_reason = bool(context.reason_id or (action and action.at >= context.start - PROMPT_US))
    twice = bool(context.known.clients or context.known.has_requests)
    basis = (weights.JOIN_UNTOLD if not has_reason else weights.JOIN_TOLD_TWICE if twice else weights.JOIN_TOLD).value
    return [Hypothesis(Cause.MEMBER_JOIN, basis, actions), Hypothesis(Cause.MEMBER_RESTART, (1 - basis) / 2, actions)]


def _is_static_back_before_sync(context: RebalanceContext, action: MemberAction) -> bool:
    """Whether a static member came back while others awaited assignments.

    A rebalance begins then (GroupCoordinator.updateStaticMemberAndRebalance); in a stable group, none does.
    """
    before, previous = context.window.generation_before, context.previous
    if context.window.witness is Witness.COORDINATOR or not action.instance_id or before is None or previous is None:
        return False
    earlier = (members for generation, members in context.known.generations.items() if generation <= before)
    refused = any(context.actions_of(ActionKind.SYNC_FAILED, start=action.at - CLOCK_TOLERANCE_US))
    return refused and previous.outcome in {"open", "superseded"} and any(context.actor(action) in members for members in earlier)


def _is_logged_behind_a_departure(context: RebalanceContext, action: MemberAction) -> bool:
    """Whether a client logged its request behind a beginning without it.

    It logs what it is about to send, and another member was gone by then. Or clocks that differ put its line behind the coordinator's.
    """
    is_later = action.event.witness is Witness.CLIENT and action.at > context.start
    return is_later and context.window.witness is Witness.COORDINATOR and not context.reason_id and bool(context.inferred_departures)


def returned_unseen(context: RebalanceContext, arrivals: list[MemberAction]) -> weights.Shares:
    """Weigh members that came back, whose former selves ended unseen.

    A former self that neither left nor expired is waited for until the rebalance timeout; so this was no restart within a rebalance. A
    static one is replaced at once, and the group rebalances only if its protocols choose another assignor (KIP-345).
    """
    before, after = (context.known.assignors.get(generation or -1) for generation in _generations(context))
    if before and after and before != after and any(action.instance_id for action in arrivals):
        return weights.RETURNED_WITH_ANOTHER_ASSIGNOR
    return weights.RETURNED_UNSEEN if phase_deadline_us(context) is None else weights.RETURNED_BEFORE_EVICTION


def _generations(context: RebalanceContext) -> tuple[int | None, int | None]:
    return context.window.generation_before, context.window.generation_after


def first_of_empty(context: RebalanceContext, joiners: list[MemberAction], sure: float) -> list[Hypothesis]:
    """Hypotheses on who joins a group that had no members.

    Members' logs show only members that have logs: others may have been there if not all members are known to be new.
    """
    window = context.window
    are_all = context.knows_all_after and context.members_after.keys() <= context.joiners.keys()
    if window.witness is not Witness.CLIENT or window.generation_before == 0 or are_all:
        return [Hypothesis(Cause.NEW_GROUP, sure, joiners)]
    shares = weights.FIRST_OF_KNOWN if len(context.known.clients) > 1 else weights.FIRST_OF_ONE_KNOWN
    return [Hypothesis(cause, share, joiners, EARLIER_LINES) for cause, share in shares.of.items()]


def _former_self(context: RebalanceContext, arrival: MemberAction) -> MemberAction | None:
    """The member that went under the name of one that came.

    The new one may have gone again, too.
    """
    actor = context.actor(arrival)
    first = context.departed.get(actor or "")
    if first is None:
        return None
    others = [
        action for action in context.actions_of(ActionKind.LEAVE, ActionKind.EXPIRE) if action.is_certain and context.actor(action) == actor
    ]
    return next((action for action in (first, *others) if not has_gone_as_it_came(context, arrival, action)), None)


def has_gone_as_it_came(context: RebalanceContext, arrival: MemberAction, departure: MemberAction) -> bool:
    """Whether the member that went is the one that had come.

    It is not its former self: it was stopped before it got an assignment.
    """
    if arrival.member_id and departure.member_id:
        return arrival.member_id == departure.member_id
    actor = context.actor(arrival)
    former = context.members_before.get(actor or "")
    if former is None and actor not in context.members_before:
        return arrival.at < departure.at and actor not in context.members_after
    return former is not None and departure.member_id is not None and former != departure.member_id and arrival.at < departure.at


def restarts(context: RebalanceContext, but: str | None) -> list[MemberAction]:
    """Actions of all members but one that left and came back meanwhile."""
    actions: list[MemberAction] = []
    for actor, arrival in context.joiners.items():
        departure = context.departed.get(actor)
        if (
            departure is not None
            and actor != but
            and not context.is_ambiguous(actor)
            and not has_gone_as_it_came(context, arrival, departure)
        ):
            actions += [arrival, departure]
    return actions


def _joined_in_unknown_state(context: RebalanceContext, actions: list[MemberAction]) -> list[Hypothesis]:
    """Weigh a join where the log begins mid-life.

    An initial delay, or members that all are new, show a group that was empty.

    Each further step of the delay takes another member that joins, and only the Java coordinator waits so above generation 0.
    """
    evicted = {context.actor(action) for action in context.actions_of(ActionKind.EVICT)}
    if any(context.actor(action) in evicted and not context.is_ambiguous(context.actor(action)) for action in actions):
        return [Hypothesis(cause, share, actions, EARLIER_LINES) for cause, share in weights.RETURNED_BEFORE_EVICTION.of.items()]
    duration = (context.window.open_until or context.start) - context.start
    delay = context.facts.initial_delay_ms * US_PER_MS
    steps = duration // delay if delay else 0
    initial = 1 <= steps <= max(1, len(actions)) and duration - steps * delay <= delay * INITIAL_DELAY_OVERRUN
    members_after = context.window.members_after
    alone = members_after == 1 or (members_after is not None and len(actions) >= members_after)
    had_others = had_members(context) or (not initial and _ends_as_one_goes(context))
    likely = (weights.HELD_UNTIL_ONE_WENT if had_others else weights.AS_FROM_EMPTY if initial or alone else weights.MID_LIFE).value
    if context.window.witness is Witness.CLIENT and context.window.generation_before and len(context.known.clients) == 1:
        likely = min(likely, weights.FIRST_OF_ONE_KNOWN[Cause.NEW_GROUP])  # others may be in the group
    return [
        Hypothesis(Cause.NEW_GROUP, likely, actions, EARLIER_LINES),
        Hypothesis(Cause.MEMBER_JOIN, 1 - likely, actions, EARLIER_LINES),
    ]


def had_members(context: RebalanceContext) -> bool:
    """Whether lines show that the group had members as it began.

    The coordinator prints the group's state as one comes, and later who did not rejoin. Only members hear of a rebalance.
    """
    near = context.actions_of(ActionKind.JOIN, start=context.start - CLOCK_TOLERANCE_US, end=context.start + CLOCK_TOLERANCE_US)
    states = {text_field(action.event, "state") for action in near}
    heard = context.actions_of(ActionKind.REBALANCE_NOTICED, ActionKind.WANTS_REJOIN, start=context.start - 1)
    if State.STABLE.value in states or any(map(is_rebalance_notice, heard)):
        return True
    return bool(context.first_by_actor(ActionKind.EVICT)) or _has_one_given_up(context)


def _has_one_given_up(context: RebalanceContext) -> bool:
    """Whether a member that had not gone gave up its partitions to join again.

    Who has gone may have left the group empty.
    """
    since = context.start - LOOK_BACK_US
    if any(context.actions_of(ActionKind.LEAVE, ActionKind.FENCED, ActionKind.POLL_TIMEOUT, start=since, end=context.start)):
        return False
    if any(map(is_unknown_as_it_joins, context.actions_of(ActionKind.JOIN_FAILED, start=since, end=context.start))):
        return False
    return any(map(gives_up_some, context.actions_of(ActionKind.REVOKE, start=since, end=context.start)))


def _ends_as_one_goes(context: RebalanceContext) -> bool:
    """Whether the join phase ended as a member of the last generation went.

    Only a phase that waits for members of the last generation ends then (GroupCoordinator.removeMemberAndUpdateGroup,
    DelayedJoin); an initial delay runs to its end (InitialDelayedJoin).
    """
    until = context.window.open_until
    arrivals = {action.member_id for action in context.joiners.values()}
    gone = [action for action in context.departed.values() if action.is_certain and action.member_id not in arrivals]
    return until is not None and any(0 <= until - action.at <= PHASE_OVERRUN_US for action in gone)


REJOIN_TEXTS: tuple[tuple[str, Cause], ...] = (
    # ConsumerCoordinator.rejoinNeededOrPending and onJoinComplete; wording since 2.7, sent to the broker since 3.2.
    ("need to revoke partitions", Cause.COOPERATIVE_FOLLOWUP),
    ("after revoking what we lost from a rebalance", Cause.COOPERATIVE_FOLLOWUP),  # franz-go, consumer_group.go
    ("followup rebalance", Cause.COOPERATIVE_FOLLOWUP),  # StreamThread: tasks to hand over, or a probe of warm-up
    ("probing rebalance", Cause.COOPERATIVE_FOLLOWUP),  # StreamThread: tasks that have warmed up may move (KIP-441)
    ("cached metadata has changed", Cause.METADATA_CHANGE),
    ("assignment metadata has changed", Cause.METADATA_CHANGE),
    ("partitions changed", Cause.METADATA_CHANGE),  # as the catalogue words it for Sarama, kafkajs and kafka-go
    ("subscription has changed", Cause.SUBSCRIPTION_CHANGE),
    # DistributedHerder.java, as the catalogue words it.
    ("configuration is not the one of the assignment", Cause.CONNECTOR_CONFIG_CHANGE),
    ("connector configuration changed", Cause.CONNECTOR_CONFIG_CHANGE),
    ("workers see different configurations", Cause.CONNECTOR_CONFIG_CHANGE),
)

STREAMS_CONSUMER = "-streamthread-"
"""Part of the client ids of Streams' consumers (StreamThread, ClientUtils)."""

_CONNECT_REJOIN = "connect worker requested rejoin"
"""Words of WorkerCoordinator.

A connector was changed, or the delay after a departure is over (KIP-415).
"""

REJOIN_AFTER_TROUBLE_TEXTS = (
    "rebalance failed due to",
    "encountered ",
    "group is already rebalancing",
    "need to re-join with the given member-id",
    "rejoining after we previously errored",  # franz-go, consumer_group.go
)


def propose_rejoin(context: RebalanceContext, action: MemberAction | None) -> list[Hypothesis]:
    """Weigh why a member sent JoinGroup again unasked.

    Its topics, their partitions or its assignment changed.
    """
    actor = context.actor(action) if action else None
    actions = [action] if action else []
    why = _why_rejoin(context, actor, action)
    cause = next((cause for fixed, cause in REJOIN_TEXTS if why and fixed in why), None)
    if cause is Cause.CONNECTOR_CONFIG_CHANGE or _work_has_changed(context):
        return [Hypothesis(Cause.CONNECTOR_CONFIG_CHANGE, weights.WORK_CHANGED.value, supporting_actions=actions)]
    if _work_is_due(context):
        return [Hypothesis(Cause.SCHEDULED_REBALANCE, weights.WORK_DUE.value, supporting_actions=actions)]
    unexplained = why is None or why == "not provided" or why.startswith(REJOIN_AFTER_TROUBLE_TEXTS)
    if unexplained and follows_load(context) and not _is_subscribed(context, actor) and not _was_calm_at_load(context):
        return _back_after_load(context, actions)
    if cause is Cause.COOPERATIVE_FOLLOWUP:
        return [Hypothesis(cause, weights.FOLLOWUP_TOLD.value, _rejoiners(context, actions))]
    if cause is Cause.METADATA_CHANGE:
        weight = weights.METADATA_TOLD.value
        return [Hypothesis(cause, weight, actions), Hypothesis(Cause.SUBSCRIPTION_CHANGE, 1 - weight, actions)]
    if why and _CONNECT_REJOIN in why:
        shares = weights.CONNECT_PLANNED if ends_planned_delay(context) else weights.CONNECT_REJOIN
        return [Hypothesis(cause, share, settled_by=CLIENT_LOG, supporting_actions=actions) for cause, share in shares.of.items()]
    is_of_its_own = cause is None and bool(why) and why != "not provided" and not (why or "").startswith(REJOIN_AFTER_TROUBLE_TEXTS)
    if is_of_its_own or is_of_assignor(why or ""):
        return [Hypothesis(Cause.UNKNOWN, weights.OWN_REASON.value, actions, DecidingEvidence.APPLICATION)]
    if context.known.protocol_type == CONNECT:
        return _connectors_or_followup(context, actions)
    if unexplained and (shares_planned := _planned_by_time(context, actor)) is not None:
        return [Hypothesis(c, share, settled_by=CLIENT_LOG, supporting_actions=actions) for c, share in shares_planned.of.items()]
    return _topics_or_metadata(context, actor, actions, said_subscription=cause is Cause.SUBSCRIPTION_CHANGE)


def _planned_by_time(context: RebalanceContext, actor: str | None) -> weights.Shares | None:
    """Shares for a member that rejoins when its library plans to.

    None at other times.
    """
    name = (actor or "").lower()
    if STREAMS_CONSUMER in name and ends_probing_interval(context):
        return weights.PROBING_IN_TIME
    began = context.previous.started if context.previous is not None else None
    lost_worker = began is not None and text_field(began, "reason_id") in {"leave", "heartbeat_expiration"}
    return weights.CONNECT_IN_TIME if name.startswith(CONNECT) and lost_worker and ends_planned_delay(context) else None


def _work_has_changed(context: RebalanceContext) -> bool:
    """Whether connectors or tasks changed right before, since the last rebalance began.

    Each worker reads the change and asks for a rebalance at its next tick (DistributedHerder.java, ConfigUpdateListener).
    """
    since = context.previous.began if context.previous is not None else 0
    changes = context.known.work_changed_at
    return any(since < at <= context.start + CLOCK_TOLERANCE_US and context.start - at <= LOOK_BACK_US for at in changes)


def _connectors_or_followup(context: RebalanceContext, actions: list[MemberAction]) -> list[Hypothesis]:
    """Weigh what makes a Connect worker rejoin, without a word of its own.

    Workers subscribe to nothing: their connectors change, or they give work back.
    """
    shares = weights.CONNECT_FOLLOWUP if _may_follow_up(context) else weights.CONNECT_REJOIN
    return [Hypothesis(cause, share, settled_by=CLIENT_LOG, supporting_actions=actions) for cause, share in shares.of.items()]


def _work_is_due(context: RebalanceContext) -> bool:
    """Whether Connect's wait for a lost worker ends here.

    It may have ended with the rebalance before. See IncrementalCooperativeAssignor, scheduled.rebalance.max.delay.ms.
    """
    since = context.previous.began + CLOCK_TOLERANCE_US if context.previous is not None else 0
    return any(due > since and -CLOCK_TOLERANCE_US <= context.start - due <= FOLLOWUP_US for due in context.known.work_due_at)


def _was_calm_at_load(context: RebalanceContext) -> bool:
    """Whether the group was stable when its coordinator moved.

    The new one answers the heartbeats of a stable group: nobody has to rejoin (GroupMetadataManager.loadGroup).
    """
    previous = context.previous
    return previous is not None and previous.outcome == "stable" and previous.generation_after == context.window.generation_before


def _back_after_load(context: RebalanceContext, actions: list[MemberAction]) -> list[Hypothesis]:
    """A live member rejoins at the new coordinator.

    That is nobody's offence, but for what it wanted of the coordinator before.
    """
    previous, shares = context.previous, weights.BACK_AFTER_LOAD
    if previous is not None and previous.outcome == "coordinator_lost":
        wanted = previous.started is not None and text_field(previous.started, "reason_id") in _UNASKED
        shares = weights.BACK_AFTER_ITS_OWN_REBALANCE if wanted else weights.BACK_AFTER_INTERRUPTION
    return [Hypothesis(cause, share, [] if cause is Cause.COORDINATOR_FAILOVER else actions) for cause, share in shares.of.items()]


_UNASKED = ("leader_rejoin", "update_metadata")
"""Reasons of rebalances that a member wanted which was in the group."""


def _why_rejoin(context: RebalanceContext, actor: str | None, action: MemberAction | None) -> str | None:
    """The reason given to the coordinator, else in the member's log."""
    if action is not None and action.why and action.why != "not provided":
        return action.why
    until = (action.at if action else context.start) + CLOCK_TOLERANCE_US
    wishes = [
        a for a in context.actions_of(ActionKind.WANTS_REJOIN, end=until) if context.actor(a) == actor and until - a.at <= LOOK_BACK_US
    ]
    return wishes[0].why if wishes else None


def _rejoiners(context: RebalanceContext, first: list[MemberAction]) -> list[MemberAction]:
    """All members that rejoin to give up partitions, the first ahead."""
    actors = {context.actor(action) for action in first}
    rejoiners = []
    for action in context.actions_of(ActionKind.WANTS_REJOIN):
        if action.why and "need to revoke partitions" in action.why and context.actor(action) not in actors:
            actors.add(context.actor(action))
            rejoiners.append(action)
    return first + rejoiners


def _settled_at(context: RebalanceContext) -> int:
    return context.window.previous_ended_at or context.join_phase_start


def _is_subscribed(context: RebalanceContext, actor: str | None) -> bool:
    """Whether the member subscribed since the last rebalance."""
    calls = context.actions_of(ActionKind.SUBSCRIBE, start=_settled_at(context), end=context.start + CLOCK_TOLERANCE_US)
    return any(context.actor(action) == actor for action in calls)


def _topics_or_metadata(
    context: RebalanceContext, actor: str | None, actions: list[MemberAction], *, said_subscription: bool
) -> list[Hypothesis]:
    """Weigh new topics, changed ones and a second phase, without reason."""
    since = _settled_at(context)
    if _is_subscribed(context, actor):
        weight = weights.SUBSCRIBED.value
        return [Hypothesis(Cause.SUBSCRIPTION_CHANGE, weight, actions), Hypothesis(Cause.METADATA_CHANGE, 1 - weight, actions)]
    changed = bool(context.facts.topic_changes_between(since, context.start))
    if said_subscription:
        holds = (context.has_client_log(actor) and changed, actor in context.known.patterns, changed, True)
        by_metadata = next(prior.value for prior, true in zip(weights.SAID_SUBSCRIPTION_CHANGED, holds, strict=True) if true)
        return [Hypothesis(Cause.METADATA_CHANGE, by_metadata, actions), Hypothesis(Cause.SUBSCRIPTION_CHANGE, 1 - by_metadata, actions)]
    if _may_follow_up(context):
        sure = (weights.FOLLOWUP_COOPERATIVE if _is_cooperative(context) else weights.FOLLOWUP).value
        return [
            Hypothesis(Cause.COOPERATIVE_FOLLOWUP, sure, _rejoiners(context, actions)),
            Hypothesis(Cause.SUBSCRIPTION_CHANGE, (1 - sure) / 2, actions, CLIENT_LOG),
            Hypothesis(Cause.METADATA_CHANGE, (1 - sure) / 2, actions, CLIENT_LOG),
        ]
    if changed:
        by_metadata = weights.TOPIC_CHANGED.value
        return [
            Hypothesis(Cause.METADATA_CHANGE, by_metadata, actions, CLIENT_LOG),
            Hypothesis(Cause.SUBSCRIPTION_CHANGE, weights.SUBSCRIBED.value - by_metadata, actions, CLIENT_LOG),
        ]
    is_told, shares = _rejoined_with(context, actor, since)
    return [Hypothesis(cause, share, actions, None if is_told else CLIENT_LOG) for cause, share in shares.of.items()]


def _rejoined_with(context: RebalanceContext, actor: str | None, since: int) -> tuple[bool, weights.Shares]:
    """Shares by what lines tell of the member's topics.

    With whether they tell if these are others than before.
    """
    known, until = context.known, context.start + CLOCK_TOLERANCE_US
    if any(since < at <= until for at in known.asked_otherwise_at.get(actor or "", ())):
        return True, weights.ASKED_FOR_OTHER_TOPICS
    if actor in known.asked_topics or (context.has_client_log(actor) and actor in known.topics):
        return True, weights.SAME_TOPICS
    leads = _leads(context, actor)
    return False, weights.REJOINED_UNTOLD if leads is None else weights.LEADER_REJOINED if leads else weights.FOLLOWER_REJOINED


def _leads(context: RebalanceContext, actor: str | None) -> bool | None:
    """Whether the member leads the generation that it rejoins from.

    None if no line tells. The coordinator names it so since 2.6, and says then of others that their metadata changed.
    """
    if context.reason_id == "leader_rejoin":
        return True
    if context.reason_id == "update_metadata" and context.window.started is not None:
        return False if text_field(context.window.started, "reason_state") else None
    leader = context.known.leaders.get(context.window.generation_before or -1)
    return leader == actor if leader is not None else None


def _may_follow_up(context: RebalanceContext) -> bool:
    """The rebalance before has just ended and moved partitions between members."""
    previous, ended = context.previous, context.window.previous_ended_at
    if previous is None or ended is None or previous.outcome != "stable" or previous.state_before is State.EMPTY:
        return False
    return 0 <= context.start - ended <= FOLLOWUP_US and _eager_is_excluded(context)


def _eager_is_excluded(context: RebalanceContext) -> bool:
    assignor = context.known.assignors.get(context.window.generation_before or -1)
    return is_cooperative(assignor) or (assignor is None and not _is_too_old(context))


def _is_too_old(context: RebalanceContext) -> bool:
    """Whether the Java client of a member knows no cooperative assignor.

    All members of a group share an assignor.
    """
    files = {log.file for log in context.roster.logs.values() if log.library == JAVA}
    versions = (version for file, version in context.facts.versions.items() if file in files)
    return any(parse_version(version) < COOPERATIVE_SINCE for version in versions)


def _is_cooperative(context: RebalanceContext) -> bool:
    return is_cooperative(context.known.assignors.get(context.window.generation_before or -1))
