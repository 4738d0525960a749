"""Contacts that only renew a session: not sending them as events of their own changes nothing that is seen."""

from __future__ import annotations

from typing import Any

import pytest

from models.kafka.coordinator.protocol.requests import Heartbeat
from models.kafka.coordinator.runtime.version_policy import policy_for
from models.kafka.simulation import contacts
from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario, ScenarioError
from models.kafka.simulation.simulation import Simulation
from models.kafka.simulation.world import WrittenLine
from pipelines.simulate.run import bundled_scenarios, read_scenario
from tests.conftest import examples, spread
from tests.roundtrip import VERSIONS, random_scenario


def can_run(name: str, version: str) -> bool:
    """Whether a version has all that a bundled scenario needs."""
    try:
        Simulation(read_scenario(name), version)
    except ScenarioError:
        return False
    return True


BUNDLED = spread(
    [(name, version) for name in bundled_scenarios() for version in ("1.1.1", "2.8.2", "3.9.1", "4.1.1") if can_run(name, version)], 4
)


def outcome(scenario: Scenario, version: str, seed: int, *, tells_requests: bool) -> tuple[Any, ...]:
    """Lines, rebalances, states, and the last offsets."""
    simulation = Simulation(scenario, version, seed, tells_requests=tells_requests)
    lines = [happening for happening in simulation.run() if isinstance(happening, WrittenLine)]
    for seat in simulation.cluster.seats.values():
        seat.take_in()
    offsets = {
        name: {place: (committed.offset, committed.at_ms, committed.expires_ms) for place, committed in group.offsets.committed.items()}
        for seat in simulation.cluster.seats.values()
        for name, group in seat.coordinator.groups.items()
    }
    return lines, simulation.truth.rows, simulation.truth.steps, offsets


def assert_same(scenario: Scenario, version: str, seed: int) -> None:
    one_by_one = outcome(scenario, version, seed, tells_requests=True)
    assert outcome(scenario, version, seed, tells_requests=False) == one_by_one


@pytest.mark.parametrize(("name", "version"), BUNDLED)
def test_bundled_scenarios_come_to_the_same_without_their_requests(name: str, version: str) -> None:
    assert_same(read_scenario(name), version, 7)


@pytest.mark.parametrize("seed", range(examples(60, 2_000)))
@pytest.mark.parametrize("protocol", ["classic", "both"])
def test_random_scenarios_come_to_the_same_without_their_requests(protocol: str, seed: int) -> None:
    version = VERSIONS[seed % len(VERSIONS)] if protocol == "classic" else "4.1.1"
    assert_same(random_scenario(seed, policy_for(version).knows_static_members, protocol), version, seed)


def quiet_minutes(**fault: Any) -> Scenario:
    """A group of three with a fault after a minute."""
    faults = (InjectedFault(at_ms=60_000, **fault),) if fault else ()
    return Scenario(duration_ms=240_000, groups=(GroupPlan(members=3, topics={"orders": 6}),), faults=faults)


@pytest.mark.parametrize(
    "fault", [{}, {"kind": "crash"}, {"kind": "store_failure", "for_ms": 20_000}, {"kind": "slow_poll", "for_ms": 9_000}]
)
def test_most_contacts_of_a_stable_group_are_no_requests(fault: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {}
    for tells_requests in (True, False):
        simulation = Simulation(quiet_minutes(**fault), "3.9.1", 1, tells_requests=tells_requests)
        arrived: list[Any] = []
        arrive = simulation.cluster.arrive
        monkeypatch.setattr(
            type(simulation.cluster), "arrive", lambda _, node, flight, to=arrive, seen=arrived: (seen.append(flight), to(node, flight))
        )
        list(simulation.run())
        monkeypatch.undo()
        counts[tells_requests] = sum(isinstance(flight.request, Heartbeat) for flight in arrived)
    assert counts[False] < counts[True] / 4


def test_a_session_ends_after_the_last_contact_that_arrived() -> None:
    simulation = Simulation(quiet_minutes(kind="crash"), "3.9.1", 1, tells_requests=False)
    [row] = [row for row in (list(simulation.run()), simulation.truth.rows)[1] if row["cause"] == "session_timeout"]
    session_ms = simulation.scenario.groups[0].session_ms
    assert (
        60_000 + session_ms - simulation.scenario.groups[0].heartbeat_ms < row["start_ms"] <= 60_000 + session_ms + contacts.LATENCY_MS[1]
    )
