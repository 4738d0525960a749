"""A group that migrates to the consumer protocol and back, without its coordinator's lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.rows import Rebalance
from pipelines.analysis.in_process import analyze
from pipelines.simulate.run import read_scenario, simulate

FIRST_CONSUMER = 3
"""Epoch to which the first consumer's join leads: only the coordinator says that it converted the group."""


@pytest.fixture(scope="module")
def migration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("migration")
    simulate(read_scenario("migration"), "4.1.1", 0, folder, request_log=True)
    return folder


@pytest.mark.parametrize("witness", ["broker-1/kafka-request.log", "clients"])
def test_members_alone_tell_what_the_coordinator_tells(migration: Path, witness: str) -> None:
    alone, whole = rows_of(migration / witness), rows_of(migration)

    assert [row.cause for row in alone] == ["member_join" if row.generation_after == FIRST_CONSUMER else row.cause for row in whole]
    assert [row.generation_after for row in alone[:-1]] == [row.generation_after for row in whole[:-1]]
    for row, other in zip(alone, whole, strict=True):
        assert clients(row) <= clients(other)
        assert bool(clients(row)) == bool(clients(other))


def test_a_migration_is_told_as_such_and_not_as_the_restarts_that_it_takes(migration: Path) -> None:
    found = sorted(analyze([str(migration)]).incidents, key=lambda incident: incident.started_at)
    there, back = (incident for incident in found if incident.kind == "protocol_migration")
    assert {there.root_cause, back.root_cause} == {"protocol_migration"}
    assert "it changed to the consumer protocol" in there.headline
    assert "it changed to the classic protocol" in back.headline


def rows_of(logs: Path) -> list[Rebalance]:
    return sorted(analyze([str(logs)]).rebalances, key=lambda row: row.began)


def clients(row: Rebalance) -> set[str | None]:
    return {who.client_id for who in row.offenders}
