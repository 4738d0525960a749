"""The page of accuracy says what the scorer said."""

from __future__ import annotations

from tests.corpus.accuracy import confusions, page

DETAILS = [
    "2.8/a: g generation 2: cause member_join, truth poll_timeout",
    "2.8/a: g generation 2: offenders ['x'], truth ['y']",
    "2.8/b: g generation 3: cause member_join, truth poll_timeout",
    "2.8/b: g generation 4: root cause None, truth ['coordinator_failover']",
]


def test_confusions_are_counted_by_true_and_said_cause() -> None:
    assert confusions(DETAILS) == {("poll_timeout", "member_join"): 2}


def test_a_column_per_folder_and_a_sentence_of_what_was_confused() -> None:
    written = page({"server": {"2.8": {"recall": 1.0, "truth": 12, "details": DETAILS}, "3.9": {"recall": 0.9876, "truth": 24}}})
    assert "| | 2.8 | 3.9 |" in written
    assert "| found | 1.000 | 0.988 |" in written
    assert "| rebalances | 12 | 24 |" in written
    assert "`poll_timeout` for `member_join` 2 times." in written
