"""Rows from the replay of one group."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from models.incidents.headline_facts import HeadlineFacts
from models.rows import (
    ClientState,
    CoordinatorMove,
    Divergence,
    GroupState,
    GroupTransition,
    Incident,
    MemberSession,
    OffsetExpiration,
    Rebalance,
    RebalanceMember,
)


@dataclass(slots=True)
class GroupHistory:
    """The rows of one group, by table."""

    rebalances: list[Rebalance] = field(default_factory=list)
    rebalance_members: list[RebalanceMember] = field(default_factory=list)
    group_transitions: list[GroupTransition] = field(default_factory=list)
    group_states: list[GroupState] = field(default_factory=list)
    member_sessions: list[MemberSession] = field(default_factory=list)
    client_states: list[ClientState] = field(default_factory=list)
    coordinator_moves: list[CoordinatorMove] = field(default_factory=list)
    offset_expirations: list[OffsetExpiration] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)
    incidents: list[Incident[HeadlineFacts]] = field(default_factory=list)

    def take(self, other: GroupHistory, final_at: int | None = None) -> None:
        """Add the rows of another history, and set their `final_at`."""
        for table in fields(other):
            rows = getattr(other, table.name)
            for row in rows:
                row.final_at = final_at
            getattr(self, table.name).extend(rows)
