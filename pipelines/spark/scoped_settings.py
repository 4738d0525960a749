"""Set options of a running Spark session for the length of a block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def conf_overridden(spark: SparkSession, settings: Mapping[str, str | int]) -> Iterator[None]:
    """Apply settings to queries run inside the block."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, former in before.items():
            if former is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, former)
