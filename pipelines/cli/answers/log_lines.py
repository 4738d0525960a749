"""A log line by file and number (`FILE:LINE`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dashboards.view.row_access import column
from pipelines.cli.answers.selection import those
from pipelines.cli.answers.source import Source
from pipelines.cli.arguments.question import QueryOptions
from pipelines.errors import UsageError
from pipelines.warehouse.warehouse_reader import quoted_text

if TYPE_CHECKING:
    import pyarrow as pa

    from models.events import Event
    from models.incidents.line_placement import LineRole

_LINE = re.compile(r"(?P<file>.+):(?P<line>\d{1,15})", re.DOTALL)

TEXT_MAX = 300
"""Maximum characters shown of a line."""


@dataclass(frozen=True, slots=True)
class LocatedLine:
    """A line, its record, and the rebalance it belongs to.

    If `is_known` is False, no catalogue entry matches the line, and `event` is the record before it.
    """

    file: str
    line: int
    is_known: bool
    event: Event | None
    placed: LineRole


def line_named(name: str, source: Source) -> tuple[str, int] | None:
    """File and line of a name, None if it is something else.

    Times contain colons too, so the file must exist in the input.
    """
    match = _LINE.fullmatch(name)
    if match is None:
        return None
    paths = sorted({row["path"] for row in source.rows.inputs["log_files"]})
    wanted = match["file"].removeprefix("./")
    fitting = [path for path in paths if path == wanted] or [path for path in paths if path.endswith(f"/{wanted}")]
    if len(fitting) > 1:
        raise UsageError(f"{wanted!r} may be any of {', '.join(fitting[:5])}; give more of its path")
    if fitting:
        line = int(match["line"])
        line_count = max((row["lines"] or 0 for row in source.rows.inputs["log_files"] if row["path"] == fitting[0]), default=0)
        if line_count and not 1 <= line <= line_count:
            raise UsageError(f"{fitting[0]} has no line {line}; it has lines 1 to {line_count}")
        return fitting[0], line
    if "@" not in match["file"] and "/" in match["file"] + name.rpartition(":")[0]:
        paths_text = ", ".join(paths[:5]) + (" and others" if len(paths) > 5 else "")
        raise UsageError(f"no file {wanted!r} was read; there {'are' if len(paths) > 1 else 'is'} {paths_text or 'none'}")
    return None


def find_line(file: str, line: int, source: Source, query_options: QueryOptions) -> LocatedLine:
    """The record at a line, and the rebalance it belongs to."""
    from models.incidents.line_placement import LineRole, RoleReason, place_line

    before, covers = _from_warehouse(source, file, line) if not query_options.paths else _from_file(query_options, source, file, line)
    if before is None:
        return LocatedLine(file, line, False, None, LineRole("apart", None, RoleReason.NO_KNOWN_LINE))
    clusters = {row["path"]: row["cluster"] for row in source.rows.inputs["log_files"]}
    rows = _beside(source.rows.rebalances, clusters.get(file), before.group)
    if covers:
        return LocatedLine(file, line, True, before, place_line(before, rows))
    # The record's meaning is unknown, but the surrounding rebalance isn't.
    around = place_line(replace(before, name="", generation=None, member_id=None, client_id=None, instance_id=None), rows)
    return LocatedLine(file, line, False, before, LineRole("apart", around.row if before.group else None, RoleReason.UNKNOWN_MEANING))


def _beside(rebalances: Iterable[Any], cluster: str | None, group: str | None) -> list[Any]:
    """Rebalances that a line may belong to.

    Of its cluster, and of its group if it names one.
    """
    meant = {"cluster": cluster, "group": group}
    named = {name: value for name, value in meant.items() if value is not None}
    condition = " and ".join(f'"{name}" = {quoted_text(value)}' for name, value in named.items())
    return list(those(rebalances, condition, lambda row: all(column(row, name) == value for name, value in named.items())))


def _from_file(query_options: QueryOptions, source: Source, file: str, line: int) -> tuple[Event | None, bool]:
    from parsers.reading.reader import find_files, read_file
    from pipelines.cli.arguments.option_parsing import read_options

    options = read_options(
        source.settings,
        query_options.read_arguments,
        fold_runs=False,
    )
    discovery = find_files(list(query_options.paths or ()), options)
    batches = (chunk.events for source in discovery.files if source.name == file for chunk in read_file(source, options))
    return last_before(batches, line)


def last_before(batches: Iterable[pa.RecordBatch], line: int) -> tuple[Event | None, bool]:
    """Last recognised record up to a line, and whether it contains it.

    Batches must be in order.
    """
    from parsers.arrow_arrays import integers_of

    last: pa.RecordBatch | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        fitting = int((integers_of(batch["line"]) <= line).sum())
        if fitting:
            last = batch.slice(fitting - 1, 1)
        if fitting < batch.num_rows:
            break
    return _event(last, line)


def _event(batch: pa.RecordBatch | None, line: int) -> tuple[Event | None, bool]:
    import pyarrow as pa

    from parsers.arrow_arrays import strings
    from pipelines.schema.row_conversion import events_of

    if batch is None:
        return None, False
    [row] = batch.select(["line", "text", "message", "event"]).to_pylist()
    columns = {name: batch[name] for name in batch.schema.names}
    if row["event"] is None:  # known, but irrelevant to the models
        columns["event"] = strings([""])
    [event] = events_of(pa.RecordBatch.from_pydict(columns))
    return event, row["line"] <= line <= row["line"] + (row["text"] or "").rstrip("\n").count("\n")


def _from_warehouse(source: Source, file: str, line: int) -> tuple[Event | None, bool]:
    record = source.rows.record_at(file, line)
    return _event(record, line)


def sentences(line: LocatedLine) -> Sequence[str]:
    """Sentences about the line itself."""
    from models.incidents.line_placement import meaning_of
    from pipelines.headlines.line_roles import role_reason

    event = line.event
    if event is None or not line.is_known:
        return [f"{line.file}:{line.line} is no line that groupscope knows; {role_reason(line.placed)}."]
    meaning = meaning_of(event) or "It changes nothing in the model."
    whose = event.client_id or event.member_id or (f"broker {event.node}" if event.node is not None else None)
    head = f"{line.file}:{line.line}" + (f", of {whose}" if whose else "") + (f" in group {event.group}" if event.group else "")
    return [f"{head}: {meaning}", _PARTS[line.placed.part].format(why=role_reason(line.placed))]


_PARTS = {
    "cause": "It is a cause of this rebalance: {why}.",
    "effect": "It is an effect of this rebalance: {why}.",
    "behind": "It may stand behind this rebalance: {why}.",
    "apart": "It belongs to no rebalance: {why}.",
}


def line_object(line: LocatedLine) -> dict[str, Any]:
    """The line as described by `groupscope schema explain`."""
    from pipelines.headlines.line_roles import role_reason
    from pipelines.schema.tables import instant_text

    event = line.event if line.is_known else None
    return {
        "file": line.file,
        "line": line.line,
        "at": instant_text(event.at_us) if event else None,
        "message": event.message if event else None,
        "event": (event.name or None) if event else None,
        "group": event.group if event else None,
        "client_id": event.client_id if event else None,
        "member_id": event.member_id if event else None,
        "text": event.text if event else None,
        "part": line.placed.part if line.is_known else "unknown",
        "why": role_reason(line.placed),
    }
