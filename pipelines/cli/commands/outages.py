"""Command `groupscope outages`: partitions without leader or with missing replicas.

Also shows the effects of stopping a broker.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines import exit_codes as codes
from pipelines.cli.answers.source import Source, open_source, warn_without_witnesses
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.cli.commands import rebalances as tables
from pipelines.cli.output.standard_streams import Output, screen
from pipelines.errors import CannotWrite, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from models.kafka.outages.broker_loss import ClusterLayout, PartitionAtRisk

SPANS = "under_replicated_spans"
UnderReplicated = Annotated[
    bool,
    typer.Option(
        "--under-replicated",
        help="List the times in which a partition had fewer in-sync replicas than replicas instead.",
        rich_help_panel=o.SHOW,
    ),
]
IfDown = Annotated[
    str | None,
    typer.Option(
        "--if-down",
        metavar="BROKER",
        help="List the partitions that would have no leader if this broker stopped, by what the logs showed last.",
        rich_help_panel=o.SHOW,
    ),
]
MoveTo = Annotated[
    Path | None,
    typer.Option(
        "--reassignment",
        metavar="FILE",
        help="With --if-down: write the JSON for kafka-reassign-partitions there.",
        rich_help_panel=o.HOW,
    ),
]


@question
def outages(
    query_options: QueryOptions,
    form: o.OutputForm,
    under_replicated: UnderReplicated = False,
    if_down: IfDown = None,
    reassignment: MoveTo = None,
    limit: o.Limit = 50,
) -> int:
    """List the times in which a partition had no leader."""
    if reassignment is not None and if_down is None:
        raise UsageError("--reassignment goes with --if-down BROKER")
    if if_down is not None and (form not in ("json", "people") or under_replicated):
        raise UsageError("--if-down is an answer of its own: give --json rather than --jsonl or --csv, and no --under-replicated")
    source = open_source(query_options)
    warn_without_witnesses(source, query_options, form, of_rebalances=False)
    if if_down is not None:
        return _if_down(source, if_down, reassignment, limit=limit, as_json=form == "json")
    if under_replicated:
        return tables.listing(source, SPANS, SPANS, _show_spans, limit=limit, form=form)
    return tables.list_outages(source, limit=limit, form=form)


def _if_down(source: Source, broker: str, target: Path | None, *, limit: int, as_json: bool) -> int:
    from models.kafka.outages.broker_loss import exposed_by

    layouts: list[ClusterLayout] = [layout for layout in source.layouts if broker in (*layout.running, *layout.gone)]
    if not layouts:
        known = sorted({node for layout in source.layouts for node in (*layout.running, *layout.gone)}, key=lambda node: (len(node), node))
        raise UsageError(f"no broker {broker!r} in these logs; there are {', '.join(known) or 'none that hold a partition'}")
    losses = [(layout, exposed_by(layout, broker)) for layout in layouts]
    move = _moves(losses)
    if target is not None:
        _write(target, move)
    if as_json:
        _write_json(broker, losses, move)
    else:
        _show(screen(), broker, losses, move, target, limit)
    return codes.decisive(source.codes)


def _moves(losses: list[tuple[ClusterLayout, list[PartitionAtRisk]]]) -> dict[str, Any]:
    from models.kafka.outages.broker_loss import reassignment

    if len(losses) > 1:
        names = ", ".join(sorted(layout.cluster for layout, _ in losses))
        raise UsageError(f"several clusters have such a broker ({names}); give the files of one of them")
    return reassignment(losses[0][1])


def _write(target: Path, move: dict[str, Any]) -> None:
    import json

    try:
        target.write_text(json.dumps(move, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise CannotWrite(f"{target}: {error.strerror or error}") from error


def _write_json(broker: str, losses: list[tuple[ClusterLayout, list[PartitionAtRisk]]], move: dict[str, Any]) -> None:
    import json

    from pipelines.versions import SCHEMA_VERSION

    rows = [
        {
            "cluster": layout.cluster,
            "topic": partition.placement.topic,
            "partition": partition.placement.partition,
            "why": partition.why,
            "leader": partition.placement.leader,
            "replicas": list(partition.placement.replicas),
            "replicas_known": partition.placement.is_sure,
            "isr": None if partition.placement.isr is None else list(partition.placement.isr),
            "move_to": list(partition.target),
        }
        for layout, exposed in losses
        for partition in exposed
    ]
    answer = {"schema_version": SCHEMA_VERSION, "if_down": broker, "partitions": rows, "reassignment": move}
    Output().write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")


_WHY = {"single_replica": "it has no other replica", "last_in_sync": "no other replica is in sync"}


def _show(
    console: Console,
    broker: str,
    losses: list[tuple[ClusterLayout, list[PartitionAtRisk]]],
    move: dict[str, Any],
    target: Path | None,
    limit: int,
) -> None:
    import json

    from pipelines.cli.output import screens
    from pipelines.cli.output.grid import GridColumn, grid

    layout, exposed = losses[0]
    if not exposed:
        screens.say(
            console, f"If broker {broker} stops, each of the {len(layout.placements):,} partitions seen in the logs keeps a leader."
        )
        return
    screens.say(console, f"If broker {broker} stops, {len(exposed):,} of {len(layout.placements):,} partitions have no leader:")
    shown = exposed[: limit or None]
    columns = [
        GridColumn("partition", [f"{partition.placement.topic}-{partition.placement.partition}" for partition in shown], least=20),
        GridColumn("why", [_WHY[partition.why] for partition in shown], least=14),
        GridColumn(
            "replicas",
            [",".join(partition.placement.replicas) + ("" if partition.placement.is_sure else " at least") for partition in shown],
        ),
        GridColumn("in sync", ["?" if partition.placement.isr is None else ",".join(partition.placement.isr) for partition in shown]),
        GridColumn("move to", [",".join(partition.target) or "no other broker is known" for partition in shown]),
    ]
    console.print(grid(columns, console.width, indent=1))
    if len(exposed) > len(shown):
        screens.say(console, f"{len(shown):,} of {len(exposed):,} partitions; --limit 0 shows all", style="dim")
    if not move["partitions"]:
        return
    name = str(target) if target is not None else "move.json"
    screens.say(
        console, f"Move them first: kafka-reassign-partitions --bootstrap-server HOST:PORT --reassignment-json-file {name} --execute"
    )
    if target is None:
        screens.say(console, f"with this in {name} (--reassignment FILE writes it):")
        console.print(json.dumps(move), soft_wrap=True, highlight=False, markup=False)


def _show_spans(console: Console, source: Source, limit: int) -> None:
    """Show under-replication in order of time, spans without a start first."""
    from dashboards.view.row_access import column
    from dashboards.wording.durations import duration
    from pipelines.cli.output import screens
    from pipelines.cli.output.grid import GridColumn, grid

    rows = sorted(
        source.rows.under_replicated_spans, key=lambda row: (column(row, "started_at") or 0, column(row, "topic"), column(row, "partition"))
    )
    if not rows:
        screens.say(console, "No partition was short of in-sync replicas, as far as these files tell.")
        return
    shown = rows[: limit or None]
    many_clusters = len({column(row, "cluster") for row in rows}) > 1

    def lasted(started_at: int | None, ended_at: int | None, ended_by: str) -> str:
        if started_at is None:
            return "began before the logs"
        if ended_at is None:
            return "still open" if ended_by == "open" else "end not told"
        return duration((ended_at - started_at) / 1_000_000)

    columns = [
        GridColumn(f"from ({source.clock.zone_name})", [source.clock.stamp(column(row, "started_at")) for row in shown]),
        GridColumn("cluster", [column(row, "cluster") if many_clusters else "" for row in shown], rank=6, least=16),
        GridColumn("partition", [f"{column(row, 'topic')}-{column(row, 'partition')}" for row in shown], least=20),
        GridColumn(
            "lasted",
            [lasted(column(row, "started_at"), column(row, "ended_at"), column(row, "ended_by")) for row in shown],
            is_right_aligned=True,
        ),
        GridColumn("why", [column(row, "cause").replace("_", " ") for row in shown], rank=1, least=11),
        GridColumn("missing", [",".join(column(row, "missing")) for row in shown], rank=2, least=7),
        GridColumn("in sync", [",".join(column(row, "isr")) for row in shown], rank=3, least=7),
        GridColumn("replicas", [",".join(column(row, "replicas")) for row in shown], rank=4, least=8),
    ]
    console.print(grid(columns, console.width, indent=1))
    if len(rows) > len(shown):
        screens.say(console, f"{len(shown):,} of {len(rows):,} spans, by time; --limit 0 shows all", style="dim")
    for file in sorted({settled for row in rows if (settled := column(row, "settled_by"))}):
        screens.say(console, f"Some of this is inferred; {file} would settle it.", style="dim")
