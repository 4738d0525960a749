"""A small budget of simulated twins; `python -m tests.models.whatif.twins` runs more."""

from __future__ import annotations

from tests.models.whatif.twins import Score, compare

PAIRS = 12


def test_what_is_foretold_of_random_scenarios_happens() -> None:
    score = Score()
    for seed in range(1, 1 + PAIRS):
        compare(seed, score)
    assert score.within == PAIRS, score.misses
    assert score.stops >= PAIRS - 1, score.misses
