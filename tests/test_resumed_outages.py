"""A replay of outages that goes on from a state gives the rows of one that was never interrupted, wherever it is taken up again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.events import Event
from models.kafka.cluster.facts import CLUSTER_EVENTS, ClusterFacts, learn
from models.kafka.outages import outage_stage as outages_stage
from models.kafka.outages.outage_stage import Outages, OutageStage
from models.kafka.partitions.broker_clocks import clocks_of
from models.state_codec import UnreadableState
from pipelines.analysis import stages
from pipelines.analysis.in_process import AnalysisResult, analyze
from tests.conftest import KAFKA_SAMPLES
from tests.models.kafka.outages.test_outages import STORIES, events_of

SECOND = 1_000_000
TABLES = ("outages", "under_replicated_spans", "leader_moves", "broker_outages", "incidents", "divergences", "layouts")


class Interrupted(OutageStage):
    """Lets time pass, is written down and read back before some of its events."""

    draw = random.Random(0)  # noqa: S311 - the same places each time
    times = 0

    def feed(self, event: Event) -> None:
        now = self.stage.now
        if not self.skews and event.order_us > now and self.draw.random() < 0.2:
            self.advance_to(self.draw.randrange(now, event.order_us))
            resumed = OutageStage.resumed(self.cluster, self.facts, self.checkpoint(), self.node_of, self.readers, self.gap_seconds)
            for name in OutageStage.__slots__:
                if name != "final":  # those rows are written by then
                    setattr(self, name, getattr(resumed, name))
            Interrupted.times += 1
        super().feed(event)

    def drain_final(self) -> Iterator[Outages]:
        if self.final.row_count:
            rows, self.final = self.final, Outages()
            yield rows


def everything(analysis: AnalysisResult) -> dict[str, list[str]]:
    return {name: sorted(map(repr, getattr(analysis, name))) for name in TABLES}


@pytest.mark.parametrize("settle", [0, 5 * SECOND, outages_stage.OUTAGE_LATENESS_US], ids=["at once", "5 s", "as it is"])
@pytest.mark.parametrize("name", KAFKA_SAMPLES, ids=[name.rpartition("/")[2] for name in KAFKA_SAMPLES])
def test_real_logs(name: str, settle: int, samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages_stage, "OUTAGE_LATENESS_US", settle)
    logs = str(samples / "kafka" / name)
    whole = everything(analyze([logs]))
    monkeypatch.setattr(stages, "OutageStage", Interrupted)
    assert everything(analyze([logs])) == whole


@pytest.mark.parametrize("settle", [0, 5 * SECOND, outages_stage.OUTAGE_LATENESS_US], ids=["at once", "5 s", "as it is"])
@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_stories(path: Path, settle: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages_stage, "OUTAGE_LATENESS_US", settle)
    events = events_of(path.read_text(encoding="utf-8").partition("----\n")[0])
    nodes = {event.place.file: event.place.file.partition("/")[0] for event in events}
    facts = learn((event for event in events if event.name in CLUSTER_EVENTS), "test")
    skews = clocks_of(events, nodes).skews()
    whole = rows_of(OutageStage("test", facts, nodes, skews=skews), events)
    Interrupted.times = 0
    for _ in range(5):
        assert rows_of(Interrupted("test", facts, nodes, skews=skews), events) == whole
    assert Interrupted.times or skews or len({event.order_us for event in events}) < 3


def rows_of(stage: OutageStage, events: list[Event]) -> dict[str, list[str]]:
    parts: list[Outages] = []
    for event in stage.in_order(events):
        stage.feed(event)
        parts += stage.drain_final()
    parts.append(stage.close())
    return {table: sorted(repr(row) for part in parts for row in getattr(part, table)) for table in stages.OUTAGE_TABLES}


def test_what_is_no_state_of_outages_is_refused() -> None:
    for text in ("", "[1,[],[],7]", '[1,[],[["dict"]],[0]]'):
        with pytest.raises(UnreadableState):
            OutageStage.resumed("c", ClusterFacts("c"), text, {})
