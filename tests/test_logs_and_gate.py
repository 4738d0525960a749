"""Logs that coordinators, clocks and rotation leave behind break no critical rule of the gate: it would stop each later run, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.kafka.classic import COORDINATOR_LOST
from parsers.reader import ReadOptions
from pipelines.local import Analysis, AnalyzeOptions, analyze
from tests.gates import broken


def analyzed(folder: Path, zone: str = "UTC") -> Analysis:
    return analyze([str(folder)], AnalyzeOptions(ReadOptions(log_tz=[(None, zone)], clusters=[(None, "c")])))


def written(folder: Path, lines: str) -> Path:
    """Lines `BROKER TIME message` of a group's coordinators as the `server.log` of each broker."""
    for line in lines.strip().splitlines():
        node, at, message = line.strip().split(" ", 2)
        path = folder / f"broker-{node}" / "server.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as log:
            log.write(f"[2024-10-27 {at}] INFO [GroupCoordinator {node}]: {message} (kafka.coordinator.group.GroupCoordinator)\n")
    return folder


JOINED = "reason: Adding new member a-00000000-0000-4000-8000-000000000001 with group instance id None"
PREPARING = f"Preparing to rebalance group g in state PreparingRebalance with old generation {{}} (__consumer_offsets-4) ({JOINED})"
STABILIZED = "Stabilized group g generation {} (__consumer_offsets-4) with 1 members"
ASSIGNED = "Assignment received from leader for group g for generation {}. The group has 1 members, 0 of which are static."
UNLOADING = "Unloading group metadata for g with generation {}"
FIRST = f"""
1 10:00:00,000 {PREPARING.format(0)}
1 10:00:03,000 {STABILIZED.format(1)}
"""
STABLE = f"{FIRST}1 10:00:03,010 {ASSIGNED.format(1)}\n"

COORDINATORS_LOST = {
    "unloaded in PreparingRebalance": (
        f"{STABLE}1 10:10:00,000 {PREPARING.format(1)}\n1 10:10:01,000 {UNLOADING.format(1)}",
        "PreparingRebalance Stable",
    ),
    "unloaded in CompletingRebalance": (f"{FIRST}1 10:00:04,000 {UNLOADING.format(1)}", "CompletingRebalance Empty"),
    "killed, and the next one does not say that it loads": (
        f"{STABLE}1 10:10:00,000 {PREPARING.format(1)}\n2 10:10:30,000 {PREPARING.format(1)}\n2 10:10:31,000 {STABILIZED.format(2)}",
        "PreparingRebalance Stable",
    ),
}


@pytest.mark.parametrize("case", COORDINATORS_LOST)
def test_a_coordinator_may_go_in_the_middle_of_a_rebalance(tmp_path: Path, case: str) -> None:
    lines, taken_back = COORDINATORS_LOST[case]
    found = analyzed(written(tmp_path, lines))
    assert broken(found) == []
    steps = [f"{row.from_state} {row.to_state}" for row in found.timeline if row.trigger == COORDINATOR_LOST]
    assert steps == [taken_back]


CONSUMER_PROTOCOL = "kafka/4.1.1/consumer-protocol/broker-1/server.log"


@pytest.mark.parametrize("first", [77, 79, 83, 85, 87, 89, 91, 95])
def test_a_log_may_begin_in_the_middle_of_a_consumer_group(samples: Path, tmp_path: Path, first: int) -> None:
    lines = (samples / CONSUMER_PROTOCOL).read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "server.log").write_text("".join(lines[first - 1 :]), encoding="utf-8")
    found = analyzed(tmp_path)
    assert broken(found) == []
    assert all(row.joined_at is None for row in found.rebalances if row.protocol == "consumer" and row.outcome == "empty")
