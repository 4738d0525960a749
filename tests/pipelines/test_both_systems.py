"""Clusters and files with lines of Kafka and of RocketMQ: what is told of RocketMQ follows its lines, whatever else is there."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.schema.tables import TABLES
from tests.pipelines.site import Site

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not os.environ.get("GROUPSCOPE_CLUSTER"), reason="minutes of Spark: python -m tests.cluster"),
]
ONE = ReadOptions(clusters=((None, "one"),))
ROCKET_TABLES = ("allocation_changes", "queue_ownership")


def test_what_is_told_of_rocketmq_goes_with_the_last_of_its_files(spark: SparkSession, samples: Path, tmp_path: Path) -> None:
    site, fresh = Site(tmp_path / "site"), Site(tmp_path / "fresh")
    shutil.copytree(samples / "kafka" / "1.1.1" / "poll-timeout", fresh.logs)
    shutil.copytree(fresh.logs, site.logs)
    shutil.copytree(samples / "rocketmq" / "5.3.3" / "shared-client-id" / "consumer-1", site.logs / "app")
    site.run(read=ONE)
    assert all(site.table(name) for name in ROCKET_TABLES)

    shutil.rmtree(site.logs / "app")
    assert site.run(read=ONE, retention=timedelta(0)).has_changed
    fresh.run(read=ONE)
    assert site.content() == fresh.content()
    assert not any(site.table(name) for name in ROCKET_TABLES)


def test_a_log_of_an_application_with_clients_of_both_is_read_as_one_of_both(spark: SparkSession, samples: Path, tmp_path: Path) -> None:
    """Most of its lines are of RocketMQ at first, and of Kafka later."""
    rocket = (samples / "rocketmq" / "5.3.3" / "shared-client-id" / "consumer-1" / "rocketmq_client.log").read_text(encoding="utf-8")
    kafka = (samples / "kafka" / "1.1.1" / "poll-timeout" / "clients" / "main.log").read_text(encoding="utf-8")
    told = re.sub(r"^\[(.{23})\] (\w+) (.*) \((\S+)\)$", r"\1 \2 \4 - \3", kafka, flags=re.MULTILINE)
    site, fresh = Site(tmp_path / "site"), Site(tmp_path / "fresh")
    for each, batches in ((site, [rocket, rocket + told]), (fresh, [rocket + told])):
        each.logs.mkdir(parents=True)
        for batch in batches:
            (each.logs / "application.log").write_text(batch, encoding="utf-8")
            each.run()
    with contextlib.chdir(site.place):
        analysis = analyze(["logs"], AnalyzeOptions())

    assert [row["system"] for row in site.table("log_files")] == ["kafka"]
    assert site.content() == fresh.content()
    for name, rows in (("allocation_changes", analysis.allocation_changes), ("queue_ownership", analysis.ownership)):
        [key] = TABLES[name].key
        assert sorted(row[key] for row in site.table(name)) == sorted(getattr(row, key) for row in rows) != []
