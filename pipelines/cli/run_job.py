"""`groupscope run`: the scheduled job by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli import options as o
from pipelines.cli.console import Talk, screen
from pipelines.errors import UsageError

if TYPE_CHECKING:
    from pipelines.jobs.run import RunOutcome

Inputs = Annotated[
    list[str],
    typer.Option("--input", metavar="PATH", help="Log files, folders or globs. Repeatable.", rich_help_panel=o.READ),
]
Place = Annotated[
    str | None,
    typer.Option("--warehouse", metavar="URI", help="Folder or URI of the Delta tables; default: as set.", rich_help_panel=o.READ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark, passed on unchanged. Repeatable.", rich_help_panel=o.HOW),
]


def run(
    inputs: Inputs,
    warehouse: Place = None,
    log_tz: o.LogZones = None,
    cluster: o.Clusters = None,
    kafka_version: o.KafkaVersions = None,
    assume: o.Assumptions = None,
    conf: SparkConf = None,
    as_json: o.AsJson = False,
    settings: o.SettingsFile = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> int:
    """Read logs into the Delta tables of a warehouse, on Spark. A second run over the same input changes no row."""
    from conf.settings import load_settings
    from pipelines.cli.rules import Given, analyze_options
    from pipelines.cli.source import check_paths
    from pipelines.jobs.run import RunOptions
    from pipelines.jobs.run import run as run_job

    loaded = load_settings(settings)
    place = warehouse or loaded.warehouse.uri
    if not place:
        raise UsageError("--warehouse is missing: name the folder or URI below which the tables are to be")
    check_paths(inputs)
    given = analyze_options(loaded, Given(log_tz, cluster, kafka_version, assume))
    talk = Talk(quiet=quiet, verbose=verbose)
    spark = dict(map(_pair, conf or ()))
    outcome = run_job(RunOptions(inputs, place, read=given.read, assume=given.assume, limits=given.limits, spark=spark))
    for text in outcome.warnings:
        talk.warn(text)
    if as_json:
        from pipelines.cli.answers import write_object

        write_object(summary(outcome))
    elif not quiet:
        _show(outcome, place)
    return outcome.exit_code


def summary(outcome: RunOutcome) -> dict[str, object]:
    """What a run did, for scripts."""
    changes = {table: {"inserted": c.inserted, "updated": c.updated, "deleted": c.deleted} for table, c in sorted(outcome.changes.items())}
    return {
        "run_id": outcome.run_id,
        "exit_code": outcome.exit_code,
        "changes": changes,
        "table_versions": dict(sorted(outcome.table_versions.items())),
        "counts": dict(sorted(outcome.counts.items())),
        "timings": dict(outcome.timings),
    }


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"--conf {text!r}: expected KEY=VALUE")
    return key, value


def _show(outcome: RunOutcome, place: str) -> None:
    from dashboards.units import counted, duration
    from pipelines.cli import screens
    from pipelines.cli.grid import Column, grid

    console = screen()
    changed = {table: change for table, change in outcome.changes.items() if change}
    screens.say(console, f"run {outcome.run_id} published {place} in {duration(sum(outcome.timings.values()))}.")
    if not changed:
        screens.say(console, "Nothing has changed since the last run.")
        return
    tables = sorted(changed)
    columns = [
        Column("table", tables, least=12),
        Column("new", [f"{changed[table].inserted:,}" for table in tables], right=True),
        Column("changed", [f"{changed[table].updated:,}" for table in tables], right=True),
        Column("gone", [f"{changed[table].deleted:,}" for table in tables], right=True),
    ]
    screens.say(console, f"{counted(len(tables), 'table')} changed:")
    console.print(grid(columns, console.width, indent=1))
