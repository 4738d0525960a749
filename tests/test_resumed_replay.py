"""A replay that goes on from a state gives the rows of one that was never interrupted, wherever it is taken up again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.events import Event, LogPosition, Witness
from models.incidents.incidents import Limits
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.groups import bounds
from models.kafka.groups.group_memory import GroupMemory
from models.kafka.groups.group_stage import GroupStage
from models.kafka.verdicts.history import GroupHistory
from models.state_codec import UnreadableState
from pipelines.analysis import stages
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze
from pipelines.simulate.run import read_scenario, simulate
from tests.conftest import KAFKA_SAMPLES, LONG


class Interrupted(GroupStage):
    """Is written down and read back before some of its events."""

    draw = random.Random(0)  # noqa: S311 - the same places each time
    times = 0

    def feed(self, event: Event) -> None:
        if event.order_us > self.memory.now and self.draw.random() < 0.2:
            memory = self.memory
            resumed = GroupStage(GroupMemory.resumed(memory.cluster, memory.group, memory.facts, self.checkpoint(), memory.limits))
            resumed.memory.rows.final = memory.rows.final  # those rows are written by then
            for name in GroupStage.__slots__:
                setattr(self, name, getattr(resumed, name))
            Interrupted.times += 1
        super().feed(event)


TABLES = (
    "rebalances",
    "rebalance_members",
    "timeline",
    "group_states",
    "members",
    "client_states",
    "coordinator_moves",
    "offsets_at_risk",
    "divergences",
    "incidents",
)


def everything(analysis: AnalysisResult) -> dict[str, list[object]]:
    return {name: list(getattr(analysis, name)) for name in TABLES}


def assert_same_rows_when_interrupted(logs: Path, monkeypatch: pytest.MonkeyPatch, options: AnalyzeOptions | None = None) -> None:
    options = options or AnalyzeOptions(limits=Limits(group_states=True))
    whole = everything(analyze([str(logs)], options))
    Interrupted.times = 0
    monkeypatch.setattr(stages, "GroupStage", Interrupted)
    assert everything(analyze([str(logs)], options)) == whole
    assert Interrupted.times


def test_rows_that_leave_while_a_group_is_replayed_are_those_of_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(read_scenario("busy_day", duration="50m"), "3.9.1", 3, tmp_path, request_log=True)
    options = AnalyzeOptions(limits=Limits(group_states=True))
    whole = everything(analyze([str(tmp_path)], options))
    left: list[GroupHistory] = []

    class Leaving(GroupStage):
        def drain_final(self) -> Iterator[GroupHistory]:
            for rows in super().drain_final():
                left.append(rows)
                yield rows

    monkeypatch.setattr(bounds, "DRAIN_BATCH_ROWS", 1)
    monkeypatch.setattr(stages, "GroupStage", Leaving)
    parts = everything(analyze([str(tmp_path)], options))
    assert left
    assert {name: sorted(map(repr, rows)) for name, rows in parts.items()} == {
        name: sorted(map(repr, rows)) for name, rows in whole.items()
    }


@pytest.mark.parametrize("name", KAFKA_SAMPLES, ids=[name.rpartition("/")[2] for name in KAFKA_SAMPLES])
def test_real_logs(name: str, samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_same_rows_when_interrupted(samples / "kafka" / name, monkeypatch)


@pytest.mark.parametrize(
    ("scenario", "version"),
    [
        pytest.param("busy_day", "2.2.2", marks=LONG),
        ("busy_day", "3.9.1"),
        ("migration", "4.1.1"),
        ("consumer_protocol", "4.1.1"),
    ],
)
def test_made_up_logs(scenario: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(read_scenario(scenario, duration="30m"), version, 3, tmp_path, request_log=True)
    assert_same_rows_when_interrupted(tmp_path, monkeypatch)


def test_what_is_no_state_of_a_group_is_refused() -> None:
    for text in ("", "[1,[],[],7]", '[1,[],[["dict"]],[0]]'):
        with pytest.raises(UnreadableState):
            GroupStage(GroupMemory.resumed("c", "g", ClusterFacts("c"), text))


def test_lines_that_name_no_group_are_taken_once() -> None:
    """They come with the facts of the cluster, also to a stage that has taken them before."""

    def told(name: str, second: int, **values: object) -> Event:
        at = second * 1_000_000
        place = LogPosition("c.log", second, second)
        return Event(name, at, at, place, Witness.CLIENT, group="g", client_id="c-1", fields=values)

    before, after = (told("ClientCoordinatorLost", at, why="disconnected") for at in (5, 15))
    facts = ClusterFacts("c", attributed_events={"g": [before, after]})
    stage = GroupStage(GroupMemory("c", "g", facts))
    stage.feed(told("ClientJoining", 10))
    resumed = GroupStage(GroupMemory.resumed("c", "g", facts, stage.checkpoint()))
    for each in (stage, resumed):
        each.feed(told("ClientJoining", 20))
        assert (each.event_count, each.row_count) == (4, 0)
    assert resumed.close() == stage.close()
