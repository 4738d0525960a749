"""How well a run tells when members send their heartbeats.

A member hears of a rebalance with its next heartbeat, so waits depend on where in its interval each member is. A run
repeats that as long as clients are on time; on a busy machine heartbeats drift, and after minutes any wait up to an
interval is as likely as another.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from models.downtime import goes_on, stopped_seconds
from models.rows import Rebalance
from models.tolerances import float_tolerance, int_tolerance
from models.units import US_PER_MS
from models.whatif.behaviour.members import Behaviour
from models.whatif.runs.alignment import pairs_by_time
from models.whatif.runs.simulated_rebalances import SimulatedRebalance

CHANCE_MAX = float_tolerance("whatif.heartbeat_phases.chance_max")
"""Largest probability of such agreement by chance, the usual level of a test."""
REJOIN_DELAY_MS = int_tolerance("whatif.heartbeat_phases.late_ms")
"""Usual delay of a heartbeat and rejoin (`behaviour.heartbeats`)."""


def late_ms(rows: Sequence[Rebalance], before: Sequence[SimulatedRebalance], heartbeat_ms: int, ends_ms: int) -> int:
    """Time by which members rejoin later than in a run.

    Each rebalance begins the heartbeats anew, so that it adds up: a line through the origin is fitted to the errors.
    """
    errors = _errors_ms(rows, before, heartbeat_ms, ends_ms)
    weights = sum(number * number for number in range(1, len(errors) + 1))
    return max(0, sum(number * late for number, late in enumerate(errors, 1)) // weights) if weights else 0


def error_ms(rows: Sequence[Rebalance], before: Sequence[SimulatedRebalance], behaviour: Behaviour, ends_ms: int, tried: int = 1) -> int:
    """Largest error of a run's waits, or else of members' last contacts.

    A whole heartbeat interval if phases are unknown; `tried` is among how many intervals this one is chosen.
    """
    heartbeat_ms = behaviour.heartbeat_ms
    errors = [abs(late) for late in _errors_ms(rows, before, heartbeat_ms, ends_ms) or _contact_errors_ms(behaviour, before)]
    largest = max(errors, default=heartbeat_ms)
    by_chance = min(1.0, 2 * largest / heartbeat_ms) ** len(errors)
    return largest if errors and by_chance * tried <= CHANCE_MAX else heartbeat_ms


def _errors_ms(rows: Sequence[Rebalance], before: Sequence[SimulatedRebalance], heartbeat_ms: int, ends_ms: int) -> list[int]:
    """Errors of the waits that end with a heartbeat.

    Who just misses one waits for the next, so that whole intervals do not count.
    """
    errors_ms = []
    for index, other in pairs_by_time([row.began // US_PER_MS for row in rows], [recurrence.start_ms for recurrence in before]):
        row, run = rows[index], before[other]
        waited_ms = run.stopped_ms(ends_ms)
        if not (run.was_empty or run.outcome == "empty" or goes_on(row)) and 0 < waited_ms <= heartbeat_ms + REJOIN_DELAY_MS:
            errors_ms.append(off_ms(round(stopped_seconds(row) * 1000) - waited_ms, heartbeat_ms))
    return errors_ms


def _contact_errors_ms(behaviour: Behaviour, before: Sequence[SimulatedRebalance]) -> Iterator[int]:
    """Errors of the heartbeats after which members were silent.

    Those that are more likely to have been commits do not count.
    """
    assigned_ms = [row.ended_ms for row in before if row.outcome == "stable" and row.ended_ms is not None]
    lives = [life for member in behaviour.members.values() for life in member.lives]
    heard = [*(life.heard_ms for life in lives), *(stretch.heard_ms for life in lives for stretch in life.stretches)]
    for heard_ms in sorted(contact_ms for contact_ms in heard if contact_ms is not None):
        index = bisect_left(assigned_ms, heard_ms)
        if index:
            after_ms = heard_ms - assigned_ms[index - 1]
            late_ms = off_ms(after_ms, behaviour.heartbeat_ms)
            if behaviour.commit_ms is None or abs(late_ms) <= abs(off_ms(after_ms, behaviour.commit_ms)):
                yield late_ms


def off_ms(time_ms: int, interval_ms: int) -> int:
    """Distance of a time from the nearest whole number of intervals."""
    half_ms = interval_ms // 2
    return (time_ms + half_ms) % interval_ms - half_ms
