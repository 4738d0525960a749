"""Little parts of many files in a store are waited for together, and are what they are on disk."""

from __future__ import annotations

from pathlib import Path
from threading import Barrier, get_ident
from typing import Any

import pytest
from pyarrow import fs

from parsers.reading.reader import Discovery, ReadOptions, find_files
from parsers.sources import filesystems as places
from parsers.sources.content_checkpoints import checkpoints
from pipelines.jobs.ingest.read_plan import KnownFile, plan
from pipelines.jobs.registry.resume_states import state_text

LINE = "[2024-05-01 13:00:0%d,000] INFO [GroupCoordinator 1]: Starting up. (kafka.coordinator.group.GroupCoordinator)\n"
FILES = 3
PATIENCE = 20
"""Seconds after which a reader that waits for the others gives up: they come one after the other."""


class Slow:
    """A store that gives nothing of a file before all files were asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())
        self.forget()

    def forget(self) -> None:
        """All files are to be asked for again."""
        self._asked: set[str] = set()
        self._together = Barrier(FILES)

    def get_file_info(self, what: Any) -> Any:
        return self._files.get_file_info(what)

    def open_input_file(self, path: str) -> Any:
        if path not in self._asked:
            self._asked.add(path)
            self._together.wait(PATIENCE)
        return self._files.open_input_file(path)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slow:
    for number in range(FILES):
        folder = tmp_path / "bucket" / f"broker-{number}"
        folder.mkdir(parents=True)
        (folder / "server.log").write_text(LINE % number * 100, encoding="utf-8")
    slow = Slow(tmp_path)
    monkeypatch.setattr(places, "_store", lambda *_: slow)
    return slow


def found() -> Discovery:
    return find_files(["s3a://bucket"], ReadOptions())


def test_files_of_a_store_are_looked_into_together(store: Slow, tmp_path: Path) -> None:
    here = find_files([str(tmp_path / "bucket")], ReadOptions())

    assert [(each.relative, each.file_id) for each in found().files] == [(each.relative, each.file_id) for each in here.files]


def test_files_that_have_grown_are_compared_together(store: Slow) -> None:
    before = found().files
    known = [
        KnownFile(
            each.name,
            each.file_id,
            each.size_bytes,
            each.size_bytes,
            "",
            states={each.name: state_text({"checkpoints": list(checkpoints(each, each.size_bytes))})},
        )
        for each in before
    ]
    for each in before:
        with (store.folder / each.path.removeprefix("s3a://")).open("a", encoding="utf-8") as file:
            file.write(LINE % 9)
    store.forget()
    grown = found().files
    store.forget()

    assert [source.name for source, _ in plan(known, grown, [], lambda _: "").read] == [each.name for each in before]


def test_what_can_not_be_read_is_said_of_the_file_that_it_is_in(store: Slow, tmp_path: Path) -> None:
    (tmp_path / "bucket" / "broker-1" / "server.log").write_bytes(b"")
    (tmp_path / "bucket" / "broker-2" / "server.log").write_bytes(b"PK\x03\x04 is no archive")

    there = found()

    assert [each.relative for each in there.files] == ["broker-0/server.log"]
    assert [(each.name.rpartition("bucket/")[2], bool(each.reason)) for each in there.skipped] == [
        ("broker-1/server.log", True),
        ("broker-2/server.log", True),
    ]


def test_results_come_in_the_order_of_the_items_and_what_is_served_stays_with_the_caller(
    store: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(places._served, "lake", object())
    items = [f"{scheme}://bucket/{number}" for number in range(50) for scheme in ("s3a", "lake")]

    mine = get_ident()
    found = list(places.map_concurrently(lambda place: (place, get_ident() == mine), items, str))

    assert [place for place, _ in found] == items
    assert [here for _, here in found] == [place.startswith("lake") for place in items]
