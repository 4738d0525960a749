"""Why did the group rebalance? From what was seen to a cause, its rivals and how sure we are.

Three questions are kept apart: who started it (`cause`, offenders), who made the others wait (blockers)
and what stands behind it (root cause). Each rule below returns `Opinion`s; the best one is the verdict,
the others are its alternatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from models.causes import Cause
from models.events import Witness
from models.kafka.acts import MICROSECONDS_PER_MS, Act, Deed, text_field
from models.kafka.blockers import TIMEOUT_TOLERANCE_US, rebalance_timeout_us
from models.kafka.case import CLOCK_TOLERANCE_US, Case
from models.kafka.group import State

PROMPT_US = 300_000
"""A request that starts a rebalance is answered by "Preparing" within this time, slow brokers included."""

EXPIRY_LAG_US = 1_000_000
""""has failed" may stand up to this long before "Preparing" on a busy broker."""

STORE_TIMEOUT_US = 5_000_000
"""offsets.commit.timeout.ms: a failed assignment write before 2.1 shows only as a rebalance this long after the assignment."""

TROUBLE_US = 60_000_000
"""A failed write follows trouble among the brokers: one that left or came, offsets partitions that moved."""

FOLLOWUP_US = 3_000_000
"""A cooperative follow-up starts as soon as the members have revoked: at their next poll after the assignment."""

LOOK_BACK_US = 2_000_000
"""A client's own explanation (poll timeout, wish to rejoin) stands this close before its request."""


@dataclass(slots=True)
class Opinion:
    """A cause with its probability, the acts that speak for it, and what would make it sure."""

    cause: Cause
    probability: float
    acts: list[Act] = field(default_factory=list)
    settled_by: str | None = None


@dataclass(slots=True)
class Judgement:
    """The opinions on one rebalance, best first; probabilities add up to at most one."""

    opinions: list[Opinion]
    trigger: Act | None = None

    @property
    def best(self) -> Opinion:
        return self.opinions[0]


def judge(case: Case) -> Judgement:
    """Judge what started the rebalance."""
    opinions, trigger = _opinions(case)
    ranked = sorted((o for o in opinions if o.probability > 0), key=lambda o: -o.probability)
    total = sum(o.probability for o in ranked)
    if total > 1:
        for opinion in ranked:
            opinion.probability /= total
    return Judgement(ranked or [Opinion(Cause.UNKNOWN, 0.5)], trigger)


def _opinions(case: Case) -> tuple[list[Opinion], Act | None]:
    by_reason = _BY_REASON.get(case.reason_id or "")
    if by_reason is not None:
        act = case.reason_act()
        return by_reason(case, act), act
    if case.draft.started is None and not case.was_empty:
        return _start_not_seen(case), None
    trigger = find_trigger(case)
    if (trigger is None or trigger.deed is Deed.REJOIN) and _store_failed_silently(case):
        return _store_failed(case, None), None
    if trigger is not None:
        return _BY_DEED[trigger.deed](case, trigger), trigger
    return _by_elimination(case), None


# -- the trigger, where the coordinator names none ----------------------------------------------------------


def find_trigger(case: Case) -> Act | None:
    """The deed that the coordinator answered with "Preparing", for versions that print no reason (before 2.1).

    An expiry is the coordinator's own and decides. Else the earliest request that came promptly before the
    line; else the last one before it. A member that rejoins because it was told to triggers nothing.
    """
    start = case.start
    expiry = [act for act in case.deeds(Deed.EXPIRE, end=start) if start - act.at <= EXPIRY_LAG_US and case.is_effective(act)]
    if expiry:
        return expiry[0]
    candidates = [
        act
        for act in case.deeds(Deed.JOIN, Deed.LEAVE, Deed.REJOIN, Deed.REPLACE, end=start + CLOCK_TOLERANCE_US)
        if _could_trigger(case, act)
    ]
    prompt = [act for act in candidates if start - act.at <= PROMPT_US]
    if prompt:
        return min(prompt, key=lambda act: act.at)
    late = [act for act in candidates if act.deed is not Deed.REJOIN]
    return max(late, key=lambda act: act.at) if late and start - late[-1].at <= 2 * EXPIRY_LAG_US else None


def _could_trigger(case: Case, act: Act) -> bool:
    if act.deed is Deed.REJOIN and not case.is_new(act):
        return not _was_told(case, act)
    if act.deed is Deed.JOIN and act.member_id is None and case.actor(act) in case.members_before:
        return True
    return act.deed is not Deed.LEAVE or not case.members_before or case.actor(act) in case.members_before


def _was_told(case: Case, act: Act) -> bool:
    """The member rejoins because a heartbeat told it so, after its last join."""
    actor = case.actor(act)
    joined = max((a.at for a in case.acts if a.deed is Deed.JOINED and case.actor(a) == actor and a.at < act.at), default=case.phase_began)
    return any(a.deed is Deed.TOLD and case.actor(a) == actor and joined <= a.at <= act.at for a in case.acts)


# -- joins --------------------------------------------------------------------------------------------------


def _joined(case: Case, act: Act | None) -> list[Opinion]:
    """A new member asked to join: the first of its group, an old acquaintance, or one more."""
    joiners = case.joiners
    acts = _with_first(act, joiners.values(), case)
    if case.was_empty:
        return [Opinion(Cause.NEW_GROUP, 0.985, acts), Opinion(Cause.MEMBER_JOIN, 0.015, acts)]
    actor = case.actor(act) if act else None
    gone = case.gone
    if actor is not None and actor in gone and actor not in case.known.shared:
        return [Opinion(Cause.MEMBER_RESTART, 0.95, [*acts[:1], gone[actor]]), Opinion(Cause.MEMBER_JOIN, 0.05, acts)]
    if case.draft.state_before is None and not case.members_before:
        return _joined_in_unknown_state(case, acts)
    basis = 0.97 if case.reason_id or (act and act.at >= case.start - PROMPT_US) else 0.85
    return [Opinion(Cause.MEMBER_JOIN, basis, acts), Opinion(Cause.MEMBER_RESTART, (1 - basis) / 2, acts)]


def _joined_in_unknown_state(case: Case, acts: list[Act]) -> list[Opinion]:
    """The log begins mid-life: an initial delay, or members that all are new, tell a group that was empty."""
    duration = (case.draft.open_until or case.start) - case.start
    delay = case.facts.initial_delay_ms * MICROSECONDS_PER_MS
    initial = bool(delay) and duration >= delay and duration % delay <= delay * 0.03
    members_after = case.draft.members_after
    alone = members_after == 1 or (members_after is not None and len(acts) >= members_after)
    likely = 0.9 if initial or alone else 0.25
    return [
        Opinion(Cause.NEW_GROUP, likely, acts, "server.log of the coordinator before the first line given"),
        Opinion(Cause.MEMBER_JOIN, 1 - likely, acts, "server.log of the coordinator before the first line given"),
    ]


# -- leaves and expiries ------------------------------------------------------------------------------------


def _left(case: Case, act: Act | None) -> list[Opinion]:
    """A member left: by its own will, because it polled too late, or by an administrator."""
    leaves = {actor: a for actor, a in case.by_actor(Deed.LEAVE).items() if case.is_effective(a)}
    if act is None and leaves:
        act = min(leaves.values(), key=lambda a: abs(a.at - case.start))
    actor = case.actor(act) if act else None
    returned = case.joiners.get(actor) if actor else None
    why = kind_of_leave(case, actor, act)
    if actor in case.known.shared:
        returned = None  # another member with the same client id
    if returned is not None and case.draft.outcome != "empty" and why.best.cause is not Cause.ADMIN_REMOVAL and act is not None:
        return [Opinion(Cause.MEMBER_RESTART, 0.95, [act, returned]), Opinion(why.best.cause, 0.04, [act])]
    opinions = why.opinions
    for opinion in opinions:
        opinion.acts = _leavers_alike(case, opinion.cause, act, leaves)
    if _head_count_unchanged(case) and not case.known.clients and not case.known.requests:
        share = 0.5
        for opinion in opinions:
            opinion.probability *= 1 - share
        opinions.append(Opinion(Cause.MEMBER_RESTART, share, [act] if act else [], _CLIENT_LOG))
    return opinions


def _head_count_unchanged(case: Case) -> bool:
    """As many members after a leave as before it: somebody joined meanwhile, most likely the one that left."""
    before, after = case.draft.members_before, case.draft.members_after
    return bool(before and after) and before == after


def _leavers_alike(case: Case, cause: Cause, act: Act | None, leaves: dict[str, Act]) -> list[Act]:
    """All that left in the same way in this rebalance; the one that started it comes first."""
    alike = [a for actor, a in leaves.items() if kind_of_leave(case, actor, a).best.cause is cause]
    first = case.actor(act) if act else None
    same = sorted(alike, key=lambda a: (case.actor(a) != first, a.at))
    return same if same or act is None else [act]


_CLIENT_LOG = "the client's own log at INFO around the start"

_LEAVE_WHY: tuple[tuple[str, Cause], ...] = (
    # AbstractCoordinator.maybeLeaveGroup and KafkaConsumer; the client's reason reaches the broker since 3.2 (KIP-800).
    ("poll timeout has expired", Cause.POLL_TIMEOUT),
    ("removed by an admin", Cause.ADMIN_REMOVAL),
    ("the consumer is being closed", Cause.MEMBER_LEAVE),
    ("unsubscribed from all topics", Cause.MEMBER_LEAVE),
    ("pro-actively leaving", Cause.MEMBER_LEAVE),
)


def kind_of_leave(case: Case, actor: str | None, act: Act | None) -> Judgement:
    """Tell a graceful leave from an exceeded poll interval and from an administrator's removal."""
    whys = [a.why for a in case.deeds(Deed.LEAVE) if a.why and case.actor(a) == actor]
    if act is not None and act.why:
        whys.append(act.why)
    for fixed, cause in _LEAVE_WHY:
        if any(fixed in why for why in whys):
            return Judgement([Opinion(cause, 0.98)])
    if act is not None and _noticed_poll_timeout(case, actor, act):
        return Judgement([Opinion(Cause.POLL_TIMEOUT, 0.98)])
    if act is not None and _is_static(case, act):
        return Judgement([Opinion(Cause.ADMIN_REMOVAL, 0.88), Opinion(Cause.MEMBER_LEAVE, 0.1)])
    if any(why != "not provided" for why in whys):
        return Judgement([Opinion(Cause.ADMIN_REMOVAL, 0.75), Opinion(Cause.MEMBER_LEAVE, 0.2)])
    if case.has_client_log(actor):
        if _rejoins_unasked(case, actor, act):
            return Judgement([Opinion(Cause.POLL_TIMEOUT, 0.93), Opinion(Cause.MEMBER_LEAVE, 0.06)])
        return Judgement([Opinion(Cause.MEMBER_LEAVE, 0.95), Opinion(Cause.POLL_TIMEOUT, 0.04)])
    comes_back = _comes_back(case, actor, act)
    poll = 0.3 if comes_back else 0.08
    return Judgement(
        [
            Opinion(Cause.MEMBER_LEAVE, 0.97 - poll, settled_by=_CLIENT_LOG),
            Opinion(Cause.POLL_TIMEOUT, poll, settled_by=_CLIENT_LOG),
        ]
    )


def _noticed_poll_timeout(case: Case, actor: str | None, act: Act) -> bool:
    return any(a.deed is Deed.POLL_TIMEOUT and case.actor(a) == actor and -LOOK_BACK_US <= a.at - act.at <= LOOK_BACK_US for a in case.acts)


def _is_static(case: Case, act: Act) -> bool:
    """Static members send no LeaveGroup of their own (KIP-345), so one that left was removed."""
    member = case.roster.members.get(act.member_id or "")
    return bool(act.instance_id or (member and member.instance_id))


def _rejoins_unasked(case: Case, actor: str | None, act: Act | None) -> bool:
    """After a poll timeout the same process goes on: it joins again without looking for its coordinator or subscribing anew."""
    left_at = act.at if act else case.start
    for later in case.acts:
        if later.at <= left_at or case.actor(later) != actor:
            continue
        if later.deed in {Deed.START, Deed.SUBSCRIBE, Deed.CLOSE, Deed.UNSUBSCRIBE}:
            return False
        if later.deed is Deed.JOIN:
            return later.event.witness is Witness.CLIENT
    return False


def _comes_back(case: Case, actor: str | None, act: Act | None) -> bool:
    left_at = act.at if act else case.start
    return any(later.at > left_at and later.deed is Deed.JOIN and case.actor(later) == actor for later in case.acts)


def _expired(case: Case, act: Act | None) -> list[Opinion]:
    """A member's session ran out."""
    expiries = {actor: a for actor, a in case.by_actor(Deed.EXPIRE).items() if case.is_effective(a)}
    if act is None and expiries:
        act = min(expiries.values(), key=lambda a: a.at)
    actor = case.actor(act) if act else None
    returned = case.joiners.get(actor) if actor else None
    first = sorted(expiries.values(), key=lambda a: (case.actor(a) != actor, a.at)) or ([act] if act else [])
    if returned is not None and act is not None and case.draft.outcome != "empty":
        return [Opinion(Cause.MEMBER_RESTART, 0.93, [act, returned]), Opinion(Cause.SESSION_TIMEOUT, 0.07, first)]
    return [Opinion(Cause.SESSION_TIMEOUT, 0.98, first)]


# -- members that rejoin --------------------------------------------------------------------------------------

_REJOIN_WHY: tuple[tuple[str, Cause], ...] = (
    # ConsumerCoordinator.rejoinNeededOrPending and onJoinComplete; wording since 2.7, sent to the broker since 3.2.
    ("need to revoke partitions", Cause.COOPERATIVE_FOLLOWUP),
    ("cached metadata has changed", Cause.METADATA_CHANGE),
    ("assignment metadata has changed", Cause.METADATA_CHANGE),
    ("subscription has changed", Cause.SUBSCRIPTION_CHANGE),
)

_REJOIN_AFTER_TROUBLE = (
    "rebalance failed due to",
    "encountered ",
    "group is already rebalancing",
    "need to re-join with the given member-id",
)


def _rejoined(case: Case, act: Act | None) -> list[Opinion]:
    """A member sent JoinGroup again unasked: its topics, their partitions or its assignment changed."""
    actor = case.actor(act) if act else None
    acts = [act] if act else []
    why = _why_rejoin(case, actor, act)
    cause = next((cause for fixed, cause in _REJOIN_WHY if why and fixed in why), None)
    if cause is Cause.COOPERATIVE_FOLLOWUP:
        return [Opinion(cause, 0.98, _rejoiners(case, acts))]
    if cause is Cause.METADATA_CHANGE:
        return [Opinion(cause, 0.97, acts), Opinion(Cause.SUBSCRIPTION_CHANGE, 0.03, acts)]
    if why and cause is None and why != "not provided" and not why.startswith(_REJOIN_AFTER_TROUBLE):
        return [Opinion(Cause.UNKNOWN, 0.9, acts, "the application: it called enforceRebalance with this reason")]
    return _topics_or_metadata(case, actor, acts, said_subscription=cause is Cause.SUBSCRIPTION_CHANGE)


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


def _topics_or_metadata(case: Case, actor: str | None, acts: list[Act], *, said_subscription: bool) -> list[Opinion]:
    """Without a telling reason: did the application subscribe, did a topic change, or is it a second phase?"""
    since = case.draft.previous_ended_at or case.phase_began
    subscribed = any(case.actor(a) == actor for a in case.deeds(Deed.SUBSCRIBE, start=since, end=case.start + CLOCK_TOLERANCE_US))
    if subscribed:
        return [Opinion(Cause.SUBSCRIPTION_CHANGE, 0.97, acts), Opinion(Cause.METADATA_CHANGE, 0.03, acts)]
    changed = bool(case.facts.topic_changes_between(since, case.start))
    if said_subscription:
        by_metadata = 0.95 if case.has_client_log(actor) and changed else 0.9 if actor in case.known.patterns else 0.8 if changed else 0.06
        return [Opinion(Cause.METADATA_CHANGE, by_metadata, acts), Opinion(Cause.SUBSCRIPTION_CHANGE, 1 - by_metadata, acts)]
    if _may_follow_up(case):
        sure = 0.93 if _is_cooperative(case) else 0.6
        return [
            Opinion(Cause.COOPERATIVE_FOLLOWUP, sure, _rejoiners(case, acts)),
            Opinion(Cause.SUBSCRIPTION_CHANGE, (1 - sure) / 2, acts, _CLIENT_LOG),
            Opinion(Cause.METADATA_CHANGE, (1 - sure) / 2, acts, _CLIENT_LOG),
        ]
    by_metadata = 0.85 if changed else 0.25
    return [
        Opinion(Cause.METADATA_CHANGE, by_metadata, acts, _CLIENT_LOG),
        Opinion(Cause.SUBSCRIPTION_CHANGE, 0.97 - by_metadata, acts, _CLIENT_LOG),
    ]


def _may_follow_up(case: Case) -> bool:
    """The rebalance before has just ended and moved partitions between members."""
    previous, ended = case.previous, case.draft.previous_ended_at
    if previous is None or ended is None or previous.outcome != "stable" or previous.state_before is State.EMPTY:
        return False
    return 0 <= case.start - ended <= FOLLOWUP_US and _eager_is_excluded(case)


def _eager_is_excluded(case: Case) -> bool:
    assignor = case.known.assignors.get(case.draft.generation_before or -1)
    return assignor is None or "cooperative" in assignor


def _is_cooperative(case: Case) -> bool:
    return "cooperative" in (case.known.assignors.get(case.draft.generation_before or -1) or "")


# -- the rest -----------------------------------------------------------------------------------------------


def _replaced(_case: Case, act: Act | None) -> list[Opinion]:
    return [Opinion(Cause.STATIC_MEMBER_REPLACED, 0.95, [act] if act else [])]


def _assignor_changed(_case: Case, act: Act | None) -> list[Opinion]:
    return [Opinion(Cause.ASSIGNOR_CHANGE, 0.97, [act] if act else [])]


def _sync_missed(case: Case, act: Act | None) -> list[Opinion]:
    missing = list(case.by_actor(Deed.SYNC_MISSED).values()) or ([act] if act else [])
    return [Opinion(Cause.SYNC_TIMEOUT, 0.97, missing)]


def _store_failed(_case: Case, _act: Act | None) -> list[Opinion]:
    return [Opinion(Cause.ASSIGNMENT_STORE_FAILED, 0.9), Opinion(Cause.COORDINATOR_FAILOVER, 0.1)]


def _over_capacity(_case: Case, _act: Act | None) -> list[Opinion]:
    return [Opinion(Cause.COORDINATOR_FAILOVER, 0.9)]


def _downgraded(_case: Case, _act: Act | None) -> list[Opinion]:
    return [Opinion(Cause.PROTOCOL_MIGRATION, 0.9), Opinion(Cause.MEMBER_LEAVE, 0.1)]


_REQUEST_LOG = "kafka-request.log at DEBUG of the coordinator around the start"


def _by_elimination(case: Case) -> list[Opinion]:
    """No line names a trigger. What did not happen leaves a few causes, with their usual shares."""
    draft = case.draft
    if case.was_empty:
        return [Opinion(Cause.NEW_GROUP, 0.97, list(case.joiners.values()))]
    gone = case.gone.values()
    expiries = [act for act in gone if act.deed is Deed.EXPIRE]
    leaves = [act for act in gone if act.deed is Deed.LEAVE] + case.vanished
    if draft.outcome == "empty":
        if leaves or not expiries:  # the only members of a group can leave it unlogged, but never expire so
            return [Opinion(Cause.MEMBER_LEAVE, 0.9, leaves), Opinion(Cause.POLL_TIMEOUT, 0.07, leaves, _CLIENT_LOG)]
        return [Opinion(Cause.SESSION_TIMEOUT, 0.6, expiries), Opinion(Cause.MEMBER_LEAVE, 0.35, [], _REQUEST_LOG)]
    if leaves and not case.joiners and not _timed_out(case):
        return [Opinion(Cause.MEMBER_LEAVE, 0.85, leaves), Opinion(Cause.POLL_TIMEOUT, 0.12, leaves, _REQUEST_LOG)]
    if draft.state_before is None and _initial_delay_seen(case):
        return [Opinion(Cause.NEW_GROUP, 0.8, list(case.joiners.values()), _REQUEST_LOG), Opinion(Cause.MEMBER_JOIN, 0.15)]
    return _usual_shares(case, expiries)


def _start_not_seen(case: Case) -> list[Opinion]:
    """The log begins inside the rebalance, or lost its beginning: whatever started it stands in lines that are not there."""
    lines = "server.log of the coordinator before this line"
    if case.draft.outcome == "empty":
        return [Opinion(Cause.MEMBER_LEAVE, 0.7, settled_by=lines), Opinion(Cause.SESSION_TIMEOUT, 0.25, settled_by=lines)]
    rivals = [Opinion(o.cause, o.probability / 2, [], lines) for o in _usual_shares(case, [])]
    return [Opinion(Cause.UNKNOWN, 0.5, settled_by=lines), *rivals]


def _timed_out(case: Case) -> bool:
    """The join phase ran into the rebalance timeout: who is missing then did not rejoin, which started nothing."""
    timeout = rebalance_timeout_us(case)
    return timeout is not None and (case.draft.open_until or case.start) - case.start >= timeout - TIMEOUT_TOLERANCE_US


def _initial_delay_seen(case: Case) -> bool:
    duration = (case.draft.open_until or case.start) - case.start
    delay = case.facts.initial_delay_ms * MICROSECONDS_PER_MS
    return bool(delay) and duration >= delay and duration % delay <= delay * 0.02


def _store_failed_silently(case: Case) -> bool:
    """A rebalance one commit timeout after the assignment, that nobody asked for (before 2.1 the failure is not logged)."""
    previous = case.previous
    if previous is None or previous.outcome != "stable" or previous.ended_at is None:
        return False
    lag = case.start - previous.ended_at
    if not STORE_TIMEOUT_US <= lag <= STORE_TIMEOUT_US + 400_000:
        return False
    since = case.start - TROUBLE_US
    moved = any(since <= load.at <= case.start for load in case.facts.loads)
    return moved or bool(case.facts.node_changes_between(since, case.start))


def _usual_shares(case: Case, expiries: list[Act]) -> list[Opinion]:
    shares = {
        Cause.MEMBER_JOIN: 0.42,
        Cause.MEMBER_LEAVE: 0.28,
        Cause.METADATA_CHANGE: 0.06,
        Cause.SUBSCRIPTION_CHANGE: 0.06,
        Cause.POLL_TIMEOUT: 0.06,
        Cause.MEMBER_RESTART: 0.06,
        Cause.COORDINATOR_FAILOVER: 0.06,
    }
    if case.facts.topic_changes_between(case.draft.previous_ended_at or case.phase_began, case.start):
        shares |= {Cause.METADATA_CHANGE: 0.3, Cause.MEMBER_JOIN: 0.3, Cause.MEMBER_LEAVE: 0.16}
    if expiries:  # somebody expired while the others joined: most often the former self of the one that came
        shares |= {Cause.MEMBER_RESTART: 0.45, Cause.MEMBER_JOIN: 0.2, Cause.MEMBER_LEAVE: 0.1, Cause.SESSION_TIMEOUT: 0.07}
    if case.draft.state_before is None:
        shares[Cause.NEW_GROUP] = 0.1
    return [Opinion(cause, share, expiries if cause is Cause.MEMBER_RESTART else [], _REQUEST_LOG) for cause, share in shares.items()]


def _with_first(first: Act | None, others: Iterable[Act], case: Case) -> list[Act]:
    """Acts with the one that started it in front, one per actor."""
    actor = case.actor(first) if first else None
    rest = [act for act in others if case.actor(act) != actor]
    return [first, *rest] if first else rest


_BY_REASON: dict[str, Callable[[Case, Act | None], list[Opinion]]] = {
    "new_member": _joined,
    "leave": _left,
    "heartbeat_expiration": _expired,
    "update_metadata": _rejoined,
    "member_joining": _rejoined,
    "leader_rejoin": _rejoined,
    "static_member_protocol_change": _assignor_changed,
    "static_member_update": _replaced,
    "pending_sync_expiration": _sync_missed,
    "sync_store_error": _store_failed,
    "over_capacity_on_load": _over_capacity,
    "downgrade_from_consumer": _downgraded,
    "downgrade_from_consumer_member_leaving": _downgraded,
    "downgrade_from_consumer_stale_assignment": _downgraded,
}

_BY_DEED: dict[Deed, Callable[[Case, Act | None], list[Opinion]]] = {
    Deed.JOIN: _joined,
    Deed.LEAVE: _left,
    Deed.EXPIRE: _expired,
    Deed.REPLACE: _replaced,
    Deed.REJOIN: lambda case, act: _joined(case, act) if act is not None and case.is_new(act) else _rejoined(case, act),
}


def trigger_text(case: Case, judgement: Judgement) -> str | None:
    """What the coordinator printed as its reason, else the line of the deed that started it."""
    if case.reason:
        return case.reason
    if judgement.trigger is not None:
        return text_field(judgement.trigger.event, "reason") or judgement.trigger.event.text[:300] or None
    return None
