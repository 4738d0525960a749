"""Which form a file is read in: its layout, unless messages show that it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.formats.detection import FileFormat
from parsers.formats.layouts import MESSAGES
from parsers.reading.forms import choose_form
from tests.parsers.reading.source_files import read_bytes

LINE = (
    b"[2026-11-21 09:07:01,040] INFO [GroupCoordinator 1]: Group orders with generation 5 is now empty (__consumer_offsets-12)"
    b" (kafka.coordinator.group.GroupCoordinator)\n"
)


def layout(sample: bytes) -> str | None:
    told = choose_form(sample, is_complete=True)
    return told.layout_name if isinstance(told, FileFormat) else None


def test_lines_in_no_layout_are_read_by_their_messages() -> None:
    assert layout(b"# " + LINE.replace(b"[2026-11-21 09:07:01,040]", b"09:07:01.040 on 21/11/2026") * 2) == MESSAGES


def test_a_bad_record_among_good_ones_is_no_other_layout() -> None:
    assert layout(LINE + LINE.replace(b"[2026-11-21 09:07:01,040]", b"[yesterday]") + LINE) == "kafka"


def test_a_hole_of_zero_bytes_is_damage_and_no_layout() -> None:
    assert layout(LINE + b"\x01" + LINE + b"\0" * 70_000 + LINE) == "kafka"


def test_what_a_cut_left_of_one_line_is_not_read() -> None:
    assert layout(LINE[40:]) is None


STEPS = (
    "Preparing to rebalance group orders in state PreparingRebalance with old generation 5 (__consumer_offsets-12) "
    "(reason: Adding new member c1-7693ecf7-24a9-46e8-b48b-25df1c338938 with group instance id None)",
    "Stabilized group orders generation 6 (__consumer_offsets-12) with 2 members",
    "Assignment received from leader c0-7693ecf7-24a9-46e8-b48b-25df1c338938 for group orders for generation 6. "
    "The group has 2 members, 0 of which are static.",
)


def _lines(*clocks: str) -> list[str]:
    said = zip(clocks, STEPS, strict=True)
    return [f"[2026-11-21 {at}] INFO [GroupCoordinator 1]: {step} (kafka.coordinator.group.GroupCoordinator)\n" for at, step in said]


@pytest.mark.parametrize(
    ("clocks", "is_descending"),
    [
        (("09:07:01,040", "09:07:02,040", "09:07:03,040"), True),
        (("09:07:01,040", "09:07:02,040", "09:07:02,040"), False),  # one step back shows no direction
        (("09:07:03,040", "09:07:01,040", "09:07:02,040"), False),
    ],
)
def test_files_from_the_newest_record_on_are_told(clocks: tuple[str, ...], *, is_descending: bool) -> None:
    told = choose_form("".join(reversed(_lines(*clocks))).encode(), is_complete=True)
    assert isinstance(told, FileFormat)
    assert told.newest_first is is_descending
    assert told.name == ("kafka, newest first" if is_descending else "kafka")


def test_records_from_the_newest_on_are_put_in_order(tmp_path: Path) -> None:
    lines = [*_lines("09:07:01,040", "09:07:02,040", "09:07:02,040"), *_lines("09:08:01,040", "09:08:02,040", "09:08:03,040")]
    orders = []
    for number, text in enumerate((lines, lines[::-1])):
        (folder := tmp_path / str(number)).mkdir()
        rows = read_bytes(folder, "".join(text).encode()).rows("file_time_max_at", "byte_offset", "at", "message")
        rows.sort(key=lambda row: (row["file_time_max_at"], row["byte_offset"]))
        orders.append([(row["at"], row["message"]) for row in rows])
    assert orders[0] == orders[1]


CLIENT = (
    b"2026-11-21 09:07:55,040 INFO [main] o.a.k.c.c.internals.ConsumerCoordinator - [Consumer clientId=app-1, groupId=orders] "
    b"Attempt to heartbeat failed since group is rebalancing\n"
)
LIBRDKAFKA = b"%4|1795252075.040|MAXPOLL|app#consumer-1| [thrd:main]: Application maximum poll interval (300000ms) exceeded by 255ms\n"


@pytest.mark.parametrize("line", [LINE, CLIENT, LIBRDKAFKA])
@pytest.mark.parametrize("case", ["upper", "lower"])
def test_a_log_whose_letters_have_lost_their_case_is_told(line: bytes, case: str) -> None:
    text = line * 3

    assert choose_form(getattr(text, case)(), is_complete=True) == f"not read: all letters are in {case} case, also those of names"


@pytest.mark.parametrize(
    "text",
    [
        b"2026-11-21 09:07:55 info all is well\n",
        b"2026-11-21 09:07:55 info successfully elected as leader of ours\n",
        b"SOME NOTES\n",
        b"12 34\n",
    ],
)
def test_other_texts_in_one_case_are_not_told_as_such(text: bytes) -> None:
    assert "case" not in str(choose_form(text * 3, is_complete=True))


def test_what_redpanda_says_of_groups_is_listed_as_unknown(tmp_path: Path) -> None:
    lines = (
        b"INFO  2026-11-21 09:07:55,040 [shard 0:main] main - application.cc:412 - Redpanda v24.1.1\n"
        b"INFO  2026-11-21 09:07:56,040 [shard 0:main] kafka - group_manager.cc:372 - Recovered group orders\n"
        b"WARN  2026-11-21 09:07:57,040 [shard 1] kafka - group.cc:512 - [N:orders S:Stable G:5] Expired a member\n"
        b"TRACE 2026-11-21 09:07:58,040 [shard 1] kafka - group.cc:514 - [N:orders S:Stable G:5] Heartbeat\n"
    )

    found = read_bytes(tmp_path, lines)
    assert found.report.layout == "redpanda"
    assert [row["line"] for row in found.unknown.to_pylist()] == [2, 3]
