"""Rows of answers about groups over time, as `groupscope schema` describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from dashboards.answer import rebalance_items
from dashboards.view.row_access import column
from models.ids import make_id
from pipelines.schema.tables import instant_text

if TYPE_CHECKING:
    from dashboards.answer.history.alert_rules import AlertRule, Breach
    from dashboards.answer.history.blocker_ranking import Blocker
    from dashboards.answer.history.deploys import Deploy
    from dashboards.answer.history.group_profiles import GroupProfile
    from dashboards.answer.history.trends import GroupTrend
    from dashboards.view.answer import Rebalance


def blockers(rows: Any, ranked_by: str) -> list[Blocker]:
    """Members that others waited for."""
    from dashboards.answer.history import blocker_ranking

    return blocker_ranking.blockers(map(rebalance_items.rebalance, rows.rebalances), ranked_by)


def profiles(rows: Any) -> list[GroupProfile]:
    """Profiles of groups."""
    from dashboards.answer.history import group_profiles
    from dashboards.answer.history.periods import cover_of

    files = rows.inputs["log_files"]
    pairs = ((row, rebalance_items.rebalance(row)) for row in rows.rebalances)
    return group_profiles.profiles(pairs, rows.members, rows.client_states, group_profiles.versions_by_file(files), cover_of(files))


def deploys(rows: Any) -> list[Deploy]:
    """Deployments."""
    from dashboards.answer.history.deploys import ROLLING_RESTART
    from dashboards.answer.history.deploys import deploys as found
    from pipelines.cli.answers.selection import with_ids

    incidents = [row for row in rows.incidents if ROLLING_RESTART in (column(row, "kind"), column(row, "root_cause"))]
    ids = {rebalance_id for row in incidents for rebalance_id in column(row, "rebalance_ids") or ()}
    items = map(rebalance_items.rebalance, with_ids(rows.rebalances, "rebalance_id", ids)) if ids else ()
    return found(incidents, {item.id: item for item in items})


def blocker_rows(items: Iterable[Blocker]) -> Iterator[dict[str, Any]]:
    """Rows of `offenders --blockers`."""
    for blocker in items:
        yield {
            "cluster": blocker.cluster,
            "system": blocker.system,
            "group": blocker.group,
            "name": blocker.name,
            "hosts": list(blocker.hosts),
            "rebalances_held_up": blocker.rebalances,
            "held_up_seconds": blocker.seconds,
            "group_share": blocker.group_share,
            "longest_seconds": blocker.longest_seconds,
            "causes": dict(blocker.causes),
            "first_at": instant_text(blocker.first_at),
            "last_at": instant_text(blocker.last_at),
        }


Budget: TypeAlias = Callable[[str], float | None]
"""Seconds that a group may stand still in a week, or None."""


def used(profile: GroupProfile, budget: Budget) -> float | None:
    """Part of its weekly budget that a group uses.

    If the logs cover less than a week, the part used so far.
    """
    from dashboards.answer.history.group_profiles import WEEK

    allowed = budget(profile.group)
    if not allowed:
        return None
    weeks = max(profile.covered_seconds / WEEK, 1.0)
    return round(profile.stopped_seconds / weeks / allowed, 6)


def group_rows(items: Iterable[GroupProfile], budget: Budget) -> Iterator[dict[str, Any]]:
    """Rows of `groups`."""
    names = ("cluster", "system", "group", "protocol", "protocol_type", "assignor", "members", "clients", "static_members", "static_share")
    for profile in items:
        migration = profile.migration
        yield {
            **{name: getattr(profile, name) for name in names},
            "client_versions": list(profile.client_versions),
            "clients_by_version": dict(profile.clients_by_version),
            "rebalances": profile.rebalances,
            "stopped_seconds": profile.stopped_seconds,
            "covered_seconds": profile.covered_seconds,
            "stopped_seconds_per_week": profile.stopped_seconds_per_week,
            "budget_seconds": budget(profile.group),
            "budget_used": used(profile, budget),
            "migration": {
                "status": migration.status,
                "reasons": list(migration.reasons),
                "open": list(migration.open),
                "migrated_at": instant_text(migration.migrated_at),
                "classic_rebalances": migration.classic_rebalances,
                "consumer_rebalances": migration.consumer_rebalances,
            },
        }


def trend_rows(items: Iterable[GroupTrend]) -> Iterator[dict[str, Any]]:
    """Rows of `trend`."""
    names = ("covered_seconds", "rebalances", "rebalances_per_hour", "unexpected", "stopped_seconds", "member_seconds_stopped", "score")
    for trend in items:
        yield {
            "cluster": trend.cluster,
            "system": trend.system,
            "group": trend.group,
            "score": trend.score,
            "periods": [
                {
                    "started_at": instant_text(row.period.begin),
                    "ended_at": instant_text(row.period.end),
                    **{name: getattr(row, name) for name in names},
                }
                for row in trend.periods
            ],
            "changes": [
                {"at": instant_text(change.begin), "before": change.before, "after": change.after, "p_value": change.p_value}
                for change in trend.changes
            ],
            "score_parts": None if trend.parts is None else asdict(trend.parts),
        }


def deploy_rows(items: Iterable[Deploy]) -> Iterator[dict[str, Any]]:
    """Rows of `deploys`."""
    for deploy in items:
        yield {
            "cluster": deploy.cluster,
            "system": deploy.system,
            "group": deploy.group,
            "incident_id": deploy.incident_id,
            "started_at": instant_text(deploy.started_at),
            "ended_at": instant_text(deploy.ended_at),
            "restarted": list(deploy.restarted),
            "rebalances": deploy.rebalances,
            "stopped_seconds": deploy.stopped_seconds,
            "member_seconds_stopped": deploy.member_seconds_stopped,
            "spared_rebalances": deploy.spared_rebalances,
        }


def breaches(rows: Any, logs_end: int | None, rules: Sequence[AlertRule]) -> list[Breach]:
    """Breaches of the user's own rules."""
    from dashboards.answer.history.alert_rules import breaches as found

    return found(rules, rebalances_of(rows), logs_end) if rules else []


def breach_rows(items: Iterable[Breach]) -> Iterator[dict[str, Any]]:
    """Rows of `gate`."""
    for breach in items:
        yield {
            "rule": breach.rule.text,
            "cluster": breach.cluster,
            "system": breach.system,
            "group": breach.group,
            "started_at": instant_text(breach.started_at),
            "ended_at": instant_text(breach.ended_at),
            "value": breach.value,
            "text": breach.headline,
        }


def breach_alerts(items: Iterable[Breach]) -> Iterator[dict[str, Any]]:
    """Alerts, with the columns of incidents that alerts have."""
    from pipelines.jobs.operations.alerts import RULE

    for breach in items:
        yield {
            "incident_id": make_id("rule", breach.rule.text, breach.cluster, breach.system, breach.group, breach.started_at),
            "cluster": breach.cluster,
            "kind": RULE,
            "severity": "warning",
            "groups": [breach.group],
            "started_at": _time_of(breach.started_at),
            "ended_at": _time_of(breach.ended_at),
            "root_cause": None,
            "headline": f"{breach.headline} (rule {breach.rule.text!r})",
        }


def _time_of(micros: int | None) -> datetime | None:
    return None if micros is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def reach(files: Iterable[Mapping[str, Any]]) -> tuple[int, int] | None:
    """First and last time of recognised files."""
    times = [at for row in files if column(row, "recognised") for name in ("first_at", "last_at") if (at := column(row, name)) is not None]
    return (min(times), max(times)) if times else None


def rebalances_of(rows: Any) -> Iterator[Rebalance]:
    """Views of all rebalances."""
    return map(rebalance_items.rebalance, rows.rebalances)
