"""Commands `groupscope trend` and `deploys`: groups over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipelines import exit_codes as codes
from pipelines.cli.answers.source import Source, open_source, warn_without_witnesses
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.cli.arguments.times import moment
from pipelines.cli.commands.history.listings import write_listing
from pipelines.cli.output.standard_streams import screen
from pipelines.errors import NothingReadable

if TYPE_CHECKING:
    from dashboards.answer.history.periods import Period

By = Annotated[
    Literal["hour", "day", "week", "deploy"],
    typer.Option("--period", help="Length of a period; deploy: from one deployment to the next.", rich_help_panel=o.SHOW),
]
Releases = Annotated[
    list[str] | None,
    typer.Option("--release", metavar="TIME", help="A release: periods lie between releases. Repeatable.", rich_help_panel=o.SHOW),
]


@question
def trend(query_options: QueryOptions, form: o.OutputForm, period: By = "week", release: Releases = None, limit: o.Limit = 20) -> int:
    """Show groups over weeks or releases.

    A period has rebalances, stopped time and a score of stability; changes beyond chance are named.
    """
    from dashboards.answer.history.periods import cover_of
    from dashboards.answer.history.trends import trends
    from pipelines.cli.answers import history_rows as rows
    from pipelines.cli.output import history_tables as tables

    source = open_source(query_options)
    warn_without_witnesses(source, query_options, form)
    spans = _periods(source, period, release or [])
    trends_of_groups = trends(rows.rebalances_of(source.rows), spans, cover_of(source.rows.inputs["log_files"]))
    write_listing(
        "trend",
        trends_of_groups,
        rows.trend_rows,
        lambda shown: tables.trends(screen(), shown, source.clock),
        "No rebalance found.",
        form=form,
        limit=limit,
    )
    return codes.decisive(source.codes)


def _periods(source: Source, step: str, releases: list[str]) -> list[Period]:
    """Periods between releases or deployments, else of equal length."""
    from dashboards.answer.history.periods import between, periods
    from pipelines.cli.answers.history_rows import deploys, reach

    span = reach(source.rows.inputs["log_files"])
    if span is None:
        raise NothingReadable("no line of a coordinator or a client was recognised, so nothing is known of any period")
    if releases:
        return between(*span, [moment(text, source.clock.zone_name, "--release").micros(span[1]) for text in releases], source.clock)
    if step == "deploy":
        return between(*span, [deploy.started_at for deploy in deploys(source.rows) if deploy.started_at is not None], source.clock)
    return periods(*span, step, source.clock)


@question
def deploys(query_options: QueryOptions, form: o.OutputForm, limit: o.Limit = 50) -> int:
    """List deployments: members restarted in turn, and what that cost their group."""
    from pipelines.cli.answers import history_rows as rows
    from pipelines.cli.output import history_tables as tables

    source = open_source(query_options)
    warn_without_witnesses(source, query_options, form)
    write_listing(
        "deploys",
        rows.deploys(source.rows),
        rows.deploy_rows,
        lambda shown: tables.deploys(screen(), shown, source.clock),
        "No rolling restart found.",
        form=form,
        limit=limit,
    )
    return codes.decisive(source.codes)
