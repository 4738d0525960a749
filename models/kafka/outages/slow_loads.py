"""Loads of offsets partitions that took long.

Until a partition is loaded its groups have no coordinator: joins, heartbeats and commits are refused (COORDINATOR_LOAD_IN_PROGRESS).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from models.causes import RootCause
from models.evidence import evidence
from models.ids import make_id
from models.incidents.headline_facts import LoadFacts
from models.incidents.incident_rows import incident_row
from models.incidents.standing_conditions import UNAVAILABLE
from models.kafka.cluster.facts import ClusterFacts, Load
from models.rows import KAFKA, Incident
from models.tolerances import float_tolerance, int_tolerance
from models.units import US_PER_MS, US_PER_SECOND

SLOW_US = int_tolerance("kafka.slow_loads.slow_us")
"""Shortest load that needs attention."""

GAP_SECONDS = float_tolerance("kafka.slow_loads.gap_seconds")
"""Longest time between loads of one start of a broker."""

LINES_MAX = 4


def slow_load_incidents(facts: ClusterFacts) -> Iterator[Incident[LoadFacts]]:
    """One incident for each broker and the loads that follow each other closely."""
    slow = [load for load in facts.loads if load.is_loaded and _lasted(load) >= SLOW_US]
    for node in sorted({load.node or "" for load in slow}):
        for episode in _episodes([load for load in slow if (load.node or "") == node]):
            yield _incident(facts.cluster, episode)


def _lasted(load: Load) -> int:
    lasted = load.event.fields.get("duration_ms")
    return int(lasted) * US_PER_MS if isinstance(lasted, (int, float)) else 0


def _episodes(loads: Iterable[Load]) -> Iterator[Sequence[Load]]:
    episode: list[Load] = []
    for load in loads:
        if episode and load.at - _lasted(load) - episode[-1].at > GAP_SECONDS * US_PER_SECOND:
            yield episode
            episode = []
        episode.append(load)
    if episode:
        yield episode


def _incident(cluster: str, loads: Sequence[Load]) -> Incident[LoadFacts]:
    first = min(loads, key=lambda load: load.at - _lasted(load))
    partitions = sorted({load.partition for load in loads})
    return incident_row(
        cluster=cluster,
        system=KAFKA,
        incident_id=make_id("incident", make_id("slow load", cluster, loads[0].node, loads[0].at)),
        kind=UNAVAILABLE,
        severity="warning",
        started_at=first.at - _lasted(first),
        ended_at=loads[-1].at,
        root_cause=RootCause.COORDINATOR_FAILOVER.value,
        headline=LoadFacts(loads[0].node, tuple(partitions), max(map(_lasted, loads)) / US_PER_SECOND),
        evidence=evidence([load.event for load in loads[:LINES_MAX]]),
    )
