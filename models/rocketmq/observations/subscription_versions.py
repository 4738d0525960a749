"""When shares changed, as brokers say it: needed of clients whose files are missing.

A client whose share of a topic changed gives its subscription to that topic the time as its version and tells all brokers
at once (RebalancePushImpl.messageQueueChanged), and a broker logs each version that is newer than the one it knows. So a
version that is no known client's is another one's change, to the millisecond on that client's clock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from models.rocketmq.observations.allocation_runs import Run
from models.rocketmq.observations.client_processes import Life

AFTER_US = 50_000
"""From the line of a result to the version that it makes, at most."""

SUBSCRIBED_US = 5_000_000
"""A subscription's first version is of the application's start, so long before its consumer begins."""

TOGETHER_US = 1_500_000
"""Of two versions this near to each other the newer may come first, and then the older is never logged."""


class Moves:
    """Changes of the share of one topic that are no known client's."""

    def __init__(self, versions: Iterable[int], runs: Sequence[Run], lives: Sequence[Life], end: int) -> None:
        """`versions` in microseconds; runs come in their order."""
        self._known = [run.at for run in runs]
        self._end = end
        begins = [(life.begun_at - SUBSCRIBED_US, life.ran_at) for life in lives]
        told = _others(versions, self._known)
        self._at = [at for at in told if not any(low <= at <= high for low, high in begins)]

    def between(self, low: int, high: int) -> Sequence[int]:
        """The changes in a client's time."""
        return self._at[bisect_left(self._at, low) : bisect_left(self._at, high)]

    def awaited(self, at: int, over: int, due: int) -> bool:
        """Whether a change that may be at a time, and is due so long after, came later or not at all, though it would have been told."""
        near = bisect_left(self._known, at - TOGETHER_US)
        hidden = near < len(self._known) and self._known[near] <= at + TOGETHER_US
        index = bisect_left(self._at, at)
        if index < len(self._at) and self._at[index] <= min(at + (TOGETHER_US if hidden else due), over):
            return True
        return not hidden and at + due < min(over, self._end)


def _others(versions: Iterable[int], known: Sequence[int]) -> list[int]:
    """The versions without those that known results made, one each."""
    rest = sorted(set(versions))
    for at in known:
        index = bisect_left(rest, at - 1_000)
        if index < len(rest) and rest[index] <= at + AFTER_US:
            del rest[index]
    return rest
