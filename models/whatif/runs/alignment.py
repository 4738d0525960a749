"""Matches rebalances of two histories with each other."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from models.tolerances import int_tolerance
from models.whatif.runs.simulated_rebalances import SimulatedRebalance

AreAlike = Callable[[SimulatedRebalance, SimulatedRebalance], bool]
DEPARTURES = frozenset({"leave", "heartbeat_expiration", "pending_sync_expiration"})
"""Triggers that mean that a member is gone, however it is noticed."""
ASKED_BY_LEADER = "leader_rejoin"
NEAR_MS = int_tolerance("whatif.alignment.near_ms")
"""Maximum distance of two starts of one rebalance.

A heartbeat interval, and what a busy machine adds.
"""


def pairs_by_time(left: Sequence[int], right: Sequence[int], near_ms: int = NEAR_MS) -> list[tuple[int, int]]:
    """Pair the indexes of two sorted lists of times, nearest first."""
    close: list[tuple[int, int, int]] = []
    first = 0
    for index, at_ms in enumerate(left):
        while first < len(right) and right[first] < at_ms - near_ms:
            first += 1
        other = first
        while other < len(right) and right[other] <= at_ms + near_ms:
            close.append((abs(right[other] - at_ms), index, other))
            other += 1
    pairs: list[tuple[int, int]] = []
    taken: tuple[set[int], set[int]] = (set(), set())
    for _, index, other in sorted(close):
        if index not in taken[0] and other not in taken[1]:
            taken[0].add(index)
            taken[1].add(other)
            pairs.append((index, other))
    return sorted(pairs)


def of_runs(before: Sequence[SimulatedRebalance], after: Sequence[SimulatedRebalance], moved_ms: int = 0) -> dict[int, int]:
    """Match rebalances of one run with those of another, by index.

    One that begins at another time is the same if member and kind are. `moved_ms` is the distance over which those that the
    leader asks for may move, sooner too.
    """
    matches = dict(pairs_by_time([row.start_ms for row in before], [row.start_ms for row in after]))
    if moved_ms:
        _match_moved(before, after, matches, moved_ms)
    for is_alike in (_is_same, _is_departure):
        _match_later(before, after, matches, is_alike)
    _match_sooner(before, after, matches)
    return matches


def _match_moved(before: Sequence[SimulatedRebalance], after: Sequence[SimulatedRebalance], matches: dict[int, int], moved_ms: int) -> None:
    """Match what the leader asks for at another time, nearest first."""
    taken = set(matches.values())
    left = [index for index, row in enumerate(before) if index not in matches and row.kind == ASKED_BY_LEADER]
    right = [index for index, row in enumerate(after) if index not in taken and row.kind == ASKED_BY_LEADER]
    pairs = pairs_by_time([before[index].start_ms for index in left], [after[index].start_ms for index in right], moved_ms)
    matches.update((left[place], right[other]) for place, other in pairs)


def _match_later(
    before: Sequence[SimulatedRebalance], after: Sequence[SimulatedRebalance], matches: dict[int, int], is_alike: AreAlike
) -> None:
    """Match rebalances that begin later in the other run; the order stays."""
    taken = set(matches.values())
    starts = [row.start_ms for row in after]
    limits = _limits(len(before), len(after), matches)
    for index, row in enumerate(before):
        if index in matches:
            continue
        for other in range(bisect_left(starts, row.start_ms), limits[index]):
            if other not in taken and is_alike(after[other], row):
                matches[index] = other
                taken.add(other)
                break


def _match_sooner(before: Sequence[SimulatedRebalance], after: Sequence[SimulatedRebalance], matches: dict[int, int]) -> None:
    """Match rebalances that begin sooner in the other run; the order stays."""
    inverse = {other: index for index, other in matches.items()}
    _match_later(after, before, inverse, _is_same)
    matches.update((index, other) for other, index in inverse.items())


def _limits(count: int, most: int, matches: Mapping[int, int]) -> list[int]:
    """For each index the smallest match of a later one."""
    limits = [most] * count
    limit = most
    for index in range(count - 1, -1, -1):
        limits[index] = limit
        limit = min(limit, matches.get(index, limit))
    return limits


def _is_same(row: SimulatedRebalance, other: SimulatedRebalance) -> bool:
    return row.trigger == other.trigger != "" and (row.kind == other.kind or _is_departure(row, other))


def _is_departure(row: SimulatedRebalance, other: SimulatedRebalance) -> bool:
    """Whether both are departures.

    Of several members that go together any may be missed first.
    """
    return {row.kind, other.kind} <= DEPARTURES
