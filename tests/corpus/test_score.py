"""A part of the labelled corpora, scored on each change; `make corpus-score` scores all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import LONG
from tests.corpus.scoring import Files, score, shortfalls

# One scenario for each kind of cause, spread over the versions; those of a few hundred kilobytes.
PART = [
    "1.1.1-zk/b_scale_up",
    "1.1.1-zk/e_poll_timeout",
    "1.1.1-zk/x_trace",
    "2.8.2-zk/f_static",
    "2.8.2-zk/h_rolling",
    "2.8.2-zk/i_coordinator_failover",
    "3.9.1-kraft/j2_rebalance_timeout",
    "3.9.1-kraft-newcoord/d_hard_kill",
    "3.9.1-zk/l_gc_pause",
    "3.9.1-zk/p_assignors",
    "4.1.1-kraft/g_metadata",
    "4.1.1-kraft/h2_kill_restart",
    "4.1.1-kraft/k_storm",
    "4.1.1-kraft/o_subscription",
]


@pytest.mark.corpus
@pytest.mark.parametrize("files", ["all", pytest.param("server", marks=LONG)])
def test_a_part_of_the_corpus_scores_within_the_limits(files: Files, kafka_corpus: Path) -> None:
    summary = score([kafka_corpus / scenario for scenario in PART], files)

    assert shortfalls(summary, files) == [], "\n".join(summary["details"])
