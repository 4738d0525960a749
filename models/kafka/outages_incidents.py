"""Outages as incidents: what one loss of brokers did, told in a sentence; and rebalances that stand on such a loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from models.causes import Cause, RootCause
from models.cluster import Going
from models.evidence import evidence
from models.ids import make_id
from models.incidents import US_PER_SECOND, Limits
from models.kafka.outages_readers import OFFSETS_TOPIC
from models.rows import Incident, PartitionOutage, Rebalance

TAKEOVER_US = 60 * US_PER_SECOND
"""Rebalances that a lost coordinator causes begin within this time of its broker's going: a session, a load, and a client's patience."""

BRIEF_SECONDS = 3.0
"""A partition that is without leader for less is a takeover, of which clients notice a retry."""


def outage_incidents(outages: Sequence[PartitionOutage], limits: Limits) -> list[Incident]:
    """Outages that follow each other closely and share a lost broker, or have none, as one incident."""
    return [_incident(episode) for episode in _episodes(outages, limits.episode_gap_seconds)]


def _began(row: PartitionOutage) -> int:
    return next((at for at in (row.offline_at, row.online_at) if at is not None), 0)


def _episodes(outages: Sequence[PartitionOutage], gap_seconds: float) -> Iterator[list[PartitionOutage]]:
    """Outages in order of time, cut where all partitions had leaders for longer than the gap."""
    episode: list[PartitionOutage] = []
    over: int | None = 0
    for row in sorted(outages, key=lambda row: (_began(row), row.topic, row.partition)):
        if episode and over is not None and _began(row) - over > gap_seconds * US_PER_SECOND:
            yield episode
            episode, over = [], 0
        episode.append(row)
        over = None if over is None or row.online_at is None else max(over, row.online_at)
    if episode:
        yield episode


def _incident(rows: list[PartitionOutage]) -> Incident:
    first = rows[0]
    is_open = any(row.online_at is None for row in rows)
    lengths = [(row.online_at - _began(row)) / US_PER_SECOND for row in rows if row.online_at is not None]
    critical = is_open or any(length >= BRIEF_SECONDS for length in lengths) or any(row.at_risk for row in rows)
    return Incident(
        cluster=first.cluster,
        system=first.system,
        incident_id=make_id("incident", first.outage_id),
        kind="broker_outage",
        severity="critical" if critical else "warning",
        groups=sorted({group for row in rows for group in row.groups}),
        started_at=_began(first) or None,
        ended_at=None if is_open else max(row.online_at for row in rows if row.online_at is not None),
        rebalance_count=0,
        stopped_seconds=round(_covered(rows), 6),
        root_cause=RootCause.BROKER_OUTAGE.value,
        worst_offender=None,
        headline=_headline(rows, lengths, is_open=is_open),
        rebalance_ids=[],
        outage_ids=[row.outage_id for row in rows],
    )


def _covered(rows: Iterable[PartitionOutage]) -> float:
    """Seconds in which at least one partition had no leader, as far as they are over."""
    total, reached = 0, 0
    for begin, end in sorted((_began(row), row.online_at) for row in rows if row.online_at is not None):
        begin = max(begin, reached)
        if end > begin:
            total, reached = total + end - begin, end
    return total / US_PER_SECOND


def _headline(rows: Sequence[PartitionOutage], lengths: Sequence[float], *, is_open: bool) -> str:
    brokers = sorted({node for row in rows for node in row.lost_brokers}, key=lambda node: (len(node), node))
    who = f"broker {brokers[0]}" if len(brokers) == 1 else "brokers " + ", ".join(brokers) if brokers else "a broker"
    names = [f"{row.topic}-{row.partition}" for row in rows]
    what = names[0] if len(set(names)) == 1 else f"{len(set(names))} partitions"
    lasted = "still open" if is_open else f"up to {max(lengths):.1f} s" if max(lengths) < 10 else f"up to {max(lengths):.0f} s"
    told = f"{who} went: {what} without leader, {lasted}"
    risky = sum(bool(row.at_risk) for row in rows)
    coordinators = sum(row.topic == OFFSETS_TOPIC for row in rows)
    extras = [f"{risky} elected with records at risk"] if risky else []
    extras += [f"{coordinators} of them held coordinators"] if coordinators else []
    return "; ".join([told, *extras])


def point_to_outages(rebalances: Iterable[Rebalance], goings: Sequence[Going]) -> None:
    """Rebalances that a coordinator's failover made, or stands behind, name the going of its broker among their lines."""
    failover = RootCause.COORDINATOR_FAILOVER.value
    for row in rebalances:
        started = row.started_at or row.joined_at
        if started is None or row.root_cause != failover:
            continue
        near = [going for going in goings if 0 <= started - going.at <= TAKEOVER_US]
        if not near:
            continue
        if row.cause == Cause.COORDINATOR_FAILOVER.value:
            row.root_cause = RootCause.BROKER_OUTAGE.value
        row.evidence = [*row.evidence, *evidence([near[-1].event], inferred=True)]
