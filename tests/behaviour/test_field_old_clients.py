"""Excerpts of clients that few still know, and of writers that leave out date, level or seconds.

After Kafka's ZookeeperConsumerConnector.scala (0.8 to 1.1), KafkaEx's consumer_group/manager.ex, zerolog's ConsoleWriter and systemd's
journal as JSON.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import AnalysisResult, analyze

OLD = "etl_host-1-1410340953300-9c1f3a2b"
KAFKA = "[2029-04-02 10:15:{:06.3f}] INFO [" + OLD + "], {} (kafka.consumer.ZookeeperConsumerConnector)"
LOGSTASH = "log4j, [2029-04-02T10:15:{:06.3f}] ERROR: kafka.consumer.ZookeeperConsumerConnector: [" + OLD + "], {}"
ATTEMPTS = [
    (1.1, f"begin rebalancing consumer {OLD} try #0"),
    (1.2, "Committing all offsets after clearing the fetcher queues"),
    (1.3, f"end rebalancing consumer {OLD} try #0"),
    (1.301, "Rebalancing attempt failed. Clearing the cache before the next rebalancing operation is triggered"),
    (3.3, f"begin rebalancing consumer {OLD} try #1"),
    (3.4, f"Consumer {OLD} selected partitions : logs:0: fetched offset = 544: consumed offset = 544"),
    (3.41, f"end rebalancing consumer {OLD} try #1"),
]


def told(folder: Path, *lines: str) -> AnalysisResult:
    path = folder / "app.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return analyze([str(path)])


def test_the_attempts_of_an_old_consumer_are_one_rebalance(tmp_path: Path) -> None:
    lines = [KAFKA.format(at, text).replace(".", ",", 1) for at, text in ATTEMPTS]
    (row,) = told(tmp_path, *lines).rebalances
    assert (row.group, row.outcome) == ("etl", "stable")
    assert row.duration_seconds == pytest.approx(2.3)
    assert row.confidence < 0.5
    assert str(row.settled_by).startswith("client log at INFO of each member ")  # there is no coordinator


def test_an_old_consumer_that_gave_up_is_told(tmp_path: Path) -> None:
    failed = f"kafka.common.ConsumerRebalanceFailedException: {OLD} can't rebalance after 8 retries"
    (incident,) = told(tmp_path, LOGSTASH.format(7.53, "error during syncedRebalance"), failed).incidents
    assert (incident.kind, incident.groups) == ("client_failed", ["etl"])


MEMBER = "kafka_ex-5d1c0f4e-8e74-4a29-9a25-1f2f6f9b1a10"
RECORD = '{{"__REALTIME_TIMESTAMP":"{}","_HOSTNAME":"app-3","PRIORITY":"6","MESSAGE":"[Consumer clientId=led-3, groupId=rooms] {}"}}'
READ = {
    "KafkaEx": [
        f"2029-04-02 10:15:04.200 [debug] Joined consumer group rooms generation 12 as {MEMBER}",
        f"2029-04-02 10:17:11.000 [debug] Joined consumer group rooms generation 13 as {MEMBER}",
    ],
    "zerolog": [
        "3:04PM INF joining group group=rooms",
        '3:05PM WRN heartbeat errored err="REBALANCE_IN_PROGRESS: The group is rebalancing, so a rejoin is needed." group=rooms',
    ],
    "journal": [
        RECORD.format(1_869_128_120_010_000, "Attempt to heartbeat failed since group is rebalancing"),
        RECORD.format(1_869_128_120_012_000, "(Re-)joining group"),
        RECORD.format(1_869_128_123_120_000, "Successfully joined group with generation 7"),
    ],
}


@pytest.mark.parametrize("lines", READ.values(), ids=READ)
def test_what_lacks_a_date_or_a_level_is_read(tmp_path: Path, lines: list[str]) -> None:
    found = told(tmp_path, *lines)
    assert found.rebalances
    assert {row.group for row in found.rebalances} == {"rooms"}
    assert all(row.started_at is not None and row.confidence < 0.5 for row in found.rebalances)
