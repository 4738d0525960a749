"""Why members join again unasked.

Their topics, their partitions or their assignment changed.
"""

from __future__ import annotations

from dataclasses import replace

from models import weights
from models.causes import Cause
from models.downtime import is_cooperative
from models.events import Witness, text_field
from models.incidents.refusals import is_of_assignor
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.runtime.version_policy import parse_version
from models.kafka.hypotheses.context.assignment_lags import AssignmentLags
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.context.stated_reasons import reason_id_in
from models.kafka.hypotheses.coordinator_changes import follows_load
from models.kafka.hypotheses.hypothesis import (
    CLIENT_LOG,
    LOOK_BACK_US,
    REQUEST_LOG,
    DecidingEvidence,
    Hypothesis,
)
from models.kafka.observations.actions import (
    ActionKind,
    MemberAction,
)
from models.kafka.observations.knowledge import CONNECT, GroupKnowledge
from models.kafka.observations.libraries import JAVA
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.tolerances import STORE_TIMEOUT_US, int_tolerance

COOPERATIVE_SINCE = (2, 4)
"""First clients with a cooperative assignor (KIP-429)."""

FOLLOWUP_US = int_tolerance("kafka.joins.followup_us")
"""Longest time from an assignment to its cooperative follow-up.

Members revoke at their next poll after the assignment.
"""


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
    actor = context.phase.actor(action) if action else None
    actions = [action] if action else []
    why = _why_rejoin(context.phase, actor, action)
    cause = _cause_in(why)
    if cause in _OF_TOPICS and (other := _other_cause_told(context.phase, actor, action, cause)) is not None:
        share = weights.METADATA_TOLD.value / 2  # one request for both
        return [Hypothesis(cause, share, actions), Hypothesis(other, share, actions)]
    if cause is Cause.CONNECTOR_CONFIG_CHANGE or _work_has_changed(context.phase, context.known):
        return [Hypothesis(Cause.CONNECTOR_CONFIG_CHANGE, weights.WORK_CHANGED.value, supporting_actions=actions)]
    if _work_is_due(context.phase, context.known):
        return [Hypothesis(Cause.SCHEDULED_REBALANCE, weights.WORK_DUE.value, supporting_actions=actions)]
    unexplained = why is None or why == "not provided" or why.startswith(REJOIN_AFTER_TROUBLE_TEXTS)
    if (
        unexplained
        and follows_load(context.phase, context.timeouts)
        and not _is_subscribed(context.phase, actor)
        and not _was_calm_at_load(context.phase, actor)
    ):
        return _back_after_load(context.phase, actions)
    if cause is Cause.COOPERATIVE_FOLLOWUP:
        return [Hypothesis(cause, weights.FOLLOWUP_TOLD.value, _rejoiners(context.phase, actions))]
    if cause is Cause.METADATA_CHANGE:
        weight = weights.METADATA_TOLD.value
        return [Hypothesis(cause, weight, actions), Hypothesis(Cause.SUBSCRIPTION_CHANGE, 1 - weight, actions)]
    if why and _CONNECT_REJOIN in why:
        shares = weights.CONNECT_PLANNED if context.lags.ends_planned_delay else weights.CONNECT_REJOIN
        return [Hypothesis(cause, share, settled_by=CLIENT_LOG, supporting_actions=actions) for cause, share in shares.of.items()]
    is_of_its_own = cause is None and bool(why) and why != "not provided" and not (why or "").startswith(REJOIN_AFTER_TROUBLE_TEXTS)
    if is_of_its_own or is_of_assignor(why or ""):
        return [Hypothesis(Cause.UNKNOWN, weights.OWN_REASON.value, actions, DecidingEvidence.APPLICATION)]
    if context.known.protocol_type == CONNECT:
        return _connectors_or_followup(context, actions)
    if unexplained and (shares_planned := _planned_by_time(context.phase, context.lags, actor)) is not None:
        return [Hypothesis(c, share, settled_by=CLIENT_LOG, supporting_actions=actions) for c, share in shares_planned.of.items()]
    return _topics_or_metadata(context, actor, actions, said_subscription=cause is Cause.SUBSCRIPTION_CHANGE)


def _planned_by_time(phase: LoggedJoinPhase, lags: AssignmentLags, actor: str | None) -> weights.Shares | None:
    """Shares for a member that rejoins when its library plans to.

    None at other times.
    """
    name = (actor or "").lower()
    if STREAMS_CONSUMER in name and lags.ends_probing_interval:
        return weights.PROBING_IN_TIME
    began = phase.previous.started if phase.previous is not None else None
    lost_worker = began is not None and text_field(began, "reason_id") in {"leave", "heartbeat_expiration"}
    return weights.CONNECT_IN_TIME if name.startswith(CONNECT) and lost_worker and lags.ends_planned_delay else None


def _work_has_changed(phase: LoggedJoinPhase, known: GroupKnowledge) -> bool:
    """Whether connectors or tasks changed right before, since the last rebalance began.

    Each worker reads the change and asks for a rebalance at its next tick (DistributedHerder.java, ConfigUpdateListener).
    """
    since = phase.previous.began if phase.previous is not None else 0
    changes = known.work_changed_at
    return any(since < at <= phase.start + CLOCK_TOLERANCE_US and phase.start - at <= LOOK_BACK_US for at in changes)


def _connectors_or_followup(context: RebalanceContext, actions: list[MemberAction]) -> list[Hypothesis]:
    """Weigh what makes a Connect worker rejoin, without a word of its own.

    Workers subscribe to nothing: their connectors change, or they give work back.
    """
    actor = context.phase.actor(actions[0]) if actions else None
    is_second = _may_follow_up(context) and not _is_in_loop(context.phase, context.roster, actor)
    shares = weights.CONNECT_FOLLOWUP if is_second else weights.CONNECT_REJOIN
    return [Hypothesis(cause, share, settled_by=CLIENT_LOG, supporting_actions=actions) for cause, share in shares.of.items()]


def _work_is_due(phase: LoggedJoinPhase, known: GroupKnowledge) -> bool:
    """Whether Connect's wait for a lost worker ends here.

    It may have ended with the rebalance before. See IncrementalCooperativeAssignor, scheduled.rebalance.max.delay.ms.
    """
    since = phase.previous.began + CLOCK_TOLERANCE_US if phase.previous is not None else 0
    return any(due > since and -CLOCK_TOLERANCE_US <= phase.start - due <= FOLLOWUP_US for due in known.work_due_at)


def _was_calm_at_load(phase: LoggedJoinPhase, actor: str | None) -> bool:
    """Whether the group was stable when its coordinator moved.

    The new one answers the heartbeats of a stable group: nobody has to rejoin (GroupMetadataManager.loadGroup). A coordinator that has
    the leader's assignment may be lost before it has stored it and answers.
    """
    previous = phase.previous
    is_stable = previous is not None and previous.outcome == "stable" and previous.generation_after == phase.window.generation_before
    return is_stable and not _has_lost_its_sync(phase, actor)


def _has_lost_its_sync(phase: LoggedJoinPhase, actor: str | None) -> bool:
    """Whether a member lost its coordinator before its SyncGroup was answered."""
    began = phase.window.previous_joined_at
    if began is None:
        return False
    answered = phase.actions_of(ActionKind.SYNCED, ActionKind.ASSIGNED, start=began, end=phase.start)
    lost = phase.actions_of(ActionKind.LOST_COORDINATOR, start=began, end=phase.start + CLOCK_TOLERANCE_US)
    return all(phase.actor(action) != actor for action in answered) and any(phase.actor(action) == actor for action in lost)


def _back_after_load(phase: LoggedJoinPhase, actions: list[MemberAction]) -> list[Hypothesis]:
    """A live member rejoins at the new coordinator.

    That is nobody's offence, but for what it wanted of the coordinator before.
    """
    previous, shares = phase.previous, weights.BACK_AFTER_LOAD
    if previous is not None and previous.outcome == "coordinator_lost":
        wanted = previous.started is not None and text_field(previous.started, "reason_id") in _UNASKED
        shares = weights.BACK_AFTER_ITS_OWN_REBALANCE if wanted else weights.BACK_AFTER_INTERRUPTION
    return [Hypothesis(cause, share, [] if cause is Cause.COORDINATOR_FAILOVER else actions) for cause, share in shares.of.items()]


_UNASKED = ("leader_rejoin", "update_metadata")
"""Reasons of rebalances that a member wanted which was in the group."""


def _cause_in(why: str | None) -> Cause | None:
    return next((cause for fixed, cause in REJOIN_TEXTS if why and fixed in why), None)


_OF_TOPICS = frozenset({Cause.METADATA_CHANGE, Cause.SUBSCRIPTION_CHANGE})
"""Causes that one client may have together."""


def _other_cause_told(phase: LoggedJoinPhase, actor: str | None, action: MemberAction | None, cause: Cause | None) -> Cause | None:
    """What else a member's log gives as the reason of the same request.

    None if the request has a reason, which is the last one (ConsumerCoordinator.requestRejoin).
    """
    if _has_own_reason(action):
        return None
    causes = {_cause_in(wish.why) for wish in _wishes(phase, actor, action)}
    return next(iter(causes & _OF_TOPICS - {cause}), None)


def _why_rejoin(phase: LoggedJoinPhase, actor: str | None, action: MemberAction | None) -> str | None:
    """The reason given to the coordinator, else in the member's log."""
    if action is not None and _has_own_reason(action):
        return action.why
    return next((wish.why for wish in _wishes(phase, actor, action)), None)


def _has_own_reason(action: MemberAction | None) -> bool:
    return action is not None and bool(action.why) and action.why != "not provided"


def _wishes(phase: LoggedJoinPhase, actor: str | None, action: MemberAction | None) -> list[MemberAction]:
    """What a member's log says of why it asks."""
    until = (action.at if action else phase.start) + CLOCK_TOLERANCE_US
    since = _first_asked_at(phase, actor, until) - LOOK_BACK_US
    return [a for a in phase.actions_of(ActionKind.WANTS_REJOIN, end=until) if phase.actor(a) == actor and a.at >= since]


def _first_asked_at(phase: LoggedJoinPhase, actor: str | None, until: int) -> int:
    """When a member asked for what it asks for now.

    A request that is lost with its coordinator is sent again to the next one.
    """
    kinds = (ActionKind.JOIN, ActionKind.REJOIN, ActionKind.LOST_COORDINATOR)
    earlier = [action for action in phase.actions_of(*kinds, end=until) if phase.actor(action) == actor]
    losses = [index for index, action in enumerate(earlier) if action.kind is ActionKind.LOST_COORDINATOR and index]
    return earlier[losses[-1] - 1].at if losses else until


def _rejoiners(phase: LoggedJoinPhase, first: list[MemberAction]) -> list[MemberAction]:
    """All members that rejoin to give up partitions, the first ahead."""
    actors = {phase.actor(action) for action in first}
    rejoiners = []
    for action in phase.actions_of(ActionKind.WANTS_REJOIN):
        if action.why and "need to revoke partitions" in action.why and phase.actor(action) not in actors:
            actors.add(phase.actor(action))
            rejoiners.append(action)
    return first + rejoiners


def _settled_at(phase: LoggedJoinPhase) -> int:
    return phase.window.previous_ended_at or phase.previous_end


def _is_subscribed(phase: LoggedJoinPhase, actor: str | None) -> bool:
    """Whether the member subscribed since the last rebalance."""
    calls = phase.actions_of(ActionKind.SUBSCRIBE, start=_settled_at(phase), end=phase.start + CLOCK_TOLERANCE_US)
    return any(phase.actor(action) == actor for action in calls)


def _topics_or_metadata(
    context: RebalanceContext, actor: str | None, actions: list[MemberAction], *, said_subscription: bool
) -> list[Hypothesis]:
    """Weigh new topics, changed ones and a second phase, without reason."""
    since = _settled_at(context.phase)
    if _is_subscribed(context.phase, actor):
        weight = weights.SUBSCRIBED.value
        return [Hypothesis(Cause.SUBSCRIPTION_CHANGE, weight, actions), Hypothesis(Cause.METADATA_CHANGE, 1 - weight, actions)]
    changed = bool(context.facts.topic_changes_between(since, context.phase.start))
    if said_subscription:
        holds = (context.known.has_client_log(actor) and changed, actor in context.known.patterns, changed, True)
        by_metadata = next(prior.value for prior, true in zip(weights.SAID_SUBSCRIPTION_CHANGED, holds, strict=True) if true)
        return [Hypothesis(Cause.METADATA_CHANGE, by_metadata, actions), Hypothesis(Cause.SUBSCRIPTION_CHANGE, 1 - by_metadata, actions)]
    asks_otherwise = _asks_otherwise(context.phase, context.known, actor, since)
    if not asks_otherwise and _may_follow_up(context) and not _is_in_loop(context.phase, context.roster, actor):
        is_sure = _is_cooperative(context.phase, context.known) and not _follows_another_rejoin(context.phase, context.roster, actor)
        sure = (weights.FOLLOWUP_COOPERATIVE if is_sure else weights.FOLLOWUP).value
        return [
            Hypothesis(Cause.COOPERATIVE_FOLLOWUP, sure, _rejoiners(context.phase, actions)),
            Hypothesis(Cause.SUBSCRIPTION_CHANGE, (1 - sure) / 2, actions, CLIENT_LOG),
            Hypothesis(Cause.METADATA_CHANGE, (1 - sure) / 2, actions, CLIENT_LOG),
        ]
    if changed:
        by_metadata = weights.TOPIC_CHANGED.value
        return [
            Hypothesis(Cause.METADATA_CHANGE, by_metadata, actions, CLIENT_LOG),
            Hypothesis(Cause.SUBSCRIPTION_CHANGE, weights.SUBSCRIBED.value - by_metadata, actions, CLIENT_LOG),
        ]
    if _was_cut_off(context.phase):
        return _back_after_load(context.phase, actions)
    is_told, shares = _rejoined_with(context.phase, context.known, actor, since)
    of_topics = [Hypothesis(cause, share, actions, None if is_told else CLIENT_LOG) for cause, share in shares.of.items()]
    return _unless_sync_was_cut_off(context.phase, actor, of_topics)


def _unless_sync_was_cut_off(phase: LoggedJoinPhase, actor: str | None, of_topics: list[Hypothesis]) -> list[Hypothesis]:
    """Leave room for a failed write behind an unanswered SyncGroup.

    A member that loses its coordinator meanwhile joins again in any case. Writes that succeed rarely take long enough for that.
    """
    previous, began = phase.previous, phase.window.previous_joined_at
    if phase.window.witness is not Witness.CLIENT or previous is None or previous.outcome == "stable" or began is None:
        return of_topics
    if not _has_lost_its_sync(phase, actor):
        return of_topics
    share = weights.STORE_FAILED_IN_TROUBLE[Cause.ASSIGNMENT_STORE_FAILED]
    if phase.start - began < STORE_TIMEOUT_US:  # nothing is given up so early, and few writes fail at once
        share = 1 - share
    rest = [replace(hypothesis, probability=hypothesis.probability * (1 - share)) for hypothesis in of_topics]
    return [Hypothesis(Cause.ASSIGNMENT_STORE_FAILED, share, settled_by=REQUEST_LOG), *rest]


def _was_cut_off(phase: LoggedJoinPhase) -> bool:
    """Whether the last coordinator was lost during a rebalance from the same generation."""
    previous = phase.previous
    return previous is not None and previous.outcome == "coordinator_lost" and previous.generation_before == phase.window.generation_before


def _rejoined_with(phase: LoggedJoinPhase, known: GroupKnowledge, actor: str | None, since: int) -> tuple[bool, weights.Shares]:
    """Shares by what lines tell of the member's topics.

    With whether they tell if these are others than before.
    """
    if _asks_otherwise(phase, known, actor, since):
        return True, weights.ASKED_FOR_OTHER_TOPICS
    if actor in known.asked_topics or (known.has_client_log(actor) and actor in known.topics):
        return True, weights.SAME_TOPICS
    leads = _leads(phase, known, actor)
    return False, weights.REJOINED_UNTOLD if leads is None else weights.LEADER_REJOINED if leads else weights.FOLLOWER_REJOINED


def _asks_otherwise(phase: LoggedJoinPhase, known: GroupKnowledge, actor: str | None, since: int) -> bool:
    """Whether the member's request names other topics than the one before."""
    until = phase.start + CLOCK_TOLERANCE_US
    return any(since < at <= until for at in known.asked_otherwise_at.get(actor or "", ()))


def _leads(phase: LoggedJoinPhase, known: GroupKnowledge, actor: str | None) -> bool | None:
    """Whether the member leads the generation that it rejoins from.

    None if no line tells. The coordinator names it so since 2.6, and says then of others that their metadata changed.
    """
    if reason_id_in(phase.window.started) == "leader_rejoin":
        return True
    if reason_id_in(phase.window.started) == "update_metadata" and phase.window.started is not None:
        return False if text_field(phase.window.started, "reason_state") else None
    leader = known.leaders.get(phase.window.generation_before or -1)
    return leader == actor if leader is not None else None


def _may_follow_up(context: RebalanceContext) -> bool:
    """The rebalance before has just ended and moved partitions between members.

    One that its coordinator's loss cut off begins again at the next, as what it was.
    """
    previous, ended = context.phase.previous, context.window.previous_ended_at
    if _was_cut_off(context.phase) and previous is not None:
        settled_at = context.known.synced_at.get(context.window.generation_before or -1)
        return settled_at is not None and 0 <= previous.began - settled_at <= FOLLOWUP_US and _eager_is_excluded(context)
    if previous is None or ended is None or previous.outcome != "stable" or previous.state_before is State.EMPTY:
        return False
    assigned_at = context.known.synced_at.get(previous.generation_after or -1, ended)
    if assigned_at > context.phase.start:
        assigned_at = ended
    return 0 <= context.phase.start - max(ended, assigned_at) <= FOLLOWUP_US and _eager_is_excluded(context)


def _is_in_loop(phase: LoggedJoinPhase, roster: Roster, actor: str | None) -> bool:
    """Whether one member joins again unasked, time after time.

    A second step moves what the first one freed: after it the same member has nothing left to give up, unless others came with it.
    """
    previous, following = phase.previous, phase.following
    if actor is None or previous is None or _rejoiner(roster, previous) != actor:
        return False
    if _begins_at_once(previous):
        return not _has_grown(previous)
    is_followed = following is not None and _rejoiner(roster, following) == actor and _begins_at_once(following)
    return is_followed and not _has_grown(phase.window)


def _has_grown(window: RebalanceWindow) -> bool:
    """Whether more members were in the generation after it."""
    return window.members_before is not None and window.members_after is not None and window.members_after > window.members_before


def _begins_at_once(window: RebalanceWindow) -> bool:
    """Whether it begins as soon as a second step would."""
    ended = window.previous_ended_at
    return ended is not None and window.started_at is not None and 0 <= window.started_at - ended <= FOLLOWUP_US


def _rejoiner(roster: Roster, window: RebalanceWindow) -> str | None:
    """The member that began a rebalance by joining again unasked."""
    began = window.started
    if began is None or text_field(began, "reason_id") not in _UNASKED:
        return None
    member_id = text_field(began, "reason_member_id")
    return None if member_id is None else roster.actor(member_id, None, None)


def _follows_another_rejoin(phase: LoggedJoinPhase, roster: Roster, actor: str | None) -> bool:
    """Whether another member had joined again unasked right before.

    What one is configured to read anew, each of the others may be, one after the other.
    """
    before = None if phase.previous is None else _rejoiner(roster, phase.previous)
    return before is not None and actor is not None and before != actor


def _eager_is_excluded(context: RebalanceContext) -> bool:
    assignor = context.known.assignors.get(context.window.generation_before or -1)
    return is_cooperative(assignor) or (assignor is None and not _is_too_old(context.roster, context.facts))


def _is_too_old(roster: Roster, facts: ClusterFacts) -> bool:
    """Whether the Java client of a member knows no cooperative assignor.

    All members of a group share an assignor.
    """
    files = {log.file for log in roster.logs.values() if log.library == JAVA}
    versions = (version for file, version in facts.versions.items() if file in files)
    return any(parse_version(version) < COOPERATIVE_SINCE for version in versions)


def _is_cooperative(phase: LoggedJoinPhase, known: GroupKnowledge) -> bool:
    return is_cooperative(known.assignors.get(phase.window.generation_before or -1))
