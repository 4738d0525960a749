"""What a run has written that did not come to its end is taken back, so that the next one goes on where the last published one ended.

Commits that change no row, such as OPTIMIZE by the platform, are left as they are. Where somebody else has changed rows, or files
are gone that would be needed, everything is replayed and compared, which gives the same tables and takes longer than a rebuild.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark.errors import PySparkException

from pipelines import delta
from pipelines.commits import changing, commits_since, rows_stayed
from pipelines.jobs.runs import Runs
from pipelines.points import reached
from pipelines.tables import Stamp, Warehouse

_log = logging.getLogger(__name__)


def as_published(warehouse: Warehouse, register: Runs, published: Mapping[str, int], present: Mapping[str, int], stamp: Stamp) -> bool:
    """Give tables whose rows are not those of their published version what they held then. Says whether all of them hold it."""
    moved = [name for name, version in present.items() if published.get(name) != version]
    if not published.keys() >= set(moved):  # tables of another version of the product
        return False
    ahead = [name for name in moved if not rows_stayed(warehouse, name, published[name])]
    if not ahead:
        return True
    writers = {commit.told for name in ahead for commit in changing(commits_since(warehouse, name, published[name]))}
    if not register.knows(writers):
        return False
    try:
        done = all(_restored(warehouse, name, published[name], stamp) for name in ahead)
    except PySparkException as error:  # such as files that are no longer there
        _log.warning("what the last run has written can't be taken back, so everything is replayed: %s", error)
        return False
    if done:
        _log.info("a run before this one did not come to its end; taken back: %s", ", ".join(ahead))
    return done


def _restored(warehouse: Warehouse, name: str, version: int, stamp: Stamp) -> bool:
    """Give a table what it held at a version. Says whether it is that: one of older columns is brought up to date, and holds more."""
    reached(f"before {name}/restore")
    delta.restore(warehouse.spark, warehouse.path(name), version, stamp.run_id)
    restored = warehouse.latest(name)
    warehouse.open_one(name)
    reached(f"after {name}/restore")
    return rows_stayed(warehouse, name, restored)
