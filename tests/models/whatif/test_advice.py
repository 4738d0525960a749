"""Advice by search: what helps with what happened, and nothing that the group cannot have."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario
from models.whatif.advice import Advice, advise, rounded
from models.whatif.history import History
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze
from pipelines.cli.answers.advice_rows import advice_rows, finding_rows
from pipelines.cli.answers.settings_search import BESIDE, SearchLimits, advice_lines, in_sections, search
from pipelines.cli.json_schema.schema import command_schema
from pipelines.cli.output.json_csv import versioned
from pipelines.simulate.run import simulate

PAUSES = InjectedFault(kind="gc_pause", every_ms=60_000, for_ms=15_000)
RESTARTS = InjectedFault(kind="rolling_restart", at_ms=60_000, for_ms=30_000, back_ms=4_000)
LATE_POLLS = InjectedFault(kind="slow_poll", every_ms=90_000, for_ms=45_000)


def searched(fault: InjectedFault, out: Path, version: str = "3.9.1", **group: object) -> Advice:
    plan = GroupPlan(**{"max_poll_ms": 30_000, **group})  # type: ignore[arg-type]
    simulate(Scenario(duration_ms=400_000, closes=False, groups=(plan,), faults=(fault,)), version, 1, out, request_log=True)
    found = analyze([str(out)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")], kafka_versions=[("*", version)])))
    rows = list(found.rebalances)
    history = History(rows, list(found.rebalance_members), list(found.members), list(found.client_states), {rows[0].cluster: version})
    (group_history,) = history.groups()
    return advise(group_history)


def ids(advice: Advice) -> set[str]:
    return {each.candidate.id for each in (*advice.helpful, *advice.useless)}


def test_pauses_are_outlived_by_a_session_of_their_length(tmp_path: Path) -> None:
    best = searched(PAUSES, tmp_path).helpful[0]
    assert best.candidate.id == "session"
    assert 15_000 < best.candidate.values_ms["session"] <= 40_000  # some pauses follow each other
    assert best.candidate.values_ms["later"] == best.candidate.values_ms["session"] - 10_000
    assert best.outlook.count("avoided") >= 0.8 * (len(best.outlook.changes) - 1)


def test_pauses_in_the_consumer_protocol_are_outlived_by_a_session_that_brokers_allow(tmp_path: Path) -> None:
    pauses = InjectedFault(kind="gc_pause", every_ms=90_000, for_ms=50_000)
    best = searched(pauses, tmp_path, "4.1.1", protocol="consumer", max_poll_ms=300_000).helpful[0]
    assert best.candidate.id == "consumer_session"
    assert 50_000 < best.candidate.values_ms["session"] <= 60_000
    assert best.candidate.values_ms["later"] == best.candidate.values_ms["session"] - 45_000
    assert best.outlook.count("avoided") >= 4, "ends of sessions, and the joins that follow"


def test_pauses_that_no_allowed_session_outlives_want_none(tmp_path: Path) -> None:
    pauses = InjectedFault(kind="gc_pause", at_ms=60_000, member=1, for_ms=120_000)
    assert "consumer_session" not in ids(searched(pauses, tmp_path, "4.1.1", protocol="consumer", max_poll_ms=300_000))


def test_restarts_want_fixed_identities(tmp_path: Path) -> None:
    best = searched(RESTARTS, tmp_path).helpful[0]
    assert best.candidate.id == "static"
    assert best.candidate.values_ms["session"] == 10_000  # the present one is long enough


def test_restarts_of_static_members_want_a_session_that_outlasts_them(tmp_path: Path) -> None:
    slow = InjectedFault(kind="close", member=2, at_ms=60_000, back_ms=40_000)
    best = searched(slow, tmp_path, static=True).helpful[0]
    assert best.candidate.id == "session"
    assert 40_000 < best.candidate.values_ms["session"] <= 55_000
    assert best.outlook.count("avoided") == 2, "the end of its session, and its join"


def test_late_polls_want_a_longer_interval(tmp_path: Path) -> None:
    best = searched(LATE_POLLS, tmp_path).helpful[0]
    assert best.candidate.id == "longer_poll"
    assert 45_000 <= best.candidate.values_ms["poll"] <= 50_000


@pytest.mark.parametrize(
    ("version", "group", "never"),
    [
        ("2.2.0", {}, {"static", "cooperative", "consumer"}),
        ("3.9.1", {"assignor": "cooperative-sticky"}, {"cooperative", "consumer"}),
        ("4.1.1", {"protocol": "consumer"}, {"session", "delay", "cooperative", "consumer"}),
        ("3.9.1", {"static": True}, {"static"}),
    ],
)
def test_nothing_is_advised_that_the_group_has_or_cannot_have(
    version: str, group: dict[str, object], never: set[str], tmp_path: Path
) -> None:
    assert not ids(searched(PAUSES, tmp_path, version, **group)) & never


def test_each_change_comes_once_and_the_answer_has_a_schema(tmp_path: Path) -> None:
    advice = searched(replace(PAUSES, every_ms=120_000), tmp_path)
    assert len({each.candidate.id for each in advice.helpful}) == len(advice.helpful)
    gains = [each.gain_of_members for each in advice.helpful]
    assert gains == sorted(gains, reverse=True)
    answer = versioned({"groups": list(advice_rows([advice]))})
    Draft202012Validator(command_schema("advise")).validate(json.loads(json.dumps(answer)))
    assert all(line["options"].startswith("--") for line in finding_rows([advice]))


@pytest.mark.parametrize(("given", "value"), [(1, 1_000), (9_200, 10_000), (26_400, 27_000), (61_000, 65_000), (610_000, 660_000)])
def test_values_are_those_that_people_set(given: int, value: int) -> None:
    assert rounded(given) == value


def test_a_session_that_no_line_tells_is_named_as_an_assumption(tmp_path: Path) -> None:
    found = analysed(tmp_path)
    (history,) = History(list(found.rebalances), list(found.rebalance_members)).groups()
    assert any(text.startswith("session.timeout.ms is taken to be") for text in advise(history).assumed)


def test_an_answer_names_the_value_with_its_effect_and_cost(tmp_path: Path) -> None:
    ((title, texts),) = advice_lines([searched(PAUSES, tmp_path)]).items()
    assert title.startswith("orders: ")
    text, command = texts[0]
    assert text.startswith("session.timeout.ms of at least ")
    assert "not stopped" in text
    assert "It costs: a dead member is found" in text
    assert command.startswith("groupscope whatif PATH... --group orders --session-timeout ")


def analysed(out: Path) -> AnalysisResult:
    simulate(Scenario(duration_ms=200_000, closes=False, groups=(GroupPlan(),), faults=(PAUSES,)), "3.9.1", 1, out)
    return analyze([str(out)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")])))


def test_a_rebalance_without_an_end_is_no_reason_for_a_setting(tmp_path: Path) -> None:
    """It stopped the group for an hour so far: no run can say that a setting spares it."""
    found = analysed(tmp_path)
    rows, members = list(found.rebalances), list(found.rebalance_members)
    (history,) = History(rows, members).groups()
    last = max(rows, key=lambda row: row.began)
    open_row = replace(
        last, rebalance_id="open", started_at=last.began + 1, ended_at=None, outcome="open", duration_seconds=None, at_least_seconds=3600.0
    )
    (with_open,) = History([*rows, open_row], members).groups()
    assert advise(with_open).stopped_seconds == advise(history).stopped_seconds
    (alone,) = History([open_row]).groups()
    assert (advise(alone).count, advise(alone).helpful) == (0, ())


def test_a_long_history_is_left_to_the_long_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each setting is a run of all rebalances: an answer does not wait for many."""
    found = analysed(tmp_path)
    wanted = {(row.cluster, row.group) for row in found.rebalances}
    sections = in_sections(found, wanted, search(found, wanted, BESIDE))
    assert any("whatif" in command for texts in sections.values() for _, command in texts)
    monkeypatch.setattr(History, "groups", None)  # not even read
    short = search(found, wanted, SearchLimits(3, len(found.rebalances) - 1))
    assert in_sections(found, wanted, short) == {
        "1 group not searched here": [("A longer search covers them:", "groupscope advise PATH...")]
    }


def test_nothing_is_told_of_a_group_that_no_setting_would_have_helped(tmp_path: Path) -> None:
    assert advice_lines([replace(searched(PAUSES, tmp_path), helpful=())]) == {}


def test_groups_that_the_same_is_advised_to_share_a_block(tmp_path: Path) -> None:
    advice = searched(PAUSES, tmp_path)
    ((title, texts),) = advice_lines([replace(advice, group=group) for group in ("bills", "orders")]).items()
    assert title.startswith("bills and orders: ")
    assert title.endswith(" stopped each")
    assert texts == next(iter(advice_lines([replace(advice, group="bills")]).values()))
