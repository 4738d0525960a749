"""Advice in words is left out where a search shows that it avoids nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from conf.causes import cause
from dashboards.wording.story import perhaps_static
from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario
from models.whatif.advice import Advice, advise
from models.whatif.comparison import RebalanceChange
from models.whatif.history import GroupBaseline, History
from models.whatif.outlook import WhatIfResult
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze
from pipelines.cli.answers.settings_search import AT_LENGTH, as_run, search, that_helps
from pipelines.simulate.run import simulate
from tests.dashboards.made import small_story

SLOW_MEMBER = Path(__file__).parents[3] / "data_samples" / "kafka" / "4.1.1" / "slow-member"
SESSION = next(item for item in cause("kafka", "client_pause").advice if item.turn == "session")


def paused(folder: Path) -> AnalysisResult:
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


# The root cause or cause whose words are looked at, the fault, and the changes that they are right to name.
FAULTS = {
    "restarts in turn": ("member_restart", InjectedFault(kind="rolling_restart", at_ms=60_000, for_ms=30_000, back_ms=4_000), {"static"}),
    "a member that is gone for good": ("member_leave", InjectedFault(kind="close", member=1, at_ms=60_000), set()),
    "late polls": ("poll_timeout", InjectedFault(kind="slow_poll", member=1, at_ms=60_000, for_ms=45_000), {"longer_poll"}),
    "new members": ("member_join", InjectedFault(kind="scale_out", at_ms=60_000), {"cooperative"}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_words_about_a_change_are_kept_only_where_its_run_avoids_something(name: str, tmp_path: Path) -> None:
    cause_id, fault, right = FAULTS[name]
    scenario = Scenario(duration_ms=300_000, closes=False, groups=(GroupPlan(max_poll_ms=30_000),), faults=(fault,))
    simulate(scenario, "3.9.1", 1, tmp_path, request_log=True)
    rows = analyze([str(tmp_path)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")], kafka_versions=[("*", "3.9.1")])))
    found = search(rows, None, AT_LENGTH)
    (advice,) = found
    words = cause("kafka", cause_id).advice
    kept = that_helps(words, "", advice.cluster, [advice.group], found)
    assert {item.turn for item in words if item.turn} >= right
    assert {item.turn for item in kept if item.turn} == right <= {finding.candidate.id for finding in advice.helpful}
    assert [item for item in words if item.turn is None] == [item for item in kept if item.turn is None]


@pytest.mark.parametrize("protocol_type", ["consumer", "connect"])
def test_words_stay_about_changes_that_a_kind_of_group_is_not_searched_for(protocol_type: str, tmp_path: Path) -> None:
    (group,) = _history(paused(tmp_path))
    found = advise(replace(group, rows=[replace(row, protocol_type=protocol_type) for row in group.rows]), is_varied=False)
    words = cause("kafka", "rebalance_timeout").advice  # nobody was waited for, so that a shorter poll interval avoids nothing
    kept = {item.turn for item in that_helps(words, "", group.cluster, [group.group], [found])}
    assert ("shorter_poll" in kept) is (protocol_type == "connect")


def _history(found: AnalysisResult) -> list[GroupBaseline]:
    return History(list(found.rebalances), list(found.rebalance_members), list(found.members), list(found.client_states)).groups()


def test_words_stay_about_a_rebalance_that_has_no_end(tmp_path: Path) -> None:
    (group,) = _history(paused(tmp_path))
    found = advise(replace(group, rows=[*group.rows[:-1], replace(group.rows[-1], outcome="open")]), is_varied=False)
    words = cause("kafka", "rebalance_timeout").advice
    assert that_helps(words, "", group.cluster, [group.group], [found]) == words


def test_words_stay_where_runs_do_not_give_what_was_logged() -> None:
    found = search(small_story(), None, AT_LENGTH)
    (advice,) = (each for each in found if each.group == "orders")
    assert not any(finding.candidate.id == "shorter_poll" for finding in advice.useless), "whether it helps cannot be known"
    words = cause("kafka", "rebalance_timeout").advice
    assert that_helps(words, "", advice.cluster, ["orders"], found) == words


@pytest.mark.parametrize(
    ("spared", "saved", "sentence"),
    [(3, 5.0, "would have avoided 3 of 4 rebalances, and 5.0 s"), (0, 0.0, ""), (1, -16.0, ""), (None, 0.0, "may have avoided some of 4")],
    ids=["helps", "avoids nothing", "stops the group for longer", "not run"],
)
def test_what_static_membership_would_have_done_is_told_as_its_run_gives_it(spared: int | None, saved: float, sentence: str) -> None:
    row = small_story().rebalances[0]
    incident = SimpleNamespace(
        id="i", rebalance_count=4, confidence=None, measured=("as measured", perhaps_static({"static_avoided": 4}, 4))
    )
    changes = [RebalanceChange(row, "avoided" if number < (spared or 0) else "same", saved_seconds=saved / 4) for number in range(4)]
    static = {} if spared is None else {"i": WhatIfResult("c", "g", changes)}
    measured, *about = as_run(incident, [Advice("c", "g", 4, 9.0, (), (), (), static=static)])  # type: ignore[arg-type]
    assert measured == "as measured"
    assert sentence in " ".join(about)
    assert bool(about) is bool(sentence)
