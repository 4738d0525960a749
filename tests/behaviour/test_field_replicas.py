"""Excerpts of brokers whose replicas fall behind or whose disks fail, and what may not be concluded from them.

Kinds after KAFKA-2729 (a leader that ZooKeeper knows no more) and strimzi-kafka-operator 9015 (a directory that fails).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboards.answer.build import build_answer
from dashboards.wording.summary import summary_lines
from dashboards.wording.units import Clock
from pipelines.analysis.in_process import AnalysisResult, analyze

OLD = "Partition [coal,3] on broker 2: {} (kafka.cluster.Partition)"
NEW = "[Partition coal-3 broker=2] {} (kafka.cluster.Partition)"
BEHIND = "Leader: (highWatermark: 991, endOffset: 1020). Out of sync replicas: (brokerId: 1, endOffset: 991) (brokerId: 3, endOffset: 991)."
FOLDER = "/data/disk-4"
MANAGER = "[ReplicaManager broker=2] {} (kafka.server.ReplicaManager)"
HELD = f"Broker 2 stopped fetcher for partitions coal-1,iron-0 and stopped moving logs for partitions  because they are in the failed log \
directory {FOLDER}."
ALL_GONE = f"Shutdown broker because all log dirs in {FOLDER} have failed (kafka.log.LogManager)"


def told(folder: Path, *lines: str) -> AnalysisResult:
    path = folder / "server.log"
    path.write_text("".join(f"[2029-04-02 10:15:{number:02d},120] INFO {line}\n" for number, line in enumerate(lines)), encoding="utf-8")
    return analyze([str(path)])


@pytest.mark.parametrize(
    ("lines", "ends"),
    [
        ([OLD.format("Shrinking ISR for partition [coal,3] from 2,1,3 to 2")], "; 1 of them still has when the logs end"),
        ([NEW.format(f"Shrinking ISR from 2,1,3 to 2. {BEHIND}")], "; 1 of them still has when the logs end"),
        ([NEW.format(f"Shrinking ISR from 2,1,3 to 2. {BEHIND}"), NEW.format("Expanding ISR from 2 to 2,1,3")], ""),
    ],
    ids=["0.10", "2.4", "caught up"],
)
def test_replicas_that_fell_behind_are_told_though_nothing_stood_still(tmp_path: Path, lines: list[str], ends: str) -> None:
    found = told(tmp_path, *lines)
    assert (list(found.rebalances), list(found.outages)) == ([], [])
    sentences = list(summary_lines(build_answer(found), Clock("UTC"), ()))
    assert any(f"1 partition had fewer replicas in sync than replicas{ends} " in sentence for sentence in sentences)


@pytest.mark.parametrize("is_last", [True, False], ids=["the last directory", "one of several"])
def test_a_failed_directory_does_not_say_that_nobody_else_has_its_replicas(tmp_path: Path, is_last: bool) -> None:
    found = told(tmp_path, MANAGER.format(f"Stopping serving replicas in dir {FOLDER}"), MANAGER.format(HELD), *([ALL_GONE] * is_last))
    assert list(found.outages) == []
    (incident,) = found.incidents
    assert (incident.severity, "log director" in incident.headline) == ("warning", True)


REFUSED = "Cached zkVersion {} not equal to that in zookeeper, skip updating ISR"


@pytest.mark.parametrize(
    ("form", "shrinks", "version"),
    [
        (OLD, "Shrinking ISR for partition [coal,3] from 2,1,3 to 2", "[58]"),
        (NEW, "Shrinking ISR from 2,1,3 to 2", "[58]"),
        (NEW, f"Shrinking ISR from 2,1,3 to 2. {BEHIND}", "58"),
    ],
    ids=["0.10", "1.0", "2.4"],
)
@pytest.mark.parametrize("times", [1, 3])
def test_a_change_that_zookeeper_refused_shrank_nothing(tmp_path: Path, form: str, shrinks: str, version: str, times: int) -> None:
    pair = (form.format(shrinks), form.format(REFUSED.format(version)))
    found = told(tmp_path, *(pair * times + (form.format("waits"),) * 8) * (1 if times == 1 else 2))
    assert list(found.under_replicated_spans) == []
    (incident,) = found.incidents
    assert (incident.kind, incident.severity) == ("stale_leader", "info" if times == 1 else "critical")
    assert "broker 2" in incident.headline


def test_a_real_shrink_before_a_refused_change_stays(tmp_path: Path) -> None:
    shrunk = [NEW.format(f"Shrinking ISR from 2,1,3 to 2,1. {BEHIND}"), NEW.format("ISR updated to [2,1] and zkVersion updated to [59]")]
    refused = [NEW.format("Expanding ISR from 2,1 to 2,1,3"), NEW.format(REFUSED.format("59"))]
    (span,) = told(tmp_path, *shrunk, *refused).under_replicated_spans
    assert (span.ended_by, span.missing) == ("open", ["3"])
