"""Members that a rolling restart stopped, and whether they came back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from models.downtime import NAMELESS
from models.incidents.absences import act_of
from models.rows import Person, Rebalance

_LEFT = frozenset({"member_leave", "session_timeout", "poll_timeout"})


def display_name(person: Person) -> str:
    """The best name of a person."""
    return person.client_id or person.instance_id or person.member_id or NAMELESS


def restarted_members(rows: Iterable[Rebalance]) -> set[str]:
    """Members that left and came back; `rows` must be in order."""
    left: set[str] = set()
    members: set[str] = set()
    for row in rows:
        actors = {display_name(person) for person in row.offenders}
        act = act_of(row)
        if act == "member_restart":
            members |= actors
        elif act in _LEFT and row.outcome != "empty":
            left |= actors
        elif row.cause == "member_join":
            members |= actors & left
    return members


def missing_members(rows: Sequence[Rebalance]) -> set[str]:
    """Members that left and were not back two restarts later.

    A roll-out goes on once an instance is back, so such a one failed to start.
    """
    missing: dict[str, int] = {}
    for row in rows:
        actors = {display_name(person) for person in row.offenders}
        if row.cause in _LEFT and row.outcome != "empty":
            missing.update(dict.fromkeys(actors - missing.keys(), 0))
        elif row.cause in {"member_join", "member_restart"}:
            for actor in actors:
                missing.pop(actor, None)
            for actor in missing:
                missing[actor] += 1
    return {actor for actor, followers in missing.items() if followers > 1 and actor != NAMELESS}
