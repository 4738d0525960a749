"""Generations as members' logs show them, and the rebalances cut from these."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.kafka.observations.actions import MemberAction
from models.kafka.reconstruction.classic_states import next_generation


@dataclass(slots=True)
class ClientSight:
    """One generation as members' logs show it.

    `joined` and `synced` are the first answers to JoinGroup and SyncGroup.
    """

    generation: int | None  # None where no member names it
    joined: MemberAction
    last_at: int
    synced: MemberAction | None = None
    members: dict[str, str | None] = field(default_factory=dict)
    """Member ids that joined, by actor."""
    member_count: int | None = None
    """Number of members in the leader's assignment."""
    left: dict[str, int] = field(default_factory=dict)
    """Times at which some of them left since."""
    is_announced: bool = False
    """True if a coordinator logged it."""
    of_epoch: bool = False
    """The group is one of the consumer protocol, and this an epoch."""
    has_nameless: bool = False
    """Somebody joined whose line tells no id."""
    has_follower: bool = False
    """A member was assigned partitions without making the assignment, as its log would tell."""
    was_begun_by_others: bool = False
    """Its only known member heard of a rebalance that it had not begun."""
    resumed_at: int | None = None
    """Last request that was answered with this generation again.

    A rebalance begun before it was lost.
    """

    @property
    def has_others(self) -> bool:
        """Whether it has members without logs, as lines of the others show."""
        return self.has_follower or self.was_begun_by_others or (self.member_count or 0) > len(self.members)

    @property
    def gone_at(self) -> int | None:
        """Time at which the last member left; None if one may have stayed."""
        is_counted = not self.has_follower if self.member_count is None else self.member_count <= len(self.members)
        is_whole = not (self.has_nameless or self.was_begun_by_others) and is_counted
        return max(self.left.values()) if is_whole and self.members and len(self.left) == len(self.members) else None


@dataclass(frozen=True, slots=True)
class ClientWindow:
    """One rebalance by members' logs, from what began it to its end."""

    generation_before: int | None
    from_empty: bool
    outcome: str
    started: MemberAction | None
    joined: MemberAction | None = None
    ended: MemberAction | None = None
    member_count: int | None = None
    skipped_from: int | None = None
    """The last generation that was seen before, where some between were not."""
    is_announced: bool = False
    """True if a coordinator logged the generation, if not its beginning."""

    @property
    def generation(self) -> int | None:
        """The generation that it leads to."""
        return next_generation(self.generation_before)

    @property
    def began(self) -> int:
        """Its start, or its first known time."""
        return next((action.at for action in (self.started, self.joined, self.ended) if action is not None), 0)
