"""Static members that poll too late, which send no LeaveGroup: their sessions end."""

from __future__ import annotations

from pathlib import Path

from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario
from pipelines.analysis.in_process import analyze
from pipelines.simulate.run import simulate

SLOW = 2
"""Number of the member that works longer than max.poll.interval.ms."""


def test_a_static_member_that_polls_late_stays_until_its_session_ends(tmp_path: Path) -> None:
    plan = GroupPlan(members=3, static=True, session_ms=10_000, max_poll_ms=60_000)
    faults = (InjectedFault(kind="slow_poll", member=SLOW, at_ms=60_000, for_ms=90_000),)
    simulate(Scenario(duration_ms=300_000, groups=(plan,), faults=faults, closes=False), "3.9.1", 1, tmp_path)

    last, row = sorted(analyze([str(tmp_path / "clients")]).rebalances, key=lambda each: each.began)[-1:-3:-1]

    assert last.cause == "member_join"
    assert row.cause == "session_timeout"
    assert {who.client_id for who in row.offenders} == {f"orders-worker-{SLOW}"}
    assert row.members_before == plan.members
