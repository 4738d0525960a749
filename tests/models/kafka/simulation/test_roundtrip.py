"""There and back again, for a few random scenarios of each version; `python -m tests.roundtrip` is the full measure."""

from __future__ import annotations

import pytest

from tests.roundtrip import VERSIONS, check, main

SEEDS = (1, 5, 9)


@pytest.mark.parametrize("version", VERSIONS)
def test_timelines_and_causes_come_back(version: str) -> None:
    for seed in SEEDS:
        score = check(version, seed)
        assert [miss for miss in score.misses if " all: " in miss] == []
        assert score.steps_equal == 1
        assert score.causes["all"]["right"] == score.causes["all"]["all"] > 0


@pytest.mark.parametrize(("version", "protocol"), [("2.8.2", "cooperative"), ("4.0.0", "consumer"), ("4.1.1", "both")])
def test_groups_of_newer_clients_come_back(version: str, protocol: str) -> None:
    for seed in SEEDS:
        score = check(version, seed, protocol)
        assert [miss for miss in score.misses if " all: " in miss] == []
        assert score.steps_equal == 1
        assert score.causes["all"]["right"] == score.causes["all"]["all"] > 0


def test_the_command_says_how_much_came_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--count", "2", "--versions", "3.9.1", "--jobs", "1", "-v"]) == 0
    assert capsys.readouterr().out.startswith("3.9.1: 2 of 2 timelines equal\n  all: ")
