"""A file ends with its last record, whether anything knows it or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.reading.file_reports import join_parts, merge_reports, report_row, whole_report
from parsers.reading.reader import ReadOptions, find_files, read_file

KNOWN = (
    "[2026-03-02 10:00:00,000] INFO [GroupCoordinator 1]: Stabilized group g generation 4 (__consumer_offsets-9) "
    "(kafka.coordinator.group.GroupCoordinator)\n"
)
OTHER = "[2026-03-02 10:{minute:02}:00,000] INFO [Log partition=t-1, dir=/d] Rolled new log segment at offset 4 in 41 ms. (kafka.log.Log)\n"
TRACE = "java.io.IOException: broken\n\tat a.B.c(D.java:1)\n"
TORN = "[2026-03-02 10:5\n"
MINUTE_US = 60_000_000


def minutes_read(path: Path, chunk_bytes: int) -> float | None:
    """From the first known record to the end of the file."""
    (source,) = find_files([str(path)]).files
    reader = read_file(source, ReadOptions(chunk_bytes=chunk_bytes))
    for _ in reader:
        pass
    [row] = merge_reports([report_row(reader.report)])
    return None if row["last_at"] is None else (row["last_at"] - row["first_at"]) / MINUTE_US


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        (KNOWN, 0),
        (KNOWN + OTHER.format(minute=7), 7),
        (KNOWN + OTHER.format(minute=7) + TRACE, 7),
        (KNOWN + OTHER.format(minute=7) + TORN, 7),
        (KNOWN + OTHER.format(minute=7).rstrip("\n"), 7),
        (OTHER.format(minute=7) + KNOWN, 0),
        (OTHER.format(minute=7) * 2, None),
    ],
    ids=["known", "unknown", "stack trace", "torn", "no newline", "unknown before", "nothing known"],
)
@pytest.mark.parametrize("chunk_bytes", [1 << 20, 64])
def test_the_last_record_ends_a_file(text: str, minutes: float | None, chunk_bytes: int, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(text)
    assert minutes_read(path, chunk_bytes) == minutes


def part(offset: int, last_at: int | None, ended_at: int | None) -> dict[str, object]:
    """A report on a part of a file."""
    names = ("path", "file_id", "size_bytes", "checkpoints", "version", "reason", "cluster_ids")
    counts = ("bytes_read", "bytes_parsed", "bytes_ignored", "bytes_rejected", "lines", "records", "recognised", "unknown", "rejected")
    tallies: dict[str, object] = dict.fromkeys(("nodes", "witnesses", "systems"), ())
    row: dict[str, object] = dict.fromkeys(names) | dict.fromkeys(counts, 0) | tallies
    return row | {"part_offset": offset, "first_at": last_at, "last_at": last_at, "ended_at": ended_at, "status": "ok", "part_line": 1}


@pytest.mark.parametrize(
    ("ends", "last_at"),
    [([(5, 9), (None, 20)], 20), ([(5, 9), (12, None)], 12), ([(5, 30), (12, 20)], 20), ([(None, 9), (None, 20)], None)],
    ids=["unknown records follow", "an older state", "the clock went back", "nothing known"],
)
def test_the_last_part_ends_a_file_that_is_read_in_parts(ends: list[tuple[int | None, int | None]], last_at: int | None) -> None:
    parts = [part(offset, *each) for offset, each in enumerate(ends)]
    assert whole_report(join_parts(parts))["last_at"] == last_at
