"""News of rebalances in growing logs."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conf.settings import Settings, load_settings
from dashboards.view.row_access import column
from pipelines.analysis.growing_logs import LiveReplay
from pipelines.analysis.in_process import AnalyzeOptions
from pipelines.cli.answers.news.changes import Newsroom
from pipelines.cli.answers.news.sources import FollowedFiles, FollowedStream
from pipelines.cli.answers.source import check_paths
from pipelines.cli.arguments.option_parsing import analyze_options, shown_as
from pipelines.cli.arguments.question import QueryOptions
from pipelines.cli.arguments.times import moment
from pipelines.errors import UsageError

if TYPE_CHECKING:
    from pipelines.cli.answers.news.changes import News

PATIENCE = 4
"""Minimum pause after a look, as a multiple of its length."""


@dataclass(slots=True)
class FollowedSource:
    """A source that is followed, with the news given so far."""

    settings: Settings
    source: FollowedFiles | FollowedStream
    options: AnalyzeOptions
    groups: list[str]
    since: Callable[[int | None], int | None]
    """Start of the news, after the last existing record."""
    warn: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _newsroom: Newsroom = field(default_factory=Newsroom)
    _warned: set[str] = field(default_factory=set)
    _has_begun: bool = False
    _told_from: int | None = None

    def changes(self) -> Iterator[list[News]]:
        """News after each round with new events.

        The first one is about existing content.
        """
        replay = LiveReplay(self.options)
        rested_at, fresh = 0.0, False
        for chunks in self.source.rounds():
            for chunk in chunks:
                replay.add(chunk.events)
                fresh = fresh or chunk.events.num_rows > 0
            if not fresh or (chunks and self.clock() < rested_at):
                if chunks and (lasting := self._lasting(self.source.reports())):
                    yield lasting
                continue
            began = self.clock()
            yield self._look(replay)
            fresh, rested_at = False, self.clock() + PATIENCE * (self.clock() - began)
        if fresh:
            yield self._look(replay)
        elif lasting := self._lasting(self.source.reports()):
            yield lasting

    def _look(self, replay: LiveReplay) -> list[News]:
        files = self.source.reports()
        if not self._has_begun:
            self._has_begun = True
            self._told_from = self.since(max((row["last_at"] for row in files if row["last_at"] is not None), default=None))
        changes = list(self._newsroom.changes(row for row in replay.replay_new_events(files) if self._is_wanted(row)))
        self._complain(replay)
        changes += self._lasting(files)
        return [change for change in changes if self._told_from is None or _is_after(change.row, self._told_from)]

    def _lasting(self, files: Iterable[Mapping[str, Any]]) -> list[News]:
        """Rebalances that are stuck by the time that the logs have reached."""
        now = max((row["last_at"] for row in files if row["last_at"] is not None), default=None)
        return list(self._newsroom.lasting(now, self.options.limits.stuck_seconds))

    def _is_wanted(self, row: Any) -> bool:
        return not self.groups or any(fnmatch.fnmatchcase(column(row, "group"), glob) for glob in self.groups)

    def _complain(self, replay: LiveReplay) -> None:
        failures, replay.failures = replay.failures, []
        for text in failures:
            if text not in self._warned:
                self._warned.add(text)
                self.warn(text)


def _is_after(row: Any, when: int) -> bool:
    """Whether a rebalance lasts beyond a time."""
    ended = column(row, "ended_at")
    return ended is None or ended >= when


def followed(query_options: QueryOptions) -> FollowedSource:
    """Follow files or standard input.

    Rebalances in files that have ended before are news only from `--since` on; those of standard input always are.
    """
    if query_options.warehouse:
        raise UsageError("--follow is for logs: a warehouse changes with its runs")
    if query_options.until or query_options.around:
        raise UsageError("--follow has no end: give it without --until and --around")
    settings = load_settings(query_options.settings_file)
    options = analyze_options(
        settings,
        query_options.read_arguments,
    )
    groups = shown_as(query_options.groups or (), options.read.redaction)
    zone = query_options.zone or settings.display.time_zone
    given = moment(query_options.since, zone, "--since") if query_options.since else None
    paths = list(query_options.paths or ["-"])
    if paths == ["-"]:
        return FollowedSource(
            settings, FollowedStream(options.read), options, groups, given.micros if given else _always, query_options.talk.warn
        )
    if "-" in paths:
        raise UsageError("--follow reads standard input or files, not both")
    check_paths(paths)
    return FollowedSource(
        settings, FollowedFiles(paths, options.read), options, groups, given.micros if given else _from_now_on, query_options.talk.warn
    )


def _always(_last: int | None) -> int | None:
    return None


def _from_now_on(last: int | None) -> int | None:
    return None if last is None else last + 1
