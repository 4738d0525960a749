"""A server of Spark Connect in a process of its own.

It has Delta, but no plug-in of Delta for Spark Connect.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyspark

from pipelines.spark.session import DELTA_CATALOG, DELTA_EXTENSION, delta_settings
from tests.conftest import ROOT
from tests.pipelines.conftest import SETTINGS
from tests.servers import free_port, serving

SPARK = Path(pyspark.__file__).parent
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
WAIT_SECONDS = 180.0


@contextlib.contextmanager
def connect_server(folder: Path, more: Mapping[str, str] | None = None) -> Iterator[str]:
    """Start a server; yield its address."""
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
        **(more or {}),
    }
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    command = [str(SPARK / "bin" / "spark-submit"), *settings, "--class", SERVER, "spark-internal"]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    with serving(command, port, folder / "server.log", wait_seconds=WAIT_SECONDS, environment=environment):
        yield f"sc://127.0.0.1:{port}"
