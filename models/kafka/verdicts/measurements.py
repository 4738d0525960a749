"""Measurements of a rebalance used in advice.

Timeouts in force and durations compared with them, in milliseconds.
"""

from __future__ import annotations

from models.causes import Cause
from models.kafka.hypotheses.timeouts import phase_deadline_us, rebalance_timeout_us
from models.kafka.hypotheses.window import RebalanceContext
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.roster import Member
from models.tolerances import whole
from models.units import US_PER_MS

LIKE_IT_MAX = 20
"""Number of other members searched for a timeout that the acting member lacks."""

NOTICED_US = whole("kafka.measurements.noticed_us")
"""Maximum distance of a client's poll timeout line from its LeaveGroup."""


def numbers_of(context: RebalanceContext, cause: Cause, actions: list[MemberAction], gone_at: dict[str, int]) -> dict[str, float]:
    """Known measurements of the member that acted first, by name.

    `gone_at` holds earlier leaves and expiries of members.
    """
    action = actions[0] if actions else None
    actor = context.actor(action) if action else None
    found = {
        "session_timeout_ms": session_timeout_ms(context, action, actor),
        "max_poll_interval_ms": max_poll_interval_ms(context, action, actor),
        "rebalance_timeout_ms": _in_ms(rebalance_timeout_us(context) or phase_deadline_us(context)),
    }
    if action is not None and actor is not None:
        if cause is Cause.POLL_TIMEOUT and _is_too_long(context, action, found["max_poll_interval_ms"]):
            found["max_poll_interval_ms"] = None  # the value from other members' configuration is not in force here
        elif cause is Cause.POLL_TIMEOUT:
            found["polled_after_ms"] = _polled_after_ms(context, action, actor, found["max_poll_interval_ms"])
        elif cause is Cause.SESSION_TIMEOUT:
            found["silent_ms"] = _silent_ms(context, action, actor, found["session_timeout_ms"])
        elif cause is Cause.MEMBER_RESTART:
            found["absent_ms"] = _restarted_ms(context, actions, actor)
        elif cause in {Cause.MEMBER_JOIN, Cause.NEW_GROUP} and actor in gone_at:
            found["absent_ms"] = _in_ms(action.at - gone_at[actor])
    return {name: float(value) for name, value in found.items() if value is not None and value >= 0}


def _is_too_long(context: RebalanceContext, action: MemberAction, interval_ms: int | None) -> bool:
    """Return True if the member joined less than the interval before its late poll."""
    member = context.roster.members.get(action.member_id or "")
    joined = context.known.first_generation.get(action.member_id or "") is not None
    if interval_ms is None or member is None or member.first_seen_at is None or not joined:
        return False
    return action.at - member.first_seen_at < interval_ms * US_PER_MS - NOTICED_US


def session_timeout_ms(context: RebalanceContext, action: MemberAction | None, actor: str | None) -> int | None:
    """Session timeout from coordinator or request, client's configuration, or assumption."""
    capped = context.facts.session_ms_of(context.group)
    if capped is not None:
        return capped
    members = _nearest_first(context, action, actor)
    told = next((member.session_timeout_ms for member in members if member.session_timeout_ms), None)
    return told or _configured(context, actor, "session_timeout_ms") or context.facts.session_timeout_ms


def max_poll_interval_ms(context: RebalanceContext, action: MemberAction | None, actor: str | None) -> int | None:
    """Maximum poll interval; the Java consumer sends it as rebalance timeout (KIP-62)."""
    members = _nearest_first(context, action, actor)
    told = next((member.rebalance_timeout_ms for member in members if member.rebalance_timeout_ms), None)
    return told or _configured(context, actor, "max_poll_interval_ms") or context.facts.rebalance_timeout_ms


def _nearest_first(context: RebalanceContext, action: MemberAction | None, actor: str | None) -> list[Member]:
    """The member itself, then others of its group.

    Members of a group usually have the same configuration.
    """
    ids = [action.member_id if action else None, context.members_before.get(actor or "")]
    ids += [*context.members_before.values(), *context.members_after.values()][:LIKE_IT_MAX]
    return [member for member_id in ids if (member := context.roster.members.get(member_id or ""))]


def _configured(context: RebalanceContext, actor: str | None, name: str) -> int | None:
    settings = context.known.settings
    return settings.get(actor or "", {}).get(name) or next((each[name] for each in settings.values() if name in each), None)


def _in_ms(span_us: int | None) -> int | None:
    return None if span_us is None else span_us // US_PER_MS


def _polled_after_ms(context: RebalanceContext, action: MemberAction, actor: str, allowed_ms: int | None) -> int | None:
    """Milliseconds between two polls.

    The allowed time, plus the time from its end until the member rejoins in poll().
    """
    if allowed_ms is None:
        return None
    own = (each.at for each in context.all_of(ActionKind.POLL_TIMEOUT) if context.actor(each) == actor)
    noticed = next((at for at in own if abs(at - action.at) <= NOTICED_US), action.at)
    back = _next_join(context, actor, action.at)
    return None if back is None else allowed_ms + (back - noticed) // US_PER_MS


def _silent_ms(context: RebalanceContext, action: MemberAction, actor: str, allowed_ms: int | None) -> int | None:
    """Milliseconds between the last heartbeat and the return of a member."""
    if allowed_ms is None:
        return None
    later = (
        a.at for a in context.actions if a.at > action.at and a.kind in {ActionKind.JOIN, ActionKind.FENCED} and context.actor(a) == actor
    )
    back = next(later, None)
    return None if back is None else allowed_ms + (back - action.at) // US_PER_MS


def _restarted_ms(context: RebalanceContext, actions: list[MemberAction], actor: str) -> int | None:
    went = [a.at for a in actions if a.kind in {ActionKind.LEAVE, ActionKind.EXPIRE} and context.actor(a) == actor]
    came = [a.at for a in actions if a.kind in {ActionKind.JOIN, ActionKind.REJOIN} and context.actor(a) == actor]
    return _in_ms(max(came) - min(went)) if went and came else None


def _next_join(context: RebalanceContext, actor: str, after: int) -> int | None:
    return next((a.at for a in context.all_of(ActionKind.JOIN) if a.at > after and context.actor(a) == actor), None)
