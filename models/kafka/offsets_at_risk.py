"""When the offsets of a group without members go, and groups whose offsets are gone.

Since 2.1 they are kept for offsets.retention.minutes from when the group went empty (KIP-211); before, from each commit,
so that the time told here is the latest that they can last.
"""

from __future__ import annotations

from collections.abc import Iterator

from models.cluster import ClusterFacts
from models.events import Event
from models.evidence import evidence
from models.ids import make_id
from models.kafka.classic import ClassicReplay, when
from models.kafka.group import State
from models.kafka.modern import ModernReplay
from models.rows import OffsetExpiration

US_PER_SECOND = 1_000_000


def expirations(
    cluster: str, group: str, system: str, facts: ClusterFacts, classic: ClassicReplay, modern: ModernReplay
) -> Iterator[OffsetExpiration]:
    """Each end of the group, with which its offsets went, and when those of a group that is empty at the end of its logs will go."""

    def row(ordinal: int, empty: Event | None, lost_by: Event | None) -> OffsetExpiration:
        retention = facts.offsets_retention_seconds
        empty_since = when(empty)
        expires = empty_since + int(retention * US_PER_SECOND) if empty_since is not None else None
        events = [event for event in (empty, lost_by) if event is not None]
        key = make_id("expiration", cluster, group, empty.generation if empty is not None else None, ordinal)
        at = when(lost_by) if lost_by is not None else expires
        return OffsetExpiration(cluster, system, key, group, empty_since, at, retention, lost_by is not None, evidence(events))

    for ordinal, (empty, died) in enumerate(classic.deaths):
        yield row(ordinal, empty, died)
    if classic.group.state is State.EMPTY and classic.empty_since is not None:
        yield row(len(classic.deaths), classic.empty_since, None)
    elif modern.drafts and modern.drafts[-1].outcome == "empty" and classic.group.state in {None, State.EMPTY}:
        yield row(len(classic.deaths), modern.drafts[-1].events[-1], None)
