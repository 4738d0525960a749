"""From rows to what is shown.

A row is a dataclass or a mapping with the columns of its table (`pipelines/declarations.py`); an analysis is
anything whose attributes are the keys of the JSON contract. Nothing here depends on the clock or on order of
input, so equal rows give an equal answer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from conf.causes import cause as cause_entry
from conf.causes import outage_cause
from dashboards import data
from dashboards.units import MICROSECONDS

Row: TypeAlias = Any
NAMELESS = "a member that no line names"
RIVAL_MIN = 0.05
"""An alternative below this is not worth a word."""


def column(row: Row, name: str, default: Any = None) -> Any:
    """A column of a row, whichever form the row has."""
    return row.get(name, default) if isinstance(row, Mapping) else getattr(row, name, default)


def build_answer(analysis: Row) -> data.Answer:
    """The whole answer from the rows of an analysis."""
    rebalances = sorted(map(rebalance, _rows(analysis, "rebalances")), key=_by_time)
    by_id = {item.id: item for item in rebalances}
    outages = sorted(map(_outage, _rows(analysis, "outages")), key=lambda item: (_first(item.offline_at), item.topic, item.partition))
    outages_by_id = {item.id: item for item in outages}
    found = [_incident(row, by_id, outages_by_id) for row in _rows(analysis, "incidents")]
    incidents = [replace(item, number=number) for number, item in enumerate(sorted(found, key=_worst_first), start=1)]
    files = sorted(map(_log_file, _log_files(analysis)), key=lambda item: item.path)
    return data.Answer(
        totals=_totals(rebalances, incidents, outages, files),
        incidents=incidents,
        rebalances=rebalances,
        offenders=offenders(rebalances),
        lanes=lanes(_rows(analysis, "timeline")),
        outages=outages,
        moves=sorted(
            map(_move, _rows(analysis, "coordinator_moves")), key=lambda item: (_first(item.loaded_at or item.left_at), item.group)
        ),
        at_risk=sorted(map(_at_risk, _rows(analysis, "offsets_at_risk")), key=lambda item: (_first(item.expires_at), item.group)),
        doubts=sorted(map(_doubt, _rows(analysis, "divergences")), key=_by_moment),
        unknown=sorted(map(_unknown, _rows(analysis, "unknown")), key=lambda item: (-item.count, item.template)),
        rejected=sorted(map(_rejected, _rows(analysis, "rejected")), key=lambda item: (item.file, item.byte_offset)),
        files=files,
    )


def rebalance(row: Row) -> data.Rebalance:
    """One row of `rebalances`."""
    system, cause_id, root = column(row, "system"), column(row, "cause"), column(row, "root_cause")
    entry = cause_entry(system, cause_id)
    length = column(row, "duration_seconds")
    # A group that went empty had nobody left who could wait.
    lasted = 0.0 if column(row, "outcome") == "empty" else length if length is not None else column(row, "at_least_seconds") or 0.0
    conformance = column(row, "conformance")
    advice = cause_entry(system, column(row, "advice_id") or root or cause_id).advice
    return data.Rebalance(
        id=column(row, "rebalance_id"),
        cluster=column(row, "cluster"),
        system=system,
        group=column(row, "group"),
        topic=column(row, "topic"),
        protocol=column(row, "protocol"),
        assignor=column(row, "assignor"),
        generation_before=column(row, "generation_before"),
        generation_after=column(row, "generation_after"),
        started_at=column(row, "started_at"),
        joined_at=column(row, "joined_at"),
        ended_at=column(row, "ended_at"),
        initial_delay_seconds=column(row, "initial_delay_seconds"),
        join_seconds=column(row, "join_seconds"),
        sync_seconds=column(row, "sync_seconds"),
        reconcile_seconds=column(row, "reconcile_seconds"),
        duration_seconds=length,
        at_least_seconds=column(row, "at_least_seconds"),
        stopped_seconds=max(0.0, lasted - (column(row, "initial_delay_seconds") or 0.0)),
        outcome=column(row, "outcome"),
        cause=cause_id,
        cause_title=entry.title,
        family=entry.family,
        expected=entry.expected,
        root_cause=root,
        root_cause_title=cause_entry(system, root).title if root else None,
        confidence=column(row, "confidence"),
        alternatives=_ranked(column(row, "alternatives") or {}, without=cause_id),
        settled_by=column(row, "settled_by"),
        offenders=tuple(map(who, column(row, "offenders") or ())),
        blockers=tuple(map(who, column(row, "blockers") or ())),
        members_before=column(row, "members_before"),
        members_after=column(row, "members_after"),
        member_seconds_stopped=column(row, "member_seconds_stopped"),
        duplicate_window=column(row, "duplicate_window"),
        inferred_steps=column(conformance, "inferred_steps", 0) or 0,
        unexplained_lines=column(conformance, "unexplained_lines", 0) or 0,
        coordinator=column(row, "coordinator"),
        trigger_text=column(row, "trigger_text"),
        evidence=evidence(row),
        advice=advice,
    )


def who(person: Row) -> data.Who:
    """A member under the name that people know it by: client id, else instance id, else member id."""
    client, instance, member = column(person, "client_id"), column(person, "instance_id"), column(person, "member_id")
    host = column(person, "host")
    return data.Who(
        name=client or instance or member or NAMELESS,
        member_id=member,
        client_id=client,
        instance_id=instance,
        host=host.removeprefix("/") if host else None,
        reason=column(person, "reason") or "",
        first=bool(column(person, "first")),
    )


def evidence(row: Row) -> tuple[data.Line, ...]:
    return tuple(
        data.Line(
            column(item, "file"),
            column(item, "line"),
            column(item, "byte_offset"),
            column(item, "text") or "",
            bool(column(item, "inferred")),
        )
        for item in column(row, "evidence") or ()
    )


def offenders(rebalances: Iterable[data.Rebalance]) -> list[data.Offender]:
    """Members ranked by the time that groups stood still through them, then by how often."""
    grouped: defaultdict[tuple[str, str, str, str], list[tuple[data.Rebalance, data.Who, bool]]] = defaultdict(list)
    for item in rebalances:
        for person, caused in [(person, True) for person in item.offenders] + [(person, False) for person in item.blockers]:
            grouped[item.cluster, item.system, item.group, person.name].append((item, person, caused))
    ranked = [_offender(key, acts) for key, acts in grouped.items()]
    return sorted(ranked, key=lambda one: (-one.stopped_seconds, -one.caused, -one.blocked, one.cluster, one.group, one.name))


def _offender(key: tuple[str, str, str, str], acts: Sequence[tuple[data.Rebalance, data.Who, bool]]) -> data.Offender:
    cluster, system, group, name = key
    caused = {item.id: item for item, _, is_cause in acts if is_cause}
    blocked = {item.id: item for item, _, is_cause in acts if not is_cause}
    every = {**caused, **blocked}
    starts = sorted(item.started_at for item in every.values() if item.started_at is not None)
    return data.Offender(
        cluster=cluster,
        system=system,
        group=group,
        name=name,
        hosts=tuple(sorted({person.host for _, person, _ in acts if person.host})),
        caused=len(caused),
        blocked=len(blocked),
        stopped_seconds=sum(sorted(item.stopped_seconds for item in every.values())),
        causes=_counted(item.cause for item in caused.values()),
        families=_counted(item.family for item in caused.values()),
        first_at=starts[0] if starts else None,
        last_at=starts[-1] if starts else None,
    )


def lanes(transitions: Iterable[Row]) -> list[data.Lane]:
    """The states of each group, one after the other. A transition without a time has no place on the lane."""
    grouped: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in transitions:
        if column(row, "changed_at") is not None:
            grouped[column(row, "cluster"), column(row, "group")].append(row)
    return [data.Lane(cluster, group, _stretches(rows)) for (cluster, group), rows in sorted(grouped.items())]


def _stretches(transitions: Sequence[Row]) -> tuple[data.Stretch, ...]:
    ordered = sorted(transitions, key=lambda row: column(row, "changed_at"))  # stable: equal times keep the order of the rows
    ends = [column(row, "changed_at") for row in ordered[1:]] + [None]
    return tuple(
        data.Stretch(
            state=column(row, "to_state"),
            started_at=column(row, "changed_at"),
            ended_at=end,
            generation=column(row, "generation"),
            member_count=column(row, "member_count"),
            inferred=bool(column(row, "inferred")),
        )
        for row, end in zip(ordered, ends, strict=True)
    )


def _incident(row: Row, rebalances: Mapping[str, data.Rebalance], outages: Mapping[str, data.Outage]) -> data.Incident:
    inside = [rebalances[each] for each in column(row, "rebalance_ids") or () if each in rebalances]
    broken = [outages[each] for each in column(row, "outage_ids") or () if each in outages]
    system, root = column(row, "system"), column(row, "root_cause")
    # Joins that follow each timeout are as many as the timeouts: what a healthy group does too never leads where something else happened.
    weights = Counter((item.expected, item.cause) for item in inside)
    leading = min(weights, key=lambda kind: (kind[0], -weights[kind], kind[1]))[1] if weights else None
    entry = cause_entry(system, root or leading) if root or leading else outage_cause(broken[0].cause if broken else None)
    alike = [item for item in inside if item.cause == leading]
    worst = column(row, "worst_offender")
    return data.Incident(
        number=0,
        id=column(row, "incident_id"),
        cluster=column(row, "cluster"),
        system=system,
        kind=column(row, "kind"),
        severity=column(row, "severity"),
        groups=tuple(column(row, "groups") or ()),
        started_at=column(row, "started_at"),
        ended_at=column(row, "ended_at"),
        rebalance_count=column(row, "rebalance_count"),
        stopped_seconds=column(row, "stopped_seconds"),
        cause=root or leading,
        cause_title=entry.title,
        headline=column(row, "headline"),
        meaning=entry.meaning,
        advice=entry.advice,
        confidence=sum(sorted(item.confidence for item in alike)) / len(alike) if alike else None,
        rivals=_rivals(alike),
        settled_by=tuple(name for name, _ in _counted(item.settled_by for item in inside if item.settled_by))[:3],
        worst_offender=who(worst) if worst is not None else None,
        rebalance_ids=tuple(item.id for item in sorted(inside, key=_by_time)),
        outage_ids=tuple(item.id for item in broken),
    )


def _rivals(rebalances: Sequence[data.Rebalance]) -> tuple[tuple[str, float], ...]:
    """Other explanations of these rebalances, each with its mean confidence over all of them."""
    total: defaultdict[str, float] = defaultdict(float)
    for item in sorted(rebalances, key=_by_time):
        for name, confidence in item.alternatives:
            total[name] += confidence / len(rebalances)
    return tuple((name, value) for name, value in _ranked(total) if value >= RIVAL_MIN)[:2]


def _outage(row: Row) -> data.Outage:
    offline, online = column(row, "offline_at"), column(row, "online_at")
    entry = outage_cause(column(row, "cause"))
    return data.Outage(
        id=column(row, "outage_id"),
        cluster=column(row, "cluster"),
        topic=column(row, "topic"),
        partition=column(row, "partition"),
        offline_at=offline,
        online_at=online,
        seconds=(online - offline) / MICROSECONDS if online is not None and offline is not None else None,
        cause=column(row, "cause"),
        cause_title=entry.title,
        ended_by=column(row, "ended_by"),
        lost_brokers=tuple(map(str, column(row, "lost_brokers") or ())),
        at_risk=column(row, "at_risk"),
        groups=tuple(column(row, "groups") or ()),
        evidence=evidence(row),
        advice=entry.advice,
    )


def _move(row: Row) -> data.Move:
    return data.Move(
        column(row, "cluster"),
        column(row, "group"),
        column(row, "from_node"),
        column(row, "to_node"),
        column(row, "left_at"),
        column(row, "loaded_at"),
        column(row, "gap_seconds"),
        evidence(row),
    )


def _at_risk(row: Row) -> data.AtRisk:
    return data.AtRisk(
        column(row, "cluster"),
        column(row, "group"),
        column(row, "empty_since"),
        column(row, "expires_at"),
        column(row, "retention_seconds"),
        bool(column(row, "lost")),
    )


def _doubt(row: Row) -> data.Doubt:
    expected, observed = column(row, "expected"), column(row, "observed")
    return data.Doubt(column(row, "cluster"), column(row, "group"), column(row, "at"), expected, observed, evidence(row))


def _unknown(row: Row) -> data.Unknown:
    return data.Unknown(
        column(row, "template"),
        column(row, "logger"),
        column(row, "version"),
        column(row, "count") or 0,
        column(row, "file") or "",
        column(row, "line") or 0,
        column(row, "sample"),
    )


def _rejected(row: Row) -> data.Rejected:
    return data.Rejected(column(row, "file"), column(row, "line"), column(row, "byte_offset"), column(row, "reason"), column(row, "text"))


def _log_file(row: Row) -> data.LogFile:
    return data.LogFile(
        path=column(row, "path"),
        cluster=column(row, "cluster") or "",
        kind=column(row, "kind"),
        node=column(row, "node"),
        version=column(row, "version"),
        time_zone=column(row, "time_zone"),
        first_at=column(row, "first_at"),
        last_at=column(row, "last_at"),
        bytes_read=column(row, "bytes_read"),
        lines=column(row, "lines") or 0,
        recognised=column(row, "recognised") or 0,
        unknown=column(row, "unknown") or 0,
        rejected=column(row, "rejected") or 0,
        status=column(row, "status"),
        reason=column(row, "reason"),
    )


def _totals(
    rebalances: Sequence[data.Rebalance], incidents: Sequence[data.Incident], outages: Sequence[data.Outage], files: Sequence[data.LogFile]
) -> data.Totals:
    times = [item.started_at for item in rebalances] + [item.ended_at for item in rebalances]
    times += [item.first_at for item in files if item.recognised] + [item.last_at for item in files if item.recognised]
    known = [time for time in times if time is not None]
    return data.Totals(
        groups=len({(item.cluster, item.group) for item in rebalances}),
        rebalances=len(rebalances),
        unexpected=sum(not item.expected for item in rebalances),
        stopped_seconds=sum(sorted(item.stopped_seconds for item in rebalances)),
        sure=sum(item.sure for item in rebalances),
        incidents=len(incidents),
        attention=sum(item.severity != "info" for item in incidents),
        outages=len(outages),
        files_read=sum(item.status in ("ok", "empty", "truncated") for item in files),
        files_skipped=sum(item.status in ("skipped", "rejected") for item in files),
        first_at=min(known, default=None),
        last_at=max(known, default=None),
    )


def _log_files(analysis: Row) -> list[Row]:
    return list(column(column(analysis, "inputs") or {}, "log_files") or ())


def _rows(analysis: Row, name: str) -> list[Row]:
    return list(column(analysis, name) or ())


def _ranked(values: Row, without: str | None = None) -> tuple[tuple[str, float], ...]:
    """Names and their weights, heaviest first; Arrow gives maps as lists of pairs."""
    pairs = values.items() if isinstance(values, Mapping) else values
    return tuple(sorted(((name, value) for name, value in pairs if name != without), key=lambda pair: (-pair[1], pair[0])))


def _counted(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0])))


def _first(when: int | None) -> tuple[bool, int]:
    """Sorts times with the unknown ones last."""
    return (when is None, when or 0)


def _by_time(item: data.Rebalance) -> tuple[object, ...]:
    return (*_first(item.started_at), item.cluster, item.group, item.generation_before or 0, item.id)


def _by_load(item: data.Move) -> tuple[object, ...]:
    return (*_first(item.left_at if item.loaded_at is None else item.loaded_at), item.cluster, item.group)


def _by_moment(item: data.Doubt) -> tuple[object, ...]:
    return (*_first(item.at), item.cluster, item.group or "", item.observed)


def _worst_first(item: data.Incident) -> tuple[object, ...]:
    rank = data.SEVERITIES.index(item.severity) if item.severity in data.SEVERITIES else len(data.SEVERITIES)
    return (rank, -item.stopped_seconds, *_first(item.started_at), item.id)
