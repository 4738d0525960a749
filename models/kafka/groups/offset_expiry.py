"""When the offsets of a group without members go, and groups whose offsets are gone.

Since 2.1 they are kept for offsets.retention.minutes from when the group went empty (KIP-211); before, from each commit,
so that the time told here is the latest that they can last.
"""

from __future__ import annotations

from models.events import Event, when
from models.evidence import evidence
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.reconstruction.classic_log import ClassicReplay
from models.kafka.reconstruction.epoch_log import ModernReplay
from models.rows import OffsetExpiration
from models.times import in_order
from models.units import US_PER_SECOND


def expiration(
    cluster: str, system: str, key: str, group: str, facts: ClusterFacts, empty: Event | None, lost_by: Event | None
) -> OffsetExpiration:
    """An end of a group, with which its offsets went; without the line that says so, when they will go."""
    retention = facts.offsets_retention_seconds
    empty_since = when(empty)
    expires = empty_since + int(retention * US_PER_SECOND) if empty_since is not None else None
    events = [event for event in (empty, lost_by) if event is not None]
    _, gone_at = in_order(empty_since, lost_by.time_us if lost_by is not None else expires)
    return OffsetExpiration(cluster, system, key, group, empty_since, gone_at, retention, lost_by is not None, evidence(events))


def empty_at_the_end(classic: ClassicReplay, modern: ModernReplay) -> Event | None:
    """The line by which a group went empty that is empty when its logs end."""
    if classic.group.state is State.EMPTY and classic.empty_since is not None:
        return classic.empty_since
    if modern.drafts and modern.drafts[-1].outcome == "empty" and classic.group.state in {None, State.EMPTY}:
        return modern.drafts[-1].events[-1]
    return None
