"""What a member was in a rebalance, and why."""

from __future__ import annotations

from models.causes import Cause
from models.incidents.person_reasons import (
    NEVER_SYNCED,
    NEW_MEMBER_ID,
    NOT_IN_TIME,
    REASON_JOINED,
    REASON_LEFT,
    REASON_POLLED_LATE,
    REASON_REJOINED,
    REASON_REMOVED,
    REASON_SESSION_EXPIRED,
)
from models.kafka.observations.actions import ActionKind, MemberAction
from models.rows import Person

ACTION_REASONS = {
    ActionKind.JOIN: REASON_JOINED,
    ActionKind.REJOIN: REASON_REJOINED,
    ActionKind.LEAVE: REASON_LEFT,
    ActionKind.EXPIRE: REASON_SESSION_EXPIRED,
    ActionKind.EVICT: NOT_IN_TIME,
    ActionKind.SYNC_MISSED: NEVER_SYNCED,
    ActionKind.REPLACE: NEW_MEMBER_ID,
    ActionKind.WANTS_REJOIN: REASON_REJOINED,
}


def reason_of(cause: Cause, action: MemberAction) -> str:
    """Reason of a member's action, in the words of `person_reasons`."""
    if cause is Cause.POLL_TIMEOUT:
        return REASON_POLLED_LATE
    if cause is Cause.ADMIN_REMOVAL:
        return REASON_REMOVED
    return ACTION_REASONS.get(action.kind, action.kind.value)


def role_of(
    actor: str,
    triggers: set[str | None],
    blocking: set[str | None],
    who: Person,
    joiners: dict[str, MemberAction],
    gone: dict[str, MemberAction],
) -> str:
    """Role of an actor: who began it, whom others waited for, or neither."""
    if actor in triggers:
        return "trigger"
    if blocking & {who.member_id, who.client_id} - {None}:
        return "blocker"
    if actor in joiners:
        return "joined"
    if actor in gone:
        return "left"
    return "bystander"
