"""Departures inferred from brokers' files, without a controller's file.

A follower that can't connect to its leader's broker, a broker that shuts down, and one that starts without having
stopped are each evidence of a departure. A controller's line about the same departure takes precedence, so controllers'
lines must be read first; they come from the cluster stage.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from models.events import Event
from models.kafka.cluster.facts import ClusterFacts
from models.tolerances import int_tolerance

LATE_US = int_tolerance("kafka.suspected_failures.late_us")
"""Maximum delay of a controller's line after the first sign.

A ZooKeeper session ends after 18 s, a KRaft session after 9 s.
"""

EARLY_US = int_tolerance("kafka.suspected_failures.early_us")
"""Maximum time that it may precede the sign if clocks differ."""

TRIES = 3
TRIES_WITHIN_US = int_tolerance("kafka.suspected_failures.tries_within_us")
"""Time for TRIES refused connections that prove a departure without a file."""

RESTART_WITHIN_US = int_tolerance("kafka.suspected_failures.restart_within_us")
"""Maximum time from a refused connection to the broker's next start."""


@dataclass(slots=True)
class SuspectedFailures:
    """Known departures from the cluster stage, and refused connections so far."""

    reported_departures: dict[str, list[int]] = field(default_factory=dict)  # by node: times at which a controller saw it leave
    starts: dict[str, list[int]] = field(default_factory=dict)  # by node: times at which its own file shows a start or stop
    with_file: set[str] = field(default_factory=set)  # nodes with a server.log in the input
    refusals: dict[str, list[Event]] = field(default_factory=dict)  # by node: recent refused connections

    def is_reported(self, node: str, at: int) -> bool:
        """Whether a controller reports a departure at about this time."""
        times = self.reported_departures.get(node, ())
        place = bisect_left(times, at - EARLY_US)
        return place < len(times) and times[place] <= at + LATE_US

    def may_be_gone(self, node: str, at: int) -> bool:
        """Whether a departure can only be inferred from other nodes.

        True if the broker has no file here and no controller reports it.
        """
        return node not in self.with_file and not self.is_reported(node, at)

    def refused_lately(self, node: str, at: int) -> Event | None:
        """First refused connection to a broker at about this time."""
        return next((refusal for refusal in self.refusals.get(node, ()) if abs(at - refusal.order_us) <= TRIES_WITHIN_US), None)

    def refused(self, node: str, event: Event, at: int, *, is_watched: bool = True) -> Event | None:
        """Record a refused connection.

        Returns the line that proves a departure, None while there is too little evidence. `is_watched`: there is a controller, which
        would tell itself.
        """
        if is_watched and self.is_reported(node, at):
            return None
        if node in self.with_file:
            times = self.starts.get(node, ())
            place = bisect_left(times, at - EARLY_US)
            return event if place < len(times) and times[place] <= at + RESTART_WITHIN_US else None
        tries = self.refusals.setdefault(node, [])
        tries[:] = [refusal for refusal in tries if at - refusal.order_us <= TRIES_WITHIN_US]
        tries.append(event)
        if len(tries) < TRIES:
            return None
        first = tries[0]
        tries.clear()
        return first


def suspicions_of(facts: ClusterFacts, node_of: Mapping[str, str], ahead: Mapping[str, int] | None = None) -> SuspectedFailures:
    """Collect departures and starts from a cluster's facts.

    `node_of` gives the node of a file; `ahead` gives clock differences in microseconds.
    """
    skews = ahead or {}
    suspicions = SuspectedFailures(with_file=set(_nodes(node_of, facts)))
    for departure in facts.departures:
        teller = node_of.get(departure.event.place.file, "")
        suspicions.reported_departures.setdefault(departure.node, []).append(departure.at - skews.get(teller, 0))
    for times in suspicions.reported_departures.values():
        times.sort()
    for change in facts.node_changes:
        node = change.node or node_of.get(change.event.place.file)
        if node is not None and change.kind in {"starting", "stopping", "stopped"}:
            suspicions.starts.setdefault(node, []).append(change.at - skews.get(node, 0))
    return suspicions


def _nodes(node_of: Mapping[str, str], facts: ClusterFacts) -> Iterable[str]:
    """Nodes with a server.log, which has starts, stops or settings."""
    for change in facts.node_changes:
        node = change.node or node_of.get(change.event.place.file)
        if node is not None:
            yield node
    for load in facts.loads:
        if load.node is not None:
            yield load.node
