"""Fingerprints of topic readers and related rebalances up to a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from models.kafka.outages.affected_groups import Readers
from models.time_fingerprints import TimedFact, TimeFingerprints


@dataclass(frozen=True, slots=True)
class ReaderFingerprints(TimeFingerprints):
    """Fingerprints of the group facts that outages depend on."""


def fingerprint_readers(readers: Readers) -> ReaderFingerprints:
    """Fingerprints of a cluster's readers, by time; it may have none."""
    return ReaderFingerprints.from_facts((), _timed(readers))


def _timed(readers: Readers) -> Iterator[TimedFact]:
    """Facts with their times, in an order independent of the input.

    Times are part of them, because outages ask since when a group reads a topic.
    """
    for topic, groups in sorted(readers.by_topic.items()):
        yield from ((at, "topic", (topic, group, at)) for group, at in sorted(groups.items()))
    for partition, groups in sorted(readers.by_offsets_partition.items()):
        yield from ((at, "offsets partition", (partition, group, at)) for group, at in sorted(groups.items()))
    yield from ((rebalance.started_at, "following", rebalance) for rebalance in sorted(readers.following))
