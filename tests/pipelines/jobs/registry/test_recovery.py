"""What runs leave behind that did not come to their end is in no later run's way, also where files are gone meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.schema.tables import TABLES
from pipelines.warehouse.delta import sql as delta
from tests.conftest import LONG
from tests.pipelines.jobs.test_run import OTHER_GROUP, Killed, killed_before, rebuilt_otherwise
from tests.pipelines.site import Site

pytestmark = pytest.mark.spark
Copied = Callable[[Site], Site]
LOST = Path("logs") / "broker-1" / "server.log.1"
"""A file that is gone before the run after the one that was killed."""


def killed_with_a_file_that_is_gone(site: Site, point: str) -> None:
    """A run that read one file more ends without a word before it writes a table; then that file is deleted."""
    (site.place / LOST).write_text(OTHER_GROUP, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        killed_before(point, patch)
        with pytest.raises(Killed):
            site.run()
    (site.place / LOST).unlink()
    assert {row["file"] for row in site.table("events")} >= {str(LOST)}


def changed_by_somebody(spark: Any, site: Site, table: str) -> None:
    path = str(site.warehouse / TABLES[table].path)
    spark.sql(f"UPDATE {delta.table_at(path)} SET run_id = 'somebody' WHERE file = '{LOST}'")


@LONG
@pytest.mark.parametrize(
    ("point", "others"),
    [("state_snapshots", False), ("log_files", False), ("member_sessions", False), ("log_files", True)],
    ids=["before states", "before the ledger", "before gold", "with rows of others"],
)
def test_a_first_run_that_was_killed_leaves_nothing_of_files_that_are_gone(
    spark: Any, published: Site, tmp_path: Path, point: str, others: bool
) -> None:
    site = Site(tmp_path)
    shutil.copytree(published.logs, site.logs)
    killed_with_a_file_that_is_gone(site, point)
    if others:
        changed_by_somebody(spark, site, "events")
    outcome = site.run()

    assert outcome.exit_code == 0
    assert site.content() == published.content()
    assert site.run().was_skipped


@LONG
@pytest.mark.parametrize("others", [False, True], ids=["taken back", "not to be taken back"])
def test_a_rebuild_leaves_nothing_of_a_run_before_it_that_was_killed(spark: Any, published: Site, copied: Copied, others: bool) -> None:
    site = copied(published)
    killed_with_a_file_that_is_gone(site, "log_files")
    if others:
        changed_by_somebody(spark, site, "events")
    outcome = site.run(rebuild=True)

    assert outcome.exit_code == 0
    assert site.content() == published.content()
    assert rebuilt_otherwise(site) == set()
