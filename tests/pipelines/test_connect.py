"""The job through Spark Connect: a server that was started apart, and a client without a JVM."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest

from pipelines.schemas import TABLES
from pipelines.session import DELTA_CATALOG, DELTA_EXTENSION, delta_settings
from tests.conftest import ROOT
from tests.crash.loop import OF_RUNS
from tests.pipelines.conftest import SETTINGS
from tests.pipelines.site import Site

pytestmark = pytest.mark.spark
SPARK = Path(pyspark.__file__).parent
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
WAIT_SECONDS = 180.0


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that knows Delta, and Delta alone: no plug-in of Spark Connect."""
    folder = tmp_path_factory.mktemp("server")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    conf = {
        **SETTINGS,
        **delta_settings({}, SPARK),
        "spark.sql.extensions": DELTA_EXTENSION,
        "spark.sql.catalog.spark_catalog": DELTA_CATALOG,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    command = [str(SPARK / "bin" / "spark-submit"), *settings, "--class", SERVER, "spark-internal"]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait(process, port, folder / "server.log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")


def run(site: Site, remote: str) -> None:
    """The job in a process that finds no Java."""
    command = [sys.executable, "-m", "pipelines.cli.job", "--input", "logs", "--warehouse", "warehouse"]
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
