"""Weights are counted against the truth, and those that are off are marked."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from models.weights import COUNTS
from tests.corpus.weights import LINE_LENGTH, WEIGHTS, is_off, with_counts


@pytest.mark.parametrize(
    ("said", "right", "decided", "off"),
    [(0.9, 9, 10, False), (0.9, 5, 10, True), (0.985, 100, 100, False), (0.44, 19, 41, False), (0.44, 1, 41, True)],
)
def test_a_weight_is_off_if_chance_does_not_explain_its_counts(said: float, right: int, decided: int, off: bool) -> None:
    assert is_off(said, right, decided) is off


def test_counts_are_written_beside_the_weights() -> None:
    page = WEIGHTS.read_text(encoding="utf-8")
    counts = {name: Counter(right=right, _=decided) for name, (right, decided) in COUNTS.items()}
    others = {f"WEIGHT_{number}": Counter(right=1, _=number + 1) for number in range(99)}
    changed = with_counts(page, others)

    assert with_counts(page, counts) == with_counts(changed, counts) == page
    assert all(f'"WEIGHT_{number}": (1, {number + 1}),' in changed for number in range(99))
    assert max(map(len, changed.splitlines())) <= LINE_LENGTH


def test_random_scenarios_are_counted_by_weight() -> None:
    """In a process of its own, as the weights are watched for good."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.corpus.weights", "--simulated", "6"], capture_output=True, text=True, check=True, timeout=600
    )
    assert "FIRST_MEMBER: says 0.994, right" in done.stdout
