"""Advice in words is left out where a search shows that it avoids nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from conf.causes import cause
from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import Analysis, AnalyzeOptions, analyze
from pipelines.cli.answers.settings_search import AT_LENGTH, search, that_helps
from pipelines.simulate.run import simulate

SLOW_MEMBER = Path(__file__).parents[3] / "data_samples" / "kafka" / "4.1.1" / "slow-member"
SESSION = next(item for item in cause("kafka", "client_pause").advice if item.turn == "session")


def paused(folder: Path) -> Analysis:
    """A member that is put out in a pause of 14 s, which a longer session would outlast."""
    pause = InjectedFault(kind="gc_pause", member=1, at_ms=60_000, for_ms=14_000)
    simulate(Scenario(duration_ms=200_000, closes=False, groups=(GroupPlan(),), faults=(pause,)), "3.9.1", 1, folder, request_log=True)
    return analyze([str(folder)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")])))


@pytest.mark.parametrize("helps", [True, False])
def test_a_longer_session_is_advised_only_where_it_avoids_something(helps: bool, tmp_path: Path) -> None:
    rows = paused(tmp_path) if helps else analyze([str(SLOW_MEMBER)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")])))
    found = search(rows, None, AT_LENGTH)
    (advice,) = found
    kept = that_helps(cause("kafka", "client_pause").advice, "", advice.cluster, [advice.group], found)
    assert (SESSION in kept) is helps
    assert len(kept) == len(cause("kafka", "client_pause").advice) - (not helps)


def test_advice_stays_where_nothing_was_searched() -> None:
    advice = cause("kafka", "client_pause").advice
    assert that_helps(advice, "", "cluster", ["group"], []) == advice
