"""Variants of a behaviour within what the logs leave open.

Members' starts vary by what a busy machine adds from run to run, and a silence began at any time between the last contact and
the next one that was due. A process without a log may have been restarted or held.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from models.tolerances import int_tolerance
from models.whatif.behaviour.members import FOREVER_MS, Behaviour, Life, MemberBehaviour, ProcessStretch
from models.whatif.history import GroupBaseline, GroupReading

VARIANTS = 9
"""Number of behaviours that are run, the logged one included."""
SHIFT_MS = int_tolerance("whatif.doubt.shift_ms")
"""Half the range of starts and returns.

Recordings of one timetable on a busy machine show 0.1 to 1 s from run to run. No more is varied than what a run of the
present configuration misses.
"""
DRIFT_PERCENT = 1
"""Step by which heartbeats are late; recordings show 0.2 to 5 %."""
DRIFT_STEPS = 4
"""Number of such steps."""


def readings(history: GroupBaseline) -> Iterator[GroupReading]:
    """The behaviour that was read, and another one that the logs allow for."""
    first = history.reading()
    yield first
    if "process" in first[0].assumed:
        yield history.reading(restarts=False)


def variants(history: GroupBaseline) -> Iterator[GroupReading]:
    """The same behaviour with other delays, if single delays can matter."""
    if history.is_long:
        return
    behaviour, settings, before = history.reading()
    error_ms = history.wait_error_ms()
    for seed in range(1, VARIANTS):
        late_ms = 0 if history.is_on_time() else settings.heartbeat_ms * (seed % DRIFT_STEPS) * DRIFT_PERCENT // 100
        made = replace(settings, heartbeat_ms=settings.heartbeat_ms + late_ms)
        yield shifted(behaviour, seed, min(SHIFT_MS, error_ms)), made, before


def shifted(behaviour: Behaviour, seed: int, most_ms: int = SHIFT_MS) -> Behaviour:
    """The same behaviour with other delays of starts."""
    dice = random.Random(seed)  # noqa: S311 - repeatable
    members = {name: _shifted(member, dice, most_ms) for name, member in behaviour.members.items()}
    return replace(behaviour, members=members)


def _shifted(member: MemberBehaviour, dice: random.Random, most_ms: int) -> MemberBehaviour:
    return replace(member, lives=[_shifted_life(life, dice, most_ms) for life in member.lives])


def _shifted_life(life: Life, dice: random.Random, most_ms: int) -> Life:
    """A process that starts and comes back a little earlier or later."""
    end_ms = _silence_begins(life.heard_ms, life.end_ms, dice) if life.end_ms is not None else None
    marks = [stretch.from_ms for stretch in life.stretches] + ([end_ms] if end_ms is not None else [])
    start_ms = min([life.start_ms + dice.randint(-most_ms, most_ms), *(at_ms - 1 for at_ms in marks)])
    latest_ms = end_ms - 1 if end_ms is not None else FOREVER_MS * 10
    stretches = [_shifted_stretch(stretch, latest_ms, dice, most_ms) for stretch in life.stretches]
    return Life(start_ms, end_ms, life.is_orderly, stretches, life.heard_ms)


def _silence_begins(heard_ms: int | None, midway_ms: int, dice: random.Random) -> int:
    """A time between a last contact and the next one that was due.

    The next one was due as long after the middle as the last contact lies before it.
    """
    return midway_ms if heard_ms is None else heard_ms + 1 + round(dice.random() * 2 * (midway_ms - heard_ms))


def _shifted_stretch(stretch: ProcessStretch, latest_ms: int, dice: random.Random, most_ms: int) -> ProcessStretch:
    from_ms = _silence_begins(stretch.heard_ms, stretch.from_ms, dice)
    if stretch.until_ms is None:
        return replace(stretch, from_ms=from_ms)
    until_ms = stretch.until_ms + dice.randint(-most_ms, most_ms)
    return replace(stretch, from_ms=from_ms, until_ms=max(from_ms + 1, min(latest_ms, until_ms)))
