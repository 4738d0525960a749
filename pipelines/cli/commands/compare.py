"""Command `groupscope compare`: two periods or clusters, by group and cause."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines import exit_codes as codes
from pipelines.cli.answers.source import Source, open_source
from pipelines.cli.arguments import completion
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.cli.output.standard_streams import screen
from pipelines.errors import NothingReadable, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from dashboards.answer.comparison import AnalysisComparison, Mover, Side
    from dashboards.view.answer import Rebalance

At = Annotated[
    str | None,
    typer.Option("--at", metavar="TIME", help=o.AT, rich_help_panel=o.SHOW),
]
BeforeOption = Annotated[
    str | None, typer.Option("--before", metavar="FROM..TO", help="The first of two periods; goes with --after.", rich_help_panel=o.SHOW)
]
After = Annotated[str | None, typer.Option("--after", metavar="FROM..TO", help="The second of two periods.", rich_help_panel=o.SHOW)]
Between = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--clusters",
        metavar="A B",
        help="Compare two clusters instead of periods.",
        rich_help_panel=o.SHOW,
        autocompletion=completion.clusters,
    ),
]
LONG = (
    "system", "group", "cause", "expected", "count_before", "count_after", "stopped_seconds_before", "stopped_seconds_after",
    "per_hour_before", "per_hour_after",
)  # fmt: skip
"""Columns of CSV and of the list `changes`."""


_Span = tuple[int | None, int | None]
"""First and last time, None if unknown."""


@question
def compare(
    query_options: QueryOptions,
    form: o.OutputForm,
    at: At = None,
    before: BeforeOption = None,
    after: After = None,
    clusters: Between = None,
    limit: o.Limit = 50,
) -> int:
    """Compare two periods or two clusters.

    Counts by group and cause, members that are new or gone as offenders.
    """
    from pipelines.cli.output import json_csv as answers

    if sum((at is not None, before is not None or after is not None, clusters is not None)) != 1 or (before is None) != (after is None):
        raise UsageError("say what to compare: --at TIME, --before FROM..TO with --after FROM..TO, or --clusters A B")
    source = open_source(query_options)
    comparison = _of_clusters(source, clusters) if clusters else _of_periods(source, at, before, after)
    if form == "people":
        _show(screen(), comparison, source, limit)
    elif form == "json":
        answers.write_object(comparison_object(comparison))
    elif form == "jsonl":
        answers.write_lines(_changes(comparison))
    else:
        answers.write_csv(LONG, _changes(comparison))
    return codes.decisive(source.codes)


def _of_periods(source: Source, at: str | None, before: str | None, after: str | None) -> AnalysisComparison:
    from dashboards.answer.comparison import Side
    from dashboards.answer.comparison import compare as compared
    from pipelines.cli.answers.selection import those

    first, last = _reach(source.rows)
    if at is not None:
        (middle,) = _moments([at], source, "--at", last)
        periods = [(first, middle), (middle, last)]
    else:
        periods = [_period(text or "", source, option, last) for text, option in ((before, "--before"), (after, "--after"))]
    first_side, second_side = (
        Side(name, *_covered(period, (first, last), name, source)) for name, period in zip(("before", "after"), periods, strict=True)
    )
    sides = (first_side, second_side)

    def side_of(item: Rebalance) -> Iterable[int]:
        when = item.started_at if item.started_at is not None else item.ended_at
        return [] if when is None else [number for number, side in enumerate(sides) if _within(when, side, last_too=number == 1)]

    meant = " or ".join(f"({_within_in_sql(side)})" for side in sides)
    return compared(those(source.rows.rebalances, meant, lambda _: True), sides, side_of)


def _within_in_sql(side: Side) -> str:
    """SQL for a superset of the rows within a side."""
    from pipelines.warehouse.warehouse_reader import instant

    bounds = ((">=", side.started_at), ("<=", side.ended_at))
    conditions = [f"coalesce(started_at, ended_at) {sign} {instant(at)}" for sign, at in bounds if at is not None]
    return " and ".join(conditions) or "true"


def _within(when: int, side: Side, *, last_too: bool) -> bool:
    """Whether a time is within a side.

    The end belongs to the second side only.
    """
    started = side.started_at is None or side.started_at <= when
    return started and (side.ended_at is None or when < side.ended_at or (last_too and when == side.ended_at))


def _of_clusters(source: Source, names: tuple[str, str]) -> AnalysisComparison:
    from dashboards.answer.comparison import Side
    from dashboards.answer.comparison import compare as compared
    from pipelines.cli.answers.selection import nearest_of, those, values_of
    from pipelines.warehouse.warehouse_reader import column_in

    known = {cluster for rows in (source.rows.inputs["log_files"], source.rows.rebalances) for cluster in values_of(rows, "cluster")}
    for name in names:
        if name not in known:
            raise UsageError(f"no cluster {name!r} here; {nearest_of(name, known)}")
    if names[0] == names[1]:
        raise UsageError("--clusters names the same cluster twice")
    sides = (Side(names[0], *_reach(source.rows, names[0])), Side(names[1], *_reach(source.rows, names[1])))
    rows = those(source.rows.rebalances, column_in("cluster", names), lambda _: True)
    return compared(rows, sides, lambda item: [names.index(item.cluster)] if item.cluster in names else [])


def _reach(rows: Any, cluster: str | None = None) -> tuple[int | None, int | None]:
    """First and last time of recognised logs, optionally of one cluster."""
    files = [row for row in rows.inputs["log_files"] if _column(row, "recognised") and cluster in (None, _column(row, "cluster"))]
    firsts, lasts = ([time for row in files if (time := _column(row, name)) is not None] for name in ("first_at", "last_at"))
    return min(firsts, default=None), max(lasts, default=None)


def _covered(period: _Span, logs: _Span, name: str, source: Source) -> _Span:
    """The part of a period that the logs cover.

    Raises NothingReadable if there is none: that nothing happened then is not known.
    """
    (start, end), (first, last) = period, logs
    if start is None or end is None or first is None or last is None:
        return period
    if start > last or end < first:
        raise NothingReadable(
            f"the logs last from {source.clock.full(first)} to {source.clock.full(last)}, so nothing is known of {name!r}"
        )
    return max(start, first), min(end, last)


def _period(text: str, source: Source, option: str, last: int | None) -> tuple[int, int]:
    start, dots, end = text.partition("..")
    if not (start and dots and end):
        raise UsageError(f"{option} {text!r}: expected FROM..TO, such as 09:00..10:00")
    first, second = _moments([start, end], source, option, last)
    if first > second:
        raise UsageError(f"{option} {text!r} ends before it begins")
    return first, second


def _moments(texts: Iterable[str], source: Source, option: str, last: int | None) -> list[int]:
    from pipelines.cli.arguments.times import moment

    return [moment(text, source.clock.zone_name, option).micros(last) for text in texts]


def _column(row: Any, name: str) -> Any:
    from dashboards.view.row_access import column

    return column(row, name)


def comparison_object(comparison: AnalysisComparison) -> dict[str, Any]:
    """A comparison as described by `groupscope schema compare`."""
    from pipelines.schema.tables import instant_text

    sides = [
        {
            "name": side.name,
            "started_at": instant_text(side.started_at),
            "ended_at": instant_text(side.ended_at),
            "rebalances": comparison.rebalances[number],
            "rebalances_per_hour": side.per_hour(comparison.rebalances[number]),
            "stopped_seconds": comparison.stopped_seconds[number],
        }
        for number, side in enumerate(comparison.sides)
    ]
    offenders = {"new_offenders": comparison.new, "gone_offenders": comparison.gone}
    return {
        "sides": sides,
        "changes": list(_changes(comparison)),
        **{key: [_member(member) for member in members] for key, members in offenders.items()},
    }


def _changes(comparison: AnalysisComparison) -> Iterable[dict[str, Any]]:
    for change in comparison.changes:
        rates = (side.per_hour(count) for side, count in zip(comparison.sides, change.counts, strict=True))
        values = (change.system, change.group, change.cause, change.is_expected, *change.counts, *change.stopped_seconds, *rates)
        yield dict(zip(LONG, values, strict=True))


def _member(mover: Mover) -> dict[str, Any]:
    return {
        "system": mover.system,
        "group": mover.group,
        "name": mover.name,
        "rebalances_caused": mover.caused,
        "rebalances_held_up": mover.blocked,
        "stopped_seconds": mover.stopped_seconds,
        "causes": dict(mover.causes),
    }


def _show(console: Console, comparison: AnalysisComparison, source: Source, limit: int) -> None:
    from dashboards.wording.durations import duration
    from dashboards.wording.units import counted
    from pipelines.cli.output import screens
    from pipelines.cli.output.grid import GridColumn, grid

    names = [side.name for side in comparison.sides]
    for number, side in enumerate(comparison.sides):
        when = source.clock.span(side.started_at, side.ended_at)
        per_hour = "" if comparison.are_alike else _rate(side.per_hour(comparison.rebalances[number]))
        count_text = counted(comparison.rebalances[number], "rebalance")
        text = f"{when}, {duration(side.seconds)}: {count_text}{per_hour}, {duration(comparison.stopped_seconds[number])} stopped"
        screens.labelled(console, f"{side.name:<{max(map(len, names))}}  ", "bold", text)
    if not comparison.changes:
        screens.say(console, "No rebalance on either side.")
        return
    if not comparison.are_alike:
        screens.say(console, "The two do not last equally long: compare the numbers per hour.", style="dim")
    console.print()
    shown = comparison.changes[: limit or None]
    columns = [
        GridColumn("group", [change.group for change in shown], least=14),
        GridColumn("cause", [change.cause.replace("_", " ") for change in shown], least=15),
        GridColumn(names[0], [f"{change.counts[0]:,}" for change in shown], is_right_aligned=True),
        GridColumn(names[1], [f"{change.counts[1]:,}" for change in shown], is_right_aligned=True),
        GridColumn(
            "an hour",
            [] if comparison.are_alike else [_rates(comparison, change.counts) for change in shown],
            rank=2,
            is_right_aligned=True,
        ),
        GridColumn(
            "change",
            [f"{change.counts[1] - change.counts[0]:+,}" if change.counts[0] != change.counts[1] else "=" for change in shown],
            is_right_aligned=True,
        ),
        GridColumn("stopped " + names[0], [duration(change.stopped_seconds[0]) for change in shown], rank=1, is_right_aligned=True),
        GridColumn("stopped " + names[1], [duration(change.stopped_seconds[1]) for change in shown], rank=1, is_right_aligned=True),
    ]
    console.print(grid(columns, console.width, indent=1))
    if len(comparison.changes) > len(shown):
        screens.say(console, f"{len(shown):,} of {len(comparison.changes):,} lines, what changed most; --limit 0 shows all", style="dim")
    _members(console, f"Trouble only {_in(comparison, 1)}", comparison.new, limit)
    _members(console, f"Trouble only {_in(comparison, 0)}", comparison.gone, limit)


def _in(comparison: AnalysisComparison, number: int) -> str:
    name = comparison.sides[number].name
    return name if name in ("before", "after") else f"in {name}"


def _rates(comparison: AnalysisComparison, counts: tuple[int, int]) -> str:
    """Rebalances an hour on both sides."""
    rates = [side.per_hour(count) for side, count in zip(comparison.sides, counts, strict=True)]
    return " → ".join("?" if rate is None else f"{rate:,.1f}" for rate in rates)


def _rate(per_hour: float | None) -> str:
    return f" ({per_hour:,.1f} an hour)" if per_hour is not None else ""


def _members(console: Console, title: str, members: Iterable[Mover], limit: int) -> None:
    from dashboards.wording.durations import duration
    from pipelines.cli.output import screens
    from pipelines.cli.output.grid import GridColumn, grid

    listed = list(members)[: limit or None]
    if not listed:
        return
    screens.heading(console, title)
    by = [", ".join(f"{name.replace('_', ' ')} {screens.TIMES_SIGN}{count}" for name, count in mover.causes) for mover in listed]
    columns = [
        GridColumn("member", [mover.name for mover in listed], least=21),
        GridColumn("group", [mover.group for mover in listed], least=14),
        GridColumn("caused", [str(mover.caused) for mover in listed], is_right_aligned=True),
        GridColumn("held up", [str(mover.blocked) for mover in listed], is_right_aligned=True),
        GridColumn("stood still", [duration(mover.stopped_seconds) for mover in listed], is_right_aligned=True),
        GridColumn("by", by, rank=1, least=16),
    ]
    console.print(grid(columns, console.width, indent=1))
