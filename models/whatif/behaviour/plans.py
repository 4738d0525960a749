"""Behaviour as it would be with other instances, or another pace of restarts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from models.tolerances import int_tolerance
from models.whatif.behaviour.members import Behaviour, Life, MemberBehaviour, Nudge
from models.whatif.configuration import Configuration

ONE_ROLL_MS = int_tolerance("whatif.plans.one_roll_ms")
"""Restarts of different members that are closer than this belong to one rolling restart."""


def planned(behaviour: Behaviour, configuration: Configuration, *, on_time: bool = False) -> Behaviour:
    """Behaviour under a configuration that changes who comes when.

    `on_time` is whether a run tells when heartbeats are sent: each rebalance begins them anew, so that without one that is
    avoided the last contact is another.
    """
    made = behaviour
    beats_otherwise = configuration.heartbeat_interval_ms is not None or configuration.initial_delay_ms is not None
    if on_time or configuration.consumer_protocol or beats_otherwise:
        made = without_contacts(made)
    if configuration.instances is not None:
        made = resized(made, configuration.instances)
    if configuration.restart_pause_ms is not None:
        made = paced(made, configuration.restart_pause_ms)
    if configuration.scheduled_delay_ms is not None:
        made = rescheduled(made, configuration.scheduled_delay_ms)
    return made


def rescheduled(behaviour: Behaviour, delay_ms: int) -> Behaviour:
    """Behaviour of Connect's workers that hand out lost tasks after another delay.

    The delay of the first loss covers those that follow within it; without one the tasks go out at once.
    """
    nudges: list[Nudge] = []
    until_ms: int | None = None
    for nudge in behaviour.nudges:
        if nudge.waited_ms is None:
            nudges.append(nudge)
            continue
        lost_ms = nudge.at_ms - nudge.waited_ms
        if delay_ms and (until_ms is None or lost_ms > until_ms):
            until_ms = lost_ms + delay_ms
            nudges.append(replace(nudge, at_ms=until_ms))
    return replace(behaviour, nudges=nudges)


def without_contacts(behaviour: Behaviour) -> Behaviour:
    """Behaviour whose members send heartbeats at other times than they did.

    Last contacts before silences are then not those of the logs.
    """
    members = {}
    for name, member in behaviour.members.items():
        lives = [
            replace(life, heard_ms=None, stretches=[replace(stretch, heard_ms=None) for stretch in life.stretches]) for life in member.lives
        ]
        members[name] = replace(member, lives=lives)
    return replace(behaviour, members=members)


def resized(behaviour: Behaviour, count: int) -> Behaviour:
    """Behaviour of as many members as asked.

    Those that came last are left out; more come with the first and stay.
    """
    ordered = sorted(behaviour.members.values(), key=lambda member: (member.lives[0].start_ms, member.name))
    kept = {member.name: member for member in ordered[:count]}
    first_ms = ordered[0].lives[0].start_ms if ordered else behaviour.begins_ms
    for number in range(len(ordered), count):
        kept[f"+{number + 1}"] = MemberBehaviour(f"+{number + 1}", lives=[Life(first_ms)])
    return replace(behaviour, members=kept)


@dataclass(frozen=True, slots=True)
class Restart:
    """The end of a member's process and the start of its next one."""

    member: str
    life: int
    end_ms: int
    start_ms: int


def paced(behaviour: Behaviour, pause_ms: int) -> Behaviour:
    """Behaviour with a pause between one member's return and the next's end."""
    members = {name: replace(member, lives=[replace(life) for life in member.lives]) for name, member in behaviour.members.items()}
    for roll in _rolls(_restarts(behaviour)):
        back_ms: int | None = None
        for restart in roll:
            end_ms = restart.end_ms if back_ms is None else back_ms + pause_ms
            lives = members[restart.member].lives
            end_ms = _between(lives[restart.life], lives[restart.life + 1], end_ms, restart)
            back_ms = end_ms + restart.start_ms - restart.end_ms
            lives[restart.life].end_ms, lives[restart.life + 1].start_ms = end_ms, back_ms
    return replace(behaviour, members=members)


def _restarts(behaviour: Behaviour) -> list[Restart]:
    """Orderly restarts of all members, in order of time."""
    restarts = [
        Restart(name, index, life.end_ms, following.start_ms)
        for name, member in behaviour.members.items()
        for index, (life, following) in enumerate(pairwise(member.lives))
        if life.end_ms is not None and life.is_orderly
    ]
    return sorted(restarts, key=lambda restart: restart.end_ms)


def _rolls(restarts: Sequence[Restart]) -> Iterator[list[Restart]]:
    """Rolling restarts: each member once, one soon after the other."""
    roll: list[Restart] = []
    for restart in restarts:
        if roll and (restart.end_ms - roll[-1].start_ms > ONE_ROLL_MS or restart.member in {step.member for step in roll}):
            yield roll
            roll = []
        roll.append(restart)
    if roll:
        yield roll


def _between(life: Life, following: Life, end_ms: int, restart: Restart) -> int:
    """End of a process, after its own events and before the next one's."""
    earliest_ms = max([life.start_ms, *(stretch.until_ms or stretch.from_ms for stretch in life.stretches)]) + 1
    marks = [stretch.from_ms for stretch in following.stretches] + ([following.end_ms] if following.end_ms is not None else [])
    away_ms = restart.start_ms - restart.end_ms
    return max(earliest_ms, min([end_ms, *(mark - away_ms - 1 for mark in marks)]))
