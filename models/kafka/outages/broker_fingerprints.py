"""Fingerprints of brokers' departures, starts and files up to a time.

A replay of outages depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.kafka.cluster.facts import ClusterFacts
from models.kafka.partitions.suspected_failures import LATE_US, RESTART_WITHIN_US, suspicions_of
from models.time_fingerprints import TimedFact, TimeFingerprints


@dataclass(frozen=True, slots=True)
class DepartureFingerprints:
    """Fingerprints of a cluster's knowledge about broker departures."""

    by_controller: TimeFingerprints
    """Departures reported by a controller."""
    starts: TimeFingerprints
    """Starts and stops in brokers' own files, and which brokers have files."""

    def until(self, at: int) -> str:
        """Fingerprint of everything that lines up to a time depend on."""
        return f"{self.by_controller.until(at + LATE_US)} {self.starts.until(at + RESTART_WITHIN_US)}"


def fingerprint_departures(facts: ClusterFacts, node_of: Mapping[str, str]) -> DepartureFingerprints:
    """Fingerprints of a cluster's brokers, by time."""
    suspicions = suspicions_of(facts, node_of)
    fingerprints = TimeFingerprints.from_facts((), _timed(suspicions.reported_departures))
    return DepartureFingerprints(fingerprints, TimeFingerprints.from_facts(sorted(suspicions.with_file), _timed(suspicions.starts)))


def _timed(known: Mapping[str, list[int]]) -> Iterator[TimedFact]:
    return ((at, node, at) for node, times in sorted(known.items()) for at in sorted(times))
