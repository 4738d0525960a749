"""Rows of what lines state by themselves: states, coordinators, ends, divergences.

Numbers of rows go on from those before, so that a group can drop rows that are final.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from models.clear_names import clear
from models.events import Event, logged_at, when
from models.evidence import evidence
from models.ids import make_id
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.groups.rows.offset_expiry import expiration
from models.kafka.observations.client_clocks import Skews
from models.kafka.observations.group_names import is_placeholder
from models.kafka.reconstruction.classic_log import INFERRING
from models.kafka.reconstruction.classic_states import CoordinatorRelocation, ObservedTransition, UnexpectedLine
from models.rows import KAFKA, CoordinatorMove, Divergence, GroupTransition, OffsetExpiration, Rebalance
from models.times import raised_in_order, seconds
from models.units import US_PER_SECOND


@dataclass(slots=True)
class TransitionRows:
    """Writes these rows of one group, each once."""

    cluster: str
    group: str
    facts: ClusterFacts
    _written: Counter[str] = field(default_factory=Counter)
    """Number of rows so far, by kind."""

    def _key(self, kind: str, *parts: object) -> str:
        number = self._written[kind]
        self._written[kind] += 1
        return make_id(kind, self.cluster, self.group, *parts, number)

    def transitions(self, changes: Iterable[ObservedTransition]) -> Iterator[GroupTransition]:
        """Steps of the group's state."""
        for change in changes:
            inferred = change.inferred or change.event.witness in INFERRING
            yield GroupTransition(
                self.cluster,
                KAFKA,
                self._key("transition"),
                self.group,
                change.before.value if change.before else None,
                change.after.value,
                None if change.inferred else logged_at(change.event),
                change.trigger,
                change.generation,
                change.member_count,
                change.leader,
                inferred,
                evidence([change.event], inferred=inferred),
            )

    def moves(self, moves: Iterable[CoordinatorRelocation]) -> Iterator[CoordinatorMove]:
        """Changes of the coordinator."""
        for move in moves:
            partition = move.arrived.partition if move.arrived.partition is not None else self.facts.partition_of(self.group)
            left, arrived = self.facts.handover(partition, move.from_node, move.to_node, move.arrived.time_us)
            left, arrived = move.left or left, move.arrived if arrived is None or move.arrived.name == "GroupLoaded" else arrived
            left_at, loaded_at = raised_in_order(when(left), arrived.time_us)
            yield CoordinatorMove(
                self.cluster,
                KAFKA,
                self._key("move"),
                self.group,
                partition,
                move.from_node,
                move.to_node,
                left_at,
                loaded_at,
                seconds(left_at, loaded_at),
                evidence([event for event in (left, arrived) if event is not None]),
            )

    def zones(self, skews: Skews) -> Iterator[Divergence]:
        """Logs whose events match the coordinator's but for quarter hours."""
        for (log, node), bounds in skews.other_zones():
            minutes = abs(bounds.quarters) * 15
            offset = f"{minutes // 60:02d}:{minutes % 60:02d}"
            where, client, broker = ("ahead", "east", "west") if bounds.quarters > 0 else ("behind", "west", "east")
            lines = list(bounds.zone_lines or ())
            yield Divergence(
                self.cluster,
                KAFKA,
                make_id("zone", self.cluster, self.group, log, node),
                self.group,
                lines[0].time_us if lines else None,
                f"the time zone of node {node}",
                f"{log} is {offset} {where} though its events match; its zone is likely {offset} further {client} than it was read in, "
                f"or that of the node {offset} further {broker}, see --log-tz",
                evidence(lines),
            )

    def placeholder(self, rebalances: Sequence[Rebalance]) -> Iterator[Divergence]:
        """A name that stands for any group in an anonymised excerpt."""
        if rebalances and is_placeholder(clear(self.group)):
            first = min(rebalances, key=lambda rebalance: rebalance.began)
            yield Divergence(
                self.cluster,
                KAFKA,
                make_id("placeholder", self.cluster, self.group),
                self.group,
                first.started_at,
                "the name of one group",
                f"{self.group}, which looks like a placeholder: its rebalances may be those of several groups",
                first.evidence[:1],
            )

    def expirations(self, ends: Sequence[tuple[Event | None, Event | None]], retention: float) -> Iterator[OffsetExpiration]:
        """Ends of the group, with which its offsets went.

        Since when it was empty, and the line that says that it is gone.

        Without that line, when the offsets will go.
        """
        for empty, lost_by in ends:
            key = self._key("expiration", empty.generation if empty is not None else None)
            yield expiration(self.cluster, KAFKA, key, self.group, retention, empty, lost_by)

    def findings(self, findings: Iterable[UnexpectedLine]) -> Iterator[Divergence]:
        """Lines that the model did not expect."""
        for finding in findings:
            event = finding.event
            key = self._key("divergence")
            yield Divergence(self.cluster, KAFKA, key, self.group, event.time_us, finding.expected, finding.observed, evidence([event]))

    def clocks(self, skews: Skews, gone: Container[str] | None = None) -> Iterator[Divergence]:
        """Clients whose clock differs from the coordinator's.

        What they say was put onto its clock. Of all logs, or of those that are gone: if they come back, their clocks are reported once
        more.
        """
        for (log, node), bounds in skews.proven():
            if gone is not None and log not in gone:
                continue
            lines = [event for pair in (bounds.lower_lines, bounds.upper_lines) if pair for event in pair]
            yield Divergence(
                self.cluster,
                KAFKA,
                make_id("skew", self.cluster, self.group, log, node, *([lines[0].time_us] if gone is not None else [])),
                self.group,
                lines[0].time_us,
                f"the clock of node {node}",
                f"{log} is {abs(bounds.skew) / US_PER_SECOND:.3f} s {'ahead' if bounds.skew > 0 else 'behind'}; its times were corrected",
                evidence(lines),
            )
