"""Command `groupscope gate`: an exit code for deployments."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from models.units import US_PER_SECOND
from pipelines import exit_codes as codes
from pipelines.cli.answers.source import Source, check_witnesses, open_source, zone_warnings
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.filters import Filters
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.cli.arguments.times import span_seconds
from pipelines.cli.output.standard_streams import ReaderGone, screen
from pipelines.errors import UsageError

if TYPE_CHECKING:
    from dashboards.answer.history.alert_rules import AlertRule, Breach
    from pipelines.cli.answers.group_sums import GroupSum

MaxRebalances = Annotated[
    int | None, typer.Option("--max-rebalances", min=0, metavar="N", help="Rebalances that each group may have.", rich_help_panel=o.SHOW)
]
MaxStopped = Annotated[
    str | None,
    typer.Option("--max-stopped", metavar="SPAN", help="How long each group may stand still in all, such as 10s.", rich_help_panel=o.SHOW),
]
RulesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        metavar="RULE",
        help="A rule such as 'orders*: rebalances > 3 per 1h' or '*: duration > 2x last 7d'; default: those of the settings. Repeatable.",
        rich_help_panel=o.SHOW,
    ),
]


@question
def gate(
    query_options: QueryOptions,
    filters: Filters,
    max_rebalances: MaxRebalances = None,
    max_stopped: MaxStopped = None,
    rule: RulesOption = None,
    as_json: o.AsJson = False,
) -> int:
    """Exit with 1 if a group rebalanced or stopped more than allowed."""
    from conf.settings import load_settings
    from pipelines.cli.answers.group_sums import group_sums
    from pipelines.cli.arguments.alert_rules import alert_rules

    rules = alert_rules(rule or load_settings(query_options.settings_file).alerts.rules)
    if max_rebalances is None and max_stopped is None and not rules:
        raise UsageError("say what is allowed: --max-rebalances N, --max-stopped SPAN or --rule RULE")
    seconds = None if max_stopped is None else span_seconds(max_stopped, "--max-stopped")
    source = open_source(query_options, filters, is_strict=True)
    check_witnesses(source, query_options)
    judged = [(group, _exceeded(group, max_rebalances, seconds)) for group in group_sums(source.rows.rebalances)]
    broken = _breaches(source, rules)
    empty = [] if seconds is None else _without_members(source, seconds)
    nameless = _of_unnamed_groups(source, max_rebalances)
    of_zones = zone_warnings(source)
    if query_options.warehouse:
        list(map(query_options.talk.warn, of_zones))
    with contextlib.suppress(ReaderGone):  # who reads no further gets the exit code
        if as_json:
            _write(judged, max_rebalances, seconds, broken, empty, nameless, of_zones)
        else:
            _show(judged, broken, source, empty, nameless, is_timed=seconds is not None)
    is_above = bool(broken or empty or nameless.are_above) or any(excess for _, excess in judged)
    doubtful = [codes.SOME_REJECTED] if of_zones else []  # what was read does not fit together, as if part of it were missing
    return codes.decisive([*source.codes, *doubtful, codes.FINDINGS if is_above else codes.GOOD])


@dataclass(frozen=True, slots=True)
class EmptyGroup:
    """A group that has no members when the logs end, though it should."""

    cluster: str
    group: str
    seconds: float


@dataclass(frozen=True, slots=True)
class UnnamedGroups:
    """Troubles of clients whose group no line names, as sentences."""

    headlines: list[str]
    are_above: bool
    """Whether they show more rebalances than a group may have."""


def _of_unnamed_groups(source: Source, rebalances_max: int | None) -> UnnamedGroups:
    """What clients tell without their group.

    Each that lost its place made a rebalance that no sum holds.
    """
    from dashboards.view.row_access import column
    from models.kafka.observations.unattributed_troubles import UNATTRIBUTED_KINDS
    from pipelines.cli.answers.selection import those
    from pipelines.warehouse.warehouse_reader import column_in

    rows = those(
        source.rows.incidents,
        f"cardinality(groups) = 0 and severity <> 'info' and {column_in('kind', sorted(UNATTRIBUTED_KINDS))}",
        lambda row: not column(row, "groups") and column(row, "severity") != "info" and column(row, "kind") in UNATTRIBUTED_KINDS,
    )
    headlines = [column(row, "headline") for row in rows]
    return UnnamedGroups(headlines, rebalances_max is not None and len(headlines) > rebalances_max)


def _without_members(source: Source, seconds_max: float) -> list[EmptyGroup]:
    """Groups without members for longer than groups may stand still.

    No rebalance counts the time, as nobody is left to wait.
    """
    from dashboards.view.row_access import column
    from pipelines.cli.answers.selection import last_record_at, those

    end = last_record_at(source.whole) or 0
    rows = those(source.rows.incidents, "kind = 'no_members'", lambda row: column(row, "kind") == "no_members")
    empty = (
        EmptyGroup(column(row, "cluster"), column(row, "groups")[0], (end - column(row, "started_at")) / US_PER_SECOND) for row in rows
    )
    return [group for group in empty if group.seconds > seconds_max]


def _breaches(source: Source, rules: list[AlertRule]) -> list[Breach]:
    from pipelines.cli.answers.history_rows import breaches
    from pipelines.cli.answers.selection import last_record_at

    return breaches(source.rows, last_record_at(source.whole), rules)


def _exceeded(group: GroupSum, rebalances_max: int | None, seconds_max: float | None) -> list[str]:
    """Limits that a group does not keep."""
    totals = [("rebalances", group.count, rebalances_max), ("stopped", group.stopped_seconds, seconds_max)]
    return [name for name, value, limit in totals if limit is not None and value > limit]


def _write(
    judged: list[tuple[GroupSum, list[str]]],
    rebalances_max: int | None,
    seconds_max: float | None,
    broken: list[Breach],
    empty: list[EmptyGroup],
    nameless: UnnamedGroups,
    of_zones: list[str],
) -> None:
    from pipelines.cli.answers.history_rows import breach_rows
    from pipelines.cli.output.json_csv import write_object

    groups: list[dict[str, Any]] = [
        {
            "cluster": group.cluster,
            "system": group.system,
            "group": group.group,
            "rebalances": group.count,
            "stopped_seconds": group.stopped_seconds,
            "untimed_rebalances": group.untimed,
            "exceeded": excess,
        }
        for group, excess in judged
    ]
    passed = not broken and not empty and not nameless.are_above and not any(excess for _, excess in judged)
    limits = {"max_rebalances": rebalances_max, "max_stopped_seconds": seconds_max}
    write_object(
        {
            "passed": passed,
            **limits,
            "groups": groups,
            "groups_without_members": list(map(asdict, empty)),
            "broken_rules": list(breach_rows(broken)),
            "unnamed_groups": nameless.headlines,
            "doubts": of_zones,
        }
    )


def _show(
    judged: list[tuple[GroupSum, list[str]]],
    breaches: list[Breach],
    source: Source,
    empty: list[EmptyGroup],
    nameless: UnnamedGroups,
    *,
    is_timed: bool,
) -> None:
    from dashboards.answer.build import build_answer
    from dashboards.wording.durations import duration
    from dashboards.wording.summary import nothing_found
    from dashboards.wording.units import counted
    from pipelines.cli.output import screens

    broken = [(group, excess) for group, excess in judged if excess]
    for group, excess in broken:
        text = f"{counted(group.count, 'rebalance')}, {duration(group.stopped_seconds)} stopped"
        screens.say(screen(), f"{group.group}: {text}; more than allowed: {' and '.join(excess)}", style="bold")
    for item in empty:
        text = f"without members for {duration(item.seconds)}, and still so when the logs end; more than --max-stopped allows"
        screens.say(screen(), f"{item.group}: {text}", style="bold")
    for breach in breaches:
        screens.say(screen(), f"{breach.headline} ({source.clock.span(breach.started_at, breach.ended_at)})", style="bold")
    for headline in nameless.headlines:
        screens.say(screen(), headline, style="bold")
    if not broken and not breaches and not empty and not nameless.are_above:
        screens.say(screen(), f"Passed: {counted(len(judged), 'group')} with rebalances, none above the limits.")
    untimed = sum(group.untimed for group, _ in judged) if is_timed else 0
    if untimed:
        screens.say(screen(), f"How long groups stood still in {counted(untimed, 'rebalance')} is not known; --max-stopped counts it as 0.")
    if not judged:
        screens.say(screen(), nothing_found(build_answer(source.whole, kept_max=0, incidents_max=0, with_lanes=False)))
