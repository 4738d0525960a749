"""Ranking of the members that others waited for, without double booking.

A second in which a group waits for several members is shared out among them, also if several rebalances overlap. The
seconds of all members of a group therefore add up to the time that it waited.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dashboards.answer.totals import RANKED_BY, Doer
from dashboards.view.answer import Rebalance
from dashboards.wording.units import MICROSECONDS


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
class _Waiting:
    """Sums of one member."""

    hosts: set[str] = field(default_factory=set)
    causes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    longest: float = 0.0
    times: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Wait:
    """A stretch in which a group waited for members."""

    begin: int
    end: int
    names: frozenset[str]


def blockers(items: Iterable[Rebalance], ranked_by: str = "client") -> list[Blocker]:
    """Members by the time that others waited for them."""
    named = RANKED_BY[ranked_by]
    members: defaultdict[Doer, _Waiting] = defaultdict(_Waiting)
    waits: defaultdict[tuple[str, str, str], list[Wait]] = defaultdict(list)
    for item in items:
        begin = item.started_at if item.started_at is not None else item.joined_at
        names = frozenset(map(named, item.blockers))
        group = (item.cluster, item.system, item.group)
        for name in names:
            one = members[*group, name]
            one.hosts.update(person.host for person in item.blockers if person.host and named(person) == name)
            one.causes[item.cause] += 1
            one.longest = max(one.longest, item.held_up_seconds)
            one.times += [] if begin is None else [begin]
        if names and begin is not None:
            waits[group].append(Wait(begin, begin + round(item.held_up_seconds * MICROSECONDS), names))
        for name in names if begin is None else ():
            members[*group, name].seconds += item.held_up_seconds / len(names)
    for group, found in waits.items():
        for name, micros in shared_out(found).items():
            members[*group, name].seconds += micros / MICROSECONDS
    return _ranked(members)


def shared_out(waits: Iterable[Wait]) -> Mapping[str, float]:
    """Microseconds by name.

    Each instant is shared by all that are waited for then."""
    steps = sorted((at, change, wait.names) for wait in waits for at, change in ((wait.begin, 1), (wait.end, -1)))
    shares: defaultdict[str, float] = defaultdict(float)
    active: Counter[str] = Counter()
    before = 0
    for at, change, names in steps:
        present = [name for name, count in active.items() if count > 0]
        for name in present:
            shares[name] += (at - before) / len(present)
        active.update(dict.fromkeys(names, change))
        before = at
    return shares


def _ranked(members: Mapping[Doer, _Waiting]) -> list[Blocker]:
    totals: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for key, one in members.items():
        totals[key[:3]] += one.seconds
    found = [
        Blocker(
            *key,
            hosts=tuple(sorted(one.hosts)),
            rebalances=one.causes.total(),
            seconds=round(one.seconds, 6),
            group_share=round(one.seconds / totals[key[:3]], 6) if totals[key[:3]] else 0.0,
            longest_seconds=round(one.longest, 6),
            causes=tuple(sorted(one.causes.items(), key=lambda pair: (-pair[1], pair[0]))),
            first_at=min(one.times, default=None),
            last_at=max(one.times, default=None),
        )
        for key, one in members.items()
    ]
    return sorted(found, key=lambda one: (-one.seconds, -one.rebalances, one.cluster, one.group, one.name))
