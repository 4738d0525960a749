"""Parts of a history that advice is given about: incidents, single rebalances.

What is advised about one follows from its own members: from their silences, absences and late polls, not from others'.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from models.downtime import stopped_seconds
from models.incidents.absences import actor_of
from models.rows import Rebalance
from models.units import US_PER_MS
from models.whatif.behaviour.members import Behaviour, Life, MemberBehaviour
from models.whatif.comparison import RebalanceChange
from models.whatif.outlook import WhatIfResult


@dataclass(frozen=True, slots=True)
class AdviceScope:
    """Rebalances that advice is given about, by their ids."""

    id: str
    rebalance_ids: frozenset[str]

    def rows_within(self, rows: Iterable[Rebalance]) -> list[Rebalance]:
        """Those of some rows that belong to it."""
        return [row for row in rows if row.rebalance_id in self.rebalance_ids]

    def part(self, outlook: WhatIfResult) -> WhatIfResult:
        """What an outlook says of its rebalances."""
        changes = [change for change in outlook.changes if change.row.rebalance_id in self.rebalance_ids]
        return part_of(outlook, changes)


def part_of(outlook: WhatIfResult, changes: list[RebalanceChange]) -> WhatIfResult:
    """An outlook of some of its rebalances."""
    part = replace(outlook, changes=changes)
    part.fewest = part.left - part.count("perhaps_avoided")
    return part


def hurtful(rows: Sequence[Rebalance]) -> set[str]:
    """Rebalances in which a group was hurt most, by id.

    Those that waited for members if they are most of the downtime: what set them off is then not what hurt.
    """
    waited = [row for row in rows if row.blockers]
    is_most = 2 * sum(map(stopped_seconds, waited)) > sum(map(stopped_seconds, rows))
    return {row.rebalance_id for row in (waited if is_most else rows)}


def behaviour_in(behaviour: Behaviour, rows: Sequence[Rebalance]) -> Behaviour:
    """What the members that some rebalances name did around that time."""
    named = {actor_of(person) for row in rows for person in (*row.offenders, *row.blockers)}
    from_ms = rows[0].began // US_PER_MS
    until_ms = max((row.ended_at or row.began) for row in rows) // US_PER_MS
    members = {
        name: replace(member, lives=_lives_in(member, from_ms, until_ms))
        for name, member in behaviour.members.items()
        if _is_one_of(name, named)
    }
    return replace(behaviour, members=members)


def present_ms(settings: Mapping[str, int], member: MemberBehaviour) -> int:
    """A member's own timeout, else its group's."""
    return settings.get(member.name) or settings[""]


def _is_one_of(name: str, named: Collection[str]) -> bool:
    """Whether a member, perhaps the second of its name, is named."""
    return name in named or name.rpartition(" (")[0] in named


def _lives_in(member: MemberBehaviour, from_ms: int, until_ms: int) -> list[Life]:
    """Processes that were held, busy or absent in a time, with these stretches."""

    def meets(begin_ms: int, end_ms: int | None) -> bool:
        return begin_ms <= until_ms and (end_ms is None or end_ms >= from_ms)

    kept = {
        index
        for index, (life, after) in enumerate(pairwise(member.lives))
        if life.end_ms is not None and meets(life.end_ms, after.start_ms)
    }
    return [
        replace(life, stretches=[stretch for stretch in life.stretches if meets(stretch.from_ms, stretch.until_ms)])
        for index, life in enumerate(member.lives)
        if {index, index - 1} & kept or any(meets(stretch.from_ms, stretch.until_ms) for stretch in life.stretches)
    ]
