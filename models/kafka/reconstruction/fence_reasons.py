"""Reasons for which members of the newer protocols are fenced."""

from __future__ import annotations

import re

from models.causes import Cause

_WHY_FENCED: tuple[tuple[str, Cause], ...] = (
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
    return next((cause for part, cause in _WHY_FENCED if part in why), Cause.UNKNOWN)


def stuck_in(why: str) -> int | None:
    """The epoch in which a member stayed too long (GroupMetadataManager.java, consumerGroupFenceMember)."""
    match = _STUCK_IN.search(why)
    return int(match[1]) if match else None
