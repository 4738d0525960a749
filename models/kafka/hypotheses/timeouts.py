"""Timeouts that were in force."""

from __future__ import annotations

from models.kafka.hypotheses.window import Case
from models.units import US_PER_MS

TIMEOUT_TOLERANCE_US = 250_000


def rebalance_timeout_us(case: Case) -> int | None:
    """The join phase may last as long as the longest rebalance timeout among the members."""
    timeouts = [
        member.rebalance_timeout_ms
        for member_id in case.members_before.values()
        if member_id and (member := case.roster.members.get(member_id)) and member.rebalance_timeout_ms
    ]
    longest = max(timeouts, default=case.facts.rebalance_timeout_ms)
    return longest * US_PER_MS if longest else None
