"""Commands of `groupscope` and their help."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from pipelines import exit_codes as codes
from pipelines.cli.arguments.options import PANELS
from pipelines.cli.commands import (
    allocate,
    analyze,
    compare,
    doctor,
    explain,
    maintain,
    outages,
    ownership,
    report,
    simulate,
    sql,
    state,
    whatif,
)
from pipelines.cli.commands import rebalances as tables
from pipelines.cli.commands import run as run_job
from pipelines.cli.commands.history import gate, groups, spans, trend
from pipelines.cli.commands.integration import events, mcp
from pipelines.cli.json_schema import schema
from pipelines.cli.output.standard_streams import ReaderGone

SECTIONS = ("Arguments", *PANELS, "Options")
EPILOG = (
    "Exit codes: 0 good, 1 findings (--fail-on), 2 usage, 3 nothing readable, 4 some input rejected or (gate) in a wrong time zone, "
    "5 quality gate failed, 6 warehouse held by another run, "
    "70 internal error, 74 output can't be written or warehouse broken, 130 interrupted."
)


_NO_DAMAGE = (BrokenPipeError, EOFError, ReaderGone, SystemExit, KeyboardInterrupt)


class CommandFailure(Exception):
    """Wraps the error that ended a command.

    Typer would mistake some for a closed terminal or the end of a help page.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


def _invoked(command: Callable[[Any], Any], ctx: Any) -> Any:
    """Run a command; report a broken warehouse file behind an error."""
    try:
        return command(ctx)
    except BaseException as error:  # panics in Rust are not Exceptions
        failure = _damage_behind(error, ctx.params)
        if failure is None:
            raise
        raise failure from error


def _damage_behind(error: BaseException, given: Mapping[str, Any]) -> Exception | None:
    logs_only = given.get("paths") and not given.get("warehouse")
    if logs_only or isinstance(error, (*_NO_DAMAGE, ImportError)) or getattr(error, "exit_code", None) is not None:
        return None
    from conf.settings import load_settings
    from pipelines.warehouse.opening.damage import damage_behind

    return damage_behind(error, given.get("warehouse") or load_settings(given.get("settings")).warehouse.uri or None)


class Command(TyperCommand):
    """A command whose help lists options by purpose.

    Help is plain text, because importing Rich's help takes longer than starting the rest of the program.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        A broken pipe or an exit inside it is an error, not a regular end.
        """
        try:
            return _invoked(super().invoke, ctx)
        except (BrokenPipeError, EOFError, SystemExit) as error:
            raise CommandFailure(error) from error

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            is_argument = parameter.param_type_name == "argument"
            title = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or "Options"
            # Typer appends a type to the name of an argument, which does not help users.
            sections.setdefault(title, []).append((record[0].split(" <")[0], record[1]) if is_argument else record)
        for title, records in sorted(sections.items(), key=lambda section: SECTIONS.index(section[0])):
            with formatter.section(title):
                formatter.write_dl(records)


app = typer.Typer(
    name="groupscope",
    help="Tells from log files alone which consumer groups rebalanced, when, for how long, why, and who caused it.",
    epilog=EPILOG,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("analyze", cls=Command, short_help="Find out which groups rebalanced, when, for how long, and why.")(analyze.analyze)
app.command("explain", cls=Command, short_help="Explain one rebalance, with its log lines.")(explain.explain)
app.command("state", cls=Command, short_help="Show a group's state and members at a moment.")(state.state)
app.command("rebalances", cls=Command, short_help="List rebalances.")(tables.rebalances)
app.command("offenders", cls=Command, short_help="Rank members by the downtime they caused.")(tables.offenders)
app.command("timeline", cls=Command, short_help="Show the states of groups over time.")(tables.timeline)
app.command("outages", cls=Command, short_help="List partitions without leader.")(outages.outages)
app.command("ownership", cls=Command, short_help="Show who held RocketMQ queues.")(ownership.ownership)
app.command("compare", cls=Command, short_help="Compare two periods or two clusters.")(compare.compare)
app.command("gate", cls=Command, short_help="Fail a deployment that rebalanced too much.")(gate.gate)
app.command("groups", cls=Command, short_help="List groups: protocol, clients, cost, readiness for KIP-848.")(groups.groups)
app.command("trend", cls=Command, short_help="Show groups over weeks or releases.")(trend.trend)
app.command("deploys", cls=Command, short_help="List rolling restarts with their cost.")(trend.deploys)
app.command("spans", cls=Command, short_help="Print rebalances as OTLP traces.")(spans.spans)
app.command("allocate", cls=Command, short_help="Preview shares of RocketMQ queues.")(allocate.allocate)
app.command("report", cls=Command, short_help="Write the answer as one HTML page.")(report.report)
app.command("whatif", cls=Command, short_help="Which rebalances another configuration would have avoided.")(whatif.whatif)
app.command("advise", cls=Command, short_help="Which settings would have avoided most harm.")(whatif.advise)
app.command("events", cls=Command, short_help="Print every recognised record as JSON.")(events.events)
app.command("mcp", cls=Command, short_help="Answer assistants with read-only tools (Model Context Protocol).")(mcp.mcp)
app.command("run", cls=Command, short_help="Read logs into the Delta tables of a warehouse (Spark).")(run_job.run)
app.command("maintain", cls=Command, short_help="Compact the warehouse and delete files nobody needs.")(maintain.maintain)
app.command("simulate", cls=Command, short_help="Write logs of a simulated cluster, with the true causes.")(simulate.simulate)
app.command("sql", cls=Command, short_help="Run a SELECT over the tables.")(sql.sql)
app.command("schema", cls=Command, short_help="Print the JSON Schema of a command.")(schema.schema)
app.command("doctor", cls=Command, short_help="Check the installation and suggest fixes.")(doctor.doctor)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        print(f"groupscope {version('groupscope')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    _version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)] = False,
) -> None:
    """Tells from log files alone which consumer groups rebalanced, and why."""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(codes.USAGE)


def command_line(first: str) -> Callable[..., Any]:
    """What runs a command line that begins with this word."""
    return _built(first if first in {command.name for command in app.registered_commands} else None)


@cache
def _built(only: str | None) -> Callable[..., Any]:
    """All commands, or one.

    Typer takes as long to build all of them as many an answer takes.
    """
    part = copy.copy(app)
    part.registered_commands = [command for command in app.registered_commands if only in {None, command.name}]
    return get_command(part)
