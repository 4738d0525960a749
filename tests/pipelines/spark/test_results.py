"""Rows of a query in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from pipelines.spark.results import fetch_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_rows_come_as_tuples_of_python_values(spark: SparkSession) -> None:
    frame = spark.sql("SELECT * FROM VALUES ('a', 1L, CAST(NULL AS STRING)), ('b', NULL, 'x') AS rows(name, at, text)")
    assert sorted(fetch_rows(frame.repartition(2))) == [("a", 1, None), ("b", None, "x")]
    assert list(fetch_rows(frame.where("name = 'c'"))) == []


def comes_to(size: Callable[[], int], wanted: int) -> bool:
    """Whether a size is reached within ten seconds."""
    over = time.monotonic() + 10
    while size() != wanted and time.monotonic() < over:
        time.sleep(0.01)
    return size() == wanted


def test_spark_forgets_the_jobs_of_a_query_whose_rows_were_fetched(spark: SparkSession) -> None:
    jobs = spark.sparkContext._jsc.sc().dagScheduler().activeQueryToJobs()
    before = jobs.size()
    assert sorted(fetch_rows(spark.range(6).repartition(2))) == [(number,) for number in range(6)]
    assert comes_to(jobs.size, before), "the scheduler's own thread takes it out, after the rows have come"
    assert [row.id for row in spark.range(1).toLocalIterator()] == [0]
    assert jobs.size() > before, "Spark forgets the jobs of an iterator, too: fetch_rows can go"
