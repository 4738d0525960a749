"""Clients' lines without a group are held in memory, so there is a limit to them, which is said."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import groupscope
from pipelines.analysis import client_sightings
from pipelines.analysis.client_sightings import EventsPerFileLimit


def rows(*files: str) -> pa.Table:
    return pa.table({"file": list(files), "number": list(range(len(files)))})


def test_the_first_lines_of_each_file_fit_however_they_come() -> None:
    room = EventsPerFileLimit(2)
    taken = [room.within_limit(part)["number"].to_pylist() for part in (rows("a", "b", "a"), rows("a", "b", "b", "b"))]
    assert taken == [[0, 1, 2], [1]]
    assert room.warnings() == [
        "a: 1 lines of clients that name no group are not used; only the first 2 are",
        "b: 2 lines of clients that name no group are not used; only the first 2 are",
    ]


def test_what_fits_is_not_copied_and_not_told() -> None:
    room, part = EventsPerFileLimit(2), rows("a", "a")
    assert room.within_limit(part) is part
    assert room.warnings() == []


def test_analyze_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_sightings, "WITHOUT_GROUP_MAX", 3)
    lines = [
        f"%4|1795256{second:03d}.040|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll interval (300000ms) exceeded by "
        f"{second}ms (adjust max.poll.interval.ms for long-running message processing): leaving group\n"
        for second in range(8)
    ]
    (tmp_path / "client.log").write_text("".join(lines), encoding="utf-8")
    [warning] = [each for each in groupscope.analyze([str(tmp_path)]).warnings if "name no group" in each]
    assert warning.endswith("client.log: 5 lines of clients that name no group are not used; only the first 3 are")
