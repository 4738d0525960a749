"""The whole job: files in, published tables out, one run at a time.

A run's entry in `ops.runs` is written first and closed last. In between it ingests, checks, replays, checks again and
writes. Readers open the tables at the versions of the last published run, so they never see a partial one.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import socket
import time
import uuid
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.incidents.incidents import Limits
from models.units import EPOCH
from parsers.reading.reader import Discovery, ReadOptions, date_files, list_files, unmatched_globs
from parsers.sources.files import printable
from pipelines import exit_codes as codes
from pipelines.errors import CannotWrite, ConcurrentWrite, GateFailed, NothingReadable
from pipelines.import_guard import check_packages
from pipelines.jobs.ingest.file_rows import FileRows, bytes_of, clusters_of
from pipelines.jobs.ingest.inspection_cache import load_inspections, store_inspections
from pipelines.jobs.registry.entries import RUNS, PublishedRun, RunEntry
from pipelines.jobs.registry.failures import closed_on_error, disk_named, shown
from pipelines.jobs.run_options import RunOptions, RunOutcome
from pipelines.schema.tables import TABLES
from pipelines.storage import object_stores as stores
from pipelines.storage.uris import catalog_parts, is_uri, nothing_at
from pipelines.versions import catalogue_version, model_version, product_version
from pipelines.warehouse.opening.damage import set_damaged_aside

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from pipelines.jobs.ingest.ingest import ChangedScope, IngestResult
    from pipelines.jobs.registry.runs import Runs
    from pipelines.jobs.replay.replay import ReplayResult
    from pipelines.quality.gate import Result, Validation
    from pipelines.warehouse.warehouse import Warehouse
    from pipelines.warehouse.writes.direct_commit import WriteStamp

_LARGE_BYTES = 256 << 20
"""Input bytes from which it pays to compile queries."""

_ATTEMPTS = 3
"""Attempts; a killed run leaves only a few commits still in progress."""

_log = logging.getLogger(__name__)


def run(options: RunOptions) -> RunOutcome:
    """Run the job.

    Errors that the user can fix are JobErrors, each with its exit code; the run's entry contains them too. A run that
    is overtaken starts again: commits of a killed run, or of one presumed dead, may arrive at any moment.
    """
    check_packages()
    if options.catalog:
        catalog_parts(options.catalog)
    if any(map(is_uri, [*options.inputs, options.warehouse])):
        stores.use(options.spark, options.inputs, options.warehouse)
    for _ in range(1, _ATTEMPTS):
        try:
            return _attempt(options)
        except ConcurrentWrite as error:
            _log.warning("%s; the run begins anew", shown(error, options.read.redaction))
    return _attempt(options)


def _attempt(options: RunOptions) -> RunOutcome:
    """One attempt, with an entry of its own."""
    began = time.monotonic()
    options.on_stage("look")
    read = dataclasses.replace(options.read, fold_runs=True)
    seen = load_inspections(options.warehouse, read.redaction)
    discovery = list_files(list(options.inputs), read, {} if options.rebuild else seen.known)
    if discovery.missing:
        raise NothingReadable(nothing_at(discovery.missing[0]))
    if not discovery.files:
        raise NothingReadable(_nothing(options.inputs, discovery))
    _writable(options.warehouse)
    outcome = RunOutcome(uuid.uuid4().hex, on_stage=options.on_stage, warnings=unmatched_globs(discovery, read))
    outcome.timings["look"] = round(time.monotonic() - began, 3)
    entry = _entry(options, read, outcome.run_id)
    files = ((source, None) for source in discovery.files)
    new = bytes_of(files) if options.rebuild else _new_bytes(options, discovery, read, entry, outcome)
    if new is None:
        if seen.has_names:  # a run that was to hide the names failed before this step
            store_inspections(options.warehouse, seen, discovery.inspections, read.redaction, outcome.run_id)
        return outcome
    outcome.warnings += date_files(discovery, read)
    from pipelines.spark.session import import_spark

    import_spark()
    with ThreadPoolExecutor(1) as executor:
        checker = executor.submit(_load_gates)
        with _timed(outcome, "session"), disk_named(options.warehouse):
            outcome.warnings += _register_anew(options)
            warehouse, register = _open(options, new)
            register.start(entry)
        show = partial(shown, redaction=read.redaction)
        closed = closed_on_error(register, entry, options.warehouse, show, outcome.counts, outcome.timings)
        with _documented(options, outcome) as validations, closed:
            job = _Job(options, read, warehouse, register, entry, outcome, checker, validations)
            with register.alive(entry):
                job.work(discovery)
            job.publish()
    store_inspections(options.warehouse, seen, discovery.inspections, read.redaction, outcome.run_id, job.missed)
    return outcome


def _new_bytes(options: RunOptions, discovery: Discovery, read: ReadOptions, entry: RunEntry, outcome: RunOutcome) -> int | None:
    """Bytes to read; None after writing the entry if nothing is new."""
    from pipelines.jobs.ingest.idle_runs import nothing_new, record_idle_run

    with _timed(outcome, "compare"):
        file_options, oldest = read.of_files(discovery.files), _oldest(options, entry)
        unchanged = nothing_new(options.warehouse, discovery, file_options, entry, options.stale_after, oldest)
    if isinstance(unchanged, int):
        return unchanged
    note_files(outcome, unchanged.files, unchanged.present, entry.inputs, [])
    outcome.table_versions = dict(unchanged.before.table_versions)
    outcome.was_skipped = True
    record_idle_run(options.warehouse, entry, unchanged, outcome.exit_code, outcome.counts, outcome.timings)
    return None


def _oldest(options: RunOptions, entry: RunEntry) -> int | None:
    """Minimum time of content to keep (microseconds), constant during the run."""
    return None if options.retention is None else (entry.started_at - options.retention - EPOCH) // timedelta(microseconds=1)


def note_files(outcome: RunOutcome, files: FileRows, present: Collection[str], inputs: Sequence[str], read: Sequence[str]) -> None:
    """Note counts of the present files, and whether any content was refused."""
    sums = dict.fromkeys(("records", "recognised", "unknown", "rejected"), 0)
    named, is_refused = set(inputs), False
    for path, status, *counts in files.columns("path", "status", *sums):
        if path in present:
            sums = {name: total + count for (name, total), count in zip(sums.items(), counts, strict=True)}
            is_refused |= status in ("rejected", "truncated") or (status != "ok" and path in named)
    outcome.counts |= {"files": len(present), "files_read": len(read), **sums}
    if is_refused or sums["rejected"]:
        outcome.exit_code = codes.SOME_REJECTED


def _load_gates() -> None:
    """Import Great Expectations, which takes seconds, while the JVM starts."""
    from pipelines.quality.gate import prepare

    prepare()


def _nothing(inputs: Sequence[str], discovery: Discovery) -> str:
    reasons = [f"{skip.name}: {skip.reason}" for skip in discovery.skipped]
    and_more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"no log could be read; {reasons[0]}{and_more}" if reasons else f"no log file in {', '.join(inputs)}"


def _writable(place: str) -> None:
    """Check before the JVM starts that a local warehouse is writable."""
    if is_uri(place):
        return
    try:
        Path(place).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"{place}: the warehouse can't be made: {error.strerror or error}") from error
    if not os.access(place, os.W_OK | os.X_OK):
        raise CannotWrite(f"{place}: the warehouse can't be written")


def _open(options: RunOptions, new: int) -> tuple[Warehouse, Runs]:
    """Open the warehouse and its register, in a session sized for the input."""
    from pipelines.jobs.registry.runs import Runs
    from pipelines.spark.session import Workload, get_session
    from pipelines.warehouse.warehouse import Warehouse

    work = Workload.LARGE if new >= _LARGE_BYTES else Workload.USUAL
    warehouse = Warehouse(get_session(options.spark, work), options.warehouse)
    warehouse.open_one("runs")
    return warehouse, Runs(warehouse, options.stale_after)


def _register_anew(options: RunOptions) -> list[str]:
    """For a rebuild, rename an unreadable register of runs; return messages."""
    return set_damaged_aside(options.warehouse, [RUNS]) if options.rebuild else []


def _limits(limits: Limits) -> dict[str, float]:
    """Limits by name, without switches that are off, so older tables need no rebuild."""
    return {name: value for name, value in dataclasses.asdict(limits).items() if value is not False}


def _entry(options: RunOptions, read: ReadOptions, run_id: str) -> RunEntry:
    redaction = read.redaction
    values = {
        "read": _option_values(read),
        "assume": dict(options.assume),
        "limits": _limits(options.limits),
        "thresholds": dict(options.thresholds),
        "catalog": options.catalog,
    }
    inputs = list(map(printable, options.inputs))
    if redaction is None:
        return RunEntry(run_id, inputs, values, product_version(), catalogue_version(), model_version())
    values["redact"] = redaction.facts
    host = redaction.host(socket.gethostname(), {})
    return RunEntry(run_id, list(map(redaction.path, inputs)), values, product_version(), catalogue_version(), model_version(), host=host)


def _option_values(read: ReadOptions) -> dict[str, Any]:
    """Options of reading for the entry: no key, and globs without names."""
    values = dataclasses.asdict(dataclasses.replace(read, redaction=None))
    del values["redaction"]
    for name in ("log_tz", "clusters", "kafka_versions") if read.redaction is not None else ():
        values[name] = [(glob and read.redaction.path(glob), value) for glob, value in values[name]]  # type: ignore[union-attr]
    return values


@contextmanager
def _timed(outcome: RunOutcome, stage: str) -> Iterator[None]:
    began = time.monotonic()
    outcome.on_stage(stage)
    try:
        yield
    finally:
        outcome.timings[stage] = round(time.monotonic() - began, 3)


@contextmanager
def _documented(options: RunOptions, outcome: RunOutcome) -> Iterator[list[Validation]]:
    """Write pages with the gates' results, whatever happens to the run.

    The error of a failed run takes precedence over errors of its pages.
    """
    seen: list[Validation] = []
    try:
        yield seen
    except BaseException:
        for trouble in _trouble_with_docs(options, seen):
            _log.warning("%s", shown(trouble, options.read.redaction))
        raise
    outcome.troubles += _trouble_with_docs(options, seen)


def _trouble_with_docs(options: RunOptions, seen: list[Validation]) -> list[Exception]:
    if options.data_docs is None or not seen:
        return []
    from pipelines.quality.docs import write_docs

    try:
        write_docs(options.data_docs, seen)
    except Exception as error:
        return [error]
    return []


@dataclass(slots=True)
class _Job:
    options: RunOptions
    read: ReadOptions
    warehouse: Warehouse
    register: Runs
    entry: RunEntry
    outcome: RunOutcome
    checker: Future[None]
    """Done when the gates' library is imported."""
    seen: list[Validation]
    """The gates' results, for their pages."""
    missed: frozenset[str] = frozenset()
    """Files that changed before they were read."""

    def work(self, discovery: Discovery) -> None:
        """Update the tables from the files found."""
        try:
            self._work(discovery)
        except GateFailed:
            self.warehouse.versions.current()  # the failing rows may be those of a run presumed dead
            raise

    def _work(self, discovery: Discovery) -> None:
        from pipelines.jobs.ingest.idle_runs import check_versions, models_have_changed
        from pipelines.jobs.ingest.ingest import ingest

        stamp, before, rebuild = self._stamp(), self.register.before, self.options.rebuild
        with _timed(self.outcome, "open"):
            self._open(before, rebuild=rebuild)
        if before is not None and not rebuild:
            check_versions(before, self.entry)
        settled = self._taken_back(before, stamp) and not rebuild and not (before is not None and models_have_changed(before, self.entry))
        # Names to be hidden from now on must not stay in rows of files that are not read again.
        forget = before is not None and before.options.get("redact") != self.entry.options.get("redact")
        with _timed(self.outcome, "ingest"):
            ingested = ingest(
                self.warehouse,
                discovery,
                self.read,
                stamp,
                block_bytes=self.options.block_bytes,
                rebuild=rebuild,
                forget=forget,
                oldest=_oldest(self.options, self.entry),
            )
        self.missed = frozenset(ingested.missed)
        self.outcome.warnings += [f"{name}: {why}" for name, why in sorted(ingested.missed.items())]
        if forget:
            self.register.scrub(self.entry)
        note_files(self.outcome, ingested.known, ingested.present, self.entry.inputs, ingested.read)
        self.outcome.changes |= ingested.changes
        if settled and not any(ingested.changes.values()):
            return
        if not settled:
            ingested.touched.whole |= clusters_of(ingested.known)
        results: list[Result] = []
        try:
            with _timed(self.outcome, "check_silver"):
                self._check_silver(results, ingested, covers_all=not settled)
            self._replay_and_write(ingested.known, ingested.touched, stamp, results)
        finally:
            self._record(results, stamp)

    def _open(self, before: PublishedRun | None, *, rebuild: bool) -> None:
        """Open the tables, and give them their names in a catalog."""
        if rebuild:
            self.outcome.warnings += set_damaged_aside(self.options.warehouse, TABLES.keys() - {RUNS})
        self.warehouse.open(before.table_versions if before is not None and not rebuild else None)
        if self.options.catalog:
            from pipelines.warehouse.catalog_names import register

            self.outcome.warnings += register(self.warehouse.tables, self.options.catalog)

    def _stamp(self) -> WriteStamp:
        from pipelines.warehouse.writes.direct_commit import WriteStamp

        # Run numbers are unique within one register; a recreated one starts with 1 again, and its writes are different
        # ones.
        application = f"groupscope/{catalogue_version()}/{model_version()}/{self.warehouse.tables.identity(RUNS)}"
        return WriteStamp(self.entry.run_id, self.entry.run_number, application)

    def _taken_back(self, before: PublishedRun | None, stamp: WriteStamp) -> bool:
        """Undo writes of failed runs; True if the tables equal those last published."""
        from pipelines.jobs.registry.recovery import delete_unledgered_rows, restore_published, truncate_unpublished

        if before is not None and restore_published(self.warehouse, self.register, before.table_versions, stamp):
            return True
        if before is not None or not truncate_unpublished(self.warehouse, self.register, stamp):
            delete_unledgered_rows(self.warehouse, stamp)
        return False

    def _check_silver(self, results: list[Result], ingested: IngestResult, *, covers_all: bool) -> None:
        """The gate between silver and gold, for changed rows, or all with `covers_all`."""
        import pyarrow as pa

        from pipelines.quality.gate import run_gate, stop_if_failed

        tables: dict[str, DataFrame | pa.Table] = {}
        counts: dict[str, int] = {}
        for name in ("log_files", "rejected_records", "unknown_in_files", "events"):
            if not covers_all and name not in ingested.scopes:
                continue
            scope = None if covers_all else ingested.scopes[name]
            tables[name] = rows = self.warehouse.rows.as_either(name, scope)
            counts[name] = rows.num_rows if isinstance(rows, pa.Table) else rows.count()
        if not tables:
            return
        self.checker.result()
        whole = {} if covers_all else self._whole(ingested.ledger)
        results += run_gate("silver", tables, counts, self.options.thresholds, whole, self._pages(), self.warehouse.spark)
        stop_if_failed(results)

    def _pages(self) -> list[Validation] | None:
        """Where validations are collected, if pages are wanted of them."""
        return None if self.options.data_docs is None else self.seen

    def _whole(self, changed: set[str]) -> dict[str, DataFrame | pa.Table]:
        """The ledger, and all rows of the files with a changed row in it."""
        from pipelines.warehouse.rows.predicates import among

        scopes = dict.fromkeys(("rejected_records", "unknown_in_files", "events") if changed else (), among("file", changed))
        return {name: self.warehouse.rows.as_either(name, scope) for name, scope in {"log_files": None, **scopes}.items()}

    def _replay_and_write(self, files: FileRows, touched: ChangedScope, stamp: WriteStamp, results: list[Result]) -> None:
        from pipelines.jobs.publish import publish
        from pipelines.jobs.registry.resume_states import CLUSTER_STATE, cluster_states
        from pipelines.jobs.replay.replay import replay
        from pipelines.jobs.replay.stage_inputs import ReplayOptions
        from pipelines.transforms.replay_checkpoints import CheckpointRules
        from pipelines.warehouse.rows.predicates import equals

        began = time.monotonic()
        self.outcome.on_stage("replay")
        states = cluster_states(self.warehouse.rows.as_arrow("state_snapshots", equals("kind", CLUSTER_STATE)).to_pylist())
        options = ReplayOptions(self.options.assume, self.options.limits, self.read.redaction, self.options.snapshots or CheckpointRules())
        with replay(self.warehouse, files, touched, states, options) as rows:
            self.outcome.timings["replay"] = round(time.monotonic() - began, 3)
            self.outcome.counts |= rows.counts
            self.outcome.counts |= {"groups_replayed": rows.groups, "groups_resumed": rows.resumed}
            self.outcome.counts |= {"clusters_resumed": rows.clusters_resumed, "states_unreadable": rows.states_unreadable}
            with _timed(self.outcome, "check_gold"):
                self._check_gold(rows, results)
            with _timed(self.outcome, "write"):
                self.outcome.changes |= publish(self.warehouse, rows, stamp)
            self._note_failures(rows.failures)

    def _note_failures(self, of_clusters: Sequence[str]) -> None:
        """Report groups and clusters with failed replays, including stored ones."""
        from pipelines.analysis.replay_failures import FAILED_REPLAY, warning
        from pipelines.warehouse.rows.predicates import equals

        failures = list(of_clusters)
        if not self.warehouse.versions.is_known_empty("divergences"):
            columns = ("cluster", "system", "group", "observed")
            stored = self.warehouse.rows.as_arrow("divergences", equals("expected", FAILED_REPLAY), columns).to_pylist()
            failures += [warning(*(row[name] for name in columns)) for row in stored]
        self.outcome.warnings += failures
        if failures:
            self.outcome.exit_code = codes.SOME_REJECTED

    def _check_gold(self, rows: ReplayResult, results: list[Result]) -> None:
        """The gate before publication, for the rows to be written."""
        from pipelines.quality.gate import run_gate, stop_if_failed

        if rows.tables:
            self.checker.result()
            results += run_gate("gold", rows.tables, rows.counts, self.options.thresholds, rows.whole, self._pages(), self.warehouse.spark)
            stop_if_failed(results)

    def _record(self, results: list[Result], stamp: WriteStamp) -> None:
        from pipelines.jobs.publish import record_results

        if results:
            with _timed(self.outcome, "record"):
                self.outcome.changes["quality_results"] = record_results(self.warehouse, results, stamp)

    def publish(self) -> None:
        """Make the results visible to readers."""
        from pipelines.jobs.registry.entries import PUBLISHED

        outcome = self.outcome
        outcome.table_versions = self.warehouse.versions.current()
        self.register.finish(
            self.entry, PUBLISHED, outcome.exit_code, table_versions=outcome.table_versions, counts=outcome.counts, timings=outcome.timings
        )
