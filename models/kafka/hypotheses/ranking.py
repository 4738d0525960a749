"""Why did the group rebalance? From what was seen to a cause, its rivals and how sure we are.

Three questions are kept apart: who started it (`cause`, offenders), who made the others wait (blockers)
and what stands behind it (root cause). Each rule below returns `Opinion`s; the best one is the verdict,
the others are its alternatives.
"""

from __future__ import annotations

from collections.abc import Callable

from models.causes import Cause
from models.events import Witness
from models.kafka.hypotheses.departures import expired, left
from models.kafka.hypotheses.elimination import by_elimination, by_members_put_out, start_not_seen, store_failed_silently
from models.kafka.hypotheses.hypothesis import PROMPT_US, Judgement, Opinion
from models.kafka.hypotheses.joins import joined, rejoined
from models.kafka.hypotheses.window import MEMBER_ID_REQUIRED, Case
from models.kafka.observations.actions import Act, Deed, int_field, is_told, text_field
from models.kafka.observations.tolerances import CLOCK_TOLERANCE_US

EXPIRY_LAG_US = 1_000_000
""""has failed" may stand up to this long before "Preparing" on a busy broker."""


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
    by_reason, line = _BY_REASON.get(case.reason_id or ""), case.draft.started
    if by_reason is not None and line is not None:
        act = case.reason_act(line)
        return by_reason(case, act), act
    if case.draft.started is None and not case.was_empty:
        return start_not_seen(case), None
    put_out = by_members_put_out(case) if case.draft.outcome == "empty" else []
    if put_out:
        return put_out, None
    trigger = find_trigger(case)
    nobody_before = trigger is None or trigger.deed is Deed.REJOIN or trigger.at > case.start
    if nobody_before and store_failed_silently(case):
        return _store_failed(case, None), None
    if trigger is not None:
        by_deed = joined if case.was_empty else _BY_DEED[trigger.deed]  # only a first member moves a group out of Empty
        return by_deed(case, trigger), trigger
    return by_elimination(case), None


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
        for act in (*case.latecomers, *case.deeds(Deed.JOIN, Deed.LEAVE, Deed.REJOIN, Deed.REPLACE, end=start + CLOCK_TOLERANCE_US))
        if _could_trigger(case, act)
    ]
    prompt = [act for act in candidates if start - act.at <= PROMPT_US]
    if prompt:
        return _as_requested(case, min(prompt, key=lambda act: act.at), prompt)
    late = [act for act in candidates if act.deed is not Deed.REJOIN]
    return max(late, key=lambda act: act.at) if late and start - late[-1].at <= 2 * EXPIRY_LAG_US else None


def _as_requested(case: Case, first: Act, acts: list[Act]) -> Act:
    """The same deed by the request log, if that tells it too: a client's log does not say under which id it asks."""
    if first.event.witness is not Witness.CLIENT:
        return first
    alike = (act for act in acts if act.event.witness is Witness.REQUEST and case.actor(act) == case.actor(first))
    return next((act for act in alike if abs(act.at - first.at) <= CLOCK_TOLERANCE_US), first)


def _could_trigger(case: Case, act: Act) -> bool:
    if act.deed in {Deed.JOIN, Deed.REJOIN} and _was_refused_before(case, act):
        return False
    if act.deed is Deed.REJOIN and not case.is_new(act):
        return not _was_told(case, act) and not _follows_others(case, act)
    if act.deed is Deed.JOIN and act.member_id is None and case.actor(act) in case.members_before:
        return True
    return act.deed is not Deed.LEAVE or not case.members_before or case.actor(act) in case.members_before


def _was_refused_before(case: Case, act: Act) -> bool:
    """The JoinGroup was refused before the rebalance began, so that another one must have started it."""
    if act.event.witness is Witness.REQUEST:
        return act.event.time_us < case.start and int_field(act.event, "error_code") not in {None, 0, MEMBER_ID_REQUIRED}
    actor = case.actor(act)
    failures = case.deeds(Deed.JOIN_FAILED, start=act.at - 1, end=case.start - 1) if act.event.witness is Witness.CLIENT else ()
    return any(case.actor(each) == actor and "MEMBER_ID_REQUIRED" not in (each.why or "") for each in failures)


def _follows_others(case: Case, act: Act) -> bool:
    """Whether a member without a reason of its own follows others.

    Not every library logs that it heard of a rebalance.
    """
    if case.draft.witness is not Witness.CLIENT or not (case.appeared or case.vanished or case.gone):
        return False
    actor, since = case.actor(act), case.phase_began
    return not any(case.actor(wish) == actor for wish in case.deeds(Deed.WANTS_REJOIN, start=since, end=act.at) if not is_told(wish))


def _was_told(case: Case, act: Act) -> bool:
    """The member rejoins because a heartbeat told it so, after its last join."""
    actor = case.actor(act)
    joined = max((a.at for a in case.acts if a.deed is Deed.JOINED and case.actor(a) == actor and a.at < act.at), default=case.phase_began)
    return any(is_told(a) and case.actor(a) == actor and joined <= a.at <= act.at for a in case.acts)


def _replaced(_case: Case, act: Act | None) -> list[Opinion]:
    return [Opinion(Cause.STATIC_MEMBER_REPLACED, 0.95, [act] if act else [])]


def _assignor_changed(_case: Case, act: Act | None) -> list[Opinion]:
    return [Opinion(Cause.ASSIGNOR_CHANGE, 0.97, [act] if act else [])]


def _sync_missed(case: Case, act: Act | None) -> list[Opinion]:
    line = case.draft.started
    listed = case.reason_acts(Deed.SYNC_MISSED, line) if line is not None else []
    missing = list(case.by_actor(Deed.SYNC_MISSED).values()) or listed or ([act] if act else [])
    return [Opinion(Cause.SYNC_TIMEOUT, 0.97, missing)]


def _store_failed(case: Case, _act: Act | None) -> list[Opinion]:
    sure = 0.97 if case.reason_id else 0.9
    return [Opinion(Cause.ASSIGNMENT_STORE_FAILED, sure), Opinion(Cause.COORDINATOR_FAILOVER, 1 - sure)]


def _over_capacity(_case: Case, _act: Act | None) -> list[Opinion]:
    return [Opinion(Cause.COORDINATOR_FAILOVER, 0.9)]


def _downgraded(_case: Case, _act: Act | None) -> list[Opinion]:
    return [Opinion(Cause.PROTOCOL_MIGRATION, 0.9), Opinion(Cause.MEMBER_LEAVE, 0.1)]


_BY_REASON: dict[str, Callable[[Case, Act | None], list[Opinion]]] = {
    "new_member": joined,
    "leave": left,
    "heartbeat_expiration": expired,
    "update_metadata": rejoined,
    "member_joining": rejoined,
    "leader_rejoin": rejoined,
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
    Deed.JOIN: joined,
    Deed.LEAVE: left,
    Deed.EXPIRE: expired,
    Deed.REPLACE: _replaced,
    Deed.REJOIN: lambda case, act: joined(case, act) if act is not None and case.is_new(act) else rejoined(case, act),
}


def trigger_text(case: Case, judgement: Judgement) -> str | None:
    """What the coordinator printed as its reason, else the line of the deed that started it."""
    if case.reason:
        return case.reason
    if judgement.trigger is not None:
        return text_field(judgement.trigger.event, "reason") or judgement.trigger.event.text[:300] or None
    return None
