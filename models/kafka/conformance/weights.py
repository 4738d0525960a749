"""Weights of explanations, as natural logarithms of probabilities, each with its source.

Those that are assumed only put proposals in an order; none of them makes an answer certain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weight:
    """A log-likelihood and where it comes from."""

    value: float
    source: str


ASSUMED = "assumed: orders proposals only"

WEIGHTS: Mapping[str, Weight] = {
    "stated": Weight(0.0, "the line itself names what was asked of the coordinator"),
    "usual": Weight(-0.1, ASSUMED),
    "held_up": Weight(-2.0, ASSUMED),
    "unnamed": Weight(-3.0, ASSUMED),
    "vanished": Weight(-6.0, "assumed: group.max.size is unlimited by default (GroupCoordinatorConfig)"),
    "adopted": Weight(-12.0, "assumed: lines were lost, or the model is wrong"),
    "line_missing": Weight(-5.0, "assumed: a line that a version writes is lost with rotation alone"),
    "line_differs": Weight(-8.0, ASSUMED),
}

BURST_GAP_MS = 2
"""Greatest gap between lines of one request.

One thread writes them one after the other, and appenders stamp whole milliseconds.
"""

BEAM = 4
"""Explanations kept side by side."""

FORK_MARGIN = 2.0
"""How much worse than the best a followed proposal may be."""

SCRIPTS = 6
"""Proposals tried for one line."""

STEPS_KEPT = 10_000
"""Hidden inputs kept of one rebalance; before it they are dropped."""

BURST_LINES = 64
"""Lines looked ahead in one burst."""


def weight(name: str) -> float:
    """The value of a weight."""
    return WEIGHTS[name].value
