"""Deployments: members of a group restarted in turn, and what that cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dashboards.view.answer import Rebalance
from dashboards.view.row_access import column

ROLLING_RESTART = "rolling_restart"


@dataclass(frozen=True, slots=True)
class Deploy:
    """One deployment of a group."""

    cluster: str
    system: str
    group: str
    incident_id: str
    started_at: int | None
    ended_at: int | None
    restarted: tuple[str, ...]
    rebalances: int
    stopped_seconds: float
    member_seconds_stopped: float | None
    spared_rebalances: int | None
    """Rebalances that static membership would have avoided."""


def deploys(incidents: Iterable[Any], rebalances: Mapping[str, Rebalance]) -> list[Deploy]:
    """Deployments by time; `rebalances` are those of the incidents, by id."""
    deploys_of_groups = []
    for row in incidents:
        if ROLLING_RESTART not in (column(row, "kind"), column(row, "root_cause")):
            continue
        items = [rebalances[rebalance_id] for rebalance_id in column(row, "rebalance_ids") or () if rebalance_id in rebalances]
        members = [item.member_seconds_stopped for item in items if item.member_seconds_stopped is not None]
        spared = (column(row, "static_membership_effect") or {}).get("static_avoided")
        deploys_of_groups.append(
            Deploy(
                cluster=column(row, "cluster"),
                system=column(row, "system"),
                group=", ".join(column(row, "groups") or ()),
                incident_id=column(row, "incident_id"),
                started_at=column(row, "started_at"),
                ended_at=column(row, "ended_at"),
                restarted=tuple(column(row, "restarted_members") or ()),
                rebalances=column(row, "rebalance_count"),
                stopped_seconds=round(column(row, "stopped_seconds") or 0.0, 6),
                member_seconds_stopped=round(sum(members), 6) if members else None,
                spared_rebalances=None if spared is None else round(spared),
            )
        )
    return sorted(deploys_of_groups, key=lambda deploy: (deploy.started_at is None, deploy.started_at or 0, deploy.cluster, deploy.group))
