"""Rebalances in a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class SimulatedRebalance:
    """A rebalance in a run; times are milliseconds since the epoch."""

    start_ms: int
    trigger: str
    kind: str
    was_empty: bool
    joined_ms: int | None = None
    ended_ms: int | None = None
    outcome: str = "open"
    delay_ms: int = 0
    """Part of the join phase that group.initial.rebalance.delay.ms explains."""
    goes_on: bool = False
    """Whether members keep working in it."""

    def stopped_ms(self, until_ms: int) -> int:
        """Time in which the group stood still, counted as in `models.downtime`.

        An empty group that still gathers its first members is in its initial delay.
        """
        is_gathering = self.was_empty and self.joined_ms is None
        if self.outcome == "empty" or self.goes_on or is_gathering:
            return 0
        return max(0, (self.ended_ms if self.ended_ms is not None else until_ms) - self.start_ms - self.delay_ms)
