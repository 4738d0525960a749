"""What client libraries say, behind words of the programs around them or without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parsers.reading.source_files import read_bytes

RED, PLAIN = "\x1b[31m", "\x1b[39m"
LATE = (
    "Application maximum poll interval (300000ms) exceeded by 346ms "
    "(adjust max.poll.interval.ms for long-running message processing): leaving group"
)
RUNNER = "[Runner] The group is rebalancing, re-joining"
MEMBER = '"logger":"kafkajs","groupId":"mill","memberId":"mill-aa1","error":"The group is rebalancing, so a rejoin is needed"}'
VALUES = f'{{"timestamp":"2029-04-02T10:15:13.021Z",{MEMBER}'
RECORD = f'{{"level":"WARN","timestamp":"%s","message":"{RUNNER}",{MEMBER}'
NEST = f"{RED}[Nest] 29  - {PLAIN}04/02/2029, 10:15:13 AM {RED}  WARN{PLAIN} "
ESCAPED = VALUES.replace('"', '\\"')

LINES = {
    "rust-rdkafka without a logger": f"librdkafka: MAXPOLL [thrd:main]: {LATE}",
    "rust-rdkafka by tracing": f"  Apr 02 10:15:13.807  WARN librdkafka: librdkafka: MAXPOLL [thrd:main]: {LATE}",
    "a level and the thread": f"2029-04-02 10:15:13,433 WARN [thrd:main]: {LATE}",
    "a table and the facility": f"2029.04.02 10:15:13.096987 [ 3 ] {{}} <Warning> StorageKafka (mill): [rdk:MAXPOLL] [thrd:main]: {LATE}",
    "a table, the client and the facility": (
        f"2029.04.02 10:15:13.096987 [ 3 ] {{}} <Warning> StorageKafka (mill): [client-id:mill-1] [rdk:MAXPOLL] [thrd:main]: {LATE}"
    ),
    "a line of an object's values": f"LogMessage {{\n  Facility = MAXPOLL\n  Message = [thrd:main]: {LATE}\n}}",
    "kafkajs by winston": f'2029-04-02T10:15:13.021Z [mill] warn: {RUNNER} {{"groupId":"mill","memberId":"mill-aa1","error":"x"}}',
    "fields before the message": f"W0402 10:15:13.694190   367 ] topic=bolts, lvl=4, facility=MAXPOLL, msg=[thrd:main]: {LATE}",
    "kafkajs by NestJS in colours": f"{NEST}{RED}WARN {RUNNER} {VALUES}{PLAIN}",
    "kafkajs within a field": f'{{"loglevel":"warn","msg":"WARN {RUNNER} {ESCAPED}"}}',
    "a record at the end of a sentence": RECORD % "2029-04-02T10:15:13.021Z" + ".",
    "a record whose time was made unreadable": RECORD % "XXXX",
}


@pytest.mark.parametrize("behind", [".", "", "**", ".**"])
def test_a_full_stop_may_be_lost(tmp_path: Path, behind: str) -> None:
    line = f"**2029-04-02 10:15:13,310 - INFO - Leaving consumer group (mill){behind}\n"
    assert [row["group"] for row in read_bytes(tmp_path, line.encode()).rows()] == ["mill"]


@pytest.mark.parametrize("name", LINES)
def test_are_recognised(tmp_path: Path, name: str) -> None:
    rows = read_bytes(tmp_path, LINES[name].encode() + b"\n").rows()
    message = "librdkafka.poll_timed_out" if LATE in LINES[name] else "kafkajs.heartbeat_rebalancing"
    assert [row["message"] for row in rows] == [f"kafka.{message}"]


SLOG = """time=2029-04-02T10:15:01.120Z level=INFO msg="joining group" group=mill
time=2029-04-02T10:15:04.125Z level=INFO msg=joined group=mill member_id=kgo-1 instance_id=<nil> generation=12 leader=false
time=2029-04-02T10:15:04.129Z level=INFO msg=synced group=mill assigned="bolts[0 1]"
"""
AIOKAFKA = '"level": "info", "logger": "aiokafka.consumer.group_coordinator", "timestamp": "2029-04-02T10:15:0'
STRUCTLOG = (
    f'{{"event": "(Re-)joining group mill", {AIOKAFKA}1Z"}}\n'
    f'{{"event": "Joined group \'mill\' (generation 12) with member_id mill-aa1", {AIOKAFKA}4Z"}}\n'
)
SERVICE = (
    '{"level":"INFO","timestamp":"2029-04-02 10:15:04,906","message":{"leaderId":"bolt-1","generationId":"3","reason":'
    '"Assignment received from leader for group mill for generation 3","groupId":"mill","coordinatorId":"7","type":"END_REBALANCE"}}\n'
)
LIBERTY = (
    "[04/02/29, 10:15:04:123 CET] 0000002a org.apache.kafka.clients.consumer.internals.ConsumerCoordinator I "
    "[Consumer clientId=bolt-1, groupId=mill] (Re-)joining group\n"
)


@pytest.mark.parametrize(("text", "lines"), [(SLOG, 3), (STRUCTLOG, 2), (SERVICE, 1), (LIBERTY, 1)])
def test_are_recognised_as_a_host_writes_them(tmp_path: Path, text: str, lines: int) -> None:
    rows = read_bytes(tmp_path, text.encode()).rows()
    assert [(row["group"], str(row["at"])[:16]) for row in rows] == [("mill", "2029-04-02 10:15")] * lines


HEAD = "group coordinator (groupId=mill,memberId=,generation=11,pid=#PID<0.263.0>):"
FOREMAN = f"""10:15:01 AM bolts.1 |  {HEAD}
10:15:01 AM bolts.1 |  failed to join group
10:15:01 AM bolts.1 |  reason::timeout
10:15:02 AM bolts.1 |  {HEAD}
10:15:02 AM bolts.1 |  re-joining group, reason::timeout
"""


def test_a_process_managers_prefix_parts_no_record(tmp_path: Path) -> None:
    rows = read_bytes(tmp_path, FOREMAN.encode()).rows()
    assert [row["message"] for row in rows] == ["kafka.brod.join_failed", "kafka.brod.rejoin_requested"]
    assert [(row["group"], str(row["at"])[11:19]) for row in rows] == [("mill", "10:15:01"), ("mill", "10:15:02")]


# -- errors that programs tell ---------------------------------------------------------------------------------------

LATE_TOLD = "Local: Maximum application poll interval (max.poll.interval.ms) exceeded"
REFUSED = "Offset commit cannot be completed since the consumer is not part of an active group for auto partition assignment"
GONE = "kafka server: The provided member is not known in the current generation"
TOLD = {
    "a program's own words": f"2029-04-02 10:15:13,356 [1] INFO mill.Program - Ended:{LATE_TOLD}",
    "words without any header": f'(try 1/10): Error for topic="bolts": {LATE_TOLD}',
    "a stack trace": (
        "2029-04-02 10:15:13,753 [main] ERROR mill.Listener - Error while processing\n\n"
        f"org.apache.kafka.clients.consumer.CommitFailedException: {REFUSED}\n\tat mill.Listener.run(Listener.java:12)"
    ),
    "a document's other field": f'{{"level":"error","ts":1869646513.1,"msg":"Error consuming","error":"{GONE}"}}',
    "keys and values": f'time="2029-04-02T10:15:13Z" level=error msg="Error consuming [bolts]. Retrying...: {GONE}" scope=mill',
    "a line of no known layout": f"[02/04/29 10:15:13:216 BST] 0000003e mill.Input  W X1001W: The error is: mill.CommitFailed: {REFUSED}.",
}


@pytest.mark.parametrize("name", TOLD)
def test_errors_told_by_programs_are_heard(tmp_path: Path, name: str) -> None:
    rows = read_bytes(tmp_path, TOLD[name].encode() + b"\n").rows()
    assert [(row["event"], row["group"], row["client_id"]) for row in rows] == [("ClientErrorReported", None, None)]


def test_an_error_in_a_librarys_own_message_is_part_of_it(tmp_path: Path) -> None:
    line = f"2029/04/02 10:15:13 kafka: error while consuming bolts/3: {GONE}\n"
    assert [row["message"] for row in read_bytes(tmp_path, line.encode()).rows()] == ["kafka.sarama.consumption_failed"]


def test_what_a_document_holds_in_other_fields_is_read_with_its_level(tmp_path: Path) -> None:
    first = '{"level":"info","component":"bus","time":"2029-04-02T10:15:11Z","message":"consumer/broker/2 added subscription to bolts/0"}'
    second = f'{{"level":"error","error":"kafka: error while consuming bolts/3: {GONE}","time":"2029-04-02T10:15:13Z","message":"failed"}}'
    rows = read_bytes(tmp_path, f"{first}\n{second}\n".encode()).rows()
    assert rows[-1]["message"] == "kafka.sarama.consumption_failed"
    assert str(rows[-1]["at"])[:19] == "2029-04-02 10:15:13"
