"""Command `groupscope ownership`: owners of RocketMQ queues over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pipelines.cli.answers.source import Source, open_source
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.cli.commands import rebalances as tables

if TYPE_CHECKING:
    from rich.console import Console


@question
def ownership(
    query_options: QueryOptions,
    form: o.OutputForm,
    limit: o.Limit = 50,
) -> int:
    """Show who held each RocketMQ queue, and when nobody or two did."""
    source = open_source(query_options)
    return tables.listing(source, "ownership", "queue_ownership", _show, limit=limit, form=form)


def _show(console: Console, source: Source, limit: int) -> None:
    from dashboards.view.row_access import column
    from pipelines.cli.output import screens

    rows = sorted(source.rows.ownership, key=lambda row: tuple(str(column(row, name)) for name in ("cluster", "group", "topic", "queue")))
    if not rows:
        screens.say(console, "No owner of a queue is known. It takes rocketmq_client.log of the consumers to see one.")
        return
    groups: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in rows:
        groups[column(row, "cluster"), column(row, "group")].append(row)
    for number, ((_cluster, name), members) in enumerate(groups.items()):
        screens.heading(console, name, space=number > 0)
        _lanes(console, members, source, limit)
    console.print()
    _table(console, rows, source, limit)


def _lanes(console: Console, rows: Sequence[Any], source: Source, limit: int) -> None:
    """Show a lane for each queue.

    RocketMQ numbers queues by broker, so a label needs topic, broker and number.
    """
    from dashboards.view.answer import Lane, StateStretch
    from dashboards.view.row_access import column
    from dashboards.wording.escaping import shortened, visible
    from pipelines.cli.output import screens
    from pipelines.cli.output.group_lanes import LABEL_MAX, lanes

    stretches: defaultdict[tuple[str, str], list[StateStretch]] = defaultdict(list)
    for row in rows:
        start = column(row, "started_at")
        if start is not None:
            part = StateStretch(column(row, "kind"), start, column(row, "ended_at"), None, None, False)
            stretches[column(row, "topic"), column(row, "queue")].append(part)
    items = [
        Lane(
            "",
            f"{shortened(visible(topic), max(LABEL_MAX - 1 - len(queue), 6))} {queue}",
            tuple(sorted(parts, key=lambda part: part.started_at)),
        )
        for (topic, queue), parts in stretches.items()
    ]
    lanes(console, items[: limit or None], source.clock, source.ends_at())
    if limit and len(items) > limit:
        screens.say(console, f"{limit:,} of {len(items):,} queues; --limit 0 shows all", style="dim")


def _table(console: Console, rows: Sequence[Any], source: Source, limit: int) -> None:
    from dashboards.view.row_access import column
    from dashboards.wording.durations import duration
    from dashboards.wording.units import MICROSECONDS
    from pipelines.cli.output import screens
    from pipelines.cli.output.grid import GridColumn, grid

    ordered = sorted(rows, key=lambda row: (column(row, "started_at") or 0, str(column(row, "topic")), str(column(row, "queue"))))
    shown = ordered[: limit or None]
    spans = [(column(row, "started_at"), column(row, "ended_at")) for row in shown]
    clock = source.clock
    columns = [
        GridColumn(f"from ({clock.zone_name})", [clock.stamp(start) for start, _ in spans]),
        GridColumn("to", [clock.stamp(end) if end is not None else "" for _, end in spans], rank=3),
        GridColumn("group", [column(row, "group") for row in shown], rank=2, least=12),
        GridColumn("topic", [column(row, "topic") for row in shown], least=12),
        GridColumn("queue", [column(row, "queue") for row in shown], least=10),
        GridColumn("held by", [_holder(row) for row in shown], least=16),
        GridColumn(
            "lasted",
            [duration((end - start) / MICROSECONDS) if start and end else "ongoing" for start, end in spans],
            is_right_aligned=True,
        ),
    ]
    console.print(grid(columns, console.width))
    if len(ordered) > len(shown):
        screens.say(console, f"{len(shown):,} of {len(ordered):,} stretches, by time; --limit 0 shows all", style="dim")


def _holder(row: Any) -> str:
    from dashboards.view.row_access import column
    from dashboards.wording.units import listed

    owners = column(row, "owners") or ()
    if not owners:
        return "nobody" + (" (inferred)" if column(row, "inferred") else "")
    marks = (" (twice)" if len(set(owners)) < len(owners) else "") + (" (inferred)" if column(row, "inferred") else "")
    return listed(list(dict.fromkeys(owners)), 2) + marks
