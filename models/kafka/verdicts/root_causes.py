"""Root causes of the action that started a rebalance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from models.causes import Cause, RootCause
from models.events import Witness, when
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.hypotheses.timeouts import follows_load, is_echo
from models.kafka.hypotheses.window import Case
from models.kafka.observations.actions import TOLD_OUT, Act, Deed
from models.kafka.verdicts.blockers import AWAITED_LAST, EVICTED, EXPIRED_MEANWHILE, GHOST, LATE, NEVER_SYNCED, REJOINED_LAST
from models.rows import Person
from models.units import US_PER_MS, US_PER_SECOND

USUAL_SESSION_TIMEOUTS_MS = (6_000, 10_000, 30_000, 45_000)
"""Minimum session timeout and defaults of clients.

The minimum is group.min.session.timeout.ms. Defaults: 30 s in 0.10, 10 s to 2.8, 45 s since 3.0 (KIP-735).
"""

TAKEOVER_US = 10 * US_PER_SECOND
"""Time until a lost broker's partitions have new leaders.

6 s zookeeper.session.timeout.ms, 9 s broker.session.timeout.ms.
"""

RETURN_US = 300_000_000
"""Maximum time until a paused process returns; later events are unrelated."""

_TELLING = frozenset({Deed.LOST_COORDINATOR, Deed.SUBSCRIBE, Deed.JOIN, Deed.FENCED})
"""Actions that show whether a silent process was only paused."""


HARMFUL_WAIT_US = 5 * US_PER_SECOND
"""Minimum wait that is worse than the trigger of the rebalance."""


def root_cause(case: Case, cause: Cause, acts: list[Act], blockers: Sequence[Person] = ()) -> str | None:
    """Root cause of the trigger, else of a long wait, None if unknown."""
    found = next((root.value for root, holds in _ROOTS if holds(case, cause, acts)), None)
    return found or behind_the_wait(case, blockers)


def behind_the_wait(case: Case, blockers: Sequence[Person]) -> str | None:
    """Root cause of a harmful wait, None if unknown."""
    if not blockers:
        return None
    draft, reason = case.draft, blockers[0].reason
    until = draft.ended_at if reason == NEVER_SYNCED else draft.joined_at
    if until is None or until - case.start < HARMFUL_WAIT_US:
        return None
    if reason == LATE and draft.witness is Witness.CLIENT:
        return None  # it may have been dead: members' logs tell of no expiry
    return next((root for words, root in _WAITS.items() if words in reason), None)


_WAITS: Mapping[str, str] = {
    GHOST: RootCause.GHOST_MEMBER.value,
    EXPIRED_MEANWHILE: Cause.SESSION_TIMEOUT.value,
    EVICTED: RootCause.SLOW_PROCESSING.value,
    AWAITED_LAST: RootCause.SLOW_PROCESSING.value,
    REJOINED_LAST: RootCause.SLOW_PROCESSING.value,
    LATE: RootCause.SLOW_PROCESSING.value,
    NEVER_SYNCED: Cause.SYNC_TIMEOUT.value,
}
"""Root cause of a wait, by the blocker's reason."""


def _store_failed(_case: Case, cause: Cause, _acts: list[Act]) -> bool:
    return cause is Cause.ASSIGNMENT_STORE_FAILED


def _coordinator_moved(case: Case, cause: Cause, acts: list[Act]) -> bool:
    if cause is Cause.COORDINATOR_FAILOVER:
        return True
    previous = case.previous
    if previous is not None and previous.outcome == "coordinator_lost" and previous.generation_before == case.draft.generation_before:
        return True  # restarted where it was interrupted
    if cause in {Cause.MEMBER_RESTART, Cause.METADATA_CHANGE} and follows_load(case):
        return True
    if cause not in {Cause.SESSION_TIMEOUT, Cause.MEMBER_RESTART}:
        return False
    expiries = [act for act in acts if act.deed is Deed.EXPIRE]
    return any(_expired_after_load(case, act) or _lost_with_a_broker(case, act) for act in expiries)


def _session_timeout_us(case: Case, act: Act) -> int | None:
    member = case.roster.members.get(act.member_id or "")
    own = case.known.settings.get(case.actor(act) or "", {}).get("session_timeout_ms")
    known = (member.session_timeout_ms if member else None) or own or case.facts.session_timeout_ms
    return known * US_PER_MS if known else None


def _expired_after_load(case: Case, expiry: Act) -> bool:
    """Return True if the expiry follows one session timeout after a load.

    On load all timers restart with the full session timeout, so members that vanished before expire then.
    """
    loaded_at = when(case.draft.load_before)
    if loaded_at is None:
        return False
    known = _session_timeout_us(case, expiry)
    timeouts = [known] if known else [timeout * US_PER_MS for timeout in USUAL_SESSION_TIMEOUTS_MS]
    return any(-US_PER_SECOND // 2 <= expiry.at - loaded_at - timeout <= US_PER_SECOND for timeout in timeouts)


def _lost_with_a_broker(case: Case, expiry: Act) -> bool:
    """Return True if the member fell silent when a broker was lost.

    The broker's partitions moved to others; both have the same cause.
    """
    timeout = _session_timeout_us(case, expiry) or USUAL_SESSION_TIMEOUTS_MS[1] * US_PER_MS
    silent_since = expiry.at - timeout
    return bool(case.facts.taken_over_between(silent_since - US_PER_SECOND, silent_since + timeout // 3 + TAKEOVER_US))


def _coordinator_paused(case: Case, cause: Cause, acts: list[Act]) -> bool:
    """Whether members of several groups expired at once.

    The group that forms anew after that has the same root cause.
    """
    if cause is Cause.NEW_GROUP:
        return _forms_after_burst(case)
    if cause not in {Cause.SESSION_TIMEOUT, Cause.MEMBER_RESTART}:
        return False
    return any(act.deed is Deed.EXPIRE and in_burst(case.facts, act.event.group, act.at) for act in acts)


def _forms_after_burst(case: Case) -> bool:
    emptied = case.previous
    if emptied is None or emptied.outcome != "empty" or emptied.started is None or case.start - emptied.started.time_us > RETURN_US:
        return False
    return in_burst(case.facts, emptied.started.group, emptied.started.time_us)


def in_burst(facts: ClusterFacts, group: str | None, at: int) -> bool:
    """Whether an expiry is one of those that several groups had at once."""
    return group is not None and any(burst.holds(group, at) for burst in facts.expiry_bursts)


def _was_paused(case: Case, cause: Cause, acts: list[Act]) -> bool:
    """Return True if the process was paused and did not die.

    It is rejected later under its old member id, and logged nothing before its session expired.
    """
    expiries = [act for act in acts if act.deed is Deed.EXPIRE] if cause is Cause.SESSION_TIMEOUT else []
    return any(_heard_of_it(case, act) if act.event.name in TOLD_OUT else _came_to(case, act) for act in expiries)


def _heard_of_it(case: Case, expiry: Act) -> bool:
    """Whether a running process hears that its session ended.

    One that had lost its coordinator before was not paused.
    """
    actor = case.actor(expiry)
    lost = (act for act in case.acts if act.deed is Deed.LOST_COORDINATOR and expiry.at - TAKEOVER_US <= act.at <= expiry.at)
    return not any(case.actor(act) == actor for act in lost)


def _came_to(case: Case, expiry: Act) -> bool:
    actor = case.actor(expiry)
    silent_since = expiry.at - (_session_timeout_us(case, expiry) or USUAL_SESSION_TIMEOUTS_MS[-1] * US_PER_MS)
    for act in case.acts:
        if act.at <= silent_since or act.deed not in _TELLING or act is expiry or case.actor(act) != actor:
            continue
        if act.at < expiry.at and act.deed is Deed.LOST_COORDINATOR:
            return False  # it was running, but could not reach its coordinator
        if act.at > expiry.at + RETURN_US:
            return False
        if act.at > expiry.at and act.deed in {Deed.SUBSCRIBE, Deed.JOIN}:
            return False  # a new consumer
        if act.at > expiry.at and act.deed is Deed.FENCED:
            return True
    return False


def _is_ghost(case: Case, cause: Cause, acts: list[Act]) -> bool:
    """Return True if the expired member id had been given up by its client.

    A repeated JoinGroup left it behind.
    """
    if cause is not Cause.SESSION_TIMEOUT:
        return False
    expiries = [act for act in acts if act.deed is Deed.EXPIRE and case.actor(act) in case.known.clients]
    held = case.members_before
    return any(
        act.member_id is not None
        and act.member_id not in case.known.first_generation
        and held.get(case.actor(act) or "") not in {None, act.member_id}
        for act in expiries
    )


def _was_removed_before(case: Case, cause: Cause, acts: list[Act]) -> bool:
    """Return True if the previous join phase had already removed the member (1.1).

    It was too busy to rejoin, and alive.
    """
    return cause is Cause.SESSION_TIMEOUT and any(act.deed is Deed.EXPIRE and is_echo(case, act) for act in acts)


_ROOTS: tuple[tuple[RootCause, Callable[[Case, Cause, list[Act]], bool]], ...] = (
    (RootCause.ASSIGNMENT_STORE_FAILED, _store_failed),
    (RootCause.COORDINATOR_FAILOVER, _coordinator_moved),
    (RootCause.COORDINATOR_PAUSE, _coordinator_paused),
    (RootCause.SLOW_PROCESSING, _was_removed_before),
    (RootCause.GHOST_MEMBER, _is_ghost),
    (RootCause.CLIENT_PAUSE, _was_paused),
)
"""Root causes with their rules; the first rule that holds decides."""
