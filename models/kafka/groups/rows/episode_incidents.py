"""Incidents of a group's episodes: their rebalances and what caused them."""

from __future__ import annotations

from collections.abc import Sequence

from models.incidents.episodes import EPISODE_GAP_SECONDS, SCALING_GAP_SECONDS, episodes
from models.incidents.incidents import Limits, find_incidents, mark_rolling_restarts
from models.kafka.cluster.facts import BrokerDeparture, ClusterFacts
from models.kafka.groups.rows.coordinator_moves import move_incident, quiet_moves
from models.kafka.groups.rows.coordinator_pauses import bursts_behind, pause_effects, pause_incident
from models.kafka.outages.outage_incidents import point_to_outages
from models.kafka.verdicts.history import GroupHistory
from models.rows import RebalanceMember
from models.units import US_PER_SECOND


def gap_us(limits: Limits) -> int:
    """Gap between two episodes (microseconds)."""
    return int(max(limits.episode_gap_seconds, EPISODE_GAP_SECONDS) * US_PER_SECOND)


def apart_us(limits: Limits) -> int:
    """Gap after which nothing more belongs to an incident (microseconds)."""
    return max(gap_us(limits), int(SCALING_GAP_SECONDS * US_PER_SECOND))


def add_incidents(
    cluster: str, group: str, rows: GroupHistory, facts: ClusterFacts, limits: Limits, departures: Sequence[BrokerDeparture]
) -> None:
    """Sort the rebalances and add the incidents that they form.

    `departures` are departures of brokers that may have caused some.
    """
    rows.rebalances.sort(key=lambda row: (row.began, row.generation_before or 0))
    mark_rolling_restarts(rows.rebalances)
    point_to_outages(rows.rebalances, departures, rows.coordinator_moves)
    members_of: dict[str, list[RebalanceMember]] = {}
    for member in rows.rebalance_members:
        members_of.setdefault(member.rebalance_id, []).append(member)
    for episode in episodes(rows.rebalances, apart_us(limits) / US_PER_SECOND):
        members = [member for row in episode for member in members_of.get(row.rebalance_id, ())]
        incidents = find_incidents(episode, limits, members)
        for incident in incidents:
            pause_effects(incident, episode, facts.expiry_bursts, limits.stuck_seconds)
        rows.incidents.extend(incidents)
    moves = quiet_moves(rows.coordinator_moves, rows.rebalances, departures)
    rows.incidents.extend(move_incident(move, limits.stuck_seconds) for move in moves)
    if facts.expiry_bursts:
        rows.incidents.extend(pause_incident(cluster, burst) for burst in bursts_behind(facts.expiry_bursts, group, rows.rebalances))
