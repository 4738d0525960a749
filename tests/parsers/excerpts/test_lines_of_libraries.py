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
