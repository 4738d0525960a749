"""The folder of pages: whole pages, links that lead somewhere, and nothing written that has not changed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from parsers.reading.reader import ReadOptions
from parsers.redaction.pseudonyms import Redaction
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.cli.report_folder import publish_reports
from pipelines.errors import CannotWrite
from tests.conftest import LONG
from tests.pipelines.cli.warehouses import change, store
from tests.pipelines.site import Site

SHOWN = ("UTC", 4000)
"""The zone of times, and how many rebalances are drawn at most."""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Path:
    return store(
        analyze([str(samples / "kafka" / "1.1.1" / "poll-timeout")], AnalyzeOptions()), tmp_path_factory.mktemp("pages") / "warehouse"
    )


def test_a_page_for_each_incident_and_an_index(warehouse: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    assert publish_reports(str(warehouse), folder, *SHOWN) == 1
    index = (folder / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]+)"', index)

    assert [(folder / link).is_file() for link in links] == [True]
    assert "shipping-e" in (folder / links[0]).read_text(encoding="utf-8")
    assert sorted(path.name for path in folder.iterdir()) == sorted([*links, "index.html", "index.json"])


def test_pages_of_what_is_as_it_was_are_not_written_again(warehouse: Path, tmp_path: Path) -> None:
    publish_reports(str(warehouse), tmp_path, *SHOWN)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    (tmp_path / "incident-gone.html").touch()

    assert publish_reports(str(warehouse), tmp_path, *SHOWN) == 0
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    (tmp_path / "index.json").write_text("spoilt", encoding="utf-8")
    assert publish_reports(str(warehouse), tmp_path, *SHOWN) == 1


def test_a_folder_that_cannot_be_made_is_said(warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite, match="file/pages can't be made"):
        publish_reports(str(warehouse), tmp_path / "file" / "pages", *SHOWN)


def fresh(warehouse: Path, folder: Path, shown: tuple[str, int] = SHOWN) -> dict[str, bytes]:
    """All pages as a first run writes them."""
    publish_reports(str(warehouse), folder, *shown)
    return pages(folder)


def pages(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.html")}


@pytest.mark.parametrize(
    ("table", "updates"),
    [
        ("rebalances", {"confidence": "0.123"}),
        ("rebalances", {"settled_by": "'broker-9/server.log'"}),
        ("rebalance_members", {"client_id": "'another-client'"}),
        ("group_transitions", {"to_state": "'Dead'"}),
        ("client_states", {"client_id": "'another-client'"}),
        ("log_files", {"node": "'broker-9'"}),
        ("log_files", {"recognised": "77"}),
    ],
)
def test_a_page_is_written_again_where_what_it_shows_has_changed_and_the_incident_has_not(
    warehouse: Path, tmp_path: Path, table: str, updates: dict[str, str]
) -> None:
    place = Path(shutil.copytree(warehouse, tmp_path / "warehouse"))
    before = fresh(place, tmp_path / "pages")
    change(place, table, updates)

    assert publish_reports(str(place), tmp_path / "pages", *SHOWN) == 1
    assert before != pages(tmp_path / "pages") == fresh(place, tmp_path / "fresh")
    assert publish_reports(str(place), tmp_path / "pages", *SHOWN) == 0


def test_pages_are_not_written_again_where_a_file_goes_on_beyond_their_time(warehouse: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(warehouse, tmp_path / "warehouse"))
    later = "arrow_cast('2126-01-01T00:00:00Z', 'Timestamp(Microsecond, Some(\"UTC\"))')"
    change(place, "log_files", {"last_at": later})
    publish_reports(str(place), tmp_path / "pages", *SHOWN)

    change(place, "log_files", {"lines": "lines + 1000", "recognised": "recognised * 2", "bytes_read": "bytes_read + 100000"}, "0003")
    assert publish_reports(str(place), tmp_path / "pages", *SHOWN) == 0


@pytest.mark.parametrize(
    "shown",
    [
        ("Asia/Tokyo", 4000),
        ("UTC", 1),
    ],
)
def test_pages_are_written_again_where_they_are_to_look_otherwise(warehouse: Path, tmp_path: Path, shown: tuple[str, int]) -> None:
    before = fresh(warehouse, tmp_path / "pages")

    assert publish_reports(str(warehouse), tmp_path / "pages", *shown) == 1
    assert before != pages(tmp_path / "pages") == fresh(warehouse, tmp_path / "fresh", shown)


def test_another_warehouse_at_the_same_place_with_the_same_versions_has_pages_of_its_own(samples: Path, tmp_path: Path) -> None:
    analysis = analyze([str(samples / "kafka" / "1.1.1" / "poll-timeout")], AnalyzeOptions())
    before = fresh(store(analysis, tmp_path / "warehouse"), tmp_path / "pages")
    shutil.rmtree(tmp_path / "warehouse")
    analysis.log_files = [{**row, "path": row["path"].replace("poll-timeout", "hidden")} for row in analysis.log_files]
    store(analysis, tmp_path / "warehouse")

    assert publish_reports(str(tmp_path / "warehouse"), tmp_path / "pages", *SHOWN) == 1
    assert before != pages(tmp_path / "pages")


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Path:
    """Two clusters with a group of the same name at the same time, whose clients have other names."""
    place = tmp_path_factory.mktemp("twins")
    for name in ("east", "west"):
        shutil.copytree(samples / "kafka" / "1.1.1" / "poll-timeout", place / name)
        for path in (place / name).rglob("*.log"):
            text = path.read_text(encoding="utf-8").replace("shipping-worker", f"{name}-worker")
            begins = f"{text.partition(']')[0]}] INFO starting in the {name} (kafka.Kafka$)\n" if text.startswith("[") else ""
            path.write_text(begins + text.replace("12Z9h-POR7-tCccfjofYEg", f"the-cluster-in-the-{name}"), encoding="utf-8")
    return store(analyze([str(place)], AnalyzeOptions()), place / "warehouse")


def test_a_page_is_of_one_cluster(twins: Path, tmp_path: Path) -> None:
    found = fresh(twins, tmp_path / "pages")
    of_incidents = [text.decode() for name, text in found.items() if name != "index.html"]

    assert len(of_incidents) == 2
    assert sorted(("east-worker" in text, "west-worker" in text) for text in of_incidents) == [(False, True), (True, False)]


@pytest.mark.spark
@LONG
def test_pages_of_a_growing_log_are_those_of_the_whole(
    published: Site, halfway: Site, copied: Callable[[Site], Site], tmp_path: Path
) -> None:
    site = copied(halfway)
    before = fresh(site.warehouse, tmp_path / "pages")
    shutil.copy(published.logs / "broker-1" / "server.log", site.logs / "broker-1" / "server.log")
    site.run()

    publish_reports(str(site.warehouse), tmp_path / "pages", *SHOWN)
    assert before != pages(tmp_path / "pages") == fresh(site.warehouse, tmp_path / "fresh")


@pytest.mark.spark
@LONG
def test_pages_of_clear_names_are_gone_after_a_rebuild_that_hides_them(
    published: Site, copied: Callable[[Site], Site], tmp_path: Path
) -> None:
    site = copied(published)
    fresh(site.warehouse, tmp_path / "pages")
    site.run(read=ReadOptions(redaction=Redaction(("client_ids",), b"a key of sixteen bytes")), rebuild=True)

    publish_reports(str(site.warehouse), tmp_path / "pages", *SHOWN)
    assert pages(tmp_path / "pages") == fresh(site.warehouse, tmp_path / "fresh")
    assert not [name for name, text in pages(tmp_path / "pages").items() if b"shipping-worker" in text]
