"""What is old and can't be read again goes, and the tables are as if it had never been there."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from parsers.reading.reader import ReadOptions, find_files
from pipelines.analysis.log_file_rows import options_id
from pipelines.jobs.ingest.file_rows import FileRows, plan_of
from pipelines.jobs.ingest.read_plan import Plan
from pipelines.jobs.operations.alerts import AlertOptions, send_new
from tests.conftest import LONG
from tests.pipelines.site import Site

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Copied = Callable[[Site], Site]
NOW = timedelta(0)


def row(path: Path, last_at: int | None) -> dict[str, Any]:
    """A row of the ledger; the content of a file that is there is known."""
    found = find_files([str(path)]).files if path.exists() else []
    known = (
        {"file_id": found[0].file_id, "bytes_read": found[0].size_bytes, "options_id": options_id(ReadOptions().of_file(found[0]))}
        if found
        else {}
    )
    rest = {"path": str(path), "file_id": "gone", "size_bytes": 99, "bytes_read": 99, "options_id": "x", "last_at": last_at, "cluster": "c"}
    rest |= {"status": "ok", "reason": None}
    return rest | known | {"size_bytes": found[0].size_bytes if found else 99}


def planned(stored: dict[str, dict[str, Any]], here: Path, oldest: int | None = None) -> Plan:
    found = find_files([str(here)])
    rows = FileRows()
    rows.update(stored)
    return plan_of(rows, {}, found, ReadOptions().of_files(found.files), oldest=oldest)


@pytest.mark.parametrize(
    ("there", "last_at", "goes"),
    [(False, 99, True), (False, 100, False), (False, None, False), (True, 99, False)],
    ids=["old and gone", "young", "without times", "still there"],
)
def test_only_old_content_that_is_gone_goes(tmp_path: Path, there: bool, last_at: int | None, goes: bool) -> None:
    here, old = tmp_path / "server.log", tmp_path / "elsewhere" / "server.log.1"
    here.write_text("[2026-11-21 10:00:00,000] INFO something\n")
    old.parent.mkdir()
    if there:
        old.write_text("[2026-11-20 10:00:00,000] INFO another thing\n")
    stored = {str(path): row(path, at) for path, at in ((here, 1), (old, last_at))}
    todo = planned(stored, here, oldest=100)
    assert todo.gone == ({str(old)} if goes else set())
    assert todo.is_empty is not goes
    assert not planned(stored, here).gone


def test_what_stands_in_an_archive_that_is_there_stays(tmp_path: Path) -> None:
    """Also where this run is not told of the archive."""
    here, bundle = tmp_path / "server.log", tmp_path / "bundle.tgz"
    here.write_text("[2026-11-21 10:00:00,000] INFO something\n")
    inside = [bundle / "broker-1" / "server.log", bundle / "broker-1" / "server.log#2"]
    stored = {str(path): row(path, at) for path, at in ((here, 1), *((path, 99) for path in inside))}
    assert planned(stored, here, oldest=100).gone == set(map(str, inside))
    bundle.touch()
    assert not planned(stored, here, oldest=100).gone


@LONG
@pytest.mark.spark
@pytest.mark.parametrize("others", [False, True], ids=["one cluster", "all that is known of another"])
def test_after_an_expiry_the_tables_are_those_of_the_files_that_are_left(
    spark: SparkSession, samples: Path, published: Site, copied: Copied, tmp_path: Path, others: bool
) -> None:
    """Also where of another cluster nothing is left that tells of it as a whole."""
    site, fresh = copied(published), Site(tmp_path / "fresh")
    read = ReadOptions(clusters=[("other/*", "other")] if others else ())
    if others:
        with_another_cluster(site, samples)
        assert site.run(read=read).exit_code == 0
    before = site.content()
    assert ("other" in {row["cluster"] for row in site.table("learned_facts")}) is others
    shutil.rmtree(site.logs / "clients")
    shutil.rmtree(site.logs / "other" / "broker-1", ignore_errors=True)
    shutil.copytree(site.logs, fresh.logs)
    assert site.run(read=read).was_skipped  # what was read of files that are gone stays, as long as nothing else is said
    assert not site.run(read=read, retention=timedelta(days=36500)).has_changed
    assert site.run(read=read, retention=NOW).has_changed
    fresh.run(read=read)
    assert site.content() == fresh.content() != before
    assert "other" not in {row["cluster"] for row in fresh.table("learned_facts")}
    assert site.run(read=read, retention=NOW).was_skipped


@LONG
@pytest.mark.spark
@pytest.mark.parametrize(("sample", "lines_gone"), [("1.1.1/poll-timeout", 45), ("4.1.1/consumer-protocol", 95)])
def test_an_incident_whose_first_file_expires_is_not_told_again(
    spark: SparkSession, samples: Path, tmp_path: Path, sample: str, lines_gone: int
) -> None:
    """Also of a group of the consumer protocol, whose rebalances all have other ids then."""
    site, told = Site(tmp_path), list[str]()
    log = site.logs / "broker-1" / "server.log"
    shutil.copytree(samples / "kafka" / sample / "broker-1", log.parent)
    lines = log.read_text().splitlines(keepends=True)
    log.with_name("server.log.1").write_text("".join(lines[:lines_gone]))
    log.write_text("".join(lines[lines_gone:]))

    def tells(keep: timedelta | None) -> set[str]:
        outcome = site.run(retention=keep)
        options = AlertOptions("", "info", timedelta(days=99_999))
        send_new(str(site.warehouse), outcome.table_versions, outcome.run_id, options, lambda each: told.append(each["incident_id"]))
        return {row["incident_id"] for row in site.table("incidents")}

    before = tells(None)
    log.with_name("server.log.1").unlink()
    assert tells(NOW) - before
    assert sorted(told) == sorted(before)


def with_another_cluster(site: Site, samples: Path) -> None:
    """Logs of one whose clients' logs alone don't tell of it as a whole."""
    other = site.logs / "other"
    shutil.copytree(samples / "kafka" / "4.1.1" / "consumer-protocol", other)
    for client in (other / "clients").iterdir():
        lines = client.read_text().splitlines(keepends=True)
        client.write_text("".join(line for line in lines if not re.search(r"AppInfoParser|Cluster ID|ConsumerConfig", line)))
