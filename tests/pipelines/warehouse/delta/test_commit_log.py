"""Lakes look after their tables: commits of others that change no row are no reason to replay, all others are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import functions as F

from pipelines.errors import WarehouseBusy
from pipelines.jobs.ingest.ingest import ingest
from pipelines.jobs.operations.maintain import MaintainOptions, maintain
from pipelines.schema.tables import TABLES, VERSIONED
from pipelines.warehouse.delta import sql as delta
from tests.compare_paths import published as published_versions
from tests.conftest import LONG
from tests.pipelines.jobs.test_run import OTHER_GROUP, Killed, killed_before, rebuilt_otherwise
from tests.pipelines.site import Site

pytestmark = pytest.mark.spark
Copied = Callable[[Site], Site]

UPKEEP = (
    "OPTIMIZE {table}",
    "ALTER TABLE {table} SET TBLPROPERTIES ('lake.keeper' = 'night')",
    "VACUUM {table}",
    "ALTER TABLE {table} UNSET TBLPROPERTIES ('lake.keeper')",
    "ALTER TABLE {table} ADD CONSTRAINT theirs CHECK (run_id != '')",
    "ALTER TABLE {table} DROP CONSTRAINT theirs",
    "ALTER TABLE {table} CLUSTER BY NONE",
    "ALTER TABLE {table} ALTER COLUMN run_id COMMENT 'told otherwise'",
    "COMMENT ON TABLE {table} IS 'told otherwise'",
)


def looked_after(spark: Any, site: Site, *names: str, by: Sequence[str] = UPKEEP[:2]) -> None:
    """Let a lake look after tables of a warehouse."""
    for name in names:
        for command in by:
            spark.sql(command.format(table=delta.table_at(str(site.warehouse / TABLES[name].path)))).collect()


def grown(site: Site) -> None:
    """One more group in the broker's log."""
    with (site.logs / "broker-1" / "server.log").open("a", encoding="utf-8") as log:
        log.write(OTHER_GROUP)


def described(site: Site) -> dict[str, tuple[Any, ...]]:
    """What each table says of itself and of its columns."""
    logs = {name: DeltaTable(str(site.warehouse / TABLES[name].path)) for name in VERSIONED}
    return {name: (log.metadata().description, *(field.metadata for field in log.schema().fields)) for name, log in logs.items()}


@LONG
def test_a_run_goes_on_from_tables_that_others_look_after(spark: Any, published: Site, copied: Copied) -> None:
    site = copied(published)
    looked_after(spark, site, "rebalances", by=UPKEEP)
    looked_after(spark, site, "events", "state_snapshots")
    grown(site)
    outcome = site.run()

    assert (outcome.counts["groups_replayed"], outcome.counts["rebalances"]) == (1, 1)
    assert described(site) == described(published)
    assert rebuilt_otherwise(site) == set()


@LONG
def test_without_new_records_only_the_versions_are_told_anew(spark: Any, published: Site, copied: Copied) -> None:
    site = copied(published)
    looked_after(spark, site, "events", "rebalances")
    maintain(MaintainOptions(str(site.warehouse)))  # nothing is in its way
    looked_after(spark, site, "incidents", "log_files")
    outcome = site.run()

    assert (outcome.was_skipped, outcome.has_changed, outcome.counts.get("rebalances")) == (False, False, None)
    assert published_versions(site.warehouse) == {name: version for name, version in site.versions().items() if name in VERSIONED}
    assert site.content() == published.content()
    assert site.run().was_skipped


@LONG
def test_what_a_killed_run_wrote_is_taken_back_whoever_looked_after_it(spark: Any, published: Site, copied: Copied) -> None:
    site = copied(published)
    grown(site)
    looked_after(spark, site, "events")
    with pytest.MonkeyPatch.context() as patch:
        killed_before("member_sessions", patch)
        with pytest.raises(Killed):
            site.run()
    looked_after(spark, site, "events", "rebalances")
    outcome = site.run()

    assert (outcome.counts["groups_replayed"], outcome.counts["rebalances"]) == (1, 1)
    assert rebuilt_otherwise(site) == set()


@LONG
def test_rows_that_others_changed_are_made_good(spark: Any, published: Site, copied: Copied) -> None:
    site = copied(published)
    delta.update(spark, str(site.warehouse / TABLES["rebalances"].path), "true", {"confidence": "0.5"})
    looked_after(spark, site, "rebalances")
    outcome = site.run()

    assert outcome.counts["groups_replayed"] == 0  # one by one: all are
    assert outcome.changes["rebalances"]
    assert site.content() == published.content()


@LONG
def test_a_commit_of_a_killed_run_that_lands_while_the_next_is_at_work_is_no_part_of_it(
    spark: Any, published: Site, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server of Spark makes it that outlives its client. Its rows are those that the next run is about to write."""
    site = copied(published)
    grown(site)
    with pytest.MonkeyPatch.context() as patch:
        killed_before("log_files", patch)
        with pytest.raises(Killed):
            site.run()
    [killed] = {row["run_id"] for row in site.table("runs")} - {row["run_id"] for row in published.table("runs")}
    events = str(site.warehouse / TABLES["events"].path)
    late = [spark.createDataFrame(spark.read.format("delta").load(events).where(F.col("run_id") == killed).toArrow())]

    def after_a_late_commit(*arguments: Any, **options: Any) -> Any:
        if late:
            late.pop().write.format("delta").mode("append").option("userMetadata", killed).save(events)
        return ingest(*arguments, **options)

    monkeypatch.setattr("pipelines.jobs.ingest.ingest.ingest", after_a_late_commit)
    outcome = site.run()

    assert (outcome.counts["groups_replayed"], outcome.counts["rebalances"]) == (1, 1)
    assert [row["exit_code"] for row in sorted(site.table("runs"), key=lambda row: row["run_number"])] == [
        0,
        None,
        WarehouseBusy.exit_code,
        0,
    ]
    assert rebuilt_otherwise(site) == set()
