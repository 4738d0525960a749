"""Up to a time, what was known of brokers that go, start and have files: what a replay of outages asks of its cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.kafka.cluster.facts import ClusterFacts
from models.kafka.partitions.suspected_failures import LATE_US, RESTART_WITHIN_US, suspicions_of
from models.time_fingerprints import KnownByTime, Told


@dataclass(frozen=True, slots=True)
class KnownGoings:
    """Fingerprints of what the lines of one cluster's outages are read with."""

    told: KnownByTime
    """Goings that a controller tells of."""
    starts: KnownByTime
    """When brokers' own files say that they begin or stop; and which brokers have files, whenever a line tells it."""

    def until(self, at: int) -> str:
        """Fingerprint of what lines up to a time are read with."""
        return f"{self.told.until(at + LATE_US)} {self.starts.until(at + RESTART_WITHIN_US)}"


def known_goings(facts: ClusterFacts, node_of: Mapping[str, str]) -> KnownGoings:
    """What is known of a cluster's brokers, by time."""
    found = suspicions_of(facts, node_of)
    return KnownGoings(KnownByTime.of((), _timed(found.told)), KnownByTime.of(sorted(found.with_file), _timed(found.starts)))


def _timed(known: Mapping[str, list[int]]) -> Iterator[Told]:
    return ((at, node, at) for node, times in sorted(known.items()) for at in sorted(times))
