"""`groupscope report`: the answer as one HTML page that needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli import codes
from pipelines.cli import options as o
from pipelines.cli.asked import Asked, question
from pipelines.cli.console import Talk
from pipelines.cli.source import open_source

if TYPE_CHECKING:
    from pipelines.cli.source import Source


@question
def report(
    asked: Asked,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the page.", rich_help_panel=o.HOW)] = Path(
        "groupscope.html"
    ),
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Heading of the page; by default what was read.", rich_help_panel=o.HOW)
    ] = None,
) -> int:
    """Write the answer as one self-contained HTML page, with charts, tables and evidence, to read and to send."""
    source = open_source(asked)
    write_report(source, out, title=title or title_of(asked, source), talk=asked.talk)
    return codes.decisive(source.codes)


def write_report(source: Source, path: Path, *, title: str, talk: Talk) -> None:
    """Write the page beside its place and move it there, so that nobody opens half a page."""
    from importlib.metadata import version

    from dashboards.build import build_answer
    from dashboards.page import report
    from pipelines.cli.files import write_text

    drawn = source.settings.report.drawn_rebalances_max
    page = report(build_answer(source.rows, for_page=True), source.clock, title=title, version=version("groupscope"), drawn_max=drawn)
    write_text(path, page)
    talk.note(f"report written: {path}")


def title_of(asked: Asked, source: Source) -> str:
    """What was analysed, without folders that say nothing to others."""
    paths = list(asked.paths or ()) or [asked.warehouse or source.settings.warehouse.uri]
    names = [Path(path).name or Path(path).resolve().name or path for path in paths]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
