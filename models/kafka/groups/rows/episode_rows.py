"""Rows of one group, of its open episode and final ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from models.incidents.absences import MEMBERSHIP_ROLES
from models.kafka.groups import bounds
from models.kafka.verdicts.history import GroupHistory
from models.rows import Rebalance, RebalanceMember


@dataclass(slots=True)
class EpisodeRows:
    """Holds rows until they are final, and then until they are drained."""

    open: GroupHistory = field(default_factory=GroupHistory)
    """Ranked rebalances of an episode that may still go on."""
    final: GroupHistory = field(default_factory=GroupHistory)
    """Rows that nothing later changes."""
    over_at: int = 0
    """The latest end of the rebalances in `open`."""
    last: list[Rebalance] = field(default_factory=list)
    """The last two rebalances, also when they are final."""

    @property
    def count(self) -> int:
        """Number of rows of rebalances and members that are not final."""
        return len(self.open.rebalances) + len(self.open.rebalance_members)

    @property
    def are_too_many(self) -> bool:
        """Whether the episode is too long to be held."""
        return len(self.open.rebalances) >= bounds.EPISODE_MAX or len(self.open.rebalance_members) >= bounds.EPISODE_MEMBERS_MAX

    def note_end(self) -> None:
        """Note when the rebalance that was added last is over."""
        self.over_at = max(self.over_at, self.open.rebalances[-1].over_at)
        self.last = [*self.last[-1:], self.open.rebalances[-1]]

    def take(self) -> GroupHistory:
        """Remove and return the rows of the episode."""
        rows, self.open, self.over_at = self.open, GroupHistory(), 0
        return rows

    def take_members(self, final_at: int) -> list[RebalanceMember]:
        """Return rows of members not final yet; keep what incidents need."""
        rows = self.open.rebalance_members
        count = len(rows)
        while count and rows[count - 1].final_at is None:
            count -= 1
        members = rows[count:]
        rows[count:] = [replace(member, final_at=final_at) for member in members if member.role in MEMBERSHIP_ROLES]
        return members

    def drain(self) -> Iterator[GroupHistory]:
        """Yield final rows once many have gathered."""
        final = self.final
        if (
            len(final.rebalances) + len(final.group_transitions) + len(final.client_states) + len(final.group_states)
            >= bounds.DRAIN_BATCH_ROWS
            or len(final.rebalance_members) >= bounds.EPISODE_MEMBERS_MAX
        ):
            self.final = GroupHistory()
            yield final


def without_final_members(rows: GroupHistory) -> GroupHistory:
    """Rows of an episode but for members' rows that became final before it ended."""
    rows.rebalance_members = [member for member in rows.rebalance_members if member.final_at is None]
    return rows
