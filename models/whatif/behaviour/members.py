"""Behaviour of a group's members, apart from any configuration.

A member is a name over several processes. A process starts, ends orderly or not, and has stretches in which it answers
late or not at all. Times are milliseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from models.tolerances import int_tolerance


class StretchKind(StrEnum):
    """What a process does in a stretch."""

    PAUSE = "held"
    """Nothing at all: garbage collection, a stopped process, a machine without CPU time."""
    BUSY = "busy"
    """The application does not poll; heartbeats go on."""


class ActKind(StrEnum):
    """What a member does, or what befalls it, at a time."""

    START = "start"
    CONTACT = "contact"
    COMMIT = "commit"
    CLOSE = "close"
    KILL = "kill"
    PAUSE = "held"
    """The process stands still for a stretch."""
    BUSY = "busy"
    """The application does not poll for a stretch."""
    NUDGE = "nudge"
    """The leader joins again, for a reason outside the members' lives."""


_OF_STRETCH = {StretchKind.PAUSE: ActKind.PAUSE, StretchKind.BUSY: ActKind.BUSY}


@dataclass(frozen=True, slots=True)
class ProcessStretch:
    """A time in which a process is held or busy.

    `until_ms` is None if it never comes back, `heard_ms` the last contact before it, if that is known.
    """

    kind: StretchKind
    from_ms: int
    until_ms: int | None
    heard_ms: int | None = None


@dataclass(slots=True)
class Life:
    """One process of a member.

    `end_ms` is None if it still runs at the end of the logs; `is_orderly` is whether it closes its consumer; `heard_ms` is
    the last contact of one that is killed, if that is known.
    """

    start_ms: int
    end_ms: int | None = None
    is_orderly: bool = True
    stretches: list[ProcessStretch] = field(default_factory=list)
    heard_ms: int | None = None


@dataclass(slots=True)
class MemberBehaviour:
    """One member over its processes, with its own settings."""

    name: str
    instance: str | None = None
    session_ms: int | None = None
    max_poll_ms: int | None = None
    lives: list[Life] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Nudge:
    """A rejoin for reasons outside the members' lives, such as new partitions."""

    at_ms: int
    member: str | None
    waited_ms: int | None = None
    """Time since the loss of a worker of Connect, whose tasks it hands out."""


@dataclass(slots=True)
class Behaviour:
    """A group's members and what is known of their settings."""

    group: str
    begins_ms: int
    ends_ms: int
    protocol: str = "classic"
    assignor: str | None = None
    protocol_type: str | None = "consumer"
    heartbeat_ms: int = 3_000
    usual_session_ms: int | None = None
    """session.timeout.ms of most groups of the cluster."""
    commit_ms: int | None = None
    """auto.commit.interval.ms if members commit by themselves.

    A commit prolongs a session as a heartbeat does.
    """
    members: dict[str, MemberBehaviour] = field(default_factory=dict)
    nudges: list[Nudge] = field(default_factory=list)
    assumed: dict[str, str] = field(default_factory=dict)
    """What is not known from the logs, and what was taken instead, by kind."""

    def acts(self) -> Iterator[Act]:
        """All actions in order of time."""
        made = (act for member in self.members.values() for act in _acts_of(member))
        nudged = (Act(nudge.at_ms, ActKind.NUDGE, nudge.member or "") for nudge in self.nudges)
        yield from sorted([*made, *nudged], key=lambda act: act.at_ms)


@dataclass(frozen=True, slots=True)
class Act:
    """An action of a member at a time; `lasts_ms` of stretches."""

    at_ms: int
    kind: ActKind
    member: str
    lasts_ms: int = 0


FOREVER_MS = int_tolerance("whatif.members.forever_ms")
"""Length of a stretch without an end."""


def _acts_of(member: MemberBehaviour) -> Iterable[Act]:
    for life in member.lives:
        yield Act(life.start_ms, ActKind.START, member.name)
        for stretch in life.stretches:
            from_ms = yield from _contact(member, stretch.heard_ms, stretch.from_ms)
            lasts_ms = FOREVER_MS if stretch.until_ms is None else stretch.until_ms - from_ms
            if lasts_ms > 0:
                yield Act(from_ms, _OF_STRETCH[stretch.kind], member.name, lasts_ms)
        if life.end_ms is not None:
            end_ms = yield from _contact(member, life.heard_ms, life.end_ms)
            yield Act(end_ms, ActKind.CLOSE if life.is_orderly else ActKind.KILL, member.name)


def _contact(member: MemberBehaviour, heard_ms: int | None, usual_ms: int) -> Generator[Act, None, int]:
    """A last contact and the time right after it.

    The usual time if it is unknown.
    """
    if heard_ms is None:
        return usual_ms
    yield Act(heard_ms, ActKind.CONTACT, member.name)
    return heard_ms + 1
