"""Advice about an incident: by what its own members did, counted by its own rebalances, and after what hurt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conf.causes import turns
from dashboards.answer.applicable_advice import is_applicable, version_numbers
from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario
from models.rows import Person, Rebalance
from models.whatif.advice import Advice, advise, candidate_changes
from models.whatif.history import GroupBaseline, History
from models.whatif.scopes import AdviceScope, behaviour_in, hurtful
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.cli.answers.settings_search import SearchLimits, in_short, search
from pipelines.simulate.run import simulate

SHORT_PAUSE = InjectedFault(kind="gc_pause", member=1, at_ms=60_000, for_ms=14_000)
LONG_PAUSE = InjectedFault(kind="gc_pause", member=3, at_ms=300_000, for_ms=31_000)


def history_of(out: Path, faults: tuple[InjectedFault, ...], version: str = "3.9.1", **group: object) -> GroupBaseline:
    plan = GroupPlan(**{"max_poll_ms": 60_000, **group})  # type: ignore[arg-type]
    simulate(Scenario(duration_ms=500_000, closes=False, groups=(plan,), faults=faults), version, 1, out, request_log=True)
    found = analyze([str(out)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")], kafka_versions=[("*", version)])))
    rows = list(found.rebalances)
    history = History(rows, list(found.rebalance_members), list(found.members), list(found.client_states), {rows[0].cluster: version})
    return history.groups()[0]


def scope(name: str, rows: list[Rebalance]) -> AdviceScope:
    return AdviceScope(name, frozenset(row.rebalance_id for row in rows))


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> tuple[GroupBaseline, Advice]:
    """A group whose first member is paused for 14 s, and whose third is for 31 s some minutes later."""
    history = history_of(tmp_path_factory.mktemp("paused"), (SHORT_PAUSE, LONG_PAUSE))
    first, *_ = (row for row in history.rows if row.cause == "session_timeout")
    middle_us = first.began + 120_000_000
    later = [row for row in history.rows if first.began <= row.began]
    scopes = [
        scope("short", [row for row in later if row.began < middle_us]),
        scope("long", [row for row in later if row.began > middle_us]),
    ]
    return history, advise(history, is_varied=False, scopes=scopes)


@pytest.mark.parametrize(("name", "silent_ms", "at_most_ms"), [("short", 14_000, 20_000), ("long", 31_000, 40_000)])
def test_the_value_follows_from_the_silence_of_the_incident_s_own_member(
    paused: tuple[GroupBaseline, Advice], name: str, silent_ms: int, at_most_ms: int
) -> None:
    (finding,) = (each for each in paused[1].scopes[name] if each.candidate.id == "session")
    assert silent_ms < finding.candidate.values_ms["session"] <= at_most_ms


def test_numbers_count_the_incident_s_own_rebalances(paused: tuple[GroupBaseline, Advice]) -> None:
    history, advice = paused
    for findings in advice.scopes.values():
        for finding in findings:
            assert 0 < len(finding.outlook.changes) < len(history.rows)
            assert finding.outlook.stopped_seconds < advice.stopped_seconds
    counts = [len(findings[0].outlook.changes) for findings in advice.scopes.values()]
    assert sum(counts) <= len(history.rows)


def test_the_words_name_value_rebalances_downtime_and_cost(paused: tuple[GroupBaseline, Advice]) -> None:
    text = next(text for text in in_short([paused[1]])["long"] if text.startswith("session.timeout.ms of at least "))
    assert " of " in text
    assert "less; a dead member is found " in text


def test_what_others_did_is_none_of_an_incident_s_behaviour(paused: tuple[GroupBaseline, Advice]) -> None:
    history, _ = paused
    behaviour, settings, _ = history.reading()
    row = next(row for row in history.rows if row.cause == "session_timeout")
    named = {person.client_id for person in (*row.offenders, *row.blockers)}
    assert set(behaviour_in(behaviour, [row]).members) == named
    nobody = replace(row, offenders=[], blockers=[])
    assert behaviour_in(behaviour, [nobody]).members == {}
    without_one = candidate_changes(behaviour_in(behaviour, [nobody]), settings, history)
    assert not {each.id for each in without_one} & {"session", "static", "longer_poll"}


@pytest.mark.parametrize(("waited", "other", "hurt"), [(9.0, 2.0, {"waited"}), (1.0, 2.0, {"waited", "other"})])
def test_waiting_for_members_is_what_hurt_where_it_is_most_of_the_downtime(
    paused: tuple[GroupBaseline, Advice], waited: float, other: float, hurt: set[str]
) -> None:
    row = replace(paused[0].rows[1], outcome="stable", initial_delay_seconds=None)
    blocker = Person("slow-1", "slow", None, None, "late")
    rows = [
        replace(row, rebalance_id="waited", duration_seconds=waited, blockers=[blocker]),
        replace(row, rebalance_id="other", duration_seconds=other, blockers=[]),
    ]
    assert hurtful(rows) == hurt


@pytest.mark.parametrize(
    ("version", "group"),
    [
        ("1.1.1", {}),
        ("3.9.1", {"assignor": "cooperative-sticky"}),
        ("4.1.1", {}),
        ("4.1.1", {"protocol": "consumer"}),
    ],
)
def test_each_setting_of_the_advice_fits_the_rows(version: str, group: dict[str, object], tmp_path: Path) -> None:
    restart = InjectedFault(kind="rolling_restart", at_ms=200_000, for_ms=30_000, back_ms=4_000)
    history = history_of(tmp_path, (SHORT_PAUSE, LONG_PAUSE, restart), version, **group)
    advice = advise(history, is_varied=False, scopes=[scope(row.rebalance_id, [row]) for row in history.rows])
    found = [*advice.helpful, *advice.useless, *(each for findings in advice.scopes.values() for each in findings)]
    kinds = {(row.protocol, row.assignor) for row in history.rows}
    assert found
    for finding in found:
        changed = finding.candidate.configuration
        for setting in turns()[finding.candidate.id].settings:
            if setting.name != "session.timeout.ms" or changed.session_timeout_ms is not None:
                assert is_applicable(setting, kinds, version_numbers(version)), setting.name


@pytest.mark.parametrize("assignor", ["stream", "sessioned"])
def test_streams_and_connect_cannot_have_the_consumer_protocol(paused: tuple[GroupBaseline, Advice], assignor: str) -> None:
    history = replace(paused[0], version="4.1.1")
    behaviour, settings, _ = history.reading()
    assert "consumer" in {each.id for each in candidate_changes(behaviour, settings, history)}
    assert "consumer" not in {each.id for each in candidate_changes(replace(behaviour, assignor=assignor), settings, history)}


def test_an_incident_that_the_selection_cuts_is_left_alone(tmp_path: Path) -> None:
    simulate(Scenario(duration_ms=500_000, closes=False, groups=(GroupPlan(),), faults=(LONG_PAUSE,)), "3.9.1", 1, tmp_path)
    found = analyze([str(tmp_path)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")])))
    budget = SearchLimits(3, 100)
    (whole,) = search(found, None, budget)
    found.incidents = [replace(each, rebalance_ids=[*each.rebalance_ids, "elsewhere"]) for each in found.incidents]
    (cut,) = search(found, None, budget)
    assert whole.scopes
    assert cut.scopes == {}
    assert cut.helpful == whole.helpful
