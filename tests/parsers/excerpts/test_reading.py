"""Records are found by their messages, whatever stands around them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from parsers.catalogue.catalogue import catalogue
from parsers.formats.time_zones import ZoneConverter
from parsers.reading.reader import find_files
from parsers.records.chunks import parse_chunk
from parsers.records.context import ChunkContext
from tests.parsers.excerpts.pieces import ENDINGS, in_pieces
from tests.parsers.reading.source_files import Reading, one_source, read_bytes

GROUP = "orders-billing"
RECORDS = [
    (
        "2029-02-18 18:41:58,862",
        "INFO",
        f"Member consumer-2-7693ecf7-24a9-46e8-b48b-25df1c338938 in group {GROUP} has failed, removing it from the group",
    ),
    (
        "2029-02-18 18:41:58,863",
        "INFO",
        f"Preparing to rebalance group {GROUP} in state PreparingRebalance with old generation 1 (__consumer_offsets-32) "
        "(reason: removing member consumer-2-7693ecf7-24a9-46e8-b48b-25df1c338938 on heartbeat expiration)",
    ),
    ("2029-02-18 18:41:58,890", "INFO", f"Group {GROUP} with generation 2 is now empty (__consumer_offsets-32)"),
]
MESSAGES = ["kafka.group.member_failed", "kafka.group.rebalance_started", "kafka.group.emptied"]
LOGGER = "kafka.coordinator.group.GroupCoordinator"
PLAIN = [f"[{at}] {level} [GroupCoordinator 5]: {message} ({LOGGER})" for at, level, message in RECORDS]
BARE = [f"[GroupCoordinator 5]: {message}" for _, _, message in RECORDS]


def _each(change: Callable[[str], str]) -> str:
    return "\n".join(map(change, PLAIN)) + "\n"


def _folded(line: str, width: int) -> str:
    return "\n".join(line[at : at + width] for at in range(0, len(line), width))


MARKS = (
    "# ",
    "// ",
    "-- ",
    "; ",
    "REM ",
    "| ",
    "│ ",
    "** ",
    "$ ",
    "“",
    "<p>",
    "a) ",
    "host1 ",
    "\u00a0",
    "\u200b",
    "\ufeff",
    "17:20:01.250 ",
)
FORMS = {
    **{f"ends with {end!r}": _each(lambda line, end=end: line + end) for end in ENDINGS},  # type: ignore[misc]
    **{f"begins with {mark!r}": _each(lambda line, mark=mark: mark + line) for mark in MARKS},  # type: ignore[misc]
    "lost brackets": _each(lambda line: line[1:]),
    "header alone": _each(lambda line: line.replace("5]: ", "5]: \n\t").replace(" (reason", " \n\t(reason")),
    "wrapped by a terminal": _each(lambda line: _folded(line, 120)),
    "wrapped and padded": _each(lambda line: _folded(line, 120)).replace("r)\n", "r)   \n"),
    "hanging indent": _each(
        lambda line: line.replace(" group ", " group\n      ").replace("PreparingRebalance with", "PreparingRebalance\n      with")
    ),
    "comments at words": _each(lambda line: "# " + line.replace(" in state", "\n# in state")),
    "array of strings": json.dumps(PLAIN),
    "array over lines": json.dumps({"source": "kafka-0", "logs": PLAIN}, indent=4),
    "one string": json.dumps({"log": "\n".join(PLAIN)}),
    "search result": json.dumps({"hits": {"hits": [{"_id": "a", "_source": {"message": line}} for line in PLAIN]}}),
    "glued": "".join(PLAIN),
    "caret colours": _each(lambda line: line.replace("INFO", "^[[32mINFO^[[m")),
    "page": "<pre>" + _each(lambda line: line.replace(" ", "&nbsp;", 3)) + "</pre>",
    "table": "| n | text |\n|---|---|\n" + _each(lambda line: f"| 1 | {line} |"),
    "utf-16": _each(lambda line: "# " + line),
}


def _read(folder: Path, name: str) -> Reading:
    return read_bytes(folder, FORMS[name].encode("utf-16" if name == "utf-16" else "utf-8"))


@pytest.mark.parametrize("name", FORMS)
def test_records_in_any_form(tmp_path: Path, name: str) -> None:
    rows = _read(tmp_path, name).rows()
    assert [row["message"] for row in rows] == MESSAGES
    assert {row["group"] for row in rows} == {GROUP}
    assert [str(row["at"])[:19] for row in rows] == ["2029-02-18 18:41:58"] * 3


def test_records_without_time_keep_their_order(tmp_path: Path) -> None:
    reading = read_bytes(tmp_path, ("As the log says:\n\n" + "\n".join(BARE) + "\n").encode())
    assert [(row["message"], row["at"], row["line"]) for row in reading.rows()] == [
        (name, None, line) for line, name in enumerate(MESSAGES, start=3)
    ]
    assert reading.report.layout == "messages: %m"


CUT = [
    "Preparing to rebalance group mill in state PreparingRebalance with old generation 1 (__consumer_offsets-32) (reason: removing member "
    "saw-7693ecf7-24a9-46e8-b48b-25df1c338938 on heartbeat expiration)",
    "Stabilized group mill generation 2 (__consumer_offsets-32) with 3 members",
    "Preparing to rebalance group mill with old generation 2 (__consumer_offsets-32)",
    "Assignment received from leader for group mill for generation 3",
]


@pytest.mark.parametrize(
    "lead", ["", "broker-3: ", "> ", "2029-02-18 18:41:58 ", "2029-02-18 18:41:58,862 INFO ", "18:41:58 [INFO] ", "* "]
)
def test_the_prefix_of_a_coordinator_may_be_cut_off(tmp_path: Path, lead: str) -> None:
    reading = read_bytes(tmp_path, "".join(f"{lead}{message}\n" for message in CUT).encode())
    read = ["rebalance_started", "generation_started", "rebalance_started", "assignment_received"]
    assert [row["message"] for row in reading.rows()] == [f"kafka.group.{name}" for name in read]
    assert {(row["group"], row["node"]) for row in reading.rows()} == {("mill", None)}


@pytest.mark.parametrize("level", ["[info] ", "[error]  ", "info: ", "** DEBUG: "])
def test_a_level_alone_may_stand_before_records_without_time(tmp_path: Path, level: str) -> None:
    reading = read_bytes(tmp_path, "".join(f"{level}{record}\n" for record in BARE).encode())
    assert [row["message"] for row in reading.rows()] == list(MESSAGES)


@pytest.mark.parametrize("mark", ["<br>", "<br/>", "**", "`", "</b> "])
def test_a_mark_behind_one_line_is_no_part_of_its_last_value(tmp_path: Path, mark: str) -> None:
    went = "[2031-08-20 15:45:10,005] INFO [GroupCoordinator 2]: Group mill remove dynamic members who haven't joined: Set(mill-1)"
    began = "[2031-08-20 15:45:10,006] INFO [GroupCoordinator 2]: Stabilized group mill generation 5 (__consumer_offsets-33)"
    logger = "(kafka.coordinator.group.GroupCoordinator)"
    reading = read_bytes(tmp_path, f"{went} {logger}{mark}\n{began} {logger}\n".encode())
    assert ['["mill-1"]' in row["fields"] for row in reading.rows()] == [True, False]


def test_reports_show_the_learned_layout(tmp_path: Path) -> None:
    assert _read(tmp_path, "begins with '# '").report.layout == "messages: # [%d] %p %m (%c)"


QUOTATIONS = {
    "again": "\n".join([*(f"# {line}" for line in PLAIN), f"# {PLAIN[1]}"]),
    "in prose": "\n".join([*(f"# {line}" for line in PLAIN), f"Then the broker wrote {BARE[1]} and was silent."]),
    "as a title": "\n".join([f"What does it mean when it says {BARE[0]}?", *(f"# {line}" for line in PLAIN)]),
}


@pytest.mark.parametrize("name", QUOTATIONS)
def test_what_a_text_quotes_counts_once(tmp_path: Path, name: str) -> None:
    reading = read_bytes(tmp_path, QUOTATIONS[name].encode())
    assert [row["message"] for row in reading.rows()] == MESSAGES
    assert reading.rejected.to_pylist() == []


@pytest.mark.parametrize("name", ["header alone", "comments at words", "array over lines", "caret colours", "table", "glued"])
def test_the_same_from_chunks_of_any_size(tmp_path: Path, name: str) -> None:
    path = tmp_path / "server.log"
    path.write_text(FORMS[name])
    told, data = one_source(path).format, path.read_bytes()
    whole = parse_chunk(data, ChunkContext("a", "a", told, ZoneConverter("UTC"), is_final=True), catalogue())
    for size in (1, 7, 50, 180):
        pieces = list(in_pieces(data, told, size))
        assert [event for each in pieces for event in each.events.to_pylist()] == whole.events.to_pylist()
        assert sum(each.counts.bytes for each in pieces) == whole.counts.bytes == len(data)


def test_known_text_without_a_record_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("What to look for:\n\nLines with [GroupCoordinator 5]: and what follows.\n")
    assert [skip.reason for skip in find_files([str(path)]).skipped] == [
        "not read: no line is in a known layout, though line 3 contains known text"
    ]


ORDINARY = {
    "plain": PLAIN,
    "with a line that nothing knows": [*PLAIN, f"[2029-02-18 18:41:59,000] INFO [GroupCoordinator 5]: Something new ({LOGGER})"],
    "with a torn line": [*PLAIN, "[2029-02-18 18:41:59,000] INFO [GroupCoordinator 5]: Member con"],
    "prose": ["Members of a group may leave.", "Preparing to rebalance takes time, says the book."],
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_files_keep_their_layout(tmp_path: Path, name: str) -> None:
    path = tmp_path / "server.log"
    path.write_text("\n".join(ORDINARY[name]) + "\n")
    assert [source.format.shape for source in find_files([str(path)]).files] == ([] if name == "prose" else [""])
