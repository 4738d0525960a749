"""Content is known by itself: whatever becomes of a file's name, each record is read once."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import shutil
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from parsers.reading import resume
from parsers.reading.file_reports import report_row
from parsers.reading.reader import Discovery, FileReader, ReadOptions, SourceFile, find_files, list_files
from parsers.reading.resume import Start, content_end, settled_end
from parsers.sources import archives
from parsers.sources import compression as streams
from parsers.sources import content_checkpoints as marks
from parsers.sources import filesystems as places
from parsers.sources.content_checkpoints import checkpoints
from parsers.sources.inspection import Inspection
from pipelines.jobs.ingest.read_batch import StartedSources, read_planned
from pipelines.jobs.ingest.read_plan import KNOWN_COLUMNS, KnownFile, Plan, known_files, plan
from pipelines.jobs.registry.resume_states import state_text

BLOCK = 8192
LINE = (
    "[2026-11-21 09:{:02d}:{:02d},{:03d}] INFO [GroupCoordinator 1]: Group {} with generation {} is now empty (__consumer_offsets-12) "
    "(kafka.coordinator.group.GroupCoordinator)\n"
)


def lines(first: int, count: int, group: str = "orders") -> bytes:
    """Records that tell each other apart by time and generation."""
    return "".join(LINE.format(n // 60000 % 60, n // 1000 % 60, n % 1000, group, n) for n in range(first, first + count)).encode()


@dataclass
class ReadFile:
    """What was read of a file from a start on."""

    source: SourceFile
    start: Start | None
    settled: Start | None
    rows: dict[int, tuple[str, int]]
    report: dict[str, Any]


def _read(source: SourceFile, start: Start | None) -> ReadFile:
    settled = settled_end(source, start, BLOCK)
    reader = FileReader(source, ReadOptions(), start=start.offset if start else None, line=start.line if start else 1)
    events = [event for chunk in reader for event in chunk.events.to_pylist()]
    rows = {event["byte_offset"]: (event["group"], event["generation"]) for event in events}
    return ReadFile(source, start, settled, rows, report_row(reader.report))


@dataclass
class Read:
    """What was read of all files."""

    files: list[ReadFile]

    def reports(self) -> dict[str, list[dict[str, Any]]]:
        return {file.source.name: [file.report] for file in self.files}

    def leave_out(self, files: Iterable[str]) -> None:
        self.files = [file for file in self.files if file.source.name not in set(files)]

    def release(self) -> None:
        self.files = []


@dataclass
class Ledger:
    """What a run writes down of files, kept in memory: rows are (group, generation) by path and offset."""

    logs: Path
    files: dict[str, KnownFile] = field(default_factory=dict)
    rows: dict[str, dict[int, tuple[str, int]]] = field(default_factory=dict)
    bytes_read: int = 0
    looks: dict[str, Inspection] = field(default_factory=dict)

    def run(self, *, rebuild: bool = False, options_id: str = "same", meanwhile: Callable[[], None] = lambda: None) -> dict[str, str]:
        """Read what is new; `meanwhile` is called between the finding of files and their reading. Files that were missed -> why."""

        def planned(found: Discovery) -> Plan:
            return plan(self.files.values(), found.files, found.skipped, lambda _: options_id, rebuild=rebuild)

        def parse(sources: StartedSources) -> Read:
            meanwhile()
            return Read([_read(source, start) for source, start in sources])

        found = list_files([str(self.logs)], ReadOptions(), {} if rebuild else self.looks)
        self.looks = {path: written_down(look) for path, look in found.inspections.items() if look is not None}
        reading = read_planned(found, planned, parse)
        todo = reading.todo
        assert not todo.stale
        files = {}
        for path, file in self.files.items():
            if path not in todo.gone:
                name = todo.renamed.get(path, path)
                size = todo.sizes.get(name, file.size_bytes)
                files[name] = replace(file, path=name, size_bytes=size, states={name: file.states[path]})
        rows = {todo.renamed.get(path, path): dict(held) for path, held in self.rows.items() if path not in todo.gone}
        assert len(files) == len(self.files) - len(todo.gone)
        for part in reading.records.files if reading.records is not None else ():
            source, start = part.source, part.start
            kept = {at: row for at, row in rows.get(source.name, {}).items() if start is not None and at < start.offset}
            rows[source.name] = kept | part.rows
            self.bytes_read += part.report["bytes_read"]
            length = (start.offset if start else 0) + part.report["bytes_read"]
            told = {"path": source.name, "options_id": options_id, "bytes_read": length}
            row = {name: part.report[name] for name in ("file_id", "size_bytes", "status", "reason")} | told
            last = part.settled or start
            end = content_end(source, length) if source.is_plain else length
            places = checkpoints(source, end) if source.is_plain else part.report["checkpoints"]
            state = {"checkpoints": places} | ({"offset": last.offset, "line": last.line} if last else {})
            state |= ({"end": end} if end < length else {}) | {"zeros": source.zeros}
            [files[source.name]] = known_files([[row[name] for name in KNOWN_COLUMNS]], {source.name: state_text(state)})
        self.files, self.rows = files, rows
        return reading.missed

    def told(self) -> list[tuple[str, int]]:
        return sorted(row for held in self.rows.values() for row in held.values())

    def names(self) -> set[str]:
        return {Path(path).name for path in self.rows}


def written_down(look: Inspection) -> Inspection:
    return Inspection.from_json(look.modified, look.size_bytes, json.loads(json.dumps(look.to_json())))


def hours_pass(folder: Path) -> None:
    """What was written a moment ago was written long ago, each file at another time."""
    now = time.time()
    for number, path in enumerate(path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_mtime > now - 60):
        at = now - 3600 + number
        os.utime(path, (at, at))


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def grow(log: Path) -> None:
    append(log, lines(200, 100))


def grow_within_a_line(log: Path) -> None:
    text = log.read_bytes()
    append(log, lines(200, 100)[:-60])
    assert len(log.read_bytes()) > len(text)


def create(log: Path) -> None:
    grow(log)
    log.rename(log.with_name("server.log.1"))
    log.write_bytes(lines(300, 50))


def rename_only(log: Path) -> None:
    log.rename(log.with_name("server.log.2026-11-21-09"))


def rename_twice(log: Path) -> None:
    """Two rotations between two runs."""
    create(log)
    log.with_name("server.log.1").rename(log.with_name("server.log.2"))
    log.rename(log.with_name("server.log.1"))
    log.write_bytes(lines(350, 90))


def copytruncate(log: Path) -> None:
    grow(log)
    shutil.copy(log, log.with_name("server.log.1"))
    log.write_bytes(lines(300, 150))


def copytruncate_to_nothing(log: Path) -> None:
    shutil.copy(log, log.with_name("server.log.1"))
    log.write_bytes(b"")


def copied_and_not_yet_truncated(log: Path) -> None:
    shutil.copy(log, log.with_name("server.log.1"))
    grow(log)


def compress(log: Path) -> None:
    grow(log)
    log.with_name("server.log.1.gz").write_bytes(gzip.compress(log.read_bytes()))
    log.write_bytes(lines(300, 20))


def compress_another_way(log: Path) -> None:
    log.with_name("server.log.1.zst").write_bytes(zstandard.compress(log.read_bytes()))
    log.unlink()


def delay_compress(log: Path) -> None:
    create(log)
    old = log.with_name("server.log.1")
    log.with_name("server.log.2.gz").write_bytes(gzip.compress(old.read_bytes()))
    old.unlink()
    log.rename(old)
    log.write_bytes(lines(350, 10))


def gzip_before_the_number(log: Path) -> None:
    log.with_name("server.log.bz2.1").write_bytes(bz2.compress(log.read_bytes()))
    log.write_bytes(lines(300, 20))


def date_suffix(log: Path) -> None:
    grow(log)
    log.rename(log.with_name("server-2026-11-21.log"))
    log.write_bytes(lines(300, 1))


def taken_away(log: Path) -> None:
    """The rotated file is moved out of the input, and a new one begins."""
    log.unlink()
    log.write_bytes(lines(300, 80))


def hard_link(log: Path) -> None:
    log.with_name("server.log.1").hardlink_to(log)
    grow(log)


def second_bundle(log: Path) -> None:
    """A later bundle brings the same file, longer by now."""
    folder = log.parent / "bundle-2"
    folder.mkdir()
    shutil.copy(log, folder / "server.log")
    grow(folder / "server.log")


def late_file(log: Path) -> None:
    log.with_name("server.log.0").write_bytes(lines(0, 71, "late"))


Style = Callable[[Path], None]
STYLES: dict[Style, list[tuple[int, int]]] = {
    grow: [(0, 300)],
    grow_within_a_line: [(0, 299)],
    create: [(0, 350)],
    rename_only: [(0, 200)],
    rename_twice: [(0, 440)],
    copytruncate: [(0, 450)],
    copytruncate_to_nothing: [(0, 200)],
    copied_and_not_yet_truncated: [(0, 300)],
    compress: [(0, 320)],
    compress_another_way: [(0, 200)],
    delay_compress: [(0, 360)],
    gzip_before_the_number: [(0, 200), (300, 320)],
    date_suffix: [(0, 301)],
    taken_away: [(0, 200), (300, 380)],
    hard_link: [(0, 300)],
    second_bundle: [(0, 300)],
}


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
@pytest.mark.parametrize("before", [200, 15])
@pytest.mark.parametrize("pause", [lambda _: None, hours_pass], ids=["at once", "hours later"])
def test_each_record_is_read_once_whatever_the_rotation(tmp_path: Path, style: Style, before: int, pause: Callable[[Path], None]) -> None:
    """`before` records were read at first: more than an identity's bytes, or fewer. What has not changed for hours is not opened again."""
    log = tmp_path / "server.log"
    log.write_bytes(lines(200 - before, before))
    ledger = Ledger(tmp_path)
    pause(tmp_path)
    ledger.run()
    style(log)
    pause(tmp_path)
    ledger.run()
    expected = sorted(("orders", n) for first, end in STYLES[style] for n in range(max(first, 200 - before), end))

    assert [row for row in ledger.told() if row[0] == "orders"] == (
        [*expected, ("orders", 299)] if style is grow_within_a_line and ("orders", 299) in ledger.told() else expected
    )
    again = ledger.bytes_read
    pause(tmp_path)
    ledger.run()
    ledger.run()
    assert ledger.bytes_read == again, "a second look reads nothing"


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
@pytest.mark.parametrize("before", [200, 15])
@pytest.mark.parametrize("known", [True, False], ids=["known", "new"])
def test_each_record_is_read_once_though_files_rotate_while_a_run_begins(tmp_path: Path, style: Style, before: int, known: bool) -> None:
    """After files were found and before they are read: the run leaves what is not what it found to the next one."""
    log = tmp_path / "server.log"
    log.write_bytes(lines(200 - before, before - (5 if known else 0)))
    ledger = Ledger(tmp_path)
    if known:
        ledger.run()
        append(log, lines(195, 5))
    rotations = [style]
    ledger.run(meanwhile=lambda: rotations.pop()(log) if rotations else None)
    ledger.run()
    known_records = [("orders", n) for n in range(200 - before, 195 if known else 0)]
    expected = sorted(("orders", n) for first, end in STYLES[style] for n in range(max(first, 200 - before), end))
    if style in (taken_away, gzip_before_the_number):  # what is nowhere to be read any more can't be known
        expected = sorted({*known_records, *(row for row in expected if row[1] >= 300 or style is gzip_before_the_number)})
    told = [row for row in ledger.told() if style is not grow_within_a_line or row[1] != 299]

    assert told == expected
    again = ledger.bytes_read
    assert ledger.run() == {}
    assert ledger.bytes_read == again, "a third look reads nothing"


def test_a_file_that_is_gone_when_it_is_to_be_read_keeps_what_is_known_of_it(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 300))
    ledger = Ledger(tmp_path)
    ledger.run()
    append(log, lines(300, 10))
    missed = ledger.run(meanwhile=lambda: log.unlink(missing_ok=True))

    assert list(missed) == [str(log)]
    assert ledger.told() == [("orders", n) for n in range(300)]


def test_an_archive_that_was_not_yet_whole_is_read_again(tmp_path: Path) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as bundle:
        entry = tarfile.TarInfo("server.log")
        entry.size = len(lines(0, 5000))
        bundle.addfile(entry, io.BytesIO(lines(0, 5000)))
    archive, whole = tmp_path / "bundle.tgz", content.getvalue()
    archive.write_bytes(whole[: len(whole) // 2])
    ledger = Ledger(tmp_path)
    ledger.run()
    first = ledger.told()
    assert first == [("orders", n) for n in range(len(first))]
    assert len(first) > 1000, "what can be read of it is read"
    read_before = ledger.bytes_read
    ledger.run()
    assert ledger.bytes_read == read_before, "nothing has come"
    archive.write_bytes(whole)
    ledger.run()

    assert ledger.told() == [("orders", n) for n in range(5000)]


def test_an_archive_may_hold_a_file_twice(tmp_path: Path) -> None:
    """As `tar -r` appends what has grown."""
    with tarfile.open(tmp_path / "bundle.tar", "w") as bundle:
        for content in (lines(0, 150), lines(0, 200), lines(500, 100)):
            entry = tarfile.TarInfo("server.log")
            entry.size = len(content)
            bundle.addfile(entry, io.BytesIO(content))
    ledger = Ledger(tmp_path)
    ledger.run()

    assert ledger.told() == [("orders", n) for n in [*range(200), *range(500, 600)]]


def test_a_copy_of_other_content_takes_nothing_from_what_had_its_name(tmp_path: Path) -> None:
    """The run falls between copying and truncating, and one old file is kept."""
    log, old = tmp_path / "server.log", tmp_path / "server.log.1"
    old.write_bytes(lines(0, 100))
    log.write_bytes(lines(100, 100))
    ledger = Ledger(tmp_path)
    ledger.run()
    shutil.copy(log, old)
    ledger.run()

    assert ledger.told() == [("orders", n) for n in range(200)]


def test_contents_that_begin_alike_and_lose_their_name_one_after_the_other_are_all_kept(tmp_path: Path) -> None:
    """As a file that is truncated while a program goes on writing at its place: it begins with zeros."""
    log = tmp_path / "server.log"
    ledger = Ledger(tmp_path)
    for generation in range(4):
        log.write_bytes(b"\0" * 5000 + b"\n" + lines(generation * 100, 100 - generation))
        ledger.run()

    assert ledger.told() == [("orders", n) for n in range(400) if n % 100 < 100 - n // 100]


def scramble(path: Path) -> None:
    """Other bytes, as many of them and with the same time of change: who sees that has opened the file."""
    status = path.stat()
    path.write_bytes(bytes(status.st_size))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_files_that_have_not_changed_are_not_opened_again(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(lines(0, 200))
    (tmp_path / "short.log").write_bytes(lines(900, 2))
    (tmp_path / "old.log.gz").write_bytes(gzip.compress(lines(500, 200)))
    (tmp_path / "gc.log").write_bytes(b"no log in any layout\n" * 9)
    with tarfile.open(tmp_path / "bundle.tgz", "w:gz") as bundle:
        bundle.add(tmp_path / "server.log", "logs/server.log")
        bundle.add(tmp_path / "old.log.gz", "logs/old.log.gz")
    hours_pass(tmp_path)
    ledger = Ledger(tmp_path)
    ledger.run()
    told, read = ledger.told(), ledger.bytes_read
    assert len(told) == 402
    for path in tmp_path.iterdir():
        scramble(path)

    assert ledger.run() == {}
    assert (ledger.told(), ledger.bytes_read) == (told, read)
    hours_pass(tmp_path)
    (tmp_path / "server.log").write_bytes(lines(0, 210))
    assert ledger.run() == {}
    assert (len(ledger.told()), sum(path.endswith("server.log") for path in ledger.rows)) == (412, 1)
    assert ledger.told() == sorted([*told, *(("orders", n) for n in range(200, 210))])


def test_a_copy_that_was_compared_is_not_read_again(tmp_path: Path) -> None:
    content = lines(0, 20_000)
    (tmp_path / "server.log").write_bytes(content)
    (tmp_path / "copy.log").write_bytes(content[:-500])
    hours_pass(tmp_path)
    first = find_files([str(tmp_path)])
    looks = {path: written_down(look) for path, look in first.inspections.items() if look is not None}
    for path in tmp_path.iterdir():
        scramble(path)

    assert [source.name for source in first.files] == [str(tmp_path / "server.log")]
    assert len(looks) == 2
    again = list_files([str(tmp_path)], ReadOptions(), looks)
    assert (again.skipped, again.inspections) == (first.skipped, looks)


def read_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Told by files that are opened from now on: how much is read of them."""
    told: list[int] = []

    class Counted(io.FileIO):
        def readinto(self, target: Any) -> int:
            told.append(super().readinto(target) or 0)
            return told[-1]

    def opened(place: str, *_: int, **__: int) -> io.BufferedReader:
        return io.BufferedReader(Counted(place))

    for module in (places, streams, archives, resume, marks):
        monkeypatch.setattr(module, "open_file", opened)
    return told


def test_what_was_measured_of_contents_that_begin_alike_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, upto in enumerate((20, 400)):
        with tarfile.open(tmp_path / f"bundle-{number}.tgz", "w:gz") as bundle:
            for name, content in (("random", os.urandom(1 << 21)), ("server.log", lines(0, upto))):
                member = tarfile.TarInfo(f"logs/{name}")
                member.size = len(content)
                bundle.addfile(member, io.BytesIO(content))
    (tmp_path / "old.log").write_bytes(lines(900, 30_000))
    (tmp_path / "old.log.gz").write_bytes(gzip.compress(lines(900, 30_000)))
    (tmp_path / "copy.log").write_bytes(lines(900, 9000))
    hours_pass(tmp_path)
    first = find_files([str(tmp_path)])
    known = {path: written_down(look) for path, look in first.inspections.items() if look is not None}
    told = read_bytes(monkeypatch)
    again = list_files([str(tmp_path)], ReadOptions(), known)

    assert (sum(told), again.skipped) == (0, first.skipped)
    assert len(first.files) == 2
    append(tmp_path / "old.log", lines(31_000, 30_000))
    assert len(list_files([str(tmp_path)], ReadOptions(), known).files) == 2
    assert 0 < sum(told) < 3 * len(lines(900, 30_000)), "what no other has is not compared"


def test_what_may_still_change_within_its_time_is_looked_into_again(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 200))
    assert find_files([str(log)]).inspections == {str(log): None}
    hours_pass(tmp_path)
    assert find_files([str(log)]).inspections[str(log)] is not None


def test_other_content_of_the_same_size_that_begins_alike_is_another(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 200))
    hours_pass(tmp_path)
    ledger = Ledger(tmp_path)
    ledger.run()
    log.write_bytes(lines(0, 150) + lines(700, 50))
    ledger.run()

    assert set(ledger.told()) == {("orders", n) for n in [*range(200), *range(700, 750)]}


@pytest.mark.parametrize("room", [60_000, 60_000 + 3 * BLOCK])
@pytest.mark.parametrize("pause", [lambda _: None, hours_pass], ids=["at once", "hours later"])
@pytest.mark.parametrize("steps", [(200, 380, 400), (60, 390, 395), (400, 400)], ids=str)
def test_a_file_whose_room_is_taken_before_it_is_written(
    tmp_path: Path, room: int, pause: Callable[[Path], None], steps: Sequence[int]
) -> None:
    """As some appenders and copying tools do: its size stays, or grows by leaps, and what is not yet written is zero."""
    log = tmp_path / "server.log"
    ledger = Ledger(tmp_path)
    for place, upto in enumerate(steps):
        log.write_bytes(lines(0, upto).ljust(60_000 if place == 0 else room, b"\0"))
        pause(tmp_path)
        ledger.run()
        assert ledger.told() == [("orders", n) for n in range(upto)]
        ledger.run()
        assert ledger.told() == [("orders", n) for n in range(upto)]
    assert len(ledger.rows) == 1


@pytest.mark.parametrize("where", range(-130, 10, 7))
def test_a_torn_line_across_a_place_to_go_on_from_is_read_once(tmp_path: Path, where: int) -> None:
    """Two records in one line, of which the second begins around the end of a block."""
    first, second = lines(50, 1)[:90], lines(51, 1)
    before = lines(0, (2 * BLOCK + where - len(first)) // len(lines(0, 1)))
    fill = b"[2026-11-21 09:00:00,000] INFO nothing of interest "
    log = tmp_path / "server.log"
    log.write_bytes(before + fill.ljust(2 * BLOCK + where - len(first) - len(before) - 1, b"x") + b"\n" + first + second + lines(60, 9))
    ledger = Ledger(tmp_path)
    ledger.run()
    append(log, lines(80, 3))
    ledger.run()
    rebuilt = Ledger(tmp_path)
    rebuilt.run()

    assert ledger.rows == rebuilt.rows
    assert ("orders", 51) in ledger.told()


def test_late_files_and_the_same_content_in_another_place_are_no_new_records(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 200))
    ledger = Ledger(tmp_path)
    ledger.run()
    late_file(log)
    (tmp_path / "copy").mkdir()
    shutil.copy(log, tmp_path / "copy" / "server.log")
    ledger.run()

    assert [row for row in ledger.told() if row[0] == "orders"] == [("orders", n) for n in range(200)]
    assert len(ledger.told()) == 271


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 2000))
    ledger = Ledger(tmp_path)
    ledger.run()
    first = ledger.bytes_read
    append(log, lines(2000, 10))
    ledger.run()

    assert first == len(lines(0, 2000))
    assert ledger.bytes_read - first < BLOCK + len(lines(2000, 10))
    assert ledger.told() == [("orders", n) for n in range(2010)]


def test_content_that_lost_its_name_keeps_its_rows_under_one_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 200))
    ledger = Ledger(tmp_path)
    ledger.run()
    taken_away(log)
    ledger.run()
    [aside] = ledger.names() - {"server.log"}

    assert aside.startswith("server.log@")
    log.with_name("server.log.1").write_bytes(lines(0, 200))
    ledger.run()
    assert ledger.names() == {"server.log", "server.log.1"}


def test_a_file_that_begins_alike_and_goes_on_otherwise_is_another(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 100) + lines(500, 200))
    ledger = Ledger(tmp_path)
    ledger.run()
    log.write_bytes(lines(0, 100) + lines(700, 120))
    ledger.run()

    assert {row for row in ledger.told() if row[1] >= 500} == {("orders", n) for n in [*range(500, 820)]}


def test_a_file_that_was_cut_short_keeps_what_was_read(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 300))
    ledger = Ledger(tmp_path)
    ledger.run()
    log.write_bytes(lines(0, 150))
    ledger.run()

    assert ledger.told() == [("orders", n) for n in range(300)]


def test_a_file_that_cannot_be_read_for_a_while_is_not_taken_for_another(tmp_path: Path) -> None:
    from parsers.sources.files import SkippedFile

    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 100))
    ledger = Ledger(tmp_path)
    ledger.run()
    todo = plan(ledger.files.values(), [], [SkippedFile(str(log), "cannot be read: Permission denied", False)], lambda _: "same")

    assert todo.unread == {str(log)}
    assert todo.is_empty


def test_other_options_are_said_and_not_mixed(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 100))
    ledger = Ledger(tmp_path)
    ledger.run()
    found = find_files([str(tmp_path)])

    assert plan(ledger.files.values(), found.files, [], lambda _: "other").stale == [str(log)]
    again = plan(ledger.files.values(), found.files, [], lambda _: "other", rebuild=True)
    assert (again.stale, [(source.name, start) for source, start in again.read]) == ([], [(str(log), None)])


BANNER = ("Starting Kafka with configuration:\n" + "".join(f"some.setting.number.{n}=value-{'x' * 30}{n}\n" for n in range(100))).encode()
"""What a container prints before its first record: longer than what content is known by at first."""


def as_it_is(content: bytes) -> bytes:
    return content


def zipped(content: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("logs/kafka-0.log", content)
    return target.getvalue()


def tarred(content: bytes) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as bundle:
        member = tarfile.TarInfo("logs/kafka-0.log")
        member.size = len(content)
        bundle.addfile(member, io.BytesIO(content))
    return target.getvalue()


PACKED = [gzip.compress, zipped, tarred]


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("count", [50, 150])
@pytest.mark.parametrize("name", ["kafka.bundle", "kafka-2.bundle"])
def test_compressed_content_that_begins_alike_and_goes_on_otherwise_is_another(
    tmp_path: Path, packed: Callable[[bytes], bytes], count: int, name: str
) -> None:
    assert len(BANNER) > 4096
    log = tmp_path / "kafka.bundle"
    log.write_bytes(packed(BANNER + lines(0, 100)))
    hours_pass(tmp_path)
    ledger = Ledger(tmp_path)
    ledger.run()
    log.unlink()
    log.with_name(name).write_bytes(packed(BANNER + lines(500, count)))
    hours_pass(tmp_path)
    ledger.run()

    assert ledger.told() == [("orders", n) for n in [*range(100), *range(500, 500 + count)]]


@pytest.mark.parametrize("first", [as_it_is, *PACKED])
@pytest.mark.parametrize("second", [as_it_is, *PACKED])
@pytest.mark.parametrize("head", [b"", BANNER])
def test_content_that_has_grown_is_known_again_however_it_is_packed(
    tmp_path: Path, first: Callable[[bytes], bytes], second: Callable[[bytes], bytes], head: bytes
) -> None:
    ledger = Ledger(tmp_path)
    for number, packed in enumerate((first, second, first)):
        (tmp_path / f"{number}.log").write_bytes(packed(head + lines(0, 200 + 100 * number)))
        if number:
            (tmp_path / f"{number - 1}.log").unlink()
        ledger.run()
        assert ledger.told() == [("orders", n) for n in range(200 + 100 * number)]
    assert len(ledger.rows) == 1


@pytest.mark.parametrize("renamed", [True, False])
@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("begun", [10, 300])
@pytest.mark.parametrize("written", [0, 20, 80])
def test_a_file_whose_room_was_taken_is_read_on_when_it_is_closed(
    tmp_path: Path, renamed: bool, cut: bool, begun: int, written: int
) -> None:
    """An appender gives back what it did not write; a rotation renames the file."""
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, begun).ljust(100_000, b"\0"))
    ledger = Ledger(tmp_path)
    ledger.run()
    content = lines(0, begun + written)
    log.write_bytes(content if cut else content.ljust(100_000, b"\0"))
    if renamed:
        log.rename(log.with_name("server.log.1"))
        log.write_bytes(lines(900, 3))
    ledger.run()
    read_before = ledger.bytes_read
    ledger.run()

    assert ledger.told() == [("orders", n) for n in [*range(begun + written), *(range(900, 903) if renamed else ())]]
    assert ledger.bytes_read == read_before


@pytest.mark.parametrize("packed", [as_it_is, gzip.compress])
@pytest.mark.parametrize("sizes", [(300, 60, 60, 60), (1000, 100, 110, 120, 130), (600, 40, 50, 60, 50, 40), (300, 5, 90)], ids=str)
def test_a_file_that_is_emptied_under_a_program_that_writes_on_at_its_place(
    tmp_path: Path, sizes: Sequence[int], packed: Callable[[bytes], bytes]
) -> None:
    """All generations begin with zeros, each with more of them."""
    log = tmp_path / "kafkaServer.out"
    ledger = Ledger(tmp_path)
    hole = total = 0
    for day, size in enumerate(sizes):
        for part in (size // 2, size):
            log.write_bytes(b"\0" * hole + lines(total, part))
            ledger.run()
        old = log.with_name(f"kafkaServer.out-{day}")
        if day:
            before = log.with_name(f"kafkaServer.out-{day - 1}")
            before.with_suffix(before.suffix + ".packed").write_bytes(packed(before.read_bytes()))
            before.unlink()
        shutil.copy(log, old)
        hole, total = log.stat().st_size, total + size
    ledger.run()

    assert ledger.told() == [("orders", n) for n in range(total)]


def test_a_new_file_with_the_same_long_beginning_takes_nothing_from_the_one_before(tmp_path: Path) -> None:
    log = tmp_path / "kafkaServer.out"
    log.write_bytes(BANNER + lines(0, 200))
    ledger = Ledger(tmp_path)
    ledger.run()
    log.rename(log.with_name("kafkaServer.out.1"))
    log.write_bytes(BANNER + lines(500, 10))
    ledger.run()

    assert ledger.told() == [("orders", n) for n in [*range(200), *range(500, 510)]]


@pytest.mark.parametrize("rebuild", [True, False])
@pytest.mark.parametrize("name", ["server.log", "other.log"])
def test_what_is_left_of_content_that_was_cut_short_drops_nothing(tmp_path: Path, rebuild: bool, name: str) -> None:
    """Nor where it would be read otherwise."""
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 300))
    ledger = Ledger(tmp_path)
    ledger.run()
    log.unlink()
    log.with_name(name).write_bytes(lines(0, 150))
    ledger.run(rebuild=rebuild, options_id="other")

    assert ledger.told() == [("orders", n) for n in range(300)]


@pytest.mark.parametrize("packed", PACKED[1:])
@pytest.mark.parametrize("other", [lines(700, 250), lines(700, 200), lines(700, 20)], ids=len)
def test_an_archive_that_is_made_anew_while_a_run_begins_is_left_to_the_next(
    tmp_path: Path, packed: Callable[[bytes], bytes], other: bytes
) -> None:
    bundle = tmp_path / "latest.bundle"
    bundle.write_bytes(packed(lines(0, 200)))
    ledger = Ledger(tmp_path)
    overwrite = [lambda: bundle.write_bytes(packed(other))]
    missed = ledger.run(meanwhile=lambda: overwrite.pop()() if overwrite else None)

    assert list(missed) == [f"{bundle}/logs/kafka-0.log"]
    assert ledger.told() == []
    assert ledger.run() == {}
    assert ledger.told() == [("orders", n) for n in range(700, 700 + other.count(b"\n"))]


def test_a_file_that_vanishes_after_it_was_found_is_left_to_the_next_run(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(lines(0, 5))
    ledger = Ledger(tmp_path)
    ledger.run()
    (tmp_path / "new.log").write_bytes(lines(100, 5))
    found = find_files([str(tmp_path)])
    (tmp_path / "new.log").unlink()
    todo = plan(ledger.files.values(), found.files, found.skipped, lambda _: "same")

    assert [source.name for source, _ in todo.read] == [str(tmp_path / "new.log")]
