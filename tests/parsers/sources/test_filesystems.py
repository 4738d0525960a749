"""What a place is: a path of this machine, or something in a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.reading.reader import ReadOptions, find_files
from parsers.sources import filesystems as places

LINE = "[2024-05-01 13:00:00,000] INFO [GroupCoordinator 1]: Starting up. (kafka.coordinator.group.GroupCoordinator)\n"


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("file:/logs/app#1", "/logs/app#1"),
        ("file:///logs/server.log.?", "/logs/server.log.?"),
        ("file://localhost/logs/x", "/logs/x"),
        ("FILE:/logs/50%20 of a:/b\n", "/logs/50%20 of a:/b\n"),
        ("/logs/app#1", "/logs/app#1"),
        ("s3a://bucket/app#1", None),
    ],
)
def test_paths_of_this_machine_are_taken_as_they_are_written(place: str, path: str | None) -> None:
    assert places.local_path(place) == path


def test_files_of_uris_may_have_any_name(tmp_path: Path) -> None:
    for name in ("app#1", "server.log.1", "server.log.12"):
        (tmp_path / name).write_text(LINE, encoding="utf-8")

    assert [source.relative for source in find_files([f"file:{tmp_path}/app#1"], ReadOptions()).files] == ["app#1"]
    assert [source.relative for source in find_files([f"file://{tmp_path}/server.log.?"], ReadOptions()).files] == ["server.log.1"]
