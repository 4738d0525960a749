"""Partitions without a leader in real logs with their truth: all files, those of surviving brokers, and a clock that is off."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from models.rows import PartitionOutage
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze
from tests.conftest import SHARED

SCENARIOS = sorted(
    path.parent
    for name in ("r_partition_incidents", "s_controlled_shutdown")
    for path in (SHARED / "corpora" / "kafka").glob(f"*/{name}/truth.json")
)
BRIEF_US = 3_000_000
"""The oracle asked so seldom that it may have seen none that is shorter."""

NEAR_MS = 15_000
TOLERANCE_MS = 1_000
STAMP = re.compile(rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]")

pytestmark = pytest.mark.skipif(not SCENARIOS, reason="the labelled corpora are not beside this checkout (../shared)")
each_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: "/".join(path.parts[-2:]))


def truth_of(scenario: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((scenario / "truth.json").read_text(encoding="utf-8"))
    return found


def analyzed(scenario: Path, folder: Path, keep: Callable[[Path], bool]) -> AnalysisResult:
    """The analysis of some files of a scenario."""
    for file in sorted(scenario.rglob("*")):
        relative = file.relative_to(scenario)
        if file.is_file() and keep(relative) and not (folder / relative).exists():
            (folder / relative).parent.mkdir(parents=True, exist_ok=True)
            (folder / relative).symlink_to(file)
    return analyze([str(folder)], AnalyzeOptions(read=ReadOptions(log_tz=[(None, truth_of(scenario)["log_timezone"])])))


def in_server_log_without(broker: int) -> Callable[[Path], bool]:
    return lambda path: path.parts[0].startswith("broker-") and path.parts[0] != f"broker-{broker}" and path.name.startswith("server.log")


def incidents(truth: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in truth["partition_offline_incidents"] if not each["topic"].startswith("__")]


def matches(incident: dict[str, Any], row: PartitionOutage) -> bool:
    if (row.topic, row.partition) != (incident["topic"], incident["partition"]) or row.offline_at is None:
        return False
    return abs(row.offline_at / 1000 - incident["offline_seen_ms"]) < NEAR_MS


def invented(truth: dict[str, Any], found: AnalysisResult) -> Iterator[PartitionOutage]:
    """Outages of observed topics that the oracle would have seen."""
    for row in found.outages:
        long = row.online_at is None or row.online_at - (row.offline_at or 0) >= BRIEF_US
        observed = row.topic in truth["partition_topics_observed"] and not row.topic.startswith("__")
        if observed and long and not any(matches(each, row) for each in incidents(truth)):
            yield row


@each_scenario
def test_all_files_tell_each_outage_when_it_was_and_how_it_ended(scenario: Path, tmp_path: Path) -> None:
    truth, found = truth_of(scenario), analyzed(scenario, tmp_path, lambda _: True)
    assert list(invented(truth, found)) == []
    for incident in incidents(truth):
        rows = [row for row in found.outages if matches(incident, row)]
        if incident.get("optional"):
            continue
        (row,) = rows
        began, lost_at = (row.offline_at or 0) / 1000, min(incident["broker_lost_ms"], incident["offline_seen_ms"])
        assert lost_at - TOLERANCE_MS <= began <= incident["offline_seen_hi_ms"]
        if incident["until_seen_ms"] is not None:
            assert row.online_at is not None
            assert lost_at <= row.online_at / 1000 <= incident["until_seen_hi_ms"]
        assert row.cause != "unknown"
    for move in truth["partition_leader_moves"]:
        key = (move["topic"], move["partition"], str(move["new_leader"]))
        near = [row for row in found.leader_moves if (row.topic, row.partition, row.to_node) == key]
        assert any(abs(row.moved_at / 1000 - move["seen_ms"]) < NEAR_MS for row in near)
    gone = {action["broker"] for action in truth["broker_actions"] if action["action"] in {"broker_kill9", "broker_sigterm"}}
    assert {row.node for row in found.broker_outages} == {str(node) for node in gone}


@each_scenario
def test_server_logs_of_surviving_brokers_tell_each_outage_of_a_partition_that_they_name(scenario: Path, tmp_path: Path) -> None:
    """A partition that no line of the given files names can't be known, unless one of a higher number is."""
    truth = truth_of(scenario)
    for broker in sorted({each["lost_broker"] for each in incidents(truth)}):
        folder = tmp_path / str(broker)
        found = analyzed(scenario, folder, in_server_log_without(broker))
        assert list(invented(truth, found)) == []
        text = b"\n".join(path.read_bytes() for path in folder.rglob("server.log*"))
        for incident in incidents(truth):
            if incident["lost_broker"] != broker or incident.get("optional"):
                continue
            rows = [row for row in found.outages if matches(incident, row)]
            numbers = {int(number) for number in re.findall(rb"\b%s-(\d+)\b" % re.escape(incident["topic"].encode()), text)}
            if not rows:
                assert max(numbers, default=-1) < incident["partition"]
                continue
            assert f"server.log of broker {broker}" in (rows[0].settled_by or "")


def test_a_clock_that_is_off_changes_no_outage(tmp_path: Path) -> None:
    scenario = next(path for path in SCENARIOS if path.parts[-2].startswith("4.1"))
    right = analyzed(scenario, tmp_path / "right", lambda path: path.parts[0] != "clients")
    for file in (scenario / "broker-2").iterdir():
        shifted = tmp_path / "off" / "broker-2" / file.name
        shifted.parent.mkdir(parents=True, exist_ok=True)
        shifted.write_bytes(STAMP.sub(later, file.read_bytes()))
    off = analyzed(scenario, tmp_path / "off", lambda path: path.parts[0] != "clients")
    assert [row.observed.split(" s ")[1] for row in off.divergences if row.group is None] == ["ahead; its times were corrected"]
    assert [row for row in right.divergences if row.group is None] == []

    def told(found: AnalysisResult) -> list[tuple[str, int, int | None, str, str]]:
        rows = [row for row in found.outages if not row.topic.startswith("__")]
        return [(row.topic, row.partition, row.offline_at, row.cause, row.ended_by) for row in rows]

    assert told(off) == told(right)


def later(stamp: re.Match[bytes]) -> bytes:
    """75 s later."""
    at = datetime.strptime(stamp[1].decode(), "%Y-%m-%d %H:%M:%S,%f") + timedelta(seconds=75)
    return f"[{at.strftime('%Y-%m-%d %H:%M:%S,%f')[:-3]}]".encode()
