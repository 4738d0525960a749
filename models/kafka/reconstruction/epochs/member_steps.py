"""Steps of members towards a target, as their coordinator logs them.

Share and streams groups log each step at INFO, consumer groups from 3.8 to 3.9. An epoch is complete when its last
member has reached it. The member that was last to give up partitions that others waited for held it up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass, field

from models.events import Event, text_field
from models.kafka.observations.reconciliation import MEMBER_STABLE, ReconciliationSpan, slow_members
from models.kafka.observations.roster import Roster
from models.rows import Person

UNREVOKED = "UNREVOKED"
"""Prefix of states in which a member has partitions to revoke."""


@dataclass(slots=True)
class MemberStep:
    """One step of a member; `has_all` if it has its whole target."""

    at: int
    member_id: str
    epoch: int
    has_all: bool
    must_revoke: bool = False


@dataclass(slots=True)
class MemberSteps:
    """Steps of a group's members, in order of time."""

    steps: list[MemberStep] = field(default_factory=list)

    def feed(self, event: Event) -> None:
        """Take a line about a member's step."""
        epoch, state = event.fields.get("member_epoch"), text_field(event, "state") or ""
        if event.member_id and isinstance(epoch, int):
            step = MemberStep(event.time_us, event.member_id, epoch, state.upper() == MEMBER_STABLE, state.startswith(UNREVOKED))
            self.steps.insert(bisect_left(self.steps, step.at + 1, key=_at), step)

    def shows(self, began: int, until: int) -> bool:
        """Whether steps are logged in this time."""
        return bool(self._within(began, until))

    def missing(self, epoch: int | None, began: int, until: int, members: Collection[str]) -> set[str]:
        """Members that have not reached an epoch."""
        arrived = {step.member_id for step in self._within(began, until) if step.has_all and step.epoch >= (epoch or 0)}
        return set(members) - arrived

    def reached_at(self, epoch: int | None, began: int, until: int, members: Collection[str]) -> int | None:
        """Time at which the last member had its whole target, None if never."""
        if epoch is None or not members or self.missing(epoch, began, until, members):
            return None
        first: dict[str, int] = {}
        for step in self._within(began, until):
            if step.has_all and step.epoch >= epoch:
                first.setdefault(step.member_id, step.at)
        return max(first[member] for member in members)

    def blockers(self, began: int, until: int, roster: Roster) -> list[Person]:
        """The member that revoked clearly later than all others."""
        spans: dict[str, ReconciliationSpan] = {}
        for step in self._within(began, until):
            if step.must_revoke:
                spans.setdefault(step.member_id, ReconciliationSpan(step.member_id, roster.client_of(step.member_id), step.at))
            elif (span := spans.get(step.member_id)) is not None and span.ended is None:
                span.ended = step.at
        return slow_members(spans.values(), roster)

    def forget(self, before: int) -> None:
        """Discard steps before a time."""
        del self.steps[: bisect_left(self.steps, before, key=_at)]

    def _within(self, began: int, until: int) -> list[MemberStep]:
        return self.steps[bisect_left(self.steps, began, key=_at) : bisect_left(self.steps, until + 1, key=_at)]


def _at(step: MemberStep) -> int:
    return step.at
