"""What was published of incidents before: by delta-rs, as far as the files of their table's versions are still there.

When rows of its beginning expire, an incident begins later and has another id. Only what the tables held before that tells it from
one that is new.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pipelines.jobs.registry.entries import PUBLISHED, RUNS, UNCHANGED
from pipelines.schema.tables import TABLES
from pipelines.storage.object_stores import open_table
from pipelines.warehouse.arrow_files import table_of

_TABLE = "incidents"
Span = tuple[datetime | None, datetime | None]


class PastIncidents:
    """Incidents as they were published before a version of their table."""

    def __init__(self, uri: str, version: int) -> None:
        self._path = f"{uri}/{TABLES[_TABLE].path}"
        self._read_until = _read_until(uri, version)
        self._versions = sorted(self._read_until)
        self._known: dict[int, Mapping[str, Span]] = {}

    def holds(self, incident_id: str, later: Mapping[str, Any]) -> bool:
        """Whether an incident went on where a later one begins, when readers saw the last tables that did not have the later one."""
        version = self._last_without(later["incident_id"])
        began, ended = self._at(version).get(incident_id, (None, None)) if version is not None else (None, None)
        if version is None or began is None:
            return False
        # What was not over may have ended, and another one begun, in what nobody had read by then.
        return bool(began <= later["started_at"] <= (ended or self._read_until[version]))

    def _last_without(self, incident_id: str) -> int | None:
        """The last version before the incident was there. Mostly it has come with the run that has just been published."""
        versions = self._versions
        if not versions or incident_id not in self._at(versions[-1]):
            return versions[-1] if versions else None
        first = bisect_left(versions, True, key=lambda version: incident_id in self._at(version))
        return versions[first - 1] if first else None

    def _at(self, version: int) -> Mapping[str, Span]:
        """From when to when the incidents of a version were; none where its files are gone."""
        if version not in self._known:
            self._known[version] = _spans(self._path, version)
        return self._known[version]


def _spans(path: str, version: int) -> Mapping[str, Span]:
    from deltalake.exceptions import DeltaError

    try:
        rows = table_of(open_table(path, version), ["incident_id", "started_at", "ended_at"])
    except (DeltaError, OSError):
        return {}
    return {row["incident_id"]: (row["started_at"], row["ended_at"]) for row in rows.to_pylist()}


def _read_until(uri: str, before: int) -> dict[int, datetime]:
    """The published versions of incidents that are older, and when the last run began that read logs and left it at that."""
    columns = ["run_number", "status", "started_at", "inputs", "table_versions"]
    runs = table_of(open_table(f"{uri}/{TABLES[RUNS].path}"), columns, [("status", "in", (PUBLISHED, UNCHANGED))]).to_pylist()
    found: dict[int, datetime] = {}
    for run in sorted(runs, key=lambda row: int(row["run_number"])):
        version = dict(run["table_versions"] or ()).get(_TABLE)
        if version is not None and version < before and run["inputs"]:  # upkeep has none, and reads no logs
            found[version] = run["started_at"]
    return found
