"""Controllers over time: who decided on leaders, and when nobody did.

A partition that loses its leader while there is no controller waits for the next controller, even if replicas are in
sync.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from models.events import Event
from models.tolerances import int_tolerance

QUORUM_LOST = "QuorumLost"
_LATE_US = int_tolerance("kafka.controllers.late_us")
"""Delay within which a new controller elects missing leaders."""


@dataclass(slots=True)
class ControllerTerm:
    """Term of one broker as controller.

    Its end is None until a resignation or the broker's departure shows it.
    """

    node: str
    began_at: int
    began: Event
    ended_at: int | None = None
    ended: Event | None = None


@dataclass(slots=True)
class Controllers:
    """The controllers of a cluster, in order of time."""

    reigns: list[ControllerTerm] = field(default_factory=list)
    failures: list[Event] = field(default_factory=list)
    """Elections without a majority, the first of each stretch without a controller."""

    def elected(self, node: str, at: int, event: Event) -> None:
        """Record that a broker became controller."""
        self.reigns.append(ControllerTerm(node, at, event))

    def over(self, node: str, at: int, event: Event) -> None:
        """Record that a broker stopped being controller."""
        reign = self.reigns[-1] if self.reigns else None
        if reign is not None and reign.node == node and reign.ended_at is None and at >= reign.began_at:
            reign.ended_at, reign.ended = at, event

    def failed(self, event: Event) -> None:
        """Record an election for which too few voters answered."""
        since = self.reigns[-1].began_at if self.reigns else None
        if not self.failures or (since is not None and self.failures[-1].time_us < since):
            self.failures.append(event)

    def has_lost_quorum(self, at: int) -> bool:
        """Whether a controller that heard from too few voters has no successor yet."""
        reign = self.reigns[-1] if self.reigns else None
        ended = reign.ended if reign is not None else None
        return ended is not None and ended.name == QUORUM_LOST and ended.time_us <= at

    def forget(self, before: int) -> None:
        """Prune terms that had a successor before a time."""
        followed = sum(after.began_at < before for after in self.reigns[1:])
        del self.reigns[: max(followed - 1, 0)]
        self.failures = [event for event in self.failures if event.time_us >= before]

    def missing(self, start: int, end: int | None) -> list[Event]:
        """Lines showing that the controller was missing between two times.

        Empty if there was one, or if no line shows it.
        """
        for before, after in zip([None, *self.reigns], [*self.reigns, None], strict=True):
            ended = before.ended if before is not None else None
            if after is None and ended is None:
                continue
            ended_at = before.ended_at if before is not None else None
            low = ended_at if ended_at is not None else after.began_at if after is not None else None
            high = after.began_at if after is not None else None
            begins_in_time = end is None or low is None or low <= end
            if begins_in_time and (high is None or start <= high + _LATE_US):
                tried = self._failed_between(start if low is None else low, end if high is None else high)
                return [event for event in (ended, *tried, after.began if after is not None else None) if event is not None]
        return [] if self.reigns else self._failed_between(start, end)

    def _failed_between(self, start: int, end: int | None) -> list[Event]:
        return [event for event in self.failures if start <= event.time_us and (end is None or event.time_us <= end)]
