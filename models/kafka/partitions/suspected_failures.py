"""Brokers that must have gone although no controller's file says so: what files of brokers alone tell.

A follower that can't connect to its leader's broker, a broker that shuts down, or one that begins anew without having
stopped, each is a going. Where a controller's line tells of the same going, its line counts and not the suspicion, so
what controllers know must be known before: it comes from the cluster stage.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from models.events import Event
from models.kafka.cluster.facts import ClusterFacts

LATE_US = 180_000_000
"""A controller tells of a going within this time of the first sign: a ZooKeeper session ends after 18 s, a KRaft one after 9 s."""

EARLY_US = 10_000_000
"""... or this much before, where clocks differ."""

TRIES = 3
TRIES_WITHIN_US = 60_000_000
"""A broker whose own file is missing is taken to be gone after so many refused connections within this time."""

RESTART_WITHIN_US = 6 * 3_600_000_000
"""A refused connection belongs to the broker's next start if that is no later."""


@dataclass(slots=True)
class Suspicions:
    """What the cluster stage knows of goings, and refused connections so far."""

    told: dict[str, list[int]] = field(default_factory=dict)  # by node: when a controller tells of its going
    starts: dict[str, list[int]] = field(default_factory=dict)  # by node: when its own file says that it begins or stops
    with_file: set[str] = field(default_factory=set)  # nodes whose server.log is here
    refusals: dict[str, list[Event]] = field(default_factory=dict)  # by node: refused connections of late

    def is_told(self, node: str, at: int) -> bool:
        """Whether a controller tells of a going about this time."""
        times = self.told.get(node, ())
        place = bisect_left(times, at - EARLY_US)
        return place < len(times) and times[place] <= at + LATE_US

    def may_be_gone(self, node: str, at: int) -> bool:
        """Whether only what others show can tell that a broker has gone: it has no file here, and no controller tells of it."""
        return node not in self.with_file and not self.is_told(node, at)

    def refused_lately(self, node: str, at: int) -> Event | None:
        """The first line about this time by which a connection to a broker was refused."""
        return next((each for each in self.refusals.get(node, ()) if abs(at - each.order_us) <= TRIES_WITHIN_US), None)

    def refused(self, node: str, event: Event, at: int) -> Event | None:
        """A connection to a broker was refused: the line that its going stands on, once that is sure enough."""
        if self.is_told(node, at):
            return None
        if node in self.with_file:
            times = self.starts.get(node, ())
            place = bisect_left(times, at - EARLY_US)
            return event if place < len(times) and times[place] <= at + RESTART_WITHIN_US else None
        tries = self.refusals.setdefault(node, [])
        tries[:] = [each for each in tries if at - each.order_us <= TRIES_WITHIN_US]
        tries.append(event)
        if len(tries) < TRIES:
            return None
        first = tries[0]
        tries.clear()
        return first


def suspicions_of(facts: ClusterFacts, node_of: Mapping[str, str], ahead: Mapping[str, int] | None = None) -> Suspicions:
    """What one cluster's facts say. `node_of` names the node of a file, `ahead` tells how far (microseconds) nodes' clocks are ahead."""
    skews = ahead or {}
    found = Suspicions(with_file=set(_nodes(node_of, facts)))
    for going in facts.goings:
        teller = node_of.get(going.event.place.file, "")
        found.told.setdefault(going.node, []).append(going.at - skews.get(teller, 0))
    for times in found.told.values():
        times.sort()
    for change in facts.node_changes:
        node = change.node or node_of.get(change.event.place.file)
        if node is not None and change.kind in {"starting", "stopping", "stopped"}:
            found.starts.setdefault(node, []).append(change.at - skews.get(node, 0))
    return found


def _nodes(node_of: Mapping[str, str], facts: ClusterFacts) -> Iterable[str]:
    """Nodes that have a server.log among the files: one that says how its broker or its coordinator starts, stops or is set up."""
    for change in facts.node_changes:
        node = change.node or node_of.get(change.event.place.file)
        if node is not None:
            yield node
    for load in facts.loads:
        if load.node is not None:
            yield load.node
