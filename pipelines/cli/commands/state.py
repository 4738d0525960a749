"""Command `groupscope state`: a group's state in its coordinator at a time."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines import exit_codes as codes
from pipelines.cli.arguments import options as o


def state(
    group: Annotated[str, typer.Argument(metavar="GROUP", help="Whose state.", show_default=False)],
    paths: o.PathsArgument,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help=o.AT, rich_help_panel=o.SHOW),
    ] = None,
    step: Annotated[
        int, typer.Option("--step", metavar="N", help="N lines of the group further on, or back (-1).", rich_help_panel=o.SHOW)
    ] = 0,
    as_json: o.AsJson = False,
    log_tz: o.LogZones = None,
    cluster: o.Clusters = None,
    kafka_version: o.KafkaVersions = None,
    tz: o.Zone = None,
    redact: o.Redact = None,
    redact_key: o.RedactKey = None,
    settings: o.SettingsFile = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> int:
    """Show a group at a moment: state, members, who is awaited.

    A model of the coordinator follows the lines of the real one up to the last line by --at, or to the end. What is
    certain, inferred and unknown is marked. Of consumer-protocol, share and streams groups the lines tell the epochs,
    and who has reached the target stands under `rejoined`.
    """
    from conf.settings import load_settings
    from pipelines.cli.answers.group_state import check_group, read_lines, shown_at
    from pipelines.cli.answers.source import check_paths, clock_of
    from pipelines.cli.arguments.option_parsing import ReadArguments, read_options, shown_as
    from pipelines.cli.arguments.times import moment
    from pipelines.cli.output import group_state
    from pipelines.cli.output.standard_streams import Messenger, screen

    loaded = load_settings(settings)
    clock = clock_of(tz, loaded)
    wanted = moment(at, clock.zone_name, "--at") if at is not None else None
    check_paths(paths)
    given = ReadArguments(log_tz, cluster, kafka_version, redact=redact, redact_key=redact_key)
    options = read_options(loaded, given, fold_runs=False)
    [name] = shown_as([group], options.redaction)
    with Messenger(quiet=quiet, verbose=verbose).progress("reading") as progress:
        lines = read_lines(paths, name, options, progress)
    check_group(lines, name)
    shown = shown_at(lines, name, wanted.micros(lines.last_us) if wanted is not None else None, step)
    if as_json:
        group_state.write(shown)
    else:
        group_state.show(screen(), shown, clock)
    return codes.decisive([codes.SOME_REJECTED] if lines.is_rejected else [])
