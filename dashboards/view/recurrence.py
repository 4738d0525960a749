"""Incidents that recur: the same groups, cause and member."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboards.view.answer import Incident


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Incidents with the same groups, cause and member, worst first; often a single one.

    `held_up_count` and `held_up_seconds` say how often and how long the others waited for the member.
    """

    incidents: Sequence[Incident]
    member: str
    held_up_count: int
    held_up_seconds: float
    headline: str

    @property
    def worst(self) -> Incident:
        """The incident that the others are like."""
        return self.incidents[0]

    @property
    def stopped_seconds(self) -> float:
        """Time that the groups stood still in all of them."""
        return sum(item.stopped_seconds for item in self.incidents)

    @property
    def rebalance_count(self) -> int:
        """Rebalances in all of them."""
        return sum(item.rebalance_count for item in self.incidents)

    @property
    def started_at(self) -> int | None:
        """Earliest known start."""
        return min((item.started_at for item in self.incidents if item.started_at is not None), default=None)

    @property
    def ended_at(self) -> int | None:
        """Latest end; None while one of them is open."""
        ends = [item.ended_at for item in self.incidents]
        return None if None in ends else max((end for end in ends if end is not None), default=None)
