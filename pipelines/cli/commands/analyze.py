"""Command `groupscope analyze`: from logs to the answer."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipelines import exit_codes as codes
from pipelines.cli.answers.source import open_source
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.filters import Filters
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.cli.commands.integration.follow import follow_rebalances
from pipelines.cli.commands.report import write_report
from pipelines.cli.output.standard_streams import ReaderGone, screen
from pipelines.errors import UsageError

if TYPE_CHECKING:
    from dashboards.view.answer import Answer
    from models.whatif.advice import Advice
    from pipelines.cli.answers.source import Source

Severity = Literal["warning", "critical"]
RECURRING_MAX = 2_000
"""The worst incidents, among which those that recur are found."""


@question
def analyze(
    query_options: QueryOptions,
    form: o.OutputForm,
    filters: Filters,
    limit: o.Limit = 30,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Also write the answer as one HTML page.", rich_help_panel=o.HOW),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Incidents as Markdown, to paste into a ticket.", rich_help_panel=o.HOW)
    ] = False,
    advise: o.Advise = False,
    follow: o.Follow = False,
    fail_on: Annotated[
        Severity | None,
        typer.Option("--fail-on", help="End with exit code 1 if an incident is at least this bad.", rich_help_panel=o.HOW),
    ] = None,
) -> int:
    """Show which groups rebalanced, how long, why, and who caused it."""
    if markdown and form != "people":
        raise UsageError(f"--markdown and --{form} cannot be combined")
    if advise and form == "csv":
        raise UsageError("--csv has the table of rebalances; groupscope advise --csv has what --advise finds")
    if follow:
        if markdown or report is not None or fail_on or advise or filters or form in ("json", "csv"):
            raise UsageError("--follow writes one line for each piece of news: it goes with --jsonl, --group and --since only")
        return follow_rebalances(query_options, as_lines=form == "jsonl")
    source = open_source(query_options, filters, is_summed_up=form == "people")
    advices = _searched(source, at_length=advise) if form != "csv" else []
    if report is not None:
        write_report(source, report, query_options, advices=advices if advise else None)
    with contextlib.suppress(ReaderGone):  # what is left unread changes no verdict
        if markdown:
            _write_markdown(source, advices)
        elif form == "people":
            _show(source, advices, limit=limit, verbose=query_options.verbose, at_length=advise)
        else:
            _write(source, form, advices)
    return codes.decisive([*source.codes, *_findings(source, fail_on)])


def _searched(source: Source, *, at_length: bool) -> list[Advice]:
    """Settings that would have helped the groups of incidents, or all groups."""
    from pipelines.cli.answers.settings_search import AT_LENGTH, BESIDE, harmed_groups, search

    if at_length:
        return search(source.rows, None, AT_LENGTH, processes=source.settings.input.processes)
    wanted = harmed_groups(source.rows)
    return search(source.rows, wanted, BESIDE) if wanted else []


def _write(source: Source, form: o.OutputForm, advices: Sequence[Advice]) -> None:
    """Write the answer for programs; CSV has the table of rebalances."""
    from pipelines.cli.answers.advice_rows import advice_rows
    from pipelines.cli.answers.recurrence_rows import recurrence_rows
    from pipelines.cli.commands.rebalances import columns_of
    from pipelines.cli.output import json_csv as answers

    if form == "csv":
        answers.write_csv(columns_of("rebalances"), answers.json_rows("rebalances", source.rows.rebalances))
        return
    further = {
        "recurrences": recurrence_rows(_answer(source, kept_max=0, incidents_max=None).incidents),
        "advice": advice_rows(advices),
    }
    if form == "json":
        answers.write_contract(source.rows, further)
    else:
        answers.write_contract_lines(source.rows, further)


def _write_markdown(source: Source, advices: Sequence[Advice]) -> None:
    from pipelines.cli.answers.settings_search import with_remedies
    from pipelines.cli.output.markdown import incident_report
    from pipelines.cli.output.standard_streams import Output

    answer = with_remedies(_answer(source, kept_max=None, incidents_max=RECURRING_MAX), advices)
    Output().write("\n".join(incident_report(answer, source.clock)) + "\n")


def _answer(source: Source, *, kept_max: int | None, incidents_max: int | None) -> Answer:
    from dashboards.answer.build import build_answer
    from pipelines.cli.answers import sql_ranking as ranked

    return build_answer(
        source.rows,
        kept_max=kept_max,
        incidents_max=incidents_max,
        with_lanes=False,
        worst=ranked.worst_incidents,
        tallied=ranked.rebalance_totals,
    )


def _show(source: Source, advices: Sequence[Advice], *, limit: int, verbose: bool, at_length: bool) -> None:
    from pipelines.cli.answers.settings_search import harmed_groups, in_sections, with_remedies
    from pipelines.cli.output import screens

    answer = _answer(source, kept_max=limit or None, incidents_max=None if verbose else RECURRING_MAX)
    answer = with_remedies(answer, advices)
    wanted = harmed_groups(source.rows)
    settings = in_sections(source.rows, wanted, advices) if wanted or at_length else {}
    screens.analysis(screen(), answer, source.clock, limit=limit, verbose=verbose, skipped=source.skipped, settings=settings)


def _findings(source: Source, fail_on: Severity | None) -> list[int]:
    from dashboards.view.row_access import column

    bad = {"warning": ("warning", "critical"), "critical": ("critical",)}.get(fail_on or "", ())
    return [codes.FINDINGS] if bad and any(column(row, "severity") in bad for row in source.rows.incidents) else []
