"""Lists of many items on one line, as exports in compact form: each item is read as if it had a line of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.parsers.reading.source_files import read_bytes

STARTED_MS = 1795252075040
COUNT = 1200
LINES = [
    f"[2026-11-21 09:{7 + number // 60:02d}:{number % 60:02d},040] INFO [GroupCoordinator 3]: Stabilized group ledger-sync "
    f"generation {number} (__consumer_offsets-7) with 3 members (kafka.coordinator.group.GroupCoordinator)"
    for number in range(COUNT)
]
TRACE = "\n\tat kafka.Kafka.main(Kafka.scala)"

Export = Callable[[Sequence[str]], str]
EXPORTS: dict[str, Export] = {
    "Elasticsearch": lambda lines: json.dumps({"hits": {"hits": [{"_index": "i", "_source": {"message": line}} for line in lines]}}),
    "CloudWatch": lambda lines: json.dumps({"events": [{"timestamp": STARTED_MS, "message": line} for line in lines]}),
    "Loki": lambda lines: json.dumps({"streams": [{"stream": {"a": "b"}, "values": [[f"{STARTED_MS}000000", line] for line in lines]}]}),
    "OpenTelemetry": lambda lines: json.dumps(
        {
            "resourceLogs": [
                {
                    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "kafka"}}]},
                    "scopeLogs": [
                        {"logRecords": [{"timeUnixNano": f"{STARTED_MS}000000", "body": {"stringValue": line}} for line in lines]}
                    ],
                }
            ]
        }
    ),
    "Firehose": lambda lines: "".join(
        json.dumps({"messageType": "DATA_MESSAGE", "logEvents": [{"id": "3", "message": line} for line in part]})
        for part in (lines[:1], lines[1:])
    ),
    "documents without a break": lambda lines: "".join(json.dumps({"time": STARTED_MS / 1000, "host": "h", "log": line}) for line in lines),
    "no blanks": lambda lines: json.dumps([{"insertId": "a", "textPayload": line} for line in lines], separators=(",", ":")),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_each_item_of_a_line_is_read(tmp_path: Path, name: str) -> None:
    data = EXPORTS[name](LINES).encode()
    found = read_bytes(tmp_path, data)

    assert [row["generation"] for row in found.rows()] == list(range(COUNT))
    assert [f"{row['at']:%H:%M:%S}" for row in found.rows()] == [line[12:20] for line in LINES]
    assert len({row["byte_offset"] for row in found.rows()}) == COUNT
    assert {row["line"] for row in found.rows()} == {1}
    assert found.report.bytes_read == len(data)
    assert read_bytes(tmp_path, data, chunk_bytes=4096).events.equals(found.events)


@pytest.mark.parametrize("name", EXPORTS)
def test_lines_of_an_item_stay_together(tmp_path: Path, name: str) -> None:
    found = read_bytes(tmp_path, EXPORTS[name]([LINES[0] + TRACE, LINES[1]]).encode())

    assert [row["generation"] for row in found.rows()] == [0, 1]
    assert [row["text"].endswith(TRACE.lstrip()) for row in found.rows()] == [True, False]


def test_what_is_too_long_to_be_searched_is_rejected(tmp_path: Path) -> None:
    data = f"pasted: {' | '.join(LINES)}\n".encode()
    found = read_bytes(tmp_path, data)

    assert found.events.num_rows > 1
    assert [row["reason"] for row in found.rejected.to_pylist()] == ["beyond the first 65536 characters of a record"]
    counts = found.report.counts
    assert counts.bytes_recognised + counts.bytes_rejected + counts.bytes_unknown + counts.bytes_ignored == len(data)
