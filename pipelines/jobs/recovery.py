"""What a run has written that did not come to its end is taken back, so that the next one goes on where the last published one ended.

Where that can't be done, because somebody else has written to the tables or files of theirs are gone, everything is replayed and
compared, which gives the same tables and takes longer than a rebuild.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from pipelines import delta
from pipelines.jobs.runs import Runs
from pipelines.points import reached
from pipelines.tables import Stamp, Warehouse

_log = logging.getLogger(__name__)


def taken_back(warehouse: Warehouse, register: Runs, published: Mapping[str, int], present: Mapping[str, int], stamp: Stamp) -> bool:
    """Give tables that are ahead of their published version what they held then. Says whether all of them hold it."""
    ahead = [name for name, version in present.items() if published.get(name) != version]
    if not published.keys() >= set(ahead):  # tables of another version of the product
        return False
    if not register.knows({writer for name in ahead for writer in _writers_since(warehouse, name, published[name])}):
        return False
    try:
        done = all(_restored(warehouse, name, published[name], stamp) for name in ahead)
    except PySparkException as error:  # such as files that are no longer there
        _log.warning("what the last run has written can't be taken back, so everything is replayed: %s", error)
        return False
    if done:
        _log.info("a run before this one did not come to its end; taken back: %s", ", ".join(ahead))
    return done


def _writers_since(warehouse: Warehouse, name: str, version: int) -> set[str | None]:
    """The runs that made the versions of a table behind this one; None where it was somebody else."""
    log = warehouse.log(name)
    if log is not None:
        return {commit.get("userMetadata") for commit in log.history(log.version() - version)} if log.version() > version else set()
    since = delta.history(warehouse.spark, warehouse.path(name)).where(F.col("version") > version)
    return {row[0] for row in since.select("userMetadata").collect()}


def _restored(warehouse: Warehouse, name: str, version: int, stamp: Stamp) -> bool:
    """Give a table what it held at a version. Says whether it is that: one of older columns is brought up to date, and holds more."""
    reached(f"before {name}/restore")
    delta.restore(warehouse.spark, warehouse.path(name), version, stamp.run_id)
    restored = warehouse.latest(name)
    warehouse.open_one(name)
    reached(f"after {name}/restore")
    return warehouse.latest(name) == restored
