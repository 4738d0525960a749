"""The same records come out of a log, however it was written, shipped, exported or pasted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LONG
from tests.parsers.reading.source_files import MEANING, Reading, Row, read_bytes
from tests.parsers.rendering import (
    Document,
    Record,
    Render,
    csv_rows,
    document,
    each_line,
    encoded,
    json_lines,
    layout,
    plain_lines,
    sample_records,
    stamp,
    whole,
)

HOSTILE = 'grüße, "a" \\ [b] | c;d <e>'
RECORDS = sample_records()
# The same with a group whose name needs escapes in JSON, CSV and shells.
RENAMED = [replace(record, message=record.message.replace("email-sender-h", HOSTILE)) for record in RECORDS]

LAYOUTS = {
    "kafka": "[{day} {time},{ms}] {level} {message} ({logger})",
    "kafka_connect": "[{day} {time},{ms}] {level} {message} ({logger}:540)",
    "strimzi": "{day} {time},{ms} {level} {message} ({logger}) [{thread}]",
    "kafka_thread_before_message": "[{day} {time},{ms}] {level} [{thread}] {message} ({logger})",
    "kafka_thread_before_level": "[{day} {time},{ms}] [{thread}] {level} {message} ({logger})",
    "kafka_thread_last": "[{day} {time},{ms}] {level} {message} ({logger}) [{thread}]",
    "kafka_level_in_brackets": "[{day} {time},{ms}] [{level}] {message} ({logger})",
    "iso_dot": "{day} {time}.{ms} {level} {message} ({logger})",
    "iso_t": "[{day}T{time}.{ms}] {level} {message} ({logger})",
    "iso_utc": "{day}T{time}.{ms}Z {level} {message} ({logger})",
    "iso_offset": "[{east}.{ms}+0200] {level} {message} ({logger})",
    "iso_offset_with_colon": "{east},{ms}+02:00 {level} [{thread}] {logger} - {message}",
    "thread_level_logger": "{day} {time},{ms} [{thread}] {level:5} {logger} - {message}",
    "thread_level_segment": "{day} {time}.{ms} [{thread}] {level:5} {segment} - {message}",
    "level_thread_logger": "{day} {time},{ms} {level:5} [{thread}] {logger} - {message}",
    "level_thread_logger_colon": "{day} {time},{ms} {level:5} [{thread}] {logger}: {message}",
    "level_logger_thread": "{day} {time},{ms} {level} {logger} [{thread}] {message}",
    "level_logger_thread_dash": "{day} {time},{ms} {level} {logger} [{thread}] - {message}",
    "level_logger_dash": "{day} {time},{ms} {level} {logger} - {message}",
    "level_logger_colon": "{day} {time},{ms} {level} {logger}: {message}",
    "level_logger_line": "{day} {time},{ms} {level} {segment}:540 - {message}",
    "level_in_brackets_thread_logger": "{day} {time},{ms} [{level}] [{thread}] {logger} - {message}",
    "all_in_brackets": "[{day} {time},{ms}] [{level:5}] [{thread}] {logger} - {message}",
    "all_in_brackets_thread_first": "[{day} {time},{ms}] [{thread}] [{level}] {logger} - {message}",
    "dashes": "{day} {time},{ms} - {level} - {logger} - {message}",
    "dropwizard": "{level:5} [{day} {time},{ms}] {logger}: {message}",
    "level_first": "{level:5} {day} {time},{ms} [{thread}] {logger} - {message}",
    "thread_first": "[{thread}] {day} {time},{ms} {level} {logger} - {message}",
    "spring_boot": "{day} {time}.{ms}  {level:5} 4711 --- [{thread:>15.15}] {logger} : {message}",
    "spring_boot_3": "{day}T{time}.{ms}Z  {level:5} 4711 --- [orders] [{thread:>15}] {logger} : {message}",
    "quarkus": "{day} {time},{ms} {level:5} [{logger}] ({thread}) {message}",
    "log4j_date": "{worded_day} {time},{ms} [{thread}] {level} {logger} - {message}",
    "slashes": "{slashes} {time}.{ms} [{thread}] {level} {logger} - {message}",
    "spark": "{short_day} {time} {level} {segment}: {message}",
    "epoch_millis": "{millis} [{thread}] {level} {logger} - {message}",
}
UNDATED = {
    "logback": "{time}.{ms} [{thread}] {level:5} {logger} - {message}",
    "hours_only": "{time},{ms} {level} {logger} - {message}",
    "hours_in_brackets": "[{time},{ms}] {level} {message} ({logger})",
}
UNTIMED = {
    "kafka_no_time": "{level} {message} ({logger})",
    "level_in_brackets": "[{level}] {message} ({logger})",
    "slf4j_simple": "[{thread}] {level} {logger} - {message}",
    "ttcc": "512 [{thread}] {level} {logger} - {message}",
    "level_logger": "{level} {logger} - {message}",
}
ENVELOPES = {
    "cri": "{exact} stdout F {line}",
    "docker compose": "kafka-1  | {line}",
    "kubectl --prefix": "[pod/kafka-0/kafka] {line}",
    "kubectl --timestamps": "{exact} {line}",
    "stern": "kafka-0 kafka {line}",
    "syslog": "{at:%b %d %H:%M:%S} host1 kafka[77]: {line}",
    "syslog RFC 5424": "<134>1 {stamp} host1 kafka 77 - - {line}",
    "rsyslog": "{exact} host1 kafka[77]: {line}",
    "journalctl short-full": "{at:%a %Y-%m-%d %H:%M:%S} UTC host1 kafka[77]: {line}",
    "journalctl short-unix": "{unix} host1 kafka[77]: {line}",
    "aws logs tail": "{exact} ecs/kafka/0123 {line}",
    "grep -n": "{number}{mark}{line}",
    "grep -H": "logs/broker-1/server.log:{line}",
    "grep -Hn": "logs/broker-1/server.log:{number}:{line}",
    "cat -n": "{number:6}\t{line}",
    "mail": "> > {line}",
    "list": "- {line}",
    "chat": "`{line}`",
    "code block": "    {line}",
    "compose over docker": "kafka-1  | {exact} {line}",
    "syslog of coloured lines": "{at:%b %d %H:%M:%S} host1 kafka[77]: \x1b[32m{line}\x1b[0m",
}
DOCUMENTS: dict[str, Render] = {
    "colours": each_line(lambda line, _: f"\x1b[32m{line[:11]}\x1b[0;39m{line[11:]}\x1b[m"),
    "docker json-file": each_line(lambda line, r: _json(log=line + "\n", stream="stdout", time=stamp(r, "microseconds"))),
    "journalctl json": each_line(lambda line, r: _json(__REALTIME_TIMESTAMP=f"{r.at.timestamp() * 1e6:.0f}", _PID="77", MESSAGE=line)),
    "log4j2 JsonLayout": json_lines(
        lambda r: {
            "instant": {"epochSecond": int(r.at.timestamp()), "nanoOfSecond": r.at.microsecond * 1000},
            "thread": r.thread,
            "level": r.level,
            "loggerName": r.logger,
            "message": r.message,
            "endOfBatch": False,
        }
    ),
    "Elastic Common Schema": json_lines(
        lambda r: {"@timestamp": stamp(r), "log.level": r.level, "message": r.message, "log.logger": r.logger, "ecs.version": "1.2.0"}
    ),
    "Logstash": json_lines(
        lambda r: {"@timestamp": stamp(r), "message": r.message, "logger_name": r.logger, "thread_name": "t", "level": r.level}
    ),
    "NDJSON of raw lines": json_lines(lambda r: {"_time": stamp(r), "host": "b1", "_raw": whole(r)}),
    "NDJSON of a search": json_lines(lambda r: {"_source": {"@timestamp": stamp(r), "message": whole(r)}}),
    "NDJSON of a cloud": json_lines(lambda r: {"timestamp": stamp(r), "severity": "INFO", "textPayload": whole(r)}),
    "CSV": csv_rows("_time,host,_raw", lambda r: [stamp(r), "b1", whole(r)]),
    "CSV with semicolons": csv_rows("@timestamp;message;host", lambda r: [stamp(r), whole(r), "b1"], ";"),
    "TSV": csv_rows("message\thost", lambda r: [whole(r), "b1"], "\t"),
    "CSV of one column": csv_rows("message", lambda r: [whole(r)]),
}
ENCODINGS: dict[str, Render] = {
    "CRLF": encoded("utf-8", "\r\n"),
    "BOM": encoded("utf-8", bom=b"\xef\xbb\xbf"),
    "UTF-16 little": encoded("utf-16-le", "\r\n", b"\xff\xfe"),
    "UTF-16 big": encoded("utf-16-be", bom=b"\xfe\xff"),
    "UTF-16 without BOM": encoded("utf-16-le"),
}


FORMS: dict[str, Render] = {**{name: each_line(pattern) for name, pattern in ENVELOPES.items()}, **DOCUMENTS, **ENCODINGS}


def _json(**fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Reading]:
    """The readings of Kafka's own layout, which all others are held to."""
    folder = tmp_path_factory.mktemp("plain")
    return {
        id(records): read_bytes(folder, layout(LAYOUTS["kafka"])(records).data, f"{number}.log")
        for number, records in enumerate((RECORDS, RENAMED))
    }


def expected_places(told: dict[int, Reading], records: Sequence[Record], made: Document) -> list[tuple[int, int]]:
    """Places of the recognised records in a document."""
    plain = layout(LAYOUTS["kafka"])(records).places
    where = {place: number for number, place in enumerate(plain)}
    return [made.places[where[row["line"], row["byte_offset"]]] for row in told[id(records)].rows("line", "byte_offset")]


def check(folder: Path, told: dict[int, Reading], records: Sequence[Record], made: Document) -> Reading:
    """The same meanings at the places where they stand, nothing rejected, and the same when the file is cut for reading."""
    found = read_bytes(folder, made.data)
    assert found.meanings() == told[id(records)].meanings()
    assert [(row["line"], row["byte_offset"]) for row in found.rows("line", "byte_offset")] == expected_places(told, records, made)
    assert found.rejected.num_rows == 0
    assert found.report.bytes_read == len(made.data)
    again = read_bytes(folder, made.data, chunk_bytes=4096)
    assert again.events.equals(found.events)
    return found


def times(reading: Reading) -> list[Any]:
    return [row["at"] for row in reading.rows("at")]


def test_the_records_tell_enough(told: dict[int, Reading]) -> None:
    events = {row["event"] for row in told[id(RECORDS)].meanings()}

    assert {"RebalanceStarted", "GenerationStarted", "ClientJoined", "CoordinatorDiscovered"} <= events or len(events) >= 8, events
    assert any(record.more for record in RECORDS)
    assert any(row["group"] == HOSTILE for row in told[id(RENAMED)].meanings())


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(tmp_path: Path, told: dict[int, Reading], name: str) -> None:
    found = check(tmp_path, told, RECORDS, layout(LAYOUTS[name])(RECORDS))

    exact = times(told[id(RECORDS)])
    assert times(found) == ([at.replace(microsecond=0) for at in exact] if name == "spark" else exact)
    assert {row["level"] for row in found.rows("level")} <= {"INFO", "WARN", "DEBUG", "ERROR"}
    if "{thread" in LAYOUTS[name]:
        assert {row["thread"] for row in found.rows("thread")} == {"main"}


@pytest.mark.parametrize("name", UNDATED)
def test_times_without_a_date_keep_order_and_durations(tmp_path: Path, told: dict[int, Reading], name: str) -> None:
    found = check(tmp_path, told, RECORDS, layout(UNDATED[name])(RECORDS))

    exact = times(told[id(RECORDS)])
    assert [at - times(found)[0] for at in times(found)] == [at - exact[0] for at in exact]
    assert {at.year for at in times(found)} == {1970}


def test_times_without_a_date_go_on_over_midnight(tmp_path: Path) -> None:
    line = "{} INFO kafka.coordinator.group.GroupCoordinator - [GroupCoordinator 1]: Group g with generation 5 is now empty ({})\n"
    hours = ("23:59:59,900", "00:00:00,100", "00:00:01,100")
    found = read_bytes(tmp_path, "".join(line.format(hour, "__consumer_offsets-1") for hour in hours).encode())

    assert [(later - times(found)[0]).total_seconds() for later in times(found)] == [0, 0.2, 1.2]


@pytest.mark.parametrize("name", UNTIMED)
def test_records_without_a_time_keep_their_order(tmp_path: Path, told: dict[int, Reading], name: str) -> None:
    found = check(tmp_path, told, RECORDS, layout(UNTIMED[name])(RECORDS))

    assert set(times(found)) == {None}


@pytest.mark.parametrize("records", [pytest.param(RECORDS, id="as written"), pytest.param(RENAMED, id="with a hostile group", marks=LONG)])
@pytest.mark.parametrize("name", FORMS)
def test_envelopes_documents_and_encodings(tmp_path: Path, told: dict[int, Reading], name: str, records: list[Record]) -> None:
    assert times(check(tmp_path, told, records, FORMS[name](records))) == times(told[id(records)])


def test_an_envelope_gives_the_time_that_a_line_lacks(tmp_path: Path, told: dict[int, Reading]) -> None:
    made = document(["{} stdout F {}\n".format(stamp(r), UNTIMED["kafka_no_time"].format(**r.words)).encode() for r in RECORDS])

    found = read_bytes(tmp_path, made.data)
    assert found.meanings() == told[id(RECORDS)].meanings()
    assert times(found) == times(told[id(RECORDS)])


def test_a_line_in_several_cri_envelopes_is_one(tmp_path: Path, told: dict[int, Reading]) -> None:
    pieces = []
    for record in RECORDS:
        lines = plain_lines(record)
        parts = [(lines[0][:60], "P"), (lines[0][60:110], "P"), (lines[0][110:], "F"), *((line, "F") for line in lines[1:])]
        pieces.append("".join(f"{stamp(record)} stdout {flag} {text}\n" for text, flag in parts).encode())
    made = document(pieces)

    check(tmp_path, told, RECORDS, made)


@pytest.mark.parametrize("width", [80, 120])
def test_lines_wrapped_by_a_terminal_are_joined_or_marked(tmp_path: Path, told: dict[int, Reading], width: int) -> None:
    pieces = []
    for record in RECORDS:
        line = plain_lines(record)[0]
        pieces.append("".join(f"{line[at : at + width]}\n" for at in range(0, len(line), width)).encode())
    made = document(pieces)
    found = read_bytes(tmp_path, made.data)

    by_line = dict(zip(expected_places(told, RECORDS, made), told[id(RECORDS)].meanings(), strict=True))
    told_rows = [(row["line"], row["byte_offset"]) for row in found.rows("line", "byte_offset")]
    whole = [row for row in found.rows() if not row["truncated"]]
    assert len(whole) >= 0.9 * len(by_line)
    for row in whole:
        assert {name: row[name] for name in MEANING} == by_line[row["line"], row["byte_offset"]]
    rejected = {(row["line"], row["byte_offset"]) for row in found.rejected.to_pylist()}
    assert set(by_line) <= {*told_rows, *rejected}


def test_lines_cut_by_a_terminal_are_marked_or_rejected(tmp_path: Path, told: dict[int, Reading]) -> None:
    made = document([f"{plain_lines(record)[0][:140]}\n".encode() for record in RECORDS])
    found = read_bytes(tmp_path, made.data)

    meant = dict(zip(expected_places(told, RECORDS, made), told[id(RECORDS)].rows(), strict=True))
    seen: dict[tuple[int, int], Row] = {(row["line"], row["byte_offset"]): row for row in found.rows()}
    rejected = {(row["line"], row["byte_offset"]): row["reason"] for row in found.rejected.to_pylist()}
    # Of a broker's line about connections the words may be lost by which it is known; those of groups come early.
    assert [row["text"] for place, row in meant.items() if place not in seen and place not in rejected and row["group"]] == []
    assert set(rejected.values()) == {"cut line"}
    lengths = {place: len(plain_lines(record)[0]) for place, record in zip(made.places, RECORDS, strict=True)}
    for place, row in seen.items():
        assert row["truncated"] == (lengths[place] > 140)
        assert (row["message"], row["at"]) == (meant[place]["message"], meant[place]["at"])
        assert row["truncated"] or {name: row[name] for name in MEANING} == {name: meant[place][name] for name in MEANING}
