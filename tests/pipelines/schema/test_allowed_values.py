"""Rows hold values that their columns allow: the gates stop a run for any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions
from pipelines.schema.tables import TABLES
from tests.conftest import ROOT
from tests.golden_rows import of_analysis

DIRECTORY_FAILED = """\
[2026-11-20 10:01:00,010] WARN [ReplicaManager broker=1] Stopping serving replicas in dir /data/kafka (kafka.server.ReplicaManager)
[2026-11-20 10:01:00,030] WARN [ReplicaManager broker=1] Broker 1 stopped fetcher for partitions orders-0,orders-1 and stopped moving \
logs for partitions  because they are in the failed log directory /data/kafka. (kafka.server.ReplicaManager)
[2026-11-20 10:01:00,040] WARN Stopping serving logs in dir /data/kafka (kafka.log.LogManager)
"""


def strange(path: Path) -> set[tuple[str, str, str]]:
    """Table, column and value of what no column allows."""
    rows = of_analysis([str(path)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")])), events=False)
    allowed = {(name, column.name): set(column.values) for name, table in TABLES.items() for column in table.columns if column.values}
    return {
        (table, column, row[column])
        for (table, column), values in allowed.items()
        for row in rows.get(table, ())
        if row.get(column) is not None and row[column] not in values
    }


@pytest.mark.parametrize("system", ["kafka", "rocketmq"])
def test_rows_of_the_samples_are_allowed(system: str) -> None:
    assert strange(ROOT / "data_samples" / system) == set()


def test_a_failed_directory_is_an_allowed_root_cause(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(DIRECTORY_FAILED, encoding="utf-8")
    assert strange(log) == set()
