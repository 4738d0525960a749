"""Sums over rebalances.

They are added one by one, because an analysis may hold more rebalances than fit into memory.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from conf.causes import cause as cause_entry
from dashboards.view import answer as data
from dashboards.wording.story import measurement
from models.downtime import Waits, is_cooperative

RIVAL_MIN = 0.05
"""Minimum weight of an alternative worth mentioning."""


FILES_MAX = 3
MEASURED = ("polled_after_ms", "silent_ms", "absent_ms")


def kind_of_file(settled_by: str) -> str:
    """The kind of file and its level, without node and time.

    Few distinct values exist.
    """
    return settled_by.partition(" of ")[0]


@dataclass(slots=True)
class DecidingFiles:
    """Files of one kind that would settle doubts.

    Holds their number and the first in order of time.
    """

    count: int = 0
    first: tuple[tuple[object, ...], str] | None = None
    are_several: bool = False

    def add(self, item: data.Rebalance) -> None:
        self.count += 1
        entry = (time_key(item), item.settled_by or "")
        self.are_several = self.are_several or (self.first is not None and self.first[1] != entry[1])
        if self.first is None or entry < self.first:
            self.first = entry

    def __str__(self) -> str:
        return (self.first[1] if self.first else "") + (", and others like it" if self.are_several else "")


def _name(person: data.Person) -> str:
    return person.name


@dataclass(slots=True)
class Verdicts:
    """Verdicts on the rebalances of one incident, summed up."""

    causes: Counter[tuple[bool, str]] = field(default_factory=Counter)
    confidence: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    rivals: defaultdict[str, defaultdict[str, float]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))
    settled_by: defaultdict[str, dict[str, DecidingFiles]] = field(default_factory=lambda: defaultdict(dict))
    measured: dict[str, tuple[float, str]] = field(default_factory=dict)
    """The greatest measurement of each cause, with its sentence."""
    held_up: Counter[str] = field(default_factory=Counter)
    """Number of rebalances in which others waited, by member."""
    waits: Waits[str] = field(default_factory=Waits)
    selected: int = 0
    """Number of rebalances within the selection; an incident may reach beyond it."""
    kinds: set[tuple[str, str | None]] = field(default_factory=set)
    """Protocols and assignors of the groups."""

    def add(self, item: data.Rebalance) -> None:
        self.kinds.add((item.protocol, item.assignor))
        self.causes[item.expected, item.cause] += 1
        self.confidence[item.cause] += item.confidence
        for name, value in item.alternatives:
            self.rivals[item.cause][name] += value
        if item.settled_by:
            kind = kind_of_file(item.settled_by)
            self.settled_by[item.cause].setdefault(kind, DecidingFiles()).add(item)
        greatest = max((item.measurements_ms.get(name, 0.0) for name in MEASURED), default=0.0)
        if greatest >= self.measured.get(item.cause, (-1.0, ""))[0] and (text := measurement(item)):
            self.measured[item.cause] = (greatest, text)
        if item.blockers:
            self.held_up.update({person.name for person in item.blockers})
            self.waits.add(item, _name)

    def waited_for(self) -> tuple[data.MemberWait, ...]:
        """Members by the time that the others waited for them."""
        seconds = self.waits.seconds()
        waits = (data.MemberWait(name, count, round(seconds[name], 6)) for name, count in self.held_up.items())
        return tuple(sorted(waits, key=lambda wait: (-wait.seconds, -wait.count, wait.name)))

    @property
    def leading(self) -> str | None:
        """The most frequent cause.

        Unexpected causes take precedence over expected ones, because joins follow timeouts.
        """
        return min(self.causes, key=lambda kind: (kind[0], -self.causes[kind], kind[1]))[1] if self.causes else None

    def files_asked_for(self, cause: str | None) -> tuple[str, ...]:
        """Files that would resolve doubts about a cause, most frequent first."""
        ranked = sorted(self.settled_by.get(cause or "", {}).items(), key=lambda pair: (-pair[1].count, pair[0]))
        return tuple(str(settling) for _, settling in ranked[:FILES_MAX])

    def count(self, cause: str) -> int:
        """Number of rebalances with this cause."""
        return self.causes[True, cause] + self.causes[False, cause]

    def mean_confidence(self, cause: str | None) -> float | None:
        """Mean confidence in a cause, None if no rebalance has it."""
        return self.confidence[cause] / self.count(cause) if cause is not None and self.count(cause) else None

    def mean_rivals(self, cause: str | None) -> tuple[tuple[str, float], ...]:
        """Alternatives to a cause, with mean weights over its rebalances."""
        if cause is None:
            return ()
        means = {name: value / self.count(cause) for name, value in self.rivals[cause].items()}
        return tuple((name, value) for name, value in heaviest(means) if value >= RIVAL_MIN)[:2]


@dataclass(slots=True)
class OffenderTotals:
    """Rebalances caused and delayed by one member."""

    hosts: set[str] = field(default_factory=set)
    caused: int = 0
    blocked: int = 0
    stopped_seconds: float = 0.0
    causes: Counter[str] = field(default_factory=Counter)
    families: Counter[str] = field(default_factory=Counter)
    first_at: int | None = None
    last_at: int | None = None

    def add(self, item: data.Rebalance, *, has_caused: bool, has_blocked: bool, hosts: Iterable[str | None]) -> None:
        self.hosts.update(host for host in hosts if host)
        times = () if item.started_at is None else (item.started_at,)
        self.add_all(item.cause, item.family, caused=has_caused, blocked=has_blocked, stopped_seconds=item.stopped_seconds, times=times)

    def add_all(self, cause: str, family: str, *, caused: int, blocked: int, stopped_seconds: float, times: Sequence[int]) -> None:
        """Add rebalances with one cause.

        `caused` and `blocked` are the member's counts; `times` must include the first and the last.
        """
        self.stopped_seconds += stopped_seconds
        self.blocked += blocked
        if caused:
            self.caused += caused
            self.causes[cause] += caused
            self.families[family] += caused
        known = [*times, *(at for at in (self.first_at, self.last_at) if at is not None)]
        self.first_at, self.last_at = min(known, default=None), max(known, default=None)


OffenderKey: TypeAlias = tuple[str, str, str, str]
"""Cluster, system, group and name of a member."""

HOSTLESS = "a host that no line names"
RANKED_BY: Mapping[str, Callable[[data.Person], str]] = {
    "client": lambda person: person.name,
    "member": lambda person: person.member_id or person.name,
    "instance": lambda person: person.instance_id or person.name,
    "host": lambda person: person.host or HOSTLESS,
}
"""Identity of members for each kind of ranking.

A member without the id goes by its name.
"""


def is_untimed(item: data.Rebalance) -> bool:
    """Whether a rebalance stopped its group for an unknown time."""
    if item.system == "rocketmq":
        return item.pause_seconds is None
    is_known = item.duration_seconds is not None or item.at_least_seconds is not None
    goes_on = item.outcome == "empty" or item.protocol in data.NEWER_PROTOCOLS or is_cooperative(item.assignor)
    return not is_known and not goes_on


@dataclass(slots=True)
class RebalanceTotals:
    """Totals of rebalances.

    Times are microseconds since 1970.
    """

    count: int = 0
    unexpected: int = 0
    sure: int = 0
    untimed: int = 0
    stopped_seconds: float = 0.0
    groups: set[tuple[str, str]] = field(default_factory=set)
    first_at: int | None = None
    last_at: int | None = None

    def add(self, item: data.Rebalance) -> None:
        self.count += 1
        self.unexpected += not item.expected
        self.sure += item.is_sure
        self.untimed += is_untimed(item)
        self.stopped_seconds += item.stopped_seconds
        self.groups.add((item.cluster, item.group))
        for time in (item.started_at, item.ended_at):
            if time is not None:
                self.first_at = time if self.first_at is None else min(self.first_at, time)
                self.last_at = time if self.last_at is None else max(self.last_at, time)


@dataclass(slots=True)
class Doubt:
    """Rebalances with one unsure cause and the same rivals."""

    count: int = 0
    confidence: float = 0.0
    """Sum of their confidences."""
    groups: set[str] = field(default_factory=set)
    deciding_files: DecidingFiles = field(default_factory=DecidingFiles)

    def add(self, item: data.Rebalance) -> None:
        """Add a rebalance."""
        self.count += 1
        self.confidence += item.confidence
        self.groups.add(item.group)
        self.deciding_files.add(item)


class RebalanceTally:
    """Sums over all rebalances, and the worst `kept_max` (None: all)."""

    def __init__(
        self, kept_max: int | None = None, incidents: Mapping[str, Iterable[str]] | None = None, ranked_by: str = "client"
    ) -> None:
        self.sums = RebalanceTotals()
        self.by_offender: defaultdict[OffenderKey, OffenderTotals] = defaultdict(OffenderTotals)
        self.verdicts: defaultdict[str, Verdicts] = defaultdict(Verdicts)
        self._unsure: defaultdict[tuple[str, str, tuple[str, ...], str], Doubt] = defaultdict(Doubt)
        self._incidents_of: defaultdict[str, list[str]] = defaultdict(list)  # an outage's rebalances are also those of their groups
        for incident, members in (incidents or {}).items():
            for rebalance in members:
                self._incidents_of[rebalance].append(incident)
        self._named = RANKED_BY[ranked_by]
        self._kept_max = kept_max
        self._kept: list[tuple[Any, ...]] = []

    def add(self, item: data.Rebalance) -> None:
        """Add a rebalance to all sums.

        Callers with some sums computed already set these and use the methods below for the others.
        """
        self.sums.add(item)
        self.add_verdict(item)
        self._charge(item)
        self.keep(item)

    def add_verdict(self, item: data.Rebalance) -> None:
        """Add the verdict of a rebalance to its incidents, and the doubt about it."""
        for incident in self._incidents_of.pop(item.id, ()):
            self.verdicts[incident].add(item)
            self.verdicts[incident].selected += 1
        if not item.is_sure:
            self._doubt(item)

    @property
    def missing_rebalances(self) -> set[str]:
        """Rebalances of incidents that are not among those added."""
        return set(self._incidents_of)

    def judge_beyond(self, item: data.Rebalance) -> None:
        """Add a rebalance outside the selection to its incidents alone."""
        for incident in self._incidents_of.pop(item.id, ()):
            self.verdicts[incident].add(item)

    def _doubt(self, item: data.Rebalance) -> None:
        rivals = tuple(name for name, value in item.alternatives if value >= RIVAL_MIN)
        self._unsure[item.system, item.cause, rivals, kind_of_file(item.settled_by or "")].add(item)

    def _charge(self, item: data.Rebalance) -> None:
        caused, blocked = set(map(self._named, item.offenders)), set(map(self._named, item.blockers))
        persons = (*item.offenders, *item.blockers)
        for name in caused | blocked:
            hosts = [person.host for person in persons if self._named(person) == name]
            totals = self.by_offender[item.cluster, item.system, item.group, name]
            totals.add(item, has_caused=name in caused, has_blocked=name in blocked, hosts=hosts)

    def keep(self, item: data.Rebalance) -> None:
        """Keep a rebalance if it is among the worst."""
        # Ties are broken by the id alone, so the result does not depend on the order of rows.
        entry = (item.stopped_seconds, not item.expected, item.id, item)
        if self._kept_max is None:
            self._kept.append(entry)
        elif len(self._kept) < self._kept_max:
            heapq.heappush(self._kept, entry)
        elif self._kept and entry[:3] > self._kept[0][:3]:
            heapq.heapreplace(self._kept, entry)

    @property
    def kept_ids(self) -> set[str]:
        """Ids of the worst rebalances."""
        return {entry[2] for entry in self._kept}

    def complete(self, items: Iterable[data.Rebalance]) -> None:
        """Put whole rebalances in place of those kept without their evidence."""
        whole = {item.id: item for item in items}
        self._kept = [(*entry[:3], whole.get(entry[2], entry[3])) for entry in self._kept]

    @property
    def kept(self) -> list[data.Rebalance]:
        """The worst rebalances, by time."""
        return sorted((entry[3] for entry in self._kept), key=time_key)

    def open_questions(self) -> list[data.OpenQuestion]:
        """Doubts, most frequent first."""
        ordered = sorted(self._unsure.items(), key=lambda pair: (-pair[1].count, pair[0]))
        return [
            data.OpenQuestion(
                system=system,
                cause=cause,
                cause_title=cause_entry(system, cause).title,
                rivals=tuple(cause_entry(system, name).title for name in rivals),
                settled_by=str(doubt.deciding_files) or None,
                count=doubt.count,
                confidence=doubt.confidence / doubt.count,
                groups=tuple(sorted(doubt.groups)),
            )
            for (system, cause, rivals, _), doubt in ordered
        ]

    def offenders(self) -> list[data.Offender]:
        """Members ranked by the downtime they caused, then by count."""
        return ranked(self.by_offender)


def ranked(doers: Mapping[OffenderKey, OffenderTotals]) -> list[data.Offender]:
    """Rank members by the downtime they caused, then by count."""
    ranking = [
        data.Offender(
            cluster=cluster,
            system=system,
            group=group,
            name=name,
            hosts=tuple(sorted(totals.hosts)),
            caused=totals.caused,
            blocked=totals.blocked,
            stopped_seconds=round(totals.stopped_seconds, 6),  # rounded, so that the order of additions does not matter
            causes=by_count(totals.causes),
            families=by_count(totals.families),
            first_at=totals.first_at,
            last_at=totals.last_at,
        )
        for (cluster, system, group, name), totals in doers.items()
    ]
    return sorted(
        ranking,
        key=lambda offender: (
            -offender.stopped_seconds,
            -offender.caused,
            -offender.blocked,
            offender.cluster,
            offender.system,
            offender.group,
            offender.name,
        ),
    )


def unknown_last(when: int | None) -> tuple[bool, int]:
    """Sort key of a time, unknown times last."""
    return (when is None, when or 0)


def time_key(item: data.Rebalance) -> tuple[object, ...]:
    """Sort key of rebalances by time, unknown times last."""
    return (*unknown_last(item.started_at), item.cluster, item.group, item.generation_before or 0, item.id)


def by_count(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    """Names and counts, most frequent first."""
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def heaviest(values: Any, without: str | None = None) -> tuple[tuple[str, float], ...]:
    """Names and weights, heaviest first.

    Accepts a list of pairs too, because Arrow returns maps as lists.
    """
    pairs = values.items() if isinstance(values, Mapping) else values
    return tuple(sorted(((name, value) for name, value in pairs if name != without), key=lambda pair: (-pair[1], pair[0])))
