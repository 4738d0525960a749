"""Incidents of standing faults that no rebalance shows.

A group may stand still without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from models.evidence import evidence
from models.ids import make_id
from models.incidents.headline_facts import QueueFacts, StandingQuarrel
from models.incidents.incident_rows import incident_row
from models.rocketmq.diagnosis.standing_faults import StandingFault, is_of_group
from models.rows import ROCKETMQ, Incident, Person

_PLANNED = frozenset({"offset_reset"})
"""What somebody did on purpose."""


def faults_alone(faults: Iterable[StandingFault], incidents: Sequence[Incident[QueueFacts]], end: int) -> list[StandingFault]:
    """Faults that are no part of an episode's incident.

    What lines of a client tell is none: the rebalances beside it have causes of their own.
    """
    return [fault for fault in faults if not is_of_group(fault) or not _is_within_any(fault, incidents, end)]


def _is_within_any(fault: StandingFault, incidents: Iterable[Incident[QueueFacts]], end: int) -> bool:
    until = end if fault.ended_at is None else fault.ended_at
    return any((incident.started_at or 0) <= until and (incident.ended_at or end) >= fault.started_at for incident in incidents)


def fault_incident(cluster: str, group: str, fault: StandingFault) -> Incident[QueueFacts]:
    """The incident of a fault alone."""
    return incident_row(
        cluster=cluster,
        system=ROCKETMQ,
        incident_id=make_id("incident", cluster, group, fault.kind, fault.started_at),
        kind=fault.kind,
        severity="info" if fault.kind in _PLANNED else "warning",
        groups=[group],
        started_at=fault.started_at or None,
        ended_at=fault.ended_at,
        worst_offender=Person(None, fault.members[0], None, None, fault.kind, first=True) if len(fault.members) == 1 else None,
        headline=QueueFacts(group, 0, (), StandingQuarrel(fault.facts)),
        evidence=evidence(fault.evidence),
    )
