"""Source of an answer: log files, or the tables of a warehouse."""

from __future__ import annotations

import difflib
import glob
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conf.settings import Settings, load_settings
from dashboards.wording.units import Clock
from pipelines import exit_codes as codes
from pipelines.cli.arguments.filters import Filters
from pipelines.cli.arguments.question import QueryOptions
from pipelines.errors import NothingReadable, UsageError
from pipelines.storage.uris import is_uri, nothing_at

if TYPE_CHECKING:
    from parsers.redaction.pseudonyms import Redaction
    from pipelines.cli.arguments.times import Moment


@dataclass(slots=True)
class Source:
    """Rows to show, with the clock for display and resulting exit codes."""

    rows: Any
    clock: Clock
    settings: Settings
    codes: list[int]
    skipped: list[dict[str, Any]]
    whole: Any = None
    redaction: Redaction | None = None
    until: Moment | None = None

    @property
    def layouts(self) -> Sequence[Any]:
        """Layouts of clusters at the end of their logs."""
        return getattr(self.whole, "layouts", ())

    def ends_at(self) -> int | None:
        """End of the logs, or of the time that is asked about.

        None if no record has a time.
        """
        from pipelines.cli.answers.selection import last_record_at

        last_at = last_record_at(self.whole)
        return last_at if last_at is None or self.until is None else min(last_at, self.until.micros(last_at))


def open_source(
    query_options: QueryOptions, filters: Filters | None = None, *, is_strict: bool = False, is_summed_up: bool = False
) -> Source:
    """Read the requested input and select the requested rows.

    With `is_strict`, a filter that names nothing in it is wrong. An answer that `is_summed_up` tells of wrong time zones itself.
    """
    from pipelines.cli.answers.narrowed_rows import narrowed, unseen
    from pipelines.cli.answers.selection import select
    from pipelines.cli.arguments.option_parsing import shown_as
    from pipelines.cli.arguments.times import moment, window

    settings = load_settings(query_options.settings_file)
    clock = clock_of(query_options.zone, settings)
    since = moment(query_options.since, clock.zone_name, "--since") if query_options.since else None
    until = moment(query_options.until, clock.zone_name, "--until") if query_options.until else None
    if query_options.around:
        if since or until:
            raise UsageError("--around says from when and until when: give it without --since and --until")
        since, until = window(query_options.around, clock.zone_name)
    if not (query_options.paths or query_options.warehouse or settings.warehouse.uri) and _is_piped():
        query_options.paths = ["-"]
    warehouse = query_options.warehouse or (settings.warehouse.uri if not query_options.paths else "")
    if query_options.redact and not query_options.paths:
        raise UsageError("--redact is for logs that are read: the tables of a warehouse hold names as groupscope run has put them there")
    if query_options.paths and query_options.warehouse:
        raise UsageError("give either PATH... or --warehouse, not both")
    if query_options.paths:
        analysis, discovery = _analysis(query_options, settings)
    elif warehouse:
        from pipelines.warehouse.warehouse_reader import WarehouseReader

        analysis, discovery = WarehouseReader(warehouse), []
    else:
        raise UsageError("nothing to read: give log files or folders, or --warehouse with the tables of groupscope run")
    redaction = getattr(analysis, "redaction", None)
    rows = select(analysis, shown_as(query_options.groups or (), redaction), since, until)
    if filters:
        for text in unseen(analysis, filters):
            if is_strict:
                raise UsageError(text)
            query_options.talk.warn(text)
        rows = narrowed(rows, filters)
    source = Source(rows, clock, settings, discovery, getattr(analysis, "skipped", []), analysis, redaction, until)
    if query_options.paths and not is_summed_up:
        for text in zone_warnings(source):
            query_options.talk.warn(text)
    return source


def zone_warnings(source: Source) -> list[str]:
    """Warnings of logs that were read in a wrong time zone.

    Rows of such logs may be there twice.
    """
    from dashboards.answer.build import doubt_of
    from dashboards.wording.summary import other_zones

    return list(other_zones(map(doubt_of, source.rows.divergences)))


def warn_without_witnesses(source: Source, query_options: QueryOptions, form: str, *, of_rebalances: bool = True) -> None:
    """Say that no line could have shown what is listed.

    For people as an error; programs get a listing without rows, as for any other time.
    """
    try:
        check_witnesses(source, query_options, of_rebalances=of_rebalances)
    except NothingReadable as error:
        if form == "people":
            raise
        query_options.talk.warn(str(error))


def check_witnesses(source: Source, query_options: QueryOptions, *, of_rebalances: bool = True) -> None:
    """Raise NothingReadable if no line could have shown anything.

    With `of_rebalances`, if none could have shown a rebalance.
    """
    from pipelines.cli.answers.selection import first_record_at, last_record_at
    from pipelines.cli.arguments.times import moment, window

    first_at, last_at = first_record_at(source.whole), last_record_at(source.whole)
    if of_rebalances and (last_at is None or not _has_witness(source)):
        raise NothingReadable("no line of a coordinator or a client was recognised, so nothing is known of rebalances")
    if last_at is None:
        raise NothingReadable("no line of a broker or a client was recognised, so nothing is known")
    zone = source.clock.zone_name
    since = moment(query_options.since, zone, "--since") if query_options.since else None
    until = moment(query_options.until, zone, "--until") if query_options.until else None
    if query_options.around:
        since, until = window(query_options.around, zone)
    if since is not None and since.micros(last_at) > last_at:
        raise NothingReadable(f"the logs end at {source.clock.full(last_at)}, before --since, so nothing is known of the time after it")
    if until is not None and first_at is not None and until.micros(last_at) < first_at:
        raise NothingReadable(f"the logs begin at {source.clock.full(first_at)}, after --until, so nothing is known of the time before it")


_WITNESSES = frozenset({"server", "client", "request"})
"""Kinds of Kafka's files in which rebalances show."""


def _has_witness(source: Source) -> bool:
    from dashboards.view.row_access import column

    files = [row for row in source.whole.inputs["log_files"] if column(row, "recognised")]
    has_file = any(column(row, "system") == "rocketmq" or column(row, "kind") in _WITNESSES for row in files)
    return has_file or any(True for _ in source.whole.rebalances)


def _is_piped() -> bool:
    """Whether standard input is a pipe or a file."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def clock_of(zone: str | None, settings: Settings) -> Clock:
    """Clock for the time zone in which times are shown."""
    if zone is None:
        return Clock(settings.display.time_zone)
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        near = difflib.get_close_matches(zone, available_timezones(), n=1)
        hint = f"; did you mean {near[0]}?" if near else "; an example is Europe/Berlin"
        raise UsageError(f"--tz: {zone!r} is not a time zone{hint}") from error
    return Clock(zone)


def check_paths(paths: Sequence[str], *, by_spark: bool = False) -> None:
    """Raise NothingReadable for missing paths before any work is done.

    URIs that only Spark can open are accepted with `by_spark`.
    """
    for path in paths:
        if is_uri(path) and not by_spark:
            from parsers.sources.filesystems import has_driver

            if not has_driver(path):
                raise NothingReadable(f"{path}: no driver is here for such URIs; groupscope run reads them, through Spark")
        if path != "-" and not is_uri(path) and not os.path.lexists(path) and not glob.has_magic(path):
            near = difflib.get_close_matches(os.path.basename(path), _siblings(path), n=1)
            hint = f"; did you mean {os.path.join(os.path.dirname(path), near[0])}?" if near else ""
            raise NothingReadable(f"{path}: no such file or folder{hint}")


def _siblings(path: str) -> list[str]:
    try:
        return sorted(os.listdir(os.path.dirname(path) or "."))
    except OSError:
        return []


def _analysis(query_options: QueryOptions, settings: Settings) -> tuple[Any, list[int]]:
    from pipelines.analysis.in_process import analyze
    from pipelines.cli.arguments.option_parsing import analyze_options

    talk, paths = query_options.talk, list(query_options.paths or ())
    check_paths(paths)
    options = analyze_options(
        settings,
        query_options.read_arguments,
    )
    with talk.progress("reading") as progress:
        analysis = analyze(paths, options, progress)
    if analysis.missing:
        raise NothingReadable(nothing_at(analysis.missing[0]))
    for text in analysis.warnings:
        talk.warn(text)
    shown = options.read.redaction
    return analysis, input_codes(analysis, paths if shown is None else list(map(shown.path, paths)))


def input_codes(analysis: Any, paths: Sequence[str]) -> list[int]:
    """Exit codes of the input: SOME_REJECTED if part of it was unreadable.

    Raises NothingReadable if nothing could be read.
    """
    files = analysis.inputs["log_files"]
    if not any(row["kind"] != "not_a_log" and row["status"] in ("ok", "empty", "truncated") for row in files):
        reasons = [f"{row['path']}: {row['reason'] or row['status']}" for row in files]
        and_more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        raise NothingReadable(f"no log could be read; {reasons[0]}{and_more}" if reasons else f"no log file in {', '.join(paths)}")
    named = set(paths)
    broken = any(row["status"] in ("rejected", "truncated") for row in files)
    refused = any(row["path"] in named and row["kind"] == "not_a_log" for row in files)
    return [codes.SOME_REJECTED] if broken or refused or analysis.rejected or analysis.failures else []
