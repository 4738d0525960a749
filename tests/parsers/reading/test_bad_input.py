"""Bad input is rejected with its reason, place and count; everything else is read; nothing crashes."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import random
import struct
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsers.reading import reader
from parsers.reading.file_reports import join_parts, report_row
from tests.conftest import examples
from tests.parsers.reading.source_files import Reading, find, read, read_bytes, read_source

LINE = b"[2026-11-21 09:07:%02d,040] INFO [GroupCoordinator 1]: Group g-%d with generation 5 is now empty (__consumer_offsets-12) (%s)\n"
LOGGER = b"kafka.coordinator.group.GroupCoordinator"
START = b"[2026-11-21 09:07:00,000] INFO Registered a bean (kafka.utils.Log4jControllerRegistration$)\n"


def line(number: int) -> bytes:
    return LINE % (number % 60, number, LOGGER)


def groups(reading: Reading) -> list[str]:
    return [row["group"] for row in reading.rows("group")]


def check(reading: Reading, content: bytes, wanted: list[str], refused: list[tuple[str, int, int]]) -> None:
    """These groups' events, these rejections as (reason, line, byte offset), each place right, and no byte uncounted."""
    assert groups(reading) == wanted
    rejected = reading.rejected.to_pylist()
    assert [(row["reason"], row["line"], row["byte_offset"]) for row in rejected] == refused
    counts = reading.report.counts
    assert (counts.recognised, counts.rejected) == (reading.events.num_rows, len(refused))
    assert counts.recognised + counts.unknown + counts.rejected <= counts.records
    assert counts.bytes == len(content)
    assert all(len(row["text"]) <= 4000 and row["text"].isprintable() for row in rejected)
    for row in reading.rows("line", "byte_offset"):
        assert content[: row["byte_offset"]].count(b"\n") + 1 == row["line"]
        assert content[row["byte_offset"] :].lstrip(b"\x00").startswith(b"[20")


BAD_DATE = (
    b"[2026-13-41 09:07:55,040] INFO [GroupCoordinator 1]: Group g with generation 5 is now empty (__consumer_offsets-12) (%s)\n" % LOGGER
)
NO_DATE = b"[yesterday] INFO [GroupCoordinator 1]: Group g with generation 5 is now empty (__consumer_offsets-12) (%s)\n" % LOGGER
CUT = b"[2026-11-21 09:07:55,040] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state Preparing\n"
TORN = line(1)[:70] + line(2)
ORPHAN = line(1)[30:]

RECORDS: dict[str, tuple[bytes, str]] = {
    "a month that no year has": (BAD_DATE, "bad timestamp"),
    "no time in brackets": (NO_DATE, "bad timestamp"),
    "a line cut in the middle": (CUT, "cut line"),
    "NULs in place of text": (b"\x00" * (1 << 17), "zero bytes"),
    "a NUL in place of a letter": (line(1).replace(b"empty", b"e\x00pty"), "zero bytes"),
    "NULs within a name": (line(1).replace(b"g-1", b"g\x00\x00"), "zero bytes"),
    "a hole in a line": (line(1).replace(b"empty", b"\x00" * (1 << 17)), "zero bytes"),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_bad_record_is_rejected_alone(tmp_path: Path, name: str) -> None:
    bad, reason = RECORDS[name]
    content = START + line(1) + bad + line(2)

    check(read_bytes(tmp_path, content), content, ["g-1", "g-2"], [(reason, 3, len(START + line(1)))])


@pytest.mark.parametrize("name", RECORDS)
def test_a_file_may_end_with_it(tmp_path: Path, name: str) -> None:
    bad, reason = RECORDS[name]
    content = START + line(1) + bad.rstrip(b"\n")

    check(read_bytes(tmp_path, content), content, ["g-1"], [(reason, 3, len(START + line(1)))])


def test_lines_without_a_header_before_the_first_record(tmp_path: Path) -> None:
    content = ORPHAN + START + line(1)

    check(read_bytes(tmp_path, content), content, ["g-1"], [("no header", 1, 0)])


TROUBLED: dict[str, tuple[bytes, list[str], int]] = {
    "its first line has no beginning": (ORPHAN + line(1) + line(2), ["g-1", "g-2"], 1),
    "it begins with a hole": (b"\x00" * 70_000 + ORPHAN + line(1), ["g-1"], 2),
    "its one line is torn": (TORN, ["g-2"], 1),
    "its one line holds two whole records": (line(1)[:-1] + line(2), ["g-1", "g-2"], 0),
}


@pytest.mark.parametrize("name", TROUBLED)
def test_no_more_records_are_accounted_for_than_there_are(tmp_path: Path, name: str) -> None:
    """Also where none is ignored: a gate of the job holds each file to it."""
    content, wanted, refused = TROUBLED[name]
    reading = read_bytes(tmp_path, content)

    assert groups(reading) == wanted
    counts = reading.report.counts
    assert (counts.records, counts.recognised, counts.rejected) == (len(wanted) + refused, len(wanted), refused)


@pytest.mark.parametrize("beyond", [0, 1, 2, 90, 200, 400])
def test_a_hole_before_the_last_lines_of_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beyond: int) -> None:
    """A line without a header behind it waits for the next chunk."""
    monkeypatch.setattr(reader, "LOOKAHEAD_BYTES", 0)
    before = START + line(1) + b"\x00" * 70_000
    content = before + ORPHAN + line(2) + line(3)
    whole, parts = (read_bytes(tmp_path, content, chunk_bytes=size) for size in (1 << 20, len(before) + len(ORPHAN) + beyond))

    assert groups(parts) == groups(whole) == ["g-1", "g-2", "g-3"]
    assert parts.rejected.equals(whole.rejected)


def test_a_torn_line_is_no_groups(tmp_path: Path) -> None:
    content = START + TORN + line(3)
    reading = read_bytes(tmp_path, content)

    check(reading, content, ["g-2", "g-3"], [("torn line", 2, len(START))])


@pytest.mark.parametrize("chunk_bytes", [1 << 16, 8 << 20])
@pytest.mark.parametrize("head", [b"x" * 100, b"[2026-11-21 09:07:55,040] INFO [GroupCoordinator 1]: ", b"\t", b"(Re-)joining group "])
def test_a_line_of_10_megabytes(tmp_path: Path, head: bytes, chunk_bytes: int) -> None:
    content = START + line(1) + head + b"Preparing to rebalance group " * 360_000 + b"\n" + line(2)
    reading = read_bytes(tmp_path, content, chunk_bytes=chunk_bytes)

    assert groups(reading)[-1] == "g-2"
    rejected = reading.rejected.to_pylist()
    assert reading.report.counts.bytes == len(content)
    assert [row["byte_offset"] for row in rejected] in ([len(START + line(1))], [len(START)], [])
    if head.startswith(b"["):
        assert [(row["reason"], row["line"], row["byte_length"]) for row in rejected] == [
            ("longer than 1048576 bytes", 3, len(content) - len(START + line(1) + line(2)))
        ]
        assert len(rejected[0]["text"]) <= 500
        assert groups(reading) == ["g-1", "g-2"]
    else:
        # It goes on the record before, which is told and marked as cut.
        assert [(row["group"], row["truncated"]) for row in reading.rows("group", "truncated")][-1] == ("g-2", False)
        assert {row["truncated"] for row in reading.rows("group", "truncated") if row["group"] == "g-1"} <= {True}
    assert max(len(row["text"]) for row in reading.rows("text")) <= 1 << 20


def test_invalid_utf_8_is_read_and_counted(tmp_path: Path) -> None:
    content = START + line(1).replace(b"g-1", b"g-\xff\xfe1") + line(2).replace(b"g-2", "g-\u00fc".encode()) + line(3)
    reading = read_bytes(tmp_path, content)

    check(reading, content, ["g-\\xff\\xfe1", "g-\u00fc", "g-3"], [])
    assert reading.report.counts.invalid_utf8 == 1


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("latin-1", ["gr\u00fcppe", "gr\u00f6ppe", "gr\u00e4ppe"]),
        ("gbk", ["\u8ba2\u5355\u6d88\u8d39\u7ec4", "\u652f\u4ed8\u6d88\u8d39\u7ec4", "\u5e93\u5b58"]),
        ("cp1251", ["\u0437\u0430\u043a\u0430\u0437\u044b", "\u043e\u043f\u043b\u0430\u0442\u0430", "\u0441\u043a\u043b\u0430\u0434"]),
        ("utf-32", ["a", "b", "\u00fc"]),
        ("utf-32-le", ["a", "b", "\u00fc"]),
        ("utf-32-be", ["a", "b", "\u00fc"]),
        ("utf-16-be", ["a", "b", "\u00fc"]),
    ],
)
def test_names_in_other_encodings_stay_apart(tmp_path: Path, encoding: str, names: list[str]) -> None:
    text = START.decode() + "".join(line(number).decode().replace(f"g-{number}", name) for number, name in enumerate(names, 1))
    content = text.encode(encoding)
    reading = read_bytes(tmp_path, content)

    assert groups(reading) == names
    assert not reading.rejected.num_rows
    assert reading.report.counts.invalid_utf8 == 0
    assert reading.report.encoding not in (None, "utf-8")
    assert reading.report.counts.bytes == len(content)
    places = [(row["line"], row["byte_offset"], row["byte_length"]) for row in reading.rows("line", "byte_offset", "byte_length")]
    bare = encoding if encoding != "utf-32" else "utf-32-le"
    told = [content[begin : begin + length].decode(bare) for _, begin, length in places]
    assert [name in part for name, part in zip(names, told, strict=True)] == [True] * 3
    assert [number for number, _, _ in places] == [2, 3, 4]


def test_zero_bytes_before_a_line_are_passed_over(tmp_path: Path) -> None:
    content = START + b"\x00" * 5000 + line(1) + line(2)
    reading = read_bytes(tmp_path, content)

    assert groups(reading) == ["g-1", "g-2"]
    assert reading.report.counts.bytes == len(content)
    assert [row["reason"] for row in reading.rejected.to_pylist()] == ["zero bytes"]


COMPRESSIONS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gz", gzip.compress),
    "bzip2": ("bz2", bz2.compress),
    "xz": ("xz", lzma.compress),
    "zstd": ("zst", zstandard.ZstdCompressor(write_checksum=True).compress),
}


@lru_cache
def noisy(count: int) -> bytes:
    """Lines that compress badly, so that a part of the compressed bytes holds a part of the lines."""
    chance = random.Random(1)  # noqa: S311
    return START + b"".join(line(n).replace(b" (_", b" %x (_" % chance.getrandbits(400)) + line(n) for n in range(count))


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_compressed_files_are_read_by_their_content(tmp_path: Path, kind: str) -> None:
    _, compress = COMPRESSIONS[kind]
    content = noisy(50)
    plain = read_bytes(tmp_path, content, "plain.log")
    reading = read_bytes(tmp_path, compress(content), "server.log")

    assert reading.rows("line", "byte_offset", "group") == plain.rows("line", "byte_offset", "group")
    assert (reading.report.compression, reading.report.status) == (kind, "ok")


def skippable(number: int, content: bytes) -> bytes:
    """A frame of zstd that decompresses to nothing (RFC 8878, 3.1.2)."""
    return struct.pack("<II", 0x184D2A50 + number, len(content)) + content


@pytest.mark.parametrize("frames", ["before", "between", "behind", "everywhere"])
def test_frames_of_zstd_without_content_are_passed_over(tmp_path: Path, frames: str) -> None:
    """As pzstd and the seekable format write them, also longer than one read."""
    content = noisy(400)
    parts = [COMPRESSIONS["zstd"][1](content[begin : begin + 20_000]) for begin in range(0, len(content), 20_000)]
    before = frames in ("before", "everywhere")
    between = [skippable(number % 16, b"\x28\xb5\x2f\xfd" * number * 100) for number in range(len(parts) - 1)]
    packed = skippable(0, struct.pack("<I", len(parts[0]))) * before + parts[0]
    for part, frame in zip(parts[1:], between, strict=True):
        packed += frame * (frames in ("between", "everywhere")) + part
    packed += skippable(14, bytes(9_000)) * (frames in ("behind", "everywhere"))
    plain = read_bytes(tmp_path, content, "plain.log")
    reading = read_bytes(tmp_path, packed, "server.log")

    assert len(parts) > 3
    assert reading.rows("line", "byte_offset", "group") == plain.rows("line", "byte_offset", "group")
    assert (reading.report.compression, reading.report.status) == ("zstd", "ok")


def test_zstd_without_content_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "empty.zst").write_bytes(skippable(0, b"abcd") * 3)

    found = find(tmp_path)

    assert not found.files
    assert [Path(skip.name).name for skip in found.skipped] == ["empty.zst"]


@pytest.mark.parametrize("kind", COMPRESSIONS)
@pytest.mark.parametrize("damage", ["truncated", "damaged"])
def test_a_damaged_compressed_file_gives_what_can_be_read(tmp_path: Path, kind: str, damage: str) -> None:
    _, compress = COMPRESSIONS[kind]
    content = noisy(examples(4_000, 8_000))
    packed = compress(content)
    half = len(packed) * 3 // 4
    reading = read_bytes(tmp_path, packed[:half] if damage == "truncated" else packed[:half] + b"\x55" * 64 + packed[half + 64 :])

    report = reading.report
    assert report.status == "truncated"
    assert report.reason is not None
    assert kind in report.reason
    assert f"byte {report.bytes_read}" in report.reason
    wanted = [name for name in groups(read_bytes(tmp_path, content, "whole.log")) if name is not None]
    got = groups(reading)
    intact = len(got) if damage == "truncated" else len(wanted) // 3  # what is unpacked after the damage may be anything
    assert intact > 0
    assert got[:intact] == wanted[:intact]


def test_gzip_of_several_members_with_padding(tmp_path: Path) -> None:
    packed = gzip.compress(START + line(1)) + gzip.compress(line(2)) + b"\x00" * 512

    assert groups(read_bytes(tmp_path, packed)) == ["g-1", "g-2"]


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40, "binary, a picture: the log itself is needed, as text"),
    "random bytes": (random.Random(2).randbytes(100_000), "binary"),  # noqa: S311
    "zero bytes only": (b"\x00" * 100_000, "binary"),
    "prose": (b"Once upon a time there was a broker.\nIt had no log.\n" * 50, "not a log: no line is in a known layout"),
    "settings": (b"broker.id=1\nlog.dirs=/d\n", "not a log: no line is in a known layout"),
    "a zip archive": (b"PK\x03\x04" + b"\x00" * 100, "damaged zip archive: File is not a zip file"),
    "gzip of prose": (gzip.compress(b"Once upon a time\n"), "not a log: no line is in a known layout"),
    "gzip of nothing": (gzip.compress(b""), "empty"),
    "a gzip header": (gzip.compress(START)[:6], "gzip stream ends early"),
    "JSON of other things": (b'{"a": 1}\n{"a": 2}\n', "not a log: no line is in a known layout"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_log_is_skipped_in_a_folder_and_rejected_by_name(tmp_path: Path, name: str) -> None:
    content, reason = FILES[name]
    (tmp_path / "server.log").write_bytes(content)
    (tmp_path / "good.log").write_bytes(START + line(1))

    found = find(tmp_path)
    assert [(skip.name, skip.reason, skip.is_named) for skip in found.skipped] == [(str(tmp_path / "server.log"), reason, False)]
    assert [source.relative for source in found.files] == ["good.log"]
    (skip,) = find(tmp_path / "server.log").skipped
    assert (skip.reason, skip.is_named) == (reason, True)


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(START)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    (skip,) = find(path).skipped

    assert (skip.reason, skip.is_named) == ("cannot be read: Permission denied", True)


def test_a_folder_that_may_not_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of another user: its logs are missed, and nothing else says so."""
    scandir, closed = os.scandir, str(tmp_path / "broker-2")
    for name in ("broker-1", "broker-2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "server.log").write_bytes(START + line(1))

    def listed(path: str) -> Any:
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", listed)
    found = find(tmp_path)
    assert [source.relative for source in found.files] == ["broker-1/server.log"]
    assert [(skip.name, skip.reason, skip.is_named) for skip in found.skipped] == [(closed, "cannot be read: Permission denied", True)]


def test_a_file_that_went_away(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(START)
    (source,) = find(path).files
    path.unlink()

    reading = read_source(source)
    assert (reading.report.status, reading.report.reason) == ("rejected", "cannot be read: No such file or directory")


def test_what_is_no_file_and_what_is_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling.log").symlink_to(tmp_path / "nothing")
    found = find(tmp_path, tmp_path / "nowhere.log")

    assert {Path(skip.name).name: skip.reason for skip in found.skipped} == {
        "pipe": "not a regular file",
        "dangling.log": "cannot be read: No such file or directory",
    }
    assert found.missing == [str(tmp_path / "nowhere.log")]


def test_links_to_folders_are_followed_and_each_folder_is_read_once(tmp_path: Path) -> None:
    """A link to a folder elsewhere counts as a folder; one back, or to one that is read anyway, adds nothing."""
    given, elsewhere = tmp_path / "given", tmp_path / "elsewhere"
    for folder in (given / "broker-1", elsewhere / "deep"):
        folder.mkdir(parents=True)
    for number, folder in enumerate((given / "broker-1", elsewhere, elsewhere / "deep")):
        (folder / "server.log").write_bytes(line(number) * 3)
    (given / "a-link").symlink_to(given / "broker-1")
    (given / "all").symlink_to(elsewhere)
    (given / "broker-1" / "loop").symlink_to(".")
    (given / "broker-1" / "up").symlink_to("..")
    (given / "broker-1" / "above").symlink_to(tmp_path)
    (elsewhere / "back").symlink_to(given)
    (elsewhere / "round").symlink_to("deep/round")
    (elsewhere / "deep" / "round").symlink_to("../round")

    found = find(given)

    names = sorted(os.path.relpath(file.name, given) for file in found.files)
    assert names == ["all/deep/server.log", "all/server.log", "broker-1/server.log"]
    assert {Path(skip.name).name for skip in found.skipped} == {"round"}
    assert not found.missing


@settings(max_examples=examples(80, 200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.integers(0, 99).map(line),
            st.sampled_from(
                [START, BAD_DATE, NO_DATE, CUT, TORN, ORPHAN, b"\n", b"\x00" * 70_000, b"\r\n", b"\xff\xfe", b"{", b'"', b"\x1b["]
            ),
        ),
        max_size=12,
    ).map(b"".join),
    st.sampled_from([100, 5000, 1 << 20]),
)
def test_no_bytes_crash_the_reader_and_all_are_counted(tmp_path: Path, content: bytes, max_record_bytes: int) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(START * 3 + content)
    found = find(path)
    for source in found.files:
        reading = read(path, max_record_bytes=max_record_bytes)
        counts = reading.report.counts
        assert counts.bytes == source.size_bytes
        assert counts.recognised + counts.unknown + counts.rejected <= counts.records - 2  # what begins the file is ignored
        again = read(path, max_record_bytes=max_record_bytes, chunk_bytes=512)
        assert again.events.equals(reading.events)
        assert again.rejected.equals(reading.rejected)
        assert again.report.counts == reading.report.counts


def as_it_is(text: bytes) -> bytes:
    return text


def as_a_pod(text: bytes) -> bytes:
    """Each line behind the name of its pod, as ``stern`` and ``docker compose logs`` print them."""
    return b"".join(b"orders-0 | " + each for each in text.splitlines(keepends=True))


@pytest.mark.parametrize("pack", [as_it_is, as_a_pod])
@pytest.mark.parametrize("count", [90, 101, 3000])
def test_a_log_may_begin_with_any_number_of_lines_that_are_none(tmp_path: Path, count: int, pack: Callable[[bytes], bytes]) -> None:
    """As a container that prints its settings before the broker starts."""
    banner = b"".join(b"some.setting.number.%d=value\n" % number for number in range(count))
    (tmp_path / "server.log").write_bytes(pack(banner + START + line(1) + line(2)))

    assert [source.relative for source in find(tmp_path).files] == ["server.log"]


def test_known_words_in_a_file_without_a_record_are_told_with_their_line(tmp_path: Path) -> None:
    lines = [b"2026-11-21 09:07:50,040 INFO [main] shop.Orders - started job %d" % number for number in range(900)]
    lines[700] = (
        b"2026-11-21 09:07:50,040 INFO [main] shop.Orders - [GroupCoordinator 3]: Member a has failed, removing it from the group, said one"
    )
    report = read_bytes(tmp_path, b"\n".join(lines) + b"\n").report
    assert (report.status, report.counts.recognised) == ("ok", 0)
    assert report.reason == "nothing was recognised, though line 701 has words of a known message"
    parts = [report_row(report), report_row(read_bytes(tmp_path, START + line(1)).report, 90, 901)]
    assert join_parts(parts)["reason"] is None


def test_known_words_far_behind_in_a_file_in_no_layout_are_told_with_their_line(tmp_path: Path) -> None:
    lines = [f"~ job {number} of worker {number % 7}, and so on and on" for number in range(3000)]
    lines[2500] = "~ [GroupCoordinator 3]: Preparing to rebalance group foo oddly"
    (tmp_path / "notes.txt").write_text("\n".join(lines))
    (skip,) = find(tmp_path / "notes.txt").skipped
    assert skip.reason == "not read: no line is in a known layout, though line 2501 contains known text"
