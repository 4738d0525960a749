"""Long runs in parts: what their rebalances are does not depend on where they are cut, nor on who runs them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.whatif.behaviour.members import Behaviour, Life, MemberBehaviour, ProcessStretch, StretchKind
from models.whatif.history import rerun, reruns
from models.whatif.runs.clients import Arrival, do_nothing
from models.whatif.runs.parts import RunPart, joined, parts_of
from models.whatif.runs.run import Run, RunSettings, acts_of
from models.whatif.runs.simulated_rebalances import SimulatedRebalance

EVERY_MS = 100_000
RESTARTS = 60
ENDS_MS = EVERY_MS * RESTARTS
CUTS_MS = (EVERY_MS * 20 + 1_000, EVERY_MS * 40 + 1_000)
SETTINGS = RunSettings(version="3.9.1", session_ms={"": 10_000}, max_poll_ms={"": 300_000}, heartbeat_ms=3_000, initial_delay_ms=3_000)
SEVERAL = {
    "classic": SETTINGS,
    "static": replace(SETTINGS, is_static=True),
    "cooperative": replace(SETTINGS, assignor="cooperative-sticky"),
    "consumer protocol": replace(SETTINGS, version="4.1.1", protocol="consumer", session_ms={"": 45_000}, heartbeat_ms=5_000),
}


def held(from_ms: int, until_ms: int | None) -> ProcessStretch:
    """A stretch in which a process stands still."""
    return ProcessStretch(StretchKind.PAUSE, from_ms, until_ms)


def behaviour(stays: list[ProcessStretch]) -> Behaviour:
    """One member that stays but for some stretches, one that is restarted again and again, and a third."""
    restarted = [Life(at_ms + 30_000, at_ms + EVERY_MS) for at_ms in range(0, ENDS_MS, EVERY_MS)]
    members = {
        "a": MemberBehaviour("a", lives=[Life(0, stretches=stays)]),
        "b": MemberBehaviour("b", lives=restarted),
        "c": MemberBehaviour("c", lives=[Life(0)]),
    }
    return Behaviour("orders", 0, ENDS_MS, members=members)


STRETCHES = {
    "undisturbed": [],
    "held before the first cut": [held(EVERY_MS * 18 + 50_000, EVERY_MS * 18 + 75_000)],
    "held over the first cut": [held(CUTS_MS[0] - 15_000, CUTS_MS[0] + 15_000)],
    "held for good": [held(EVERY_MS * 10 + 50_000, None)],
}


def in_short(rows: list[SimulatedRebalance]) -> list[tuple[str, str, str]]:
    """What depends neither on when in their interval members send heartbeats nor on who leads."""
    return [(row.trigger if row.kind != "leader_rejoin" else "", row.kind, row.outcome) for row in rows]


@pytest.mark.parametrize("settings", SEVERAL.values(), ids=SEVERAL)
@pytest.mark.parametrize("stays", STRETCHES.values(), ids=STRETCHES)
def test_a_run_in_parts_gives_the_same_rebalances(settings: RunSettings, stays: list[ProcessStretch]) -> None:
    whole = rerun(behaviour(stays), settings)
    (parts,) = reruns([(behaviour(stays), settings)], CUTS_MS)

    assert len(whole) >= RESTARTS
    assert in_short(parts) == in_short(whole)
    assert all(abs(one.start_ms - other.start_ms) <= settings.heartbeat_ms for one, other in zip(parts, whole, strict=True))


def test_parts_are_joined_where_both_are_at_rest() -> None:
    parts = [part.finished() for part in parts_of(behaviour([]), SETTINGS, CUTS_MS)]

    assert all(part.rests for part in parts)
    assert joined(parts, CUTS_MS) is not None


def test_of_a_part_come_back_only_the_rests_near_other_parts() -> None:
    cuts_ms = [EVERY_MS * 20]
    first, second = parts_of(behaviour([]), SETTINGS, cuts_ms)
    both = [RunPart([part]).finished()[0] for part in (first, second)]

    assert all(len(run.rests) < len(part.finished().rests) for run, part in zip(both, (first, second), strict=True))
    assert min(rest.act.at_ms for rest in both[0].rests) >= cuts_ms[0] - SETTINGS.heartbeat_ms
    assert joined(both, cuts_ms) is not None
    (alone,) = parts_of(behaviour([]), SETTINGS, ())
    assert not RunPart([alone]).finished()[0].rests


def test_a_run_whose_parts_do_not_meet_is_run_as_a_whole() -> None:
    """Where no moment of rest is common to two parts, each of them was run for nothing."""
    calls: list[int] = []

    def restless(parts):  # type: ignore[no-untyped-def]
        calls.append(len(parts))
        return [[replace(run, rests=[]) for run in part.finished()] for part in parts]

    (found,) = reruns([(behaviour([]), SETTINGS)], CUTS_MS, restless)

    assert calls == [len(CUTS_MS) + 1]
    assert found == rerun(behaviour([]), SETTINGS)


def test_a_response_that_its_member_gave_up_is_waited_for_no_longer() -> None:
    """A member that expires while its SyncGroup waits is never answered, and joins again; its group comes to rest all the same."""
    run = Run(behaviour([]), SETTINGS)
    run.run(acts_of(behaviour([]), SETTINGS)[:-1], None)
    client = run.clients["a"]
    run.cluster.awaited = {7: Arrival(client, client.attempt - 1, do_nothing, only_refusals=False)}

    assert not run.cluster.is_awaited()
    run.cluster.awaited = {7: Arrival(client, client.attempt, do_nothing, only_refusals=False)}
    assert run.cluster.is_awaited()
