"""Stories that last for days: what of them is told as they go on, and what is held meanwhile."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from models.events import Event
from models.kafka.cluster.facts import CLUSTER_EVENTS, ClusterFacts, learn
from models.kafka.outages.broker_fingerprints import fingerprint_departures
from models.kafka.outages.outage_stage import Outages, OutageStage
from models.kafka.partitions.broker_clocks import clocks_of
from pipelines.analysis.stages import LAYOUT_TABLES, OUTAGE_TABLES
from tests.models.kafka.outages.test_outages import STORIES, events_of, find

SECOND, HOUR, DAY = 1_000_000, 3600, 86_400
CASES = 25


def created(at: float, topic: str, replica: str) -> str:
    return (
        f"{at} 100/controller [QuorumController id=100] Replayed PartitionRecord for new partition {topic}-0 with topic ID "
        f"d6DtoEy7TN2N4Tw8beLq1Q and PartitionRegistration(replicas=[{replica}], directories=[y], isr=[{replica}], removingReplicas=[], "
        f"addingReplicas=[], elr=[], lastKnownElr=[], leader={replica}, leaderRecoveryState=RECOVERED, leaderEpoch=0, partitionEpoch=0)."
    )


def away(broker: str, down: float, up: float | None) -> list[str]:
    """A KRaft controller fences a broker, and has it back."""
    lines = [f"{down} 100/controller [QuorumController id=100] Fencing broker {broker} because its session has timed out."]
    back = "has been granted because it has caught up with the offset of its register broker record 755."
    return (
        lines
        if up is None
        else [*lines, f"{up} 100/controller [QuorumController id=100] The request from broker {broker} to unfence {back}"]
    )


def told(*lines: str) -> list[Event]:
    return events_of("\n".join(lines))


def nodes_of(events: list[Event]) -> dict[str, str]:
    return {event.place.file: event.place.file.partition("/")[0] for event in events}


def facts_of(events: list[Event]) -> ClusterFacts:
    return learn((event for event in events if event.name in CLUSTER_EVENTS), "test")


def stretched(path: Path, draw: random.Random) -> list[Event]:
    """A story of which each second lasts for longer, and some lines are missing."""
    factor = draw.choice([1, 30, 600, 3600, 20_000])
    lines = path.read_text(encoding="utf-8").partition("----\n")[0].splitlines()
    parts = [line.split(" ", 2) for line in lines if line.strip() and not line.startswith("#") and draw.random() > 0.1]
    return told(*(f"{float(at) * factor} {file} {message}" for at, file, message in parts))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_rows_of_two_runs_are_those_of_one(path: Path) -> None:
    """The first run tells what is final by the state that the second one goes on from, which tells the rest, and nothing twice."""
    draw = random.Random(path.stem)  # noqa: S311 - the same cases each time
    for _ in range(CASES):
        events = stretched(path, draw)
        nodes, facts = nodes_of(events), facts_of(events)
        cut = draw.choice(events).order_us
        upto = draw.choice([cut - 900 * SECOND, draw.randint(0, cut)])
        first = [event for event in events if event.order_us <= cut]
        known = (fingerprint_departures(facts_of(first), nodes).until(upto), fingerprint_departures(facts, nodes).until(upto))
        if known[0] != known[1] or clocks_of(events, nodes).skews() or clocks_of(first, nodes).skews():
            continue  # then all is replayed
        before, state = replayed(OutageStage("test", facts_of(first), nodes), first, upto)
        later = [event for event in events if event.order_us > upto]
        after, _ = replayed(OutageStage.resumed("test", facts, state, nodes), later, upto)
        whole, _ = replayed(OutageStage("test", facts, nodes), events, upto)
        for table in OUTAGE_TABLES:
            stay = (
                []
                if table in LAYOUT_TABLES
                else [row for row in getattr(before, table) if row.final_at is not None and row.final_at <= upto]
            )
            assert Counter(map(repr, stay + getattr(after, table))) == Counter(map(repr, getattr(whole, table))), table


def replayed(stage: OutageStage, events: list[Event], upto: int) -> tuple[Outages, str]:
    """All rows, and the state at a time."""
    state = None
    for event in events:
        if state is None and event.order_us > upto:
            stage.advance_to(upto)
            state = stage.checkpoint()
        stage.feed(event)
    if state is None:
        stage.advance_to(upto)
        state = stage.checkpoint()
    return stage.close(), state


def test_an_outage_of_days_is_final_when_it_is_over() -> None:
    """Not a day after its begin, from which on it holds no later ones."""
    found = find(told(created(1, "lone", "2"), *away("2", 100, 100 + 3 * DAY), created(100 + 4 * DAY, "late", "2")))
    [row] = found.partition_outages
    assert (row.offline_at, row.online_at) == (100 * SECOND, (100 + 3 * DAY) * SECOND)
    assert row.final_at is not None
    assert row.final_at >= (100 + 3 * DAY + HOUR) * SECOND
    assert {each.final_at for each in found.incidents} == {row.final_at}


def test_many_partitions_that_come_back_one_by_one_are_one_look_at_incidents(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    close = OutageStage._close_incidents

    def counted(stage: OutageStage, at: int) -> None:
        nonlocal looks
        looks += 1
        close(stage, at)

    monkeypatch.setattr(OutageStage, "_close_incidents", counted)
    names = [f"lone{number}" for number in range(50)]
    lines = [*(created(1, name, "2") for name in names), *away("2", 100, 100 + 30 * HOUR)]
    found = find(told(*lines, created(100 + 40 * HOUR, "late", "2")))
    assert len(found.partition_outages) == 50
    assert len(found.incidents) == 1
    assert looks < 10


def test_a_topic_that_is_made_again_after_long_has_rows_of_its_own() -> None:
    for pause in (HOUR / 2, 3 * HOUR):
        again = 200 + pause
        lines = [created(1, "lone", "2"), *away("2", 100, 160), created(again, "lone", "2"), *away("2", again + 100, again + 160)]
        found = find(told(*lines))
        assert len({row.outage_id for row in found.partition_outages}) == len(found.partition_outages) == 2


def test_outages_of_which_no_line_names_an_epoch_have_ids_of_their_own() -> None:
    lines = ["0.1 1/server [KafkaServer id=1] started", "1 1/server Created log for partition s-0 in /data/s-0 with properties {}"]
    for at in (10, 10 + 2 * HOUR, 10 + 4 * HOUR):
        lines += [f"{at} 1/server starting", f"{at + 20} 1/server [KafkaServer id=1] started"]
    found = find(told(*lines))
    assert len({row.outage_id for row in found.partition_outages}) == len(found.partition_outages) == 3


def test_a_broker_that_never_comes_back_keeps_no_others_in_mind() -> None:
    def state(bounces: int) -> int:
        lines = [created(1, "pair", "2"), *away("9", 50, None)]
        for number in range(bounces):
            at = 5 * HOUR * (number + 1)
            lines += away("2", at, at + 60)
        events = told(*lines)
        stage = OutageStage("test", facts_of(events), nodes_of(events))
        for event in events:
            stage.feed(event)
        return len(stage.checkpoint())

    assert state(100) < 1.2 * state(10)
