"""Loggers of programs around a client library's lines: each form is read with its level and its time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.parsers.reading.source_files import read_bytes

GROUP = "ledger-sync"
JAVA = f"[Consumer clientId=app-1, groupId={GROUP}] Attempt to heartbeat failed since group is rebalancing"
JOINING = f"[Consumer clientId=app-1, groupId={GROUP}] (Re-)joining group"
PYTHON = f"Heartbeat failed for group {GROUP} because it is rebalancing"
RUNNER = "[Runner] The group is rebalancing, re-joining"
NEEDED = "The group is rebalancing, so a rejoin is needed"
NANOS = 40_000_000
FIRST = "2026-11-21T09:07:55.040Z"
WHOLE = "2026-11-21T09:07:55.000Z"


def _line(**fields: object) -> str:
    return json.dumps(fields)


LOGGERS = {
    "bunyan's command": (
        f'[{FIRST}]  WARN: orders/21 on web-1: {RUNNER} (groupId={GROUP}, memberId=m-1, error="{NEEDED}")',
        f"[2026-11-21T09:07:58.103Z]  INFO: orders/21 on web-1: [Consumer] Stopped (groupId={GROUP})",
        "WARN",
        FIRST,
    ),
    "pino-pretty to 7": (
        f'[1795252075040] WARN (21 on web-1): {RUNNER}\n    groupId: "{GROUP}"\n    memberId: "m-1"\n    error: "{NEEDED}"',
        f'[1795252078103] INFO (21 on web-1): [Consumer] Stopped\n    groupId: "{GROUP}"',
        "WARN",
        FIRST,
    ),
    "a document around kafkajs's": (
        _line(
            level="warn",
            msg="kafkajs",
            log={"timestamp": FIRST, "logger": "kafkajs", "message": RUNNER, "groupId": GROUP, "memberId": "m-1", "error": NEEDED},
        ),
        _line(
            level="info", msg="kafkajs", log={"timestamp": FIRST, "logger": "kafkajs", "message": "[Consumer] Stopped", "groupId": GROUP}
        ),
        "WARN",
        FIRST,
    ),
    "fern": (
        f"[2026-11-21][09:07:55][rdkafka::client][WARN] {JAVA}",
        f"[2026-11-21][09:07:58][rdkafka::client][INFO] {JOINING}",
        "WARN",
        WHOLE,
    ),
    "logrus on a terminal, with times": (
        f'WARN[2026-11-21T09:07:55Z] heartbeat errored                  err="REBALANCE_IN_PROGRESS: {NEEDED}." group={GROUP}',
        f"INFO[2026-11-21T09:07:58Z] joining group                      group={GROUP}",
        "WARN",
        WHOLE,
    ),
    "log15": (
        f't=2026-11-21T09:07:55+0000 lvl=warn msg="joining group" group={GROUP}',
        f't=2026-11-21T09:07:58+0000 lvl=info msg="joining group" group={GROUP}',
        "WARN",
        WHOLE,
    ),
    "structlog's pairs": (
        f"event='{PYTHON}' level='warning' logger='kafka.coordinator' timestamp='{FIRST}'",
        f"event='(Re-)joining group {GROUP}' level='info' logger='kafka.coordinator' timestamp='2026-11-21T09:07:58.103Z'",
        "WARN",
        FIRST,
    ),
    "Google Cloud's layout for Java": (
        _line(logger="x.y.ConsumerCoordinator", message=JAVA, severity="WARN", timestampSeconds=1795252075, timestampNanos=NANOS),
        _line(logger="x.y.ConsumerCoordinator", message=JOINING, severity="INFO", timestampSeconds=1795252078, timestampNanos=NANOS),
        "WARN",
        FIRST,
    ),
    "Serilog's compact form": (
        _line(**{"@t": FIRST, "@mt": "{Message}", "@l": "Warning", "@r": [JAVA], "Message": JAVA}),
        _line(**{"@t": FIRST, "@mt": "{Message}", "@r": [JOINING], "Message": JOINING}),
        None,
        FIRST,
    ),
    "Serilog's rendered form": (
        _line(Timestamp=FIRST, Level="Warning", MessageTemplate="{Text}", RenderedMessage=JAVA, Properties={"Text": JAVA}),
        _line(Timestamp=FIRST, Level="Information", MessageTemplate="{Text}", RenderedMessage=JOINING, Properties={"Text": JOINING}),
        None,
        FIRST,
    ),
    "the JSON console of .NET": (
        _line(Timestamp=FIRST, LogLevel="Warning", Category="App.Worker", Message=JAVA, State={"Message": JAVA, "{OriginalFormat}": JAVA}),
        _line(Timestamp=FIRST, LogLevel="Information", Category="App.Worker", Message=JOINING, State={"Message": JOINING}),
        None,
        FIRST,
    ),
    "GELF with a full message": (
        _line(version="1.1", short_message=JAVA[:60], full_message=JAVA, timestamp=1795252075.04, level=4),
        _line(version="1.1", short_message=JOINING[:40], full_message=JOINING, timestamp=1795252078.103, level=6),
        None,
        FIRST,
    ),
}


@pytest.mark.parametrize("name", LOGGERS)
def test_each_record_is_read_once(tmp_path: Path, name: str) -> None:
    first, second, level, at = LOGGERS[name]
    rows = read_bytes(tmp_path, f"{first}\n{second}\n".encode()).rows()

    assert len(rows) == 2, rows
    assert {row["group"] for row in rows} == {GROUP}
    assert f"{rows[0]['at']:%Y-%m-%dT%H:%M:%S.%f}"[:23] + "Z" == at
    if level is not None:
        assert rows[0]["level"] == level


@pytest.mark.parametrize(
    "fields",
    [
        ['"time":"{}"', '"msg":"{}"'],
        ['"msg":"{}"', '"time":"{}"'],
        ["msg='{1}'", "timestamp='{0}'"],
        ['text="{1}"', "ts={0}"],
    ],
)
def test_a_time_behind_a_message_is_that_of_its_own_line(tmp_path: Path, fields: Sequence[str]) -> None:
    times = [f"2026-11-21T09:07:5{second}.000Z" for second in range(3)]
    values = {"time": times, "msg": [JOINING, JAVA, JOINING]}

    def line(number: int) -> str:
        both = (times[number], values["msg"][number])
        return "app " + " ".join(
            field.format(both[1] if "msg" in field else both[0], both[1]) if "{}" in field else field.format(*both) for field in fields
        )

    rows = read_bytes(tmp_path, "".join(f"{line(number)}\n" for number in range(3)).encode()).rows()

    assert [f"{row['at']:%Y-%m-%dT%H:%M:%S.%f}"[:23] + "Z" for row in rows] == times
