"""Courses of runs, which other runs of nearly the same behaviour share.

Between two moments at which a group is at rest with the same members, members that do the same fare the same, but for
when in their interval they send heartbeats. Two readings of a long history differ in few places, so that the second
one is run only there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from models.whatif.behaviour.members import Act
from models.whatif.runs.simulated_rebalances import SimulatedRebalance


@dataclass(frozen=True, slots=True)
class Rest:
    """A moment before an act at which a group does nothing but heartbeats.

    `rows` is the number of rebalances so far.
    """

    act: Act
    members: frozenset[str]
    rows: int


@dataclass(slots=True)
class FinishedRun:
    """A run that is over, with its moments of rest."""

    acts: Sequence[Act]
    rows: list[SimulatedRebalance]
    rests: list[Rest]


@dataclass(slots=True)
class SharedCourse:
    """What a run may take from another one, whose acts are nearly the same."""

    acts: Sequence[Act]
    other: FinishedRun
    _times_ms: list[int] = field(init=False)
    _differs_ms: list[int] = field(init=False)
    _numbers: dict[Act, int] = field(init=False)
    """Rests of the other run by their acts."""
    _alike: defaultdict[frozenset[str], list[int]] = field(init=False)
    """The same by members, in order of time."""

    def __post_init__(self) -> None:
        self._times_ms = [act.at_ms for act in self.acts]
        self._differs_ms = sorted(act.at_ms for act in set(self.acts) ^ set(self.other.acts))
        self._numbers = {rest.act: number for number, rest in enumerate(self.other.rests)}
        self._alike = defaultdict(list)
        for number, rest in enumerate(self.other.rests):
            self._alike[rest.members].append(number)

    def after(self, rest: Rest) -> tuple[int, int, list[SimulatedRebalance]] | None:
        """The last rest with the same members before the runs differ.

        As the place of the act that follows, the time of the rest's act, and the rebalances on the way. None if there is none.
        """
        rests, number = self.other.rests, self._numbers.get(rest.act)
        if number is None or rests[number].members != rest.members:
            return None
        place = bisect_left(self._differs_ms, rest.act.at_ms)
        until_ms = self._differs_ms[place] if place < len(self._differs_ms) else rests[-1].act.at_ms
        alike = self._alike[rest.members]
        last = alike[bisect_right(alike, until_ms, key=lambda index: rests[index].act.at_ms) - 1]
        if last <= number:
            return None
        at_ms = rests[last].act.at_ms
        return bisect_left(self._times_ms, at_ms), at_ms, self.other.rows[rests[number].rows : rests[last].rows]
