"""Up to a time, what was known of who reads what, and of the rebalances that outages may name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from models.kafka.outages.affected_groups import Readers
from models.time_fingerprints import KnownByTime, Told


@dataclass(frozen=True, slots=True)
class KnownReaders(KnownByTime):
    """Fingerprints of what outages may ask for of the groups of their cluster."""


def known_readers(readers: Readers) -> KnownReaders:
    """What is known of a cluster's readers, by time; of one that has none, too."""
    return KnownReaders.of((), _timed(readers))


def _timed(readers: Readers) -> Iterator[Told]:
    """In an order that doesn't depend on that in which lines were noted, and with times: since when is asked for, too."""
    for topic, groups in sorted(readers.by_topic.items()):
        yield from ((at, "topic", (topic, group, at)) for group, at in sorted(groups.items()))
    for partition, groups in sorted(readers.by_offsets_partition.items()):
        yield from ((at, "offsets partition", (partition, group, at)) for group, at in sorted(groups.items()))
    yield from ((each.started_at, "following", each) for each in sorted(readers.following))
