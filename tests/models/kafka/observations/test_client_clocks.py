"""Clocks that differ are told from threads that write a little later than each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.events import Event, LogPosition, Witness
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.groups.group_memory import GroupMemory
from models.kafka.groups.group_stage import GroupStage
from models.kafka.observations.client_clocks import ClientClockBounds, Skews

SECOND = 1_000_000
KINDS = {
    "RebalanceStarted": Witness.COORDINATOR,
    "GenerationStarted": Witness.COORDINATOR,
    "AssignmentReceived": Witness.COORDINATOR,
    "ClientJoining": Witness.CLIENT,
    "ClientJoined": Witness.CLIENT,
    "ClientAssignmentMade": Witness.CLIENT,
    "ClientSynced": Witness.CLIENT,
}


def line(name: str, at: float, generation: int) -> Event:
    witness = KINDS[name]
    at_us = int(at * SECOND)
    file = "server.log" if witness is Witness.COORDINATOR else "app.log"
    return Event(
        name, at_us, at_us, LogPosition(file, 1, at_us), witness, "", "", node="1" if file == "server.log" else None, group="g",
        generation=generation,
    )  # fmt: skip


def generation(number: int, at: float, ahead: float, *, leader: bool = True) -> list[Event]:
    """The lines of one generation; the client's clock is `ahead` seconds."""
    lines = [
        line("GenerationStarted", at, number),
        line("ClientJoined", at + 0.01 + ahead, number),
        line("AssignmentReceived", at + 0.05, number),
        line("ClientSynced", at + 0.06 + ahead, number),
    ]
    return [*lines, line("ClientAssignmentMade", at + 0.03 + ahead, number)] if leader else lines


@pytest.mark.parametrize("leader", [True, False], ids=["leader", "follower"])
@pytest.mark.parametrize("ahead", [-30.0, -2.0, -0.2, 0.0, 0.02, 2.0, 30.0])
def test_the_difference_is_found_within_a_few_milliseconds(ahead: float, leader: bool) -> None:
    skews = Skews()
    lines = [each for number in (1, 2, 3) for each in generation(number, 100.0 * number, ahead, leader=leader)]
    for each in sorted(lines, key=lambda event: event.order_us):
        skews.feed(each)
    found = skews.bounds["app.log", "1"].skew / SECOND
    assert found == pytest.approx(ahead if abs(ahead) > 0.06 else 0, abs=0.025)
    assert bool(list(skews.proven())) == (abs(ahead) > 0.06)


@pytest.mark.parametrize(("ahead", "proven"), [(0.0, False), (-30.0, True)])
def test_stamps_of_whole_seconds_are_no_clock_that_is_behind(ahead: float, proven: bool) -> None:
    skews = Skews()
    for number in (1, 2, 3):
        for each in generation(number, 100.0 * number + 0.95, ahead, leader=False):
            whole = each.time_us // SECOND * SECOND if each.witness is Witness.CLIENT else each.time_us
            skews.feed(replace(each, at_us=whole))
    assert bool(list(skews.proven())) == proven


def test_a_small_difference_is_not_proven_without_the_leaders_log() -> None:
    skews = Skews()
    for each in generation(1, 100, 0.5, leader=False):
        skews.feed(each)
    assert not list(skews.proven())


def test_a_clock_that_was_set_meanwhile_proves_nothing() -> None:
    skews = Skews()
    for each in [*generation(1, 100, 2.0), *generation(2, 200, -2.0)]:
        skews.feed(each)
    assert skews.bounds["app.log", "1"].skew == 0


def test_generations_of_two_lives_are_not_compared() -> None:
    skews = Skews()
    for each in [*generation(1, 100, 0.0), line("ClientAssignmentMade", 9_000, 1)]:
        skews.feed(each)
    assert not list(skews.proven())


def test_how_many_generations_wait_for_their_other_lines_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.kafka.observations.client_clocks.GENERATIONS_HELD_MAX", 3)
    skews = Skews()
    for number in range(20):
        for name in ("ClientJoined", "GenerationStarted", "AssignmentReceived"):
            for _ in skews.feed(line(name, 10.0 * number, 100 * number + len(name))):
                pass
    assert len(skews._coordinators) <= 4
    assert len(skews._clients) <= 4


def crowd(logs: int, ahead: float, generations: int = 2) -> list[Event]:
    """All members have a log each, whose clock is `ahead` seconds; coordinators' lines come first, or clients' where clocks are behind."""
    events = []
    for number in range(1, generations + 1):
        for each in [line("RebalanceStarted", 100.0 * number - 1, number - 1), *generation(number, 100.0 * number, ahead)]:
            if each.witness is Witness.COORDINATOR:
                events.append(each)
                continue
            for index in range(logs if each.name != "ClientAssignmentMade" else 1):
                place = LogPosition(f"app-{index}.log", 1, each.place.byte_offset)
                events.append(replace(each, place=place, client_id=f"c{index}", member_id=f"c{index}-id"))
    return sorted(events, key=lambda event: event.order_us)


@pytest.mark.parametrize("ahead", [-2.0, 0.0])
def test_a_line_is_compared_with_those_of_its_own_generation_alone(ahead: float, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    skew = ClientClockBounds.skew.fget  # type: ignore[attr-defined]

    def counted(bounds: ClientClockBounds) -> int:
        nonlocal looked
        looked += 1
        found: int = skew(bounds)
        return found

    monkeypatch.setattr(ClientClockBounds, "skew", property(counted))
    events = crowd(logs=50, ahead=ahead)
    skews = Skews()
    changed = [key for each in events for key in skews.feed(each)]
    assert 0 < looked <= 2 * sum(bounds.pairs for bounds in skews.bounds.values())
    assert {log for log, _ in changed} == ({f"app-{index}.log" for index in range(50)} if ahead else set())


@pytest.mark.parametrize("ahead", [-2.0, 2.0])
def test_lines_of_clients_are_put_right_once_their_clocks_are_known(ahead: float) -> None:
    """Also where the replay was interrupted before they were."""
    events = crowd(logs=5, ahead=ahead)
    joins = [line("ClientJoining", 99.5 + ahead, 0), line("ClientJoining", 199.5 + ahead, 0)]
    events += [
        replace(each, place=LogPosition(f"app-{index}.log", 1, 0), client_id=f"c{index}", generation=None)
        for each in joins
        for index in range(5)
    ]
    events.sort(key=lambda event: event.order_us)
    whole, interrupted = GroupStage(GroupMemory("c", "g", ClusterFacts("c"))), GroupStage(GroupMemory("c", "g", ClusterFacts("c")))
    behind = False
    for event in events:
        whole.feed(event)
        interrupted = GroupStage(GroupMemory.resumed("c", "g", ClusterFacts("c"), interrupted.checkpoint()))
        interrupted.feed(event)
        behind = behind or bool(interrupted.memory.timeline.behind)
    rows = whole.close()
    assert behind
    assert interrupted.close() == rows
    assert len(rows.divergences) == 5
    assert {round(row.join_delay_seconds or 0, 1) for row in rows.rebalance_members} == {0.5}
