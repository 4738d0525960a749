"""Significant changes in a series, by a permutation test.

The statistic is the greatest deviation of the cumulative sum of ranks from a straight line (Pettitt 1979, in the form
of a CUSUM). If the values were exchangeable, any order of them would be as likely: the p-value is the share of random
orders whose statistic is at least as great, the observed one included. A significant change parts the series, and both
parts are tested again (binary segmentation), each at half the level, so that all tests together keep it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.05
"""Usual level of significance, for all tests of one series together."""
ORDERS = 1999
"""Random orders; the smallest p-value is 1 / 2000."""
SHORTEST = 3
"""Values on each side of a change; fewer can reach no significance."""
SEED = 20260301
"""Fixed, so that equal rows give equal answers."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The first place after a change."""

    place: int
    p_value: float


def change_points(values: Sequence[float], level: float = LEVEL) -> list[ChangePoint]:
    """Changes of level in a series, in order."""
    points: list[ChangePoint] = []
    _part(list(values), 0, level, points)
    return sorted(points, key=lambda point: point.place)


def _part(values: Sequence[float], offset: int, level: float, points: list[ChangePoint]) -> None:
    if len(values) < 2 * SHORTEST or min(values) == max(values) or level * (ORDERS + 1) < 1:
        return
    place, p_value = _strongest(values)
    if p_value > level:
        return
    points.append(ChangePoint(offset + place, p_value))
    _part(values[:place], offset, level / 2, points)
    _part(values[place:], offset + place, level / 2, points)


def _strongest(values: Sequence[float]) -> tuple[int, float]:
    """The most likely place of a change, and its p-value."""
    import numpy as np

    series = np.asarray(values)
    _, place, counts = np.unique(series, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[place]  # ties share their mean rank
    centred = ranks - ranks.mean()
    inner = slice(SHORTEST - 1, len(centred) - SHORTEST)
    observed = np.abs(np.cumsum(centred))[inner]
    orders = np.random.default_rng(SEED).permuted(np.tile(centred, (ORDERS, 1)), axis=1)
    greatest = np.abs(np.cumsum(orders, axis=1))[:, inner].max(axis=1)
    reached = int((greatest >= observed.max() - 1e-9).sum())
    return int(observed.argmax()) + SHORTEST, (reached + 1) / (ORDERS + 1)
