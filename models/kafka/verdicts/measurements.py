"""Measurements of a rebalance used in advice.

Timeouts in force and durations compared with them, in milliseconds.
"""

from __future__ import annotations

from models.causes import Cause
from models.kafka.hypotheses.timeouts import phase_deadline_us, rebalance_timeout_us
from models.kafka.hypotheses.window import Case
from models.kafka.observations.actions import Act, Deed
from models.kafka.observations.roster import Member
from models.units import US_PER_MS

LIKE_IT_MAX = 20
"""Number of other members searched for a timeout that the acting member lacks."""

NOTICED_US = 5_000_000
"""Maximum distance of a client's poll timeout line from its LeaveGroup."""


def numbers_of(case: Case, cause: Cause, acts: list[Act], gone_at: dict[str, int]) -> dict[str, float]:
    """Known measurements of the member that acted first, by name.

    `gone_at` holds earlier leaves and expiries of members.
    """
    act = acts[0] if acts else None
    actor = case.actor(act) if act else None
    found = {
        "session_timeout_ms": session_timeout_ms(case, act, actor),
        "max_poll_interval_ms": max_poll_interval_ms(case, act, actor),
        "rebalance_timeout_ms": _in_ms(rebalance_timeout_us(case) or phase_deadline_us(case)),
    }
    if act is not None and actor is not None:
        if cause is Cause.POLL_TIMEOUT and _is_too_long(case, act, found["max_poll_interval_ms"]):
            found["max_poll_interval_ms"] = None  # the value from other members' configuration is not in force here
        elif cause is Cause.POLL_TIMEOUT:
            found["polled_after_ms"] = _polled_after_ms(case, act, actor, found["max_poll_interval_ms"])
        elif cause is Cause.SESSION_TIMEOUT:
            found["silent_ms"] = _silent_ms(case, act, actor, found["session_timeout_ms"])
        elif cause is Cause.MEMBER_RESTART:
            found["absent_ms"] = _restarted_ms(case, acts, actor)
        elif cause in {Cause.MEMBER_JOIN, Cause.NEW_GROUP} and actor in gone_at:
            found["absent_ms"] = _in_ms(act.at - gone_at[actor])
    return {name: float(value) for name, value in found.items() if value is not None and value >= 0}


def _is_too_long(case: Case, act: Act, interval_ms: int | None) -> bool:
    """Return True if the member joined less than the interval before its late poll."""
    member = case.roster.members.get(act.member_id or "")
    joined = case.known.first_generation.get(act.member_id or "") is not None
    if interval_ms is None or member is None or member.first_seen_at is None or not joined:
        return False
    return act.at - member.first_seen_at < interval_ms * US_PER_MS - NOTICED_US


def session_timeout_ms(case: Case, act: Act | None, actor: str | None) -> int | None:
    """Session timeout from coordinator or request, client's configuration, or assumption."""
    members = _nearest_first(case, act, actor)
    told = next((member.session_timeout_ms for member in members if member.session_timeout_ms), None)
    return told or _configured(case, actor, "session_timeout_ms") or case.facts.session_timeout_ms


def max_poll_interval_ms(case: Case, act: Act | None, actor: str | None) -> int | None:
    """Maximum poll interval; the Java consumer sends it as rebalance timeout (KIP-62)."""
    members = _nearest_first(case, act, actor)
    told = next((member.rebalance_timeout_ms for member in members if member.rebalance_timeout_ms), None)
    return told or _configured(case, actor, "max_poll_interval_ms") or case.facts.rebalance_timeout_ms


def _nearest_first(case: Case, act: Act | None, actor: str | None) -> list[Member]:
    """The member itself, then others of its group.

    Members of a group usually have the same configuration.
    """
    ids = [act.member_id if act else None, case.members_before.get(actor or "")]
    ids += [*case.members_before.values(), *case.members_after.values()][:LIKE_IT_MAX]
    return [member for member_id in ids if (member := case.roster.members.get(member_id or ""))]


def _configured(case: Case, actor: str | None, name: str) -> int | None:
    settings = case.known.settings
    return settings.get(actor or "", {}).get(name) or next((each[name] for each in settings.values() if name in each), None)


def _in_ms(span_us: int | None) -> int | None:
    return None if span_us is None else span_us // US_PER_MS


def _polled_after_ms(case: Case, act: Act, actor: str, allowed_ms: int | None) -> int | None:
    """Milliseconds between two polls.

    The allowed time, plus the time from its end until the member rejoins in poll().
    """
    if allowed_ms is None:
        return None
    own = (each.at for each in case.acts if each.deed is Deed.POLL_TIMEOUT and case.actor(each) == actor)
    noticed = next((at for at in own if abs(at - act.at) <= NOTICED_US), act.at)
    back = _next_join(case, actor, act.at)
    return None if back is None else allowed_ms + (back - noticed) // US_PER_MS


def _silent_ms(case: Case, act: Act, actor: str, allowed_ms: int | None) -> int | None:
    """Milliseconds between the last heartbeat and the return of a member."""
    if allowed_ms is None:
        return None
    later = (a.at for a in case.acts if a.at > act.at and a.deed in {Deed.JOIN, Deed.FENCED} and case.actor(a) == actor)
    back = next(later, None)
    return None if back is None else allowed_ms + (back - act.at) // US_PER_MS


def _restarted_ms(case: Case, acts: list[Act], actor: str) -> int | None:
    went = [a.at for a in acts if a.deed in {Deed.LEAVE, Deed.EXPIRE} and case.actor(a) == actor]
    came = [a.at for a in acts if a.deed in {Deed.JOIN, Deed.REJOIN} and case.actor(a) == actor]
    return _in_ms(max(came) - min(went)) if went and came else None


def _next_join(case: Case, actor: str, after: int) -> int | None:
    return next((a.at for a in case.acts if a.at > after and a.deed is Deed.JOIN and case.actor(a) == actor), None)
