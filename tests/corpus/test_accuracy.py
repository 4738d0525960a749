"""The page of accuracy says what the scorer said."""

from __future__ import annotations

from collections import Counter

from tests.corpus.accuracy import confusions, page
from tests.hidden_witnesses import Result
from tests.roundtrip import Score

DETAILS = [
    "2.8/a: g generation 2: cause member_join, truth poll_timeout",
    "2.8/a: g generation 2: offenders ['x'], truth ['y']",
    "2.8/b: g generation 3: cause member_join, truth poll_timeout",
    "2.8/b: g generation 4: root cause None, truth ['coordinator_failover']",
]


def test_confusions_are_counted_by_true_and_said_cause() -> None:
    assert confusions(DETAILS) == {("poll_timeout", "member_join"): 2}


def test_simulated_scenarios_have_a_table_of_their_own() -> None:
    score = Score(scenarios=2, steps_equal=2, misses=["2.8 7 server: generation 3 member_join 0.62, truth member_leave"])
    score.found.update({"server truth": 4, "server matched": 4, "server predicted": 5})
    score.causes["server"] = Counter({"right": 3, "listed": 4, "all": 4})
    score.confidence["server"] = [(0.9, True), (0.9, True), (0.9, True), (0.62, False)]
    written = page({}, {"2.8": score})
    assert "| timelines equal | 2 of 2 |" in written
    assert "| not invented | 0.800 |" in written
    assert "| cause named | 1.000 |" in written
    assert "the broker's own files alone: `member_leave` for `member_join` 1 time." in written


def test_what_cannot_be_known_stands_under_its_selection() -> None:
    written = page({"request": {"2.8": {"recall": 0.8}}})
    assert "What cannot be known: The request logs of the corpora end before their scenarios do" in written


def test_hidden_witnesses_have_a_paragraph() -> None:
    result = Result(Counter(scenarios=2, found=9, truth=10, told=9), [(0.9, True), (0.8, False)], [])
    assert "9 of 10 rebalances found" in page({}, hidden=result)
    assert "0.500 of 2 causes right, confidence gap 0.350,\n0 surely wrong." in page({}, hidden=result)


def test_a_column_per_folder_and_a_sentence_of_what_was_confused() -> None:
    written = page({"server": {"2.8": {"recall": 1.0, "truth": 12, "details": DETAILS}, "3.9": {"recall": 0.9876, "truth": 24}}})
    assert "| | 2.8 | 3.9 |" in written
    assert "| found | 1.000 | 0.988 |" in written
    assert "| rebalances | 12 | 24 |" in written
    assert "`poll_timeout` for `member_join` 2 times." in written
