"""Versions of tables, as opened and after one's own writes."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from pipelines.errors import ConcurrentWrite
from pipelines.schema.tables import VERSIONED
from pipelines.warehouse.delta.commit_log import changing, commits_since
from pipelines.warehouse.delta.tables import DeltaTables

METADATA_THREADS = 4
"""Tables opened at once, because opening waits for small metadata jobs."""


class TableVersions:
    """Versions of the tables, and who has written to them since they were opened."""

    def __init__(self, tables: DeltaTables) -> None:
        self._tables = tables
        self._versions: dict[str, int] = {}
        self._written: set[str] = set()
        self._writers: set[str] = set()
        self._emptied: set[str] = set()

    def __getitem__(self, name: str) -> int:
        return self._versions[name]

    def begin(self, versions: Mapping[str, int]) -> None:
        """Take these versions for those of tables without own writes."""
        self._written.clear()
        self._emptied.clear()
        self._versions = dict(versions)

    def note_opened(self, name: str, version: int) -> None:
        """Record the version at which one table was opened."""
        self._versions[name] = version

    def note_written(self, name: str, run_id: str) -> None:
        """Record an own write to a table."""
        self._written.add(name)
        self._writers.add(run_id)

    def note_emptied(self, name: str, run_id: str) -> None:
        """Record that all rows of a table were removed by an own write."""
        self._writers.add(run_id)
        self._versions[name] = self._own_version(name)
        self._emptied.add(name)

    def is_known_empty(self, name: str) -> bool:
        """Whether the table was created or emptied by this object, and not written since."""
        return (self._versions[name] == 0 or name in self._emptied) and name not in self._written

    @property
    def opened(self) -> dict[str, int]:
        """Version of each published table, as opened or as last recorded by `current`."""
        return {name: version for name, version in self._versions.items() if name in VERSIONED}

    def current(self) -> dict[str, int]:
        """Version of each published table after the own writes.

        Raises ConcurrentWrite if another writer, such as a run presumed dead, has changed rows since a table was opened. Such
        rows were never replayed, even if they equal those to be written.
        """
        names = self.opened
        with ThreadPoolExecutor(METADATA_THREADS) as pool:
            self._versions |= dict(zip(names, pool.map(self._own_version, names), strict=True))
        self._emptied -= self._written
        self._written.clear()
        return self.opened

    def _own_version(self, name: str) -> int:
        """Latest version of a table; raises ConcurrentWrite if others changed its rows."""
        commits = commits_since(self._tables, name, self._versions[name])
        if any(commit.user_metadata not in self._writers for commit in changing(commits)):
            raise ConcurrentWrite(f"{self._tables.path(name)}: somebody else writes to this table, too; nothing is published")
        return max((commit.version for commit in commits), default=self._versions[name])
