"""Replay of a cluster's outages from events in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from models.events import Event
from models.incidents.incidents import EPISODE_GAP_SECONDS
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.outages.affected_groups import Readers
from models.kafka.outages.outage_stage import Outages, OutageStage
from models.kafka.partitions.broker_clocks import clocks_of


def replay_outages(
    cluster: str,
    events: Sequence[Event],
    node_of: Mapping[str, str] | None = None,
    facts: ClusterFacts | None = None,
    readers: Readers | None = None,
    gap_seconds: float = EPISODE_GAP_SECONDS,
) -> Outages:
    """Replay the events of one cluster.

    Events must be ordered by (`order_us`, file, byte offset).
    """
    skews = clocks_of(events, node_of or {}).skews()
    stage = OutageStage(cluster, facts or ClusterFacts(cluster), node_of or {}, readers or Readers(), gap_seconds, skews)
    for event in stage.in_order(events):
        stage.feed(event)
    return stage.close()
