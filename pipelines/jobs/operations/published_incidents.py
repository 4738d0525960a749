"""Incidents in earlier published versions, read by delta-rs while files exist.

If the rows of its beginning expire, an incident begins later and has another id. Only the earlier tables distinguish it
from a new one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pipelines.jobs.registry.entries import PUBLISHED, RUNS, UNCHANGED
from pipelines.schema.tables import TABLES
from pipelines.storage.object_stores import open_table
from pipelines.warehouse.delta.arrow_files import read_table

_TABLE = "incidents"
TimeSpan = tuple[datetime | None, datetime | None]


class PastIncidents:
    """Incidents published before a version of their table."""

    def __init__(self, uri: str, version: int) -> None:
        self._path = f"{uri}/{TABLES[_TABLE].path}"
        self._read_until = _read_until(uri, version)
        self._versions = sorted(self._read_until)
        self._known: dict[int, Mapping[str, TimeSpan]] = {}

    def holds(self, incident_id: str, later: Mapping[str, Any]) -> bool:
        """Whether an incident lasted until a later one begins.

        Decided by the last published version without the later one.
        """
        version = self._last_without(later["incident_id"])
        began, ended = self._at(version).get(incident_id, (None, None)) if version is not None else (None, None)
        if version is None or began is None:
            return False
        # An open incident may have ended, and another one begun, in lines that were not read by then.
        return bool(began <= later["started_at"] <= (ended or self._read_until[version]))

    def _last_without(self, incident_id: str) -> int | None:
        """The last version without the incident.

        It is usually the one before the run that has just been published.
        """
        versions = self._versions
        if not versions or incident_id not in self._at(versions[-1]):
            return versions[-1] if versions else None
        first = bisect_left(versions, True, key=lambda version: incident_id in self._at(version))
        return versions[first - 1] if first else None

    def _at(self, version: int) -> Mapping[str, TimeSpan]:
        """Start and end of a version's incidents, empty without its files."""
        if version not in self._known:
            self._known[version] = _spans(self._path, version)
        return self._known[version]


def _spans(path: str, version: int) -> Mapping[str, TimeSpan]:
    from deltalake.exceptions import DeltaError

    try:
        rows = read_table(open_table(path, version), ["incident_id", "started_at", "ended_at"])
    except (DeltaError, OSError):
        return {}
    return {row["incident_id"]: (row["started_at"], row["ended_at"]) for row in rows.to_pylist()}


def _read_until(uri: str, before: int) -> dict[int, datetime]:
    """Earlier published versions of incidents, with the time of their logs.

    The time is the start of the last run that read logs and left this version in place.
    """
    columns = ["run_number", "status", "started_at", "inputs", "table_versions"]
    runs = read_table(open_table(f"{uri}/{TABLES[RUNS].path}"), columns, [("status", "in", (PUBLISHED, UNCHANGED))]).to_pylist()
    times: dict[int, datetime] = {}
    for run in sorted(runs, key=lambda row: int(row["run_number"])):
        version = dict(run["table_versions"] or ()).get(_TABLE)
        if version is not None and version < before and run["inputs"]:  # maintenance has no inputs, and reads no logs
            times[version] = run["started_at"]
    return times
