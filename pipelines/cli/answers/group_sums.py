"""Rebalances and stopped time of each group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dashboards.answer import rebalance_items
from dashboards.answer.totals import RebalanceTotals
from pipelines.cli.answers.sql_ranking import STOPPED, UNTIMED
from pipelines.warehouse.warehouse_reader import StoredRows

_BY_GROUP = """
select cluster, system, "group", count(*) as count, coalesce(sum({stopped}), 0.0) as stopped, count(*) filter (where {untimed}) as untimed
from chosen group by cluster, system, "group"
"""


@dataclass(frozen=True, slots=True)
class GroupSum:
    """Rebalances of a group, and how long it stood still in them."""

    cluster: str
    system: str
    group: str
    count: int
    stopped_seconds: float
    untimed: int = 0
    """Rebalances in which it stood still for an unknown time."""


def group_sums(rebalances: Iterable[Any]) -> list[GroupSum]:
    """Sums by group, the longest stopped first."""
    if isinstance(rebalances, StoredRows):
        rows = rebalances.query(_BY_GROUP.format(stopped=STOPPED, untimed=UNTIMED))
        totals = [
            GroupSum(row["cluster"], row["system"], row["group"], row["count"], round(row["stopped"], 6), row["untimed"]) for row in rows
        ]
    else:
        sums: defaultdict[tuple[str, str, str], RebalanceTotals] = defaultdict(RebalanceTotals)
        for item in map(rebalance_items.rebalance, rebalances):
            sums[item.cluster, item.system, item.group].add(item)
        totals = [GroupSum(*key, total.count, round(total.stopped_seconds, 6), total.untimed) for key, total in sums.items()]
    return sorted(totals, key=lambda total: (-total.stopped_seconds, -total.count, total.cluster, total.group))
