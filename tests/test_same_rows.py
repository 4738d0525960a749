"""One process and the Spark job give the same rows; `make compare` says so of whole corpora."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from tests import compare_paths, golden_rows
from tests.conftest import LONG
from tests.golden_rows import KEPT, ONLY_THE_JOB

SAMPLES = Path("data_samples")
SETTINGS = SAMPLES / "settings.toml"
SHOWN = 8


@pytest.fixture(scope="module")
def warehouse(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("same rows") / "warehouse"
    # From the root, so that rows, and ids that are made of paths, name files as they are in the repository.
    with contextlib.chdir(root):
        compare_paths.ran(SAMPLES, SETTINGS, place)
    return place


@pytest.mark.spark
def test_the_job_writes_the_rows_that_analyze_finds(root: Path, warehouse: Path) -> None:
    with contextlib.chdir(root):
        alone = compare_paths.analyzed(SAMPLES, SETTINGS)

    assert list(compare_paths.differences(alone, compare_paths.by_delta_rs(warehouse))) == []


@pytest.mark.spark
def test_the_job_writes_the_rows_of_before(warehouse: Path, request: pytest.FixtureRequest) -> None:
    rows, rewrite = golden_rows.of_warehouse(warehouse), request.config.getoption("--rewrite")
    # `test_golden_rows` writes the tables that `analyze` fills, so that no file has two writers.
    for table in ONLY_THE_JOB if rewrite else ():
        golden_rows.write(table, rows[table])
    compared = sorted(ONLY_THE_JOB) if rewrite else KEPT
    found = [line for table in compared for line in golden_rows.differences(table, golden_rows.written(table), rows[table])]

    assert not found, "\n".join([f"{len(found)} differences", *found[:SHOWN]])


@LONG
@pytest.mark.spark
def test_spark_and_delta_rs_read_the_same_rows(warehouse: Path) -> None:
    assert list(compare_paths.differences(compare_paths.by_delta_rs(warehouse), compare_paths.by_spark(warehouse))) == []
