"""The job through Spark Connect: a server that was started apart, and a client without a JVM."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
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
from tests.servers import free_port, serving

pytestmark = pytest.mark.spark
SPARK = Path(pyspark.__file__).parent
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
WAIT_SECONDS = 180.0


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that knows Delta, and Delta alone: no plug-in of Spark Connect."""
    folder = tmp_path_factory.mktemp("server")
    port = free_port()
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
    with serving(command, port, folder / "server.log", wait_seconds=WAIT_SECONDS, environment=environment):
        yield f"sc://127.0.0.1:{port}"


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
