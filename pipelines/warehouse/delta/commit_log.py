"""Commits in the log of a Delta table, and whether they change rows.

Platforms and administrators maintain tables at any time (OPTIMIZE, VACUUM). Such commits are no reason to replay
anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pyspark.sql import functions as F

from pipelines.warehouse.delta import sql as delta
from pipelines.warehouse.delta.tables import DeltaTables

ROWS_STAY = frozenset(
    [
        "ADD CONSTRAINT",
        "CHANGE COLUMN",
        "CHANGE COLUMNS",
        "CLUSTER BY",
        "DROP CONSTRAINT",
        "OPTIMIZE",
        "REORG",
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
        "UPGRADE PROTOCOL",
        "VACUUM END",
        "VACUUM START",
    ]
)
"""Operations, named as in Delta's history, that change no rows.

They move rows between files or change the table's metadata. Incompatible columns are detected when a table is opened.
"""


_MEANWHILE = 16
"""Maximum number of commits expected between two reads of a log."""


class TableVersion(NamedTuple):
    """One version of a table.

    `user_metadata` is the writer's `userMetadata`; writes of this product set it to the run's id.
    """

    version: int
    operation: str
    user_metadata: str | None


def commits_since(tables: DeltaTables, name: str, version: int) -> list[TableVersion]:
    """Commits after a version that the log still contains."""
    delta_table = tables.delta_table(name)
    if delta_table is not None:
        later = delta_table.version() - version
        entries = delta_table.history(later) if later > 0 else []
        return [TableVersion(entry["version"], entry.get("operation", ""), entry.get("userMetadata")) for entry in entries]
    later = tables.latest(name) - version
    if later <= 0:
        return []
    since = delta.commits_of(tables.spark, tables.path(name), later + _MEANWHILE).where(F.col("version") > version)
    return [TableVersion(*row) for row in since.select("version", "operation", "userMetadata").collect()]


def changing(commits: Iterable[TableVersion]) -> list[TableVersion]:
    """Commits that may have changed rows."""
    return [commit for commit in commits if commit.operation not in ROWS_STAY]


def rows_stayed(tables: DeltaTables, name: str, version: int) -> bool:
    """Whether no commit since a version changed rows.

    False if the log no longer contains all commits since then.
    """
    commits, latest = commits_since(tables, name, version), tables.latest(name)
    all_told = {commit.version for commit in commits} == set(range(version + 1, latest + 1))
    return version <= latest and all_told and not changing(commits)
