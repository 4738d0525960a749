"""Proof of a rebalance by the model of its coordinator.

For its cause and each rival: what the model wrote beside what the log has.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from dashboards.view.row_access import column, evidence_lines
from models.kafka.reconstruction.client_generations import JOIN_PHASE_ENDS
from pipelines.cli.answers.group_state import GroupLines, TrackedLines, course_of, is_modern, read_lines, stored_lines
from pipelines.cli.answers.selection import with_ids
from pipelines.cli.output.proof import Part, Proof, proof_parts

if TYPE_CHECKING:
    from models.kafka.conformance.trials import Window
    from pipelines.cli.answers.source import Source
    from pipelines.cli.arguments.question import QueryOptions

BURSTS_BEFORE = 4
"""Earlier bursts of lines that may show what set it off."""
LINES_BEYOND = 8
"""Later lines that may still belong to it.

From 3.0 to 3.9 a leave is logged after what it sets off."""


def proof_of(row: Any, source: Source, query_options: QueryOptions) -> Proof:
    """Run the causes of a rebalance through the model of its coordinator."""
    if column(row, "protocol") != "classic":
        return Proof(f"the model that is compared with logs is that of classic groups; this one is a {column(row, 'protocol')} group")
    return prove(row, _lines(row, source, query_options))


PROVED_MAX = 3
"""Incidents of a page with a proof.

Each needs the lines of its group once more.
"""
PROVED_BYTES_MAX = 32 << 20
"""Larger logs are not read again for a page."""


def proofs_of(source: Source, query_options: QueryOptions) -> dict[str, tuple[Part, ...]]:
    """Proofs of the longest rebalance of each of the worst incidents, by id."""
    if "-" in (query_options.paths or ()):  # which cannot be read again
        return {}
    if sum(row["bytes_read"] or 0 for row in source.rows.inputs["log_files"]) > PROVED_BYTES_MAX:
        return {}
    grave = [row for row in source.rows.incidents if column(row, "severity") != "info" and column(row, "rebalance_ids")]
    grave.sort(key=lambda row: (column(row, "severity") != "critical", -column(row, "stopped_seconds"), column(row, "incident_id")))
    proofs = {}
    for incident in grave[:PROVED_MAX]:
        rows = with_ids(source.rows.rebalances, "rebalance_id", set(column(incident, "rebalance_ids")))
        classic = [row for row in rows if column(row, "protocol") == "classic"]
        longest = max(classic, key=lambda row: (column(row, "duration_seconds") or 0.0, column(row, "rebalance_id")), default=None)
        if longest is not None:
            proof = proof_of(longest, source, query_options)
            if proof.window is not None:
                proofs[column(longest, "rebalance_id")] = tuple(proof_parts(proof, source.clock))
    return proofs


def _lines(row: Any, source: Source, query_options: QueryOptions) -> GroupLines:
    """Lines of the row's group, from logs or tables."""
    from pipelines.cli.arguments.option_parsing import read_options

    cluster, group = column(row, "cluster"), column(row, "group")
    if not query_options.paths:
        return stored_lines(source.whole, cluster, group)
    given = query_options.read_arguments
    files = {row["path"] for row in source.rows.inputs["log_files"] if row["cluster"] == cluster}
    options, shown = read_options(source.settings, given, fold_runs=False), source.redaction.path if source.redaction is not None else str
    with query_options.talk.progress("reading") as progress:
        lines = read_lines(list(query_options.paths), group, options, progress, lambda name: shown(name) in files)
    lines.events = [event for event in lines.events if event.place.file in files]
    lines.others = [event for event in lines.others if event.place.file in files]
    return lines


def prove(row: Any, lines: GroupLines) -> Proof:
    """The proof of a row by the lines of its group."""
    from models.causes import Cause
    from models.kafka.conformance.trials import try_causes

    group = column(row, "group")
    group_events = [event for event in lines.events if event.group == group]
    if not group_events:
        return Proof("no line of a coordinator tells of the group: clients and requests alone do not show what it wrote")
    if is_modern(group_events):
        return Proof("the model that is compared with logs is that of classic groups; this one uses a newer protocol")
    course = course_of(lines, group)
    place = _first_line(row, course)
    if place is None:
        return Proof("no line of its coordinator belongs to this rebalance: it is inferred from clients or requests")
    window = _window(row, course, place, lines)
    if window is None:
        return Proof("the lines of this rebalance do not show what state the group was in", course.version, course.is_told)
    shares = {column(row, "cause"): column(row, "confidence"), **dict(column(row, "alternatives") or {})}
    return Proof(None, course.version, course.is_told, window, try_causes(window, map(Cause, shares)), shares)


def _window(row: Any, course: TrackedLines, place: int, lines: GroupLines) -> Window | None:
    """The rebalance in the model, from the line that set it off."""
    from models.kafka.conformance.trials import open_window

    starts, end = _burst_starts(course), _end(row, course, place)
    at = bisect_right(starts, place) - 1
    for first in range(at, max(at - BURSTS_BEFORE, 0) - 1, -1):
        if first < at and any(line.name in JOIN_PHASE_ENDS for line in course.lines[starts[first] : starts[first + 1]]):
            return None
        start = starts[first]
        tracker = course_of(lines, column(row, "group")).tracker
        window = open_window(tracker, course.lines[:start], course.lines[start:end], course.lines[end : end + LINES_BEYOND])
        if window is not None:
            return window
    return None


def _first_line(row: Any, course: TrackedLines) -> int | None:
    """The line that begins the rebalance, else its first evidence."""
    started, before = column(row, "started_at"), column(row, "generation_before")
    for number, line in enumerate(course.lines):
        if line.name == "RebalanceStarted" and line.time_us == started and line.generation == before:
            return number
    places = {(line.file, line.byte_offset) for line in evidence_lines(row)}
    fitting = (number for number, line in enumerate(course.lines) if (line.place.file, line.place.byte_offset) in places and line.group)
    return next(fitting, None)


def _burst_starts(course: TrackedLines) -> list[int]:
    from models.kafka.conformance.tracker import bursts

    return list(accumulate(map(len, bursts(course.lines)), initial=0))[:-1]


def _end(row: Any, course: TrackedLines, place: int) -> int:
    """Number of the line behind the last one of the rebalance."""
    ended = column(row, "ended_at") or column(row, "joined_at")
    for number in range(place + 1, len(course.lines)):
        line = course.lines[number]
        if line.name == "RebalanceStarted" or (ended is not None and line.time_us > ended):
            return number
    return len(course.lines)
