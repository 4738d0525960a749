"""Partitions with fewer in-sync replicas than replicas, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from pipelines.cli.answers.source import Source


def show_spans(console: Console, source: Source, limit: int) -> None:
    """Spans in order of time, those from before the logs first."""
    from dashboards.view.row_access import column
    from dashboards.wording.units import duration
    from pipelines.cli.output import screens
    from pipelines.cli.output.grid import Column, grid

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
        Column(f"from ({source.clock.zone_name})", [source.clock.stamp(column(row, "started_at")) for row in shown]),
        Column("cluster", [column(row, "cluster") if many_clusters else "" for row in shown], rank=6, least=16),
        Column("partition", [f"{column(row, 'topic')}-{column(row, 'partition')}" for row in shown], least=20),
        Column(
            "lasted", [lasted(column(row, "started_at"), column(row, "ended_at"), column(row, "ended_by")) for row in shown], right=True
        ),
        Column("why", [column(row, "cause").replace("_", " ") for row in shown], rank=1, least=11),
        Column("missing", [",".join(column(row, "missing")) for row in shown], rank=2, least=7),
        Column("in sync", [",".join(column(row, "isr")) for row in shown], rank=3, least=7),
        Column("replicas", [",".join(column(row, "replicas")) for row in shown], rank=4, least=8),
    ]
    console.print(grid(columns, console.width, indent=1))
    if len(rows) > len(shown):
        screens.say(console, f"{len(shown):,} of {len(rows):,} spans, by time; --limit 0 shows all", style="dim")
    for file in sorted({settled for row in rows if (settled := column(row, "settled_by"))}):
        screens.say(console, f"Some of this is inferred; {file} would settle it.", style="dim")
