"""Incidents of a cluster's servers, which are about no group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from models.events import Event
from models.evidence import evidence
from models.rows import Incident

Facts = TypeVar("Facts")


def cluster_incident(
    *,
    cluster: str,
    system: str,
    incident_id: str,
    kind: str,
    severity: str,
    started_at: int | None,
    ended_at: int | None,
    headline: Facts,
    lines: Sequence[Event],
    root_cause: str | None = None,
) -> Incident[Facts]:
    """An incident without groups, rebalances and outages of partitions."""
    return Incident(
        cluster=cluster,
        system=system,
        incident_id=incident_id,
        kind=kind,
        severity=severity,
        groups=[],
        started_at=started_at,
        ended_at=ended_at,
        rebalance_count=0,
        stopped_seconds=0.0,
        root_cause=root_cause,
        worst_offender=None,
        headline=headline,
        rebalance_ids=[],
        outage_ids=[],
        evidence=evidence(lines),
    )
