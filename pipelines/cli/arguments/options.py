"""Options shared by several commands, so that they mean the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from pipelines.cli.arguments import completion
from pipelines.cli.output.standard_streams import Messenger
from pipelines.errors import UsageError


def _verbose(is_wanted: bool) -> bool:
    Messenger.verbose = Messenger.verbose or is_wanted
    return is_wanted


READ = "What to read"
SHOW = "What to show"
HOW = "How to show it"
PANELS = (READ, SHOW, HOW)
"""Headings of help, in order."""
AT = "A moment: `compare` compares what was before it with what was after it, `state` shows the group then."

PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH", help="Log files, folders, bundles (tar, zip), quoted globs, or - for standard input.", show_default=False
    ),
]
MaybePaths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH",
        help="Log files, folders, bundles (tar, zip) or quoted globs; without any, the tables of --warehouse, or what is piped in.",
        show_default=False,
    ),
]
WarehouseUri = Annotated[
    str | None,
    typer.Option(
        "--warehouse", metavar="URI", help="Read the Delta tables below this folder or URI instead of logs.", rich_help_panel=READ
    ),
]
LogZones = Annotated[
    list[str] | None,
    typer.Option(
        "--log-tz",
        metavar="[GLOB=]ZONE",
        help="Zone of log times that carry none; default UTC. Repeatable, the last match counts.",
        rich_help_panel=READ,
    ),
]
Clusters = Annotated[
    list[str] | None,
    typer.Option(
        "--cluster", metavar="[GLOB=]NAME", help="Cluster that files belong to. Repeatable, the last match counts.", rich_help_panel=READ
    ),
]
KafkaVersions = Annotated[
    list[str] | None,
    typer.Option("--kafka-version", metavar="GLOB=VERSION", help="Version that files were written by. Repeatable.", rich_help_panel=READ),
]
Assumptions = Annotated[
    list[str] | None,
    typer.Option(
        "--assume",
        metavar="NAME=VALUE",
        help="A timeout that the logs do not state, such as session_timeout_ms=45000. Repeatable.",
        rich_help_panel=READ,
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE", help="Settings (TOML); the keys are those of conf/default.toml.", rich_help_panel=READ),
]
Redact = Annotated[
    str | None,
    typer.Option(
        "--redact",
        metavar="KINDS",
        help="Put pseudonyms in place of names: hosts,client_ids,groups,topics,users, or all. "
        "The key is in GROUPSCOPE_REDACT_KEY or a file; for all, one is made if there is none.",
        show_default=False,
        rich_help_panel=READ,
    ),
]
RedactKey = Annotated[
    Path | None,
    typer.Option("--redact-key", metavar="FILE", help="File that holds the key of --redact, 16 bytes or more.", rich_help_panel=READ),
]
GroupsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="NAME",
        help="Only this group, or those that a quoted glob matches. Repeatable.",
        rich_help_panel=SHOW,
        autocompletion=completion.groups,
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="From this time on: ISO 8601, HH:MM, 2h counted back from the last record, 'yesterday 14:03', now-1h, or s or ms since 1970.",
        rich_help_panel=SHOW,
    ),
]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Up to this time, in the same forms.", rich_help_panel=SHOW)]
Around = Annotated[
    str | None,
    typer.Option(
        "--around",
        metavar="TIME[/SPAN]",
        help="From SPAN before this time to SPAN after it, such as 10:05/5m; SPAN is 10m by default.",
        rich_help_panel=SHOW,
    ),
]
Follow = Annotated[
    bool,
    typer.Option(
        "--follow",
        "-f",
        help="Go on as the files grow, rotate or arrive: tell each rebalance as it begins, and with its verdict as it ends.",
        rich_help_panel=READ,
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=0, metavar="N", help="Rows in tables for people; 0 for all.", rich_help_panel=HOW)]
Advise = Annotated[
    bool,
    typer.Option(
        "--advise",
        help="Search for settings that would have helped in the groups with most downtime, however many rebalances they have.",
        rich_help_panel=SHOW,
    ),
]
Zone = Annotated[
    str | None,
    typer.Option("--tz", metavar="ZONE", help="Zone in which times are shown and --since is read; default UTC.", rich_help_panel=HOW),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object (see the command schema); times are UTC.", rich_help_panel=HOW)]
AsJsonLines = Annotated[bool, typer.Option("--jsonl", help="One JSON object a line.", rich_help_panel=HOW)]
AsCsv = Annotated[bool, typer.Option("--csv", help="CSV with a heading; no cell of it is a formula, times are UTC.", rich_help_panel=HOW)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No warnings, no progress.", rich_help_panel=HOW)]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="More detail, and tracebacks of errors.", callback=_verbose, rich_help_panel=HOW)
]


OutputForm = Literal["json", "jsonl", "csv", "people"]


def form(as_json: AsJson = False, jsonl: AsJsonLines = False, csv: AsCsv = False) -> OutputForm:
    """The single output form requested."""
    requested: list[OutputForm] = [name for name, wanted in (("json", as_json), ("jsonl", jsonl), ("csv", csv)) if wanted]  # type: ignore[misc]
    if len(requested) > 1:
        raise UsageError(f"--{requested[0]} and --{requested[1]} cannot be combined")
    return requested[0] if requested else "people"
