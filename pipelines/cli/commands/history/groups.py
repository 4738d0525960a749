"""Command `groupscope groups`: what each group is, and how it fares."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from pipelines.cli import exit_codes as codes
from pipelines.cli.answers.source import open_source
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.cli.arguments.times import span_seconds
from pipelines.cli.commands.history.listings import write_listing
from pipelines.cli.output.console import screen

Budget = Annotated[
    str | None,
    typer.Option("--budget", metavar="SPAN", help="How long each group may stand still in a week, such as 10m.", rich_help_panel=o.SHOW),
]


@question
def groups(asked: QueryOptions, form: o.Form, budget: Budget = None, limit: o.Limit = 50) -> int:
    """List groups with protocol, clients, cost and readiness for KIP-848.

    Also assignor, size, share of static members and stopped time per week.
    """
    from pipelines.cli.answers import history_rows as rows
    from pipelines.cli.output import history_tables as tables

    allowed = None if budget is None else span_seconds(budget, "--budget")
    source = open_source(asked)
    write_listing(
        "groups",
        rows.profiles(source.rows),
        partial(rows.group_rows, budget=allowed),
        lambda shown: tables.groups(screen(), shown, partial(rows.used, budget=allowed)),
        "No group is known.",
        form=form,
        limit=limit,
    )
    return codes.decisive(source.codes)
