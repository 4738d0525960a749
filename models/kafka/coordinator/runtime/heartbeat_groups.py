"""Differences between versions of groups that work by heartbeats, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochPolicy:
    """Rules of a version for epochs and delays of share and streams groups."""

    first_epoch: int = 0
    """Epoch of a new group, and of its target (ModernGroup, StreamsGroup)."""
    first_bump: int = 1
    """Epoch of a streams group after its first bump."""
    has_assignment_interval: bool = False
    """Whether targets are spaced out by X.assignment.interval.ms."""
    has_initial_delay: bool = False
    """Whether streams groups wait for more members at first."""
    has_validated_topology: bool = False
    """Whether a topology that becomes ready raises the epoch by itself."""
    delay_resets_target: bool = False
    """Whether members move to epoch 1 during the initial delay, instead of staying."""
    filters_shares: bool = True
    """Whether share members lose topics that they no longer subscribe to at once."""
    fences_returning_members: bool = False
    """Whether a member that is still known can't join again with epoch 0."""
    forgets_topics_on_leave: bool = False
    """Whether a streams group forgets its topics when a member leaves."""
    shares_any_topic: bool = False
    """Whether initialised partitions without a subscriber raise a share group's epoch again and again."""
    initialize_retry_ms: int = 30_000
    """Time after which share partitions are initialised again (group.share.initialize.retry.interval.ms)."""
    waits_for_target: bool = False
    """Whether newly initialised share partitions wait for a pending target."""
    has_static_members: bool = False
    """Whether streams groups have static members."""
    closes_target_when_empty: bool = False
    """Whether the last member's leave counts as a computed target."""
    refines_target: bool = False
    """Whether warm-up progress may raise the epoch of a stable streams group."""


_4_1 = EpochPolicy(
    filters_shares=False,
    fences_returning_members=True,
    forgets_topics_on_leave=True,
    shares_any_topic=True,
    initialize_retry_ms=10_000,
)
_4_2 = EpochPolicy(first_bump=2, has_initial_delay=True, has_validated_topology=True, delay_resets_target=True)
_4_3 = replace(_4_2, first_epoch=1, has_assignment_interval=True, delay_resets_target=False, waits_for_target=True)
_4_4 = replace(_4_3, has_static_members=True, closes_target_when_empty=True, refines_target=True)

EPOCH_POLICIES: Mapping[str, EpochPolicy] = {"4.1": _4_1, "4.2": _4_2, "4.3": _4_3, "4.4": _4_4}
"""Policies by the version that brought them."""


def may_compute_target(policy: EpochPolicy, computed_ms: int | None, interval_ms: int, now_ms: int) -> bool:
    """Whether the next target may be computed now (canComputeNextTargetAssignment)."""
    if not policy.has_assignment_interval or computed_ms is None or interval_ms == 0:
        return True
    return now_ms >= computed_ms + interval_ms
