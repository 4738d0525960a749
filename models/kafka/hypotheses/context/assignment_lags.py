"""How long after assignments rebalances began, beside the timers that explain it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.timeouts_in_force import TimeoutsInForce
from models.kafka.observations.knowledge import GroupKnowledge
from models.tolerances import (
    CONNECT_DELAY_US,
    POLL_SLACK_SHARE,
    POLL_SLACK_US,
    PROBING_US,
    STORE_SLACK_US,
    STORE_TIMEOUT_US,
    USUAL_REBALANCE_TIMEOUTS_MS,
)
from models.units import US_PER_MS


@dataclass
class AssignmentLags:
    """The time from the last assignment to this rebalance, beside those before it."""

    phase: LoggedJoinPhase
    known: GroupKnowledge
    timeouts: TimeoutsInForce

    @cached_property
    def _lag(self) -> int | None:
        """Time since the last assignment, None if none is known."""
        previous = self.phase.previous
        ended_at = previous.ended_at if previous is not None and previous.outcome == "stable" else None
        return None if ended_at is None else self.phase.start - ended_at

    @property
    def poll_rhythm(self) -> int:
        """Number of rebalances that began one poll interval after an assignment.

        This one among them; 0 if this one did not.
        """
        lag, timeout = self._lag, self.timeouts.longest_rebalance_us
        if lag is None:
            return 0
        intervals = [timeout] if timeout is not None else [timeout_ms * US_PER_MS for timeout_ms in USUAL_REBALANCE_TIMEOUTS_MS]
        interval = next((candidate for candidate in intervals if 0 <= lag - candidate <= _poll_slack_us(candidate)), None)
        if interval is None:
            return 0
        return max(1, sum(0 <= earlier - interval <= _poll_slack_us(interval) for earlier in self.known.lags))

    @property
    def store_rhythm(self) -> int:
        """Number of rebalances in a row that writes given up began.

        Each begins one commit timeout after an assignment, whose write is given up then. So is the next one as long as replicas are
        missing. Members that are restarted one after the other leave so long after a rebalance, too, but each of them comes back in
        between.
        """
        return self.in_a_row(_is_commit_timeout)

    def in_a_row(self, is_alike: Callable[[int], bool]) -> int:
        """Number of rebalances in a row that follow an assignment alike, this one included."""
        lag, lags = self._lag, self.known.lags
        if lag is None or not is_alike(lag):
            return 0
        at = next((i for i in reversed(range(len(lags))) if lags[i] == lag), None)
        if at is None:
            return 1
        before = sum(1 for _ in takewhile(is_alike, reversed(lags[:at])))
        return before + sum(1 for _ in takewhile(is_alike, lags[at:]))

    @property
    def ends_planned_delay(self) -> bool:
        """Whether Connect's delay after a departure ends with this rebalance."""
        return self._lag is not None and 0 <= self._lag - CONNECT_DELAY_US <= POLL_SLACK_US

    @property
    def ends_probing_interval(self) -> bool:
        """Whether Streams' interval between probes ends here."""
        return self._lag is not None and 0 <= self._lag - PROBING_US <= POLL_SLACK_US


def _poll_slack_us(interval: int) -> int:
    """Longest time from a poll interval's end to the leave.

    After a short interval, others leave so late by chance.
    """
    return min(POLL_SLACK_US, round(interval * POLL_SLACK_SHARE))


def _is_commit_timeout(lag: int) -> bool:
    return 0 <= lag - STORE_TIMEOUT_US <= STORE_SLACK_US
