"""The folder of pages: whole pages, links that lead somewhere, and nothing written that has not changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conf.settings import load_settings
from pipelines.cli.reports import publish_reports
from pipelines.errors import CannotWrite
from pipelines.local import AnalyzeOptions, analyze
from tests.cli.warehouses import store

SETTINGS = load_settings(environment={})


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Path:
    return store(
        analyze([str(samples / "kafka" / "1.1.1" / "poll-timeout")], AnalyzeOptions()), tmp_path_factory.mktemp("pages") / "warehouse"
    )


def test_a_page_for_each_incident_and_an_index(warehouse: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    assert publish_reports(str(warehouse), folder, SETTINGS) == 1
    index = (folder / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]+)"', index)

    assert [(folder / link).is_file() for link in links] == [True]
    assert "shipping-e" in (folder / links[0]).read_text(encoding="utf-8")
    assert sorted(path.name for path in folder.iterdir()) == sorted([*links, "index.html", "index.json"])


def test_pages_of_what_is_as_it_was_are_not_written_again(warehouse: Path, tmp_path: Path) -> None:
    publish_reports(str(warehouse), tmp_path, SETTINGS)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    (tmp_path / "incident-gone.html").touch()

    assert publish_reports(str(warehouse), tmp_path, SETTINGS) == 0
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    (tmp_path / "index.json").write_text("spoilt", encoding="utf-8")
    assert publish_reports(str(warehouse), tmp_path, SETTINGS) == 1


def test_a_folder_that_cannot_be_made_is_said(warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite, match="file/pages can't be made"):
        publish_reports(str(warehouse), tmp_path / "file" / "pages", SETTINGS)
