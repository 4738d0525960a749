"""One Spark session for all tests of the pipelines, and warehouses in temporary folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.session import get_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.tables import Warehouse

# Short queries gain more from a quick start than from the optimising compiler.
SETTINGS = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.adaptive.enabled": "false",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = get_session(SETTINGS)
    yield session
    session.stop()


@pytest.fixture
def warehouse(spark: SparkSession, tmp_path: Path) -> Callable[..., Warehouse]:
    """Opens a warehouse of its own with the tables that a test names (all, if it names none)."""
    from pipelines.tables import Warehouse

    def open_warehouse(*names: str) -> Warehouse:
        place = Warehouse(spark, str(tmp_path / "ware house [1]"))
        for name in names:
            place.open_one(name)
        if not names:
            place.open()
        return place

    return open_warehouse
