"""Waits in a run beside those of the logs tell whether heartbeats are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario
from models.rows import Rebalance
from models.whatif.behaviour.members import Behaviour, Life, MemberBehaviour
from models.whatif.behaviour.plans import planned
from models.whatif.comparison import Comparison
from models.whatif.configuration import Configuration
from models.whatif.heartbeat_phases import error_ms, late_ms
from models.whatif.runs.simulated_rebalances import SimulatedRebalance
from tests.models.kafka.groups.script import events_of, replay
from tests.models.whatif.test_short_histories import BEGUN
from tests.models.whatif.twins import history_of

HEARTBEAT_MS = 3_000


def logged(*waits_ms: int) -> list[Rebalance]:
    (row, *_) = replay(events_of(BEGUN.splitlines())).rebalances
    return [
        replace(row, started_at=60_000_000 * number, outcome="stable", duration_seconds=wait / 1000, initial_delay_seconds=0.0)
        for number, wait in enumerate(waits_ms, 1)
    ]


def run(*waits_ms: int) -> list[SimulatedRebalance]:
    return [
        SimulatedRebalance(60_000 * number, "a", "leave", was_empty=False, ended_ms=60_000 * number + wait, outcome="stable")
        for number, wait in enumerate(waits_ms, 1)
    ]


@pytest.mark.parametrize(
    ("waits", "simulated", "error"),
    [
        ((1_000, 2_010, 500), (1_000, 2_000, 510), 10),
        ((1_000,), (1_010,), 10),
        ((1_000,), (1_400,), HEARTBEAT_MS),  # one in four by chance
        ((1_000, 200, 2_500), (2_400, 1_700, 300), HEARTBEAT_MS),
        ((1_000, 2_995), (1_005, 10), 15),  # it just missed one heartbeat
        ((), (), HEARTBEAT_MS),
    ],
)
def test_phases_are_known_if_waits_agree_better_than_by_chance(waits: tuple[int, ...], simulated: tuple[int, ...], error: int) -> None:
    assert error_ms(logged(*waits), run(*simulated), Behaviour("g", 0, 0, heartbeat_ms=HEARTBEAT_MS), 10**9) == error


def test_the_rarer_an_interval_the_better_must_waits_agree() -> None:
    rows, recurrences = logged(1_000), run(1_060)
    assert error_ms(rows, recurrences, Behaviour("g", 0, 0, heartbeat_ms=HEARTBEAT_MS), 10**9) == 60
    assert error_ms(rows, recurrences, Behaviour("g", 0, 0, heartbeat_ms=HEARTBEAT_MS), 10**9, tried=20) == HEARTBEAT_MS


@pytest.mark.parametrize(("heard_ms", "error"), [(45_008, 8), (46_400, HEARTBEAT_MS), (55_002, HEARTBEAT_MS)])
def test_the_last_heartbeat_of_a_silent_member_tells_that_the_others_are_on_time(heard_ms: int, error: int) -> None:
    members = {"m": MemberBehaviour("m", lives=[Life(0, heard_ms + 500, is_orderly=False, heard_ms=heard_ms)])}
    behaviour = Behaviour("g", 0, 100_000, heartbeat_ms=HEARTBEAT_MS, commit_ms=5_000, members=members)
    assigned = [SimulatedRebalance(-6_000, "m", "new_member", True, joined_ms=-4, ended_ms=0, outcome="stable")]

    assert error_ms([], assigned, behaviour, 10**9) == error


@pytest.mark.parametrize(
    ("waited", "before", "after", "stopped"),
    [
        (3_040, 50, 2_040, 2.04),  # somebody just missed a heartbeat, which says nothing of heartbeats at other times
        (3_040, 50, 50, 3.04),
        (9_000, 50, 2_050, 2.05),  # as did one three intervals long
        (1_500, 50, 2_050, 3.5),  # half an interval is no missed heartbeat, but something that the run does not know
    ],
)
def test_a_heartbeat_that_was_just_missed_is_chance(waited: int, before: int, after: int, stopped: float) -> None:
    delay = Configuration(initial_delay_ms=10_000)
    told = Comparison(logged(waited), run(before), run(after), 10**9, delay, by_chance_ms=0, heartbeat_ms=HEARTBEAT_MS)
    (change,) = told.changes
    assert change.stopped_seconds - change.saved_seconds == pytest.approx(stopped)


@pytest.mark.parametrize(("before", "after", "stopped"), [(7_788, 6_786, 6.786), (2_900, 1_900, 2.9), (7_788, 1_900, 7.788)])
def test_unknown_heartbeats_put_only_those_waits_in_doubt_that_end_with_one(before: int, after: int, stopped: float) -> None:
    """A longer wait ends with a session, which the last contact before a silence tells."""
    delay = Configuration(initial_delay_ms=10_000)
    told = Comparison(logged(before), run(before), run(after), 10**9, delay, by_chance_ms=6_000, heartbeat_ms=HEARTBEAT_MS)
    (change,) = told.changes
    assert change.stopped_seconds - change.saved_seconds == pytest.approx(stopped)


@pytest.mark.parametrize(("works_on", "effects"), [(True, ["shorter", "shorter"]), (False, ["same", "same"])])
def test_members_that_work_on_do_so_in_a_rebalance_that_the_first_run_lacks(works_on: bool, effects: list[str]) -> None:
    rows, before = logged(1_000, 2_000), run(1_000)
    after = [replace(row, goes_on=works_on) for row in before]
    told = Comparison(rows, before, after, 10**9, Configuration(cooperative=True), by_chance_ms=0, heartbeat_ms=HEARTBEAT_MS)
    assert [change.effect for change in told.changes] == effects
    assert told.saved == (3.0 if works_on else 0.0)
    assert told.left == len(rows)


def test_delays_of_polls_add_up() -> None:
    assert late_ms(logged(1_020, 1_040, 1_060), run(1_000, 1_000, 1_000), HEARTBEAT_MS, 10**9) == 20


def test_a_last_contact_that_was_no_heartbeat_is_kept() -> None:
    """A commit prolongs a session, too; it is the coordinator's timer that tells it."""
    plan = GroupPlan(members=3, max_poll_ms=45_000, poll_ms=50, start_ms=200)
    fault = InjectedFault(kind="crash", at_ms=47_316, member=1)
    found = history_of(Scenario(duration_ms=120_000, closes=False, groups=(plan,), faults=(fault,)), "4.1.1", 11)
    expired = found.rows[-1]
    _, _, before = found.reading()
    assert expired.cause == "session_timeout"
    assert abs(before[-1].start_ms - expired.began // 1000) <= 5


def test_contacts_are_dropped_where_heartbeats_shift() -> None:
    plan = GroupPlan(members=3, max_poll_ms=45_000, poll_ms=50, start_ms=200)
    fault = InjectedFault(kind="crash", at_ms=47_316, member=1)
    behaviour, _, _ = history_of(Scenario(duration_ms=120_000, closes=False, groups=(plan,), faults=(fault,)), "4.1.1", 11).reading()
    heard = {name: [life.heard_ms for life in member.lives] for name, member in behaviour.members.items()}
    assert any(each is not None for own in heard.values() for each in own)
    shifting = Configuration(heartbeat_interval_ms=1_000), Configuration(initial_delay_ms=0), Configuration(consumer_protocol=True)
    for configuration in shifting:
        changed = planned(behaviour, configuration)
        assert all(life.heard_ms is None for member in changed.members.values() for life in member.lives)
    assert planned(behaviour, Configuration(session_timeout_ms=60_000)) is behaviour
