"""Replays one group in one go, as tests and benchmarks want it."""

from __future__ import annotations

from collections.abc import Iterable

from models.events import Event
from models.incidents.incidents import Limits
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.groups.group_memory import GroupMemory
from models.kafka.groups.group_stage import GroupStage
from models.kafka.verdicts.history import GroupHistory


def replay_group(cluster: str, group: str, events: Iterable[Event], facts: ClusterFacts, limits: Limits | None = None) -> GroupHistory:
    """Replay one group by its own events, ordered by (`order_us`, file, byte offset)."""
    stage = GroupStage(GroupMemory(cluster, group, facts, limits or Limits()))
    for event in events:
        stage.feed(event)
    return stage.close()
