"""The job through Spark Connect: a server that was started apart, and a client without a JVM."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from parsers.redaction.pseudonyms import PSEUDONYM, Redaction
from pipelines.schema.tables import TABLES
from tests.conftest import LONG, ROOT
from tests.crash.loop import OF_RUNS
from tests.pipelines.remote import connect_server
from tests.pipelines.site import Site

pytestmark = [pytest.mark.spark, LONG]


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the server alone knows as `viewfs://elsewhere/mounted`."""
    return tmp_path_factory.mktemp("mounted")


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the server's event log."""
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory, mounted: Path, events: Path) -> Iterator[str]:
    """The address of a server."""
    more = {
        "spark.hadoop.fs.viewfs.mounttable.elsewhere.link./mounted": mounted.as_uri(),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
    }
    with connect_server(tmp_path_factory.mktemp("server"), more) as address:
        yield address


AS_IF_MUCH = "from pipelines.jobs import ingest; ingest.LOCAL_BYTES_MAX = 0; from pipelines.cli.spark_submit import main; main()"
"""The job, whose workers read what is little, too."""


def run(site: Site, remote: str, *how: str, source: str = "logs", options: Sequence[str] = ()) -> None:
    """The job in a process that finds no Java."""
    command = [sys.executable, *(how or ("-m", "pipelines.cli.spark_submit")), "--input", source, "--warehouse", "warehouse", *options]
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"SPARK_REMOTE": remote, "PYTHONPATH": str(ROOT), "PATH": str(site.place / "nothing")}
    done = subprocess.run(command, cwd=site.place, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def test_the_rows_are_those_of_a_classic_session(remote: str, published: Site, halfway: Site, copied: Callable[[Site], Site]) -> None:
    """A log has grown, and one table is not there yet: tables are made, filled, merged and published."""
    site = copied(halfway)
    log = Path("broker-1") / "server.log"
    shutil.copy(published.logs / log, site.logs / log)
    shutil.rmtree(site.warehouse / TABLES["conditions"].path)
    run(site, remote, "-m", "pipelines.cli.spark_submit", "--catalog", "by_name")

    assert {table: lines for table, lines in site.content().items() if table not in OF_RUNS} == {
        table: lines for table, lines in published.content().items() if table not in OF_RUNS
    }


def test_what_only_the_server_can_open_is_read_there(remote: str, mounted: Path, published: Site, tmp_path: Path) -> None:
    shutil.copytree(published.logs, mounted, dirs_exist_ok=True)
    site = Site(tmp_path)
    run(site, remote, "-c", AS_IF_MUCH, source="viewfs://elsewhere/mounted")
    assert site.content()["rebalances"]
    for table in ("rebalances", "events", "log_files"):
        told = [line.replace("viewfs://elsewhere/mounted/", "logs/") for line in site.content()[table]]
        assert sorted(told) == published.content()[table]


def test_what_workers_read_is_hidden_by_a_key_that_the_server_does_not_write_down(
    remote: str, events: Path, poll_timeout: Path, tmp_path: Path
) -> None:
    site = Site(tmp_path)
    shutil.copytree(poll_timeout, site.logs)
    key = "a key that nobody else is told"
    (tmp_path / "key").write_text(key, encoding="utf-8")
    run(site, remote, "-c", AS_IF_MUCH, options=["--redact", "groups,client_ids", "--redact-key", "key"])
    [group] = {row["group"] for row in site.table("rebalances")}
    written = b"".join(path.read_bytes() for path in events.rglob("*") if path.is_file())

    assert PSEUDONYM.fullmatch(group)
    assert b"mapInArrow" in written or b"MapInArrow" in written
    assert key.encode() not in written
    assert Redaction(["groups"], key.encode()).secret.encode() not in written
