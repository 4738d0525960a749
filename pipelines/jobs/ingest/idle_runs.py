"""Detect runs with nothing to do from the tables' logs, without a JVM.

Frequent schedules find nothing new most of the time. Such a run costs a look at the files and one entry in `runs`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from parsers.reading.reader import Discovery, FileOptions
from pipelines.analysis.log_file_rows import refused_row
from pipelines.errors import CannotWrite, JobError, NeedsRebuild, WarehouseBusy
from pipelines.jobs.ingest.file_rows import FileRows, bytes_of, plan_of
from pipelines.jobs.ingest.read_plan import Plan
from pipelines.jobs.registry.entries import PUBLISHED, RUNNING, RUNS, UNCHANGED, PublishedRun, RunEntry, published_from
from pipelines.jobs.registry.lease import busy_message, is_alive
from pipelines.jobs.registry.resume_states import FILE_STATE, STATE_COLUMNS, stored_states
from pipelines.schema.tables import TABLES, VERSIONED
from pipelines.storage.object_stores import delta_options, open_table
from pipelines.storage.uris import warehouse_uri
from pipelines.versions import fingerprint_of
from pipelines.warehouse.delta.arrow_files import read_mapped, read_table

_log = logging.getLogger(__name__)
VERDICTS = ("assume", "limits", "redact")
"""Options that determine gold rows."""


@dataclass(frozen=True, slots=True)
class NothingChanged:
    """The tables already match the files.

    `files` are the rows of `log_files`, `present` the paths of those of this input.
    """

    before: PublishedRun
    files: FileRows
    present: set[str]


def nothing_new(
    place: str,
    discovery: Discovery,
    file_options: Mapping[str, FileOptions],
    run: RunEntry,
    stale_after: timedelta,
    oldest: int | None = None,
) -> NothingChanged | int:
    """Return the state of a warehouse without work, or the bytes to read.

    `file_options` are the options of the files found, by name.
    In the first case `record_idle_run` completes the run. Raises WarehouseBusy if another run holds the warehouse,
    NeedsRebuild if the tables were made with other options or another catalogue.
    """
    try:
        looked = _nothing_new(warehouse_uri(place), discovery, file_options, run, stale_after, oldest)
    except JobError:
        raise
    except Exception as error:  # a store that delta-rs cannot reach, or a warehouse that does not exist
        _log.debug("the tables' logs can't be read without Spark: %s", error)
        looked = None
    return bytes_of((source, None) for source in discovery.files) if looked is None else looked


def check_versions(before: PublishedRun, run: RunEntry) -> None:
    """Raise NeedsRebuild if this run's verdicts or records would not match the tables.

    A change of models needs no rebuild: all verdicts are made anew from the stored events (`models_have_changed`).
    """
    changed = [
        part_name
        for part_name, differs in {
            "the catalogue of messages": before.catalogue_version != run.catalogue_version,
            **{f"the option {name}": _of(before.options, name) != _of(run.options, name) for name in VERDICTS},
        }.items()
        if differs
    ]
    if changed:
        raise NeedsRebuild(f"{' and '.join(changed)} changed since the tables were made; nothing is mixed: run once with --rebuild")


def models_have_changed(before: PublishedRun, run: RunEntry) -> bool:
    """Whether other models made the verdicts, so that all are replaced."""
    return before.model_version != run.model_version


def _of(options: Mapping[str, Any], name: str) -> str:
    return fingerprint_of(options.get(name) or {})


def _nothing_new(
    uri: str, discovery: Discovery, file_options: Mapping[str, FileOptions], run: RunEntry, stale_after: timedelta, oldest: int | None
) -> NothingChanged | int | None:
    runs = open_table(f"{uri}/{TABLES[RUNS].path}")
    rows = read_table(runs, ["run_id", "run_number", "status", "owner", "seen_at"]).to_pylist()
    for row in rows:
        if row["status"] == RUNNING:
            if is_alive(row, stale_after, run.host):
                raise WarehouseBusy(busy_message(row))
            return None
    published = [row for row in rows if row["status"] == PUBLISHED]
    if not published:
        return None
    last = max(published, key=lambda row: row["run_number"])
    [full] = read_table(runs, filters=[("run_id", "=", last["run_id"])]).to_pylist()
    before = published_from(full)
    check_versions(before, run)
    if models_have_changed(before, run):
        return None
    if run.options.get("catalog") and run.options["catalog"] != before.options.get("catalog"):
        return None  # names have to be registered
    logs = {name: open_table(f"{uri}/{TABLES[name].path}") for name in VERSIONED}
    if {name: log.version() for name, log in logs.items()} != dict(before.table_versions):
        return None
    stored = FileRows(read_mapped(logs["log_files"]))
    states = stored_states(read_mapped(logs["state_snapshots"], STATE_COLUMNS, pads.field("kind") == FILE_STATE))
    todo = plan_of(stored, states, discovery, file_options, oldest=oldest)
    present = _files_as_stored(todo, stored, discovery, file_options)
    if present is None:
        return bytes_of(todo.read)
    run.run_number = 1 + max(row["run_number"] for row in rows)
    return NothingChanged(before, stored, present)


def _files_as_stored(todo: Plan, stored: FileRows, discovery: Discovery, file_options: Mapping[str, FileOptions]) -> set[str] | None:
    """Paths of this input's files if all files are unchanged, else None."""
    if not todo.is_empty:
        return None
    options = dict(stored.columns("path", "cluster_option"))
    for source in discovery.files:
        if todo.known[source.name] == source.name and options[source.name] != file_options[source.name].cluster:
            return None
    refused = [skip for skip in discovery.skipped if skip.name not in todo.unread]
    for skip in refused:
        row: Mapping[str, object] = stored.get(skip.name) or {}
        if any(row.get(name) != value for name, value in refused_row(skip).items() if name not in ("cluster", "run_id")):
            return None
    return {todo.known[source.name] for source in discovery.files} | {skip.name for skip in refused}


def record_idle_run(
    place: str, run: RunEntry, idle_state: NothingChanged, exit_code: int, counts: Mapping[str, int], timings: Mapping[str, float]
) -> None:
    """Write the entry of a run with nothing to do, in one commit."""
    from deltalake import write_deltalake
    from deltalake.exceptions import DeltaError

    now = datetime.now(UTC)
    row = run.row() | {
        "status": UNCHANGED,
        "seen_at": now,
        "ended_at": now,
        "owner": "{}",
        "table_versions": sorted(idle_state.before.table_versions.items()),
        "counts": sorted(counts.items()),
        "timings": sorted(timings.items()),
        "exit_code": exit_code,
    }
    schema = pa.schema([field.remove_metadata() for field in TABLES[RUNS].arrow_schema()])
    uri = f"{warehouse_uri(place)}/{TABLES[RUNS].path}"
    try:
        write_deltalake(uri, pa.Table.from_pylist([row], schema=schema), mode="append", storage_options=delta_options(uri))
    except (OSError, DeltaError) as error:
        raise CannotWrite(f"{place}: the entry of the run can't be written: {error}") from error


__all__ = ["NeedsRebuild", "NothingChanged", "check_versions", "models_have_changed", "nothing_new", "record_idle_run"]
