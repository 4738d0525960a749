"""Command `groupscope simulate`: logs of a simulated cluster with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines import exit_codes as codes


def simulate(
    scenario: Annotated[
        str | None, typer.Argument(metavar="[SCENARIO]", help="A scenario's name (see --list), or the path of a TOML file.")
    ] = None,
    kafka_version: Annotated[str, typer.Option("--kafka-version", metavar="VERSION", help="Broker and clients, from 1.1 on.")] = "3.9.1",
    members: Annotated[
        int | None,
        typer.Option("--members", metavar="N", min=1, max=100_000, help="Members of each group (default: as the scenario says)."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same files.")] = 0,
    out: Annotated[str | None, typer.Option("--out", metavar="FOLDER", help="Where the files go; it must be new or empty.")] = None,
    duration: Annotated[
        str | None,
        typer.Option("--duration", metavar="TIME", help="How long it lasts, such as 30m or 12h (default: as the scenario says)."),
    ] = None,
    request_log: Annotated[bool, typer.Option("--request-log", help="Write kafka-request.log as at DEBUG.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the scenarios that come with groupscope.")] = False,
) -> int:
    """Write server.log, client logs and truth.json of a cluster that never was."""
    from models.kafka.simulation.scenario import ScenarioError
    from pipelines.cli.output.standard_streams import Output
    from pipelines.errors import UsageError
    from pipelines.simulate.run import bundled_scenarios, read_scenario
    from pipelines.simulate.run import simulate as run

    if listed:
        names = bundled_scenarios()
        width = max(map(len, names))
        Output().write("".join(f"{name:{width}}  {description}\n" for name, description in names.items()))
        return codes.GOOD
    if scenario is None or out is None:
        raise UsageError("a scenario and --out FOLDER are needed; --list shows the scenarios")
    try:
        plan = read_scenario(scenario, members, duration)
        written = run(plan, kafka_version, seed, _new_folder(out), request_log=request_log)
    except (ScenarioError, ValueError) as error:
        raise UsageError(str(error)) from error
    Output().write(f"{written['lines']} lines, {written['bytes']} bytes, {written['rebalances']} rebalances in {out}\n")
    return codes.GOOD


def _new_folder(out: str) -> Path:
    from pipelines.errors import CannotWrite, UsageError

    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise CannotWrite(f"{out}: {error.strerror}") from error
    if taken:
        raise UsageError(f"{out} is not empty")
    return folder
