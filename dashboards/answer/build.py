"""Build the answer from the rows of an analysis.

A row is a dataclass or a dict with the columns of its table (`pipelines/schema/declarations_gold.py`). An analysis is an
object with the keys of the JSON contract as attributes. The answer depends neither on the clock nor on the order of
rows, so equal rows give equal answers.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from conf.causes import CauseText, causes, incident_kinds, outage_cause, outage_ends, root_cause_entry, waits
from dashboards.answer import presence
from dashboards.answer.applicable_advice import versions_of, with_applicable_advice
from dashboards.answer.queues import conditions, contested, queue_lanes
from dashboards.answer.rebalance_items import rebalance, who
from dashboards.answer.totals import RebalanceTally, Verdicts, unknown_last
from dashboards.view import answer as data
from dashboards.view.row_access import AnyRow, column, evidence_lines
from dashboards.wording.story import perhaps_static
from dashboards.wording.units import MICROSECONDS

Worst: TypeAlias = Callable[[Iterable[AnyRow], int | None], tuple[Sequence[AnyRow], Counter[str]]]
Beyond: TypeAlias = Callable[[str, str, set[str]], Iterable[AnyRow]]
"""Rows that a selection left out, by table, column and ids.

An incident is judged as a whole, even if the selection cuts it.
"""
Tallied: TypeAlias = Callable[[Iterable[AnyRow], int | None, Mapping[str, Sequence[str]]], RebalanceTally]


def build_answer(
    analysis: AnyRow,
    *,
    kept_max: int | None = None,
    incidents_max: int | None = None,
    with_lanes: bool = True,
    for_page: bool = False,
    worst: Worst | None = None,
    tallied: Tallied | None = None,
) -> data.Answer:
    """Build the whole answer from the rows of an analysis.

    `kept_max` limits the rebalances in the answer (the longest are kept) and `incidents_max` the incidents; totals and
    offenders count all of them. Data for pages only is left empty unless `for_page`. `worst` and `tallied` replace the
    default functions, which iterate over single rows.
    """
    broken = outages(_rows(analysis, "outages"))
    incident_rows, counts = (worst or worst_incidents)(_rows(analysis, "incidents"), incidents_max)
    members = {column(row, "incident_id"): column(row, "rebalance_ids") or () for row in incident_rows}
    versions = versions_of(column(column(analysis, "inputs") or {}, "log_files") or ())
    tally = (tallied or tally_of)(_rows(analysis, "rebalances"), kept_max, members)
    beyond: Beyond = column(analysis, "beyond", None) or _nothing_beyond
    for row in beyond("rebalances", "rebalance_id", tally.missing_rebalances):
        tally.judge_beyond(rebalance(row))
    files = sorted(map(_log_file, column(column(analysis, "inputs") or {}, "log_files") or ()), key=lambda item: item.path)
    by_id = {item.id: item for item in broken}
    lost = {outage_id for row in incident_rows for outage_id in column(row, "outage_ids") or () if outage_id not in by_id}
    by_id |= {item.id: item for item in outages(beyond("outages", "outage_id", lost))}
    numbered = enumerate(incident_rows, start=1)
    states = group_timelines(_rows(analysis, "timeline")) if with_lanes else []
    standing = conditions(_rows(analysis, "conditions"))
    made = data.Answer(
        totals=_totals(tally, counts, len(broken), files, incident_rows),
        incidents=[_incident(number, row, tally.verdicts[column(row, "incident_id")], by_id, standing) for number, row in numbered],
        rebalances=tally.kept,
        offenders=tally.offenders(),
        open_questions=tally.open_questions(),
        lanes=states,
        client_lanes=client_lanes(_rows(analysis, "client_states")) if with_lanes else [],
        outages=broken,
        moves=sorted(map(_move, _rows(analysis, "coordinator_moves")), key=_by_load),
        at_risk=at_risk(_rows(analysis, "offsets_at_risk"), files),
        conditions=standing,
        contested=contested(_rows(analysis, "ownership")),
        doubts=sorted(map(doubt_of, _rows(analysis, "divergences")), key=_by_moment),
        unknown=sorted(map(_unknown, _rows(analysis, "unknown")), key=lambda item: (-item.count, item.template)),
        rejected=sorted(map(_rejected, _rows(analysis, "rejected")), key=lambda item: (item.file, item.byte_offset)),
        files=files,
        is_narrowed=bool(column(analysis, "is_narrowed", False)),
        groups_left=presence.groups_left(_rows(analysis, "members"), {group for _, group in tally.sums.groups}),
        partitions_short=presence.partitions_short(_rows(analysis, "under_replicated_spans")),
        parts=presence.affected_members(_rows(analysis, "rebalance_members")) if for_page else {},
        head_counts=presence.head_counts(tally.kept, states, _rows(analysis, "allocation_changes")) if for_page else (),
        queue_lanes=queue_lanes(_rows(analysis, "ownership")) if for_page else (),
        broker_outages=presence.broker_outages(_rows(analysis, "broker_outages")) if for_page else (),
    )
    return with_applicable_advice(made, versions, lambda incident: tally.verdicts[incident].kinds)


def _nothing_beyond(_table: str, _column: str, _ids: set[str]) -> Iterable[AnyRow]:
    return ()


def tally_of(
    rows: Iterable[AnyRow], kept_max: int | None, incidents: Mapping[str, Sequence[str]], ranked_by: str = "client"
) -> RebalanceTally:
    """Sum up rebalances.

    `incidents` maps incident ids to the ids of their rebalances.
    """
    tally = RebalanceTally(kept_max, incidents, ranked_by)
    for row in rows:
        tally.add(rebalance(row))
    return tally


def worst_incidents(rows: Iterable[AnyRow], limit: int | None) -> tuple[list[AnyRow], Counter[str]]:
    """Return the worst incidents, worst first, and the number per severity."""
    counts: Counter[str] = Counter()

    def seen() -> Iterable[AnyRow]:
        for row in rows:
            counts[column(row, "severity")] += 1
            yield row

    worst = sorted(seen(), key=_worst_first) if limit is None else heapq.nsmallest(limit, seen(), key=_worst_first)
    return worst, counts


def outages(rows: Iterable[AnyRow]) -> list[data.Outage]:
    """Outages of partitions, by time."""
    return sorted(map(_outage, rows), key=lambda item: (unknown_last(item.offline_at), item.topic, item.partition))


def group_timelines(transitions: Iterable[AnyRow]) -> list[data.Lane]:
    """States of each group over time.

    Transitions without a time are left out.
    """
    grouped: defaultdict[tuple[str, str], list[AnyRow]] = defaultdict(list)
    for row in transitions:
        if column(row, "changed_at") is not None:
            grouped[column(row, "cluster"), column(row, "group")].append(row)
    return [data.Lane(cluster, group, _stretches(rows)) for (cluster, group), rows in sorted(grouped.items())]


def client_lanes(states: Iterable[AnyRow]) -> list[data.Lane]:
    """States of each client with a log of its own."""
    grouped: defaultdict[tuple[str, str, str], list[data.StateStretch]] = defaultdict(list)
    for row in states:
        if column(row, "started_at") is not None:
            stretch = data.StateStretch(
                column(row, "state"), column(row, "started_at"), column(row, "ended_at"), None, None, inferred=False
            )
            grouped[column(row, "cluster"), column(row, "group"), column(row, "client_id")].append(stretch)
    return [
        data.Lane(cluster, group, tuple(sorted(lanes_of_client, key=lambda stretch: stretch.started_at)), client)
        for (cluster, group, client), lanes_of_client in sorted(grouped.items())
    ]


def _stretches(transitions: Sequence[AnyRow]) -> tuple[data.StateStretch, ...]:
    ordered = sorted(transitions, key=lambda row: column(row, "changed_at"))  # stable: rows with equal times keep their order
    ends = [column(row, "changed_at") for row in ordered[1:]] + [None]
    return tuple(
        data.StateStretch(
            state=column(row, "to_state"),
            started_at=column(row, "changed_at"),
            ended_at=end,
            generation=column(row, "generation"),
            member_count=column(row, "member_count"),
            inferred=bool(column(row, "inferred")),
        )
        for row, end in zip(ordered, ends, strict=True)
    )


def _incident(
    number: int, row: AnyRow, verdicts: Verdicts, outages: Mapping[str, data.Outage], conditions: Sequence[data.Condition]
) -> data.Incident:
    broken = [outages[outage_id] for outage_id in column(row, "outage_ids") or () if outage_id in outages]
    system, root, leading = column(row, "system"), column(row, "root_cause"), verdicts.leading
    entry = root_cause_entry(system, root or leading) if root or leading else outage_cause(broken[0].cause if broken else None)
    if root is None and system == "kafka":
        entry = incident_kinds().get(column(row, "kind"), entry)
    elif root is None:
        entry = _standing_fault(row, conditions) or incident_kinds().get(column(row, "kind"), entry)
    elif column(row, "kind") == "slow_member":
        entry = waits().get(root, entry)
    worst = column(row, "worst_offender")
    return data.Incident(
        number=number,
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
        trigger=leading,
        cause_title=entry.title,
        headline=column(row, "headline"),
        meaning=entry.meaning,
        advice=tuple(dict.fromkeys((*(advice for item in broken for advice in item.advice), *entry.advice))),
        confidence=verdicts.mean_confidence(leading),
        rivals=verdicts.mean_rivals(leading),
        settled_by=verdicts.files_asked_for(leading),
        worst_offender=who(worst) if worst is not None else None,
        rebalance_ids=tuple(column(row, "rebalance_ids") or ()),
        outage_ids=tuple(item.id for item in broken),
        measured=tuple(
            text
            for text in (
                verdicts.measured.get(leading or "", (0.0, ""))[1],
                perhaps_static(dict(column(row, "static_membership_effect", None) or {}), column(row, "rebalance_count")),
            )
            if text
        ),
        evidence=evidence_lines(row) if column(row, "evidence", None) else (),
        root_cause=root,
        held_up=verdicts.waited_for(),
        lost_brokers=tuple(dict.fromkeys(broker for item in broken for broker in item.lost_brokers)),
        selected_count=verdicts.selected,
    )


def _standing_fault(row: AnyRow, conditions: Sequence[data.Condition]) -> CauseText | None:
    """RocketMQ: return the standing fault during an incident of the same group.

    It replaces the cause of the incident's rebalances, which is harmless in comparison.
    """
    start, end, groups = column(row, "started_at"), column(row, "ended_at"), column(row, "groups") or ()
    for condition in conditions:
        entry = causes().get(("rocketmq", condition.kind))
        ended = condition.ended_at is not None and start is not None and condition.ended_at < start
        later = condition.started_at is not None and end is not None and condition.started_at > end
        if entry is not None and condition.cluster == column(row, "cluster") and condition.group in groups and not (ended or later):
            return entry
    return None


def _outage(row: AnyRow) -> data.Outage:
    offline, online = column(row, "offline_at"), column(row, "online_at")
    entry, end = outage_cause(column(row, "cause")), outage_ends().get(column(row, "ended_by"))
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
        evidence=evidence_lines(row),
        advice=(*end.advice, *entry.advice) if end is not None else entry.advice,
    )


def _move(row: AnyRow) -> data.Move:
    return data.Move(
        column(row, "cluster"),
        column(row, "group"),
        column(row, "from_node"),
        column(row, "to_node"),
        column(row, "left_at"),
        column(row, "loaded_at"),
        column(row, "gap_seconds"),
        evidence_lines(row),
    )


AT_RISK_SHARE = 1 / 7
"""Share of the retention after which an empty group counts as abandoned.

It is a day of the default of seven. A group that was empty for less may work once a day, or its log merely ends.
"""


def at_risk(rows: Iterable[AnyRow], files: Sequence[data.LogFile]) -> list[data.AtRisk]:
    """Groups whose committed offsets are lost or will expire soon."""
    ends = {item.cluster: item.last_at or 0 for item in sorted(files, key=lambda item: item.last_at or 0)}
    risks = [item for item in map(_at_risk, rows) if item.is_lost or _is_deserted(item, ends.get(item.cluster, 0))]
    return sorted(risks, key=lambda item: (unknown_last(item.expires_at), item.group))


def _is_deserted(item: data.AtRisk, logs_end: int) -> bool:
    empty_seconds = (logs_end - item.empty_since) / MICROSECONDS if item.empty_since is not None else 0.0
    return item.retention_seconds is not None and empty_seconds >= AT_RISK_SHARE * item.retention_seconds


def _at_risk(row: AnyRow) -> data.AtRisk:
    return data.AtRisk(
        column(row, "cluster"),
        column(row, "group"),
        column(row, "empty_since"),
        column(row, "expires_at"),
        column(row, "retention_seconds"),
        bool(column(row, "has_expired")),
    )


def doubt_of(row: AnyRow) -> data.Divergence:
    """Make a divergence from its row."""
    expected, observed = column(row, "expected"), column(row, "observed")
    return data.Divergence(column(row, "cluster"), column(row, "group"), column(row, "at"), expected, observed, evidence_lines(row))


def _unknown(row: AnyRow) -> data.UnknownLine:
    return data.UnknownLine(
        column(row, "template"),
        column(row, "logger"),
        column(row, "version"),
        column(row, "count") or 0,
        column(row, "file") or "",
        column(row, "line") or 0,
        column(row, "sample"),
        column(row, "level"),
    )


def _rejected(row: AnyRow) -> data.RejectedRecord:
    return data.RejectedRecord(
        column(row, "file"), column(row, "line"), column(row, "byte_offset"), column(row, "reason"), column(row, "text")
    )


def _log_file(row: AnyRow) -> data.LogFile:
    return data.LogFile(
        path=column(row, "path"),
        cluster=column(row, "cluster") or "",
        system=column(row, "system", None),
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
    tally: RebalanceTally, incidents: Counter[str], outages: int, files: Sequence[data.LogFile], incident_rows: Sequence[AnyRow]
) -> data.Totals:
    sums = tally.sums
    # Refused consumers and removed groups have incidents without rebalances; outages name groups that may have had none.
    alone = [row for row in incident_rows if not column(row, "outage_ids")]
    refused = {(column(row, "cluster"), group) for row in alone for group in column(row, "groups") or ()}
    times = [sums.first_at, sums.last_at]
    times += [time for item in files if item.recognised for time in (item.first_at, item.last_at)]
    known = [time for time in times if time is not None]
    return data.Totals(
        groups=len(sums.groups | refused),
        rebalances=sums.count,
        unexpected=sums.unexpected,
        stopped_seconds=round(sums.stopped_seconds, 6),  # rounded, so that the order of additions does not matter
        sure=sums.sure,
        untimed=sums.untimed,
        incidents=incidents.total(),
        attention=incidents.total() - incidents["info"],
        outages=outages,
        files_read=sum(item.status in ("ok", "empty", "truncated") for item in files),
        files_skipped=sum(item.status in ("skipped", "rejected") for item in files),
        first_at=min(known, default=None),
        last_at=max(known, default=None),
    )


def _rows(analysis: AnyRow, name: str) -> Iterable[AnyRow]:
    rows: Iterable[AnyRow] | None = column(analysis, name)
    return () if rows is None else rows


def _by_load(item: data.Move) -> tuple[object, ...]:
    return (*unknown_last(item.left_at if item.loaded_at is None else item.loaded_at), item.cluster, item.group)


def _by_moment(item: data.Divergence) -> tuple[object, ...]:
    return (*unknown_last(item.at), item.cluster, item.group or "", item.observed)


def _worst_first(row: AnyRow) -> tuple[object, ...]:
    severity = column(row, "severity")
    rank = data.SEVERITIES_WORST_FIRST.index(severity) if severity in data.SEVERITIES_WORST_FIRST else len(data.SEVERITIES_WORST_FIRST)
    return (rank, -column(row, "stopped_seconds"), *unknown_last(column(row, "started_at")), column(row, "incident_id"))
