"""Command `groupscope run`: one run of the scheduled job."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from conf.settings import load_settings
from models.durations import UNITS_US, span_us
from pipelines import exit_codes as codes
from pipelines.cli.after_run import RunRecipients, code_of
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.alert_rules import alert_rules
from pipelines.cli.arguments.option_parsing import ReadArguments, assumptions_of, limits_of, read_options
from pipelines.cli.output.json_log import LogEvents
from pipelines.cli.output.standard_streams import Messenger, ReaderGone, screen
from pipelines.errors import JobError, UsageError
from pipelines.extras import require
from pipelines.jobs.schedule import release_memory, repeat, until_stopped, use_system_allocator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from pipelines.jobs.operations.alert_bodies import AlertFormat
    from pipelines.jobs.operations.alerts import AlertOptions, Send
    from pipelines.jobs.run_options import RunOptions, RunOutcome
    from pipelines.warehouse.rows.spark_diff import RowChanges

DAYS_MAX = 36_500
"""Maximum age in days: a hundred years.

No Kafka log is older, and dates have a limited range.
"""

Inputs = Annotated[
    list[str],
    typer.Option("--input", metavar="PATH", help="Log files, folders or globs. Repeatable.", rich_help_panel=o.READ),
]
WarehouseOption = Annotated[
    str | None,
    typer.Option("--warehouse", metavar="URI", help="Folder or URI of the Delta tables; default: as set.", rich_help_panel=o.READ),
]
Catalog = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        metavar="NAME",
        help="Also name the tables in this schema (SCHEMA or CATALOG.SCHEMA), as in SCHEMA.gold_rebalances; default: as set.",
        rich_help_panel=o.READ,
    ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark, passed on unchanged. Repeatable.", rich_help_panel=o.HOW),
]


Every = Annotated[
    str | None,
    typer.Option("--every", metavar="SPAN", help="Repeat the run at this interval (30s, 5m, 1h) until stopped.", rich_help_panel=o.HOW),
]
Once = Annotated[bool, typer.Option("--once", help="Run once, the default without --every.", rich_help_panel=o.HOW)]
Rebuild = Annotated[
    bool,
    typer.Option("--rebuild", help="Read everything again and replay it, as after a change of version or options.", rich_help_panel=o.HOW),
]
Metrics = Annotated[
    Path | None,
    typer.Option("--metrics", metavar="FILE", help="Write metrics in Prometheus' text form after each run.", rich_help_panel=o.HOW),
]
Reports = Annotated[
    Path | None,
    typer.Option("--report", metavar="DIR", help="Keep a page per incident and an index in this folder.", rich_help_panel=o.HOW),
]
DataDocs = Annotated[
    Path | None,
    typer.Option(
        "--data-docs", metavar="DIR", help="Write what the quality gates found, as pages of Great Expectations.", rich_help_panel=o.HOW
    ),
]
Alert = Annotated[
    str | None,
    typer.Option("--alert", metavar="URL", help="Send each new incident once, to a webhook or a URL of Apprise.", rich_help_panel=o.HOW),
]
AlertAt = Annotated[
    Literal["info", "warning", "critical"],
    typer.Option("--alert-at", help="Tell of incidents from this severity on.", rich_help_panel=o.HOW),
]
Lineage = Annotated[
    str | None,
    typer.Option("--lineage", metavar="URL|FILE", help="Send OpenLineage events of each run, or append them.", rich_help_panel=o.HOW),
]
AlertForm = Annotated[
    Literal["json", "slack", "pagerduty", "alertmanager"],
    typer.Option("--alert-format", help="The form that the web hook expects; the incident's id is its key.", rich_help_panel=o.HOW),
]
RetentionDays = Annotated[
    int | None,
    typer.Option(
        "--retention-days",
        "--keep-days",  # its former name
        metavar="N",
        min=1,
        max=DAYS_MAX,
        help="Delete the rows of files that are gone once their last record is this old; default: the setting.",
        rich_help_panel=o.HOW,
    ),
]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log to standard error, one JSON object a line.", rich_help_panel=o.HOW)]


def run(
    inputs: Inputs,
    warehouse: WarehouseOption = None,
    catalog: Catalog = None,
    log_tz: o.LogZones = None,
    cluster: o.Clusters = None,
    kafka_version: o.KafkaVersions = None,
    assume: o.Assumptions = None,
    conf: SparkConf = None,
    rebuild: Rebuild = False,
    every: Every = None,
    once: Once = False,
    metrics: Metrics = None,
    report: Reports = None,
    data_docs: DataDocs = None,
    alert: Alert = None,
    alert_at: AlertAt = "critical",
    alert_format: AlertForm = "json",
    lineage: Lineage = None,
    retention_days: RetentionDays = None,
    log_json: LogJson = False,
    as_json: o.AsJson = False,
    redact: o.Redact = None,
    redact_key: o.RedactKey = None,
    settings: o.SettingsFile = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> int:
    """Read logs into Delta tables, with Spark; reading them twice changes nothing."""
    require("spark")
    _choose_allocator(seconds := _interval(every, once=once, rebuild=rebuild))
    from pipelines.jobs.run_options import RunOptions

    loaded = load_settings(settings)
    place, talk = _place(warehouse or loaded.warehouse.uri), Messenger(quiet=quiet, verbose=verbose)
    given = ReadArguments(log_tz, cluster, kafka_version, assume, redact, redact_key, is_lasting=True)
    read = read_options(loaded, given, fold_runs=True)
    LogEvents.redaction = read.redaction
    options = RunOptions(
        inputs,
        place,
        read=read,
        assume=assumptions_of(loaded, given),
        limits=limits_of(loaded),
        spark=dict(map(pair, conf or ())),
        rebuild=rebuild,
        thresholds=asdict(loaded.quality),
        data_docs=data_docs,
        retention=timedelta(days=min(retention_days or loaded.warehouse.retention_days, DAYS_MAX)) or None,
        catalog=catalog or loaded.warehouse.catalog,
    )
    rules = alert_rules(loaded.alerts.rules)  # refused now rather than after the run
    alert_options, send = _alerts(alert, alert_at, alert_format)
    followers = RunRecipients(
        place, talk, log_json, metrics, report, alert_options, send, read.redaction, lineage, inputs, rules,
        zone=loaded.display.time_zone, drawn_max=loaded.report.drawn_rebalances_max,
    )  # fmt: skip
    show = RunDisplay(as_json=as_json, quiet=quiet or log_json, talk=talk, place=place)
    return _once(options, followers, show) if seconds is None else run_repeatedly(seconds, options, followers, show)


def _interval(every: str | None, *, once: bool, rebuild: bool) -> float | None:
    """Seconds between runs; None for a single one."""
    if every and (once or rebuild):
        raise UsageError(f"--every and --{'once' if once else 'rebuild'} cannot be combined")
    return interval_seconds(every) if every else None


def _place(warehouse: str) -> str:
    if not warehouse:
        raise UsageError("--warehouse is missing: name the folder or URI below which the tables are to be")
    return warehouse


def _alerts(url: str | None, severity: str, form: AlertFormat) -> tuple[AlertOptions, Send] | tuple[None, None]:
    if url is None:
        return None, None
    from pipelines.jobs.operations.alerts import AlertOptions, sender

    return AlertOptions(url, severity), sender(url, form)


@dataclass(frozen=True, slots=True)
class RunDisplay:
    """Display of a run's outcome on standard output."""

    as_json: bool
    quiet: bool
    talk: Messenger
    place: str

    def outcome(self, outcome: RunOutcome) -> None:
        for text in outcome.warnings:
            self.talk.warn(text)
        if self.as_json:
            from pipelines.cli.output.json_csv import write_object

            write_object(summary(outcome))
        elif not self.quiet:
            _show(outcome, self.place, verbose=self.talk.verbose)


STAGES = {
    "look": "Looking for files",
    "compare": "Comparing them with the last run",
    "session": "Starting Spark",
    "open": "Opening tables",
    "ingest": "Reading logs",
    "check_silver": "Checking what was read",
    "replay": "Replaying groups",
    "check_gold": "Checking results",
    "write": "Writing tables",
    "record": "Recording checks",
}
"""Stage of a run -> what a person reads meanwhile."""


def _choose_allocator(seconds: float | None) -> None:
    """Choose what many runs need, before anything loads Arrow."""
    if seconds is not None:
        use_system_allocator()


def _once(options: RunOptions, followers: RunRecipients, show: RunDisplay) -> int:
    from pipelines.cli.answers.source import check_paths
    from pipelines.jobs.run import run as run_job

    try:
        check_paths(options.inputs, by_spark=True)  # a folder that isn't mounted now may be for the next run
        with show.talk.stages(STAGES) as tell:
            outcome = run_job(replace(options, on_stage=tell))
    except BaseException as error:
        followers.failed(error, code_of(error))
        raise
    followers.succeeded(outcome)
    show.outcome(outcome)
    return outcome.exit_code


def run_repeatedly(seconds: float, options: RunOptions, followers: RunRecipients, show: RunDisplay) -> int:
    """Repeat runs; a failed run is reported and tried again.

    Wrong usage ends the command, and so does a Spark that can't be restarted.
    """
    from pipelines.spark.session import let_go_of_dead

    ended = [codes.GOOD]

    def once() -> None:
        try:
            ended[0] = _once(options, followers, show)
        except (UsageError, ReaderGone):
            raise
        except Exception as error:
            ended[0] = code_of(error)
            followers.goes_on_after(error)
            if not isinstance(error, JobError):
                let_go_of_dead()
        release_memory()

    over = threading.Event()
    with until_stopped(over):
        repeat(seconds, once, over)
    return ended[0]


_UNITS = ("s", "m", "h", "d")
_LONGEST_US = 365 * UNITS_US["d"]
"""Maximum interval: a thread can't wait for an arbitrary time."""


def interval_seconds(text: str) -> float:
    """Seconds of an interval such as 30s, 5m or 1h."""
    duration_us = span_us(text, _UNITS, is_whole=True)
    if not duration_us or duration_us > _LONGEST_US:
        raise UsageError(f"--every {text!r}: expected a span such as 30s, 5m or 1h")
    return duration_us / UNITS_US["s"]


def summary(outcome: RunOutcome) -> dict[str, object]:
    """Summary of a run for scripts."""
    changes = {table: {"inserted": c.inserted, "updated": c.updated, "deleted": c.deleted} for table, c in sorted(outcome.changes.items())}
    return {
        "run_id": outcome.run_id,
        "exit_code": outcome.exit_code,
        "spared": outcome.was_skipped,
        "changes": changes,
        "table_versions": dict(sorted(outcome.table_versions.items())),
        "counts": dict(sorted(outcome.counts.items())),
        "timings": dict(outcome.timings),
    }


def pair(text: str) -> tuple[str, str]:
    """Key and value of a `--conf` option."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"--conf {text!r}: expected KEY=VALUE")
    return key, value


def _show(outcome: RunOutcome, place: str, *, verbose: bool) -> None:
    from dashboards.wording.durations import duration
    from dashboards.wording.units import counted
    from pipelines.cli.output import screens

    console = screen()
    if outcome.was_skipped:
        screens.say(console, f"{place} is up to date: nothing is new in {counted(outcome.counts['files'], 'file')}.")
        return
    changed = {table: change for table, change in sorted(outcome.changes.items()) if change}
    rows = sum(change.inserted + change.updated + change.deleted for change in changed.values())
    summary = f"{counted(rows, 'row')} of {counted(len(changed), 'table')} changed" if changed else "nothing has changed since the last run"
    screens.say(console, f"{place} is published after {duration(sum(outcome.timings.values()))}: {summary}.")
    _show_summary(console, place)
    if changed and verbose:
        _show_changes(console, outcome.run_id, changed)


def _show_summary(console: Console, place: str) -> None:
    """Show the content of the warehouse, as `analyze` begins."""
    from dashboards.answer.build import build_answer
    from dashboards.wording.units import Clock
    from pipelines.cli.answers import sql_ranking as ranked
    from pipelines.cli.output import screens
    from pipelines.warehouse.warehouse_reader import WarehouseReader

    answer = build_answer(
        WarehouseReader(place), kept_max=1, incidents_max=1, with_lanes=False, worst=ranked.worst_incidents, tallied=ranked.rebalance_totals
    )
    screens.summary(console, answer, Clock(load_settings(None).display.time_zone))


def _show_changes(console: Console, run_id: str, changed: Mapping[str, RowChanges]) -> None:
    from pipelines.cli.output import screens
    from pipelines.cli.output.grid import GridColumn, grid

    columns = [
        GridColumn("table", list(changed), least=12),
        GridColumn("new", [f"{change.inserted:,}" for change in changed.values()], is_right_aligned=True),
        GridColumn("changed", [f"{change.updated:,}" for change in changed.values()], is_right_aligned=True),
        GridColumn("gone", [f"{change.deleted:,}" for change in changed.values()], is_right_aligned=True),
    ]
    screens.say(console, f"run {run_id}:")
    console.print(grid(columns, console.width, indent=1))
