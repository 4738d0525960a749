"""Infers a coordinator's pauses from sessions of several groups ending together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from models.causes import Cause, RootCause
from models.durations import spell
from models.evidence import evidence
from models.ids import make_id
from models.incidents.incidents import EXPECTED_CAUSES
from models.kafka.cluster.expiry_bursts import ExpiryBurst
from models.rows import KAFKA, Incident, Rebalance
from models.units import US_PER_SECOND

KIND = "coordinator_pause"

NAMES_MAX = 5


def told_bursts(bursts: Sequence[ExpiryBurst], group: str, rows: Sequence[Rebalance]) -> list[ExpiryBurst]:
    """Bursts that this group tells of, which are those of these rebalances."""
    times = {row.began for row in rows if row.root_cause == RootCause.COORDINATOR_PAUSE}
    return [burst for burst in bursts if burst.told_by == group and any(abs(burst.at - at) <= US_PER_SECOND for at in times)]


def pause_incident(cluster: str, burst: ExpiryBurst) -> Incident:
    """A burst of expiries as the incident of their coordinator."""
    return Incident(
        cluster=cluster,
        system=KAFKA,
        incident_id=make_id("incident", make_id(KIND, cluster, burst.node, burst.at)),
        kind=KIND,
        severity="warning",
        groups=list(burst.groups),
        started_at=burst.at - int((burst.quiet_seconds or 0) * US_PER_SECOND),
        ended_at=burst.until,
        rebalance_count=0,
        stopped_seconds=0.0,
        root_cause=RootCause.COORDINATOR_PAUSE.value,
        worst_offender=None,
        headline=_headline(burst),
        rebalance_ids=[],
        outage_ids=[],
        evidence=evidence(burst.lines),
    )


def _headline(burst: ExpiryBurst) -> str:
    who = f"broker {burst.node}" if burst.node is not None else "a coordinator"
    names = ", ".join(burst.groups[:NAMES_MAX]) + (f" and {len(burst.groups) - NAMES_MAX} more" if len(burst.groups) > NAMES_MAX else "")
    members = f"{burst.member_count} members of {len(burst.groups)} groups ({names}) missed their session timeout"
    together = spell((burst.until - burst.at) / US_PER_SECOND)
    if burst.quiet_seconds is None:
        return f"{who} most likely stood still, or nothing reached it: {members} within {together}"
    return f"{who} stood still and wrote nothing for {spell(burst.quiet_seconds)}; then {members} within {together}"


def soften(incident: Incident, rows: Iterable[Rebalance], stuck_seconds: float) -> None:
    """Lower the severity of what a pause did to one group.

    The incident of the pause itself needs attention, and so does a group that stood still for `stuck_seconds`.
    """
    rows = list(rows)
    explained = all(row.root_cause == RootCause.COORDINATOR_PAUSE or row.cause in EXPECTED_CAUSES for row in rows)
    if incident.root_cause != RootCause.COORDINATOR_PAUSE or not explained:
        return
    failed = [row for row in rows if row.cause == Cause.SESSION_TIMEOUT]
    nodes = sorted({row.coordinator for row in failed if row.coordinator})
    who = f"broker {nodes[0]}" if len(nodes) == 1 else "its coordinator"
    members = sum(len(row.offenders) for row in failed)
    first, _, _ = incident.headline.partition("; ")
    incident.headline = f"{first}; {members} member{'s' if members != 1 else ''} expired when {who} stood still"
    if incident.severity == "warning" and incident.stopped_seconds < stuck_seconds:
        incident.severity = "info"
