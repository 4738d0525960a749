"""Values in columns with changes over them: what a dictionary would hold."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.jobs.ingest.file_rows import FileRows, clusters_of
from pipelines.jobs.overlay import Overlay
from pipelines.schema.tables import TABLES, without_run

KEYS = st.sampled_from("abcdef")
CHANGE = st.tuples(st.sampled_from(["set", "delete", "copy"]), KEYS)


@given(st.lists(KEYS, unique=True), st.lists(CHANGE, max_size=12))
def test_an_overlay_is_a_dictionary(stored: list[str], changes: list[tuple[str, str]]) -> None:
    values = [f"stored {key}" for key in stored]
    laid, plain = Overlay(stored, values.__getitem__), dict(zip(stored, values, strict=True))
    originals = [(laid, dict(plain))]
    for number, (change, key) in enumerate(changes):
        if change == "set":
            laid[key] = plain[key] = f"new {number}"
        elif change == "copy":
            originals[-1] = (laid, dict(plain))
            laid = laid.copy()
            originals.append((laid, plain))
        elif key in plain:
            assert laid.pop(key) == plain.pop(key)
        else:
            with pytest.raises(KeyError):
                del laid[key]
    for overlay, wanted in [*originals[:-1], (laid, plain)]:
        assert dict(overlay) == wanted
        assert len(overlay) == len(wanted)
        assert overlay.keys() == wanted.keys()
        assert {*overlay.changed, *overlay.unchanged} == wanted.keys()
    assert "g" not in laid


def ledger(count: int) -> pa.Table:
    rows = [
        dict.fromkeys(TABLES["log_files"].column_names)
        | {"path": f"logs/{number}", "cluster": f"c{number % 3}", "first_at": datetime(2026, 1, 1, tzinfo=UTC), "rejected": number}
        for number in range(count)
    ]
    return pa.Table.from_pylist(rows, schema=TABLES["log_files"].arrow_schema())


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_rows_of_files_are_those_of_the_table(count: int) -> None:
    table = ledger(count)
    files = FileRows(table)
    wanted = {row["path"]: row for row in table.select(without_run("log_files").names).to_pylist()}
    for row in wanted.values():
        row["first_at"] = 1_767_225_600_000_000
    assert dict(files) == wanted
    assert clusters_of(files) == {row["cluster"] for row in wanted.values()}
    changed: dict[str, Any] = {}
    for path in list(wanted)[::1000]:
        changed[path] = files[path] | {"cluster": "moved"}
        assert files[path] == wanted[path]
    files.update(changed)
    assert dict(files) == wanted | changed
    assert sorted(files.columns("path", "cluster")) == sorted((path, row["cluster"]) for path, row in (wanted | changed).items())
