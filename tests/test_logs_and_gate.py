"""Logs that coordinators, clocks and rotation leave behind break no critical rule of the gate: it would stop each later run, too."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from models.kafka.reconstruction.classic_states import COORDINATOR_LOST
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze
from tests.conftest import KAFKA_SAMPLES, spread
from tests.gates import broken


def analyzed(folder: Path, zone: str = "UTC") -> AnalysisResult:
    return analyze([str(folder)], AnalyzeOptions(ReadOptions(log_tz=[(None, zone)], clusters=[(None, "c")])))


def written(folder: Path, lines: str) -> Path:
    """Lines `BROKER TIME message` of a group's coordinators as the `server.log` of each broker."""
    for line in lines.strip().splitlines():
        node, at, message = line.strip().split(" ", 2)
        path = folder / f"broker-{node}" / "server.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as log:
            writer = next(writer for words, writer in WRITERS.items() if words in message)
            log.write(f"[2024-10-27 {at}] INFO {writer.format(node, message)}\n")
    return folder


MANAGER = "org.apache.kafka.coordinator.group.GroupMetadataManager"
WRITERS = {
    "Dead": "[GroupMetadataManager brokerId={}] {} (kafka.coordinator.group.GroupMetadataManager)",
    "[GroupId": f"[GroupCoordinator id={{}} topic=__consumer_offsets partition=4] {{}} ({MANAGER})",
    "": "[GroupCoordinator {}]: {} (kafka.coordinator.group.GroupCoordinator)",
}
"""By what their messages hold."""

JOINED = "reason: Adding new member a-00000000-0000-4000-8000-000000000001 with group instance id None"
PREPARING = f"Preparing to rebalance group g in state PreparingRebalance with old generation {{}} (__consumer_offsets-4) ({JOINED})"
STABILIZED = "Stabilized group g generation {} (__consumer_offsets-4) with 1 members"
ASSIGNED = "Assignment received from leader for group g for generation {}. The group has 1 members, 0 of which are static."
EMPTIED = "Group g with generation {} is now empty (__consumer_offsets-4)"
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


PREPARING_ANEW = f"2 10:59:59,000 {PREPARING.format(1)}\n2 11:00:00,000 {STABILIZED.format(2)}\n2 11:00:00,010 {ASSIGNED.format(2)}"
EPOCH = "[GroupId g] Bumped group epoch to {} with metadata hash 1."
TARGET = "[GroupId g] Computed a new target assignment for epoch {} with 'uniform' assignor in 7ms."

CLOCKS_SET_BACK = {
    "by 1 ms before the assignment": (f"{FIRST}1 10:00:02,999 {ASSIGNED.format(1)}", ["10:00:00.000", "10:00:03.000", "10:00:03.000"], 1),
    "by an hour in the join phase": (
        f"1 02:59:58,000 {PREPARING.format(0)}\n1 02:00:01,000 {STABILIZED.format(1)}\n1 02:00:01,010 {ASSIGNED.format(1)}",
        ["02:59:58.000", "02:59:58.000", "02:59:58.000"],
        3_597_000,
    ),
    "by an hour before the assignment": (
        f"1 02:59:58,000 {PREPARING.format(0)}\n1 02:59:59,500 {STABILIZED.format(1)}\n1 02:00:00,010 {ASSIGNED.format(1)}",
        ["02:59:58.000", "02:59:59.500", "02:59:59.500"],
        3_599_490,
    ),
    "while an epoch's target is computed": (
        f"1 10:00:00,000 {EPOCH.format(3)}\n1 09:59:59,990 {TARGET.format(3)}",
        ["10:00:00.000", "10:00:00.000", None],
        10,
    ),
}


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("case", CLOCKS_SET_BACK)
def test_a_clock_may_be_set_back_within_a_rebalance(tmp_path: Path, case: str, zone: str) -> None:
    lines, times, back_ms = CLOCKS_SET_BACK[case]
    found = analyzed(written(tmp_path, lines), zone)
    assert broken(found) == []
    [row] = found.rebalances
    assert [clock(at, zone) for at in (row.started_at, row.joined_at, row.ended_at)] == times
    [told] = [row.observed for row in found.divergences if row.expected == "a clock that never goes back"]
    assert told.startswith(f"it went back by {back_ms / 1000:.3f} s ")
    assert row.duration_seconds is None
    assert row.protocol != "classic" or row.member_seconds_stopped is None
    assert None in (row.join_seconds, row.sync_seconds)
    assert 0.0 not in (row.join_seconds, row.sync_seconds)


def clock(at: int | None, zone: str) -> str | None:
    """Microseconds as the zone's clock shows them."""
    return None if at is None else f"{datetime.fromtimestamp(at / 1e6, ZoneInfo(zone)):%H:%M:%S.%f}"[:-3]


def test_a_new_coordinator_may_have_another_clock(tmp_path: Path) -> None:
    found = analyzed(written(tmp_path, f"{STABLE}1 11:00:01,000 {UNLOADING.format(1)}\n{PREPARING_ANEW}"))
    assert broken(found) == []


def test_a_clock_may_be_set_back_while_a_group_is_empty(tmp_path: Path) -> None:
    removed = "Group g transitioned to Dead in generation 2"
    found = analyzed(
        written(tmp_path, f"{STABLE}1 10:10:00,000 {PREPARING.format(1)}\n1 10:10:00,001 {EMPTIED.format(2)}\n1 09:59:00,000 {removed}")
    )
    assert broken(found) == []
    [gone] = found.offsets_at_risk
    assert gone.has_expired
    assert gone.empty_since == gone.expires_at
    [removed_group] = [row for row in found.incidents if row.kind == "offsets_lost"]
    assert removed_group.headline.startswith("g was removed; ")


STAMP = re.compile(r"^(?:\{\"log\":\")?\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]")
BACK_MS = (1, 1, 5, 300, 8_000, 3_600_000, -2_000)
"""By NTP, at the end of summer time, and forth again."""


@pytest.mark.parametrize("seed", spread(range(14), 3))
def test_clocks_may_be_set_back_anywhere_and_logs_begin_anywhere(samples: Path, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - the same places each time
    folder = samples / "kafka" / KAFKA_SAMPLES[seed % len(KAFKA_SAMPLES)]
    for path in sorted(folder.rglob("*.log*")):
        copy = (tmp_path / path.relative_to(folder)).with_suffix("" if path.suffix == ".gz" else path.suffix)
        copy.parent.mkdir(parents=True, exist_ok=True)
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        copy.write_text("".join(disturbed(data.decode().splitlines(keepends=True), dice)), encoding="utf-8")
    assert broken(analyzed(tmp_path)) == []


def disturbed(lines: list[str], dice: random.Random) -> Iterator[str]:
    """A log without its beginning, whose clock was set back a few times."""
    left = lines[dice.randrange(len(lines)) if dice.random() < 0.5 else 0 :]
    moments = set(dice.sample(range(len(left)), min(len(left), dice.choice([0, 1, 3, 12]))))
    back = timedelta()
    for number, line in enumerate(left):
        back += timedelta(milliseconds=dice.choice(BACK_MS)) if number in moments else timedelta()
        found = STAMP.match(line)
        if found is None:
            yield line
            continue
        at = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S,%f") - back
        yield line.replace(found[1], f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}", 1)
