"""Command `groupscope maintain`: upkeep of a warehouse."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.arguments import options as o
from pipelines.cli.commands.run import DAYS_MAX, SparkConf, pair
from pipelines.cli.output.standard_streams import screen
from pipelines.errors import UsageError

if TYPE_CHECKING:
    from pipelines.jobs.operations.maintain import MaintenanceResult


def maintain(
    warehouse: Annotated[
        str | None,
        typer.Option("--warehouse", metavar="URI", help="Folder or URI of the Delta tables; default: as set.", rich_help_panel=o.READ),
    ] = None,
    keep_hours: Annotated[
        int, typer.Option("--keep-hours", metavar="N", help="Keep files of old versions for so long; at least 168.", rich_help_panel=o.HOW)
    ] = 168,
    keep_runs_days: Annotated[
        int,
        typer.Option(
            "--keep-runs-days",
            metavar="N",
            min=1,
            max=DAYS_MAX,
            help="Keep entries of runs for so long, and of alerts about incidents that are there no more.",
            rich_help_panel=o.HOW,
        ),
    ] = 90,
    conf: SparkConf = None,
    settings: o.SettingsFile = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,  # noqa: ARG001 - asked where an error is shown
) -> int:
    """Compact the tables of a warehouse and remove old files.

    No row of what was read and found changes.
    """
    from conf.settings import load_settings
    from pipelines.extras import require
    from pipelines.jobs.operations.maintain import MaintainOptions
    from pipelines.jobs.operations.maintain import maintain as do

    require("spark")
    place = warehouse or load_settings(settings).warehouse.uri
    if not place:
        raise UsageError("--warehouse is missing: name the folder or URI below which the tables are")
    spark = dict(map(pair, conf or ()))
    done = do(MaintainOptions(place, keep_hours, timedelta(days=keep_runs_days), spark))
    if as_json:
        from pipelines.cli.output.json_csv import write_object

        write_object(summary(done))
    elif not quiet:
        _show(place, done.files, done.runs_removed, done.alerts_removed)
    return 0


def summary(done: MaintenanceResult) -> dict[str, Any]:
    """Summary for scripts."""
    files = {name: {"before": before, "after": after} for name, (before, after) in sorted(done.files.items())}
    return {"files": files, "runs_removed": done.runs_removed, "alerts_removed": done.alerts_removed}


def _show(place: str, files: dict[str, tuple[int, int]], runs_removed: int, alerts_removed: int) -> None:
    from dashboards.wording.units import counted
    from pipelines.cli.output import screens

    before, after = (sum(pair[index] for pair in files.values()) for index in (0, 1))
    removed = counted(runs_removed, "old entry", "old entries") if runs_removed else "no entry"
    alerts = f", and {alerts_removed:,} of alerts" if alerts_removed else ""
    screens.say(screen(), f"{place}: {before:,} files of tables are {after:,} now; {removed} of runs removed{alerts}.")
