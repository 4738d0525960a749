"""Tables for people about groups over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dashboards.wording.durations import NOTHING, duration
from dashboards.wording.units import Clock, counted, listed, share
from pipelines.cli.output import screens
from pipelines.cli.output.grid import Column, grid

if TYPE_CHECKING:
    from rich.console import Console

    from dashboards.answer.history.blocker_ranking import Blocker
    from dashboards.answer.history.deploys import Deploy
    from dashboards.answer.history.group_profiles import GroupProfile
    from dashboards.answer.history.trends import GroupTrend

VERSIONS_SHOWN = 2


def blockers(console: Console, items: Sequence[Blocker], clock: Clock) -> None:
    """Print members by the time that others waited for them."""
    console.print(
        grid(
            [
                Column("member", [one.name for one in items], least=21),
                Column("on", [listed(list(one.hosts)) if one.hosts else "" for one in items], rank=3, least=14),
                Column("group", [one.group for one in items], least=14),
                Column("held up", [f"{one.rebalances:,}" for one in items], is_right_aligned=True),
                Column("waited for", [duration(one.seconds) for one in items], is_right_aligned=True),
                Column("of the group's waiting", [share(one.group_share) for one in items], rank=2, is_right_aligned=True),
                Column("longest", [duration(one.longest_seconds) for one in items], rank=1, is_right_aligned=True),
                Column(f"last ({clock.zone_name})", [clock.stamp(one.last_at) for one in items], rank=4),
            ],
            console.width,
        )
    )


def _versions(one: GroupProfile) -> list[str]:
    """Versions of clients, with how many run each where that is known."""
    counts = one.clients_by_version
    others = [version for version in one.client_versions if version not in counts]
    return [*(f"{version} ({count} of {one.clients})" for version, count in counts.items()), *others]


def groups(console: Console, items: Sequence[GroupProfile], used: Callable[[GroupProfile], float | None]) -> None:
    """Print profiles, then what is in the way of KIP-848."""
    shares = [used(one) for one in items]
    console.print(
        grid(
            [
                Column("group", [one.group for one in items], least=14),
                Column("protocol", [one.protocol or NOTHING for one in items]),
                Column("assignor", [one.assignor or NOTHING for one in items], rank=2, least=12),
                Column("members", [NOTHING if one.members is None else f"{one.members:,}" for one in items], is_right_aligned=True),
                Column("static", [share(one.static_share) for one in items], rank=3, is_right_aligned=True),
                Column("clients", [listed(_versions(one), VERSIONS_SHOWN) for one in items], rank=4, least=10),
                Column("rebalances", [f"{one.rebalances:,}" for one in items], is_right_aligned=True),
                Column("stopped", [duration(one.stopped_seconds) for one in items], rank=1, is_right_aligned=True),
                Column("a week", [duration(one.stopped_seconds_per_week) for one in items], is_right_aligned=True),
                Column("of budget", ["" if part is None else f"{part:.0%}".replace("%", " %") for part in shares], is_right_aligned=True),
                Column("KIP-848", [one.migration.status for one in items]),
            ],
            console.width,
        )
    )
    for one in items:
        why = one.migration
        if why.reasons or why.open:
            rest = f"not known: {listed(list(why.open))}" if why.open else ""
            screens.say(console, f"{one.group}, KIP-848: {'; '.join([*why.reasons, *filter(None, [rest])])}", style="dim", hang=2)
        elif why.migrated_at is not None:
            many = f"{counted(why.classic_rebalances, 'classic rebalance')}, {why.consumer_rebalances:,} since"
            screens.say(console, f"{one.group}, KIP-848: {many}", style="dim", hang=2)


def trends(console: Console, items: Sequence[GroupTrend], clock: Clock) -> None:
    """Print each group's periods and changes."""
    for number, one in enumerate(items):
        screens.heading(console, f"{one.group}: stability {NOTHING if one.score is None else one.score} of 100", space=number > 0)
        rows = [row for row in one.periods if row.covered_seconds or row.rebalances]
        rates = [row.rebalances_per_hour for row in rows]
        console.print(
            grid(
                [
                    Column(f"from ({clock.zone_name})", [row.period.name for row in rows]),
                    Column("covered", [duration(row.covered_seconds) for row in rows], rank=2, is_right_aligned=True),
                    Column("rebalances", [f"{row.rebalances:,}" for row in rows], is_right_aligned=True),
                    Column("an hour", [NOTHING if rate is None else f"{rate:,.2f}" for rate in rates], rank=1, is_right_aligned=True),
                    Column("stopped", [duration(row.stopped_seconds) for row in rows], is_right_aligned=True),
                    Column("member time stopped", [duration(row.member_seconds_stopped) for row in rows], rank=3, is_right_aligned=True),
                    Column("score", [NOTHING if row.score is None else str(row.score) for row in rows], is_right_aligned=True),
                ],
                console.width,
                indent=1,
            )
        )
        for change in one.changes:
            rates_told = f"{duration(change.before)} of stopped member time an hour before, {duration(change.after)} after"
            when = clock.stamp(change.begin).partition(".")[0]
            screens.say(console, f"Changed from {when}: {rates_told} (p = {change.p_value:.3f})", indent=1, style="bold")


def deploys(console: Console, items: Sequence[Deploy], clock: Clock) -> None:
    """Print deployments with their cost."""
    spared: list[Any] = [one.spared_rebalances for one in items]
    console.print(
        grid(
            [
                Column(f"from ({clock.zone_name})", [clock.stamp(one.started_at).partition(".")[0] for one in items]),
                Column("to", [clock.stamp(one.ended_at).partition(".")[0].partition(" ")[2] for one in items], rank=3),
                Column("group", [one.group for one in items], least=14),
                Column("restarted", [listed(list(one.restarted)) for one in items], rank=2, least=20),
                Column("rebalances", [f"{one.rebalances:,}" for one in items], is_right_aligned=True),
                Column("stopped", [duration(one.stopped_seconds) for one in items], is_right_aligned=True),
                Column("member time stopped", [duration(one.member_seconds_stopped) for one in items], rank=4, is_right_aligned=True),
                Column("static would avoid", [NOTHING if each is None else str(each) for each in spared], rank=1, is_right_aligned=True),
            ],
            console.width,
        )
    )
