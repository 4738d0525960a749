"""Bytes of files that come as lines, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import pyarrow as pa
import pytest

from pipelines.spark import file_bytes as pieces

CONTENT = {"one": b"0123\n5678\nabcd\n", "two": b"ABC\nEFGH\nJ\n"}


def rows(size: int) -> Iterator[pa.RecordBatch]:
    """The lines of both files, as one task has them."""
    lines = [{"file": file, "size": len(data), "start": 0, "value": line} for file, data in CONTENT.items() for line in data.splitlines()]
    for start in range(0, len(lines), size):
        yield pa.RecordBatch.from_pylist(lines[start : start + size])


def brought(wanted: Mapping[str, Any], batches: Iterator[pa.RecordBatch]) -> dict[str, dict[int, int]]:
    """Bytes by file and offset."""
    found: dict[str, dict[int, int]] = {file: {} for file in wanted}
    for batch in pieces.cut_out(wanted)(batches):
        for row in batch.to_pylist():
            found[row["file"]] |= dict(enumerate(row["data"], row["offset"]))
    return found


@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_each_file_of_a_task_is_counted_from_its_own_beginning(size: int) -> None:
    wanted = {"one": [(2, 7)], "two": [(0, 2), (5, 10)]}

    assert brought(wanted, rows(size)) == {
        file: {at: CONTENT[file][at] for begin, end in parts for at in range(begin, end)} for file, parts in wanted.items()
    }


def test_no_more_is_read_than_is_wanted() -> None:
    batches = rows(1)
    brought({"one": [(0, 7)]}, batches)

    assert next(batches).column("value")[0].as_py() == b"abcd"


def test_no_cluster_s_bound_puts_files_into_one_task(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Mapping[str, int]] = []
    monkeypatch.setattr(pieces, "conf_overridden", lambda _, settings: told.append(settings) or nullcontext())
    pieces.whole_files(None, 1 << 30)  # type: ignore[arg-type]
    pieces.cut_at(None, 1 << 20)  # type: ignore[arg-type]

    assert [settings["spark.sql.files.maxPartitionNum"] for settings in told] == [2**31 - 1] * 2
