"""Members without a log, as the assignments of the others show them."""

from __future__ import annotations

from collections.abc import Iterable

from models.events import names_field
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.knowledge import GroupKnowledge

WHOLE_ASSIGNORS = frozenset({"range", "roundrobin", "sticky"})
"""Assignors that give out every partition at once (RangeAssignor, RoundRobinAssignor, StickyAssignor).

Members of a cooperative one name only what they get anew, and some partitions wait for the next generation.
"""

_DIGITS_MAX = 9
"""Digits of a partition's number, an int32."""


def gaps_in_assignment(phase: LoggedJoinPhase, members: GenerationMembers, known: GroupKnowledge) -> list[MemberAction]:
    """Assignments of all known members between which a partition is missing.

    A member that no line names has it: partitions are numbered from 0, and who gets one of a topic shares it with its other subscribers.
    Empty if each is there, or may be.
    """
    generation, began = phase.window.generation_before, phase.window.previous_joined_at
    if generation is None or began is None or known.assignors.get(generation) not in WHOLE_ASSIGNORS:
        return []
    assigned: dict[str | None, MemberAction] = {}
    for action in phase.actions_of(ActionKind.ASSIGNED, start=began, end=phase.start):
        assigned.setdefault(phase.actor(action), action)
    actors = members.before
    if not actors or any(actor not in assigned or "partitions" not in assigned[actor].event.fields for actor in actors):
        return []
    taken = [assigned[actor] for actor in actors]
    return taken if _has_gap(name for action in taken for name in names_field(action.event, "partitions")) else []


def _has_gap(partitions: Iterable[str]) -> bool:
    """Whether a number below a topic's highest is missing."""
    numbers: dict[str, set[int]] = {}
    for partition in partitions:
        topic, _, number = partition.rpartition("-")
        if number.isdecimal() and len(number) <= _DIGITS_MAX:
            numbers.setdefault(topic, set()).add(int(number))
    return any(max(known) >= len(known) for known in numbers.values())
