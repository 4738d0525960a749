"""Up to a time, what was known of a cluster: states of groups' replays rest on it, and hold while it is the same."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from models.cluster import ClusterFacts, event_time

_TIMED = ("loads", "takeovers", "topic_changes", "node_changes", "goings")
_IN_FORCE = ("initial_delay_ms", "session_timeout_ms", "rebalance_timeout_ms", "offsets_partitions", "offsets_retention_seconds")
_DIGEST_BYTES = 10


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """Fingerprints of what judging a group's rebalances may ask for, one for each time (microseconds) that something is of.

    All is written out once, in order of time: a cluster has as many states as groups, and each asks for a time of its own.
    """

    times: list[int]
    fingerprints: list[str]
    """The first one is of what counts whenever it was told; each other one of what there is up to the time before it, too."""

    def until(self, at: int) -> str:
        """Fingerprint of what is of no later time than `at`.

        Where two states of facts agree in this, so do verdicts on what was over some time before. What is asked for when a
        history is finished is not in it.
        """
        return self.fingerprints[bisect_right(self.times, at)]


def known_facts(facts: ClusterFacts) -> KnownFacts:
    """What is known of a cluster, by time."""
    digest = blake2b(repr([(name, getattr(facts, name)) for name in _IN_FORCE]).encode(), digest_size=_DIGEST_BYTES)
    times, fingerprints = list[int](), [digest.hexdigest()]
    for at, kind, told in sorted(_timed(facts), key=lambda each: each[:2]):
        text = repr((kind, told)).encode()
        digest.update(len(text).to_bytes(8, "big"))
        digest.update(text)
        times.append(at)
        fingerprints.append(digest.hexdigest())
    return KnownFacts(times, fingerprints)


def _timed(facts: ClusterFacts) -> Iterator[tuple[int, str, object]]:
    """Each fact that is of a time, with that and its kind."""
    for name in _TIMED:
        yield from ((each.at, name, each) for each in getattr(facts, name))
    for name in ("leaders_replaced", "kept"):
        yield from ((event_time(event), name, event) for event in getattr(facts, name))
    yield from ((each[0], "deletions", each) for each in facts.deletions)
    for group, events in sorted(facts.strays.items()):
        yield from ((event.order_us, f"strays {group}", event) for event in events)
