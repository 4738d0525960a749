"""What-if, held to the simulator: what is foretold of a history is what happens under the other configuration."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from models.kafka.simulation.scenario import COOPERATIVE, MODERN, GroupPlan, InjectedFault, Scenario
from models.whatif.configuration import WHAT_IF_RULES, Configuration
from models.whatif.outlook import WhatIfResult
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze
from pipelines.cli.commands.whatif import outlook_object
from pipelines.cli.json_schema.schema import command_schema
from pipelines.cli.output.json_csv import versioned
from pipelines.simulate.run import read_scenario, simulate
from tests.models.whatif.outlooks import what_if_results

GATHER = Scenario(
    name="gather", duration_ms=90_000, groups=(GroupPlan(members=3, start_ms=100),), faults=(InjectedFault(kind="scale_out", at_ms=3_000),)
)
EARLY = Scenario(
    name="early", duration_ms=90_000, groups=(GroupPlan(members=2, start_ms=100),), faults=(InjectedFault(kind="scale_out", at_ms=2_800),)
)

# What would be set, the scenario, and the same of the scenario's group and cluster.
CASES: dict[str, tuple[Configuration, Scenario, dict[str, Any], dict[str, Any]]] = {
    "static members restarted in turn": (
        Configuration(static_membership=True), read_scenario("rolling_restart"), {"static": True}, {},
    ),
    "static members restarted at once": (
        Configuration(static_membership=True), read_scenario("quick_restart"), {"static": True}, {},
    ),
    "static members away for longer than their sessions": (
        Configuration(static_membership=True), read_scenario("crash"), {"static": True}, {},
    ),
    "sessions that outlive a pause": (
        Configuration(session_timeout_ms=90_000), read_scenario("gc_pause"), {"session_ms": 90_000}, {},
    ),
    "sessions that outlive no crash": (
        Configuration(session_timeout_ms=30_000), read_scenario("crash"), {"session_ms": 30_000}, {},
    ),
    "a cooperative assignor, members restarted in turn": (
        Configuration(cooperative=True), read_scenario("rolling_restart"), {"assignor": COOPERATIVE}, {},
    ),
    "a cooperative assignor, members that come and go": (
        Configuration(cooperative=True), read_scenario("scale_out"), {"assignor": COOPERATIVE}, {},
    ),
    "the consumer protocol, members restarted in turn": (
        Configuration(consumer_protocol=True), read_scenario("rolling_restart"), {"protocol": MODERN}, {},
    ),
    "the consumer protocol, and a crash": (Configuration(consumer_protocol=True), read_scenario("crash"), {"protocol": MODERN}, {}),
    "a longer poll interval": (
        Configuration(max_poll_interval_ms=900_000), read_scenario("slow_poll"), {"max_poll_ms": 900_000}, {},
    ),
    "a shorter wait for a member that is put out": (
        Configuration(max_poll_interval_ms=15_000), read_scenario("eviction"), {"max_poll_ms": 15_000}, {},
    ),
    "a busy member that is not waited for": (
        Configuration(max_poll_interval_ms=15_000), read_scenario("slow_rejoin"), {"max_poll_ms": 15_000}, {},
    ),
    "a delay that gathers a late starter": (Configuration(initial_delay_ms=10_000), GATHER, {}, {"initial_delay_ms": 10_000}),
    "no delay": (Configuration(initial_delay_ms=0), EARLY, {}, {"initial_delay_ms": 0}),
}  # fmt: skip
VERSIONS = ("2.8.2", "4.1.1")


def history(scenario: Scenario, version: str, out: Path) -> AnalysisResult:
    simulate(replace(scenario, closes=False), version, 1, out, request_log=True)
    return analyze([str(out)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")], kafka_versions=[("*", version)])))


def foretold(analysis: AnalysisResult, configuration: Configuration) -> WhatIfResult:
    (found,) = what_if_results(
        analysis.rebalances, analysis.rebalance_members, configuration, sessions=list(analysis.members), states=list(analysis.client_states)
    )
    return found


@pytest.mark.parametrize("name", CASES)
def test_what_is_foretold_is_what_happens(name: str, tmp_path: Path) -> None:
    configuration, scenario, of_group, of_cluster = CASES[name]
    version = "4.1.1" if configuration.consumer_protocol else VERSIONS[len(name) % 2]
    told = foretold(history(scenario, version, tmp_path / "as it was"), configuration)
    other = replace(scenario, groups=tuple(replace(group, **of_group) for group in scenario.groups), **of_cluster)
    happened = foretold(history(other, version, tmp_path / "otherwise"), configuration)

    assert told.fewest <= len(happened.changes) <= told.left <= told.fewest + 1
    assert told.reproduced == len(told.changes)
    # Members hear of a rebalance with their next heartbeat, which the dice decide: up to three seconds for each.
    by_chance = 3.0 * len(happened.changes)
    assert told.stopped_seconds - told.saved_seconds == pytest.approx(happened.stopped_seconds, abs=by_chance)
    least, most = told.saved_range
    assert least <= told.saved_seconds <= most
    if (least, most) != (0.0, 0.0):  # else nothing is another, but for the dice
        assert least <= told.stopped_seconds - happened.stopped_seconds <= most
    assert told.rules() or not told.count("avoided")


QUICK_RETURN = replace(
    read_scenario("crash"),
    groups=tuple(replace(group, session_ms=20_000) for group in read_scenario("crash").groups),
    faults=tuple(replace(fault, back_ms=2_000) for fault in read_scenario("crash").faults),
)
MODERN_START = replace(GATHER, groups=tuple(replace(group, protocol=MODERN) for group in GATHER.groups))

# What would be set, the scenario, the same of the scenario's group and cluster; rebalances and seconds that it avoids.
NUMBERS: dict[str, tuple[Configuration, Scenario, dict[str, Any], dict[str, Any], int, float]] = {
    "a member that was put out is waited for until it is back, and need not join anew": (
        Configuration(max_poll_interval_ms=60_000), read_scenario("eviction"), {"max_poll_ms": 60_000}, {}, 1, -6.0,
    ),
    "others wait for a dead member only as long as its session lasts": (
        Configuration(session_timeout_ms=6_000), QUICK_RETURN, {"session_ms": 6_000}, {}, 0, 14.0,
    ),
    "groups of the consumer protocol have no initial delay": (
        Configuration(initial_delay_ms=10_000), MODERN_START, {}, {"initial_delay_ms": 10_000}, 0, 0.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_foretold_are_those_of_the_simulator(name: str, tmp_path: Path) -> None:
    configuration, scenario, of_group, of_cluster, fewer, saved = NUMBERS[name]
    told = foretold(history(scenario, "4.1.1", tmp_path / "as it was"), configuration)
    other = replace(scenario, groups=tuple(replace(group, **of_group) for group in scenario.groups), **of_cluster)
    happened = foretold(history(other, "4.1.1", tmp_path / "otherwise"), configuration)
    assert len(told.changes) - told.left == len(told.changes) - told.fewest == len(told.changes) - len(happened.changes) == fewer
    assert told.saved_seconds == pytest.approx(saved, abs=0.5)
    assert told.stopped_seconds - happened.stopped_seconds == pytest.approx(saved, abs=0.5)


def test_what_changes_nothing_is_in_no_doubt(tmp_path: Path) -> None:
    told = foretold(history(read_scenario("eviction"), "4.1.1", tmp_path), Configuration(scheduled_delay_ms=60_000))
    assert (told.saved_seconds, told.saved_range) == (0.0, (0.0, 0.0))


def test_fixed_identities_save_a_deploy_nearly_all_of_its_cost(tmp_path: Path) -> None:
    analysis = history(read_scenario("rolling_restart"), "3.9.1", tmp_path)
    (incident,) = analysis.incidents
    assert (incident.kind, incident.rebalance_count) == ("rolling_restart", 9)
    assert incident.restarted_members == [f"orders-worker-{number}" for number in (1, 2, 3, 4)]
    assert incident.static_membership_effect["static_avoided"] == 8
    assert incident.static_membership_effect["static_saved_seconds"] == pytest.approx(incident.stopped_seconds, abs=0.1)


def test_members_that_are_gone_for_good_are_missed_later(tmp_path: Path) -> None:
    scenario = replace(read_scenario("scale_out"), closes=False)
    told = foretold(history(scenario, "2.8.2", tmp_path), Configuration(static_membership=True))
    assert [change.effect for change in told.changes] == ["same", "same", "later"]
    assert told.saved_seconds == 0


@pytest.mark.parametrize(
    ("configuration", "added"), [(Configuration(cooperative=True), [0, 0, 1]), (Configuration(consumer_protocol=True), [3, 0, 0])]
)
def test_only_what_moves_stands_still(configuration: Configuration, added: list[int], tmp_path: Path) -> None:
    told = foretold(history(read_scenario("crash"), "2.8.2", tmp_path), configuration)
    assert [change.added for change in told.changes] == added
    assert told.saved_seconds == told.stopped_seconds
    assert [change.saved_member_seconds for change in told.changes[1:]] == [
        pytest.approx(0.75 * (change.row.member_seconds_stopped or 0.0))
        for change in told.changes[1:]  # one of four members moves
    ]


def test_an_expiry_whose_member_may_have_been_another_process_is_no_promise(tmp_path: Path) -> None:
    simulate(replace(read_scenario("gc_pause"), closes=False), "2.8.2", 1, tmp_path)
    logs = [str(path) for path in tmp_path.glob("broker-*/server.log")]
    options = AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")], kafka_versions=[("*", "2.8.2")]), assume={"session_timeout_ms": 10_000})
    told = foretold(analyze(logs, options), Configuration(session_timeout_ms=90_000))
    assert (told.fewest, told.left) == (1, 2)  # a pause that is outlived, or a new process that waits for the old one's session
    assert any("orders-worker-1 came back as the same process" in text for text in told.assumed)


def test_the_answer_names_every_rule_that_it_used(tmp_path: Path) -> None:
    configuration = Configuration(static_membership=True, cooperative=True)
    answer = versioned(outlook_object([foretold(history(read_scenario("crash"), "2.8.2", tmp_path), configuration)], configuration))
    Draft202012Validator(command_schema("whatif")).validate(json.loads(json.dumps(answer)))
    used = {row["rule"] for group in answer["groups"] for row in group["rebalances"] if row["rule"]}
    assert used == {rule["id"] for rule in answer["rules"]} == {"moves_only_some"}
    assert all(rule.source and rule.assumes and rule.says.endswith(".") for rule in WHAT_IF_RULES)
