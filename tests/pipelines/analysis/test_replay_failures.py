"""A group or a cluster that makes the models raise is reported failed, and the others are told as ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from models.events import Event
from models.incidents.incidents import Limits
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.groups.group_stage import GroupStage
from models.kafka.outages.outage_stage import OutageStage
from models.rocketmq import rocketmq_history as history
from parsers.reading.reader import ReadOptions
from pipelines.analysis.growing_logs import LiveReplay
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.analysis.replay_failures import FAILED_REPLAY
from pipelines.analysis.spill import EventStore
from pipelines.analysis.stages import group_histories
from pipelines.cli.main import main
from tests.parsers.reading.source_files import read_bytes

LINE = (
    "[2026-11-21 09:17:%02d,000] INFO [GroupCoordinator 1]: Stabilized group %s generation %d (__consumer_offsets-3)"
    " (kafka.coordinator.group.GroupCoordinator)\n"
)
LOG = "".join(LINE % (number, group, number) for number in range(1, 9) for group in ("bad", "good"))


class Falls(GroupStage):
    """Raises at the third generation of one group."""

    def feed(self, event: Event) -> None:
        fall(self.memory.group, event)
        super().feed(event)


def fall(group: str, event: Event) -> None:
    if group == "bad" and event.generation == 3:
        raise ZeroDivisionError("a name that must not be shown")


def rows_of(store: EventStore, make_stage: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {"divergences": [], "group_transitions": []}
    for group, batches in store.groups():
        for rows in group_histories(group, batches, {}, lambda _: "c", {}, Limits(), None, make_stage):
            for table in found:
                found[table] += getattr(rows, table)
    return found


def test_one_group_fails_and_the_other_is_replayed(tmp_path: Path) -> None:
    events = read_bytes(tmp_path, LOG.encode()).events
    with EventStore() as store:
        for batch in events.combine_chunks().to_batches():
            store.add(batch)
        whole, broken = rows_of(store, GroupStage), rows_of(store, Falls)

    (failure,) = [row for row in broken["divergences"] if row.expected == FAILED_REPLAY]
    assert (failure.cluster, failure.group, failure.observed.split(":")[0]) == ("c", "bad", "ZeroDivisionError")
    assert [line.line for line in failure.evidence] == [5]
    good = [row for row in whole["group_transitions"] if row.group == "good"]
    assert good
    assert broken["group_transitions"] == good


def test_the_command_warns_and_ends_with_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    feed = GroupStage.feed
    monkeypatch.setattr(GroupStage, "feed", lambda self, event: (fall(self.memory.group, event), feed(self, event))[1])
    (tmp_path / "server.log").write_text(LOG)

    assert main(["analyze", str(tmp_path), "--json"]) == 4
    told = capfd.readouterr()
    assert "the replay of group bad of cluster default (kafka) failed: ZeroDivisionError" in told.err
    assert "must not be shown" not in told.err + told.out
    assert [row["group"] for row in json.loads(told.out)["divergences"] if row["expected"] == FAILED_REPLAY] == ["bad"]


@pytest.mark.parametrize("log", ["kafka", "rocketmq"])
def test_who_follows_a_log_hears_of_a_failed_replay(tmp_path: Path, samples: Path, monkeypatch: pytest.MonkeyPatch, log: str) -> None:
    def raises(*_: object, **__: object) -> Any:
        raise KeyError("planted")

    path, content = tmp_path / "server.log", LOG.encode()
    if log == "rocketmq":
        source = samples / "rocketmq/4.9.7/frozen-consumer/consumer-1/rocketmq_client.log"
        path, content = tmp_path / source.name, source.read_bytes()
    path.write_bytes(content)
    events, files = read_bytes(tmp_path, content).events, list(analyze([str(path)]).log_files)
    live = LiveReplay(AnalyzeOptions())
    for batch in events.combine_chunks().to_batches():
        live.add(batch)
    monkeypatch.setattr(*{"kafka": (GroupStage, "feed"), "rocketmq": (history._GroupHistory, "__init__")}[log], raises)

    assert live.replay_new_events(files) == []
    assert live.failures
    assert all(f"({log}) failed: KeyError" in text for text in live.failures)


@pytest.mark.parametrize("target", ["outages", "rocketmq", "facts"])
def test_each_stage_has_its_net(samples: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    def raises(*_: object, **__: object) -> Any:
        raise KeyError("planted")

    places: dict[str, tuple[Any, str]] = {"outages": (OutageStage, "feed"), "rocketmq": (history._GroupHistory, "__init__")}
    if target == "facts":
        monkeypatch.setattr("pipelines.analysis.replay_failures.learn", raises)
    else:
        monkeypatch.setattr(*places[target], raises)
    options = AnalyzeOptions(ReadOptions())
    folder = samples / ("rocketmq/5.3.3/shared-client-id" if target == "rocketmq" else "kafka/2.8.2/coordinator-failover")
    analysis = analyze([str(folder)], options)

    assert analysis.failures
    assert all("KeyError" in text for text in analysis.failures)
    assert target == "rocketmq" or len(analysis.rebalances)
    assert {row.expected for row in analysis.divergences} >= ({FAILED_REPLAY} if target != "facts" else set())


def test_what_is_of_the_machine_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(GroupStage, "feed", full)
    (tmp_path / "server.log").write_text(LOG)
    with pytest.raises(OSError, match="No space"):
        analyze([str(tmp_path)])


def test_the_same_row_comes_of_the_function_that_spark_runs(tmp_path: Path) -> None:
    from pipelines.transforms.group_replay import GroupReplay

    events = read_bytes(tmp_path, LOG.encode()).events
    batches = events.append_column("state", pa.nulls(len(events), pa.string())).combine_chunks().to_batches()
    (batch,) = batches
    bad = batch.filter(pa.array([group == "bad" for group in batch["group"].to_pylist()]))

    def parts() -> Iterator[pa.RecordBatch]:
        yield bad

    rows = list(GroupReplay({"c": ClusterFacts("c")}, make_stage=Falls)("c", "bad", parts()))
    (failure,) = [row for each in rows for row in each["divergences"]]
    assert (failure.expected, failure.group, failure.evidence[0].line) == (FAILED_REPLAY, "bad", 5)
