"""Logs of librdkafka's clients and of kafka-python, in the forms in which applications write them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from parsers.reading.reader import ReadOptions, find_files, read_file

EXCEEDED = (
    "Application maximum poll interval (300000ms) exceeded by 255ms (adjust max.poll.interval.ms for long-running "
    "message processing): leaving group"
)
SAID = f"[thrd:main]: {EXCEEDED}"
AT = datetime(2026, 11, 21, 9, 7, 55, 40_000, tzinfo=UTC)


def events(path: Path, text: str, zone: str | None = None) -> list[dict[str, Any]]:
    """What is read of a file; a zone is named for this very file."""
    path.write_text(text)
    options = ReadOptions(log_tz=[(f"*{path.name}", zone)] if zone else [])
    (source,) = find_files([str(path)], options).files
    return [row for chunk in read_file(source, options) for row in chunk.events.to_pylist()]


@pytest.mark.parametrize(
    "line",
    [
        f"%4|1795252075.040|MAXPOLL|app#consumer-2| {SAID}",
        f"%4|1795252075.040|MAXPOLL|app#consumer-2| {EXCEEDED}",
        f"2026-11-21T09:07:55.041Z stderr F %4|1795252075.040|MAXPOLL|app#consumer-2| {SAID}",
        f'{{"log":"%4|1795252075.040|MAXPOLL|app#consumer-2| {SAID}\\n","stream":"stderr","time":"2026-11-21T09:07:55.041Z"}}',
        f"4|2026-11-21 09:07:55.040|app#consumer-2|MAXPOLL| {SAID}",
        f"Warning|2026-11-21 09:07:55.040|app#consumer-2|MAXPOLL| {SAID}",
        f"[2026-11-21T09:07:55.040Z][app#consumer-2][MAXPOLL][4]{SAID}",
        f"2026-11-21 09:07:55,040 WARNING  MAXPOLL [app#consumer-2] {SAID}",
        f"2026-11-21 09:07:55,040 - orders.worker - WARNING - MAXPOLL [app#consumer-2] {SAID}",
        f"[2026-11-21 09:07:55,040: WARNING/MainProcess] MAXPOLL [app#consumer-2] {SAID}",
        f"2026-11-21 09:07:55.040 | WARNING  | orders.worker:run:31 - MAXPOLL [app#consumer-2] {SAID}",
        f'{{"time":"2026-11-21T09:07:55.040Z","level":"warning","logger":"orders","message":"MAXPOLL [app#consumer-2] {SAID}"}}',
    ],
)
def test_librdkafka_in_its_usual_forms(line: str, tmp_path: Path) -> None:
    (found,) = events(tmp_path / "app.log", line + "\n")

    assert (found["message"], found["client_id"], found["group"]) == ("kafka.librdkafka.poll_timed_out", "app", None)
    assert found["at"] == AT
    assert found["fields"] == '{"client_number":2,"max_poll_interval_ms":300000}'


def test_its_lines_among_those_of_the_application_keep_their_own_clock(tmp_path: Path) -> None:
    """The application's times have no zone and need one; librdkafka's count from the epoch."""
    text = (
        "2026-11-21 10:07:50,040 INFO orders.worker at work\n"
        f"%4|1795252075.040|MAXPOLL|app#consumer-2| {SAID}\n"
        "%3|1795252080.000|FAIL|app#producer-1| [thrd:b:9092/1]: b:9092/1: Connect to ipv4#10.0.0.1:9092 failed\n"
        "2026-11-21 10:08:50,040 INFO orders.worker at work again\n"
    )
    (found,) = events(tmp_path / "app.log", text, "Europe/Berlin")

    assert (found["line"], found["level"], found["at"]) == (2, "WARN", AT)
    assert found["text"] == f"%4|1795252075.040|MAXPOLL|app#consumer-2| {SAID}"


def test_a_line_that_a_broker_thread_is_about_names_the_broker_first(tmp_path: Path) -> None:
    line = 'GroupCoordinator/1: Joining group "orders" with 1 subscribed topic(s) and member id ""'
    (found,) = events(tmp_path / "app.log", f"%7|1795252075.040|JOIN|app#consumer-2| [thrd:main]: {line}\n")

    assert (found["event"], found["group"], found["member_id"], found["client_id"]) == ("ClientJoinSent", "orders", None, "app")


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("2026-11-21 09:07:55,040 WARNING kafka.coordinator Heartbeat poll expired, leaving group", AT),
        ("2026-11-21 09:07:55,040 - kafka.coordinator - WARNING - Heartbeat poll expired, leaving group", AT),
        ("2026-11-21 09:07:55,040 [WARNING] kafka.coordinator: Heartbeat poll expired, leaving group", AT),
        ("2026-11-21 09:07:55,040 WARNING Heartbeat poll expired, leaving group", AT),
        ("WARNING:kafka.coordinator:Heartbeat poll expired, leaving group", None),
        ("2026-11-21 09:07:55,040 kafka.coordinator WARNING Heartbeat poll expired, leaving group", AT),
        (
            '{"asctime":"2026-11-21 09:07:55,040","levelname":"WARNING","name":"kafka.coordinator",'
            '"message":"Heartbeat poll expired, leaving group"}',
            AT,
        ),
    ],
)
def test_kafka_python_in_the_usual_formats(line: str, at: datetime | None, tmp_path: Path) -> None:
    (found,) = events(tmp_path / "app.log", line + "\n")

    assert (found["event"], found["level"], found["at"]) == ("ClientPollTimedOut", "WARN", at)
    assert (found["group"], found["client_id"]) == (None, None)


def test_kafka_python_prints_partitions_as_python_does(tmp_path: Path) -> None:
    head = "2026-11-21 09:07:55,040 INFO kafka.coordinator.consumer "
    said = "Setting newly assigned partitions {TopicPartition(topic='t', partition=0), TopicPartition(topic='t', partition=12)} for group g"
    (found,) = events(tmp_path / "app.log", f"{head}{said}\n")

    assert (found["event"], found["group"], found["fields"]) == ("ClientAssigned", "g", '{"partitions":["t-0","t-12"]}')


# What librdkafka 2.16.0 wrote with `debug=cgrp,consumer` as its application stood still; each line with the event that it is.
LATE = """
%7|1795299493.810|JOINGROUP|app#consumer-2| [thrd:main]: JoinGroup response: GenerationId 3, Protocol range, LeaderId 0x7fa7640087a0, my MemberId 0x7fa764009410, member metadata count 0: (no error)
%7|1795299493.810|CGRPJOINSTATE|app#consumer-2| [thrd:main]: Group "orders" changed join state wait-sync -> wait-assign-call (state up)
%7|1795299493.810|ASSIGNMENT|app#consumer-2| [thrd:main]: Group "orders": setting group assignment to 2 partition(s)
%4|1795299499.920|MAXPOLL|app#consumer-2| [thrd:main]: Application maximum poll interval (6000ms) exceeded by 101ms (adjust max.poll.interval.ms for long-running message processing): leaving group
%7|1795299499.920|LEAVE|app#consumer-2| [thrd:main]: Group "orders": leave (in state up)
%7|1795299499.921|LOST|app#consumer-2| [thrd:main]: Group "orders": current assignment of 2 partition(s) lost: max.poll.interval.ms exceeded: revoking assignment and rejoining
%7|1795299499.921|ASSIGN|app#consumer-2| [thrd:main]: Group "orders": delegating revoke of 2 partition(s) to application on queue rd_kafka_cgrp_new: max.poll.interval.ms exceeded
%7|1795299503.518|JOIN|app#consumer-2| [thrd:main]: 127.0.0.1:33543/3: Joining group "orders" with 1 subscribed topic(s) and member id ""
%7|1795299509.315|CGRPTERM|app#consumer-2| [thrd:main]: Terminating group "orders" in state up with 2 partition(s)
""".strip()  # noqa: E501
LATE_EVENTS = [
    "ClientJoined", "ClientSynced", "ClientAssigned", "ClientPollTimedOut", "ClientLeaveSent", "ClientLost", "ClientRevoked",
    "ClientJoinSent", "ClientClosed",
]  # fmt: skip


def test_what_librdkafka_wrote_of_a_poll_that_came_too_late(tmp_path: Path) -> None:
    found = events(tmp_path / "app.log", LATE + "\n")

    assert [row["event"] for row in found] == LATE_EVENTS
    assert {row["group"] for row in found} == {"orders", None}
    assert {row["client_id"] for row in found} == {"app"}


# What kafka-python 2.2.15 wrote in the same plight.
LATE_IN_PYTHON = """
2026-11-21 22:20:20,321 INFO kafka.coordinator (Re-)joining group orders
2026-11-21 22:20:23,326 INFO kafka.coordinator Successfully joined group orders <Generation 2 (member_id: 0x7fc5f4007f70, protocol: range)>
2026-11-21 22:20:23,326 INFO kafka.coordinator Elected group leader -- performing partition assignments using range
2026-11-21 22:20:23,327 INFO kafka.coordinator.consumer Setting newly assigned partitions {TopicPartition(topic='t', partition=3)} for group orders
2026-11-21 22:20:32,351 WARNING kafka.coordinator.heartbeat Consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the configured max_poll_interval_ms, which typically implies that the poll loop is spending too much time processing messages. You can address this either by increasing max_poll_interval_ms or by reducing the maximum size of batches returned in poll() with max_poll_records.
2026-11-21 22:20:32,351 INFO kafka.coordinator Leaving consumer group (orders).
2026-11-21 22:20:35,247 ERROR kafka.coordinator.consumer Offset commit failed: This is likely to cause duplicate message delivery
Traceback (most recent call last):
  File "consumer.py", line 574, in _maybe_auto_commit_offsets_sync
    self.commit_offsets_sync(self._subscription.all_consumed_offsets(), timeout_ms=timeout_ms)
kafka.errors.CommitFailedError: CommitFailedError: Offset commit cannot be completed since the consumer is not part of an active group
2026-11-21 22:20:35,248 INFO kafka.coordinator.consumer Revoking previously assigned partitions {TopicPartition(topic='t', partition=3)} for group orders
""".strip()  # noqa: E501


def test_what_kafka_python_wrote_of_a_poll_that_came_too_late(tmp_path: Path) -> None:
    found = events(tmp_path / "app.log", LATE_IN_PYTHON + "\n")

    told = ["ClientJoining", "ClientJoined", "ClientNote", "ClientAssigned", "ClientPollTimedOut", "ClientLeaveSent", "ClientCommitFailed"]
    assert [row["event"] for row in found] == [*told, "ClientRevoked"]
    assert (found[1]["generation"], found[1]["member_id"]) == (2, "0x7fc5f4007f70")


MEMBER = "app-1-3f38fe67-4165-4cd5-8c12-0c440c571d4d"
# As franz-go 1.22, Sarama 1.61, kafka-go 0.4, kafkajs 2.2 and aiokafka 0.14 write, each with the event, group, generation and member.
OTHER_LIBRARIES = {
    "franz-go to its basic logger": (
        f"2026-11-25 03:36:48.413 [INFO] joined; group: orders, member_id: {MEMBER}, instance_id: <nil>, generation: 2, leader: false",
        ("ClientJoined", "orders", 2, MEMBER),
    ),
    "franz-go to zap": (
        f'{{"level":"info","ts":1795577808.413,"logger":"kgo","msg":"leaving group","group":"orders","member_id":"{MEMBER}"}}',
        ("ClientLeaveSent", "orders", None, MEMBER),
    ),
    "Sarama to a logger with a prefix": (
        f"[sarama] 2026/11/25 03:36:50 consumergroup/session/{MEMBER}/7 released",
        ("ClientRevoked", None, 7, MEMBER),
    ),
    "kafka-go to Go's log": (
        f"2026/11/25 03:36:46 Joined group search as member {MEMBER} in generation 1",
        ("ClientJoined", "search", 1, MEMBER),
    ),
    "kafkajs by default": (
        '{"level":"WARN","timestamp":"2026-11-25T03:36:51.912Z","logger":"kafkajs","message":"[Runner] The group is rebalancing, '
        f're-joining","groupId":"shipping","memberId":"{MEMBER}","error":"The group is rebalancing, so a rejoin is needed"}}',
        ("ClientHeartbeatRebalancing", "shipping", None, MEMBER),
    ),
    "franz-go to a logger that sorts keys": (
        '{"@service":"benthos","balance_protocol":"cooperative-sticky","generation":7,"group":"orders","instance_id":null,"label":"in",'
        f'"leader":true,"level":"info","member_id":"{MEMBER}","msg":"joined, balancing group","time":"2029-09-08T07:31:41Z"}}',
        ("ClientJoined", "orders", 7, MEMBER),
    ),
    "franz-go to a logger that leaves out what is empty": (
        f'{{"level":"info","ts":1901101274.62,"msg":"joined","group":"orders","member_id":"{MEMBER}","generation":91,"leader":false}}',
        ("ClientJoined", "orders", 91, MEMBER),
    ),
    "Sarama to zap without a name": (
        f'{{"level":"info","ts":1795577808.413,"msg":"consumergroup/session/{MEMBER}/7 released\\n"}}',
        ("ClientRevoked", None, 7, MEMBER),
    ),
    "kafkajs to pino": (
        '{"level":40,"time":1795577811912,"namespace":"Runner","message":"The group is rebalancing, re-joining",'
        f'"extra":{{"groupId":"shipping","memberId":"{MEMBER}","error":"The group is rebalancing, so a rejoin is needed"}}}}',
        ("ClientHeartbeatRebalancing", "shipping", None, MEMBER),
    ),
    "kafkajs at DEBUG": (
        '{"level":"DEBUG","timestamp":"2026-11-25T03:36:51.912Z","logger":"kafkajs","message":"[Connection] Response JoinGroup(key: 11, '
        f'version: 2)","broker":"k:9092","clientId":"app","data":{{"errorCode":0,"generationId":18,"memberId":"{MEMBER}"}}}}',
        ("ClientJoined", None, 18, MEMBER),
    ),
    "librdkafka to node-rdkafka's events": (
        f'{{"severity":4,"time":1795577811912,"fac":"MAXPOLL","message":"{SAID}","name":"app#consumer-2"}}',
        ("ClientPollTimedOut", None, None, None),
    ),
    "librdkafka to rust-rdkafka": (
        f"2026-11-25 03:36:51,912 WARN  rdkafka.client - librdkafka: MAXPOLL {SAID}",
        ("ClientPollTimedOut", None, None, None),
    ),
    "a Connect worker that was busy": (
        "[2026-11-25 03:44:36,567] WARN [Worker clientId=connect-1, groupId=cdc] worker poll timeout has expired. The last known action "
        "being performed by the worker is : reading to the end of internal topics and may contribute to the timeout. Please review the "
        "last action (if known) for any corrective actions. (org.apache.kafka.connect.runtime.distributed.WorkerCoordinator:131)",
        ("ClientPollTimedOut", "cdc", None, None),
    ),
    "a Connect worker with a delay": (
        "[2026-11-25 03:44:37,593] INFO [Worker clientId=w3, groupId=cdc] Joined group at generation 7 with protocol version 2 and got "
        "assignment: Assignment{error=0, leader='w1-979daa1e-b1cf-4609-9b3e-50463c42bc35', leaderUrl='http://127.0.0.1:20561/', offset=9, "
        "connectorIds=[], taskIds=[], revokedConnectorIds=[], revokedTaskIds=[], delay=7998} with rebalance delay: 7998 "
        "(org.apache.kafka.connect.runtime.distributed.DistributedHerder:2651)",
        ("ClientWorkAssigned", "cdc", 7, None),
    ),
    "a thread of Streams": (
        "[2026-11-25 03:48:29,718] INFO stream-thread [enrich-4f1c2a80-0d2e-4c11-9b1e-2f6a1a7c9d10-StreamThread-1] State transition from "
        "RUNNING to PARTITIONS_REVOKED (org.apache.kafka.streams.processor.internals.StreamThread)",
        ("ClientThreadState", "enrich", None, None),
    ),
    "a container of Spring": (
        "2026-11-25T03:48:29.718+01:00  INFO 7 --- [ntainer#0-0-C-1] o.s.k.l.KafkaMessageListenerContainer    : "
        "orders: partitions lost: [t-0]",
        ("ClientLost", "orders", None, None),
    ),
    "ruby-kafka in JSON": (
        '{"level":"ERROR","message":"[[ledger] {rows: 0, 5}:] Error sending heartbeat: Kafka::UnknownMemberId",'
        '"timestamp":"2029-05-17T08:19:20+00:00"}',
        ("ClientHeartbeatFailed", "ledger", None, None),
    ),
    "brod over several lines": (
        "2026-11-25 03:48:29.718 INFO brod_group_coordinator - Group member (trial,coor=<0.312.0>,cb=<0.311.0>,generation=28):\n"
        "failed to join group\nreason: unknown_member_id",
        ("ClientJoinFailed", "trial", 28, None),
    ),
    "aiokafka under Faust, as a table": (
        "2026-11-25 03:48:29,718 INFO aiokafka.consumer.group_coordinator: Setting newly assigned partitions\n"
        "┌Topic Partition Set──┬────────────┐\n│ topic               │ partitions │\n└─────────────────────┴────────────┘ for group pantry",
        ("ClientAssigned", "pantry", None, None),
    ),
    "aiokafka": (
        f"2026-11-25 03:36:52,358 INFO aiokafka.consumer.group_coordinator: Joined group 'shipping' (generation 3) with member_id {MEMBER}",
        ("ClientJoined", "shipping", 3, MEMBER),
    ),
}


@pytest.mark.parametrize("library", OTHER_LIBRARIES)
def test_other_libraries_are_witnesses(library: str, tmp_path: Path) -> None:
    line, expected = OTHER_LIBRARIES[library]
    (found,) = events(tmp_path / "app.log", line + "\n")

    assert (found["event"], found["group"], found["generation"], found["member_id"]) == expected
    assert found["at"] is not None
