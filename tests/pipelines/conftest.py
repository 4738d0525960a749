"""One Spark session for all tests of pipelines, and temporary warehouses."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.spark.session import get_session
from tests.pipelines.site import Site
from tests.shared_folders import made_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.warehouse.warehouse import Warehouse

# Short queries gain more from a quick start than from the optimising compiler.
SETTINGS = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
    "spark.databricks.delta.delta.log.cacheSize": "64",  # each test has its own tables, and Delta caches 10,000 for an hour
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from pipelines.warehouse.warehouse import Warehouse

    session = get_session(SETTINGS)
    # Codecs unpack their native libraries at first use and never retry, so this must not happen while a test limits
    # file sizes.
    session.range(2).repartition(2).write.parquet(str(tmp_path_factory.mktemp("codecs") / "rows"))
    Site.empty = made_once(tmp_path_factory, "empty", lambda place: Warehouse(session, str(place / "warehouse")).open()) / "warehouse"
    yield session
    Site.empty = None
    session.stop()


@pytest.fixture
def warehouse(spark: SparkSession, tmp_path: Path) -> Callable[..., Warehouse]:
    """Open a new warehouse with the tables named by a test (all by default)."""
    from pipelines.warehouse.warehouse import Warehouse

    def open_warehouse(*names: str) -> Warehouse:
        place = Warehouse(spark, str(tmp_path / "ware house [1]"))
        for name in names:
            place.open_one(name)
        if not names:
            place.open()
        return place

    return open_warehouse


@pytest.fixture(scope="session")
def poll_timeout(samples: Path) -> Path:
    """The smallest sample: one broker, its clients, one group with a story."""
    return samples / "kafka" / "1.1.1" / "poll-timeout"


@pytest.fixture(scope="session")
def published(spark: SparkSession, poll_timeout: Path, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Logs and the warehouse made from them by one run.

    Tests that change either use a copy.
    """

    def run(place: Path) -> None:
        shutil.copytree(poll_timeout, Site(place).logs)
        assert Site(place).run().exit_code == 0

    return Site(made_once(tmp_path_factory, "published", run))


@pytest.fixture(scope="session")
def halfway(spark: SparkSession, poll_timeout: Path, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Like `published`, with a broker's log truncated within a line."""

    def run(place: Path) -> None:
        site = Site(place)
        shutil.copytree(poll_timeout, site.logs)
        log = site.logs / "broker-1" / "server.log"
        log.write_bytes(log.read_bytes()[: log.stat().st_size // 2 + 30])
        site.run()

    return Site(made_once(tmp_path_factory, "halfway", run))


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Site], Site]:
    """A copy of logs and warehouse, for a test to change."""

    def copy(site: Site) -> Site:
        shutil.copytree(site.place, tmp_path / "copy")
        return Site(tmp_path / "copy")

    return copy
