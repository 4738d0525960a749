"""Absences of members: departures and the returns that follow them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from models.causes import RootCause
from models.rows import MemberSession, Person, Rebalance, RebalanceMember
from models.units import US_PER_MS, US_PER_SECOND

DEPARTURES = {
    "member_leave": "leave",
    "poll_timeout": "poll",
    "session_timeout": "expiry",
    "static_member_leave": "expiry",
    "rebalance_timeout": "evicted",
    "sync_timeout": "evicted",
    "admin_removal": "removed",
    "group_deleted": "removed",
}
"""Kind of departure of a cause's offenders."""

_ENDED_FROM_WITHOUT = frozenset({RootCause.CLIENT_PAUSE, RootCause.NETWORK, RootCause.NOT_AUTHORIZED})
"""Root causes of sessions that end although their process goes on."""

_CAME = frozenset({"member_join", "new_group"})

MEMBERSHIP_ROLES = frozenset({"joined", "left"})
"""Roles of members' rows that incidents need."""


@dataclass(frozen=True, slots=True, eq=False)
class MembershipChange:
    """A member's arrival or departure in the rebalance at `index`.

    `at` is in microseconds.
    """

    index: int
    kind: str  # came, gone
    how: str
    actor: str
    member_id: str | None
    at: int
    row: Rebalance


@dataclass(frozen=True, slots=True)
class Absence:
    """A departure and the return that followed.

    `new_process` is True if the member was back before its former session expired.
    """

    gone: MembershipChange
    came: MembershipChange
    new_process: bool = False

    @property
    def session_ms(self) -> float | None:
        """session.timeout.ms in force, None if unknown."""
        return self.gone.row.measurements_ms.get("session_timeout_ms") or self.came.row.measurements_ms.get("session_timeout_ms")

    def away_ms(self, default_session_ms: int) -> float:
        """Milliseconds in which the coordinator heard nothing of the member.

        A member whose session expired had been silent for a whole session timeout.
        """
        if self.gone.index == self.came.index and self.gone.how != "expiry":
            absent = self.gone.row.measurements_ms.get("absent_ms")
            return absent if absent is not None else (self.gone.row.duration_seconds or 0.0) * 1000
        silent = (self.session_ms or default_session_ms) if self.gone.how in {"expiry", "evicted"} else 0.0
        return max(0.0, (self.came.at - self.gone.at) / US_PER_MS + silent)


def act_of(row: Rebalance) -> str:
    """Cause of a rebalance, by what its offenders did.

    A process whose session ended is back within the same rebalance, but nobody restarted it.
    """
    return "session_timeout" if row.cause == "member_restart" and row.root_cause in _ENDED_FROM_WITHOUT else row.cause


def membership_changes(index: int, row: Rebalance, parts: Sequence[RebalanceMember]) -> Iterator[MembershipChange]:
    """Arrivals and departures in one rebalance.

    Those of offenders, and of other members according to `parts`.
    """
    at = row.started_at if row.started_at is not None else row.joined_at or 0
    announced: set[str] = set()
    for person in row.offenders:
        actor = actor_of(person)
        announced.add(actor)
        if row.cause == "member_restart":
            yield MembershipChange(index, "gone", DEPARTURES.get(act_of(row), "leave"), actor, person.member_id, at, row)
            yield MembershipChange(index, "came", "join", actor, person.member_id, at, row)
        elif row.cause in _CAME:
            yield MembershipChange(index, "came", "join", actor, person.member_id, at, row)
        elif row.cause in DEPARTURES:
            yield MembershipChange(index, "gone", DEPARTURES[row.cause], actor, person.member_id, at, row)
    for part in parts:
        actor = actor_of(part)
        if part.role in MEMBERSHIP_ROLES and actor not in announced:
            announced.add(actor)
            delay = int((part.join_delay_seconds or 0.0) * US_PER_SECOND)
            kind = "came" if part.role == "joined" else "gone"
            yield MembershipChange(index, kind, "join" if kind == "came" else "leave", actor, part.member_id, at + delay, row)
            if kind == "came" and part.session_before and part.session_before != part.session_after:
                yield MembershipChange(index, "gone", "leave", actor, part.session_before, at, row)


def actor_of(person: Person | RebalanceMember | MemberSession) -> str:
    """One name for a member over its processes."""
    return person.instance_id or person.client_id or person.member_id or "?"


def absences_of(changes: Iterable[MembershipChange]) -> Iterator[Absence]:
    """Pair each return with the departure before it.

    A new process that joins before the former session expires is paired with that expiry.
    """
    by_actor: defaultdict[str, list[MembershipChange]] = defaultdict(list)
    for change in changes:
        by_actor[change.actor].append(change)
    for actor_changes in by_actor.values():
        gone: MembershipChange | None = None
        early: MembershipChange | None = None
        present = False
        for change in sorted(actor_changes, key=lambda change: (change.index, change.kind == "came")):
            if change.kind == "gone":
                if early is not None and change.how == "expiry" and change.member_id != early.member_id:
                    yield Absence(change, early, new_process=True)
                    early = None
                    continue
                gone, early, present = change, None, False
            elif gone is not None:
                yield Absence(gone, change)
                gone, present = None, True
            else:
                early, present = (change if present else None), True
