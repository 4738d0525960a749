"""`groupscope explain`: one rebalance told as a story."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli import codes, completion
from pipelines.cli import options as o
from pipelines.cli.asked import Asked, question
from pipelines.cli.console import screen
from pipelines.cli.source import open_source


@question
def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="REBALANCE",
            help="First characters of its id, GROUP/GENERATION, or GROUP@TIME.",
            show_default=False,
            autocompletion=completion.rebalances,
        ),
    ],
    asked: Asked,
    as_json: o.AsJson = False,
) -> int:
    """Tell one rebalance as a story: what set it off, who made the others wait, how it ended, and the lines that say so."""
    from dashboards.build import rebalance
    from pipelines.cli.naming import find_rebalance

    source = open_source(asked)
    row = find_rebalance(source.rows, name, source.clock)
    item = rebalance(row)
    if as_json:
        from dashboards.story import story
        from pipelines.cli.answers import ready, write_object
        from pipelines.schemas import SCHEMA_VERSION

        (found,) = ready("rebalances", [row])
        write_object({"schema_version": SCHEMA_VERSION, "rebalance": found, "story": story(item, source.clock)})
    else:
        from pipelines.cli import screens

        screens.told(screen(), item, source.clock, evidence_max=None if asked.verbose else source.settings.display.evidence_lines)
    return codes.decisive(source.codes)
