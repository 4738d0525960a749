"""A part of the labelled RocketMQ corpus on each change, with all files and with each client's missing in turn.

`python -m tests.corpus.rocketmq CORPUS SCORER` scores all of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.rocketmq import FIGURES, page, score

# One scenario for each kind of trouble, the smaller version of each.
PART = ("4.9.7/d_kill9", "4.9.7/d3_sigstop", "5.3.3/e_queue", "5.3.3/f_mixed", "4.9.7/g_sub", "4.9.7/o_cons", "4.9.7/p_client", "5.3.3/d2_")

AT_LEAST = {
    None: {
        "recall": 0.99,
        "precision": 0.99,
        "cause_accuracy": 0.97,
        "offender_exact": 0.97,
        "ownership_recall": 0.98,
        "ownership_precision": 0.95,
        "ownership_time_jaccard": 0.93,
        "condition_recall": 1.0,
        "condition_precision": 1.0,
    },
    "each": {"recall": 0.99, "precision": 0.99, "ownership_recall": 0.8, "ownership_precision": 0.9},
}


@pytest.mark.corpus
@pytest.mark.parametrize("missing", [None, "each"])
def test_a_part_of_the_corpus_scores_within_the_limits(missing: str | None, shared: Path) -> None:
    corpus = shared / "corpora" / "rocketmq"
    if not corpus.is_dir():
        pytest.skip("no RocketMQ corpus beside the checkout")
    summary, details = score(corpus, shared / "tools" / "score.py", missing, PART)

    short = {key: summary[key] for key, least in AT_LEAST[missing].items() if summary[key] < least}
    assert short == {}, "\n".join(details)
    assert summary["sure_inventions"] == 0, "\n".join(details)
    assert summary["brier"] <= 0.04


def test_the_page_has_a_column_per_version() -> None:
    summary = dict.fromkeys(FIGURES, 1) | {"recall": 0.98765}
    written = page({"All files": {"4.9.7": summary, "5.3.3": summary | {"recall": 1.0}}})

    assert "| | 4.9.7 | 5.3.3 |" in written
    assert "| found | 0.988 | 1.000 |" in written
