"""Command `groupscope groups`: protocol, members, downtime and migration of each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Annotated

import typer

from pipelines import exit_codes as codes
from pipelines.cli.answers.source import open_source, warn_without_witnesses
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.option_parsing import rule
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.cli.arguments.times import span_seconds
from pipelines.cli.commands.history.listings import write_listing
from pipelines.cli.output.standard_streams import screen

Budgets = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="[GLOB=]SPAN",
        help="How long groups may stand still in a week, such as 10m or 'pay*=30s'. Repeatable, the last match counts.",
        rich_help_panel=o.SHOW,
    ),
]


@question
def groups(query_options: QueryOptions, form: o.OutputForm, budget: Budgets = None, limit: o.Limit = 50) -> int:
    """List groups with protocol, clients, cost and readiness for KIP-848.

    Also assignor, size, share of static members and stopped time per week.
    """
    from pipelines.cli.answers import history_rows as rows
    from pipelines.cli.output import history_tables as tables

    allowed = _budget_of(budget or ())
    source = open_source(query_options)
    warn_without_witnesses(source, query_options, form)
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


def _budget_of(texts: Sequence[str]) -> Callable[[str], float | None]:
    """Downtime budget of a group per week in seconds, by its name."""
    budgets = [(glob, span_seconds(text, "--budget")) for glob, text in (rule(text, "--budget") for text in texts)]
    return lambda group: next((seconds for glob, seconds in reversed(budgets) if glob is None or fnmatchcase(group, glob)), None)
