"""Incidents of coordinators that moved without a rebalance.

The group keeps its generation (GroupMetadataManager.loadGroup), but nobody could commit or join while it was being loaded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from models.causes import RootCause
from models.ids import make_id
from models.incidents.headline_facts import MoveFacts
from models.incidents.incident_rows import incident_row
from models.kafka.cluster.facts import BrokerDeparture
from models.kafka.outages.outage_incidents import CLOCKS_US, TAKEOVER_US
from models.rows import KAFKA, CoordinatorMove, Incident, Rebalance
from models.times import first_known

KIND = "coordinator_move"


def quiet_moves(
    moves: Iterable[CoordinatorMove], rebalances: Sequence[Rebalance], departures: Sequence[BrokerDeparture]
) -> Iterator[CoordinatorMove]:
    """Moves that no rebalance and no departure of a broker tells of."""
    rows = sorted(rebalances, key=lambda row: row.began)
    over = list(accumulate((row.over_at for row in rows), max))
    for move in moves:
        at = first_known(move.left_at, move.loaded_at)
        begun = bisect_right(rows, at + TAKEOVER_US, key=lambda row: row.began)
        is_near = begun > 0 and over[begun - 1] >= at - TAKEOVER_US
        if not is_near and not any(_stands_behind(departure, move, at) for departure in departures):
            yield move


def _stands_behind(departure: BrokerDeparture, move: CoordinatorMove, at: int) -> bool:
    """Whether the broker that had the group left; its incident names the groups."""
    return departure.node == move.from_node and -CLOCKS_US <= at - departure.at <= TAKEOVER_US


def move_incident(move: CoordinatorMove, stuck_seconds: float) -> Incident[MoveFacts]:
    """A move as an incident; it needs attention where the load took long."""
    lasted = move.gap_seconds
    return incident_row(
        cluster=move.cluster,
        system=KAFKA,
        incident_id=make_id("incident", move.coordinator_move_id),
        kind=KIND,
        severity="warning" if lasted is not None and lasted >= stuck_seconds else "info",
        groups=[move.group],
        started_at=first_known(move.left_at, move.loaded_at),
        ended_at=move.loaded_at,
        root_cause=RootCause.COORDINATOR_FAILOVER.value,
        headline=MoveFacts(move.group, move.from_node, move.to_node, lasted),
        evidence=move.evidence,
    )
