"""Limits of the search for explanations, and the weights by which these are compared."""

from __future__ import annotations

from models.tolerances import float_tolerance, int_tolerance
from models.weights import LIKELIHOODS

BURST_GAP_MS = int_tolerance("kafka.search_limits.burst_gap_ms")
"""Greatest gap between lines of one request.

One thread writes them one after the other, and appenders stamp whole milliseconds.
"""

BEAM = 4
"""Explanations kept side by side."""

FORK_MARGIN = float_tolerance("kafka.search_limits.fork_margin")
"""Maximum distance of a followed proposal from the best one."""

PROPOSALS_MAX = 6
"""Proposals tried for one line."""

STEPS_KEPT = 10_000
"""Hidden inputs kept of one rebalance; before it they are dropped."""

BURST_LINES = 64
"""Lines looked ahead in one burst."""


def weight(name: str) -> float:
    """The value of a weight."""
    return LIKELIHOODS[name].value
