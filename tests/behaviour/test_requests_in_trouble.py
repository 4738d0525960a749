"""What requests alone tell while their coordinator can't write, or is replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario
from models.rows import Rebalance
from pipelines.analysis.in_process import analyze
from pipelines.simulate.run import simulate
from tests.roundtrip import SCORE_NAMES


def told(out: Path) -> list[Rebalance]:
    return sorted(analyze([str(path) for path in out.glob("broker-*/kafka-request.log")]).rebalances, key=lambda row: row.began)


def truth(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((out / "truth.json").read_bytes())["rebalances"]
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_sessions_go_on_while_answers_time_out(seed: int, tmp_path: Path) -> None:
    """Heartbeats count although their answers wait for replicas, so that nobody expires; who joins then begins the rebalance."""
    group = GroupPlan(members=3, session_ms=6_000, max_poll_ms=12_000)
    faults = (InjectedFault(kind="store_failure", at_ms=60_000, for_ms=40_000), InjectedFault(kind="scale_out", at_ms=80_000))
    simulate(Scenario(duration_ms=240_000, groups=(group,), faults=faults), "4.1.1", seed, tmp_path, request_log=True)

    rows, expected = told(tmp_path), truth(tmp_path)

    assert [row.generation_before for row in rows] == [row["generation_before"] for row in expected]
    assert "session_timeout" not in {row.cause for row in rows}
    assert all(abs(row.began // 1000 - other["start_ms"]) <= 10 for row, other in zip(rows, expected, strict=True))


@pytest.mark.parametrize("version", ["2.2.2", "2.8.2"])
def test_a_new_coordinator_knows_nothing_of_the_rebalance_before(version: str, tmp_path: Path) -> None:
    """A member's leave counts at the coordinator that answered it; the next one has it among its members again."""
    group = GroupPlan(members=4, session_ms=10_000, heartbeat_ms=3_000, max_poll_ms=30_000)
    faults = (
        InjectedFault(kind="close", member=2, at_ms=60_000, back_ms=9_000),
        InjectedFault(kind="coordinator_failover", at_ms=61_500, for_ms=8_000),
    )
    scenario = Scenario(duration_ms=120_000, brokers=3, groups=(group,), faults=faults, closes=False)
    simulate(scenario, version, 1, tmp_path, request_log=True)

    expected = [(row["generation_before"], row["generation_after"], SCORE_NAMES.get(row["cause"], row["cause"])) for row in truth(tmp_path)]
    rows = told(tmp_path)

    assert [(row.generation_before, row.generation_after, row.cause) for row in rows] == expected
    assert [row.outcome for row in rows] == ["stable", "coordinator_lost", "stable"]
    assert [who.client_id for who in rows[1].offenders] == ["orders-worker-2"]
