"""Episodes: rebalances of one group that are one story.

They follow each other closely; or one member goes again and again, or members come and go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from models.incidents.absences import act_of
from models.incidents.roll_outs import display_name
from models.rows import Rebalance
from models.tolerances import float_tolerance
from models.units import US_PER_SECOND

EPISODE_GAP_SECONDS = float_tolerance("incidents.episode_gap_seconds")
"""Default gap between episodes, which also separates rolling restarts."""

FLAPPING_GAP_SECONDS = float_tolerance("incidents.flapping_gap_seconds")
"""Gap between episodes of one and the same member that are one story."""

SCALING_GAP_SECONDS = float_tolerance("incidents.scaling_gap_seconds")
"""Gap between episodes of members that come and go, in one story."""

FAILURES = frozenset({"session_timeout", "poll_timeout", "rebalance_timeout", "sync_timeout"})

WENT = FAILURES | {"member_leave", "member_restart"}
"""Causes by which a member went, or was away for a while."""

_SCALING = frozenset({"member_join", "new_group", "member_leave"})


def episodes(rows: list[Rebalance], gap_seconds: float) -> Iterable[list[Rebalance]]:
    """Sort a group's rebalances and cut them at gaps."""
    rows.sort(key=lambda row: (row.began, row.generation_before or 0))
    episode: list[Rebalance] = []
    quiet_from = 0
    for row in rows:
        if episode and row.began - quiet_from > gap_seconds * US_PER_SECOND:
            yield episode
            episode = []
        episode.append(row)
        quiet_from = max(quiet_from, row.over_at)
    if episode:
        yield episode


def joined_episodes(rows: list[Rebalance], gap_seconds: float, flapping_count: int) -> Iterable[list[Rebalance]]:
    """Episodes of a group, those of one story joined."""
    return _with_scaling(_with_flapping(episodes(rows, gap_seconds), flapping_count), flapping_count)


def _with_flapping(episodes: Iterable[list[Rebalance]], flapping_count: int) -> Iterable[list[Rebalance]]:
    """Join episodes in which the same member went, again and again."""
    run: list[list[Rebalance]] = []
    for episode in episodes:
        if run and not _goes_on_flapping(run[-1], episode):
            yield from _joined(run, flapping_count)
            run = []
        run.append(episode)
    yield from _joined(run, flapping_count)


def _goes_on_flapping(before: Sequence[Rebalance], after: Sequence[Rebalance]) -> bool:
    is_near = _quiet_seconds(before, after) <= FLAPPING_GAP_SECONDS
    return is_near and _culprit(before) is not None and _culprit(before) == _culprit(after)


def _quiet_seconds(before: Sequence[Rebalance], after: Sequence[Rebalance]) -> float:
    return (after[0].began - max(row.over_at for row in before)) / US_PER_SECOND


def _culprit(rows: Sequence[Rebalance]) -> str | None:
    """The one member that went, or came back, in all rebalances."""
    actors = {display_name(row.offenders[0]) if row.offenders else None for row in rows}
    has_departures = any(row.cause in WENT for row in rows) and all(row.cause in WENT | {"member_join"} for row in rows)
    return next(iter(actors)) if has_departures and len(actors) == 1 else None


def _joined(run: list[list[Rebalance]], flapping_count: int) -> Iterable[list[Rebalance]]:
    """One episode, where the member went often enough."""
    rows = [row for episode in run for row in episode]
    if len(run) > 1 and is_flapping(rows, flapping_count, WENT):
        return [rows]
    return run


def _with_scaling(episodes: Iterable[list[Rebalance]], flapping_count: int) -> Iterable[list[Rebalance]]:
    """Join episodes in which members come and go, again and again."""
    run: list[list[Rebalance]] = []
    for episode in episodes:
        if run and not (_is_scaling(run[-1]) and _is_scaling(episode) and _quiet_seconds(run[-1], episode) <= SCALING_GAP_SECONDS):
            yield from _one_if_unsteady(run, flapping_count)
            run = []
        run.append(episode)
    yield from _one_if_unsteady(run, flapping_count)


def _one_if_unsteady(run: list[list[Rebalance]], flapping_count: int) -> Iterable[list[Rebalance]]:
    rows = [row for episode in run for row in episode]
    return [rows] if len(run) > 1 and was_scaled_in_turn(rows, flapping_count) else run


def _is_scaling(rows: Iterable[Rebalance]) -> bool:
    return all(row.cause in _SCALING for row in rows)


def brief_members(rows: Sequence[Rebalance]) -> int:
    """Count members that came and went within these rebalances.

    Who is followed at once by another was restarted.
    """
    came: set[str] = set()
    count = 0
    for row, later in zip(rows, [*rows[1:], None], strict=True):
        ids = {person.member_id for person in row.offenders if person.member_id is not None}
        is_followed = later is not None and _quiet_seconds([row], [later]) <= EPISODE_GAP_SECONDS
        if row.cause == "member_leave" and row.outcome != "empty" and not is_followed:
            count += len(ids & came)
        came = came - ids if row.cause == "member_leave" else came | ids
    return count


def is_flapping(rows: Sequence[Rebalance], flapping_count: int, causes: frozenset[str]) -> bool:
    """Whether one member failed or left repeatedly."""
    counted = Counter(display_name(row.offenders[0]) for row in rows if act_of(row) in causes and row.offenders and row.outcome != "empty")
    return bool(counted) and max(counted.values()) >= flapping_count


def was_scaled_in_turn(rows: Sequence[Rebalance], flapping_count: int) -> bool:
    """Whether members came and went, often enough to be no routine."""
    return _is_scaling(rows) and brief_members(rows) >= flapping_count
