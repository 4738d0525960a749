"""The data source of Spark gives what the in-process reader gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from parsers.reading.file_reports import merge_reports, report_row
from parsers.reading.reader import FileReader, ReadOptions, find_files
from parsers.schema import RECORD_KINDS
from pipelines.spark.session import get_session
from tests.pipelines.conftest import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
ZONES = [(None, "UTC"), ("3.9.1/*", "Europe/Berlin")]
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    from parsers.reading.spark_source import BrokerLogs

    session = get_session(SETTINGS)
    session.dataSource.register(BrokerLogs)
    return session


@pytest.fixture(scope="module")
def expected(samples: Path) -> Rows:
    """What one process reads from all samples."""
    found: Rows = {kind: [] for kind in RECORD_KINDS}
    options = ReadOptions(log_tz=ZONES)
    reports = []
    for source in find_files([str(samples / "kafka")], options).files:
        reader = FileReader(source, options)
        for chunk in reader:
            found["events"] += chunk.events.to_pylist()
            found["unknown"] += chunk.unknown.to_pylist()
            found["rejected"] += chunk.rejected.to_pylist()
        reports.append(report_row(reader.report))
    for report in merge_reports(reports):
        found["files"].append(report)
    return found


def of_kind(frame: DataFrame, kind: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.where(frame["kind"] == kind).select(f"{kind}.*").toArrow().to_pylist()
    return rows


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["file"], row["byte_offset"]))


def in_microseconds(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for row in rows:
        for name in ("first_at", "last_at"):
            if row[name] is not None:
                row[name] = int(row[name].timestamp() * 1000) * 1000
    return rows


def test_one_pass_gives_the_rows_of_all_kinds(spark: SparkSession, samples: Path, expected: Rows) -> None:
    frame = spark.read.format("brokerlogs").option("log_tz", json.dumps(ZONES)).load(str(samples / "kafka")).persist()

    for kind in ("events", "unknown", "rejected"):
        assert in_order(of_kind(frame, kind)) == in_order(expected[kind]), kind
    assert in_microseconds(merge_reports(of_kind(frame, "files"))) == expected["files"]
    frame.unpersist()


def test_one_kind_has_columns_of_its_own(spark: SparkSession, samples: Path, expected: Rows) -> None:
    folders = sorted(str(folder) for folder in (samples / "kafka").iterdir())
    frame = spark.read.format("brokerlogs").option("kind", "events").option("partitions", "3").load(folders)

    assert frame.columns == RECORD_KINDS["events"].names
    assert frame.count() == len(expected["events"])
    assert frame.rdd.getNumPartitions() == 3


def test_files_found_before_are_read_as_they_were_found(spark: SparkSession, samples: Path, tmp_path: Path) -> None:
    from parsers.reading.spark_source import sources_json

    path = tmp_path / "grüße" / "server.log"
    path.parent.mkdir()
    path.write_bytes((samples / "kafka/2.8.2/coordinator-failover/broker-1/server.log").read_bytes() * 180)
    found = find_files([str(path)])
    frame = spark.read.format("brokerlogs").option("sources", sources_json(found.files)).option("partition_bytes", str(8 << 20)).load()
    whole = FileReader(found.files[0], ReadOptions())
    lines = [line for chunk in whole for line in chunk.events["line"].to_pylist()]

    assert frame.rdd.getNumPartitions() == 3
    read = frame.where("kind = 'events'").select("events.line").toArrow()["line"].to_pylist()
    assert sorted(read) == lines
    (report,) = merge_reports(of_kind(frame, "files"))
    assert (report["lines"], report["bytes_read"]) == (whole.report.counts.lines, whole.report.bytes_read)


def test_what_cannot_be_read_is_a_row_too(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40)
    (tmp_path / "empty.log").touch()
    rows = spark.read.format("brokerlogs").option("kind", "files").load(str(tmp_path)).toArrow().to_pylist()

    assert sorted((Path(row["path"]).name, row["status"], row["reason"]) for row in rows) == [
        ("empty.log", "empty", "empty"),
        ("picture.png", "skipped", "binary, a picture: the log itself is needed, as text"),
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "/nowhere at all"}, "no such file or folder: /nowhere at all"),
        ({"path": "/", "zone": "UTC"}, "unknown options of brokerlogs: zone"),
        ({"path": "/", "log_tz": "UTC"}, "log_tz must be a JSON list"),
        ({"path": "/", "kind": "lines"}, "kind must be one of"),
        ({"path": "/", "fold_runs": "1"}, "fold_runs must be true or false"),
        ({}, "brokerlogs needs a path to load"),
    ],
)
def test_what_is_wrong_is_said(spark: SparkSession, options: dict[str, str], said: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match=said):
        spark.read.format("brokerlogs").options(**options).load().count()
