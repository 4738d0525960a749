"""Ranking of the members that others waited for, without double booking.

A second in which a group waits for several members is shared out among them, also if several rebalances overlap. The
seconds of all members of a group therefore add up to the time that it waited.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from dashboards.answer.totals import RANKED_BY, OffenderKey
from dashboards.view.answer import Person, Rebalance
from models.downtime import Waits


@dataclass(frozen=True, slots=True)
class Blocker:
    """A member that made others wait.

    `group_share` is its part of all waiting in its group.
    """

    cluster: str
    system: str
    group: str
    name: str
    hosts: tuple[str, ...]
    rebalances: int
    seconds: float
    group_share: float
    longest_seconds: float
    causes: tuple[tuple[str, int], ...]
    first_at: int | None
    last_at: int | None


@dataclass(slots=True)
class _WaitingSums:
    """Sums of one member."""

    hosts: set[str] = field(default_factory=set)
    causes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    longest: float = 0.0
    times: list[int] = field(default_factory=list)


def blockers(items: Iterable[Rebalance], ranked_by: str = "client") -> list[Blocker]:
    """Members by the time that others waited for them."""
    named = RANKED_BY[ranked_by]
    members: defaultdict[OffenderKey, _WaitingSums] = defaultdict(_WaitingSums)
    waits: Waits[OffenderKey] = Waits()
    for item in items:
        begin = item.started_at if item.started_at is not None else item.joined_at
        group = (item.cluster, item.system, item.group)
        for name in set(map(named, item.blockers)):
            member = members[*group, name]
            member.hosts.update(person.host for person in item.blockers if person.host and named(person) == name)
            member.causes[item.cause] += 1
            member.times += [] if begin is None else [begin]
        doer_of = partial(_doer, group, named)
        waits.add(item, doer_of)
        of_item: Waits[OffenderKey] = Waits()
        of_item.add(item, doer_of)
        for doer, seconds in of_item.seconds().items():
            members[doer].longest = max(members[doer].longest, seconds)
    for doer, seconds in waits.seconds().items():
        members[doer].seconds += seconds
    return _ranked(members)


def _doer(group: tuple[str, str, str], named: Callable[[Person], str], person: Person) -> OffenderKey:
    return (*group, named(person))


def _ranked(members: Mapping[OffenderKey, _WaitingSums]) -> list[Blocker]:
    totals: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for key, member in members.items():
        totals[key[:3]] += member.seconds
    blockers = [
        Blocker(
            *key,
            hosts=tuple(sorted(member.hosts)),
            rebalances=member.causes.total(),
            seconds=round(member.seconds, 6),
            group_share=round(member.seconds / totals[key[:3]], 6) if totals[key[:3]] else 0.0,
            longest_seconds=round(member.longest, 6),
            causes=tuple(sorted(member.causes.items(), key=lambda pair: (-pair[1], pair[0]))),
            first_at=min(member.times, default=None),
            last_at=max(member.times, default=None),
        )
        for key, member in members.items()
    ]
    return sorted(blockers, key=lambda blocker: (-blocker.seconds, -blocker.rebalances, blocker.cluster, blocker.group, blocker.name))
