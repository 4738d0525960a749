"""Tables for people about groups over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dashboards.wording.durations import NO_VALUE, duration
from dashboards.wording.units import Clock, counted, listed, share
from pipelines.cli.output import screens
from pipelines.cli.output.grid import GridColumn, grid

if TYPE_CHECKING:
    from rich.console import Console

    from dashboards.answer.history.blocker_ranking import Blocker
    from dashboards.answer.history.deploys import Deploy
    from dashboards.answer.history.group_profiles import GroupProfile
    from dashboards.answer.history.trends import GroupTrend, ScoreParts

VERSIONS_SHOWN = 2


def blockers(console: Console, items: Sequence[Blocker], clock: Clock) -> None:
    """Print members by the time that others waited for them."""
    console.print(
        grid(
            [
                GridColumn("member", [blocker.name for blocker in items], least=21),
                GridColumn("on", [listed(list(blocker.hosts)) if blocker.hosts else "" for blocker in items], rank=3, least=14),
                GridColumn("group", [blocker.group for blocker in items], least=14),
                GridColumn("held up", [f"{blocker.rebalances:,}" for blocker in items], is_right_aligned=True),
                GridColumn("waited for", [duration(blocker.seconds) for blocker in items], is_right_aligned=True),
                GridColumn("of the group's waiting", [share(blocker.group_share) for blocker in items], rank=2, is_right_aligned=True),
                GridColumn("longest", [duration(blocker.longest_seconds) for blocker in items], rank=1, is_right_aligned=True),
                GridColumn(f"last ({clock.zone_name})", [clock.stamp(blocker.last_at) for blocker in items], rank=4),
            ],
            console.width,
        )
    )


def _versions(profile: GroupProfile) -> list[str]:
    """Versions of clients, with how many run each where that is known."""
    counts = profile.clients_by_version
    others = [version for version in profile.client_versions if version not in counts]
    return [*(f"{version} ({count} of {profile.clients})" for version, count in counts.items()), *others]


def groups(console: Console, items: Sequence[GroupProfile], used: Callable[[GroupProfile], float | None]) -> None:
    """Print profiles, then what is in the way of KIP-848."""
    shares = [used(profile) for profile in items]
    console.print(
        grid(
            [
                GridColumn("group", [profile.group for profile in items], least=14),
                GridColumn("protocol", [profile.protocol or NO_VALUE for profile in items]),
                GridColumn("assignor", [profile.assignor or NO_VALUE for profile in items], rank=2, least=12),
                GridColumn(
                    "members", [NO_VALUE if profile.members is None else f"{profile.members:,}" for profile in items], is_right_aligned=True
                ),
                GridColumn("static", [share(profile.static_share) for profile in items], rank=3, is_right_aligned=True),
                GridColumn("clients", [listed(_versions(profile), VERSIONS_SHOWN) for profile in items], rank=4, least=10),
                GridColumn("rebalances", [f"{profile.rebalances:,}" for profile in items], is_right_aligned=True),
                GridColumn("stopped", [duration(profile.stopped_seconds) for profile in items], rank=1, is_right_aligned=True),
                GridColumn("a week", [duration(profile.stopped_seconds_per_week) for profile in items], is_right_aligned=True),
                GridColumn(
                    "of budget", ["" if part is None else f"{part:.0%}".replace("%", " %") for part in shares], is_right_aligned=True
                ),
                GridColumn("KIP-848", [profile.migration.status for profile in items]),
            ],
            console.width,
        )
    )
    for profile in items:
        why = profile.migration
        if why.reasons or why.open:
            rest = f"not known: {listed(list(why.open))}" if why.open else ""
            screens.say(console, f"{profile.group}, KIP-848: {'; '.join([*why.reasons, *filter(None, [rest])])}", style="dim", hang=2)
        elif why.migrated_at is not None:
            counts_text = f"{counted(why.classic_rebalances, 'classic rebalance')}, {why.consumer_rebalances:,} since"
            screens.say(console, f"{profile.group}, KIP-848: {counts_text}", style="dim", hang=2)


def trends(console: Console, items: Sequence[GroupTrend], clock: Clock) -> None:
    """Print each group's periods and changes."""
    for number, trend in enumerate(items):
        screens.heading(console, f"{trend.group}: stability {NO_VALUE if trend.score is None else trend.score} of 100", space=number > 0)
        if trend.parts is not None:
            screens.say(console, _score_words(trend.parts), indent=1, style="dim")
        rows = [row for row in trend.periods if row.covered_seconds or row.rebalances]
        rates = [row.rebalances_per_hour for row in rows]
        console.print(
            grid(
                [
                    GridColumn(f"from ({clock.zone_name})", [row.period.name for row in rows]),
                    GridColumn("covered", [duration(row.covered_seconds) for row in rows], rank=2, is_right_aligned=True),
                    GridColumn("rebalances", [f"{row.rebalances:,}" for row in rows], is_right_aligned=True),
                    GridColumn("an hour", [NO_VALUE if rate is None else f"{rate:,.2f}" for rate in rates], rank=1, is_right_aligned=True),
                    GridColumn("stopped", [duration(row.stopped_seconds) for row in rows], is_right_aligned=True),
                    GridColumn(
                        "member time stopped", [duration(row.member_seconds_stopped) for row in rows], rank=3, is_right_aligned=True
                    ),
                    GridColumn("score", [NO_VALUE if row.score is None else str(row.score) for row in rows], is_right_aligned=True),
                ],
                console.width,
                indent=1,
            )
        )
        for change in trend.changes:
            rates_told = f"{duration(change.before)} of stopped member time an hour before, {duration(change.after)} after"
            when = clock.stamp(change.begin).partition(".")[0]
            screens.say(console, f"Changed from {when}: {rates_told} (p = {change.p_value:.3f})", indent=1, style="bold")


def _score_words(parts: ScoreParts) -> str:
    """What made up the score of a group, in one line."""
    unexpected = f"{counted(parts.unexpected, 'unexpected rebalance')} ({parts.unexpected_per_hour:,.2f} an hour)"
    still = f"standing still for {parts.stopped_share:.2%} of {duration(parts.counted_seconds)}"
    return f"100, times {parts.stopped_factor:.2f} for {still}, times {parts.unexpected_factor:.2f} for {unexpected}"


def deploys(console: Console, items: Sequence[Deploy], clock: Clock) -> None:
    """Print deployments with their cost."""
    spared: list[Any] = [deploy.spared_rebalances for deploy in items]
    console.print(
        grid(
            [
                GridColumn(f"from ({clock.zone_name})", [clock.stamp(deploy.started_at).partition(".")[0] for deploy in items]),
                GridColumn("to", [clock.stamp(deploy.ended_at).partition(".")[0].partition(" ")[2] for deploy in items], rank=3),
                GridColumn("group", [deploy.group for deploy in items], least=14),
                GridColumn("restarted", [listed(list(deploy.restarted)) for deploy in items], rank=2, least=20),
                GridColumn("rebalances", [f"{deploy.rebalances:,}" for deploy in items], is_right_aligned=True),
                GridColumn("stopped", [duration(deploy.stopped_seconds) for deploy in items], is_right_aligned=True),
                GridColumn(
                    "member time stopped", [duration(deploy.member_seconds_stopped) for deploy in items], rank=4, is_right_aligned=True
                ),
                GridColumn(
                    "static would avoid", [NO_VALUE if count is None else str(count) for count in spared], rank=1, is_right_aligned=True
                ),
            ],
            console.width,
        )
    )
