"""Undo the writes of runs that failed, back to the last published versions.

Commits that change no row, for example OPTIMIZE by the platform, stay. If another writer has changed rows, or needed
files are missing, everything is replayed and compared. That gives the same tables and takes longer than a rebuild.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark.errors import PySparkException

from pipelines.crash_points import crash_point
from pipelines.jobs.registry.resume_states import FILE_STATE
from pipelines.jobs.registry.runs import Runs
from pipelines.schema.tables import VERSIONED, without_run
from pipelines.spark.results import fetch_rows
from pipelines.warehouse.delta import sql as delta
from pipelines.warehouse.delta.commit_log import changing, commits_since, rows_stayed
from pipelines.warehouse.rows.predicates import RowScope, among, equals
from pipelines.warehouse.warehouse import Warehouse
from pipelines.warehouse.writes.direct_commit import WriteStamp

_OF_FILES: dict[str, tuple[str, RowScope | None]] = {
    "unknown_in_files": ("file", None),
    "rejected_records": ("file", None),
    "events": ("file", None),
    "state_snapshots": ("subject", equals("kind", FILE_STATE)),
}
"""Tables with files' rows -> column with the file, and condition for such rows."""

_log = logging.getLogger(__name__)


def restore_published(warehouse: Warehouse, register: Runs, published: Mapping[str, int], stamp: WriteStamp) -> bool:
    """Restore tables with unpublished changes.

    Returns True if all tables have their published rows afterwards.
    """
    moved = [name for name, version in warehouse.versions.opened.items() if published.get(name) != version]
    same = published.keys() >= set(moved)  # otherwise there are tables of another version of the product
    ahead = [name for name in moved if name in published and not rows_stayed(warehouse.tables, name, published[name])]
    if not ahead:
        return same
    writers = {commit.user_metadata for name in ahead for commit in changing(commits_since(warehouse.tables, name, published[name]))}
    if not register.knows(writers):
        return False
    try:
        restored = [_restore(warehouse, name, published[name], stamp) for name in ahead]
    except PySparkException as error:  # for example missing files
        _log.warning("what the last run has written can't be taken back, so everything is replayed: %s", error)
        return False
    done = all(restored)
    if done:
        _log.info("a run before this one did not come to its end; taken back: %s", ", ".join(ahead))
    return done and same


def truncate_unpublished(warehouse: Warehouse, register: Runs, stamp: WriteStamp) -> bool:
    """Empty the tables if no run has ever been published.

    Returns True if all tables are empty afterwards.
    """
    present = warehouse.versions.opened
    commits = {name: changing(commits_since(warehouse.tables, name, 0)) for name in VERSIONED if present[name]}
    written = [name for name, since in commits.items() if since]
    if not written:
        return True
    if not register.knows({commit.user_metadata for name in written for commit in commits[name]}):
        return False
    for name in written:
        crash_point(f"before {name}/empty")
        warehouse.writer.empty(name, stamp)
        crash_point(f"after {name}/empty")
    _log.info("no run has come to its end yet; taken back: %s", ", ".join(written))
    return True


def delete_unledgered_rows(warehouse: Warehouse, stamp: WriteStamp) -> None:
    """Delete rows of files missing in the ledger.

    A run that was killed before it wrote the ledger leaves such rows; if the file no longer exists, nothing would
    replace them.
    """
    known = set(warehouse.rows.as_arrow("log_files", columns=["path"])["path"].to_pylist())
    for name, (column, within) in _OF_FILES.items():
        rows = warehouse.tables.frame(name)
        values = fetch_rows((rows if within is None else rows.where(within.column)).select(column).distinct())
        strange = {file for (file,) in values} - known
        if strange:
            _log.warning("%s holds rows of files that were never read to their end; removed: %s files", name, len(strange))
            scope = among(column, strange) if within is None else within & among(column, strange)
            warehouse.replace(name, without_run(name).empty_table(), stamp, scope, part="/strangers", count=0)


def _restore(warehouse: Warehouse, name: str, version: int, stamp: WriteStamp) -> bool:
    """Restore a table to a version.

    Returns True if it has the rows of that version; an upgrade of older columns may add values.
    """
    crash_point(f"before {name}/restore")
    delta.restore(warehouse.spark, warehouse.tables.path(name), version, stamp.run_id)
    restored = max(commit.version for commit in commits_since(warehouse.tables, name, version) if commit.user_metadata == stamp.run_id)
    warehouse.open_one(name, version)
    crash_point(f"after {name}/restore")
    return rows_stayed(warehouse.tables, name, restored)
