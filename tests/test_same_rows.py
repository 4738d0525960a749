"""One process and the Spark job give the same rows; `make compare` says so of whole corpora."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import compare_paths
from tests.conftest import LONG


@pytest.fixture(scope="module")
def warehouse(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("same rows") / "warehouse"
    compare_paths.ran(samples, samples / "settings.toml", place)
    return place


@pytest.mark.spark
def test_the_job_writes_the_rows_that_analyze_finds(samples: Path, warehouse: Path) -> None:
    alone = compare_paths.analyzed(samples, samples / "settings.toml")

    assert list(compare_paths.differences(alone, compare_paths.by_delta_rs(warehouse))) == []


@LONG
@pytest.mark.spark
def test_spark_and_delta_rs_read_the_same_rows(warehouse: Path) -> None:
    assert list(compare_paths.differences(compare_paths.by_delta_rs(warehouse), compare_paths.by_spark(warehouse))) == []
