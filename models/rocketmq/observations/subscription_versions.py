"""Changes of shares seen by brokers, for clients without a file.

A client whose share of a topic changed sets the time as its subscription's version and sends it to all brokers at once
(RebalancePushImpl.messageQueueChanged). A broker logs each version newer than the known one. A version that no known
client set is therefore another client's change, exact to the millisecond of that client's clock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from models.rocketmq.observations.allocation_runs import AllocationRun
from models.rocketmq.observations.client_processes import ClientProcess
from models.tolerances import int_tolerance

AFTER_US = int_tolerance("rocketmq.subscription_versions.after_us")
"""Maximum time from a result line to its version."""

SUBSCRIBED_US = int_tolerance("rocketmq.subscription_versions.subscribed_us")
"""Maximum time from a first version to the consumer's start.

A first version has the start time of the application.
"""

TOGETHER_US = int_tolerance("rocketmq.subscription_versions.together_us")
"""Distance below which versions may arrive in reverse order.

The older one is then never logged.
"""


class SubscriptionVersions:
    """Changes of one topic's shares by unknown clients."""

    def __init__(self, versions: Iterable[int], runs: Sequence[AllocationRun], lives: Sequence[ClientProcess], end: int) -> None:
        """Filter the versions (microseconds); `runs` must be in order."""
        self._known = [run.at for run in runs]
        self._end = end
        begins = [(life.begun_at - SUBSCRIBED_US, life.ran_at) for life in lives]
        candidates = _others(versions, self._known)
        self._at = [at for at in candidates if not any(low <= at <= high for low, high in begins)]

    def between(self, low: int, high: int) -> Sequence[int]:
        """Changes within an interval."""
        return self._at[bisect_left(self._at, low) : bisect_left(self._at, high)]

    def is_awaited(self, at: int, over: int, due: int) -> bool:
        """Whether a change expected at `at` came later or not at all.

        `due` is its maximum delay. False if it might not have been logged.
        """
        near = bisect_left(self._known, at - TOGETHER_US)
        hidden = near < len(self._known) and self._known[near] <= at + TOGETHER_US
        index = bisect_left(self._at, at)
        if index < len(self._at) and self._at[index] <= min(at + (TOGETHER_US if hidden else due), over):
            return True
        return not hidden and at + due < min(over, self._end)


def _others(versions: Iterable[int], known: Sequence[int]) -> list[int]:
    """Versions without those that explain known results."""
    rest = sorted(set(versions))
    for at in known:
        index = bisect_left(rest, at - 1_000)
        if index < len(rest) and rest[index] <= at + AFTER_US:
            del rest[index]
    return rest
