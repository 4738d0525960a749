"""Lookup of a rebalance by id prefix, GROUP/GENERATION or GROUP@TIME."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from dashboards.view.row_access import column
from dashboards.wording.durations import duration
from dashboards.wording.units import Clock, counted
from pipelines.cli.answers.selection import groups_of, last_record_at, no_such_group, those
from pipelines.cli.arguments.times import moment
from pipelines.errors import UsageError
from pipelines.warehouse.warehouse_reader import quoted_text

CANDIDATES_SHOWN = 8
ID_PREFIX_MIN = 4
FAR_SECONDS = 3600.0
"""Maximum distance in seconds from the named time."""
CLOSE_SECONDS = 1.0
"""Distance in seconds that a time without fractions may be off."""


def find_rebalance(rows: Any, name: str, clock: Clock) -> Any:
    """Find the one matching row of `rebalances`.

    Raises UsageError with suggestions if there is no match or more than one.
    """
    rebalances = rows.rebalances
    if len(name) >= ID_PREFIX_MIN and (by_id := list(_with_id(rebalances, name))):
        return _only(by_id, name, clock)
    group, slash, generation = name.rpartition("/")
    if slash and group and generation.isdigit():
        return _by_generation(rebalances, group, int(generation), clock)
    group, at_sign, when = name.rpartition("@")
    if at_sign and group:
        micros = moment(when, clock.zone_name, name).micros(last_record_at(rows))
        return _by_time(_of_group(rebalances, group), group, micros, clock)
    raise UsageError(_unknown_name(rebalances, name))


def rebalances_of_group(rows: Any, name: str) -> list[Any]:
    """Rebalances of a group by time.

    Empty if `name` is the beginning of an id, or no group.
    """
    if len(name) >= ID_PREFIX_MIN and any(True for _ in _with_id(rows.rebalances, name)):
        return []
    of_group = those(rows.rebalances, f'"group" = {quoted_text(name)}', lambda row: column(row, "group") == name)
    return sorted(of_group, key=lambda row: (column(row, "started_at") or column(row, "ended_at") or 0, column(row, "rebalance_id")))


def _with_id(rebalances: Iterable[Any], beginning: str) -> Iterable[Any]:
    return those(
        rebalances, f"starts_with(rebalance_id, {quoted_text(beginning)})", lambda row: column(row, "rebalance_id").startswith(beginning)
    )


def _by_generation(rebalances: Iterable[Any], group: str, generation: int, clock: Clock) -> Any:
    """Rebalance that led to a generation, else the one that ended it."""
    rows = _of_group(rebalances, group)
    made = [row for row in rows if column(row, "generation_after") == generation]
    left = [row for row in rows if column(row, "generation_before") == generation]
    if made or left:
        return _only(made or left, f"{group}/{generation}", clock)
    known = sorted({after for row in rows if (after := column(row, "generation_after")) is not None})
    span = f"generations {known[0]} to {known[-1]}" if known else "no generation"
    raise UsageError(f"no rebalance of {group!r} made generation {generation}; the logs have {span}")


def _by_time(rows: Sequence[Any], group: str, when: int, clock: Clock) -> Any:
    """Rebalance in progress at a time, else the nearest."""
    nearest = min(rows, key=lambda row: (_distance(row, when), -(column(row, "started_at") or 0)))
    if _distance(nearest, when) > FAR_SECONDS * 1_000_000:
        near = clock.full(column(nearest, "started_at"))
        far = duration(_distance(nearest, when) / 1_000_000)
        raise UsageError(f"no rebalance of {group!r} at {clock.full(when)}; the nearest is {far} away, at {near}")
    return nearest


def _distance(row: Any, when: int) -> int:
    """Distance of a rebalance from a time, in microseconds.

    Zero while it is going on.
    """
    start = column(row, "started_at") or column(row, "ended_at") or 0
    end = column(row, "ended_at") or (when if column(row, "outcome") == "open" else start)
    return max(start - when, when - end, 0)


def apart_from(row: Any, name: str, rows: Any, clock: Clock) -> str:
    """Say that a rebalance is only the nearest to a named time.

    Empty if it was going on at that time, or if no time was named.
    """
    group, at_sign, when = name.rpartition("@")
    if not at_sign or row is None or column(row, "group") != group:
        return ""
    named_at = moment(when, clock.zone_name, name).micros(last_record_at(rows))
    if _distance(row, named_at) < CLOSE_SECONDS * 1_000_000:
        return ""
    where = "after" if (column(row, "started_at") or 0) > named_at else "before"
    away = duration(_distance(row, named_at) / 1_000_000)
    return f"No rebalance of {group} was going on at {clock.full(named_at)}; this is the nearest, {away} {where} that."


def _of_group(rebalances: Iterable[Any], group: str) -> list[Any]:
    rows = list(those(rebalances, f'"group" = {quoted_text(group)}', lambda row: column(row, "group") == group))
    if not rows:
        raise no_such_group(group, groups_of(rebalances))
    return rows


def _only(rows: Sequence[Any], name: str, clock: Clock) -> Any:
    if len(rows) == 1:
        return rows[0]
    candidates = "\n".join(_line(row, clock) for row in rows[:CANDIDATES_SHOWN])
    raise UsageError(f"{name!r} may mean {counted(len(rows), 'rebalance')}; name one by its id:\n{candidates}")


def _line(row: Any, clock: Clock) -> str:
    cluster, group = column(row, "cluster"), column(row, "group")
    return f"  {column(row, 'rebalance_id')}  {cluster}  {group}  {clock.full(column(row, 'started_at'))}"


def _unknown_name(rebalances: Iterable[Any], name: str) -> str:
    groups = sorted(groups_of(rebalances))
    near = difflib.get_close_matches(name, groups, n=1, cutoff=0.5)
    hint = f"; the nearest group is {near[0]!r}" if near else ""
    ways = f"the id of a rebalance or an incident (or its first {ID_PREFIX_MIN} characters or more), GROUP, GROUP/GENERATION or GROUP@TIME"
    return f"{name!r} names no rebalance{hint}; give {ways}"
