"""Rows of incidents that are no rebalances."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from models.rows import Evidence, Incident, Person

Facts = TypeVar("Facts")


def incident_row(
    *,
    cluster: str,
    system: str,
    incident_id: str,
    kind: str,
    severity: str,
    started_at: int | None,
    ended_at: int | None,
    headline: Facts,
    groups: Iterable[str] = (),
    outage_ids: Iterable[str] = (),
    restarted_members: Iterable[str] = (),
    stopped_seconds: float = 0.0,
    root_cause: str | None = None,
    worst_offender: Person | None = None,
    evidence: Iterable[Evidence] = (),
) -> Incident[Facts]:
    """An incident without rebalances: a condition, a fault or an outage.

    What is not given has nothing to do with such an incident.
    """
    return Incident(
        cluster=cluster,
        system=system,
        incident_id=incident_id,
        kind=kind,
        severity=severity,
        groups=list(groups),
        started_at=started_at,
        ended_at=ended_at,
        rebalance_count=0,
        stopped_seconds=stopped_seconds,
        root_cause=root_cause,
        worst_offender=worst_offender,
        headline=headline,
        rebalance_ids=[],
        outage_ids=list(outage_ids),
        restarted_members=list(restarted_members),
        evidence=list(evidence),
    )
