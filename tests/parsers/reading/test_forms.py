"""Which form a file is read in: its layout, unless messages show that it fails."""

from __future__ import annotations

from parsers.formats.detection import FileFormat
from parsers.formats.layouts import MESSAGES
from parsers.reading.forms import tell_best

LINE = (
    b"[2026-11-21 09:07:01,040] INFO [GroupCoordinator 1]: Group orders with generation 5 is now empty (__consumer_offsets-12)"
    b" (kafka.coordinator.group.GroupCoordinator)\n"
)


def layout(sample: bytes) -> str | None:
    told = tell_best(sample, complete=True)
    return told.layout_name if isinstance(told, FileFormat) else None


def test_lines_in_no_layout_are_read_by_their_messages() -> None:
    assert layout(b"# " + LINE.replace(b"[2026-11-21 09:07:01,040]", b"09:07:01.040 on 21/11/2026") * 2) == MESSAGES


def test_a_bad_record_among_good_ones_is_no_other_layout() -> None:
    assert layout(LINE + LINE.replace(b"[2026-11-21 09:07:01,040]", b"[yesterday]") + LINE) == "kafka"


def test_a_hole_of_zero_bytes_is_damage_and_no_layout() -> None:
    assert layout(LINE + b"\x01" + LINE + b"\0" * 70_000 + LINE) == "kafka"


def test_what_a_cut_left_of_one_line_is_not_read() -> None:
    assert layout(LINE[40:]) is None
