"""`groupscope explain`: one rebalance told as a story."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli import codes, completion
from pipelines.cli import options as o
from pipelines.cli.console import Talk, screen
from pipelines.cli.source import Asked, open_source


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
    paths: o.MaybePaths = None,
    warehouse: o.WarehouseUri = None,
    log_tz: o.LogZones = None,
    cluster: o.Clusters = None,
    kafka_version: o.KafkaVersions = None,
    assume: o.Assumptions = None,
    tz: o.Zone = None,
    as_json: o.AsJson = False,
    settings: o.SettingsFile = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> int:
    """Tell one rebalance as a story: what set it off, who made the others wait, how it ended, and the lines that say so."""
    from dashboards.build import rebalance
    from pipelines.cli.naming import find_rebalance

    asked = Asked(
        paths=paths, warehouse=warehouse, log_zones=log_tz, clusters=cluster, kafka_versions=kafka_version, assumptions=assume,
        zone=tz, settings_file=settings,
    )  # fmt: skip
    source = open_source(asked, Talk(quiet=quiet, verbose=verbose))
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

        screens.told(screen(), item, source.clock, evidence_max=None if verbose else source.settings.display.evidence_lines)
    return codes.decisive(source.codes)
