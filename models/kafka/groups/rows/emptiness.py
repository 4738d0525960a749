"""Groups that have lost all members when their logs end.

A rebalance that empties a group is over at once, and no member waits for it. The time after it is an incident.
"""

from __future__ import annotations

from collections.abc import Sequence

from models.ids import make_id
from models.incidents.absences import act_of
from models.incidents.episodes import FAILURES
from models.incidents.headline_facts import EmptinessFacts
from models.incidents.incident_rows import incident_row
from models.incidents.incidents import LIKELY
from models.incidents.roll_outs import display_name
from models.kafka.cluster.facts import BrokerDeparture
from models.rows import KAFKA, Incident, Rebalance
from models.units import US_PER_SECOND

KIND = "no_members"


def emptiness_incident(
    last: Sequence[Rebalance],
    until: int,
    departures: Sequence[BrokerDeparture],
    *,
    stuck_seconds: float,
    shutdown_seconds: float,
    is_inferred: bool,
) -> Incident[EmptinessFacts] | None:
    """The emptiness that logs end in, None if short or meant.

    `last` are the last rebalances; leaves within `shutdown_seconds` before belong to one shutdown. What members' logs alone
    show (`is_inferred`), others than these may contradict.
    """
    row = last[-1]
    began = row.over_at
    lasted = (until - began) / US_PER_SECOND
    if row.outcome != "empty" or act_of(row) not in FAILURES or lasted < stuck_seconds:
        return None
    if any(departure.at > began and departure.node == row.coordinator for departure in departures):
        return None  # another coordinator may have it now, with members
    is_sure = (
        not is_inferred and _failure_share(row) >= LIKELY and not any(_is_leave_before(row, other, shutdown_seconds) for other in last[:-1])
    )
    first = display_name(row.offenders[0]) if row.offenders else None
    return incident_row(
        cluster=row.cluster,
        system=KAFKA,
        incident_id=make_id("incident", make_id("condition", row.cluster, row.group, KIND, row.rebalance_id)),
        kind=KIND,
        severity="critical" if is_sure else "warning",
        groups=[row.group],
        started_at=began,
        ended_at=None,
        headline=EmptinessFacts(row.group, lasted, act_of(row), first, max(0, len(row.offenders) - 1), is_inferred),
        evidence=row.evidence,
    )


def _failure_share(row: Rebalance) -> float:
    """Probability that the last members did not leave on purpose."""
    return row.confidence + sum(share for cause, share in row.alternatives.items() if cause in FAILURES and cause != row.cause)


def _is_leave_before(row: Rebalance, other: Rebalance, within_seconds: float) -> bool:
    """Whether others left on purpose shortly before, as in a shutdown."""
    return other.cause == "member_leave" and row.began - other.over_at <= within_seconds * US_PER_SECOND
