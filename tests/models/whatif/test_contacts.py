"""Silences that begin between two contacts, be they heartbeats or commits, and what sessions last by them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario
from models.whatif.behaviour.contacts import COMMIT_MS, next_ms
from models.whatif.behaviour.members import Behaviour, Life, MemberBehaviour, ProcessStretch, StretchKind
from models.whatif.behaviour.plans import planned
from models.whatif.configuration import Configuration
from models.whatif.history import rerun
from models.whatif.runs.run import RunSettings
from models.whatif.runs.simulated_rebalances import SimulatedRebalance
from tests.models.whatif.twins import history_of


@pytest.mark.parametrize(
    ("after", "following"),
    [
        (39_005, 40_000),  # a heartbeat; a commit was due before the next one
        (42_000, 45_000),
        (35_007, 36_000),  # a commit
        (37_300, 40_300),  # neither
    ],
)
def test_the_contact_that_did_not_come_bounds_a_silence(after: int, following: int) -> None:
    assert next_ms(6_000, 6_000 + after, 3_000, COMMIT_MS) == 6_000 + following


def test_without_commits_only_heartbeats_are_due() -> None:
    assert next_ms(6_000, 45_005, 3_000, None) == 48_000


def killed(at_ms: int, *, session_ms: int = 10_000, commit_ms: int = COMMIT_MS) -> list[SimulatedRebalance]:
    """A run of three members without a delay, one of which is killed."""
    return run_with(MemberBehaviour("c", lives=[Life(0, at_ms, is_orderly=False)]), session_ms=session_ms, commit_ms=commit_ms)


def run_with(
    third: MemberBehaviour, *, session_ms: int = 10_000, commit_ms: int = COMMIT_MS, max_poll_ms: int = 300_000
) -> list[SimulatedRebalance]:
    """A run of three members without a delay."""
    members = {name: MemberBehaviour(name, lives=[Life(0)]) for name in ("a", "b")} | {third.name: third}
    settings = RunSettings(
        version="3.9.1",
        session_ms={"": session_ms},
        max_poll_ms={"": max_poll_ms},
        heartbeat_ms=3_000,
        initial_delay_ms=3_000,
        commit_ms=commit_ms,
    )
    return rerun(Behaviour("orders", 0, 120_000, members=members), settings)


@pytest.mark.parametrize(("commit_ms", "contact_ms"), [(5_000, 40_000), (0, 39_000)])
def test_a_session_lasts_from_the_last_heartbeat_or_commit(commit_ms: int, contact_ms: int) -> None:
    first, expiry = killed(47_000, commit_ms=commit_ms)
    assert expiry.start_ms - (first.ended_ms or 0) == pytest.approx(contact_ms + 10_000, abs=10)


def test_who_sends_a_heartbeat_as_a_session_ends_hears_of_it_an_interval_later() -> None:
    _, expiry = killed(44_500, session_ms=30_000, commit_ms=0)
    assert expiry.stopped_ms(120_000) == pytest.approx(3_000, abs=50)


def test_a_member_that_was_held_joins_when_it_did() -> None:
    _, expiry, back = run_with(MemberBehaviour("c", lives=[Life(0, stretches=[ProcessStretch(StretchKind.PAUSE, 40_500, 65_000)])]))
    assert expiry.start_ms < back.start_ms == pytest.approx(65_000, abs=5)


def test_a_static_member_that_does_not_poll_sends_no_heartbeat_after_that() -> None:
    busy = Life(0, stretches=[ProcessStretch(StretchKind.BUSY, 44_000, 110_000)])
    first, expiry, _ = run_with(MemberBehaviour("c", instance="c", lives=[busy]), commit_ms=0, max_poll_ms=45_000)
    last_ms = (first.ended_ms or 0) + (89_000 - (first.ended_ms or 0)) // 3_000 * 3_000
    assert expiry.start_ms == pytest.approx(last_ms + 10_000, abs=10)


CRASH = Scenario(
    duration_ms=120_000,
    closes=False,
    groups=(GroupPlan(members=3, start_ms=200, poll_ms=50),),
    faults=(InjectedFault(kind="crash", at_ms=43_038, member=1, back_ms=2_000),),
)


def test_a_process_that_is_back_was_killed_before() -> None:
    behaviour, *_ = history_of(CRASH, "4.1.1", 60).reading()
    old, new = behaviour.members["orders-worker-1"].lives
    assert old.heard_ms is not None
    assert old.end_ms is not None
    assert old.heard_ms < old.end_ms < new.start_ms
    assert "taken to commit every 5 s" in behaviour.assumed["commits"]


def test_last_contacts_are_those_of_the_run_if_that_tells_when_heartbeats_are_sent() -> None:
    behaviour, *_ = history_of(CRASH, "4.1.1", 60).reading()
    static = Configuration(static_membership=True)
    heard = [
        [life.heard_ms is not None for life in planned(behaviour, static, on_time=each).members["orders-worker-1"].lives]
        for each in (False, True)
    ]
    assert heard == [[True, False], [False, False]]


def test_the_only_one_that_was_there_is_not_taken_for_busy() -> None:
    scenario = replace(CRASH, groups=(replace(CRASH.groups[0], members=1),), faults=(InjectedFault(kind="scale_out", at_ms=40_000),))
    behaviour, *_ = history_of(scenario, "3.9.1", 3).reading()
    assert [life.stretches for life in behaviour.members["orders-worker-1"].lives] == [[]]
