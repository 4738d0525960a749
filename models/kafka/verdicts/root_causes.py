"""What stands behind the act that started a rebalance, where the logs show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from models.causes import Cause, RootCause
from models.events import when
from models.kafka.hypotheses.timeouts import is_echo
from models.kafka.hypotheses.window import Case
from models.kafka.observations.actions import Act, Deed
from models.kafka.verdicts.blockers import EVICTED, EXPIRED_MEANWHILE, GHOST, NEVER_SYNCED, REJOINED_LAST
from models.rows import Person
from models.units import US_PER_MS, US_PER_SECOND

USUAL_SESSION_TIMEOUTS_MS = (6_000, 10_000, 30_000, 45_000)
"""Least one allowed (group.min.session.timeout.ms), and the clients' defaults: 30 s in 0.10, 10 s to 2.8, 45 s since 3.0 (KIP-735)."""

TAKEOVER_US = 10 * US_PER_SECOND
"""A lost broker's partitions have new leaders within this time: 6 s zookeeper.session.timeout.ms, 9 s broker.session.timeout.ms."""

RETURN_US = 300_000_000
"""A process that was only held up is back within this time; later it is a new story."""

_TELLING = frozenset({Deed.LOST_COORDINATOR, Deed.SUBSCRIBE, Deed.JOIN, Deed.FENCED})
"""Deeds that show whether a process that fell silent was only held up."""


HARMFUL_WAIT_US = 5 * US_PER_SECOND
"""From this long on, what kept the others waiting did more harm than what began the rebalance."""


def root_cause(case: Case, cause: Cause, acts: list[Act], blockers: Sequence[Person] = ()) -> str | None:
    """What stands behind the trigger, else behind a long wait; None where nothing shows it."""
    found = next((root.value for root, holds in _ROOTS if holds(case, cause, acts)), None)
    return found or behind_the_wait(case, blockers)


def behind_the_wait(case: Case, blockers: Sequence[Person]) -> str | None:
    """What stands behind a wait that did harm; None where nothing shows it."""
    if not blockers:
        return None
    draft, reason = case.draft, blockers[0].reason
    until = draft.ended_at if reason == NEVER_SYNCED else draft.joined_at
    if until is None or until - case.start < HARMFUL_WAIT_US:
        return None
    return next((root for words, root in _WAITS.items() if words in reason), None)


_WAITS: Mapping[str, str] = {
    GHOST: RootCause.GHOST_MEMBER.value,
    EXPIRED_MEANWHILE: Cause.SESSION_TIMEOUT.value,
    EVICTED: RootCause.SLOW_PROCESSING.value,
    REJOINED_LAST: RootCause.SLOW_PROCESSING.value,
    NEVER_SYNCED: Cause.SYNC_TIMEOUT.value,
}
"""What stands behind a wait, by the reason of whoever is waited for."""


def _store_failed(_case: Case, cause: Cause, _acts: list[Act]) -> bool:
    return cause is Cause.ASSIGNMENT_STORE_FAILED


def _coordinator_moved(case: Case, cause: Cause, acts: list[Act]) -> bool:
    if cause is Cause.COORDINATOR_FAILOVER:
        return True
    previous = case.previous
    if previous is not None and previous.outcome == "coordinator_lost" and previous.generation_before == case.draft.generation_before:
        return True  # begun again where it broke off
    if cause not in {Cause.SESSION_TIMEOUT, Cause.MEMBER_RESTART}:
        return False
    expiries = [act for act in acts if act.deed is Deed.EXPIRE]
    return any(_expired_after_load(case, act) or _lost_with_a_broker(case, act) for act in expiries)


def _session_timeout_us(case: Case, act: Act) -> int | None:
    member = case.roster.members.get(act.member_id or "")
    known = (member.session_timeout_ms if member else None) or case.facts.session_timeout_ms
    return known * US_PER_MS if known else None


def _expired_after_load(case: Case, expiry: Act) -> bool:
    """Timers begin anew with the full session timeout when a coordinator loads a group; who vanished before shows one timeout later."""
    loaded_at = when(case.draft.load_before)
    if loaded_at is None:
        return False
    known = _session_timeout_us(case, expiry)
    timeouts = [known] if known else [timeout * US_PER_MS for timeout in USUAL_SESSION_TIMEOUTS_MS]
    return any(-US_PER_SECOND // 2 <= expiry.at - loaded_at - timeout <= US_PER_SECOND for timeout in timeouts)


def _lost_with_a_broker(case: Case, expiry: Act) -> bool:
    """The member fell silent when a broker was lost, whose partitions others then took over: one event stands behind both."""
    timeout = _session_timeout_us(case, expiry) or USUAL_SESSION_TIMEOUTS_MS[1] * US_PER_MS
    silent_since = expiry.at - timeout
    return bool(case.facts.taken_over_between(silent_since - US_PER_SECOND, silent_since + timeout // 3 + TAKEOVER_US))


def _was_paused(case: Case, cause: Cause, acts: list[Act]) -> bool:
    """The process did not die: under its old member id it is refused later on, and it noticed nothing before its session ended."""
    return cause is Cause.SESSION_TIMEOUT and any(act.deed is Deed.EXPIRE and _came_to(case, act) for act in acts)


def _came_to(case: Case, expiry: Act) -> bool:
    actor = case.actor(expiry)
    silent_since = expiry.at - (_session_timeout_us(case, expiry) or USUAL_SESSION_TIMEOUTS_MS[-1] * US_PER_MS)
    for act in case.acts:
        if act.at <= silent_since or act.deed not in _TELLING or act is expiry or case.actor(act) != actor:
            continue
        if act.at < expiry.at and act.deed is Deed.LOST_COORDINATOR:
            return False  # it ran, and could not reach its coordinator
        if act.at > expiry.at + RETURN_US:
            return False
        if act.at > expiry.at and act.deed in {Deed.SUBSCRIBE, Deed.JOIN}:
            return False  # a new consumer
        if act.at > expiry.at and act.deed is Deed.FENCED:
            return True
    return False


def _is_ghost(case: Case, cause: Cause, acts: list[Act]) -> bool:
    """The expired member id is one that its client had given up: a JoinGroup sent again left it behind."""
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
    """The timer of a member that the join phase before had removed: it was too busy to rejoin, and alive (1.1)."""
    return cause is Cause.SESSION_TIMEOUT and any(act.deed is Deed.EXPIRE and is_echo(case, act) for act in acts)


_ROOTS: tuple[tuple[RootCause, Callable[[Case, Cause, list[Act]], bool]], ...] = (
    (RootCause.ASSIGNMENT_STORE_FAILED, _store_failed),
    (RootCause.COORDINATOR_FAILOVER, _coordinator_moved),
    (RootCause.SLOW_PROCESSING, _was_removed_before),
    (RootCause.GHOST_MEMBER, _is_ghost),
    (RootCause.CLIENT_PAUSE, _was_paused),
)
"""Roots by the rule that finds them; the first that holds is named."""
