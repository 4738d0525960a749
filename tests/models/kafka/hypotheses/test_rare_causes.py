"""Causes that labelled logs hold seldom or never, each brought about at a coordinator of several versions.

Every scenario is told with the request log and from server.log alone.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from models.kafka.coordinator.protocol.errors import Error
from models.kafka.simulation.scenario import CLASSIC, MODERN, GroupPlan, InjectedFault, Scenario
from models.rows import Rebalance
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze
from pipelines.simulate.run import simulate
from tests.models.kafka.coordinator.driven import Broker

WITNESSES = pytest.mark.parametrize("requests", [True, False], ids=["all", "server"])


def rows_of(broker: Broker, requests: bool) -> list[Rebalance]:
    analysis = broker.told(requests=requests)
    assert [row["template"] for row in analysis.unknown] == []
    return list(analysis.rebalances)


def names(row: Rebalance) -> list[str | None]:
    return [person.client_id or person.instance_id for person in row.offenders]


@WITNESSES
@pytest.mark.parametrize("version", ["2.8.2", "3.9.1", "4.1.1"])
def test_rebalance_timeout(version: str, requests: bool, tmp_path: Path) -> None:
    """An eviction at the end of the join phase: the evicted member is the blocker, the newcomer the cause."""
    broker = Broker(version, tmp_path)
    broker.settle("a")
    broker.keep_alive(9, "a")
    broker.join("b")
    broker.wait(500)
    broker.join("a")
    broker.sync("a", "b")
    broker.keep_alive(9, "a", "b")
    broker.join("c")
    broker.wait(300)
    broker.join("a")
    broker.keep_alive(60, "b")  # alive, and too busy to join again
    broker.wait(1_000)
    broker.sync("a", "c")
    row = rows_of(broker, requests)[-1]
    assert (row.cause, names(row), row.outcome) == ("member_join", ["c"], "stable")
    assert [(person.client_id, person.reason) for person in row.blockers] == [("b", "evicted")]
    assert row.join_seconds == pytest.approx(60, abs=0.1)


def simulated(scenario: Scenario, requests: bool, out: Path, seed: int = 1) -> AnalysisResult:
    """What a whole made-up cluster of 4.1 writes; without requests, from its brokers' files alone."""
    simulate(replace(scenario, closes=False), "4.1.1", seed, out, request_log=requests)
    paths = [str(out)] if requests else [str(path) for path in out.glob("broker-*/server.log")]
    return analyze(paths, AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")], kafka_versions=[("*", "4.1.1")])))


@WITNESSES
def test_rebalance_timeout_of_the_consumer_protocol(requests: bool, tmp_path: Path) -> None:
    """A member that stands still can't give up what others are to have, and is fenced at its rebalance timeout."""
    group = GroupPlan(members=2, protocol=MODERN, max_poll_ms=20_000, poll_ms=8_000)
    faults = (InjectedFault(kind="gc_pause", member=1, at_ms=63_800, for_ms=40_000), InjectedFault(kind="scale_out", at_ms=60_000))
    scenario = Scenario(name="held", duration_ms=100_000, groups=(group,), faults=faults)
    # The dice say whether it was told to give partitions up before it stood still.
    found = (simulated(scenario, requests, tmp_path / str(seed), seed).rebalances for seed in range(8))
    row = next(row for rows in found for row in rows if row.cause == "rebalance_timeout")
    assert row.confidence > 0.9
    assert len(row.offenders) == 1


@WITNESSES
@pytest.mark.parametrize("first", [CLASSIC, MODERN])
def test_protocol_migration(first: str, requests: bool, tmp_path: Path) -> None:
    """One member after the other comes back speaking the other protocol, and the group is converted once."""
    faults = (InjectedFault(kind="migrate", at_ms=60_000, for_ms=15_000),)
    scenario = Scenario(name="migrated", duration_ms=180_000, groups=(GroupPlan(members=3, protocol=first),), faults=faults)
    analysis = simulated(scenario, requests, tmp_path)
    rows = [row for row in analysis.rebalances if row.cause == "protocol_migration"]
    assert [(row.protocol, row.confidence > 0.85) for row in rows] == [(CLASSIC if first == MODERN else MODERN, True)]
    assert [incident.kind for incident in analysis.incidents if incident.rebalance_count > 1] == ["protocol_migration"]
    assert not any(row.outcome == "open" for row in analysis.rebalances if row.protocol == CLASSIC)


@WITNESSES
@pytest.mark.parametrize("version", ["2.8.2", "3.9.1", "4.1.1"])
def test_sync_timeout(version: str, requests: bool, tmp_path: Path) -> None:
    """A member that got the generation sends heartbeats and never asks for its assignment."""
    broker = Broker(version, tmp_path)
    broker.settle("a")
    broker.keep_alive(9, "a")
    broker.join("b")
    broker.wait(500)
    broker.join("a")
    broker.sync("a")
    broker.keep_alive(60, "a", "b")
    broker.wait(1_000)
    broker.join("a")
    broker.sync("a")
    row = rows_of(broker, requests)[-1]
    assert (row.cause, names(row), row.outcome) == ("sync_timeout", ["b"], "stable")
    assert row.confidence > 0.9


@WITNESSES
@pytest.mark.parametrize("version", ["2.8.2", "3.9.1", "4.1.1"])
def test_static_member_replaced(version: str, requests: bool, tmp_path: Path) -> None:
    """A static member comes back while the group waits for its assignment, which so has to be made anew."""
    broker = Broker(version, tmp_path)
    broker.join("a", instance="i1")
    broker.sync("a")
    broker.keep_alive(6, "a")
    broker.join("b", instance="i2")
    broker.wait(300)
    broker.join("a", instance="i1")
    broker.join("b", instance="i2", anew=True)
    broker.wait(300)
    broker.join("a", instance="i1")
    broker.sync("a", "b")
    broker.keep_alive(6, "a", "b")
    row = rows_of(broker, requests)[-1]
    assert (row.cause, row.outcome) == ("static_member_replaced", "stable")
    assert row.offenders[0].instance_id == "i2"
    assert row.confidence > 0.9


@WITNESSES
def test_a_static_return_in_time_rebalances_nobody(requests: bool, tmp_path: Path) -> None:
    broker = Broker("3.9.1", tmp_path)
    broker.join("a", instance="i1")
    broker.sync("a")
    broker.keep_alive(6, "a")
    broker.join("a", instance="i1", anew=True)
    broker.keep_alive(6, "a")
    assert [row.cause for row in rows_of(broker, requests)] == ["new_group"]


@WITNESSES
@pytest.mark.parametrize("version", ["1.1.1", "2.8.2", "3.9.1", "4.1.1"])
def test_assignment_store_failed(version: str, requests: bool, tmp_path: Path) -> None:
    """The assignment can't be written to __consumer_offsets: the group has never been stable, and begins again."""
    broker = Broker(version, tmp_path)
    broker.settle("a")
    broker.keep_alive(9, "a")
    broker.join("b")
    broker.wait(500)
    broker.join("a")
    broker.coordinator.fail_writes(Error.NOT_ENOUGH_REPLICAS)
    broker.sync("a", "b")
    broker.coordinator.fail_writes(Error.NONE)
    broker.wait(100)
    broker.join("a")
    broker.join("b")
    broker.sync("a", "b")
    broker.keep_alive(9, "a", "b")
    row = rows_of(broker, requests)[-1]
    assert (row.cause, row.root_cause, row.offenders) == ("assignment_store_failed", "assignment_store_failed", [])
    assert row.confidence > (0.5 if version == "1.1.1" else 0.9)  # 1.1 logs no failure


@WITNESSES
@pytest.mark.parametrize("version", ["1.1.1", "2.8.2", "3.9.1", "4.1.1"])
def test_assignment_that_is_not_confirmed(version: str, requests: bool, tmp_path: Path) -> None:
    """Replicas are too slow: the write is given up after offsets.commit.timeout.ms, which is when the group begins again."""
    broker = Broker(version, tmp_path)
    broker.settle("a")
    broker.keep_alive(9, "a")
    broker.join("b")
    broker.wait(500)
    broker.join("a")
    broker.coordinator.hold_writes()
    broker.sync("a", "b")
    broker.wait(5_000)
    broker.join("a")
    broker.coordinator.settle_writes()
    broker.join("b")
    broker.sync("a", "b")
    broker.keep_alive(9, "a", "b")
    row = rows_of(broker, requests)[-1]
    if version != "1.1.1" or requests:
        assert (row.cause, row.offenders) == ("assignment_store_failed", [])
        assert row.confidence >= 0.9
    else:  # nothing but the time of it tells
        assert row.alternatives.get("assignment_store_failed", row.confidence) > 0.2


@WITNESSES
@pytest.mark.parametrize("version", ["2.2.2", "2.8.2", "3.9.1"])
def test_ghost_of_a_pending_join(version: str, requests: bool, tmp_path: Path) -> None:
    """A member id that was handed out and is never used holds the group up until its session would have ended (KIP-394)."""
    broker = Broker(version, tmp_path)
    broker.settle("a")
    broker.keep_alive(9, "a")
    broker.ask_for_id("x")
    broker.wait(1_000)
    broker.join("b")
    broker.wait(500)
    broker.join("a")
    broker.wait(8_600)
    broker.sync("a", "b")
    row = rows_of(broker, requests)[-1]
    assert (row.cause, names(row)) == ("member_join", ["b"])
    assert row.join_seconds == pytest.approx(9, abs=0.1)
    assert [(person.client_id, person.reason) for person in row.blockers] == [("x", "was given a member id and never used it")]


@WITNESSES
@pytest.mark.parametrize(
    ("version", "reason"),
    [("2.8.2", None), ("3.9.1", "member was removed by an admin: scaling in"), ("4.1.1", "member was removed by an admin")],
)
def test_admin_removal(version: str, reason: str | None, requests: bool, tmp_path: Path) -> None:
    """An administrator takes a static member out, which never leaves by itself."""
    broker = Broker(version, tmp_path)
    broker.join("a", instance="i1")
    broker.sync("a")
    broker.keep_alive(6, "a")
    broker.join("b", instance="i2")
    broker.wait(300)
    broker.join("a", instance="i1")
    broker.sync("a", "b")
    broker.keep_alive(9, "a", "b")
    broker.remove("i2", reason)
    broker.wait(300)
    broker.join("a", instance="i1")
    broker.sync("a")
    row = rows_of(broker, requests)[-1]
    assert (row.cause, row.outcome) == ("admin_removal", "stable")
    assert row.offenders[0].instance_id == "i2"
    assert row.confidence > 0.9


@pytest.mark.parametrize("version", ["1.1.1", "2.3.1", "2.8.2", "3.9.1", "4.1.1"])
def test_who_comes_back_too_late_was_not_restarted(version: str, tmp_path: Path) -> None:
    """A member whose session ended asks to join as the others end the join phase: it is a member of the generation after."""
    broker = Broker(version, tmp_path)
    broker.settle("a")
    broker.join("b")
    broker.wait(500)
    broker.join("a")
    broker.sync("a", "b")
    broker.keep_alive(12, "a")  # b stands still
    broker.join("a")
    broker.join("b", anew=True)
    broker.wait(3)
    broker.sync("a")
    broker.join("a")
    broker.sync("a", "b")
    broker.keep_alive(9, "a", "b")
    late, back = rows_of(broker, requests=True)[-2:]
    assert (late.cause, names(late), late.outcome) == ("session_timeout", ["b"], "superseded")
    assert late.confidence > 0.9
    assert (back.cause, names(back), back.outcome) == ("member_join", ["b"], "stable")


@pytest.mark.parametrize("stays", [True, False], ids=["one stays", "all go"])
@WITNESSES
@pytest.mark.parametrize("version", ["2.2.2", "2.8.2", "3.9.1", "4.1.1"])
def test_who_comes_and_goes_at_once_was_not_restarted(version: str, requests: bool, stays: bool, tmp_path: Path) -> None:
    """A member that is stopped while it waits for its first generation: none of its own was there before."""
    broker = Broker(version, tmp_path)
    broker.settle("a")
    broker.keep_alive(9, "a")
    broker.join("b")
    broker.wait(500)
    broker.leave("b")
    broker.wait(100)
    if stays:
        broker.join("a")
        broker.sync("a")
    else:
        broker.leave("a")
    row = rows_of(broker, requests)[-1]
    assert (row.cause, row.outcome) == ("member_join", "stable" if stays else "empty")
    assert row.confidence > 0.9


@WITNESSES
def test_who_comes_while_its_former_self_expires_was_restarted(requests: bool, tmp_path: Path) -> None:
    """A crashed process is back before its session ends: the new member starts the rebalance, the old one runs out in it."""
    broker = Broker("2.8.2", tmp_path)
    broker.settle("a", "b")
    broker.join("a")
    broker.sync("a", "b")
    broker.keep_alive(9, "a", "b")
    broker.join("b", anew=True)
    broker.keep_alive(9, "a")
    broker.wait(1_000)
    broker.join("a")
    broker.sync("a", "b")
    row = rows_of(broker, requests)[-1]
    assert (row.cause, names(row)[:1]) == ("member_restart", ["b"])
    assert row.confidence > 0.9
