"""The job through Spark Connect: a server that was started apart, and a client without a JVM."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.schemas import TABLES
from tests.conftest import ROOT
from tests.crash.loop import OF_RUNS
from tests.pipelines.remote import connect_server
from tests.pipelines.site import Site

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server."""
    with connect_server(tmp_path_factory.mktemp("server")) as address:
        yield address


def run(site: Site, remote: str) -> None:
    """The job in a process that finds no Java."""
    command = [sys.executable, "-m", "pipelines.cli.job", "--input", "logs", "--warehouse", "warehouse", "--catalog", "by_name"]
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
    run(site, remote)

    assert {table: lines for table, lines in site.content().items() if table not in OF_RUNS} == {
        table: lines for table, lines in published.content().items() if table not in OF_RUNS
    }
