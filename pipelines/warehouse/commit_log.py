"""What the log of a Delta table says of its latest commits, and which of them leave its rows as they were.

Lakes look after their tables by themselves: such commits come from the platform or from people at any time, and are no reason
to replay anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pyspark.sql import functions as F

from pipelines.warehouse import delta_sql as delta

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import SparkSession

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
"""Operations, as Delta's history names them, that move rows between files or tell of a table, and change none of its rows. Columns
of another kind are found when a table is opened."""


_MEANWHILE = 16
"""So many commits may come between two looks at a log."""


class Tables(Protocol):
    """Delta tables by name."""

    @property
    def spark(self) -> SparkSession:
        """The session that reads them."""

    def path(self, name: str, /) -> str:
        """Where a table is."""

    def log(self, name: str, /) -> DeltaTable | None:
        """A table as Delta's own reader sees it, None where only Spark reaches it."""

    def latest(self, name: str, /) -> int:
        """The newest version of a table."""


class Commit(NamedTuple):
    """One version of a table: what was done, and what its writer said of it (`userMetadata`), which is the run's id in ours."""

    version: int
    operation: str
    told: str | None


def commits_since(warehouse: Tables, name: str, version: int) -> list[Commit]:
    """Commits behind a version, as far as the log still tells of them."""
    log = warehouse.log(name)
    if log is not None:
        later = log.version() - version
        found = log.history(later) if later > 0 else []
        return [Commit(entry["version"], entry.get("operation", ""), entry.get("userMetadata")) for entry in found]
    later = warehouse.latest(name) - version
    if later <= 0:
        return []
    since = delta.history(warehouse.spark, warehouse.path(name), later + _MEANWHILE).where(F.col("version") > version)
    return [Commit(*row) for row in since.select("version", "operation", "userMetadata").collect()]


def changing(commits: Iterable[Commit]) -> list[Commit]:
    """Those that may have changed rows."""
    return [commit for commit in commits if commit.operation not in ROWS_STAY]


def rows_stayed(warehouse: Tables, name: str, version: int) -> bool:
    """Whether a table holds the rows that it held at a version. A log that no longer tells of all commits since doesn't say so."""
    commits, latest = commits_since(warehouse, name, version), warehouse.latest(name)
    all_told = {commit.version for commit in commits} == set(range(version + 1, latest + 1))
    return version <= latest and all_told and not changing(commits)
