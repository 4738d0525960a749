"""Rows for lookups: the same in memory and in a file, which leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.warehouse.delta import arrow_files
from pipelines.warehouse.delta.arrow_files import mapped, read_mapped

ROWS = pa.table({"path": [f"logs/{number}" for number in range(20_000)], "size": range(20_000)})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("bytes_max", "chunks"), [(0, 200), (1 << 16, 7), (1 << 30, 1)], ids=["each batch a chunk", "some batches a chunk", "memory"]
)
def test_rows_are_those_of_the_batches(bytes_max: int, chunks: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_files, "HELD_BYTES_MAX", bytes_max)
    before = pa.total_allocated_bytes()
    rows = mapped(iter(ROWS.to_batches(100)), ROWS.schema)

    assert rows.equals(ROWS)
    assert rows["path"][12_345].as_py() == "logs/12345"
    assert rows["path"].num_chunks == chunks
    assert (pa.total_allocated_bytes() - before < 10_000) == (chunks > 1)
    assert list(folder.iterdir()) == []


def test_no_rows_have_their_columns() -> None:
    assert mapped(iter(()), ROWS.schema).schema == ROWS.schema


@pytest.mark.parametrize("bytes_max", [0, 1 << 30])
def test_columns_and_rows_of_a_delta_table(bytes_max: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_files, "HELD_BYTES_MAX", bytes_max)
    for part in (ROWS.slice(0, 9_000), ROWS.slice(9_000)):
        write_deltalake(folder / "table", part, mode="append")
    rows = read_mapped(DeltaTable(folder / "table"), ["size"], pc.field("path") == "logs/9001")

    assert rows.to_pydict() == {"size": [9_001]}
    assert read_mapped(DeltaTable(folder / "table")).sort_by("size").equals(ROWS)
    assert [path.name for path in folder.iterdir()] == ["table"]
