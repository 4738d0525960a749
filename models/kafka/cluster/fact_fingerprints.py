"""Up to a time, what was known of a cluster: states of groups' replays rest on it, and hold while it is the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from models.kafka.cluster.facts import ClusterFacts
from models.time_fingerprints import KnownByTime, Told

_TIMED = ("loads", "takeovers", "topic_changes", "node_changes", "goings")
_IN_FORCE = ("initial_delay_ms", "session_timeout_ms", "rebalance_timeout_ms", "offsets_partitions", "offsets_retention_seconds")


@dataclass(frozen=True, slots=True)
class KnownFacts(KnownByTime):
    """Fingerprints of what judging a group's rebalances may ask for.

    Where two states of facts agree in what was known until a time, so do verdicts on what was over some time before. What is asked
    for when a history is finished is not in it.
    """


def known_facts(facts: ClusterFacts) -> KnownFacts:
    """What is known of a cluster, by time."""
    return KnownFacts.of([(name, getattr(facts, name)) for name in _IN_FORCE], _timed(facts))


def _timed(facts: ClusterFacts) -> Iterator[Told]:
    """Each fact that is of a time, with that and its kind."""
    for name in _TIMED:
        yield from ((each.at, name, each) for each in getattr(facts, name))
    for name in ("leaders_replaced", "kept"):
        yield from ((event.time_us, name, event) for event in getattr(facts, name))
    yield from ((each[0], "deletions", each) for each in facts.deletions)
    for group, events in sorted(facts.strays.items()):
        yield from ((event.order_us, f"strays {group}", event) for event in events)
