"""Warehouses that older versions have made (tests/warehouses) are brought up to date, and keep their rows."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from pipelines.errors import NeedsRebuild
from pipelines.schema.tables import TABLES
from pipelines.warehouse.opening.migrations import TABLES_VERSION, VERSION_PROPERTY
from pipelines.warehouse.warehouse import Warehouse
from pipelines.warehouse.warehouse_reader import WarehouseReader
from tests.conftest import LONG, ROOT
from tests.pipelines.site import Site

WAREHOUSES = ROOT / "tests" / "warehouses"
KEPT = ("log_files", "events", "rejected_records", "rebalances", "rebalance_members", "group_transitions", "member_sessions", "incidents")


@pytest.fixture(params=[1, *(pytest.param(version, marks=LONG) for version in range(2, TABLES_VERSION))])
def older(request: pytest.FixtureRequest, poll_timeout: Path, tmp_path: Path) -> Site:
    """A warehouse of an older version beside the logs that it was made of."""
    with tarfile.open(WAREHOUSES / f"version-{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path)  # noqa: S202 - an archive of ours
    shutil.copytree(poll_timeout, tmp_path / "logs")
    return Site(tmp_path)


def rows_of(site: Site, table: str) -> list[dict[str, Any]]:
    path = site.warehouse / TABLES[table].path
    return DeltaTable(str(path)).to_pyarrow_table().to_pylist() if path.exists() else []


def test_there_is_one_of_each_version_before() -> None:
    assert {path.name for path in WAREHOUSES.glob("version-*")} == {f"version-{number}.tar.xz" for number in range(1, TABLES_VERSION)}
    assert all(path.stat().st_size < 300_000 for path in WAREHOUSES.iterdir())


def test_an_older_warehouse_is_read_by_the_present_names(older: Site) -> None:
    """As commands do before a run has brought it up to date, also where they filter."""
    found = WarehouseReader(str(older.warehouse))
    stored = {row["rebalance_id"]: dict(row.get("numbers") or ()) for row in rows_of(older, "rebalances")}
    assert {row.rebalance_id: dict(row.measurements_ms or ()) for row in found.rebalances} == stored
    members = found.rebalance_members
    assert len(list(members.where("is_first_of_role"))) == sum(row["first"] for row in rows_of(older, "rebalance_members"))
    times = found.dataset("events").to_table(["file_time_max_at"])["file_time_max_at"].to_pylist()
    assert sorted(times) == sorted(row["order_at"] for row in rows_of(older, "events"))


@LONG
@pytest.mark.spark
def test_an_older_warehouse_says_what_it_needs_and_is_brought_up_to_date_with_all_its_rows(spark: Any, older: Site) -> None:
    before = {name: rows_of(older, name) for name in KEPT}
    assert all(before[name] for name in ("log_files", "events", "rebalances", "member_sessions"))

    with pytest.raises(NeedsRebuild, match="--rebuild"):
        older.run()
    for name in ("unknown_in_files", "state_snapshots", "events"):  # as by one that is killed in the middle
        Warehouse(spark, str(older.warehouse)).open_one(name)
    Warehouse(spark, str(older.warehouse)).open()

    for name, table in TABLES.items():
        log = DeltaTable(str(older.warehouse / table.path))
        assert log.metadata().configuration[VERSION_PROPERTY] == str(TABLES_VERSION), name
        told = {field.name: field.metadata["comment"] for field in log.schema().fields}
        assert told == {column.name: column.description for column in table.columns}, name
        assert log.metadata().description == table.description, name
        if name == "rebalances":  # where delta-rs finds its statistics
            assert [field.name for field in log.schema().fields].index("final_at") == table.column_names.index("final_at")
        declared = table.layer != "ops" and table.check is not None
        assert ("delta.constraints.declared" in log.metadata().configuration) == declared, name
    for name in KEPT:
        assert as_it_was(name, rows_of(older, name), before[name]), name
        stored = DeltaTable(str(older.warehouse / TABLES[name].path)).to_pyarrow_dataset()
        assert duckdb.from_arrow(stored).count("*").fetchall() == [(len(before[name]),)]


def as_it_was(table: str, after: list[dict[str, Any]], before: list[dict[str, Any]]) -> bool:
    """The same rows by their present names, in which columns that are new are null."""
    former = TABLES[table].former_names
    before = [{former.get(name, name): value for name, value in row.items()} for row in before]
    old = set(before[0]) if before else set()
    assert all(value is None for row in after for name, value in row.items() if name not in old)
    texts = [sorted(json.dumps({name: row[name] for name in old}, default=str, sort_keys=True) for row in rows) for rows in (after, before)]
    return texts[0] == texts[1]
