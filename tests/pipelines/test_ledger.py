"""Content is known by itself: whatever becomes of a file's name, each record is read once."""

from __future__ import annotations

import bz2
import gzip
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import zstandard

from parsers.reader import FileReader, ReadOptions, find_files
from parsers.resume import checkpoints, settled_end
from pipelines.jobs.ledger import KnownFile, plan

BLOCK = 8192
LINE = (
    "[2026-11-21 09:{:02d}:{:02d},{:03d}] INFO [GroupCoordinator 1]: Group {} with generation {} is now empty (__consumer_offsets-12) "
    "(kafka.coordinator.group.GroupCoordinator)\n"
)


def lines(first: int, count: int, group: str = "orders") -> bytes:
    """Records that tell each other apart by time and generation."""
    return "".join(LINE.format(n // 60000 % 60, n // 1000 % 60, n % 1000, group, n) for n in range(first, first + count)).encode()


@dataclass
class Ledger:
    """What a run writes down of files, kept in memory: rows are (group, generation) by path and offset."""

    logs: Path
    files: dict[str, KnownFile] = field(default_factory=dict)
    rows: dict[str, dict[int, tuple[str, int]]] = field(default_factory=dict)
    bytes_read: int = 0

    def run(self, *, rebuild: bool = False, options_id: str = "same") -> None:
        found = find_files([str(self.logs)])
        todo = plan(self.files.values(), found.files, found.skipped, lambda _: options_id, rebuild=rebuild)
        assert not todo.stale
        files = {}
        for path, file in self.files.items():
            if path not in todo.gone:
                name = todo.renamed.get(path, path)
                files[name] = replace(file, path=name, size_bytes=todo.sizes.get(name, file.size_bytes))
        rows = {todo.renamed.get(path, path): dict(held) for path, held in self.rows.items() if path not in todo.gone}
        assert len(files) == len(self.files) - len(todo.gone)
        for source, start in todo.read:
            kept = {at: row for at, row in rows.get(source.name, {}).items() if start is not None and at < start.offset}
            settled = settled_end(source, start, BLOCK)
            reader = FileReader(source, ReadOptions(), start=start.offset if start else None, line=start.line if start else 1)
            for chunk in reader:
                for event in chunk.events.to_pylist():
                    kept[event["byte_offset"]] = (event["group"], event["generation"])
            self.bytes_read += reader.report.bytes_read
            rows[source.name] = kept
            length = (start.offset if start else 0) + reader.report.bytes_read
            known = KnownFile(
                source.name, source.file_id, source.size_bytes, length, options_id, settled or start, tuple(checkpoints(source, length))
            )
            files[source.name] = known
        self.files, self.rows = files, rows

    def told(self) -> list[tuple[str, int]]:
        return sorted(row for held in self.rows.values() for row in held.values())

    def names(self) -> set[str]:
        return {Path(path).name for path in self.rows}


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
def test_each_record_is_read_once_whatever_the_rotation(tmp_path: Path, style: Style, before: int) -> None:
    """`before` records were read at first: more than an identity's bytes, or fewer."""
    log = tmp_path / "server.log"
    log.write_bytes(lines(200 - before, before))
    ledger = Ledger(tmp_path)
    ledger.run()
    style(log)
    ledger.run()
    expected = sorted(("orders", n) for first, end in STYLES[style] for n in range(max(first, 200 - before), end))

    assert [row for row in ledger.told() if row[0] == "orders"] == (
        [*expected, ("orders", 299)] if style is grow_within_a_line and ("orders", 299) in ledger.told() else expected
    )
    again = ledger.bytes_read
    ledger.run()
    assert ledger.bytes_read == again, "a second look reads nothing"


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
    from parsers.files import Skipped

    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 100))
    ledger = Ledger(tmp_path)
    ledger.run()
    todo = plan(ledger.files.values(), [], [Skipped(str(log), "cannot be read: Permission denied", False)], lambda _: "same")

    assert todo.unread == {str(log)}
    assert todo.nothing


def test_other_options_are_said_and_not_mixed(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(lines(0, 100))
    ledger = Ledger(tmp_path)
    ledger.run()
    found = find_files([str(tmp_path)])

    assert plan(ledger.files.values(), found.files, [], lambda _: "other").stale == [str(log)]
    again = plan(ledger.files.values(), found.files, [], lambda _: "other", rebuild=True)
    assert (again.stale, [(source.name, start) for source, start in again.read]) == ([], [(str(log), None)])
