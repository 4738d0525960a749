"""Ranking and totals of rebalances, computed in SQL for tables.

Tables may have millions of rebalances, and an object for each takes 0.1 ms. The SQL here is equivalent to
`dashboards.answer.build` and `dashboards.answer.totals`; a test compares the two.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conf.causes import EXPLAINED_SYSTEMS, cause, causes
from dashboards.answer import build, rebalance_items
from dashboards.answer.totals import HOSTLESS, OffenderKey, OffenderTotals, RebalanceTally, RebalanceTotals, ranked
from dashboards.view import answer as data
from models.downtime import COOPERATIVE_PROTOCOLS, NAMELESS, PROTOCOLS_WITHOUT_STOP
from pipelines.cli.answers.selection import HasColumns
from pipelines.warehouse.warehouse_reader import StoredRows, column_in, quoted_text

_GOES_ON = (
    f"outcome = 'empty' or system = 'rocketmq' or protocol in ({', '.join(map(quoted_text, sorted(PROTOCOLS_WITHOUT_STOP)))}) "
    f"or strpos(coalesce(assignor, ''), 'cooperative') > 0 or assignor in ({', '.join(map(quoted_text, sorted(COOPERATIVE_PROTOCOLS)))})"
)
_LASTED = f"case when {_GOES_ON} then 0.0 else coalesce(duration_seconds, at_least_seconds, 0.0) end"
_DELAY = "case when root_cause = 'coordinator_pause' then 0.0 else coalesce(initial_delay_seconds, 0.0) end"
STOPPED = f"coalesce(pause_seconds, greatest(0.0, {_LASTED} - {_DELAY}))"
"""Downtime of a group, as `dashboards.view.answer.Rebalance.stopped_seconds`."""

UNTIMED = (
    "case when system = 'rocketmq' then pause_seconds is null "
    f"else coalesce(duration_seconds, at_least_seconds) is null and not coalesce({_GOES_ON}, false) end"
)
"""Whether a group stopped for an unknown time, as `dashboards.answer.totals.is_untimed`."""

_NAME = f"coalesce(nullif(client_id, ''), nullif(instance_id, ''), nullif(member_id, ''), {quoted_text(NAMELESS)})"
_HOST = "nullif(regexp_replace(host, '^/', ''), '')"
_NAMED_BY = {
    "client": _NAME,
    "member": f"coalesce(nullif(member_id, ''), {_NAME})",
    "instance": f"coalesce(nullif(instance_id, ''), {_NAME})",
    "host": f"coalesce({_HOST}, {quoted_text(HOSTLESS)})",
}
"""Equivalent of `dashboards.answer.totals.RANKED_BY`."""

_LONGEST = """
select rebalance_id, {stopped} as stopped, {expected} as expected from chosen
order by stopped desc, expected, rebalance_id desc limit {limit}
"""
_SUMS = """
select count(*) as count, coalesce(sum(1 - {expected}), 0) as unexpected, count(*) filter (where confidence >= {sure}) as sure,
    count(*) filter (where {untimed}) as untimed, coalesce(sum({stopped}), 0.0) as stopped_seconds,
    min(least(coalesce(started_at, ended_at), coalesce(ended_at, started_at))) as first_at,
    max(greatest(coalesce(started_at, ended_at), coalesce(ended_at, started_at))) as last_at
from chosen
"""
_WORST = """
select incident_id, case severity {rank} else {others} end as rank, coalesce(stopped_seconds, 0.0) as stopped, started_at
from chosen order by rank, stopped desc, started_at asc nulls last, incident_id limit {limit}
"""
_STRETCHES = """
select cluster, "group", to_state, changed_at, generation, member_count, inferred from chosen
where changed_at is not null and (cluster < {cluster} or (cluster = {cluster} and "group" <= {group})) order by changed_at, transition_id
"""
_PERSON = """
select cluster, system, "group", rebalance_id, cause, started_at, {stopped} as stopped, {is_offender} as caused, {is_blocker} as blocked,
    unnest({column}) as person
from chosen
"""
_NAMED = """
select *, {name} as name, {host} as named_host from (
    select *, person['client_id'] as client_id, person['instance_id'] as instance_id, person['member_id'] as member_id,
        person['host'] as host
    from ({offenders} union all {blockers})
)
"""
_ONCE = """
select cluster, system, "group", name, rebalance_id, max(cause) as cause, max(started_at) as started_at, max(stopped) as stopped,
    max(caused) as caused, max(blocked) as blocked
from ({named}) group by cluster, system, "group", name, rebalance_id
"""
_OFFENDER_TOTALS = """
select cluster, system, "group", name, cause, sum(caused) as caused, sum(blocked) as blocked, sum(stopped) as stopped,
    min(started_at) as first_at, max(started_at) as last_at
from ({once}) group by cluster, system, "group", name, cause
"""
_HOSTS = """
select distinct cluster, system, "group", name, named_host from ({named}) where named_host is not null
"""


def longest(rebalances: Iterable[Any], limit: int | None) -> tuple[list[data.Rebalance], int]:
    """Rebalances with the longest downtime by time, and their total count.

    All of them without a limit.
    """
    if limit is None or not isinstance(rebalances, StoredRows):
        tally = build.tally_of(rebalances, limit, {})
        return tally.kept, tally.sums.count
    worst = rebalances.query(_LONGEST.format(stopped=STOPPED, expected=_expected(), limit=limit))
    if not worst:
        return [], 0
    shown, _ = longest(rebalances.where(column_in("rebalance_id", [row["rebalance_id"] for row in worst])), None)
    return shown, rebalances.query("select count(*) as count from chosen")[0]["count"]


def offenders(rebalances: Iterable[Any], ranked_by: str = "client") -> list[data.Offender]:
    """Members ranked by the downtime they caused."""
    if not isinstance(rebalances, StoredRows):
        return build.tally_of(rebalances, 0, {}, ranked_by).offenders()
    return ranked(_totals_by_offender(rebalances, ranked_by))


def _totals_by_offender(rebalances: StoredRows, ranked_by: str = "client") -> defaultdict[OffenderKey, OffenderTotals]:
    persons = {
        "offenders": _PERSON.format(stopped=STOPPED, is_offender=1, is_blocker=0, column="offenders"),
        "blockers": _PERSON.format(stopped=STOPPED, is_offender=0, is_blocker=1, column="blockers"),
    }
    named = _NAMED.format(name=_NAMED_BY[ranked_by], host=_HOST, **persons)
    totals: defaultdict[OffenderKey, OffenderTotals] = defaultdict(OffenderTotals)
    for row in rebalances.query(_OFFENDER_TOTALS.format(once=_ONCE.format(named=named))):
        totals[_doer(row)].add_all(
            row["cause"],
            cause(row["system"], row["cause"]).family,
            caused=row["caused"],
            blocked=row["blocked"],
            stopped_seconds=row["stopped"],
            times=[time for time in (row["first_at"], row["last_at"]) if time is not None],
        )
    for row in rebalances.query(_HOSTS.format(named=named)):
        totals[_doer(row)].hosts.add(row["named_host"])
    return totals


def rebalance_totals(rebalances: Iterable[Any], kept_max: int | None, incidents: Mapping[str, Sequence[str]]) -> RebalanceTally:
    """Totals of rebalances.

    From tables, objects are created only for rebalances that are shown, uncertain, or part of these incidents.
    """
    if kept_max is None or not isinstance(rebalances, StoredRows | HasColumns):
        return build.tally_of(rebalances, kept_max, incidents)
    tally = RebalanceTally(kept_max, incidents)
    if isinstance(rebalances, HasColumns):
        for values in rebalances.values(*rebalance_items.TALLIED):
            tally.add(rebalance_items.rebalance_of(values))
        tally.complete(map(rebalance_items.rebalance, rebalances.with_values("rebalance_id", tally.kept_ids)))
        return tally
    for row in rebalances.query(_SUMS.format(stopped=STOPPED, untimed=UNTIMED, expected=_expected(), sure=data.SHOWN_AS_SURE)):
        groups = {(row["cluster"], row["group"]) for row in rebalances.query('select distinct cluster, "group" from chosen')}
        tally.sums = RebalanceTotals(groups=groups, **row)
    tally.by_offender = _totals_by_offender(rebalances)
    judged = column_in("rebalance_id", [rebalance_id for members in incidents.values() for rebalance_id in members])
    for row in rebalances.where(f"confidence < {data.SHOWN_AS_SURE} or {judged}"):
        tally.add_verdict(rebalance_items.rebalance(row))
    for item in longest(rebalances, kept_max)[0]:
        tally.keep(item)
    return tally


def worst_incidents(incidents: Iterable[Any], limit: int | None) -> tuple[Sequence[Any], Counter[str]]:
    """The worst incidents in order, and counts by severity."""
    if limit is None or not isinstance(incidents, StoredRows):
        return build.worst_incidents(incidents, limit)
    rank = " ".join(f"when {quoted_text(severity)} then {place}" for place, severity in enumerate(data.SEVERITIES_WORST_FIRST))
    worst = incidents.query(_WORST.format(rank=rank, others=len(data.SEVERITIES_WORST_FIRST), limit=limit))
    counts = incidents.query("select severity, count(*) as count from chosen group by severity")
    rows, _ = build.worst_incidents(incidents.where(column_in("incident_id", [row["incident_id"] for row in worst])), None)
    return rows, Counter({row["severity"]: row["count"] for row in counts})


def first_lanes(timeline: Iterable[Any], limit: int | None) -> tuple[list[data.Lane], int]:
    """State lanes of the first groups by name, and their total count.

    All groups without a limit.
    """
    if limit is None or not isinstance(timeline, StoredRows):
        lanes = build.group_timelines(timeline)
        return lanes[:limit], len(lanes)
    groups = timeline.query('select distinct cluster, "group" from chosen where changed_at is not null order by cluster, "group"')
    if not groups:
        return [], 0
    cluster, group = (quoted_text(groups[:limit][-1][name]) for name in ("cluster", "group"))
    return build.group_timelines(timeline.query(_STRETCHES.format(cluster=cluster, group=group))), len(groups)


def _doer(row: dict[str, Any]) -> OffenderKey:
    return row["cluster"], row["system"], row["group"], row["name"]


def _expected() -> str:
    """SQL for 1 if a rebalance is routine operation, else 0."""
    usual = {system: [entry.id for entry in causes().values() if entry.system == system and entry.expected] for system in EXPLAINED_SYSTEMS}
    words = {system: ", ".join(map(quoted_text, names)) for system, names in usual.items()}
    conditions = (
        f"system = {quoted_text(system)} and (cause in ({causes}) or root_cause in ({causes}))"
        for system, causes in words.items()
        if causes
    )
    return f"case when {' or '.join(conditions) or 'false'} then 1 else 0 end"
