"""Command `groupscope events`: every recognised record, one JSON object per line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines import exit_codes as codes
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.option_parsing import ReadArguments
from pipelines.cli.arguments.question import QueryOptions
from pipelines.cli.commands.integration.follow import follow_rebalances
from pipelines.cli.json_schema.fields import FIRST_FIELDS, LEFT_OUT
from pipelines.cli.output.standard_streams import Messenger
from pipelines.errors import NothingReadable, UsageError
from pipelines.storage.uris import nothing_at

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBER = re.compile(r'"client_number":(\d+)')
"""A client's number among those of its id in one process."""


def events(
    paths: o.MaybePaths = None,
    log_tz: o.LogZones = None,
    cluster: o.Clusters = None,
    kafka_version: o.KafkaVersions = None,
    group: o.GroupsOption = None,
    since: o.Since = None,
    rebalances: Annotated[
        bool,
        typer.Option("--rebalances", help="One event for each rebalance that ended, instead of one a record.", rich_help_panel=o.SHOW),
    ] = False,
    follow: o.Follow = False,
    jsonl: o.AsJsonLines = True,  # noqa: ARG001 - said for the reader of a script; there is no other form
    redact: o.Redact = None,
    redact_key: o.RedactKey = None,
    settings: o.SettingsFile = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> int:
    """Print every recognised record with its place, as it is read.

    With --rebalances each rebalance is one event in a stable form (see `groupscope schema events/rebalances`), as a callback would give it.
    """
    if rebalances:
        query_options = QueryOptions(
            paths, None, log_tz, cluster, kafka_version, None, group, since, None, None, None, settings, redact, redact_key, quiet, verbose
        )
        return _rebalances(query_options, follow=follow)
    if follow or since:
        raise UsageError("--follow and --since go with --rebalances here")
    return _records(
        paths or ["-"],
        ReadArguments(log_tz, cluster, kafka_version, redact=redact, redact_key=redact_key),
        group,
        settings,
        Messenger(quiet=quiet, verbose=verbose),
    )


def _rebalances(query_options: QueryOptions, *, follow: bool) -> int:
    """Write an event for each rebalance that ended."""
    if follow:
        return follow_rebalances(query_options, as_lines=True, kinds=("rebalance_finished", "verdict_changed"))
    from pipelines.cli.answers.news.changes import NewsKind, is_open, rebalances_by_time
    from pipelines.cli.answers.news.sentences import news_object
    from pipelines.cli.answers.source import open_source
    from pipelines.cli.output.json_csv import write_lines

    source = open_source(query_options)
    write_lines(news_object(NewsKind.FINISHED, row) for row in rebalances_by_time(source.rows.rebalances) if not is_open(row))
    return codes.decisive(source.codes)


def _records(paths: Sequence[str], given: ReadArguments, group: Sequence[str] | None, settings: Path | None, talk: Messenger) -> int:
    """Write the records as they are read."""
    from conf.settings import load_settings
    from parsers.reading.reader import find_files, read_file, unmatched_globs
    from pipelines.cli.answers.source import check_paths
    from pipelines.cli.arguments.option_parsing import read_options, shown_as
    from pipelines.cli.output.json_csv import BufferedOutput

    check_paths(paths)
    options = read_options(load_settings(settings), given, fold_runs=False)
    discovery = find_files(paths, options)
    if discovery.missing:
        raise NothingReadable(nothing_at(discovery.missing[0]))
    if not discovery.files:
        reason = f"; {discovery.skipped[0].name}: {discovery.skipped[0].reason}" if discovery.skipped else ""
        raise NothingReadable(f"no log could be read{reason}")
    for text in unmatched_globs(discovery, options):
        talk.warn(text)
    wanted = frozenset(shown_as(group or (), options.redaction))
    stream = BufferedOutput()
    broken = any(skip.is_named for skip in discovery.skipped)
    total, done = sum(source.size_bytes for source in discovery.files), 0
    with talk.progress("reading") as progress:
        for source in discovery.files:
            reader = read_file(source, options)
            known = LineGroups()
            for chunk in reader:
                for line in event_lines(chunk.events, wanted, known):
                    stream.write(line)
                if progress is not None:
                    done += chunk.counts.bytes
                    progress(source.name, done, total)
            broken = broken or reader.report.status in ("rejected", "truncated") or reader.report.counts.rejected > 0
    stream.flush()
    return codes.decisive([codes.SOME_REJECTED] if broken else [])


class LineGroups:
    """Groups of the clients' lines of one file that name none."""

    def __init__(self) -> None:
        from models.kafka.observations.attribution import EVENTS_WITHOUT_GROUP
        from models.kafka.observations.group_names import GroupNames
        from models.rocketmq.observations.client_groups import ClientGroups

        self._kafka, self._rocketmq, self._of_members = GroupNames(), ClientGroups(), EVENTS_WITHOUT_GROUP

    def group_of(self, values: Mapping[str, Any]) -> str | None:
        """The group that a line names, or that earlier lines gave to its client."""
        group: str | None = values["group"]
        client: str | None = values["client_id"]
        if values["system"] == "rocketmq":
            self._rocketmq.tie(client, group)
            return group or self._rocketmq.group_of(client)
        if values["witness"] != "client":
            return group
        number = _NUMBER.search(values["fields"] or "")
        name = (client, number[1] if number else None, values["thread"])
        if group:
            self._kafka.learn(group, *name)
            return group
        return self._kafka.group_of(*name, of_member=bool(values["member_id"]) or values["event"] in self._of_members)


def event_lines(batch: pa.RecordBatch, groups: frozenset[str] = frozenset(), known: LineGroups | None = None) -> Any:
    """Encode the events of a batch as JSON lines.

    `fields` is JSON already and is copied unchanged. `known` gives groups to lines that name none.
    """
    import orjson

    from pipelines.cli.output.json_csv import dumps
    from pipelines.schema.row_conversion import micros

    names = [*FIRST_FIELDS, *(name for name in batch.schema.names if name not in FIRST_FIELDS and name not in LEFT_OUT)]
    columns = [[rfc3339(at) for at in micros(batch["at"])] if name == "at" else batch[name].to_pylist() for name in names]
    fields = names.index("fields")
    for row in zip(*columns, strict=True):
        values = dict(zip(names, row, strict=True))
        if known is not None:
            values["group"] = known.group_of(values)
        if groups and values["group"] not in groups:
            continue
        values["fields"] = orjson.Fragment(row[fields] or "{}")
        yield dumps(values) + b"\n"


def rfc3339(at: int | None) -> str | None:
    """A time in RFC 3339 format."""

    from pipelines.schema.tables import instant_text

    return instant_text(at)
