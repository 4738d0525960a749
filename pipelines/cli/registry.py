"""Commands of `groupscope` and their help."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pkgutil import resolve_name
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand
from typer.main import get_command

from pipelines import exit_codes as codes
from pipelines.cli.arguments.options import PANELS
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


class CommandEntry(NamedTuple):
    """Where a command is, and its line in the help of all."""

    place: str
    """Module and function, imported where the command runs."""
    short_help: str


COMMANDS: Mapping[str, CommandEntry] = {
    "analyze": CommandEntry("pipelines.cli.commands.analyze:analyze", "Find out which groups rebalanced, when, for how long, and why."),
    "explain": CommandEntry("pipelines.cli.commands.explain:explain", "Explain one rebalance, with its log lines."),
    "state": CommandEntry("pipelines.cli.commands.state:state", "Show a group's state and members at a moment."),
    "rebalances": CommandEntry("pipelines.cli.commands.rebalances:rebalances", "List rebalances."),
    "offenders": CommandEntry("pipelines.cli.commands.rebalances:offenders", "Rank members by the downtime they caused."),
    "timeline": CommandEntry("pipelines.cli.commands.rebalances:timeline", "Show the states of groups over time."),
    "outages": CommandEntry("pipelines.cli.commands.outages:outages", "List partitions without leader."),
    "ownership": CommandEntry("pipelines.cli.commands.ownership:ownership", "Show who held RocketMQ queues."),
    "compare": CommandEntry("pipelines.cli.commands.compare:compare", "Compare two periods or two clusters."),
    "gate": CommandEntry("pipelines.cli.commands.history.gate:gate", "Fail a deployment that rebalanced too much."),
    "groups": CommandEntry("pipelines.cli.commands.history.groups:groups", "List groups: protocol, clients, cost, readiness for KIP-848."),
    "trend": CommandEntry("pipelines.cli.commands.history.trend:trend", "Show groups over weeks or releases."),
    "deploys": CommandEntry("pipelines.cli.commands.history.trend:deploys", "List rolling restarts with their cost."),
    "spans": CommandEntry("pipelines.cli.commands.history.spans:spans", "Print rebalances as OTLP traces."),
    "allocate": CommandEntry("pipelines.cli.commands.allocate:allocate", "Preview shares of RocketMQ queues."),
    "report": CommandEntry("pipelines.cli.commands.report:report", "Write the answer as one HTML page."),
    "whatif": CommandEntry("pipelines.cli.commands.whatif:whatif", "Which rebalances another configuration would have avoided."),
    "advise": CommandEntry("pipelines.cli.commands.whatif:advise", "Which settings would have avoided most harm."),
    "events": CommandEntry("pipelines.cli.commands.integration.events:events", "Print every recognised record as JSON."),
    "mcp": CommandEntry("pipelines.cli.commands.integration.mcp:mcp", "Answer assistants with read-only tools (Model Context Protocol)."),
    "run": CommandEntry("pipelines.cli.commands.run:run", "Read logs into the Delta tables of a warehouse (Spark)."),
    "maintain": CommandEntry("pipelines.cli.commands.maintain:maintain", "Compact the warehouse and delete files nobody needs."),
    "simulate": CommandEntry("pipelines.cli.commands.simulate:simulate", "Write logs of a simulated cluster, with the true causes."),
    "sql": CommandEntry("pipelines.cli.commands.sql:sql", "Run a SELECT over the tables."),
    "schema": CommandEntry("pipelines.cli.json_schema.schema:schema", "Print the JSON Schema of a command."),
    "doctor": CommandEntry("pipelines.cli.commands.doctor:doctor", "Check the installation and suggest fixes."),
}


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        from pipelines.versions import product_version

        print(f"groupscope {product_version()}")
        raise typer.Exit


def _options(
    context: typer.Context,
    _version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)] = False,
) -> None:
    """Tells from log files alone which consumer groups rebalanced, and why."""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(codes.USAGE)


_LISTED = frozenset({"", "-h", "--help", "--version"})
"""First words after which no command runs."""
_COMPLETION = "_GROUPSCOPE_COMPLETE"
"""Variable by which a shell asks for completions."""


def command_line(first: str) -> Callable[..., Any]:
    """What runs a command line that begins with this word."""
    if _COMPLETION in os.environ or first not in _LISTED | COMMANDS.keys():
        return _built(tuple(COMMANDS))
    return _built((first,)) if first in COMMANDS else _built(())


@cache
def _built(names: tuple[str, ...]) -> Callable[..., Any]:
    return get_command(_app(names))


def whole_app() -> typer.Typer:
    """All commands with their options."""
    return _app(tuple(COMMANDS))


def _app(names: tuple[str, ...]) -> typer.Typer:
    """Some commands, or all without their options."""
    functions = {name: resolve_name(COMMANDS[name].place) for name in names} or dict.fromkeys(COMMANDS, _options)
    app = typer.Typer(
        name="groupscope",
        help="Tells from log files alone which consumer groups rebalanced, when, for how long, why, and who caused it.",
        epilog=EPILOG,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_options)
    for name, function in functions.items():
        app.command(name, cls=Command, short_help=COMMANDS[name].short_help)(function)
    return app
