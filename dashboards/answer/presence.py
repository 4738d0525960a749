"""Members' roles in rebalances, member counts of groups, and outages of brokers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from dashboards.answer.totals import unknown_last
from dashboards.view import answer as data
from dashboards.view import charts as pictured
from dashboards.view.row_access import AnyRow, column, evidence_lines, member_name

_ROLES = ("trigger", "joined", "left", "blocker", "leader", "bystander")
"""Roles of members in a rebalance, in order of display."""

_LEFT = frozenset({"left", "expired", "evicted", "fenced", "removed"})
"""Ends of members after which their group must rebalance."""


def groups_left(members: Iterable[AnyRow], rebalanced: Collection[str]) -> int:
    """Count groups that members left though no line shows a rebalance."""
    left = {column(row, "group") for row in members if column(row, "ended_how") in _LEFT}
    return len(left.difference(rebalanced))


def partitions_short(spans: Iterable[AnyRow]) -> tuple[int, int]:
    """Count partitions with too few replicas in sync, ever and at the end."""
    short: dict[tuple[object, object, object], bool] = {}
    for row in spans:
        place = column(row, "cluster"), column(row, "topic"), column(row, "partition")
        short[place] = short.get(place, False) or column(row, "ended_by") == "open"
    return len(short), sum(short.values())


def affected_members(rows: Iterable[AnyRow]) -> dict[str, list[pictured.MemberPart]]:
    """Members affected by each rebalance.

    The trigger comes first, the last member to rejoin comes last.
    """
    parts_of_member: defaultdict[str, list[pictured.MemberPart]] = defaultdict(list)
    for row in rows:
        has_stayed, delay = column(row, "session_after") is not None, column(row, "join_delay_seconds")
        part = pictured.MemberPart(member_name(row), column(row, "role"), bool(column(row, "is_first_of_role")), delay, has_stayed)
        parts_of_member[column(row, "rebalance_id")].append(part)
    for members in parts_of_member.values():
        members.sort(key=_by_part)
    return dict(parts_of_member)


def _by_part(part: pictured.MemberPart) -> tuple[object, ...]:
    rank = _ROLES.index(part.role) if part.role in _ROLES else len(_ROLES)
    return (not part.is_first, rank, part.join_delay_seconds is None, part.join_delay_seconds or 0.0, part.name)


def head_counts(rebalances: Sequence[data.Rebalance], lanes: Sequence[data.Lane], changes: Iterable[AnyRow]) -> list[pictured.HeadCount]:
    """Member counts of each group over time.

    Kafka: taken from the lines before and after each rebalance. RocketMQ groups have no coordinator, so the count is
    the number of clients at the last allocation.
    """
    counts: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for item in rebalances:
        after = item.joined_at if item.joined_at is not None else item.ended_at
        for at, count in ((item.started_at, item.members_before), (after, item.members_after)):
            if at is not None and count is not None:
                counts[item.cluster, item.group].append((at, count))
    for lane in lanes:
        steps = [
            (stretch.started_at, stretch.member_count)
            for stretch in lane.stretches
            if stretch.member_count is not None and stretch.state != _UNDER_WAY
        ]
        counts[lane.cluster, lane.group].extend(steps)
    for row in changes:
        if column(row, "clients") is not None and column(row, "changed_at") is not None:
            counts[column(row, "cluster"), column(row, "group")].append((column(row, "changed_at"), column(row, "clients")))
    return [pictured.HeadCount(*key, _steps(points)) for key, points in sorted(counts.items()) if points]


_UNDER_WAY = "PreparingRebalance"
"""State with an incomplete member count: it includes only members that have rejoined."""


def _steps(points: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Points in order of time, without repeated values."""
    ordered = sorted(points, key=lambda point: point[0])
    before: Iterable[int | None] = chain((None,), (count for _, count in ordered))
    return tuple(point for point, last in zip(ordered, before, strict=False) if point[1] != last)


def broker_outages(rows: Iterable[AnyRow]) -> list[pictured.BrokerOutage]:
    """Outages of brokers, by time."""
    outages = [
        pictured.BrokerOutage(
            column(row, "cluster"),
            str(column(row, "node")),
            column(row, "down_at"),
            column(row, "up_at"),
            column(row, "shutdown_kind"),
            evidence_lines(row),
        )
        for row in rows
    ]
    return sorted(outages, key=lambda item: (unknown_last(item.down_at), item.cluster, item.node))
