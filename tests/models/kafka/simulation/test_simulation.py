"""The simulator: what it writes is repeatable, readable, true to its scenario and to the version, and kept nowhere."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from models.kafka.coordinator.announcements import ANNOUNCED_MESSAGES, INSTEAD, announce
from models.kafka.coordinator.protocol.embedded_consumer import assigned, assignment, subscription
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.group_states import VALID_PREVIOUS, State
from models.kafka.coordinator.runtime.outcomes import LoggedChange
from models.kafka.coordinator.runtime.version_policy import EpochGuard, policy_for
from models.kafka.simulation.assignment import range_assignment
from models.kafka.simulation.client import ClientPhase
from models.kafka.simulation.faults import FAULTS
from models.kafka.simulation.modern_consumer import ModernConsumer
from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario, ScenarioError, duration_ms, scenario_of
from models.kafka.simulation.simulation import Simulation
from models.kafka.simulation.world import WrittenLine
from parsers.catalogue.catalogue import catalogue
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.simulate.run import bundled_scenarios, read_scenario, simulate
from pipelines.simulate.wording import MessageWriter
from tests.conftest import examples, spread
from tests.roundtrip import random_scenario

VERSIONS = ("1.1.1", "2.0.1", "2.1.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2", "3.3.1", "3.9.1", "4.0.0", "4.1.1")

# What each bundled scenario is about: causes that its truth must hold.
CAUSES = {
    "busy_day": {"session_timeout", "poll_timeout", "member_leave_graceful", "member_join"},
    "coordinator_failover": {"session_timeout"},
    "consumer_protocol": {"member_join", "session_timeout", "poll_timeout", "metadata_change"},
    "cooperative": {"cooperative_followup", "session_timeout"},
    "crash": {"session_timeout", "member_join"},
    "eviction": {"member_join"},
    "gc_pause": {"session_timeout", "member_join"},
    "migration": {"protocol_migration", "member_join", "member_leave_graceful"},
    "network_cut": {"session_timeout", "member_join"},
    "partition_increase": {"metadata_change"},
    "quick_restart": {"member_restart"},
    "rolling_restart": {"member_leave_graceful", "member_join"},
    "scale_out": {"member_join", "member_leave_graceful"},
    "slow_poll": {"poll_timeout", "member_join"},
    "slow_rejoin": {"member_join"},
    "static_members": {"session_timeout", "member_join"},
    "store_failure": {"assignment_store_failed"},
    "subscription_change": {"subscription_change"},
}


def truth_of(scenario: Scenario, version: str, seed: int, out: Path, **options: bool) -> dict[str, Any]:
    simulate(scenario, version, seed, out, **options)
    return json.loads((out / "truth.json").read_bytes())  # type: ignore[no-any-return]


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_every_bundled_scenario_is_listed_here_and_describes_itself() -> None:
    assert set(bundled_scenarios()) == set(CAUSES)
    assert all(description.endswith(".") or description for description in bundled_scenarios().values())


@pytest.mark.parametrize("name", sorted(CAUSES))
def test_a_scenario_brings_about_what_it_is_about(name: str, tmp_path: Path) -> None:
    truth = truth_of(read_scenario(name), ["2.8.2", "4.1.1"][len(name) % 2], 3, tmp_path)
    causes = {row["cause"] for row in truth["rebalances"]}
    assert causes >= {"new_group", *CAUSES[name]}


def test_a_busy_member_is_named_as_the_one_that_kept_the_others_waiting(tmp_path: Path) -> None:
    truth = truth_of(read_scenario("slow_rejoin"), "3.9.1", 1, tmp_path)
    assert [row["delayed_by"] for row in truth["rebalances"] if row["delayed_by"]] == [["orders-worker-2"]]


def test_an_evicted_member_is_named(tmp_path: Path) -> None:
    truth = truth_of(read_scenario("eviction"), "3.9.1", 1, tmp_path)
    assert [row["evicted"] for row in truth["rebalances"] if row["evicted"]] == [[["orders-worker-2", "rebalance_timeout_eviction"]]]
    assert [row["delayed_by"] for row in truth["rebalances"] if row["evicted"]] == [["orders-worker-2"]]


def test_one_seed_gives_the_same_files_and_another_gives_others(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        simulate(read_scenario("crash"), "2.8.2", seed, tmp_path / name, request_log=True)
    assert everything_in(tmp_path / "a") == everything_in(tmp_path / "b")
    assert everything_in(tmp_path / "a") != everything_in(tmp_path / "c")


@pytest.mark.parametrize("version", spread(VERSIONS, 3))
def test_every_line_is_understood_and_shows_the_truth(version: str, tmp_path: Path) -> None:
    scenario = replace(read_scenario("busy_day"), duration_ms=duration_ms("5m"))
    truth = truth_of(scenario, version, 11, tmp_path, request_log=True)
    analysis = analyze([str(tmp_path)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")])))
    assert [row["template"] for row in analysis.unknown] == []
    assert analysis.rejected == []
    told = sorted((row.group, (row.started_at or 0) // 1000, row.generation_after) for row in analysis.rebalances)
    assert told == sorted((row["group"], row["start_ms"], row["generation_after"]) for row in truth["rebalances"])


def test_server_logs_are_as_brokers_write_them_by_default(tmp_path: Path) -> None:
    simulate(read_scenario("crash"), "2.8.2", 1, tmp_path)
    text = (tmp_path / "broker-1" / "server.log").read_text(encoding="utf-8")
    assert " DEBUG " not in text
    assert not (tmp_path / "broker-1" / "kafka-request.log").exists()


@pytest.mark.parametrize(
    ("version", "form"),
    [("1.1.1", "group_protocols=[{protocol_name=range,"), ("2.3.1", "session_timeout_ms="), ("2.8.2", '"requestApiKey":11')],
)
def test_request_logs_have_the_form_of_the_version(version: str, form: str, tmp_path: Path) -> None:
    simulate(read_scenario("crash"), version, 1, tmp_path, request_log=True)
    assert form in (tmp_path / "broker-1" / "kafka-request.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", VERSIONS)
def test_announcements_have_the_catalogues_levels(version: str) -> None:
    policy = policy_for(version)
    fields = {
        "members": ["a"], "member_count": 1, "static_count": 0, "state": "Stable", "client_reason": "x", "client_id": "c",
        "client_host": "/h",
        "session_timeout_ms": 1, "rebalance_timeout_ms": 1, "protocols": ["range"], "old_member_id": "o", "new_leader": "n",
        "why": "the member session expired.", "member_epoch": 2, "previous_epoch": 1, "assigned": [], "revoked": [], "topics": ["t"],
        "metadata": {}, "assignor": "uniform", "from_type": "classic", "to_type": "consumer", "protocol": "consumer",
        "offsets_count": 1, "groups": ["g"], "operation": "heartbeat", "detail": "NOT_ENOUGH_REPLICAS", "_key": "heartbeat-g-m",
        "_epoch": 1, "_current": 2, "_count": 3, "_millis": 1, "reason_id": "leave", "reason_member_id": "m",
        "reason_members": ["m"], "coordinator_epoch": 1,
    }  # fmt: skip
    wording = MessageWriter(policy)
    special = [(event, rule, told) for event, others in INSTEAD.items() for told, rule in others]
    special = [each for each in special if each[2] != {"_what": "new"} or policy.is_java]  # the same words as of an emptied group
    orders = policy.epoch_guard is not EpochGuard.NONE  # before them the words of an order that came too late were of another thing
    special = [each for each in special if orders or each[2].get("_note") != "load_ignored"]
    special = [each for each in special if not policy.is_java or each[2].get("_note") != "late_heartbeat_timer"]  # there it finds no group
    for event, rule, more in [*((event, rule, {}) for event, rule in ANNOUNCED_MESSAGES.items()), *special]:
        why = {"why": "unreleased"} if event == "ModernMemberRefused" and not more else {}
        failure = {"error": "REQUEST_TIMED_OUT", "_told": "COORDINATOR_NOT_AVAILABLE", "_what": "assignment"} if "Store" in event else {}
        told = announce(policy, LoggedChange(event, 0, "g", 1, "c-m", "i", {**fields, **why, **failure, **more}), 1, 2)
        levels = {
            pattern.level
            for pattern in catalogue().wordings.of(rule.message_of(policy), version)
            if policy.is_java is (pattern.prefix in ("shard", "runtime", "group", "group_id", "group_equals"))
        }
        if told is None:
            assert levels <= {"DEBUG"}, event
        else:
            assert told.level in levels or rule.java[-1] == ("4.0", "DEBUG"), event  # one level for all in the catalogue
            assert wording.line(WrittenLine(0, 1, told.message, told.level, told.fields)) is not None, event


def test_what_is_written_is_not_kept(tmp_path: Path) -> None:
    peaks = []
    for minutes in (5, 20):
        scenario = replace(read_scenario("busy_day"), duration_ms=duration_ms(f"{minutes}m"))
        tracemalloc.start()
        written = simulate(scenario, "3.9.1", 2, tmp_path / f"{minutes}", request_log=True)
        peaks.append((tracemalloc.get_traced_memory()[1], written["bytes"]))
        tracemalloc.stop()
    (short, short_bytes), (long, long_bytes) = peaks
    assert long - short < (long_bytes - short_bytes) / 10


@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_every_fault_befalls_nobody_where_nobody_is(kind: str, tmp_path: Path) -> None:
    nobody = Scenario(duration_ms=60_000, groups=(GroupPlan(members=0),), faults=(InjectedFault(kind=kind, at_ms=10_000, for_ms=1_000),))
    truth = truth_of(nobody, "4.1.1", 0, tmp_path)
    assert {row["cause"] for row in truth["rebalances"]} <= {"new_group", "group_empty"}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"duration": "5"}, "no duration"),
        ({"lasts": "5m"}, "has no 'lasts'"),
        ({"fault": [{"kind": "flood", "at": "1s"}]}, "no fault is called 'flood'"),
        ({"fault": [{"kind": "crash"}]}, "either 'at' or 'every'"),
        ({"fault": [{"at": "1s"}]}, "lacks something"),
        ({"fault": [{"kind": "crash", "at": "1s", "group": "x"}]}, "no group 'x'"),
        ({"fault": [{"kind": "coordinator_crash", "at": "1s", "broker": 2}]}, "no broker 2"),
        ({"group": [{"name": "a"}, {"name": "a"}]}, "one name"),
        ({"group": [{"protocol": "share"}]}, "'protocol' is one of"),
        ({"migration": "sometimes"}, "'migration' is one of"),
    ],
)
def test_a_scenario_that_makes_no_sense_is_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        Simulation(scenario_of("s", table), "3.9.1")


def test_static_members_need_a_version_that_knows_them() -> None:
    with pytest.raises(ScenarioError, match=r"2\.3"):
        Simulation(read_scenario("static_members"), "2.2.2")


@pytest.mark.parametrize(("name", "version", "since"), [("cooperative", "2.3.1", r"2\.4"), ("consumer_protocol", "3.9.1", r"4\.0")])
def test_newer_clients_need_a_version_that_knows_them(name: str, version: str, since: str) -> None:
    with pytest.raises(ScenarioError, match=since):
        Simulation(read_scenario(name), version)


def test_a_member_that_gives_up_late_keeps_its_group_of_the_consumer_protocol_waiting(tmp_path: Path) -> None:
    group = GroupPlan(protocol="consumer", members=2)
    slow = InjectedFault(kind="slow_poll", member=1, at_ms=60_000, for_ms=25_000)
    scenario = Scenario(
        duration_ms=120_000, consumer_heartbeat_ms=1_000, groups=(group,), faults=(slow, InjectedFault(kind="scale_out", at_ms=61_000))
    )
    truth = truth_of(scenario, "4.1.1", 1, tmp_path)
    assert [row["delayed_by"] for row in truth["rebalances"] if row["delayed_by"]] == [["orders-worker-1"]]


@pytest.mark.parametrize("version", ["1.1.1", "4.1.1"])
def test_a_busy_client_finds_the_new_coordinator_before_it_leaves_the_group(version: str, tmp_path: Path) -> None:
    """The heartbeat thread looks for the coordinator first, then at how long nobody has polled (HeartbeatThread.run)."""
    faults = (
        InjectedFault(kind="slow_poll", at_ms=30_000, for_ms=45_000),
        InjectedFault(kind="coordinator_failover", at_ms=46_500, for_ms=15_000),
    )
    scenario = Scenario(duration_ms=100_000, brokers=3, groups=(GroupPlan(members=2, max_poll_ms=20_000),), faults=faults)
    rebalances = truth_of(scenario, version, 7, tmp_path)["rebalances"]
    assert [row["trigger"] for row in rebalances[1:3]] == ["poll_timeout", "member_join"]


def test_a_group_upgraded_under_way_is_told_by_the_protocol_that_it_speaks(tmp_path: Path) -> None:
    truth = truth_of(read_scenario("migration"), "4.1.1", 2, tmp_path)
    protocols = [row["protocol_type"].split()[0] for row in truth["rebalances"]]
    assert [protocol for before, protocol in zip(["", *protocols], protocols, strict=False) if before != protocol] == [
        "classic",
        "consumer",
        "classic",
    ]
    assert [row["cause"] for row in truth["rebalances"] if row["cause"] == "protocol_migration"] == ["protocol_migration"]
    assert sum(row.get("contributing_causes") == ["protocol_migration"] for row in truth["rebalances"]) == 1


def test_a_file_that_is_none(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("duration = ", encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"broken\.toml"):
        read_scenario(str(broken))
    with pytest.raises(ScenarioError, match="neither a file nor one of"):
        read_scenario("no-such-scenario")


def test_members_and_duration_can_be_given(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[[group]]\nname = "a"\n[[group]]\nname = "b"\nmembers = 9\n', encoding="utf-8")
    scenario = read_scenario(str(own), members=2, duration="90s")
    assert (scenario.duration_ms, [group.members for group in scenario.groups]) == (90_000, [2, 2])
    assert scenario.name == "own"


@pytest.mark.parametrize(
    ("text", "milliseconds"), [("250ms", 250), ("90s", 90_000), ("5m", 300_000), ("1h", 3_600_000), ("30d", 2_592_000_000)]
)
def test_durations(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


def test_assignments_can_be_read_back() -> None:
    share = [("b", 1), ("a", 0), ("b", 3)]
    assert sorted(assigned(assignment(share))) == sorted(share)
    assert assigned(b"") == ()
    assert range_assignment(["x", "y"], {"x": {"t"}, "y": {"t"}}, {"t": 3, "u": 1}) == {"x": [("t", 0), ("t", 1)], "y": [("t", 2)]}
    assert subscription(["b", "a"]) == b"\0\0\0\0\0\2\0\1a\0\1b\xff\xff\xff\xff"


@pytest.mark.parametrize(
    ("version", "protocol"),
    [("1.1.1", "classic"), ("2.8.2", "cooperative"), ("4.1.1", "classic"), ("4.0.0", "consumer"), ("4.1.1", "both")],
)
def test_any_scenario_ends(version: str, protocol: str) -> None:
    for seed in range(examples(15, 40)):
        scenario = random_scenario(seed, policy_for(version).knows_static_members, protocol)
        simulation = Simulation(replace(scenario, max_size=5 if seed % 3 == 0 else 2**31 - 1, closes=seed % 5 > 0), version, seed)
        last_ms = 0
        for happening in simulation.run():
            assert happening.at_ms >= last_ms
            last_ms = happening.at_ms
        steps = [(step["from"], step["to"]) for step in simulation.truth.steps]
        assert all(State(before) in VALID_PREVIOUS[State(after)] for before, after in steps)


def test_a_client_of_the_consumer_protocol_that_has_not_joined_has_nothing_to_say_good_bye_to(tmp_path: Path) -> None:
    group = GroupPlan(protocol="consumer", members=1, poll_ms=10_000, topics={"t": 4, "u": 2})
    at = 1_600
    faults = [InjectedFault(kind=kind, at_ms=at, for_ms=1_000) for kind in ("subscription_change", "network_cut", "slow_poll")]
    scenario = Scenario(
        duration_ms=30_000, groups=(replace(group, max_poll_ms=500),), faults=(*faults, InjectedFault(kind="close", at_ms=2_000))
    )
    for seed in range(4):
        truth_of(scenario, "4.1.1", seed, tmp_path / str(seed))
    early = Scenario(duration_ms=20_000, groups=(group,), faults=(InjectedFault(kind="close", at_ms=at), *faults))
    assert [truth_of(early, "4.1.1", seed, tmp_path / f"early-{seed}")["rebalances"] for seed in range(8)].count([]) > 0


def test_faults_of_members_that_others_befell_before(tmp_path: Path) -> None:
    crash = InjectedFault(kind="crash", member=1, at_ms=60_000, back_ms=5_000)
    again = InjectedFault(kind="close", member=1, at_ms=66_000, back_ms=1_000)
    twice = replace(crash, at_ms=66_500, back_ms=3_000)
    migrate = InjectedFault(kind="migrate", at_ms=50_000, for_ms=30_000)
    gone = InjectedFault(kind="crash", member=2, at_ms=70_000)
    scenario = Scenario(duration_ms=150_000, groups=(GroupPlan(members=3),), faults=(crash, again, twice, migrate, gone))
    truth = truth_of(scenario, "4.1.1", 2, tmp_path)
    assert {row["protocol_type"].split()[0] for row in truth["rebalances"]} == {"classic", "consumer"}


def logged(out: Path, client: str) -> list[str]:
    return (out / "clients" / f"{client}.log").read_text(encoding="utf-8").splitlines()


UNAVAILABLE, TIMED_OUT = "is unavailable or invalid", "Close timed out with 1 pending requests"


@pytest.mark.parametrize(
    ("cut_for_ms", "told"),
    [
        (0, [(0, "successfully: Client"), (0, "has been closed")]),
        (30_000, [(25, UNAVAILABLE), (25, "has been closed")]),
        (60_000, [(30, TIMED_OUT), (30, "has been closed")]),
    ],
    ids=["answered", "connection ends", "time is up"],
)
def test_a_consumer_that_closes_waits_for_the_answer_to_its_leave(cut_for_ms: int, told: list[tuple[int, str]], tmp_path: Path) -> None:
    faults = [InjectedFault(kind="network_cut", at_ms=40_000, for_ms=cut_for_ms, member=1)] if cut_for_ms else []
    faults.append(InjectedFault(kind="close", at_ms=45_000, member=1))
    simulate(Scenario(duration_ms=110_000, groups=(GroupPlan(name="g", members=2),), faults=tuple(faults)), "3.9.1", 1, tmp_path)

    lines = [(datetime.fromisoformat(line[1:24].replace(",", ".")), line) for line in logged(tmp_path, "g-1")]
    left_at = next(at for at, line in lines if "sending LeaveGroup" in line)
    after = [(round((at - left_at).total_seconds()), line) for at, line in lines if at >= left_at]
    marks = ("successfully: Client", "has been closed", UNAVAILABLE, TIMED_OUT)
    assert [(seconds, mark) for seconds, line in after for mark in marks if mark in line] == told


def test_a_member_that_expired_hears_that_its_leave_was_refused(tmp_path: Path) -> None:
    pause = InjectedFault(kind="gc_pause", at_ms=30_000, for_ms=25_000, member=1)
    scenario = Scenario(
        duration_ms=60_000, groups=(GroupPlan(name="g", members=2),), faults=(pause, InjectedFault(kind="close", at_ms=50_000, member=1))
    )
    simulate(scenario, "3.9.1", 1, tmp_path)

    assert [line for line in logged(tmp_path, "g-1") if "failed with error: UNKNOWN_MEMBER_ID" in line]


@pytest.mark.parametrize(
    ("version", "answered"), [("2.3.1", "response:{throttle_time_ms=0,error_code=25}"), ("2.8.2", '"errorCode":25')], ids=["one", "several"]
)
def test_a_request_log_has_the_error_of_a_leave_that_was_refused(version: str, answered: str, tmp_path: Path) -> None:
    """Requests of several members have one for each (KIP-345); before, it is the answer's."""
    pause = InjectedFault(kind="gc_pause", at_ms=30_000, for_ms=25_000, member=1)
    close = InjectedFault(kind="close", at_ms=50_000, member=1)
    scenario = Scenario(duration_ms=60_000, groups=(GroupPlan(name="g", members=2),), faults=(pause, close))
    simulate(scenario, version, 1, tmp_path, request_log=True)

    lines = [line for path in tmp_path.glob("broker-*/kafka-request.log") for line in path.read_text(encoding="utf-8").splitlines()]
    leaves = [line for line in lines if "LEAVE_GROUP" in line and "g-worker-1" in line]
    assert answered in leaves[0]


@pytest.mark.parametrize(("version", "revokes", "tells_id"), [("2.3.1", True, False), ("2.5.1", False, False), ("2.6.3", False, True)])
def test_clients_log_a_first_join_as_their_version_does(version: str, revokes: bool, tells_id: bool, tmp_path: Path) -> None:
    """In the order of AbstractCoordinator.poll: the coordinator is found before anything is revoked."""
    simulate(Scenario(duration_ms=20_000, groups=(GroupPlan(name="g", members=1),)), version, 1, tmp_path)

    texts = [line for line in logged(tmp_path, "g-1") if " INFO " in line]
    steps = ("Discovered group coordinator", "evok", "(Re-)joining group", "Successfully joined group")
    told = dict.fromkeys(step for text in texts for step in steps if step in text)  # a member id is asked for in between
    assert list(told) == [step for step in steps if revokes or step != "evok"]
    assert any("Successfully joined group with generation Generation{" in text for text in texts) is tells_id


@pytest.mark.parametrize(("version", "kept"), [("2.3.1", True), ("2.4.1", False)])
def test_members_before_2_4_revoke_with_their_next_join_what_they_had_when_they_expired(version: str, kept: bool, tmp_path: Path) -> None:
    pause = InjectedFault(kind="gc_pause", at_ms=30_000, for_ms=25_000, member=1)
    simulate(Scenario(duration_ms=80_000, groups=(GroupPlan(name="g", members=2),), faults=(pause,)), version, 1, tmp_path)

    texts = logged(tmp_path, "g-1")
    failed = next(number for number, text in enumerate(texts) if "heartbeat failed" in text.lower() or "encountered" in text)
    revoked = [text for text in texts[failed:] if "Revoking previously assigned partitions [orders-events-0" in text]
    assert bool(revoked) is kept
    assert any("Lost previously assigned" in text for text in texts[failed:]) is not kept


def test_who_joins_as_a_phase_ends_is_in_the_next_rebalance(tmp_path: Path) -> None:
    """By the order of the coordinator's lines, where both are in one millisecond."""
    truth = truth_of(random_scenario(1108000, True, "classic"), "3.9.1", 1108000, tmp_path)

    second, third = truth["rebalances"][1:3]
    assert second["join_complete_ms"] == third["start_ms"]
    assert [(row["cause"], row["joined_clients"]) for row in (second, third)] == [
        ("session_timeout", []), ("member_join", ["orders-worker-1"]),
    ]  # fmt: skip


def test_versions_whose_words_are_not_known() -> None:
    with pytest.raises(ScenarioError, match=r"1\.1"):
        Simulation(read_scenario("crash"), "1.0.2")


def test_what_comes_to_a_client_of_the_consumer_protocol_when_it_has_no_use_for_it() -> None:
    group = GroupPlan(protocol="consumer", members=2)
    simulation = Simulation(Scenario(duration_ms=20_000, closes=False, groups=(group,)), "4.1.1")
    for _ in simulation.run():
        pass
    first, late = simulation.members["orders"][0], simulation.add_member(group)
    before = first.owned
    first._polled()
    first._poll_timed_out()
    assert (first.phase, first.owned) == (ClientPhase.STABLE, before)
    assert isinstance(first, ModernConsumer)
    first._refused(Error.COORDINATOR_LOAD_IN_PROGRESS)
    first.owned = ()
    first._release()
    late.start()
    late._reconnect()
    late._poll_timed_out()
    assert late.phase is ClientPhase.UNJOINED
