"""Fingerprints of the facts about a cluster known by a time.

Checkpoints of groups depend on them, and are valid while they are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from models.kafka.cluster.facts import ClusterFacts
from models.time_fingerprints import TimedFact, TimeFingerprints

_TIMED = ("loads", "takeovers", "topic_changes", "node_changes", "departures", "damaged", "expiry_bursts")
_IN_FORCE = (
    "initial_delay_ms",
    "session_timeout_ms",
    "protocol_sessions_ms",
    "rebalance_timeout_ms",
    "offsets_partitions",
    "offsets_retention_seconds",
)


@dataclass(frozen=True, slots=True)
class FactFingerprints(TimeFingerprints):
    """Fingerprints of facts used to rank causes of a group's rebalances.

    If two versions of the facts agree up to a time, so do the verdicts on rebalances that ended a fixed lag before.
    Facts used only at the end of a history are not included.
    """


def fingerprint_facts(facts: ClusterFacts) -> FactFingerprints:
    """Fingerprints of a cluster's facts, by time."""
    in_force = [(name, getattr(facts, name)) for name in _IN_FORCE]
    return FactFingerprints.from_facts([*in_force, ("capped", sorted(facts.capped.items(), key=lambda item: item[0]))], _timed(facts))


def _timed(facts: ClusterFacts) -> Iterator[TimedFact]:
    """All facts with a time, each with its time and kind."""
    for name in _TIMED:
        yield from ((fact.at, name, fact) for fact in getattr(facts, name))
    for name in ("leaders_replaced", "kept", "expiries"):
        yield from ((event.time_us, name, event) for event in getattr(facts, name))
    yield from ((deletion[0], "deletions", deletion) for deletion in facts.deletions)
    for group, events in sorted(facts.attributed_events.items()):
        yield from ((event.order_us, f"events_without_group {group}", event) for event in events)
