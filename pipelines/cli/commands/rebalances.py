"""Commands `groupscope rebalances`, `offenders` and `timeline`: one table each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pipelines import exit_codes as codes
from pipelines.cli.answers.source import Source, open_source, warn_without_witnesses
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.filters import Filters
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.cli.commands.history.listings import write_listing
from pipelines.cli.output.standard_streams import screen

if TYPE_CHECKING:
    from rich.console import Console

    from dashboards.view.answer import Lane, Outage


@question
def rebalances(
    query_options: QueryOptions,
    form: o.OutputForm,
    filters: Filters,
    limit: o.Limit = 50,
) -> int:
    """List rebalances: when, why, caused by whom, for how long."""
    source = open_source(query_options, filters)
    warn_without_witnesses(source, query_options, form)
    return _answer(source, "rebalances", _rows("rebalances"), _rebalances, limit=limit, form=form)


RankedBy = Annotated[
    Literal["client", "member", "instance", "host"],
    typer.Option("--by", help="What members are told apart by.", rich_help_panel=o.SHOW),
]


@question
def offenders(
    query_options: QueryOptions,
    form: o.OutputForm,
    filters: Filters,
    by: RankedBy = "client",
    blockers: Annotated[
        bool,
        typer.Option("--blockers", help="Rank by the time that ready members waited for them, booked once.", rich_help_panel=o.SHOW),
    ] = False,
    limit: o.Limit = 50,
) -> int:
    """Rank members that caused rebalances or kept others waiting.

    By the time that their groups stood still.
    """
    source = open_source(query_options, filters)
    warn_without_witnesses(source, query_options, form)
    if blockers:
        return _blockers(source, by, limit=limit, form=form)
    return _answer(source, "offenders", partial(offender_rows, ranked_by=by), partial(_offenders, ranked_by=by), limit=limit, form=form)


def _blockers(source: Source, by: str, *, limit: int, form: o.OutputForm) -> int:
    from pipelines.cli.answers import history_rows as rows
    from pipelines.cli.output import history_tables as tables

    write_listing(
        "blockers",
        rows.blockers(source.rows, by),
        rows.blocker_rows,
        lambda shown: tables.blockers(screen(), shown, source.clock),
        "No member is known to have held up a rebalance.",
        form=form,
        limit=limit,
    )
    return codes.decisive(source.codes)


@question
def timeline(
    query_options: QueryOptions,
    form: o.OutputForm,
    limit: o.Limit = 40,
) -> int:
    """Show the states of groups over time."""
    source = open_source(query_options)
    warn_without_witnesses(source, query_options, form)
    return _answer(source, "timeline", _rows("group_transitions", "timeline"), _timeline, limit=limit, form=form)


def list_outages(source: Source, *, limit: int, form: o.OutputForm) -> int:
    """List the times in which a partition had no leader."""
    return _answer(source, "outages", _rows("partition_outages", "outages"), _outages, limit=limit, form=form)


def listing(source: Source, key: str, table: str, show: Show, *, limit: int, form: o.OutputForm) -> int:
    """List rows of one table; `key` is its contract name."""
    return _answer(source, key, _rows(table, key), show, limit=limit, form=form)


RowsOf = Callable[[Any], Iterable[dict[str, Any]]]
Show = Callable[["Console", Source, int], None]


def _answer(source: Source, key: str, rows_of: RowsOf, show: Show, *, limit: int, form: o.OutputForm) -> int:
    """Write a table in the requested form.

    Forms for programs contain all rows, regardless of the limit.
    """
    from pipelines.cli.output import json_csv as answers

    if form == "json":
        answers.write_list(key, rows_of(source.rows))
    elif form == "jsonl":
        answers.write_lines(rows_of(source.rows))
    elif form == "csv":
        answers.write_csv(columns_of(key), rows_of(source.rows))
    else:
        show(screen(), source, limit)
    return codes.decisive(source.codes)


def columns_of(key: str) -> list[str]:
    """Columns of a listing, in order."""
    from pipelines.cli.json_schema.schema import OFFENDER
    from pipelines.schema.tables import CONTRACT, TABLES

    if key == "offenders":
        return list(OFFENDER["properties"])
    return [name for name in TABLES[CONTRACT[key]].column_names if name != "run_id"]


def _rows(table: str, key: str | None = None) -> RowsOf:
    def rows(source_rows: Any) -> Iterable[dict[str, Any]]:
        from pipelines.cli.output.json_csv import json_rows

        return json_rows(table, getattr(source_rows, key or table))

    return rows


def offender_rows(rows: Any, ranked_by: str = "client") -> Iterable[dict[str, Any]]:
    """Offenders as described by `groupscope schema offenders`."""
    from pipelines.cli.answers.sql_ranking import offenders
    from pipelines.schema.tables import instant_text

    for item in offenders(rows.rebalances, ranked_by):
        yield {
            "cluster": item.cluster,
            "system": item.system,
            "group": item.group,
            "name": item.name,
            "hosts": list(item.hosts),
            "rebalances_caused": item.caused,
            "rebalances_held_up": item.blocked,
            "stopped_seconds": item.stopped_seconds,
            "causes": dict(item.causes),
            "first_at": instant_text(item.first_at),
            "last_at": instant_text(item.last_at),
        }


def _rebalances(console: Console, source: Source, limit: int) -> None:
    from pipelines.cli.answers.sql_ranking import longest
    from pipelines.cli.output import screens

    shown, count = longest(source.rows.rebalances, limit or None)
    if not shown:
        screens.say(console, "No rebalance found.")
        return
    screens.rebalances(console, shown, source.clock)
    _rest(console, count, len(shown), "rebalances", "those that stopped their groups longest are shown")


def _offenders(console: Console, source: Source, limit: int, ranked_by: str) -> None:
    from pipelines.cli.answers import sql_ranking as ranked
    from pipelines.cli.output import screens

    offenders = ranked.offenders(source.rows.rebalances, ranked_by)
    if not offenders:
        screens.say(console, "No member is known to have set off or held up a rebalance.")
        return
    screens.offenders(console, offenders[: limit or None], source.clock)
    _rest(console, len(offenders), limit or len(offenders), "members", "the worst are shown")


def _timeline(console: Console, source: Source, limit: int) -> None:
    from dashboards.answer.build import client_lanes
    from pipelines.cli.answers.sql_ranking import first_lanes
    from pipelines.cli.output import screens
    from pipelines.cli.output.group_lanes import lanes

    shown, count = first_lanes(source.rows.timeline, limit or None)
    clients = client_lanes(source.rows.client_states)
    if not shown and not clients:
        screens.say(console, "No state of a group is known.")
        return
    lanes(console, list(_with_clients(shown, clients, limit)), source.clock, source.ends_at())
    _rest(console, count, limit or count, "groups", "--group shows one of them")


def _with_clients(groups: Sequence[Lane], clients: Sequence[Lane], limit: int) -> Iterator[Lane]:
    """Groups, each followed by its clients as far as the limit allows."""
    room = len(clients) if not limit else max(0, limit - len(groups))
    for group in groups:
        yield group
        group_lanes = [lane for lane in clients if (lane.cluster, lane.group) == (group.cluster, group.group)][:room]
        room -= len(group_lanes)
        yield from group_lanes
    # Groups of the newer protocols have no such states, but their clients do.
    keys = {(group.cluster, group.group) for group in groups}
    yield from [lane for lane in clients if (lane.cluster, lane.group) not in keys][:room]


def _outages(console: Console, source: Source, limit: int) -> None:
    from dashboards.answer.build import outages
    from dashboards.view.row_access import column
    from pipelines.cli.output import screens
    from pipelines.cli.output.outage_lanes import outage_lanes

    outage_rows = outages(source.rows.outages)
    if not outage_rows:
        screens.say(console, _no_outage(source))
        _servers(console, source)
        return
    shown = outage_rows[: limit or None]
    screens.outages(console, shown, source.clock)
    _rest(console, len(outage_rows), len(shown), "outages", "by time")
    console.print()
    outage_lanes(console, shown, source.clock, source.ends_at())
    _remedies(console, shown)
    for file in sorted({settled for row in source.rows.outages if (settled := column(row, "settled_by"))}):
        screens.say(console, f"Some of this is inferred; {file} would settle it.", style="dim")
    _servers(console, source)


def _servers(console: Console, source: Source) -> None:
    """Print incidents of brokers and controllers that are about no single partition."""
    from dashboards.view.row_access import column
    from pipelines.cli.output import screens

    of_servers = [row for row in source.rows.incidents if column(row, "kind") in OF_SERVERS]
    if not of_servers:
        return
    screens.heading(console, "Brokers and controllers")
    for row in sorted(of_servers, key=lambda row: column(row, "started_at") or 0):
        started_at = column(row, "started_at")
        when = f"{source.clock.stamp(started_at)} {source.clock.zone_name}: " if started_at is not None else ""
        screens.say(console, f"{when}{column(row, 'headline')}", indent=1)


def _remedies(console: Console, items: Sequence[Outage]) -> None:
    """Print advice about outages that were no elections."""
    from pipelines.cli.output import screens

    lasting = [item for item in items if not item.is_failover]
    if not lasting:
        return
    screens.heading(console, "What to do")
    screens.advise(console, dict.fromkeys(advice for item in lasting for advice in item.advice), indent=1)
    screens.if_down(console, [broker for item in lasting for broker in item.lost_brokers], indent=1)


def _no_outage(source: Source) -> str:
    """Sentence for no outage: only controllers' logs show their absence."""
    from dashboards.view.row_access import column
    from dashboards.wording.units import counted

    given = [row for row in source.rows.inputs["log_files"] if column(row, "kind") in CONTROLLERS]
    seen = [row for row in given if column(row, "recognised")]
    if seen:
        times = [column(row, name) for row in seen for name in ("first_at", "last_at")]
        known = [time for time in times if time is not None]
        when = f", {source.clock.span(min(known), max(known))}" if known else ""
        shown = f"{counted(len(seen), 'file')}{when}"
        return f"No partition was without leader, as far as the logs of controllers and state changes show ({shown})."
    if given:
        logs = counted(len(given), "log")
        return f"Whether a partition was without leader is not known: {logs} of controllers were read, and no line of theirs tells."
    return "No partition without leader found. It takes controller.log, or the server.log of KRaft controllers, to see one."


OF_SERVERS = ("quorum_turn", "stale_leader", "disk_full")
"""Kinds of incidents that have no row of an outage."""

CONTROLLERS = ("controller", "state_change")
"""Kinds of files that show each change of leaders."""


def _rest(console: Console, count: int, shown: int, noun: str, which: str) -> None:
    from pipelines.cli.output import screens

    if count > shown:
        screens.say(console, f"{shown:,} of {count:,} {noun}, {which}; --limit 0 shows all", style="dim")
