"""Masters of broker sets in controller mode.

When a set had none, and when another broker became it. A broker keeps the locks of orderly queues in its memory, so a
new master has none. Brokers that are set up by hand keep their roles and log none of this.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from models.events import Event
from models.tolerances import int_tolerance

DETECTION_US = int_tolerance("rocketmq.set_masters.detection_us")
"""Maximum time from a broker's loss to the election that replaces it.

If one failed between them, the set had no master all the while.
"""


@dataclass(slots=True)
class MasterChange:
    """A set's way from one master to the next.

    `ended_at` is None while it has none.
    """

    broker: str
    began_at: int
    ended_at: int | None = None
    elected_at: int | None = None
    """The first line that tells of the new master."""
    master: str | None = None
    """Number of the new master in its set."""
    failed: int = 0
    lines: list[Event] = field(default_factory=list)


@dataclass(slots=True)
class SetMasters:
    """Changes of masters, by broker set, from lines in order of time."""

    changes: dict[str, list[MasterChange]] = field(default_factory=dict)
    _lost: dict[str, tuple[int, Event]] = field(default_factory=dict)
    """The last broker of a set that was missed, and when."""

    def feed(self, event: Event, at: int) -> None:
        """Take a line about a set."""
        broker = str(event.fields.get("broker") or "")
        if not broker:
            return
        if event.name == "RocketBrokerInactive" and event.fields.get("role") == "slave":
            self._lost.pop(broker, None)  # its set needs no election
        elif event.name == "RocketBrokerInactive":
            self._lost[broker] = at, event
        elif event.name == "RocketElectionFailed":
            change = self._open(broker, at)
            change.failed += 1
            change.lines.append(event)
        elif event.name == "RocketMasterElected" or event.fields.get("role") == "master":
            self._elected(broker, event, at)

    def _open(self, broker: str, at: int) -> MasterChange:
        known = self.changes.setdefault(broker, [])
        if known and known[-1].ended_at is None:
            return known[-1]
        lost_at, line = self._lost.pop(broker, (at, None))
        since = lost_at if at - lost_at <= DETECTION_US else at
        known.append(MasterChange(broker, since, lines=[line] if line is not None and since == lost_at else []))
        return known[-1]

    def _elected(self, broker: str, event: Event, at: int) -> None:
        known = self.changes.get(broker)
        if known and known[-1].ended_at is not None and at - known[-1].ended_at <= DETECTION_US:
            change = known[-1]  # a controller and the broker itself tell of one election
            change.ended_at = max(change.ended_at or at, at)
        else:
            change = self._open(broker, at)
            change.ended_at = change.elected_at = at
        change.master = change.master or _number(event)
        change.lines.append(event)


def _number(event: Event) -> str | None:
    number = event.fields.get("broker_id")
    return None if number is None else str(number)
