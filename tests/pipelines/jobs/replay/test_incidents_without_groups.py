"""Incidents of brokers and of clients that name no group, when only other records are new.

Such a row has neither a group nor an outage that its stage could be told by.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.pipelines.site import Site

STARTED = "INFO [KafkaServer id=1] started (kafka.server.KafkaServer)"
FULL = (
    "ERROR Error while appending records to clicks-3 in dir /data/kafka (kafka.server.LogDirFailureChannel)\n"
    "java.io.IOException: No space left on device\n\tat x.write0(Native Method)"
)
SLOW = (
    "INFO [GroupMetadataManager brokerId=1] Finished loading offsets and group metadata from __consumer_offsets-3 in 251010 milliseconds"
    " for epoch 10, of which 1 milliseconds was spent in the scheduler. (kafka.coordinator.group.GroupMetadataManager)"
)
SHRUNK = "INFO [Partition clicks-1 broker=1] Shrinking ISR from 1,2 to 1. (kafka.cluster.Partition)"
STABLE = (
    "INFO [GroupCoordinator 1]: Stabilized group orders generation 7 (__consumer_offsets-3) with 2 members"
    " (kafka.coordinator.group.GroupCoordinator)"
)
LATE = (
    "%4|1795252300.286|MAXPOLL|app#consumer-1| [thrd:main]: Application maximum poll interval (7000ms) exceeded by 278ms"
    " (adjust max.poll.interval.ms for long-running message processing): leaving group"
)
BEFORE = {0: STARTED, 1: FULL, 2: SHRUNK, 10: SLOW}
"""Lines of a broker by minute."""


def _write(site: Site, lines: Mapping[int, str]) -> None:
    broker = site.logs / "broker-1"
    broker.mkdir(parents=True, exist_ok=True)
    (site.logs / "app.log").write_text(LATE + "\n")
    (broker / "server.log").write_text("".join(f"[2026-11-21 10:{minute:02}:00,000] {line}\n" for minute, line in lines.items()))


@pytest.mark.spark
@pytest.mark.parametrize("later", [SHRUNK, STABLE, STARTED], ids=["a partition", "a group", "the cluster"])
def test_they_stay_one_row(spark: Any, tmp_path: Path, later: str) -> None:
    grown, whole = Site(tmp_path / "grown"), Site(tmp_path / "whole")
    _write(grown, BEFORE)
    assert grown.run().exit_code == 0
    kinds = sorted(row["kind"] for row in grown.table("incidents") if not row["groups"])
    assert kinds == ["coordinator_unavailable", "disk_full", "group_unnamed"]
    for site in (grown, whole):
        _write(site, {**BEFORE, 20: later})
        assert site.run().exit_code == 0
    assert grown.content()["incidents"] == whole.content()["incidents"]
