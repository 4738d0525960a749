"""Topology of a streams application, and whether its topics are ready.

Source: 4.1 to 4.4, InternalTopicManager.java, RepartitionTopics.java, ChangelogTopics.java. Copartitioned topics are
not compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class Status(IntEnum):
    """Status codes of a response (StreamsGroupHeartbeatResponse.Status)."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


@dataclass(frozen=True, slots=True)
class Subtopology:
    """Part of a topology whose tasks are independent of other parts."""

    id: str
    sources: tuple[str, ...] = ()
    repartition_sources: Mapping[str, int] = field(default_factory=dict)
    """Internal topics that it reads, with partition counts; 0: to be decided."""
    repartition_sinks: tuple[str, ...] = ()
    changelogs: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Topics that it reads."""
        return (*self.sources, *self.repartition_sources)


@dataclass(frozen=True, slots=True)
class Topology:
    """Topology of a client's application; a group keeps the first."""

    epoch: int
    subtopologies: tuple[Subtopology, ...]

    @property
    def topics(self) -> frozenset[str]:
        """Topics that the tasks need (requiredTopics)."""
        return frozenset(topic for part in self.subtopologies for topic in (*part.inputs, *part.changelogs))


@dataclass(frozen=True, slots=True)
class ConfiguredTopology:
    """A topology compared with the topics that exist.

    `sizes` are the numbers of tasks by subtopology, `missing` the partition counts of topics to be created.
    """

    epoch: int
    sizes: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    problem: Status | None = None

    @property
    def is_ready(self) -> bool:
        """Whether tasks can be assigned."""
        return self.problem is None


def configure(topology: Topology, topics: Mapping[str, int]) -> ConfiguredTopology:
    """Compare a topology with the topics that exist (configureTopics)."""
    parts = topology.subtopologies
    if any(source not in topics for part in parts for source in part.sources):
        return ConfiguredTopology(topology.epoch, problem=Status.MISSING_SOURCE_TOPICS)
    decided = _repartition_counts(parts, topics)
    sizes = {part.id: max(topics.get(topic, decided.get(topic, 0)) for topic in part.inputs) for part in parts}
    wanted = {topic: decided[topic] for part in parts for topic in part.repartition_sources}
    wanted |= {topic: sizes[part.id] for part in parts for topic in part.changelogs}
    if any(topics.get(topic, count) != count for topic, count in wanted.items()):
        return ConfiguredTopology(topology.epoch, problem=Status.INCORRECTLY_PARTITIONED_TOPICS)
    missing = {topic: count for topic, count in wanted.items() if topic not in topics}
    return ConfiguredTopology(topology.epoch, sizes, missing, Status.MISSING_INTERNAL_TOPICS if missing else None)


def _repartition_counts(parts: tuple[Subtopology, ...], topics: Mapping[str, int]) -> dict[str, int]:
    """Partition counts of internal topics, the most of their inputs."""
    counts = {topic: count for part in parts for topic, count in part.repartition_sources.items() if count}
    for _ in parts:
        for part in parts:
            known = [counts[topic] for topic in part.repartition_sources if topic in counts]
            known += [topics[topic] for topic in part.sources]
            for sink in part.repartition_sinks:
                if known and sink not in counts:
                    counts[sink] = max(known)
    return counts
