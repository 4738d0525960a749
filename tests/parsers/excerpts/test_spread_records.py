"""Records that are spread over lines, or stand in odd headers, are found whole."""

from __future__ import annotations

import json
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest

from parsers.catalogue.catalogue import catalogue
from parsers.formats.time_zones import ZoneConverter
from parsers.records.chunks import parse_chunk
from parsers.records.context import ChunkContext
from tests.conftest import spread
from tests.parsers.excerpts.pieces import in_pieces
from tests.parsers.reading.source_files import one_source, read_bytes

CLIENT = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
ABOUT = "[Consumer instanceId=stock-3, clientId=stock-c3, groupId=stock]"
MEMBER = "stock-3-78f64af1-f96a-41a8-9fb1-b3617104acb3"
SAID = [
    f"{ABOUT} Request joining group due to: need to re-join with the given member-id: {MEMBER}",
    f"{ABOUT} Successfully joined group with generation Generation{{generationId=3, memberId='{MEMBER}', protocol='range'}}",
    f"{ABOUT} Notifying assignor about the new Assignment(partitions=[stock-in-0, stock-in-1])",
]
MESSAGES = ["kafka.client.rejoin_requested", "kafka.client.joined", "kafka.client.assignment_taken_over"]
BEGAN_MS = 1866134518862


def _clock(number: int) -> str:
    return f"18.02.2029 18:41:5{number}.862"


HEADERS = {
    "logger behind": lambda message, number: f"[pod/app-0/app] [{_clock(number)}] INFO {message} ({CLIENT})",
    "logger before": lambda message, number: f"- [{_clock(number)}] [INFO ] [main] {CLIENT} - {message}",
    "logger behind a bar": lambda message, number: f"{_clock(number)} | INFO | {message} | {CLIENT}",
    "named fields": lambda message, number: f'# time="{_clock(number)}" level=info logger={CLIENT} msg="{message}"',
    "named fields alone": lambda message, number: f'time="{_clock(number)}" level=info logger={CLIENT} msg="{message}"',
    "line of a document": lambda message, number: json.dumps(
        {"log": f"[{_clock(number)}] INFO {message} ({CLIENT})\n", "stream": "stdout", "time": f"2029-02-18T18:41:5{number}.862000Z"}
    ),
    "milliseconds": lambda message, number: f"- INFO: {BEGAN_MS + number} {CLIENT}: {message}",
}
WRAPS = {
    "as they are": lambda line: line,
    "at words": lambda line: textwrap.fill(line, 110, break_on_hyphens=False, break_long_words=False),
    "at words, indented": lambda line: textwrap.fill(line, 100, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False),
    "at a width": lambda line: "\n".join(line[at : at + 80] for at in range(0, len(line), 80)),
}
CASES = [(header, wrap) for header in HEADERS for wrap in WRAPS]


def _text(header: str, wrap: str) -> str:
    return "".join(f"{WRAPS[wrap](HEADERS[header](message, number))}\n" for number, message in enumerate(SAID))


@pytest.mark.parametrize(("header", "wrap"), CASES)
def test_spread_records_are_read_whole(tmp_path: Path, header: str, wrap: str) -> None:
    rows = read_bytes(tmp_path, _text(header, wrap).encode()).rows()
    assert [row["message"] for row in rows] == MESSAGES
    assert {row["group"] for row in rows} == {"stock"}
    assert all(row["at"] is not None for row in rows)


@pytest.mark.parametrize(("header", "wrap"), spread([case for case in CASES if case[1] != "as they are"], 4))
def test_the_same_from_chunks_of_any_size(tmp_path: Path, header: str, wrap: str) -> None:
    path = tmp_path / "app.log"
    path.write_text(_text(header, wrap))
    told, data = one_source(path).format, path.read_bytes()
    whole = parse_chunk(data, ChunkContext("a", "a", told, ZoneConverter("UTC"), is_final=True), catalogue())
    for size in (1, 50, 180):
        pieces = list(in_pieces(data, told, size))
        assert [event for each in pieces for event in each.events.to_pylist()] == whole.events.to_pylist()


def test_milliseconds_without_a_name_are_times(tmp_path: Path) -> None:
    rows = read_bytes(tmp_path, _text("milliseconds", "as they are").encode()).rows()
    assert [row["at"] for row in rows] == [datetime.fromtimestamp((BEGAN_MS + number) / 1000, UTC) for number in range(3)]


def test_numbers_of_a_document_begin_no_records(tmp_path: Path) -> None:
    said = {"ts": BEGAN_MS + 1, "client": "a", "msg": "Attempt to join group failed due to fatal error: broken"}
    path = tmp_path / "notes.json"
    path.write_text(json.dumps({"at": [BEGAN_MS], "settings": {"size": "8"}, "seen": [said, {"ts": BEGAN_MS, "client": "b"}]}, indent=1))
    (row,) = read_bytes(tmp_path, path.read_bytes()).rows()
    assert row["at"] == datetime.fromtimestamp((BEGAN_MS + 1) / 1000, UTC)


ENDS = {
    "a last value is empty": (
        "Starting preferred replica leader election for partitions",
        "[Controller id=1] ",
        "kafka.controller.election_started",
    ),
    "an ellipsis behind a word": (
        "{topic} Rebalance changed, also update version: 1795253858955, 1795253901188…",
        "",
        "rocketmq.client.version_raised",
    ),
    "an address in brackets": (
        "client/coordinator coordinator for inventory is #1 (127.0.0.1:20511)",
        "",
        "kafka.sarama.coordinator_found",
    ),
    "a request": (
        "Processor 1 received request: RequestHeader(apiKey=FIND_COORDINATOR, apiVersion=1, clientId=lab-admin, correlationId=174) -- "
        "{coordinator_key=inventory-x,coordinator_type=0} (kafka.network.RequestChannel$)",
        "",
        "kafka.request.received",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_odd_messages_are_read_behind_any_header(tmp_path: Path, name: str) -> None:
    message, prefix, expected = ENDS[name]
    lines = [f"[18:41] ops-anna: 2029-02-18 18:41:5{number},100 INFO {prefix}{message.replace('{topic}', 'orders')}" for number in range(3)]
    assert [row["message"] for row in read_bytes(tmp_path, "\n".join(lines).encode()).rows()] == [expected] * 3


def test_what_stands_behind_half_of_the_lines_does_not_hide_them(tmp_path: Path) -> None:
    lines = [f"2029-02-18 18:41:5{number}.862  INFO 4711 --- [ main] {CLIENT} : {message}" for number, message in enumerate(SAID)]
    rows = read_bytes(tmp_path, "\n".join([*lines[:2], f"{lines[2]}…"]).encode()).rows()
    assert [row["message"] for row in rows] == MESSAGES
