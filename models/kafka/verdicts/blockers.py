"""Members that made others wait after a rebalance started.

The line that opens a rebalance names the member that started it. The length of the join phase depends on the old member
that rejoins last, or never.
"""

from __future__ import annotations

from collections.abc import Mapping

from models.events import Witness
from models.kafka.hypotheses.elimination import INITIAL_DELAY_OVERRUN
from models.kafka.hypotheses.hypothesis import PROMPT_US
from models.kafka.hypotheses.timeouts import LAST_MOMENT_US, evicted_unlogged, phase_deadline_us
from models.kafka.hypotheses.window import Case
from models.kafka.observations.actions import Act, Deed, text_field
from models.kafka.observations.tolerances import stamp_width_us
from models.rows import Person
from models.units import US_PER_MS

SLOW_REJOIN_US = 1_500_000
"""Minimum delay of a blocker behind the other members.

Members learn of a rebalance with their next heartbeat.
"""

UNNAMED_WAIT_US = 10_000_000
"""Minimum wait for a member that no line names.

Three heartbeat intervals of 3 s, the default (ConsumerConfig); whoever is well has heard of the rebalance by then.
"""

CANDIDATES_MAX = 5
"""Maximum number of candidates that are named.

If more members may be the missing one, none is.
"""

GHOST = "was given a member id and never used it"
EXPIRED_MEANWHILE = "expired while the others waited"
REJOINED_LAST = "rejoined last"
AWAITED_LAST = "was awaited when all others had rejoined"
LATE = "kept the others waiting, unnamed"
EVICTED = "evicted"
NOT_BACK = "did not rejoin before the others went on"
NOT_REJOINED = "had not rejoined when the logs end"
NOT_SYNCED = "leads the group and had not sent SyncGroup when the logs end"
NEVER_SYNCED = "never sent SyncGroup"


def blockers(case: Case) -> list[Person]:
    """Members that held up the join phase, longest first.

    Empty if the initial delay explains the wait.
    """
    draft = case.draft
    if draft.started_at is None:
        return []
    if draft.outcome == "open":
        return _awaited(case)
    unsynced = _unsynced(case)
    if unsynced or draft.open_until is None or case.was_empty:
        return unsynced
    evicted = _evicted(case)
    if evicted:
        return evicted
    removed = _removed_at_last(case)
    if removed:
        return removed
    end = draft.open_until
    return _ghosts(case, end) or _slow_rejoiner(case, end) or _somebody(case, end)


def _person(case: Case, act: Act, reason: str, *, first: bool) -> Person:
    return case.roster.person(act.member_id, act.client_id, act.instance_id, reason, first=first)


def _evicted(case: Case) -> list[Person]:
    """Members removed at the rebalance timeout.

    Logged since 2.7; before that the length of the join phase shows it.
    """
    logged = [act for act in case.by_actor(Deed.EVICT).values() if act.at >= case.start]
    if logged:
        return [_person(case, act, EVICTED, first=index == 0) for index, act in enumerate(logged)]
    if case.draft.witness is Witness.CLIENT:
        return _dropped(case)
    if phase_deadline_us(case) is None:
        return []
    echoes = evicted_unlogged(case)
    if echoes:
        return [_person(case, act, EVICTED, first=index == 0) for index, act in enumerate(echoes)]
    after, before, gone = case.members_after, case.members_before, case.gone
    if after and before:
        missing = {actor: before[actor] for actor in before if actor not in after and actor not in gone}
        if missing:
            return _people(case, missing, EVICTED)
    return _one_of(case, _old_members(case), EVICTED)


def _dropped(case: Case) -> list[Person]:
    """Old members gone after a long join phase, by members' logs."""
    start, end, after = case.start, case.draft.open_until, case.members_after
    if end is None or end - start < SLOW_REJOIN_US or not after:
        return []
    missing = {actor: member for actor, member in case.members_before.items() if actor not in after and actor not in case.gone}
    return _people(case, {actor: member for actor, member in missing.items() if not case.is_ambiguous(actor)}, NOT_BACK)


def _people(case: Case, members: Mapping[str, str | None], reason: str) -> list[Person]:
    roster = case.roster
    return [
        roster.person(member_id, roster.client_of(member_id) or actor, None, reason, first=index == 0)
        for index, (actor, member_id) in enumerate(members.items())
    ]


def _one_of(case: Case, members: Mapping[str, str | None], reason: str) -> list[Person]:
    """The missing member.

    Named if only one is possible; all candidates if they are few; else a member without a name.
    """
    count = len(members)
    complete = count >= (case.draft.members_before or 1)
    if count == 1 and complete:
        return _people(case, members, reason)
    if complete and count <= CANDIDATES_MAX:
        return _people(case, members, f"{reason}, one of {count}")
    return [Person(None, None, None, None, reason, first=True)]


def _old_members(case: Case) -> dict[str, str | None]:
    """Known members of the previous generation that may not have rejoined.

    Actor -> member id.
    """
    known = dict(case.members_before)
    settled_at = case.draft.previous_ended_at or case.start
    for member in case.roster.members.values():
        if member.first_seen_at is not None and member.first_seen_at <= settled_at and member.ended_how == "open":
            known.setdefault(case.roster.actor(member.member_id) or member.member_id, member.member_id)
    came = {case.actor(act) for act in case.deeds(Deed.REJOIN, Deed.JOIN, start=case.start)} | set(case.joiners) | _asked_first(case)
    return {actor: member_id for actor, member_id in known.items() if actor not in came and actor not in case.gone}


def _awaited(case: Case) -> list[Person]:
    """Members that a rebalance still waits for at the end of the logs.

    Old members that have not rejoined, or the leader for its assignment.
    """
    draft, end = case.draft, case.facts.logs_end
    if end is None or end - case.start < SLOW_REJOIN_US:
        return []
    if draft.joined is not None:
        leader = case.previous.leader if case.previous is not None else None
        stays = leader is not None and case.roster.actor(leader) not in case.gone
        return [case.roster.person(leader if stays else None, None, None, NOT_SYNCED, first=True)]
    return [] if case.was_empty else _one_of(case, _old_members(case), NOT_REJOINED)


def _unsynced(case: Case) -> list[Person]:
    """Members that joined the generation but never sent SyncGroup.

    The next rebalance removes them, and its reason says so.
    """
    following = case.following.started if case.following is not None else None
    if case.draft.outcome != "superseded" or following is None or text_field(following, "reason_id") != "pending_sync_expiration":
        return []
    return [_person(case, act, NEVER_SYNCED, first=index == 0) for index, act in enumerate(case.reason_acts(Deed.SYNC_MISSED, following))]


def _removed_at_last(case: Case) -> list[Person]:
    """A member that never rejoined.

    Its leave or expiry, well after the start, completed the join phase.
    """
    start, end = case.start, case.draft.open_until
    if end is None or end - start < SLOW_REJOIN_US or case.draft.outcome == "empty":
        return []
    late = [act for act in case.gone.values() if act.at - start >= SLOW_REJOIN_US and abs(end - act.at) <= LAST_MOMENT_US]
    reasons = {Deed.LEAVE: "left while the others waited", Deed.EXPIRE: EXPIRED_MEANWHILE}
    return [_person(case, act, reasons[act.deed], first=index == 0) for index, act in enumerate(late)]


def _ghosts(case: Case, end: int) -> list[Person]:
    """Unused member ids, which hold the join phase for a session timeout.

    They were assigned but never joined (KIP-394, since 2.2).
    """
    if end - case.start < SLOW_REJOIN_US:
        return []
    late = [act for act in case.deeds(Deed.ID_EXPIRED) if act.at - case.start >= SLOW_REJOIN_US and abs(end - act.at) <= LAST_MOMENT_US]
    return [_person(case, act, GHOST, first=index == 0) for index, act in enumerate(late)]


def _slow_rejoiner(case: Case, end: int) -> list[Person]:
    """The old member that rejoined last, much later than the others."""
    arrivals = _arrivals(case, end)
    ordered = sorted(arrivals.values(), key=lambda act: act.at)
    if not ordered or end - ordered[-1].at - stamp_width_us(ordered[-1].at) > LAST_MOMENT_US * 4:
        return _last_by_elimination(case, end, arrivals)
    before = ordered[-2].at if len(ordered) > 1 else case.start
    if ordered[-1].at - max(before, case.start) < SLOW_REJOIN_US:
        return []
    return [_person(case, ordered[-1], REJOINED_LAST, first=True)]


def _somebody(case: Case, end: int) -> list[Person]:
    """The member behind a long wait that no line names.

    A join phase of a group with members lasts until the last old one has come or is put out.
    """
    draft = case.draft
    lasted = end - case.start
    if draft.outcome not in {"stable", "superseded"} or draft.joined is None or lasted < UNNAMED_WAIT_US:
        return []
    if draft.state_before is None and lasted <= case.facts.initial_delay_ms * US_PER_MS * (1 + INITIAL_DELAY_OVERRUN):
        return []
    return [Person(None, None, None, None, LATE, first=True)]


def _arrivals(case: Case, end: int) -> dict[str, Act]:
    """When each old member rejoined, by actor.

    Sarama and kafka-go only log that they give up what they have.
    """
    found: dict[str, Act] = {}
    for kinds in ((Deed.REJOIN, Deed.JOIN), (Deed.REVOKE,)):
        seen = frozenset(found)
        for act in case.deeds(*kinds, start=case.start, end=end):
            actor = case.actor(act)
            if actor is not None and not case.is_new(act) and actor not in seen and actor not in case.gone:
                found.setdefault(actor, act)
    return found


def _asked_first(case: Case) -> set[str | None]:
    """Whose JoinGroup may have started the rebalance, and so came before all others."""
    named = case.reason_act(case.draft.started) if case.draft.started is not None else None
    asked = case.deeds(Deed.REJOIN, Deed.JOIN, start=case.start - PROMPT_US, end=case.start)
    return {case.actor(act) for act in (*asked, *([named] if named is not None else []))}


def _last_by_elimination(case: Case, end: int, arrivals: Mapping[str, Act]) -> list[Person]:
    """The one old member that no line shows to rejoin.

    Told if all others are known and came long before the end.
    """
    if end - case.start < SLOW_REJOIN_US or any(end - act.at < SLOW_REJOIN_US for act in arrivals.values()):
        return []
    old = dict(case.members_before)
    settled_at = case.draft.previous_ended_at or case.start
    for member in case.roster.members.values():
        was_there = member.first_seen_at is not None and member.first_seen_at <= settled_at
        if was_there and (member.ended_how == "open" or (member.last_seen_at or 0) >= case.start):
            old.setdefault(case.roster.actor(member.member_id) or member.member_id, member.member_id)
    if len(old) != case.draft.members_before or any(case.is_ambiguous(actor) for actor in old):
        return []
    there = {*arrivals, *case.gone, *_asked_first(case)}
    missing = {actor: member_id for actor, member_id in old.items() if actor not in there}
    return _people(case, missing, AWAITED_LAST) if len(missing) == 1 else []
