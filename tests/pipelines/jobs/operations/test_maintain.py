"""Upkeep, to its end, on real Delta: fewer files, nothing lost, and what nobody needs is gone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.cli.commands.maintain import summary
from pipelines.cli.commands.run import summary as summary_of_run
from pipelines.cli.json_schema.schema import command_schema
from pipelines.cli.output.json_csv import versioned
from pipelines.errors import NothingReadable, UsageError
from pipelines.jobs.operations import maintain as upkeep
from pipelines.jobs.operations.alerts import AlertOptions, send_new
from pipelines.jobs.operations.maintain import MaintainOptions, maintain
from pipelines.schema.tables import TABLES, VERSIONED
from tests.compare_paths import published as published_versions
from tests.conftest import LONG
from tests.pipelines.site import Site

pytestmark = pytest.mark.spark
Copied = Callable[[Site], Site]
ALERTS = pa.schema([each.remove_metadata() for each in TABLES["alerts"].arrow_schema()])


@LONG
def test_upkeep_puts_files_together_removes_what_is_old_and_changes_no_row(
    spark: Any, published: Site, halfway: Site, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = copied(halfway)
    shutil.copy(published.logs / "broker-1" / "server.log", site.logs / "broker-1" / "server.log")
    outcome = site.run()
    told = AlertOptions("", "info", timedelta(days=99_999))
    assert send_new(str(site.warehouse), outcome.table_versions, outcome.run_id, told, lambda _: None).sent == 1
    alerts = site.table("alerts")
    gone = pa.Table.from_pylist([row | {"incident_id": "gone", "groups": ["gone"]} for row in alerts], schema=ALERTS)
    write_deltalake(str(site.warehouse / TABLES["alerts"].path), gone, mode="append")
    jsonschema.validate(versioned(summary_of_run(outcome)), command_schema("run"))
    before, versions = site.content(), published_versions(site.warehouse)
    killed = site.warehouse / TABLES["events"].path / "part-of-a-run-that-was-killed.parquet"
    killed.write_bytes(b"")
    # As if a week had gone by: Delta keeps for so long what older versions name.
    monkeypatch.setattr(upkeep, "VACUUM_HOURS_MIN", 0)
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        done = maintain(MaintainOptions(str(site.warehouse), keep_hours=0, runs_for=timedelta(0)))
    finally:
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")

    assert {name: after for name, (_, after) in done.files.items() if after > 1} == {}
    assert any(had > after for had, after in done.files.values())
    jsonschema.validate(versioned(summary(done)), command_schema("maintain"))
    assert done.runs_removed == 1  # that of `halfway`; the last published one stays
    assert (done.alerts_removed, site.table("alerts")) == (1, alerts)  # that of the incident that is there stays
    assert [row["status"] for row in site.table("runs")] == ["published", "published"]
    assert site.content() == before
    assert published_versions(site.warehouse) != versions
    maintain(MaintainOptions(str(site.warehouse)))  # at once again: nothing is in its way
    assert not killed.exists()
    for name in VERSIONED:  # what is said of the run itself is written after all else
        folder = site.warehouse / TABLES[name].path
        assert {path.name for path in folder.glob("*.parquet")} == {Path(path).name for path in DeltaTable(str(folder)).file_uris()}, name
    assert site.run().was_skipped


def test_upkeep_keeps_what_readers_may_need_and_asks_for_a_warehouse(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="less than 168"):
        maintain(MaintainOptions(str(tmp_path), keep_hours=167))
    with pytest.raises(NothingReadable, match="is no warehouse"):
        maintain(MaintainOptions(str(tmp_path)))


def test_what_went_wrong_names_nothing_where_names_are_hidden() -> None:
    problem = OSError("s3a://acme-prod/lake: 10.0.3.17 refused zorbaop")
    assert upkeep._error_text(problem, is_redacted=False) == str(problem)
    message = upkeep._error_text(problem, is_redacted=True)
    assert not any(each in message for each in ("acme", "10.0.3.17", "zorbaop"))
    assert "refused" in message
