"""Parts of a long run, joined where both are at rest.

A part starts the members that run at its beginning, and goes on into the next one until both are at rest with the same
members: from there they fare the same (see `courses`). Parts are those of the history, however many processes run them, so
that an answer does not depend on the machine.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from models.tolerances import int_tolerance
from models.whatif.behaviour.members import Act, ActKind, Behaviour
from models.whatif.runs.courses import FinishedRun, Rest
from models.whatif.runs.run import QUIET_MS, Run, RunSettings, acts_of

OVERLAP_ACTS = int_tolerance("whatif.parts.overlap_acts")
"""Actions of the next part that a part runs, too.

It comes to rest with it.
"""


@dataclass(frozen=True, slots=True)
class PartialRun:
    """Some of a run's actions.

    `ends_ms` is None if other parts follow. `shared_ms` are the first and last times of actions that other parts run, too.
    """

    behaviour: Behaviour
    settings: RunSettings
    acts: Sequence[Act]
    ends_ms: int | None
    shared_ms: Sequence[tuple[int, int]] = ()

    def finished(self, other: FinishedRun | None = None) -> FinishedRun:
        """Rebalances and moments of rest.

        What is the same in `other` is taken from it.
        """
        return Run(self.behaviour, self.settings).run(self.acts, self.ends_ms, other)

    def without_inner_rests(self, run: FinishedRun) -> FinishedRun:
        """What joining its run with other parts takes."""
        rests = [rest for rest in run.rests if any(first <= rest.act.at_ms <= last for first, last in self.shared_ms)]
        return FinishedRun([], run.rows, rests)


@dataclass(frozen=True, slots=True)
class RunPart:
    """The same part of several runs.

    If they are shared, later ones take from the first what is the same in both.
    """

    runs: Sequence[PartialRun]
    is_shared: bool = False

    def finished(self) -> list[FinishedRun]:
        """Rebalances of each run, and its moments of rest near other parts."""
        first = self.runs[0].finished()
        later = [run.finished(first if self.is_shared and run.settings == self.runs[0].settings else None) for run in self.runs[1:]]
        return [run.without_inner_rests(finished) for run, finished in zip(self.runs, (first, *later), strict=True)]


PartRunner = Callable[[Sequence[RunPart]], Iterable[list[FinishedRun]]]
"""Runs parts, in any place, and gives their ends in order."""


def in_turn(parts: Sequence[RunPart]) -> Iterator[list[FinishedRun]]:
    """Run one part after the other, here."""
    return (part.finished() for part in parts)


def parts_of(behaviour: Behaviour, settings: RunSettings, cuts_ms: Sequence[int]) -> list[PartialRun]:
    """The parts of a run between these times."""
    acts = acts_of(behaviour, settings)
    lives_apart = replace(behaviour, members={name: replace(member, lives=[]) for name, member in behaviour.members.items()}, nudges=[])
    places = [0, *(bisect_left(acts, cut_ms, key=lambda act: act.at_ms) for cut_ms in cuts_ms), len(acts)]
    parts = []
    for first, last in pairwise(places):
        begun = _begun(acts, first, settings) if first else []
        ends_ms = behaviour.ends_ms if last == len(acts) else None
        overlaps = [acts[place : place + OVERLAP_ACTS] for place in (first, last) if 0 < place < len(acts)]
        shared_ms = [(overlap[0].at_ms, overlap[-1].at_ms) for overlap in overlaps]
        until = last + (OVERLAP_ACTS if ends_ms is None else 0)
        parts.append(PartialRun(lives_apart, settings, [*begun, *acts[first:until]], ends_ms, shared_ms))
    return parts


def _begun(acts: Sequence[Act], place: int, settings: RunSettings) -> list[Act]:
    """Actions that bring members into what they are before the action at a place.

    They come early enough for those that are held to be missed.
    """
    running: dict[str, Act] = {}
    silences: dict[str, Act] = {}
    at_ms = acts[place].at_ms if place < len(acts) else acts[-1].at_ms
    for act in acts[:place]:
        if act.kind is ActKind.START:
            running[act.member] = act
        if act.kind in {ActKind.START, ActKind.CLOSE, ActKind.KILL}:
            silences.pop(act.member, None)
        if act.kind in {ActKind.CLOSE, ActKind.KILL}:
            running.pop(act.member, None)
        elif act.kind in {ActKind.PAUSE, ActKind.BUSY} and act.at_ms + act.lasts_ms > at_ms:
            silences[act.member] = act
    lead_ms = max(settings.session_ms.values()) + max(settings.max_poll_ms.values()) + settings.initial_delay_ms + QUIET_MS
    starts = [replace(running[name], at_ms=at_ms - 2 * lead_ms) for name in running]
    holds = [
        replace(act, at_ms=at_ms - lead_ms, lasts_ms=act.at_ms + act.lasts_ms - at_ms + lead_ms)
        for name, act in silences.items()
        if name in running
    ]
    return [*starts, *holds]


def joined(parts: Sequence[FinishedRun], cuts_ms: Sequence[int]) -> FinishedRun | None:
    """The run of parts that overlap.

    None if two of them are not at rest at the same action with the same members.
    """
    whole = parts[0]
    for part, cut_ms in zip(parts[1:], cuts_ms, strict=True):
        at_rest = {rest.act: rest for rest in part.rests}
        both = ((rest, at_rest.get(rest.act)) for rest in _rests_after(whole, cut_ms))
        meeting = next(((rest, same) for rest, same in both if same is not None and same.members == rest.members), None)
        if meeting is None:
            return None
        whole = _spliced(whole, part, *meeting)
    return whole


def _rests_after(run: FinishedRun, cut_ms: int) -> Iterator[Rest]:
    return iter(run.rests[bisect_left(run.rests, cut_ms, key=lambda rest: rest.act.at_ms) :])


def _spliced(run: FinishedRun, part: FinishedRun, rest: Rest, same: Rest) -> FinishedRun:
    """A run up to a rest, and another one after it."""
    rows = [*run.rows[: rest.rows], *part.rows[same.rows :]]
    before = [early for early in run.rests if early.act.at_ms < rest.act.at_ms]
    later = [replace(late, rows=late.rows - same.rows + rest.rows) for late in part.rests if late.act.at_ms >= same.act.at_ms]
    return FinishedRun([], rows, [*before, *later])
