"""A small budget of simulated twins; `python -m tests.models.whatif.twins` runs more."""

from __future__ import annotations

import pytest

from tests.conftest import examples
from tests.models.whatif.twins import Score, compare

PAIRS = examples(8, 12)


@pytest.mark.parametrize("is_modern", [False, True], ids=["any protocol", "groups that have the consumer protocol"])
def test_what_is_foretold_of_random_scenarios_happens(is_modern: bool) -> None:
    score = Score()
    for seed in range(1, 1 + PAIRS):
        compare(seed, score, is_modern=is_modern)
    assert score.within == PAIRS, score.misses
    assert score.stops >= PAIRS - 1, score.misses
