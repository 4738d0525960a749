"""Bundles are read as the folders that they hold, in one pass, and what is wrong inside is told."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from parsers.reading.spark_source import decoded_sources, sources_json
from parsers.reading.splits import share_out
from parsers.sources import archives, inspection
from tests.parsers.reading.source_files import find, read_source
from tests.parsers.reading.test_bad_input import START, line

SERVER = START + line(1) + line(2)
CLIENT = b"2026-11-21 11:07:03,040 INFO [main] o.a.k.c.c.i.ConsumerCoordinator - [Consumer clientId=c-1, groupId=g-1] (Re-)joining group\n"
FILES: dict[str, bytes] = {
    "logs/broker-1/server.log": SERVER,
    "logs/broker-1/server.log.1.gz": gzip.compress(START + line(7)),
    "logs/clients/app.log": CLIENT,
    "logs/broker-1/server.properties": b"broker.id=1\n",
    "logs/empty.log": b"",
}
LOGS = ["logs/broker-1/server.log", "logs/broker-1/server.log.1.gz", "logs/clients/app.log"]


def tar(files: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=form) as bundle:
        folder = tarfile.TarInfo("logs")
        folder.type = tarfile.DIRTYPE
        bundle.addfile(folder)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            bundle.addfile(member, io.BytesIO(content))
    return held.getvalue()


def packed_zip(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as bundle:
        if any("/" in name for name in files):
            bundle.mkdir("logs")
        for name, content in files.items():
            bundle.writestr(name, content)
    return held.getvalue()


KINDS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "tar": tar,
    "old tar": lambda files: tar(files, tarfile.GNU_FORMAT),
    "tar.gz": lambda files: gzip.compress(tar(files)),
    "tar.bz2": lambda files: bz2.compress(tar(files)),
    "tar.xz": lambda files: lzma.compress(tar(files)),
    "tar.zst": lambda files: zstandard.compress(tar(files)),
    "zip": packed_zip,
    "stored zip": lambda files: packed_zip(files, zipfile.ZIP_STORED),
    "lzma zip": lambda files: packed_zip(files, zipfile.ZIP_LZMA),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_gives_what_its_files_give(tmp_path: Path, kind: str) -> None:
    for name, content in FILES.items():
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(content)
    # The name says nothing: what a file is, is told by its content.
    bundle = tmp_path / "bundle"
    bundle.write_bytes(KINDS[kind](FILES))

    found = find(bundle)
    assert [source.name for source in found.files] == [f"{bundle}/{name}" for name in LOGS]
    assert [source.relative for source in found.files] == LOGS
    assert {(skip.name, skip.reason, skip.is_named) for skip in found.skipped} == {
        (f"{bundle}/logs/broker-1/server.properties", "not a log: no line is in a known layout", False),
        (f"{bundle}/logs/empty.log", "empty", False),
    }
    plain = {source.relative: source for source in find(tmp_path / "folder").files}
    for source in found.files:
        inside, outside = read_source(source), read_source(plain[source.relative])
        assert inside.events.drop(["file"]).equals(outside.events.drop(["file"]))
        assert (inside.report.status, inside.report.counts) == ("ok", outside.report.counts)
        assert source.file_id == plain[source.relative].file_id


def test_globs_name_files_of_a_bundle_with_and_without_its_one_folder(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.tgz"
    bundle.write_bytes(KINDS["tar.gz"](FILES))
    client = find(bundle).files[-1]

    hours = {
        glob: read_source(client, log_tz=[(glob, "Europe/Berlin")]).rows("at")[0]["at"].hour
        for glob in ("clients/*", "logs/clients/*", "app.log", "broker-1/*", "ients/app.log")
    }
    assert hours == {"clients/*": 10, "logs/clients/*": 10, "app.log": 10, "broker-1/*": 11, "ients/app.log": 11}


def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    opened: list[str] = []
    real = archives.open_stream

    def spy(path: str, compression: str | None) -> archives.ForwardReader:
        opened.append(path)
        return real(path, compression)

    monkeypatch.setattr(archives, "open_stream", spy)
    return opened


def test_a_compressed_tar_is_read_once_however_many_files_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tmp_path / "bundle.tgz"
    bundle.write_bytes(gzip.compress(tar({f"{number}.log": START + line(number) for number in range(50)})))
    found = find(bundle)

    opened = counting(monkeypatch)
    assert [read_source(source).rows("group") for source in found.files] == [[{"group": f"g-{number}"}] for number in range(50)]
    assert len(opened) == 1
    # Going back begins anew, and gives the same.
    assert read_source(found.files[3]).rows("group") == [{"group": "g-3"}]
    assert len(opened) == 2


def test_two_files_of_a_bundle_can_be_open_at_once(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.tgz"
    bundle.write_bytes(gzip.compress(tar(FILES)))
    first, _, third = find(bundle).files

    one, two = third.open(), first.open()
    target = bytearray(10)
    assert (two.readinto(memoryview(target)), bytes(target)) == (10, SERVER[:10])
    assert (one.readinto(memoryview(target)), bytes(target)) == (10, CLIENT[:10])
    one.close()
    two.close()


def test_a_bundle_that_was_replaced_is_not_read_from_where_the_old_one_stopped(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.tgz"
    bundle.write_bytes(gzip.compress(tar({"a.log": START + line(1), "b.log": START + line(2)})))
    first, second = find(bundle).files
    read_source(first)
    bundle.write_bytes(gzip.compress(tar({"a.log": START + line(1), "b.log": START + line(3), "c.log": START})))

    assert read_source(second).rows("group") == [{"group": "g-3"}]


def test_files_of_a_compressed_tar_are_one_share_in_its_order(tmp_path: Path) -> None:
    (tmp_path / "a.tgz").write_bytes(gzip.compress(tar(FILES)))
    (tmp_path / "b.zip").write_bytes(packed_zip({"x.log": START + line(4), "y.log": START + line(5)}))
    (tmp_path / "c.log").write_bytes(START + line(6))

    sources = [(source, None) for source in find(tmp_path).files]
    shares = [[part.source.relative for part in share] for share in share_out(sources, 9, 1 << 20)]
    assert sorted(shares) == [[f"a.tgz/{name}" for name in LOGS], ["b.zip/x.log"], ["b.zip/y.log"], ["c.log"]]


# A zstd frame without a checksum gives other bytes where some were overwritten: nothing tells.
DAMAGES = [("tar", "cut"), ("tar", "overwritten"), ("tar.gz", "cut"), ("tar.gz", "overwritten"), ("tar.zst", "cut")]


@pytest.mark.parametrize(("kind", "how"), DAMAGES)
def test_a_damaged_bundle_gives_what_can_be_read_and_says_where_it_ends(tmp_path: Path, kind: str, how: str) -> None:
    noise = random.Random(4)  # noqa: S311
    many = {
        f"{number:03}.log": START + b"".join(line(each) + noise.randbytes(200).hex().encode() + b"\n" for each in range(30))
        for number in range(60)
    }
    content = bytearray(KINDS[kind](many))
    middle = len(content) // 2 if kind != "tar" else content.index(b"030.log") + 1
    if how == "cut":
        del content[middle + 700 :]
    else:
        content[middle : middle + 1500] = b"\xaa" * 1500
    (tmp_path / "bundle").write_bytes(content)
    (tmp_path / "whole.log").write_bytes(START + line(99))

    found = find(tmp_path)
    inside = [source for source in found.files if source.archive]
    (told,) = [skip for skip in found.skipped if skip.name == str(tmp_path / "bundle")]
    assert told.is_named
    assert "tar archive" in told.reason or kind.removeprefix("tar.") in told.reason or "gzip" in told.reason or "zstd" in told.reason
    assert 0 < len(inside) < 60
    for source in inside[:-1]:
        assert read_source(source).events.num_rows == 30
    assert len(found.files) == len(inside) + 1


def test_a_file_that_cannot_be_opened_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    content = bytearray(packed_zip({"a.log": START + line(1), "b.log": START + line(2)}, zipfile.ZIP_STORED))
    # The bit of the flags that says a password is needed, in the central directory and at the file itself.
    for sign, place in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        content[content.index(sign) + place] |= 1
    (tmp_path / "bundle.zip").write_bytes(content)
    found = find(tmp_path / "bundle.zip")

    assert [source.relative for source in found.files] == ["b.log"]
    (skip,) = found.skipped
    assert skip.name.endswith("bundle.zip/a.log")
    assert "password" in skip.reason


def test_a_damaged_file_of_a_zip_is_truncated(tmp_path: Path) -> None:
    text = START + b"".join(map(line, range(60))) * 200
    content = bytearray(packed_zip({"a.log": text}))
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "bundle.zip").write_bytes(content)
    (source,) = find(tmp_path / "bundle.zip").files

    report = read_source(source).report
    assert report.status == "truncated"
    assert "damaged archive" in (report.reason or "")


@pytest.mark.parametrize("sign", ["META-INF/MANIFEST.MF", "[Content_Types].xml"])
def test_programs_and_documents_are_no_bundles(tmp_path: Path, sign: str) -> None:
    (tmp_path / "kafka.jar").write_bytes(packed_zip({sign: b"x", "a.log": START + line(1)}))
    found = find(tmp_path / "kafka.jar")

    assert found.files == []
    assert [(skip.reason, skip.is_named) for skip in found.skipped] == [
        ("a program or document, not a bundle of logs; save a document as text or CSV", False)
    ]


NESTED = ("tar", "tar.gz", "tar.zst", "zip", "stored zip")


@pytest.mark.parametrize("inner", NESTED)
@pytest.mark.parametrize("outer", NESTED)
def test_an_archive_in_an_archive_gives_what_its_files_give(tmp_path: Path, outer: str, inner: str) -> None:
    bundle = tmp_path / "bundle"
    hosts = {f"host-{n}/logs.x": {f"{name}.log": START + line(n * 10 + name) for name in range(3)} for n in (1, 2)}
    held = {name: KINDS[inner](files) for name, files in hosts.items()}
    bundle.write_bytes(KINDS[outer]({"first.log": START + line(5), **held, "last.log": START + line(6)}))
    found = find(bundle)

    names = ["first.log", *(f"host-{number}/logs.x/{name}.log" for number in (1, 2) for name in range(3)), "last.log"]
    assert [source.relative for source in found.files] == names
    assert not found.skipped
    groups = [f"g-{number}" for number in (5, 10, 11, 12, 20, 21, 22, 6)]
    again = decoded_sources(sources_json(found.files))
    assert [read_source(source).rows("group")[0]["group"] for source in again] == groups
    assert [read_source(source).rows("group")[0]["group"] for source in reversed(found.files)] == groups[::-1]


def test_archives_in_a_compressed_tar_are_read_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tmp_path / "bundle.tgz"
    inner = [(kind, f"{number}-{kind}") for number in range(5) for kind in NESTED]
    bundle.write_bytes(KINDS["tar.gz"]({name: KINDS[kind]({f"{name}-{n}.log": START + line(n) for n in range(9)}) for kind, name in inner}))
    found = find(bundle)

    opened = counting(monkeypatch)
    for source in found.files:
        read_source(source)
    assert len(opened) == 1


def test_the_list_of_a_zip_is_read_twice_however_many_files_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(packed_zip({f"{number}.log": START + line(number) for number in range(50)} | {f"{n}.x": b"" for n in range(500)}))
    lists: list[object] = []
    real = zipfile.ZipFile._RealGetContents  # type: ignore[attr-defined]
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", lambda self: (lists.append(self), real(self)))

    found = find(bundle)
    assert [read_source(source).rows("group") for source in found.files] == [[{"group": f"g-{number}"}] for number in range(50)]
    assert len(lists) == 2


@pytest.mark.parametrize(
    ("limits", "content", "names", "said"),
    [
        ({"entries": 3}, tar({f"{n}.log": START + line(n) for n in range(5)}), ["0.log", "1.log", "2.log"], "more than 3 files"),
        ({"entries": 3}, packed_zip({f"{n}.log": START + line(n) for n in range(5)}), ["0.log", "1.log", "2.log"], "more than 3 files"),
        (
            {"nested_bytes": 20_000},
            tar({"a.log": START + line(1), "b.tgz": gzip.compress(tar({"c.log": START, "d.log": START * 900, "e.log": START}))}),
            ["a.log"],
            "more than 20,000 bytes",
        ),
        ({"nested_bytes": 500}, tar({"a.log": START + line(1), "b.zip": packed_zip(FILES)}), ["a.log"], "more than 500 bytes"),
        (
            {"depth": 2},
            tar({"a.log": START + line(5), "b.tgz": gzip.compress(tar({"c.log": START + line(1), "d.zip": packed_zip(FILES)}))}),
            ["a.log", "b.tgz/c.log"],
            "an archive in 2 others",
        ),
    ],
    ids=["files of a tar", "files of a zip", "bytes of a tgz", "bytes of a zip", "depth"],
)
def test_a_bomb_is_left_where_a_limit_is_reached_which_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], content: bytes, names: list[str], said: str
) -> None:
    monkeypatch.setattr(inspection, "UnpackingLimits", lambda: archives.UnpackingLimits(**limits))
    (tmp_path / "bundle").write_bytes(content)
    found = find(tmp_path / "bundle")

    assert {source.relative for source in found.files} >= set(names)
    assert [skip for skip in found.skipped if said in skip.reason]


def test_a_damaged_archive_in_an_archive_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    noise = random.Random(4)  # noqa: S311
    inner = gzip.compress(tar({f"{n}.log": START + line(n) * 500 + noise.randbytes(9000).hex().encode() for n in range(9)}))
    (tmp_path / "bundle.tar").write_bytes(
        tar({"cut.tgz": inner[: len(inner) // 2], "kafka.jar": packed_zip({"META-INF/MANIFEST.MF": b""}), "b.log": START + line(77)})
    )
    found = find(tmp_path / "bundle.tar")

    assert [source.relative for source in found.files][-1] == "b.log"
    assert any(source.relative.startswith("cut.tgz/") for source in found.files)
    told = {skip.name.removeprefix(f"{tmp_path}/bundle.tar/"): (skip.reason, skip.is_named) for skip in found.skipped}
    assert told["kafka.jar"] == ("a program or document, not a bundle of logs; save a document as text or CSV", False)
    assert "gzip stream ends early" in told["cut.tgz"][0]
    assert told["cut.tgz"][1]


def test_names_inside_are_only_shown(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.tar"
    bundle.write_bytes(tar({"../../etc/server.log": START + line(1), "/abs/server.log": START + line(2), "./x/a.log": START + line(3)}))
    found = find(bundle)

    assert [source.relative for source in found.files] == ["../../etc/server.log", "abs/server.log", "x/a.log"]
    assert [read_source(source).rows("group") for source in found.files] == [[{"group": f"g-{n}"}] for n in (1, 2, 3)]


def test_the_same_log_in_two_bundles_is_read_once(tmp_path: Path) -> None:
    text = START + b"".join(map(line, range(60)))
    (tmp_path / "a.tgz").write_bytes(gzip.compress(tar({"server.log": text})))
    (tmp_path / "b.zip").write_bytes(packed_zip({"server.log": text + line(8)}))
    found = find(tmp_path)

    assert [source.relative for source in found.files] == ["b.zip/server.log"]
    assert [skip.reason for skip in found.skipped] == [f"the same content stands in {tmp_path}/b.zip/server.log"]
