"""Reconciliation of KIP-848 members with a new target assignment, from clients' state changes.

The coordinator raises the epoch and computes a target. Each member then revokes and takes over partitions independently
(MembershipManagerImpl, 3.7 and later; AbstractMembershipManager since 4.0). The group is reconciled when its last
member is.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field

from models.events import Event, text_field
from models.incidents.person_reasons import REVOKED_LAST
from models.kafka.observations.roster import Roster
from models.rows import Person
from models.tolerances import int_tolerance

MEMBER_RECONCILING, MEMBER_STABLE = "RECONCILING", "STABLE"

CLASSIC_MEMBER_REJOINED = "ClassicMemberRejoined"
"""Step by which a classic member takes over its part of an epoch."""

SLOW_RECONCILIATION_US = int_tolerance("kafka.reconciliation.slow_reconciliation_us")
"""Excess duration of a slow member.

Other members wait for the partitions that it revokes.
"""


@dataclass(slots=True)
class ReconciliationSpan:
    """Reconciliation of one member.

    `ended` is None while it lasts.
    """

    member_id: str
    client_id: str | None
    began: int
    ended: int | None = None

    @property
    def lasted(self) -> int:
        """Microseconds; 0 while it lasts."""
        return (self.ended or self.began) - self.began


@dataclass(slots=True)
class Reconciliations:
    """Reconciliations of all members with logs of their own."""

    spans: list[ReconciliationSpan] = field(default_factory=list)
    """Ordered by start."""
    witnessed: set[str] = field(default_factory=set)
    _under_way: dict[str, ReconciliationSpan] = field(default_factory=dict)

    def feed(self, event: Event) -> None:
        """Process a member's change of state."""
        at, member_id, state = event.time_us, event.member_id, text_field(event, "to_state")
        if not member_id or (state is None and event.name != CLASSIC_MEMBER_REJOINED):
            return
        self.witnessed.add(member_id)
        if event.name == CLASSIC_MEMBER_REJOINED:
            insort(self.spans, ReconciliationSpan(member_id, event.client_id, at, at), key=_began)
        elif state == MEMBER_RECONCILING:
            if member_id not in self._under_way:
                self._under_way[member_id] = ReconciliationSpan(member_id, event.client_id, at)
                insort(self.spans, self._under_way[member_id], key=_began)
        elif state == MEMBER_STABLE and member_id in self._under_way:
            self._under_way.pop(member_id).ended = at
        elif state not in {MEMBER_STABLE, "ACKNOWLEDGING"}:
            self._under_way.pop(member_id, None)

    def within(self, began: int, until: int) -> list[ReconciliationSpan]:
        """Reconciliations that began in the half-open interval [began, until)."""
        return self.spans[bisect_left(self.spans, began, key=_began) : bisect_left(self.spans, until, key=_began)]

    def is_under_way(self, began: int, until: int) -> bool:
        """Whether a reconciliation begun in [began, until) has not ended."""
        return any(began <= span.began < until for span in self._under_way.values())

    def forget(self, before: int) -> None:
        """Discard reconciliations that began before a time."""
        del self.spans[: bisect_left(self.spans, before, key=_began)]

    def forget_member(self, member_id: str) -> None:
        """Discard a member that needs no more rows."""
        self.witnessed.discard(member_id)
        self._under_way.pop(member_id, None)


def _began(span: ReconciliationSpan) -> int:
    return span.began


def reached_at(spans: Iterable[ReconciliationSpan], members: Iterable[str], witnessed: set[str]) -> int | None:
    """Time at which the last member was reconciled.

    None if a member's log is missing, or if one never finished.
    """
    ends = [span.ended for span in spans]
    if not ends or not witnessed.issuperset(members):
        return None
    arrived = [end for end in ends if end is not None]
    return max(arrived) if len(arrived) == len(ends) else None


def slow_members(spans: Iterable[ReconciliationSpan], roster: Roster) -> list[Person]:
    """The member that took clearly longer than every other one."""
    slowest: dict[str, ReconciliationSpan] = {}
    for span in spans:
        if span.member_id not in slowest or span.lasted > slowest[span.member_id].lasted:
            slowest[span.member_id] = span
    ordered = sorted(slowest.values(), key=lambda span: -span.lasted)
    others = ordered[1].lasted if len(ordered) > 1 else 0
    if not ordered or ordered[0].lasted - others < SLOW_RECONCILIATION_US:
        return []
    return [roster.person(ordered[0].member_id, ordered[0].client_id, None, REVOKED_LAST, is_first=True)]
