"""A small budget of scenarios with hidden witnesses; `python -m tests.hidden_witnesses` runs more."""

from __future__ import annotations

import pytest

from tests.hidden_witnesses import check

# One of each kind of selection that was once surely wrong, and some others.
SEEDS = (
    44,
    256,
    430,
    515,
    837,
    864,
    1017,
    1172,
    20334,
    41310,
    43262,
    43394,
    933205,
    933713,
    933917,
    934431,
    950071,
    950077,
    960155,
    971004,
    1010175,
    1010684,
    5003685,
    5004981,
    5005840,
    5008146,
    6000291,
    6003753,
    6005627,
    6008688,
    7000535,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_less_evidence_is_never_surely_wrong(seed: int) -> None:
    result = check(seed)
    assert result.wrong == []
    assert result.counts["found"] >= result.counts["truth"] - result.counts["invented"] - 6


def test_a_failed_store_shows_in_how_long_a_request_log_says_that_a_sync_took() -> None:
    result = check(44)
    assert result.counts["request: right"] == result.counts["request: causes"]
