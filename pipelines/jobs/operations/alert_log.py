"""Record which incidents have been sent as alerts (`ops.alerts`).

Uses delta-rs, so several processes may append at once. An incident's id comes from its first rebalance or outage. It
changes if a late file adds an earlier one, if files get the name of their cluster later, or if the first one expires
during the incident. Then the alerted id no longer exists, and the new one must be matched with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from models.units import US_PER_SECOND
from pipelines.errors import CannotWrite
from pipelines.schema.tables import TABLES
from pipelines.storage.object_stores import open_table
from pipelines.warehouse.delta.arrow_files import read_table

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from pipelines.jobs.operations.published_incidents import PastIncidents

LATEST = datetime.max.replace(tzinfo=UTC)
LEASE_SECONDS = 120
"""Time for which one process alone sends alerts.

It begins anew with each entry, and is longer than a process tries an unreachable receiver.
"""
_SENDER = "groupscope.alerts.sender"
"""Application of the table's transactions, whose version is the end of the lease (microseconds).

Of two commits with it that do not know of each other, Delta refuses the later one.
"""
_KEPT = ("incident_id", "cluster", "groups", "severity", "started_at")


class SentIncidents:
    """Incidents sent so far, by the id that was sent."""

    def __init__(self, place: str, now: datetime, run_id: str) -> None:
        self._table: DeltaTable = open_table(place)
        self._now, self._run_id = now, run_id
        self._seen = self._table.version()
        self._claimed: int | None = None
        """End of the lease that this process holds."""
        self.rows = self._read()

    def _read(self) -> dict[str, Mapping[str, Any]]:
        """Rows by their present names; tables of older versions have fewer."""
        rows = read_table(self._table)
        names = [(name, stored) for name, stored in TABLES["alerts"].stored_names(rows.column_names) if stored is not None]
        return {row["incident_id"]: row for row in rows.select([stored for _, stored in names]).rename_columns([*dict(names)]).to_pylist()}

    def refresh(self) -> bool:
        """Read the table again; return True if another process has written."""
        self._table.update_incremental()
        if self._table.version() == self._seen:
            return False
        self._seen, self.rows = self._table.version(), self._read()
        return True

    def claim(self) -> bool:
        """Become the only process that sends alerts; False if another one is.

        Reads the table again. Raises CannotWrite.
        """
        from deltalake.exceptions import CommitFailedError

        self.refresh()
        if self._lease_end not in {None, self._claimed} and self._lease_end > _now():
            return False
        try:
            self._append([], _now() + LEASE_SECONDS * US_PER_SECOND)
        except CommitFailedError:
            return False
        except _errors() as error:
            raise CannotWrite(f"no process can claim to be the only one that sends alerts: {error}") from error
        return True

    def release(self) -> None:
        """Let others send, unless another process has taken over."""
        self._table.update_incremental()
        if self._claimed is not None and self._lease_end == self._claimed:
            with suppress(*_errors()):  # the lease ends by itself
                self._append([], 0)
        self._claimed = None

    @property
    def _lease_end(self) -> int | None:
        return self._table.transaction_version(_SENDER)

    def record_sent(self, incidents: Sequence[Mapping[str, Any]], former: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Record incidents as sent now, or as sent under a former id.

        Writes one commit, which extends the lease. Raises CannotWrite.
        """
        from deltalake.exceptions import CommitFailedError

        records = [self._record(row, (former or {}).get(row["incident_id"])) for row in incidents]
        try:
            try:
                self._append(records, _now() + LEASE_SECONDS * US_PER_SECOND if self._claimed is not None else None)
            except CommitFailedError:  # sending took longer than the lease, and another process has taken over
                self._append(records, None)
        except _errors() as error:
            names = ", ".join(row["incident_id"] for row in incidents)
            raise CannotWrite(f"incident {names} was told, which can't be written down: {error}") from error
        self.rows |= {row["incident_id"]: row for row in records}

    def _append(self, records: Sequence[Mapping[str, Any]], lease_end: int | None) -> None:
        """Write one commit, which sets the end of the lease if one is given."""
        from deltalake import CommitProperties, Transaction, write_deltalake

        schema = pa.schema([field.remove_metadata() for field in TABLES["alerts"].arrow_schema()])
        rows = pa.Table.from_pylist(list(records), schema=schema)
        properties = None if lease_end is None else CommitProperties(app_transactions=[Transaction(_SENDER, lease_end)])
        # A table of an older version gets its missing columns.
        write_deltalake(self._table, rows, mode="append", schema_mode="merge", commit_properties=properties)
        self._claimed = lease_end
        self._table.update_incremental()
        if self._table.version() == self._seen + 1:  # no other process has written
            self._seen += 1

    def _record(self, incident: Mapping[str, Any], former: Mapping[str, Any] | None) -> dict[str, Any]:
        previous, sent_at = (None, self._now) if former is None else (former["incident_id"], former["sent_at"])
        return {name: incident[name] for name in _KEPT} | {"previous_incident_id": previous, "sent_at": sent_at, "run_id": self._run_id}

    def renamed(
        self, incidents: Sequence[Mapping[str, Any]], cluster_of: Mapping[str, str], past: Callable[[], PastIncidents]
    ) -> dict[str, Mapping[str, Any]]:
        """Match new incidents with alerts sent under another id.

        `cluster_of` maps the ids of all existing incidents to their clusters; `past` opens earlier versions if they are
        needed. Each alert matches one incident at most: a duplicate is better than a missing alert. It matches one of
        another cluster only if its own cluster has no incidents any more.
        """
        followed = {row.get("previous_incident_id") for row in self.rows.values()}
        gone = self.rows.keys() - followed - cluster_of.keys()
        left = [self.rows[name] for name in sorted(gone) if self.rows[name].get("started_at") is not None]
        clusters, before = set(cluster_of.values()), cache(past)
        ways: tuple[Callable[[Mapping[str, Any], Mapping[str, Any]], bool], ...] = (
            lambda row, former: row["cluster"] == former["cluster"] and _is_same(row, former),
            lambda row, former: former["cluster"] not in clusters and _is_same(row, former),
            lambda row, former: _may_be_remainder(row, former) and before().holds(former["incident_id"], row),
        )
        renamed: dict[str, Mapping[str, Any]] = {}
        for stands_for in ways:
            for row in incidents:
                if row["incident_id"] in renamed:
                    continue
                former = next((incident for incident in left if stands_for(row, incident)), None)
                if former is not None:
                    left.remove(former)
                    renamed[row["incident_id"]] = former
        return renamed


def _now() -> int:
    return time.time_ns() // 1000


def _errors() -> tuple[type[Exception], ...]:
    """What writing may raise."""
    from deltalake.exceptions import DeltaError

    return OSError, DeltaError


def _is_same(incident: Mapping[str, Any], former: Mapping[str, Any]) -> bool:
    """Whether an incident contains the start of an alerted one.

    They must share a group, or both have none. If the alert's groups are unknown because names were hidden since, both
    must start at the same time.
    """
    if incident["started_at"] is None:
        return False
    if former["groups"] is None:
        return bool(incident["started_at"] == former["started_at"])
    return _is_about_the_same(incident, former) and bool(incident["started_at"] <= former["started_at"] <= (incident["ended_at"] or LATEST))


def _may_be_remainder(incident: Mapping[str, Any], former: Mapping[str, Any]) -> bool:
    """Return True if `incident` may be the remainder of an alerted one.

    The first rows of the alerted incident have expired.
    """
    if incident["started_at"] is None or former["groups"] is None or incident["cluster"] != former["cluster"]:
        return False
    return _is_about_the_same(incident, former) and bool(former["started_at"] < incident["started_at"])


def _is_about_the_same(incident: Mapping[str, Any], former: Mapping[str, Any]) -> bool:
    groups, before = set(incident["groups"]), set(former["groups"])
    return bool(groups & before) or not (groups or before)
