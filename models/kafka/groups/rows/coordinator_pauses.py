"""Incidents of coordinators that stood still; `cluster.expiry_bursts` finds the pauses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from models.causes import Cause, RootCause
from models.evidence import evidence
from models.ids import make_id
from models.incidents.headline_facts import EpisodeFacts, PauseFacts, PauseVictims
from models.incidents.incident_rows import incident_row
from models.incidents.incidents import EXPECTED_CAUSES
from models.kafka.cluster.expiry_bursts import ExpiryBurst
from models.rows import KAFKA, Incident, Rebalance
from models.units import US_PER_SECOND

KIND = "coordinator_pause"


def bursts_behind(bursts: Sequence[ExpiryBurst], group: str, rows: Sequence[Rebalance]) -> list[ExpiryBurst]:
    """Bursts of expiries that this group tells for all.

    Those of its rebalances, also where the expiries came while one was already open: the incidents of the other groups
    rely on it.
    """
    near = [row for row in rows if row.root_cause in {None, RootCause.COORDINATOR_PAUSE}]
    return [
        burst
        for burst in bursts
        if burst.told_by == group and any(row.began - US_PER_SECOND <= burst.at <= row.over_at + US_PER_SECOND for row in near)
    ]


def pause_incident(cluster: str, burst: ExpiryBurst) -> Incident[PauseFacts]:
    """A burst of expiries as the incident of their coordinator."""
    return incident_row(
        cluster=cluster,
        system=KAFKA,
        incident_id=make_id("incident", make_id(KIND, cluster, burst.node, burst.at)),
        kind=KIND,
        severity="warning",
        groups=list(burst.groups),
        started_at=burst.at,
        ended_at=burst.until,
        root_cause=RootCause.COORDINATOR_PAUSE.value,
        headline=_facts(burst),
        evidence=evidence(burst.lines),
    )


def _facts(burst: ExpiryBurst) -> PauseFacts:
    lasted = (burst.until - burst.at) / US_PER_SECOND
    return PauseFacts(burst.node, burst.member_count, tuple(burst.groups), lasted)


def pause_effects(incident: Incident[EpisodeFacts], rows: Iterable[Rebalance], bursts: Sequence[ExpiryBurst], stuck_seconds: float) -> None:
    """Tell of a pause's consequences in one group.

    No member is to blame for them. If several groups show it, the incident of the pause itself needs attention, and of these only
    that of a group that stood still for `stuck_seconds`.
    """
    rows = list(rows)
    explained = all(row.root_cause == RootCause.COORDINATOR_PAUSE or row.cause in EXPECTED_CAUSES for row in rows)
    if incident.root_cause != RootCause.COORDINATOR_PAUSE or not explained:
        return
    failed = [row for row in rows if row.cause == Cause.SESSION_TIMEOUT]
    nodes = sorted({row.coordinator for row in failed if row.coordinator})
    victims = PauseVictims(sum(len(row.offenders) for row in failed), nodes[0] if len(nodes) == 1 else None)
    incident.headline = replace(incident.headline, story=victims, has_new_coordinator=False)
    incident.worst_offender = None
    if not any(burst.holds(incident.groups[0], row.began) for burst in bursts for row in failed):
        incident.kind = KIND
    elif incident.severity == "warning" and incident.stopped_seconds < stuck_seconds:
        incident.severity = "info"
