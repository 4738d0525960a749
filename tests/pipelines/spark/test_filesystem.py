"""Logs behind a scheme that no driver of Arrow serves, read through Spark: the rows are those that Arrow gives.

`viewfs://` comes with Hadoop, and shows folders of this machine where a mount table of the session says so.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from pyarrow import fs

from parsers.reading import splits as ranges
from parsers.reading.reader import ReadOptions, find_files
from parsers.schema import RECORD_KINDS
from parsers.sources import filesystems as places
from parsers.sources.content_checkpoints import checkpoint_parts, checkpoints
from pipelines.errors import NothingReadable
from pipelines.spark import file_bytes as pieces
from pipelines.spark import filesystem as spark_files
from pipelines.storage import object_stores as stores
from pipelines.transforms.read import file_splits as parts
from pipelines.transforms.read import records as parsed_module
from pipelines.transforms.read.records import parse_files
from tests.conftest import LONG
from tests.pipelines.site import Site

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
MOUNT = "viewfs://elsewhere/mounted"
BLOCK = 1 << 23
UNHEARD = b"[2024-05-01 13:00:00,000] INFO [GroupCoordinator 1]: Never said before (kafka.coordinator.group.GroupCoordinator)\n"
ORDER = re.compile(r"'file_time_max_at': [^)]*\)[^)]*\)")
BY_PATH = ("learned_facts", "rejected_records", "state_snapshots")
"""Tables whose ids are made of paths."""


class Direct:
    """The same places as they are on this machine, by Arrow's own file system: what the rows are compared with."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._local = fs.LocalFileSystem()

    def get_file_info(self, what: Any) -> Any:
        if isinstance(what, fs.FileSelector):
            listed = self._local.get_file_info(fs.FileSelector(self._here(what.base_dir), recursive=True))
            return [self._told(info) for info in listed]
        return self._told(self._local.get_file_info(self._here(what)))

    def open_input_file(self, place: str) -> Any:
        return self._local.open_input_file(self._here(place))

    def ahead(self, wanted: Any) -> None:
        """All is at hand."""

    def _here(self, place: str) -> str:
        return place.replace(MOUNT, self._folder)

    def _told(self, info: fs.FileInfo) -> fs.FileInfo:
        return fs.FileInfo(info.path.replace(self._folder, MOUNT), info.type, size=info.size, mtime_ns=info.mtime_ns)


@pytest.fixture
def mounted(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """The folder that the scheme shows."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    conf = spark._jsc.hadoopConfiguration()
    name = "fs.viewfs.mounttable.elsewhere.link./mounted"
    conf.set(name, folder.as_uri())
    conf.set("fs.viewfs.impl.disable.cache", "true")
    yield folder
    conf.unset(name)
    places._served.clear()


def all_forms(logs: Path, folder: Path) -> None:
    """The logs of a sample, in all forms in which logs come."""
    shutil.copytree(logs, folder, dirs_exist_ok=True)
    lines = (logs / "broker-1" / "server.log").read_bytes().splitlines(keepends=True)

    def part(begin: int) -> bytes:
        """Like none of the others from its first line on."""
        return b"".join(lines[begin : begin + 300])

    broker = folder / "broker-1"
    (broker / "server.log").write_bytes(b"".join(lines)[:-1])  # the last line is still being written
    (broker / "server.log.2024-05-01-13.gz").write_bytes(gzip.compress(part(1)))
    (folder / "a b [1]").mkdir()
    (folder / "a b [1]" / "x%20{y}.log").write_bytes(b"\xef\xbb\xbf" + part(2))
    (folder / "dt=2024-05-01").mkdir()
    (folder / "dt=2024-05-01" / "packed.zst").write_bytes(zstandard.compress(part(3)))
    (folder / "dt=2024-05-01" / "named.gz").write_bytes(part(4).replace(b"\n", b"\r\n"))
    (folder / "bad.log").write_bytes(part(5) + b"\xff\xfe\x00 no text\n" + UNHEARD + part(400))
    (folder / "packed.bz2").write_bytes(bz2.compress(part(6)))
    (folder / "packed.xz").write_bytes(lzma.compress(part(7)))
    (folder / "noise.bin").write_bytes(os.urandom(5000))
    with tarfile.open(folder / "bundle.tgz", "w:gz") as bundle:
        for name, begin in (("one/server.log", 8), ("two/server.log", 9)):
            told = tarfile.TarInfo(name)
            told.size = len(part(begin))
            bundle.addfile(told, io.BytesIO(part(begin)))
    with zipfile.ZipFile(folder / "bundle.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("three/server.log", part(10))


def records(spark: SparkSession, *, is_local: bool) -> dict[str, list[str]]:
    """Records of all kinds, as the job reads them, and the checkpoints of their files."""
    options = ReadOptions(fold_runs=True)
    found = find_files([MOUNT], options)
    read = parse_files(spark, [(source, None) for source in found.files], options, BLOCK, is_local=is_local)
    rows = {kind: sorted(map(str, read.arrow(kind).to_pylist())) for kind in RECORD_KINDS}
    read.release()
    places.ahead({source.path: checkpoint_parts(source, source.size_bytes) for source in found.files})
    held = {source.name: str(checkpoints(source, source.size_bytes)) for source in found.files}
    skipped = sorted(map(str, found.skipped))
    return rows | {"found": sorted(map(str, found.files)), "checkpoints": sorted(map(str, held.items())), "skipped": skipped}


def through_spark(spark: SparkSession) -> None:
    """See the places as a run does."""
    stores.use({}, [MOUNT])


@LONG
def test_the_records_are_those_of_arrow(spark: SparkSession, mounted: Path, samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    all_forms(samples / "kafka" / "2.8.2" / "coordinator-failover", mounted)
    places.register_filesystem("viewfs", Direct(mounted))
    expected = records(spark, is_local=True)
    assert sum("elsewhere/mounted/broker-" not in file for file in expected["found"]) >= 9, "no form is a copy of another"
    assert all(expected[name] for name in ("events", "unknown", "files", "checkpoints", "skipped"))

    through_spark(spark)
    assert records(spark, is_local=True) == expected
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    through_spark(spark)
    assert records(spark, is_local=False) == expected
    # Files that are large have their own way: for the driver, and for the workers.
    for module, name, most in (
        (spark_files, "SMALL_BYTES", 1 << 13),
        (pieces, "LARGE_BYTES", 1 << 14),
    ):
        monkeypatch.setattr(module, name, most)
    monkeypatch.setattr(parsed_module, "LARGE_BYTES", 1 << 14)
    (mounted / "a b [1]" / "x%20{y}.log").unlink()  # with a byte order mark
    places.register_filesystem("viewfs", Direct(mounted))
    expected = records(spark, is_local=True)
    through_spark(spark)
    assert records(spark, is_local=False) == expected
    assert spark.conf.get("spark.sql.files.maxPartitionBytes") == before


def test_a_file_that_spark_cannot_read_does_not_hide_the_others(
    spark: SparkSession, mounted: Path, samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("good.log", "refused.log"):
        shutil.copy(samples / "kafka" / "2.8.2" / "coordinator-failover" / f"broker-{len(name) % 2 + 1}" / "server.log", mounted / name)
    whole = spark_files.SparkFiles._beginnings

    def refused(files: spark_files.SparkFiles, wanted: list[str], size: int) -> Any:
        if any(place.endswith("refused.log") for place in wanted):
            raise RuntimeError("Permission denied: user=spark, access=READ")  # as a task that fails says it
        return whole(files, wanted, size)

    monkeypatch.setattr(spark_files.SparkFiles, "_beginnings", refused)
    through_spark(spark)
    found = find_files([MOUNT])
    assert [source.name for source in found.files] == [f"{MOUNT}/good.log"]
    assert [(skip.name, skip.reason.partition(":")[0]) for skip in found.skipped] == [(f"{MOUNT}/refused.log", "cannot be read")]


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_large_files_are_read_in_parts(
    spark: SparkSession, mounted: Path, samples: Path, monkeypatch: pytest.MonkeyPatch, ending: bytes
) -> None:
    """Parts begin within lines, where lines begin, and within stack traces; each record is read once, where it is."""
    sample = samples / "kafka" / "2.8.2" / "coordinator-failover"
    text = b"".join((sample / f"broker-{number}" / "server.log").read_bytes() for number in (1, 2, 3))
    trace = b"".join(b"\tat some.where.Else.call(Else.java:%d)\n" % number for number in range(1800))
    lines = text.splitlines(keepends=True)
    text = b"".join([*lines[:20], UNHEARD, trace, *lines[20:]])
    step = 1 << 16
    edge = text.rindex(b"\n", 0, 3 * step) + 1  # a line begins just where the fourth part does
    text = text[:edge] + b"\t" + b"x" * (3 * step - edge - 2) + b"\n" + text[edge:]
    (mounted / "server.log").write_bytes(text.rstrip(b"\n") + ending)
    places.register_filesystem("viewfs", Direct(mounted))
    monkeypatch.setattr(ranges, "FOLD_BLOCK_BYTES", step)
    [file] = find_files([MOUNT]).files
    lines_before = [part.line for part in ranges.split(file, step)]
    expected = records(spark, is_local=True)
    through_spark(spark)
    [file] = find_files([MOUNT]).files
    monkeypatch.setattr(parts, "STEP_BYTES", step)
    with pieces.cut_at(spark, step):
        [found] = parts.measure_splits(spark, {places.filesystem_of(file.path).url_of(file.path): file}).values()
    assert [part.reading.line for part in found] == lines_before
    assert len(found) == 6
    told = records(spark, is_local=False)
    # Of the times of other parts each knows nothing, which the job mends.
    told["events"], expected["events"] = ([ORDER.sub("", row) for row in rows["events"]] for rows in (told, expected))
    for kind in ("events", "unknown", "rejected", "checkpoints"):
        assert told[kind] == expected[kind], kind


def test_a_byte_order_mark_that_is_lost_is_told(spark: SparkSession, mounted: Path, samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = (samples / "kafka" / "2.8.2" / "coordinator-failover" / "broker-1" / "server.log").read_bytes()
    (mounted / "server.log").write_bytes(b"\xef\xbb\xbf" + server)
    monkeypatch.setattr(spark_files, "SMALL_BYTES", 1 << 13)
    monkeypatch.setattr(spark_files, "BEGINNING_LINES", 10)
    through_spark(spark)
    [file] = find_files([MOUNT]).files
    read = parse_files(spark, [(file, None)], ReadOptions(), BLOCK, is_local=False)
    [report] = read.arrow("files").to_pylist()
    assert (report["status"], report["reason"]) == ("rejected", "not read: begins with a byte order mark, which Spark's reader drops")


@LONG
def test_the_job_reads_through_spark(mounted: Path, published: Site, halfway: Site, copied: Callable[[Site], Site]) -> None:
    """Logs that are known by another path, one of which has grown, then nothing new."""
    site = copied(halfway)
    shutil.copytree(published.logs, mounted, dirs_exist_ok=True)
    shutil.rmtree(site.logs)
    outcome = site.run(MOUNT)
    assert outcome.counts["files_read"] == 1
    told = {name: [line.replace(f"{MOUNT}/", "logs/") for line in lines] for name, lines in site.content().items()}
    wanted = published.content()
    assert {name for name in wanted if name not in BY_PATH and sorted(told[name]) != sorted(wanted[name])} == set()
    assert site.run(f"{MOUNT}/").was_skipped


@LONG
def test_what_was_read_elsewhere_before_may_still_be_there(mounted: Path, poll_timeout: Path, tmp_path: Path) -> None:
    """Logs are read from another place than before, which nobody sees any more: they go on there, and nothing is read twice."""
    shutil.copytree(poll_timeout, mounted, dirs_exist_ok=True)
    site = Site(tmp_path)
    site.run(MOUNT)
    places._served.clear()
    outcome = site.run(str(mounted))
    assert outcome.was_skipped
    assert outcome.counts["files_read"] == 0


def test_what_is_not_there_is_said(mounted: Path, published: Site) -> None:
    with pytest.raises(NothingReadable, match="no such file or folder"):
        published.run(f"{MOUNT}/nothing")
    with pytest.raises(NothingReadable, match=r"viewfs://nowhere/x: Spark can't list it: .*nowhere"):
        published.run("viewfs://nowhere/x")
    with pytest.raises(NothingReadable, match='No FileSystem for scheme "unheard"'):
        published.run("unheard://of/logs")
