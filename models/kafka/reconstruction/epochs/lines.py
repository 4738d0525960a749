"""Coordinators' lines on epochs.

Why members are fenced, and who is in a target.
"""

from __future__ import annotations

import re

from models.causes import Cause
from models.events import Event, text_field

FENCING_TEXTS: tuple[tuple[str, Cause], ...] = (
    ("session", Cause.SESSION_TIMEOUT),
    ("to transition", Cause.REBALANCE_TIMEOUT),
    ("to join", Cause.REBALANCE_TIMEOUT),
    ("to sync", Cause.SYNC_TIMEOUT),
)
"""Causes by words in the reason of a fence.

The last two are of classic members in consumer groups.
"""

_STUCK_IN = re.compile(r"failed to transition from epoch (\d{1,9}) within")


def cause_of_fence(why: str) -> Cause:
    """The cause that a reason tells."""
    return next((cause for part, cause in FENCING_TEXTS if part in why), Cause.UNKNOWN)


def stuck_in(why: str) -> int | None:
    """The epoch in which a member stayed too long (GroupMetadataManager.java, consumerGroupFenceMember)."""
    match = _STUCK_IN.search(why)
    return int(match[1]) if match else None


INTO_TARGET, LEFT_TARGET = "is in the target", "is in the target no more"
"""Reasons of changes that only two targets show."""

_LISTED = re.compile(r"(?:^\{|[,)] )([^\s={}(),\[\]]+)=MemberAssignment\(")


def members_with_target(event: Event) -> frozenset[str]:
    """Ids of all members of a target.

    Its line lists them from 3.7 to 3.9.
    """
    value = text_field(event, "assignment")
    return frozenset(_LISTED.findall(value)) if value else frozenset()
