"""Bursts of expiries are found by time."""

from __future__ import annotations

import pytest

from models.kafka.cluster.expiry_bursts import BURST_US, ExpiryBurst, bursts_near

BEGINNINGS = (0, 700_000, 1_500_000, 60_000_000)
BURSTS = [ExpiryBurst(at, at + BURST_US - 1, "1", ("a", "b", "c"), 3, (), "a") for at in BEGINNINGS]


@pytest.mark.parametrize("at", range(-500_000, 63_000_000, 250_000))
def test_no_burst_that_holds_a_line_is_left_out(at: int) -> None:
    assert [burst for burst in bursts_near(BURSTS, at) if burst.holds("b", at)] == [burst for burst in BURSTS if burst.holds("b", at)]


def test_bursts_of_other_times_are_not_looked_at() -> None:
    assert bursts_near(BURSTS, 60_500_000) == BURSTS[3:]
