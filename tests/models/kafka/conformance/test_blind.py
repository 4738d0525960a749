"""Recordings followed by their log lines alone: a sample of each that lies beside the checkout.

All of them: `python -m tests.blind ../shared/vectors/classic-*.gz`.
"""

from __future__ import annotations

import pytest

from tests.blind import follow_file, is_good, report
from tests.conftest import SHARED

VECTORS = SHARED / "vectors"
# Name, and every how many traces one is followed, so that the whole takes some seconds.
RECORDINGS = {
    "classic-2.8.2-random": 20,
    "classic-2.8.2-replay-directed": 40,
    "classic-2.8.2-replay-random": 15,
    "classic-3.9.0-replay-directed": 20,
    "classic-3.9.0-replay-random": 10,
    "classic-4.0.0-directed": 100,
    "classic-4.0.0-random": 50,
}


@pytest.mark.parametrize(("name", "every"), RECORDINGS.items())
def test_lines_alone_tell_state_and_generation(name: str, every: int) -> None:
    path = VECTORS / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"the recording {name} is not beside this checkout")
    score = follow_file(path, every)
    assert score.lines
    assert is_good(score), report(name, score) + "\n".join(score.failures)
