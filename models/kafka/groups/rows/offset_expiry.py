"""Expiry of offsets of groups without members, and ended groups.

Since 2.1 they are kept for offsets.retention.minutes from when the group went empty (KIP-211); before, from each commit,
so that the time told here is the latest that they can last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from models.events import Event, when
from models.evidence import evidence
from models.ids import make_id
from models.incidents.headline_facts import RemovalFacts
from models.incidents.incident_rows import incident_row
from models.kafka.cluster.facts import OLD_OFFSETS_RETENTION_MINUTES, ClusterFacts
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.reconstruction.classic_log import ClassicReplay
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.kafka.reconstruction.epochs.log import ModernReplay
from models.rows import KAFKA, Incident, OffsetExpiration
from models.times import begin_of, raised_in_order, seconds
from models.tolerances import float_tolerance, int_tolerance
from models.units import SECONDS_PER_MINUTE, US_PER_SECOND


def expiration(
    cluster: str, system: str, key: str, group: str, retention: float, empty: Event | None, lost_by: Event | None
) -> OffsetExpiration:
    """An end of a group, with which its offsets went.

    Without the line that says so, when they will go: after the `retention`, in seconds.
    """
    empty_since = when(empty)
    expires = empty_since + int(retention * US_PER_SECOND) if empty_since is not None else None
    events = [event for event in (empty, lost_by) if event is not None]
    _, gone_at = raised_in_order(empty_since, lost_by.time_us if lost_by is not None else expires)
    return OffsetExpiration(cluster, system, key, group, empty_since, gone_at, retention, lost_by is not None, evidence(events))


def retention_in_force(facts: ClusterFacts, windows: Sequence[RebalanceWindow]) -> float:
    """Retention of a group's offsets, in seconds.

    Without the setting, it is the default of the version, which the wording of rebalances may show. As 2.0 words them like its
    forerunners, the earlier end counts.
    """
    starts = [window.started for window in windows if window.started is not None and not window.is_inferred]
    is_old = bool(starts) and not any(event.fields.keys() & _SINCE_2_1 for event in starts)
    if facts.retention_told or not is_old or any(_is_since_2(facts.versions.get(event.place.file)) for event in starts):
        return facts.offsets_retention_seconds
    return OLD_OFFSETS_RETENTION_MINUTES * SECONDS_PER_MINUTE


_SINCE_2_1 = frozenset({"state", "reason_id"})
"""What the beginning of a rebalance tells since 2.1."""


def _is_since_2(version: str | None) -> bool:
    """Whether a version has the longer default (KIP-186)."""
    return version is not None and not version.startswith(("0.", "1."))


def empty_at_the_end(classic: ClassicReplay, modern: ModernReplay) -> Event | None:
    """Line that emptied a group which is empty when its logs end."""
    if classic.group.state is State.EMPTY and classic.empty_since is not None:
        return classic.empty_since
    if modern.progress.windows and modern.progress.windows[-1].outcome == "empty" and classic.group.state in {None, State.EMPTY}:
        return modern.progress.windows[-1].events[-1]
    return None


def emptied_last(classic: ClassicReplay, modern: ModernReplay) -> Event | None:
    """Line that emptied a group as its last rebalance, by whatever log shows it."""
    window = classic.windows[-1] if classic.windows else None
    if window is not None and window.is_inferred and window.outcome == "empty" and classic.group.state is State.EMPTY:
        return window.ended
    return empty_at_the_end(classic, modern)


End = tuple[Event | None, Event | None]
"""The lines by which a group went empty and was removed."""

DELETED = "kafka.group.deleted"
"""Message of a deletion on request."""

CLEANUP_SECONDS = float_tolerance("kafka.offset_expiry.cleanup_seconds")
"""Longest life of an empty group that never committed.

It goes with the next cleanup (offsets.retention.check.interval.ms, 10 min by default).
"""

CLEANUP_US = int_tolerance("kafka.offset_expiry.cleanup_us")
"""Maximum distance between the lines of one cleanup."""


def removal_incidents(ends: Sequence[End], rows: Sequence[OffsetExpiration], facts: ClusterFacts) -> Iterator[Incident[RemovalFacts]]:
    """Removals of a group as incidents, because its offsets went too."""
    for (empty, lost_by), row in zip(ends, rows, strict=True):
        if lost_by is not None:
            yield _removal(row, empty, lost_by, facts)


def _removal(row: OffsetExpiration, empty: Event | None, lost_by: Event, facts: ClusterFacts) -> Incident[RemovalFacts]:
    lasted = seconds(begin_of(when(empty), lost_by.time_us), lost_by.time_us)
    expiry = facts.expiry_near(lost_by.time_us, CLEANUP_US)
    deleted = lost_by.message == DELETED or facts.was_deleted(row.group, lost_by.time_us, CLEANUP_US)
    had_offsets = expiry is not None or (lasted is not None and lasted > min(CLEANUP_SECONDS, row.retention_seconds or CLEANUP_SECONDS))
    return incident_row(
        cluster=row.cluster,
        system=KAFKA,
        incident_id=make_id("incident", row.offset_expiration_id),
        kind="group_deleted" if deleted else "offsets_lost",
        severity="warning" if had_offsets and not deleted else "info",
        groups=[row.group],
        started_at=row.empty_since if row.empty_since is not None else row.expires_at,
        ended_at=row.expires_at,
        headline=RemovalFacts(row.group, deleted, lasted, had_offsets or deleted),
        evidence=[*row.evidence, *(evidence([expiry]) if expiry is not None and not deleted else [])],
    )
