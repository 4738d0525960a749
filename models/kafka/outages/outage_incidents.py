"""Outages as incidents, and links between rebalances and broker departures."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from models.causes import Cause, RootCause
from models.evidence import evidence
from models.ids import make_id
from models.incidents.headline_facts import AbsenceFacts, LossConsequences, OutageFacts
from models.incidents.incident_rows import incident_row
from models.kafka.cluster.facts import BrokerDeparture, ClusterFacts
from models.kafka.outages.affected_groups import Readers, RebalanceAfterOutage
from models.kafka.partitions.brokers import Brokers
from models.kafka.partitions.event_fields import OFFSETS_TOPIC
from models.rows import BrokerOutage, CoordinatorMove, Incident, LeaderMove, PartitionOutage, Rebalance
from models.times import first_known
from models.tolerances import float_tolerance, int_tolerance
from models.units import US_PER_SECOND

TAKEOVER_US = int_tolerance("kafka.incidents.takeover_us")
"""Maximum time from a departure to the rebalances that it causes.

It covers a session, a load and a client's patience.
"""

CLOCKS_US = int_tolerance("kafka.incidents.clocks_us")
"""Maximum difference between a coordinator's and the controller's clock."""

_LASTING_US = int_tolerance("kafka.incidents.lasting_us")
"""Duration after which an outage no longer extends an incident."""

BRIEF_SECONDS = float_tolerance("kafka.incidents.brief_seconds")
"""Vacancies shorter than this are takeovers, which clients notice as a retry."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A broker's departure, with the groups that lost their coordinator.

    `at` is in microseconds; `groups` is None if no line shows the coordinators.
    """

    node: str
    at: int
    groups: frozenset[str] | None


def losses_of(
    brokers: Brokers,
    moves: Iterable[LeaderMove],
    outages: Iterable[PartitionOutage],
    readers: Readers,
    until: int | None = None,
    *,
    is_told: bool = False,
) -> list[Loss]:
    """Departures of brokers, with the groups whose offsets partitions they led.

    Only groups known by `until` count. `is_told` says that some line names the leaders of offsets partitions, even if none
    of `moves` and `outages` does.
    """
    spans_by_cause: dict[str, list[tuple[int, int]]] = {}
    for move in moves:
        if move.topic == OFFSETS_TOPIC and move.from_node is not None and move.moved_at is not None:
            spans_by_cause.setdefault(move.from_node, []).append((move.moved_at, move.partition))
    for row in outages:
        if row.topic == OFFSETS_TOPIC and row.leader_before is not None and row.offline_at is not None:
            spans_by_cause.setdefault(row.leader_before, []).append((row.offline_at, row.partition))
    losses = []
    for absence in brokers.all():
        if absence.down_at is not None:
            near = [partition for at, partition in spans_by_cause.get(absence.node, ()) if abs(at - absence.down_at) <= TAKEOVER_US]
            groups = frozenset(group for partition in near for group in readers.blocked_groups(OFFSETS_TOPIC, partition, until))
            losses.append(Loss(absence.node, absence.down_at, groups if spans_by_cause or is_told else None))
    return losses


def outage_incidents(
    outages: Sequence[PartitionOutage], gap_seconds: float, losses: Sequence[Loss] = (), following: Sequence[RebalanceAfterOutage] = ()
) -> list[Incident[OutageFacts]]:
    """Combine outages that follow each other closely into incidents.

    An incident names the groups that lost their coordinator with these brokers, and the rebalances that followed, in order
    of time.
    """
    return [
        _with_consequences(_incident(episode), {node for row in episode for node in row.lost_brokers}, losses, following)
        for episode, _ in outage_episodes(outages, gap_seconds)
    ]


def takeover_incidents(
    absences: Sequence[BrokerOutage],
    moves: Sequence[LeaderMove],
    gap_seconds: float,
    losses: Sequence[Loss] = (),
    following: Sequence[RebalanceAfterOutage] = (),
) -> list[Incident[AbsenceFacts]]:
    """Combine `harmless` departures into incidents.

    Other brokers took over in time, so no partition was without a leader.
    """
    return [
        _with_consequences(_takeover(episode, moves), {row.node for row in episode}, losses, following)
        for episode, _ in takeover_episodes(absences, gap_seconds)
    ]


def harmless(absences: Iterable[BrokerOutage], outages: Sequence[PartitionOutage]) -> list[BrokerOutage]:
    """Outages of brokers that left no partition without a leader."""
    return [row for row in absences if row.down_at is not None and not any(stands_behind(row, outage) for outage in outages)]


def stands_behind(row: BrokerOutage, outage: PartitionOutage) -> bool:
    """Whether a partition lost its leader because of a broker's departure."""
    down = row.down_at or 0
    return row.node in outage.lost_brokers and down - TAKEOVER_US <= _began(outage) and (row.up_at is None or _began(outage) <= row.up_at)


def takeover_episodes(absences: Iterable[BrokerOutage], gap_seconds: float) -> Iterator[tuple[list[BrokerOutage], int]]:
    """Group broker outages separated by no more than the gap.

    Yields each episode in order of time, with its last known time.
    """
    episode: list[BrokerOutage] = []
    over = 0
    for row in sorted(absences, key=lambda row: (row.down_at or 0, row.node)):
        down = row.down_at or 0
        if episode and down - over > gap_seconds * US_PER_SECOND:
            yield episode, over
            episode = []
        episode.append(row)
        over = max(over, row.up_at if row.up_at is not None else down)
    if episode:
        yield episode, over


def _takeover(rows: list[BrokerOutage], moves: Iterable[LeaderMove]) -> Incident[AbsenceFacts]:
    first = rows[0]
    ends = [row.up_at for row in rows if row.up_at is not None]
    moved = sum(any(_has_left_with(row, move) for row in rows) for move in moves)
    return incident_row(
        cluster=first.cluster,
        system=first.system,
        incident_id=make_id("incident", first.broker_outage_id),
        kind="broker_outage",
        severity="info" if all(row.shutdown_kind == "controlled" for row in rows) else "warning",
        started_at=first.down_at,
        ended_at=max(ends) if len(ends) == len(rows) else None,
        root_cause=RootCause.BROKER_OUTAGE.value,
        headline=_absence_facts(rows, moved),
        outage_ids=[row.broker_outage_id for row in rows],
    )


def _has_left_with(row: BrokerOutage, move: LeaderMove) -> bool:
    return move.from_node == row.node and move.moved_at is not None and 0 <= move.moved_at - (row.down_at or 0) + CLOCKS_US <= TAKEOVER_US


def _absence_facts(rows: Sequence[BrokerOutage], moved: int) -> AbsenceFacts:
    kinds = {row.shutdown_kind for row in rows}
    last = {row.node: row for row in sorted(rows, key=lambda row: row.down_at or 0)}
    back = _in_number_order(node for node, row in last.items() if row.up_at is not None)
    return AbsenceFacts(
        brokers=_in_number_order(last),
        back=back,
        shutdown_kind=kinds.pop() if len(kinds) == 1 else None,
        longest_seconds=_longest(row for row in rows if row.node in back) if back else None,
        moved_leaderships=moved,
    )


def _longest(rows: Iterable[BrokerOutage]) -> float:
    return max((row.up_at - row.down_at) / US_PER_SECOND for row in rows if row.up_at is not None and row.down_at is not None)


_Facts = TypeVar("_Facts", OutageFacts, AbsenceFacts)


def _with_consequences(
    incident: Incident[_Facts], nodes: Collection[str], losses: Sequence[Loss], following: Sequence[RebalanceAfterOutage]
) -> Incident[_Facts]:
    first = incident.started_at or 0
    behind = [
        loss
        for loss in losses
        if loss.node in nodes and first - TAKEOVER_US <= loss.at and (incident.ended_at is None or loss.at <= incident.ended_at)
    ]
    moved: set[str] = {group for loss in behind for group in loss.groups or ()}
    near = range(
        bisect_left(following, min((loss.at for loss in behind), default=0) - CLOCKS_US, key=lambda rebalance: rebalance.started_at),
        bisect_right(following, max((loss.at for loss in behind), default=0) + TAKEOVER_US, key=lambda rebalance: rebalance.started_at),
    )
    followed: list[RebalanceAfterOutage] = [following[index] for index in near if any(_follows(following[index], loss) for loss in behind)]
    incident.groups = sorted({*incident.groups, *moved, *(rebalance.group for rebalance in followed)})
    incident.rebalance_ids = [rebalance.rebalance_id for rebalance in followed]
    incident.rebalance_count = len(followed)
    incident.headline = replace(incident.headline, consequences=LossConsequences(len(moved), len(followed)))
    return incident


def _follows(rebalance: RebalanceAfterOutage, loss: Loss) -> bool:
    return (loss.groups is None or rebalance.group in loss.groups) and -CLOCKS_US <= rebalance.started_at - loss.at <= TAKEOVER_US


def _began(row: PartitionOutage) -> int:
    return first_known(row.offline_at, row.online_at)


def joins_until(row: PartitionOutage) -> int:
    """Time until which an outage joins later ones to its episode.

    Its end, or LASTING_US after its beginning if that is earlier.
    """
    lasting = _began(row) + _LASTING_US
    return lasting if row.online_at is None else min(row.online_at, lasting)


def outage_episodes(outages: Iterable[PartitionOutage], gap_seconds: float) -> Iterator[tuple[list[PartitionOutage], int]]:
    """Group outages separated by no more than the gap.

    Yields each episode in order of time, with its end.
    """
    episode: list[PartitionOutage] = []
    over = 0
    for row in sorted(outages, key=lambda row: (_began(row), row.topic, row.partition)):
        if episode and _began(row) - over > gap_seconds * US_PER_SECOND:
            yield episode, over
            episode, over = [], 0
        episode.append(row)
        over = max(over, joins_until(row))
    if episode:
        yield episode, over


def _incident(rows: list[PartitionOutage]) -> Incident[OutageFacts]:
    first = rows[0]
    is_open = any(row.online_at is None for row in rows)
    lengths = [(row.online_at - row.offline_at) / US_PER_SECOND for row in rows if row.online_at is not None and row.offline_at is not None]
    critical = is_open or any(length >= BRIEF_SECONDS for length in lengths) or any(row.at_risk for row in rows)
    return incident_row(
        cluster=first.cluster,
        system=first.system,
        incident_id=make_id("incident", first.outage_id),
        kind="broker_outage",
        severity="critical" if critical else "warning",
        groups=sorted({group for row in rows for group in row.groups}),
        started_at=_began(first) or None,
        ended_at=None if is_open else max(row.online_at for row in rows if row.online_at is not None),
        stopped_seconds=round(_covered(rows), 6),
        root_cause=_root_cause(rows).value,
        headline=_outage_facts(rows, None if is_open else max(lengths, default=0.0)),
        outage_ids=[row.outage_id for row in rows],
    )


def _root_cause(rows: Iterable[PartitionOutage]) -> RootCause:
    """A failed directory if it explains each outage, else a broker that went."""
    return RootCause.LOG_DIR_FAILED if all(row.cause == "log_dir_failed" for row in rows) else RootCause.BROKER_OUTAGE


def _covered(rows: Iterable[PartitionOutage]) -> float:
    """Seconds in which at least one partition had no leader.

    Open outages don't count.
    """
    total, reached = 0, 0
    for begin, end in sorted((_began(row), row.online_at) for row in rows if row.online_at is not None):
        begin = max(begin, reached)
        if end > begin:
            total, reached = total + end - begin, end
    return total / US_PER_SECOND


def _outage_facts(rows: Sequence[PartitionOutage], longest: float | None) -> OutageFacts:
    """Facts about departed brokers, and partitions without a leader meanwhile."""
    return OutageFacts(
        brokers=_in_number_order(node for row in rows for node in row.lost_brokers),
        directory_brokers=_in_number_order(
            row.leader_before for row in rows if row.cause == "log_dir_failed" and row.leader_before is not None
        ),
        partitions=frozenset((row.topic, row.partition) for row in rows),
        longest_seconds=longest,
        at_risk_count=sum(bool(row.at_risk) for row in rows),
        coordinator_count=sum(row.topic == OFFSETS_TOPIC for row in rows),
        has_begun_unseen=any(row.offline_at is None for row in rows),
    )


def _in_number_order(nodes: Iterable[str]) -> tuple[str, ...]:
    """Different nodes, in the order of their numbers."""
    return tuple(sorted(set(nodes), key=lambda node: (len(node), node)))


def departures_of(facts: ClusterFacts) -> list[BrokerDeparture]:
    """Departures reported by controllers, and brokers' own stops, by time."""
    stops = [
        BrokerDeparture(change.at, change.node, change.event)
        for change in facts.node_changes
        if change.kind == "stopping" and change.node is not None
    ]
    return sorted([*facts.departures, *stops], key=lambda departure: departure.at)


def point_to_outages(rebalances: Iterable[Rebalance], departures: Sequence[BrokerDeparture], moves: Sequence[CoordinatorMove] = ()) -> None:
    """Link coordinator failovers to the departure of the broker.

    Adds the departure's line to the evidence. If `moves` show which broker the coordinator left, only its departure counts.
    """
    failover = RootCause.COORDINATOR_FAILOVER.value
    for row in rebalances:
        started = row.started_at or row.joined_at
        if started is None or row.root_cause != failover:
            continue
        left = _left(moves, started)
        near = [
            departure for departure in departures if 0 <= started - departure.at <= TAKEOVER_US and (left is None or departure.node == left)
        ]
        if not near:
            continue
        if row.cause == Cause.COORDINATOR_FAILOVER.value:
            row.root_cause = RootCause.BROKER_OUTAGE.value
        row.evidence = [*row.evidence, *evidence([near[-1].event], inferred=True)]


def _left(moves: Iterable[CoordinatorMove], started: int) -> str | None:
    """The broker that the coordinator last left, before or at a rebalance."""
    known = [(at, move.from_node) for move in moves if (at := move.loaded_at if move.loaded_at is not None else move.left_at) is not None]
    near = [node for at, node in sorted(known, key=lambda item: item[0]) if -CLOCKS_US <= started - at <= TAKEOVER_US]
    return near[-1] if near else None
