"""Members' actions in order of time, on the coordinator's clock.

Each log has a clock of its own. Its difference to the coordinator's gets known while lines come, so actions that are held are
put right before causes are ranked by them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from models.events import Event, Witness
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.client_clocks import Skews
from models.kafka.observations.log_rotation import log_before_rotation

_JOINS = frozenset({ActionKind.JOIN, ActionKind.REJOIN})


@dataclass(slots=True)
class ActionTimeline:
    """Holds actions that rebalances may ask for, and clocks of logs."""

    actions: list[MemberAction] = field(default_factory=list)
    skews: Skews = field(default_factory=Skews)
    skew_of_log: dict[str, int] = field(default_factory=dict)
    behind: dict[str, int] = field(default_factory=dict)
    """Former differences of logs, by which their actions were corrected."""

    def feed_clocks(self, event: Event) -> None:
        """Learn from one event by how much clocks differ."""
        for log, node in self.skews.feed(event):
            self.behind.setdefault(log, self.skew_of_log.get(log, 0))
            self.skew_of_log[log] = self.skews.bounds[log, node].skew

    def skew_of(self, event: Event) -> int:
        """Difference of the clock that an event was logged by."""
        return self.skew_of_log.get(log_before_rotation(event.place.file), 0) if event.witness is Witness.CLIENT else 0

    def joining_until(self, ends: Mapping[str, int], since: int) -> int:
        """Last time in logs of clients that asked to join, 0 without any.

        `ends` has the last time in each client's file, of lines of any kind.
        """
        joins = (
            action for action in self.actions if action.at >= since and action.kind in _JOINS and action.event.witness is Witness.CLIENT
        )
        joining = {log_before_rotation(action.event.place.file) for action in joins}
        return self._end_of(joining, ends) if joining else 0

    def end_of_log(self, ends: Mapping[str, int], event: Event) -> int:
        """Last time in the log of a client's line, 0 if unknown."""
        return self._end_of({log_before_rotation(event.place.file)}, ends)

    def _end_of(self, logs: Set[str], ends: Mapping[str, int]) -> int:
        by_log = ((log_before_rotation(file), at) for file, at in ends.items())
        return max((at - self.skew_of_log.get(log, 0) for log, at in by_log if log in logs), default=0)

    def on_coordinators_clock(self, action: MemberAction) -> MemberAction:
        """An action at the time that held actions of its log have."""
        if action.event.witness is not Witness.CLIENT:
            return action
        log = log_before_rotation(action.event.place.file)
        skew = self.behind.get(log, self.skew_of_log.get(log, 0))
        return replace(action, at=action.at - skew) if skew else action

    def add(self, action: MemberAction) -> None:
        """Put an action into its place."""
        kept = self.actions
        if not kept or kept[-1].at <= action.at:  # as nearly all: a search costs more
            kept.append(action)
        else:
            insort(kept, action, key=lambda a: a.at)

    def set_clocks(self) -> None:
        """Correct held actions by each log's known clock difference."""
        if not self.behind:
            return
        shifts = {log: self.skew_of_log[log] - skew for log, skew in self.behind.items()}
        self.behind = {}
        for index, action in enumerate(self.actions):
            shift = shifts.get(log_before_rotation(action.event.place.file)) if action.event.witness is Witness.CLIENT else None
            if shift:
                self.actions[index] = replace(action, at=action.at - shift)
        self.actions.sort(key=lambda action: action.at)

    def logs(self) -> set[str]:
        """Logs that held actions come from."""
        return {log_before_rotation(action.event.place.file) for action in self.actions}

    def forget_until(self, at: int) -> None:
        """Drop actions up to a time, that one included."""
        drop = next((index for index, action in enumerate(self.actions) if action.at > at), len(self.actions))
        del self.actions[:drop]

    def forget_before(self, at: int) -> None:
        """Drop actions before a time."""
        del self.actions[: bisect_left(self.actions, at, key=lambda action: action.at)]

    def keep_last(self, count: int) -> None:
        """Drop all but the last actions."""
        self.set_clocks()
        del self.actions[:-count]

    def forget_logs(self, logs: set[str]) -> None:
        """Discard the clocks of logs that have been silent for long."""
        self.skews.forget_logs(logs)
        self.set_clocks()
        for log in logs:
            self.skew_of_log.pop(log, None)
