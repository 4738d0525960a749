"""Compressed files with changed bytes: all that is readable is read, and what may be changed is marked."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
import zstandard

from tests.parsers.reading.source_files import Reading, find, read_bytes

LINE = b"[2026-11-21 09:%02d:%02d,040] INFO [GroupCoordinator 1]: Group g-%d with generation %d is now empty (__consumer_offsets-12) (%s)\n"
LOGGER = b"kafka.coordinator.group.GroupCoordinator"
DAMAGE = "LogDamaged"


def log(count: int, first: int = 0) -> bytes:
    dice = random.Random(first)  # noqa: S311 - numbers that no compression foresees
    numbers = range(first, first + count)
    return b"".join(LINE % (number // 60 % 60, number % 60, number, dice.randrange(10**6), LOGGER) for number in numbers)


def changed(packed: bytes, place: float) -> bytes:
    data = bytearray(packed)
    data[int(len(data) * place)] ^= 0x10
    return bytes(data)


def texts(reading: Reading) -> list[str]:
    return [row["text"] for row in reading.rows("text", "event") if row["event"] != DAMAGE]


def marks(reading: Reading) -> list[dict[str, int]]:
    return [orjson.loads(row["fields"]) for row in reading.rows("fields", "event") if row["event"] == DAMAGE]


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}


@pytest.mark.parametrize(
    ("kind", "count"),
    # bzip2 decodes blocks of 900 kB as a whole; before its end, nothing of a block is known.
    [("gzip", 40), ("gzip", 400), ("gzip", 20_000), ("xz", 40), ("xz", 400), ("xz", 20_000), ("bzip2", 20_000)],
)
def test_a_flipped_bit_takes_nothing_before_it(tmp_path: Path, kind: str, count: int) -> None:
    content = log(count)
    reading = read_bytes(tmp_path, changed(PACKERS[kind](content), 0.9))
    assert reading.report.status == "truncated"
    assert (reading.report.reason or "").startswith(f"damaged {kind} data")
    assert texts(reading)[: count // 2] == content.decode().splitlines()[: count // 2]


@pytest.mark.parametrize("count", [40, 400])
def test_a_scrambled_block_is_rejected_as_damage_and_not_for_its_layout(tmp_path: Path, count: int) -> None:
    (tmp_path / "server.log.bz2").write_bytes(changed(bz2.compress(log(count)), 0.5))
    (rejected,) = find(tmp_path).skipped
    assert (rejected.reason or "").startswith("damaged bzip2 data")


@pytest.mark.parametrize("count", [40, 20_000])
def test_what_may_be_changed_is_told_by_an_event_with_its_beginning(tmp_path: Path, count: int) -> None:
    first, second = log(count), log(count, first=count)
    reading = read_bytes(tmp_path, gzip.compress(first) + changed(gzip.compress(second), 0.9))
    assert [mark["begins_at_byte"] for mark in marks(reading)] == [len(first)]
    counts = reading.report.counts
    assert counts.recognised == reading.events.num_rows
    assert reading.report.bytes_read == counts.bytes


@pytest.mark.parametrize("kind", PACKERS)
def test_a_file_that_only_ends_early_has_no_changed_lines(tmp_path: Path, kind: str) -> None:
    packed = PACKERS[kind](log(20_000))
    reading = read_bytes(tmp_path, packed[: len(packed) * 3 // 4])
    assert "ends early" in (reading.report.reason or "ends early")
    assert marks(reading) == []


@pytest.mark.parametrize("kind", PACKERS)
def test_an_intact_file_has_no_mark(tmp_path: Path, kind: str) -> None:
    reading = read_bytes(tmp_path, PACKERS[kind](log(50)))
    assert (marks(reading), reading.report.status) == ([], "ok")


def test_a_file_whose_damage_leaves_no_line_is_rejected_in_a_folder_too(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(log(40)))
    packed[10] |= 0b110  # a kind of block that does not exist
    (tmp_path / "server.log.gz").write_bytes(packed)
    found = find(tmp_path)
    assert not found.files
    assert [skip.reason.startswith("damaged gzip data") for skip in found.skipped] == [True]
