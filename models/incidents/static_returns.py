"""Rebalances that members with a fixed group.instance.id would have spared their group.

A short rule for each incident; `models.whatif` runs the whole behaviour again. A static member sends no LeaveGroup and
gets its assignment back if it returns within its session timeout (KIP-345).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from models.downtime import stopped_seconds
from models.incidents.absences import MembershipChange, absences_of, membership_changes
from models.incidents.static_membership import may_be_static
from models.rows import Rebalance, RebalanceMember
from models.tolerances import DEFAULT_SESSION_MS


def avoided_seconds(rows: Sequence[Rebalance], parts: Mapping[str, Sequence[RebalanceMember]]) -> dict[str, float]:
    """Seconds saved by id of each rebalance that would not have been."""
    ordered = sorted(rows, key=lambda row: (row.began, row.generation_before or 0))
    changes = [change for index, row in enumerate(ordered) for change in membership_changes(index, row, parts.get(row.rebalance_id, ()))]
    bridged: set[int] = set()
    for absence in absences_of(changes):
        session_ms = absence.session_ms or DEFAULT_SESSION_MS
        if absence.gone.how != "removed" and absence.away_ms(DEFAULT_SESSION_MS) < session_ms:
            bridged |= {id(absence.gone), id(absence.came)}
    by_row: defaultdict[int, list[MembershipChange]] = defaultdict(list)
    for change in changes:
        by_row[change.index].append(change)
    eligible = {index for index, row in enumerate(ordered) if may_be_static(row.protocol_type, row.protocol)}
    avoided = {index for index, changes in by_row.items() if index in eligible and all(id(change) in bridged for change in changes)}
    for before, index in pairwise(range(len(ordered))):
        if before in avoided and ordered[index].cause == "cooperative_followup":
            avoided.add(index)
    return {ordered[index].rebalance_id: stopped_seconds(ordered[index]) for index in sorted(avoided)}
