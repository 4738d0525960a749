"""Listings as JSON, JSON lines, CSV, or a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from pipelines.cli.arguments import options as o

Item = TypeVar("Item")


def write_listing(
    key: str,
    items: Sequence[Item],
    rows_of: Callable[[Iterable[Item]], Iterable[dict[str, Any]]],
    show: Callable[[Sequence[Item]], None],
    nothing: str,
    *,
    form: o.OutputForm,
    limit: int,
) -> None:
    """Write items; forms for programs contain all, regardless of the limit."""
    from pipelines.cli.json_schema.history import LISTINGS
    from pipelines.cli.output import json_csv as answers
    from pipelines.cli.output import screens
    from pipelines.cli.output.standard_streams import screen

    if form == "json":
        answers.write_list(key, rows_of(items))
    elif form == "jsonl":
        answers.write_lines(rows_of(items))
    elif form == "csv":
        answers.write_csv(list(LISTINGS[key]["properties"]), rows_of(items))
    elif not items:
        screens.say(screen(), nothing)
    else:
        show(items[: limit or None])
        if limit and len(items) > limit:
            screens.say(screen(), f"{limit:,} of {len(items):,}; --limit 0 shows all", style="dim")
