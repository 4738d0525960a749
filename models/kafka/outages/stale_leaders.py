"""Brokers that lead partitions by a state that ZooKeeper no longer has.

A broker whose session ended and came back may not learn that it leads no more. It asks for changes of in-sync replicas in vain, and
followers and clients of the partition's true leader do not hear of it (KAFKA-2729).
"""

from __future__ import annotations

from collections.abc import Iterator

from models.evidence import evidence
from models.ids import make_id
from models.incidents.headline_facts import StaleLeaderFacts
from models.incidents.incident_rows import incident_row
from models.kafka.cluster.facts import ClusterFacts
from models.rows import KAFKA, Incident
from models.tolerances import int_tolerance
from models.units import US_PER_SECOND

STALE_LEADER = "stale_leader"

STALE_LINES_MAX = 4

STALE_LASTING_US = int_tolerance("kafka.stale_leaders.lasting_us")
"""Minimum time between a partition's refusals that shows an outdated state."""


def stale_leader_incidents(facts: ClusterFacts) -> Iterator[Incident[StaleLeaderFacts]]:
    """One incident for each broker to which changes were refused.

    What is refused once may have met a change that the controller made then.
    """
    for node, partitions in sorted(facts.stale_changes.by_broker.items()):
        lasting = [(first, last) for first, last in partitions.values() if last.time_us - first.time_us >= STALE_LASTING_US]
        stretches = sorted(lasting or partitions.values(), key=lambda lines: lines[0].time_us)
        started_at, ended_at = stretches[0][0].time_us, max(last.time_us for _, last in stretches)
        lines = {(line.place.file, line.place.byte_offset): line for stretch in stretches for line in stretch}
        yield incident_row(
            cluster=facts.cluster,
            system=KAFKA,
            incident_id=make_id("incident", make_id("stale leader", facts.cluster, node)),
            kind=STALE_LEADER,
            severity="critical" if lasting else "info",
            started_at=started_at,
            ended_at=ended_at,
            headline=StaleLeaderFacts(node or None, len(stretches), (ended_at - started_at) / US_PER_SECOND, is_lasting=bool(lasting)),
            evidence=evidence([*lines.values()][:STALE_LINES_MAX]),
        )
