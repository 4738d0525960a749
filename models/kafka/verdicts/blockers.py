"""Who made the others wait once a rebalance had started.

The line that opens a rebalance names who started it. How long the join phase takes is up to the old member
that rejoins last, or that never does.
"""

from __future__ import annotations

from models.kafka.hypotheses.timeouts import TIMEOUT_TOLERANCE_US, rebalance_timeout_us
from models.kafka.hypotheses.window import Case
from models.kafka.observations.actions import Act, Deed
from models.rows import Person

SLOW_REJOIN_US = 1_500_000
"""A member that rejoins this much later than the others held them up; members hear of a rebalance with their next heartbeat."""


LAST_MOMENT_US = 150_000
"""The join phase ends with the deed of the last member that was missing."""


def blockers(case: Case) -> list[Person]:
    """Members that held up the join phase, the one that held it up longest first; empty while an initial delay explains it."""
    draft = case.draft
    if draft.started_at is None or draft.open_until is None or case.was_empty:
        return []
    evicted = _evicted(case)
    if evicted:
        return evicted
    removed = _removed_at_last(case)
    if removed:
        return removed
    return _ghosts(case, draft.open_until) or _slow_rejoiner(case, draft.open_until)


def _person(case: Case, act: Act, reason: str, *, first: bool) -> Person:
    return case.roster.person(act.member_id, act.client_id, act.instance_id, reason, first=first)


def _evicted(case: Case) -> list[Person]:
    """Members dropped at the rebalance timeout: logged since 2.7, before that told by who is missing afterwards."""
    logged = [act for act in case.by_actor(Deed.EVICT).values() if act.at >= case.start]
    if logged:
        return [_person(case, act, "evicted", first=index == 0) for index, act in enumerate(logged)]
    start, end = case.draft.started_at, case.draft.open_until
    after, before = case.members_after, case.members_before
    if start is None or end is None or not before or not after:
        return []
    timeout = rebalance_timeout_us(case)
    if timeout is None or abs((end - start) - timeout) > TIMEOUT_TOLERANCE_US:
        return []
    gone = case.gone
    missing = [actor for actor in before if actor not in after and actor not in gone]
    return [
        case.roster.person(before[actor], case.roster.client_of(before[actor]) or actor, None, "evicted", first=index == 0)
        for index, actor in enumerate(missing)
    ]


def _removed_at_last(case: Case) -> list[Person]:
    """A member that never rejoined: its leave or expiry, well after the start, completed the join phase."""
    start, end = case.start, case.draft.open_until
    if end is None or end - start < SLOW_REJOIN_US or case.draft.outcome == "empty":
        return []
    late = [act for act in case.gone.values() if act.at - start >= SLOW_REJOIN_US and abs(end - act.at) <= LAST_MOMENT_US]
    reasons = {Deed.LEAVE: "left while the others waited", Deed.EXPIRE: "expired while the others waited"}
    return [_person(case, act, reasons[act.deed], first=index == 0) for index, act in enumerate(late)]


def _ghosts(case: Case, end: int) -> list[Person]:
    """Member ids that were handed out and never used hold the join phase for a session timeout (KIP-394, since 2.2)."""
    if end - case.start < SLOW_REJOIN_US:
        return []
    late = [act for act in case.deeds(Deed.ID_EXPIRED) if act.at - case.start >= SLOW_REJOIN_US and abs(end - act.at) <= LAST_MOMENT_US]
    return [_person(case, act, "was given a member id and never used it", first=index == 0) for index, act in enumerate(late)]


def _slow_rejoiner(case: Case, end: int) -> list[Person]:
    """The old member whose JoinGroup came last, if it came much later than that of the one before it."""
    start = case.start
    arrivals: dict[str, Act] = {}
    for act in case.deeds(Deed.REJOIN, Deed.JOIN, start=start, end=end):
        actor = case.actor(act)
        if actor is not None and not case.is_new(act) and actor not in arrivals:
            arrivals[actor] = act
    ordered = sorted(arrivals.values(), key=lambda act: act.at)
    if not ordered or end - ordered[-1].at > LAST_MOMENT_US * 4:
        return []
    before = ordered[-2].at if len(ordered) > 1 else start
    if ordered[-1].at - max(before, start) < SLOW_REJOIN_US:
        return []
    return [_person(case, ordered[-1], "rejoined last", first=True)]
