"""A log that went on in another file is the log of one process still."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, fields, replace
from typing import Any

import pytest

from models.events import Event, LogPosition
from models.rocketmq.observations.log_rotation import log_name_of
from models.rocketmq.rocketmq_history import RocketHistory
from tests.models.rocketmq.script import Logs, two_clients


@pytest.mark.parametrize(
    ("file", "log"),
    [
        ("logs/rocketmqlogs/otherdays/rocketmq_client-3.log.gz", "logs/rocketmqlogs/rocketmq_client.log"),
        ("other_days/rocketmq_client-1.log.gz", "rocketmq_client.log"),
        ("rocketmq_client-2.log", "rocketmq_client.log"),
        ("a/otherdays/broker.12.log.gz", "a/broker.log"),
        ("a/broker.log", "a/broker.log"),
        ("app.log.1", "app.log"),
        ("app.log.2026-11-21.gz", "app.log"),
        ("app.log.2026-11-21.3.zst", "app.log"),
        ("bundle.tar.gz/x/otherdays/namesrv.1.log.gz", "bundle.tar.gz/x/namesrv.log"),
        ("app-1.log", "app-1.log"),
        ("10.0.0.5/app.log", "10.0.0.5/app.log"),
        ("nototherdays/broker.1.log", "nototherdays/broker.1.log"),
    ],
)
def test_the_log_that_a_file_is_a_part_of(file: str, log: str) -> None:
    assert log_name_of(file) == log


def whole_day() -> Logs:
    """Shares that move, a client without a file, a crash, and a client that comes back in the same log."""
    logs = two_clients()
    logs.connect("c3", 30)
    logs.notify("c1", 30.15)
    logs.share("c1", 30.2, drop=[1], has=[0], of=3)
    logs.share("c2", 30.3, drop=[2], has=[1], of=3)
    logs.crash("c3", 60)
    logs.share("c1", 62, add=[1], has=[0, 1], of=2)
    logs.share("c2", 62, add=[2, 3], has=[2, 3], of=2)
    logs.stop("c2", 90)
    logs.share("c1", 90.4, add=[2, 3], has=[0, 1, 2, 3], of=1)
    logs.start("c2", 100)
    logs.say("c2", 101, "RocketNotListed", group="billing", client_id="c2", listed=["c1"])
    logs.share("c2", 101.3, add=[2, 3], has=[2, 3], of=2)
    return logs


def rotated(logs: Logs, parts: int) -> Logs:
    """Each file cut into parts, the older ones moved to the folder of old files, which is named before and numbered backwards."""
    by_file: dict[str, list[Event]] = defaultdict(list)
    for event in logs.events:
        by_file[event.place.file].append(event)
    found = []
    for name, events in by_file.items():
        size = -(-len(events) // parts)
        for index, event in enumerate(events):
            part, number = index // size, parts - 1 - index // size
            last = part == (len(events) - 1) // size
            file = f"{name}/rocketmq_client.log" if last else f"{name}/otherdays/rocketmq_client-{number}.log.gz"
            found.append(replace(event, place=LogPosition(file, index % size + 1, 100 * (index % size))))
    return Logs(found)


def rows(history: RocketHistory) -> dict[str, list[dict[str, Any]]]:
    """All rows, but for the files that their lines stand in."""

    def bare(row: Any) -> dict[str, Any]:
        told = asdict(row)
        told["evidence"] = [each["text"] for each in told.get("evidence", ())]
        return told

    return {each.name: [bare(row) for row in getattr(history, each.name)] for each in fields(RocketHistory)}


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_the_rows_are_those_of_logs_in_one_file_each(parts: int) -> None:
    alone = whole_day().history(until=200)

    assert len(alone.allocation_changes) > 8
    assert rows(rotated(whole_day(), parts).history(until=200)) == rows(alone)


def test_lines_are_named_by_the_file_in_which_they_stand() -> None:
    history = rotated(two_clients(), 2).history(until=60)
    files = {line.file for row in history.allocation_changes for line in row.evidence}

    assert {"c1/otherdays/rocketmq_client-1.log.gz", "c1/rocketmq_client.log"} <= files
