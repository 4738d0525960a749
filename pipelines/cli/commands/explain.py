"""Command `groupscope explain`: one rebalance, the one of a line, or an incident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines import exit_codes as codes
from pipelines.cli.answers.source import Source, open_source
from pipelines.cli.arguments import completion
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.cli.output.standard_streams import screen

if TYPE_CHECKING:
    from conf.causes import RecommendedAction
    from models.whatif.advice import Advice
    from pipelines.cli.answers.log_lines import LocatedLine
    from pipelines.cli.output.proof import Proof


@question
def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="REBALANCE",
            help="First characters of its id, GROUP/GENERATION, GROUP@TIME, any FILE:LINE, the id of an incident, or a GROUP, whose "
            "rebalances are listed.",
            show_default=False,
            autocompletion=completion.rebalances,
        ),
    ],
    query_options: QueryOptions,
    prove: Annotated[
        bool,
        typer.Option(
            "--proof",
            help="What the coordinator's model wrote beside what the log has, and the first line at which each rival cause fails.",
            rich_help_panel=o.SHOW,
        ),
    ] = False,
    as_json: o.AsJson = False,
) -> int:
    """Explain one rebalance, with the log lines that prove it.

    What caused it, who kept the others waiting, and how it ended. For a line, FILE:LINE, it names the rebalance that the line
    belongs to, and says whether the line is a cause or an effect.
    """
    from pipelines.cli.answers.incident_lookup import find_incident
    from pipelines.cli.answers.log_lines import find_line, line_named
    from pipelines.cli.answers.rebalance_lookup import find_rebalance, rebalances_of_group

    source = open_source(query_options)
    place = line_named(name, source)
    if place is None and (rows := rebalances_of_group(source.rows, name)):
        _list(rows, source, as_json=as_json)
        return codes.decisive(source.codes)
    if place is None and (incident := find_incident(source.rows, name, source.clock)) is not None:
        _tell_incident(incident, source, verbose=query_options.verbose, as_json=as_json)
        return codes.decisive(source.codes)
    line = find_line(*place, source, query_options) if place is not None else None
    row = line.placed.row if line is not None else find_rebalance(source.rows, name, source.clock)
    proof = _proof(row, source, query_options) if prove and row is not None else None
    if as_json:
        _write(row, line, source, proof)
    else:
        _show(name, row, line, source, verbose=query_options.verbose)
        if proof is not None:
            from pipelines.cli.output.proof import show

            show(screen(), proof, source.clock)
    return codes.decisive(source.codes)


def _proof(row: Any, source: Source, query_options: QueryOptions) -> Proof:
    """Run the causes of a rebalance through the coordinator's model."""
    from pipelines.cli.answers.proof import proof_of

    return proof_of(row, source, query_options)


def _list(rows: list[Any], source: Source, *, as_json: bool) -> None:
    """Write the rebalances of a group."""
    if as_json:
        from pipelines.cli.output.json_csv import json_rows, write_list

        write_list("rebalances", json_rows("rebalances", rows))
        return
    from dashboards.answer.rebalance_items import rebalance
    from pipelines.cli.output import screens

    items = [rebalance(row) for row in rows]
    screens.rebalances(screen(), items, source.clock)
    screens.say(screen(), f"groupscope explain {items[-1].id[:10]} tells the last one", style="dim")


def _tell_incident(incident: Any, source: Source, *, verbose: bool, as_json: bool) -> None:
    """Write one incident with its rebalances."""
    from dashboards.answer.build import build_answer
    from pipelines.cli.answers.incident_lookup import rows_of_incident
    from pipelines.cli.output import screens
    from pipelines.cli.output.json_csv import json_rows, write_object

    rows = rows_of_incident(source.rows, incident)
    if as_json:
        (row,) = json_rows("incidents", [incident])
        write_object({"incident": row, "rebalances": list(json_rows("rebalances", rows.rebalances))})
        return
    answer = build_answer(rows, with_lanes=False)
    screens.incident(screen(), answer, source.clock, evidence_max=None if verbose else source.settings.display.evidence_lines)


def _write(row: Any, line: LocatedLine | None, source: Source, proof: Proof | None) -> None:
    from dashboards.answer.rebalance_items import rebalance
    from dashboards.wording.story import story
    from pipelines.cli.answers import log_lines as lines
    from pipelines.cli.output import proof as proofs
    from pipelines.cli.output.json_csv import json_rows, write_object

    rows = list(json_rows("rebalances", [row])) if row is not None else [None]
    write_object(
        {
            "line": lines.line_object(line) if line is not None else None,
            "rebalance": rows[0],
            "story": story(rebalance(row), source.clock) if row is not None else [],
            "proof": proofs.proof_object(proof) if proof is not None else None,
            "advice": _advice(row, source),
        }
    )


def _advice(row: Any, source: Source) -> dict[str, Any]:
    """Advice for this rebalance and for its group, as rows."""
    from pipelines.cli.answers.advice_rows import finding_row

    advices = _searched(row, source) if row is not None and row.system == "kafka" else []
    finding_rows = [finding_row(advice, finding, helps=True) for advice in advices for finding in advice.scopes.get(row.rebalance_id, ())]
    return {
        "rebalance": finding_rows,
        "group": [finding_row(advice, finding, helps=True) for advice in advices for finding in advice.helpful],
    }


def _show(name: str, row: Any, line: LocatedLine | None, source: Source, *, verbose: bool) -> None:
    from dashboards.answer.rebalance_items import rebalance
    from dashboards.wording.escaping import first_line, shortened
    from pipelines.cli.answers import log_lines as lines
    from pipelines.cli.answers.rebalance_lookup import apart_from
    from pipelines.cli.answers.settings_search import that_helps
    from pipelines.cli.output import screens

    console = screen()
    if line is not None:
        if line.is_known and line.event is not None:
            screens.say(console, shortened(first_line(line.event.text), lines.TEXT_MAX), style="dim", is_wide=True)
        for sentence in lines.sentences(line):
            screens.say(console, sentence)
        if row is not None:
            screens.heading(console, "The rebalance" if line.is_known else "What was going on")
    elif apart := apart_from(row, name, source.rows, source.clock):
        screens.say(console, apart, style="bold")
    if row is not None:
        searched = _searched(row, source) if row.system == "kafka" else []
        item = rebalance(row)
        if stuck := _advice_while_stuck(row, source):
            item = replace(item, advice=stuck)
        item = replace(item, advice=that_helps(item.advice, item.id, item.cluster, [item.group], searched))
        screens.print_story(console, item, source.clock, evidence_max=None if verbose else source.settings.display.evidence_lines)
        if row.system == "kafka":
            _show_settings(row, source, searched)


def _advice_while_stuck(row: Any, source: Source) -> tuple[RecommendedAction, ...]:
    """What its incident advises while a rebalance goes on.

    What set it off is then not what to mend first.
    """
    from conf.causes import incident_kinds
    from dashboards.view.row_access import column

    if column(row, "outcome") != "open":
        return ()
    rebalance_id = column(row, "rebalance_id")
    kinds = [column(incident, "kind") for incident in source.rows.incidents if rebalance_id in (column(incident, "rebalance_ids") or ())]
    return incident_kinds()["stuck"].advice if "stuck" in kinds else ()


def _searched(row: Any, source: Source) -> list[Advice]:
    """Search the settings of a rebalance's group, and those for the rebalance alone."""
    from models.whatif.scopes import AdviceScope
    from pipelines.cli.answers.settings_search import BESIDE, search

    return search(source.rows, {(row.cluster, row.group)}, BESIDE, AdviceScope(row.rebalance_id, frozenset({row.rebalance_id})))


def _show_settings(row: Any, source: Source, advices: Sequence[Advice]) -> None:
    """Print what would have helped in this rebalance, and in its group."""
    from pipelines.cli.answers.settings_search import in_sections, in_short
    from pipelines.cli.output import screens

    settings = in_short(advices).get(row.rebalance_id, [])
    screens.settings_in_short(screen(), in_sections(source.rows, {(row.cluster, row.group)}, advices), settings)
