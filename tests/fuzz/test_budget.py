"""A short, fixed part of `python -m tests.fuzz`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz import answers, events, floods, layouts, lines
from tests.fuzz.mutations import seeds


@pytest.mark.parametrize("what", lines.MUTATIONS)
def test_no_line_makes_a_reader_raise(samples: Path, what: str) -> None:
    dice, tally = random.Random(what), lines.Tally()  # noqa: S311 - repeatable
    found = seeds([samples], dice)
    for seed, batch in lines.batches(found, 4_000, lines.MUTATIONS[what], dice):
        lines.check(seed, batch, tally)
    for _ in range(4):
        answers.check(found, lines.MUTATIONS[what], dice, tally)
    assert tally.faults == {}
    assert tally.counts["recognised"] > 100
    assert tally.counts["analyses"] == 4


def test_no_line_is_too_much_when_it_comes_again_and_again(samples: Path) -> None:
    dice, tally = random.Random(0), lines.Tally()  # noqa: S311 - repeatable
    messages = floods.lines_by_message(seeds([samples], dice))
    for message in dice.sample(sorted(messages), 6):
        floods.check(messages[message], 1_500, dice, tally)
    assert tally.faults == {}
    assert tally.counts["analyses"] >= 6


def test_a_thousand_generations_of_a_member_at_once_are_told() -> None:
    """Windows are taken in a loop, not each within another."""
    line = b"[2028-04-11 09:31:22,662: INFO]: Joined group 'orders' (generation 2) with member_id faust-11c5f6d2-7f8d-4bd4-9c3f-30a2c8e0 "
    tally = lines.Tally()
    floods.check_flood(("worker.log", line), 1_500, 0.05, tally, is_growing=True)
    assert tally.faults == {}


def test_no_sequence_of_events_makes_a_model_raise() -> None:
    tally = lines.Tally()
    events.feed(220, 0, tally)
    assert tally.faults == {}
    assert tally.lines >= 220


RECOGNISED_OF_BUDGET = 0.98
"""These compositions reach 376 of 376 today; the goal of the long run is .97."""


def test_records_are_found_in_any_layout(samples: Path) -> None:
    found = seeds([samples / "kafka" / "2.8.2", samples / "rocketmq"], random.Random(0), 40)  # noqa: S311 - repeatable
    tally = layouts.run(60, found)
    assert tally.faults == {}
    assert tally.invented == 0
    assert tally.recognised >= RECOGNISED_OF_BUDGET * tally.due


def test_what_raises_is_found_with_its_line(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = seeds([samples], random.Random(0))  # noqa: S311 - repeatable
    seed = next(each for each in found if each.source.name.endswith("kafka-request.log"))

    def fail(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(lines, "mask_credentials", fail)
    tally = lines.Tally()
    lines.check(seed, seed.lines[:8], tally)
    assert [name.split(" ")[0] for name in tally.faults] == ["ZeroDivisionError"]
