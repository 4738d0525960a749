"""How sure verdicts are."""

from __future__ import annotations

import pytest

from models.causes import Cause
from models.kafka.hypotheses.hypothesis import Hypothesis
from models.kafka.hypotheses.ranking import Ranking


@pytest.mark.parametrize(
    ("weights", "sure", "rivals"),
    [
        ([1.0], 0.994, []),
        ([0.7, 0.3], 0.7, [0.3]),
        ([0.9, 0.095, 0.005], 0.9, [0.095]),
        ([50 / 105, 22 / 105, 13 / 105, 5 / 105, *[3 / 105] * 5], 0.4762, [0.2095, 0.1238, 0.0476, *[0.0286] * 4, 0.0285]),
        ([0.500049, 0.250049, 0.249902], 0.5, [0.25, 0.2499]),
    ],
    ids=["alone", "two", "too unlikely", "rounded up, they would be 1.0001", "rounded down"],
)
def test_rounded_shares_are_no_more_than_all(weights: list[float], sure: float, rivals: list[float]) -> None:
    told, others = Ranking([Hypothesis(cause, weight) for cause, weight in zip(Cause, weights, strict=False)]).shares()
    assert (told, list(others.values())) == (sure, rivals)
    assert told + sum(others.values()) <= 1 + 1e-9
