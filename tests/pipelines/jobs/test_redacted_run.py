"""The job with redacted names: what it writes holds none, the key is nowhere, and verdicts are those of the clear logs."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from parsers.reading.reader import ReadOptions
from parsers.redaction.pseudonyms import PSEUDONYM, REDACTED_KINDS, Redaction
from pipelines.cli.main import main
from pipelines.errors import NeedsRebuild
from pipelines.jobs.operations import maintain as upkeep
from pipelines.jobs.operations.alerts import AlertOptions, send_new
from pipelines.jobs.operations.maintain import MaintainOptions, maintain
from pipelines.schema.tables import TABLES
from pipelines.transforms.read.records import read_by_spark
from tests.conftest import LONG
from tests.pipelines.site import Site

pytestmark = pytest.mark.spark
Copied = Callable[[Site], Site]
KEY = "a key of sixteen bytes"
REDACTION = Redaction(REDACTED_KINDS, KEY.encode())
VERDICTS = ("cause", "root_cause", "outcome", "confidence", "started_at", "joined_at", "ended_at", "generation_before", "generation_after")


@pytest.fixture(scope="module")
def names(published: Site) -> set[str]:
    """Names in the logs, as a run that hides none tells them, and some that only paths hold."""
    found = {"kafka-17.example", "payroll"}
    for table, columns in {"events": ("group", "topic", "client_id"), "member_sessions": ("group", "client_id", "host")}.items():
        found |= {str(row[column]).strip("/") for row in published.table(table) for column in columns if row[column]}
    return {name for name in found if not name.startswith("__")}


@pytest.fixture(scope="module")
def hidden(spark: object, poll_timeout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Path, int]]:
    """Logs in folders with telling names, and what the command made of them: warehouse, pages and metrics; and its exit code."""
    site = Site(tmp_path_factory.mktemp("hidden"))
    shutil.copytree(poll_timeout, site.logs)
    (site.logs / "broker-1").rename(site.logs / "kafka-17.example")
    (site.logs / "clients").rename(site.logs / "payroll")
    told = site.place / "told"
    told.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(site.place)
        patch.setenv("GROUPSCOPE_REDACT_KEY", KEY)
        options = ["--redact", ",".join(REDACTED_KINDS), "--report", "told/pages", "--metrics", "told/metrics.prom", "--log-json"]
        code = main(["run", "--input", "logs", "--warehouse", "warehouse", *options])
        yield site, told, code


def texts(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """All files below a folder: their bytes, and what those of Parquet hold when they are unpacked."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()
            if path.name.endswith(".parquet"):
                yield path, json.dumps(pq.read_table(path).to_pylist(), default=str, ensure_ascii=False).encode()


def holders(folder: Path, wanted: set[str]) -> set[tuple[str, str]]:
    return {(name, str(path.relative_to(folder))) for path, text in texts(folder) for name in wanted if name.encode() in text}


def age(warehouse: Path, days: int) -> None:
    """Make what the logs of the tables tell so much older."""
    for path in warehouse.rglob("_delta_log/*"):
        if path.is_file():
            at = path.stat().st_mtime - days * 86_400
            os.utime(path, (at, at))


def test_no_file_of_warehouse_pages_and_metrics_holds_a_name_or_the_key(hidden: tuple[Site, Path, int], names: set[str]) -> None:
    site, told, code = hidden
    assert code == 0
    assert len(names) >= 7
    assert not holders(site.warehouse, names)
    assert not holders(told, names)
    assert list((told / "pages").glob("*.html"))
    assert (told / "metrics.prom").stat().st_size
    assert not holders(site.place, {KEY, KEY.encode().hex()})
    assert {json.loads(row["owner"])["host"] for row in site.table("runs")} == {REDACTION.pseudonym(socket.gethostname())}


def test_verdicts_are_those_of_the_clear_logs(hidden: tuple[Site, Path, int], published: Site) -> None:
    site = hidden[0]
    known = {REDACTION.pseudonym(row["group"]): row["group"] for row in published.table("rebalances")}

    def told(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(json.dumps([known.get(row["group"], row["group"]), *(row[name] for name in VERDICTS)], default=str) for row in rows)

    assert told(site.table("rebalances")) == told(published.table("rebalances"))
    for name in TABLES:
        if name not in ("runs", "quality_results"):
            assert len(site.table(name)) == len(published.table(name)), name


def test_a_second_run_knows_the_files_and_another_redaction_needs_a_rebuild(hidden: tuple[Site, Path, int], copied: Copied) -> None:
    site = copied(hidden[0])
    outcome = site.run(read=ReadOptions(redaction=REDACTION))
    assert (outcome.counts["files_read"], outcome.was_skipped) == (0, True)
    for other in (None, Redaction(["groups"], KEY.encode()), Redaction(REDACTED_KINDS, b"another key of sixteen")):
        with pytest.raises(NeedsRebuild, match="the option redact changed"):
            site.run(read=ReadOptions(redaction=other))


@LONG
def test_a_rebuild_leaves_no_name_in_the_tables_of_a_warehouse_that_had_them(published: Site, copied: Copied, names: set[str]) -> None:
    site = copied(published)
    [run] = site.table("runs")
    options = AlertOptions("", "info", timedelta(days=99_999))
    send_new(str(site.warehouse), dict(run["table_versions"]), run["run_id"], options, lambda _: None)
    assert {group for row in site.table("alerts") for group in row["groups"]} & names
    shutil.rmtree(site.logs / "clients")  # what was read of them, clear, can't be read again
    site.run(read=ReadOptions(redaction=REDACTION), rebuild=True)

    for name in TABLES:
        text = json.dumps(site.table(name), default=str)
        assert not {each for each in names if each in text}, name
    assert all(PSEUDONYM.fullmatch(row["group"]) for row in site.table("rebalances"))


@pytest.mark.skipif(not os.environ.get("GROUPSCOPE_CLUSTER"), reason="minutes of Spark: python -m tests.cluster")
def test_upkeep_leaves_no_name_in_any_file_of_a_warehouse_that_had_them(
    spark: Any, published: Site, copied: Copied, names: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in the logs of the tables, whose entries tell of the least and the greatest names in a file."""
    site = copied(published)
    site.run(read=ReadOptions(redaction=REDACTION), rebuild=True)
    assert holders(site.warehouse, names)
    content = site.content()
    # As if weeks had gone by.
    monkeypatch.setattr(upkeep, "VACUUM_HOURS_MIN", 0)
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        for _ in range(3):
            age(site.warehouse, days=8)
            maintain(MaintainOptions(str(site.warehouse), keep_hours=0))
    finally:
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")

    assert not holders(site.warehouse, names)
    assert site.content() == content
    assert site.run(read=ReadOptions(redaction=REDACTION)).was_skipped
    shutil.rmtree(site.logs / "clients")
    assert site.run(read=ReadOptions(redaction=REDACTION), retention=timedelta(0)).has_changed


def test_spark_shows_no_key_in_its_plans(spark: Any, poll_timeout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from parsers.reading.reader import find_files

    options = ReadOptions(redaction=REDACTION)
    sources = [(source, None) for source in find_files([str(poll_timeout)], options).files]
    read_by_spark(spark, sources, options, 1 << 23).explain("extended")
    shown = capsys.readouterr().out
    assert "MapInArrow" in shown
    assert REDACTION.secret not in shown
