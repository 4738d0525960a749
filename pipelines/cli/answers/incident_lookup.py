"""Lookup of an incident by the first characters of its id."""

from __future__ import annotations

from typing import Any

from dashboards.view.row_access import column
from dashboards.wording.units import Clock, counted
from pipelines.cli.answers.narrowed_rows import NarrowedRows
from pipelines.cli.answers.rebalance_lookup import CANDIDATES_SHOWN, ID_PREFIX_MIN
from pipelines.cli.answers.selection import those, with_ids
from pipelines.errors import UsageError
from pipelines.warehouse.warehouse_reader import quoted_text


def find_incident(rows: Any, name: str, clock: Clock) -> Any | None:
    """The row of `incidents` whose id begins so, None if there is none.

    Raises UsageError if there are several.
    """
    if len(name) < ID_PREFIX_MIN:
        return None
    incidents = list(
        those(rows.incidents, f"starts_with(incident_id, {quoted_text(name)})", lambda row: column(row, "incident_id").startswith(name))
    )
    if len(incidents) > 1:
        candidates = "\n".join(_line(row, clock) for row in incidents[:CANDIDATES_SHOWN])
        raise UsageError(f"{name!r} may mean {counted(len(incidents), 'incident')}; name one by its id:\n{candidates}")
    return incidents[0] if incidents else None


def rows_of_incident(rows: Any, incident: Any) -> NarrowedRows:
    """Rows narrowed to one incident, with its rebalances and outages."""
    narrowed = NarrowedRows(rows, set(column(incident, "rebalance_ids") or ()), {column(incident, "incident_id")})
    narrowed.outages = with_ids(rows.outages, "outage_id", set(column(incident, "outage_ids") or ()))
    return narrowed


def _line(row: Any, clock: Clock) -> str:
    return f"  {column(row, 'incident_id')}  {column(row, 'cluster')}  {column(row, 'headline')}  {clock.full(column(row, 'started_at'))}"
