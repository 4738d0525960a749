"""The in-process run: the functions of the Spark job, without a JVM.

One pass over the files parses them and stores their events; then each group is replayed separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from models.clear_names import learn_names
from models.events import Event
from models.ids import make_id
from models.incidents.incidents import SEVERITY_RANKS, Limits
from models.kafka.cluster.expiry_bursts import assigned_to_one_of
from models.kafka.observations.attribution import ClientSighting
from models.kafka.observations.unattributed_troubles import UnattributedLines
from models.kafka.outages.affected_groups import Readers
from models.kafka.outages.broker_loss import ClusterLayout
from models.kafka.partitions.event_fields import PARTITION_EVENTS
from parsers.arrow_arrays import strings
from parsers.reading.file_reports import merge_reports, report_row
from parsers.reading.reader import ReadOptions, find_files, read_file, unmatched_globs
from parsers.redaction.pseudonyms import Redaction
from parsers.sources.files import SourceFile
from pipelines.analysis.client_sightings import EventsPerFileLimit, events_without_group_in, sightings_in
from pipelines.analysis.cluster_naming import ClusterNames
from pipelines.analysis.joint_expiries import expiries_in, joint
from pipelines.analysis.log_file_rows import LogFileRow, log_file_row, refused_row
from pipelines.analysis.parallel.pool import WorkerPool
from pipelines.analysis.parallel.reading import TimesSoFar, read_parts
from pipelines.analysis.parallel.replay import ReplayedFiles, ReplayInputs, replay_groups
from pipelines.analysis.parallel.workers import Workers
from pipelines.analysis.replay_failures import failure_warnings
from pipelines.analysis.rocketmq_spill import RocketStore
from pipelines.analysis.spill import BatchStore, EventStore, RowStore
from pipelines.analysis.stages import (
    CLUSTER_EVENT_NAMES,
    HISTORY_TABLES,
    LAYOUT_TABLES,
    OUTAGE_TABLES,
    ROCKET_TABLES,
    cluster_facts,
    cluster_outages,
    group_histories,
    log_ends_of,
    name_files,
    rocket_ends_of,
    rocket_histories,
    rows_by_table,
    unattributed_rows,
)
from pipelines.gc_tuning import gc_throttled
from pipelines.headlines.unattributed_troubles import trouble_notes
from pipelines.schema.row_conversion import events_of, micros

REJECTED_HELD_MAX = 10_000
"""Maximum number of rejected records listed; the rest is only counted."""

UNKNOWN_TEMPLATES_MAX = 10_000
"""Maximum number of distinct masked templates.

Otherwise the content of logs would decide.
"""

Progress = Callable[[str, int, int], None]
"""Receives (path, bytes read, total bytes) while files are read."""


@dataclass(slots=True)
class AnalyzeOptions:
    """Options of an analysis.

    `assume` holds settings by name, from `--assume`.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    assume: Mapping[str, int] = field(default_factory=dict)
    groups: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    processes: int | None = None
    """Worker processes for large inputs; None for one for each processor, 1 for none."""


@dataclass(slots=True)
class AnalysisResult:
    """The result.

    Attributes are the keys of the JSON contract, and further rows needed by reports.
    """

    log_files: list[LogFileRow] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    rebalances: RowStore = field(default_factory=lambda: RowStore("rebalances"))
    rebalance_members: RowStore = field(default_factory=lambda: RowStore("rebalance_members"))
    timeline: RowStore = field(default_factory=lambda: RowStore("group_transitions"))
    group_states: RowStore = field(default_factory=lambda: RowStore("group_states"))
    members: RowStore = field(default_factory=lambda: RowStore("member_sessions"))
    client_states: RowStore = field(default_factory=lambda: RowStore("client_states"))
    incidents: list[Any] = field(default_factory=list)
    outages: RowStore = field(default_factory=lambda: RowStore("partition_outages"))
    under_replicated_spans: RowStore = field(default_factory=lambda: RowStore("under_replicated_spans"))
    leader_moves: RowStore = field(default_factory=lambda: RowStore("leader_moves"))
    broker_outages: RowStore = field(default_factory=lambda: RowStore("broker_outages"))
    layouts: list[ClusterLayout] = field(default_factory=list)
    coordinator_moves: RowStore = field(default_factory=lambda: RowStore("coordinator_moves"))
    offsets_at_risk: RowStore = field(default_factory=lambda: RowStore("offset_expirations"))
    allocation_changes: RowStore = field(default_factory=lambda: RowStore("allocation_changes"))
    ownership: RowStore = field(default_factory=lambda: RowStore("queue_ownership"))
    conditions: RowStore = field(default_factory=lambda: RowStore("conditions"))
    divergences: RowStore = field(default_factory=lambda: RowStore("divergences"))
    failures: list[str] = field(default_factory=list)
    """Messages about groups and clusters with a failed replay."""
    redaction: Redaction | None = None
    unknown: list[dict[str, Any]] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)

    @property
    def inputs(self) -> dict[str, Any]:
        """Description of the input files, as in the JSON."""
        return {"log_files": self.log_files, "totals": self.totals}


_ATTRIBUTES = {
    "group_transitions": "timeline",
    "member_sessions": "members",
    "offset_expirations": "offsets_at_risk",
    "partition_outages": "outages",
    "queue_ownership": "ownership",
}
"""Attributes of `AnalysisResult` with a name different from their table's, from the JSON contract."""


def analyze(paths: Sequence[str], options: AnalyzeOptions | None = None, progress: Progress | None = None) -> AnalysisResult:
    """Analyse log files: read, replay, diagnose.

    Nothing in the files raises: unreadable input is listed in `rejected`, `skipped` or `missing`.
    """
    options = options or AnalyzeOptions()
    analysis = AnalysisResult(redaction=options.read.redaction)
    with (
        gc_throttled(),
        EventStore() as store,
        EventStore() as partitions,
        RocketStore() as rocket,
        Workers(options.processes) as workers,
    ):
        reading = ReadingPass(options, store, partitions, rocket, analysis, workers)
        reading.read(paths, progress)
        if options.read.redaction is not None:
            learn_names(options.read.redaction.clear)
        _replay(reading, options, analysis)
        analysis.warnings += workers.warnings
    analysis.failures += failure_warnings(analysis.divergences)
    analysis.warnings += analysis.failures
    analysis.incidents.sort(key=lambda incident: SEVERITY_RANKS[incident.severity])
    return analysis


@dataclass(slots=True)
class ReadingPass:
    """One pass over the files.

    Events go to the stores; cluster-wide events and reports on files stay in memory.
    """

    options: AnalyzeOptions
    store: EventStore
    partitions: EventStore
    rocket: RocketStore
    analysis: AnalysisResult
    workers: Workers
    names: ClusterNames = field(default_factory=ClusterNames)
    cluster_events: list[Event] = field(default_factory=list)
    events_without_group: list[Event] = field(default_factory=list)
    without_group_limit: EventsPerFileLimit = field(default_factory=EventsPerFileLimit)
    sightings: list[ClientSighting] = field(default_factory=list)
    unknown: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)

    def read(self, paths: Sequence[str], progress: Progress | None) -> None:
        options = self.options.read
        discovery = find_files(paths, options)
        self.analysis.missing = list(discovery.missing)
        self.analysis.warnings += [*unmatched_globs(discovery, options), *discovery.notes]
        total = sum(source.size_bytes for source in discovery.files)
        pool = self.workers.begin(discovery.files) if options.redaction is None else None  # one process gives all pseudonyms
        if pool is not None:
            self._read_all(pool, discovery.files, total, progress)
        else:
            done = 0
            for source in discovery.files:
                self._read_one(source, done, total, progress)
                done += source.size_bytes
        self.analysis.log_files += map(refused_row, discovery.skipped)
        self._finish()

    def _read_one(self, source: SourceFile, done: int, total: int, progress: Progress | None) -> None:
        reader = read_file(source, replace(self.options.read, fold_runs=True))
        expiries: list[pa.RecordBatch] = []
        for chunk in reader:
            expiries += self._events(chunk.events)
            self._unknown(chunk.unknown)
            self._rejected(chunk.rejected)
            if progress is not None:
                progress(source.name, done + reader.report.counts.bytes, total)
        self._read_to_end(source, expiries, [report_row(reader.report)])

    def _read_all(self, pool: WorkerPool, sources: Sequence[SourceFile], total: int, progress: Progress | None) -> None:
        """Let worker processes read the files, and take their rows in order."""
        done = 0

        def report_progress(part: tuple[str, int]) -> None:
            nonlocal done
            done += part[1]
            if progress is not None:
                progress(part[0], done, total)

        for source, parts in read_parts(pool, sources, replace(self.options.read, fold_runs=True), self.workers.folder, report_progress):
            expiries: list[pa.RecordBatch] = []
            reports = []
            times = TimesSoFar()
            for part in parts:
                for batch in part.batches("events"):
                    expiries += self._events(batch if source.format.newest_first else times.put_on(batch))
                for batch in part.batches("unknown"):
                    self._unknown(batch)
                for batch in part.batches("rejected"):
                    self._rejected(batch)
                reports.append(part.report)
            self._read_to_end(source, expiries, reports)

    def _read_to_end(self, source: SourceFile, expiries: Sequence[pa.RecordBatch], reports: Sequence[Mapping[str, Any]]) -> None:
        if expiries:
            together = pa.Table.from_batches(expiries)
            self.cluster_events.extend(events_of(together.filter(joint(together))))
        [report] = merge_reports(reports)
        self.analysis.log_files.append(log_file_row(report, self.options.read.of_file(source)))

    def _events(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Take events; returns those whose use depends on the whole file."""
        if not batch.num_rows:
            return []
        expired = expiries_in(batch)
        is_rocketmq = pc.equal(batch["system"], _ROCKETMQ)
        if pc.any(is_rocketmq).as_py():
            self.rocket.add(batch.filter(is_rocketmq))
            batch = batch.filter(pc.invert(is_rocketmq))
        wanted = pc.is_in(batch["event"], value_set=CLUSTER_EVENT_NAMES)
        self.cluster_events.extend(events_of(batch.filter(wanted)))
        self.partitions.add(batch.filter(pc.is_in(batch["event"], value_set=_PARTITION_EVENT_NAMES)))
        self.events_without_group.extend(events_of(self.without_group_limit.within_limit(events_without_group_in(batch))))
        grouped = pc.and_(pc.is_valid(batch["group"]), pc.is_valid(batch["event"]))
        if self.options.groups:
            self.sightings.extend(sightings_in([batch]))  # including groups that were not requested
            grouped = pc.and_(grouped, pc.is_in(batch["group"], value_set=strings(list(self.options.groups))))
        self.store.add(batch.filter(grouped))
        return [expired] if expired.num_rows else []

    def _unknown(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        times = micros(batch["at"])
        for row, at in zip(batch.to_pylist(), times, strict=True):
            key = (row["logger"] or "", row["template"])
            known = self.unknown.get(key)
            if known is None:
                if len(self.unknown) >= UNKNOWN_TEMPLATES_MAX:
                    self.dropped["unknown"] += 1
                    continue
                self.unknown[key] = {
                    "template": row["template"], "logger": row["logger"], "level": row["level"], "version": None, "count": 1,
                    "first_at": at, "last_at": at, "sample": row["text"], "file": row["file"], "line": row["line"],
                    "byte_offset": row["byte_offset"],
                }  # fmt: skip
            else:
                known["count"] += 1
                known["first_at"] = at if known["first_at"] is None else min(known["first_at"], at or known["first_at"])
                known["last_at"] = at if known["last_at"] is None else max(known["last_at"], at or known["last_at"])

    def _rejected(self, batch: pa.RecordBatch) -> None:
        room = REJECTED_HELD_MAX - len(self.analysis.rejected)
        self.dropped["rejected"] += max(0, batch.num_rows - room)
        if batch.num_rows and room > 0:
            self.analysis.rejected.extend(batch.slice(0, room).to_pylist())

    def _finish(self) -> None:
        """Name clusters, then set the columns that depend on the names."""
        self.names = name_files(self.analysis.log_files)
        for row in self.unknown.values():
            row["cluster"] = self.names.cluster_of(row["file"])
            row["unknown_message_id"] = make_id("unknown", row["cluster"], row["logger"], row["version"], row["template"])
        self.analysis.unknown = sorted(self.unknown.values(), key=lambda row: (-row["count"], row["template"]))
        for row in self.analysis.rejected:
            row["cluster"] = self.names.cluster_of(row["file"])
            row["rejected_record_id"] = make_id("rejected", row["cluster"], row["file"], row["byte_offset"])
        self.analysis.totals = totals_of(self.analysis.log_files)
        self.analysis.warnings += self.without_group_limit.warnings()
        for kind, count in sorted(self.dropped.items()):
            if count:
                self.analysis.warnings.append(f"{count} more {kind} records are counted and not listed one by one")


# An Arrow scalar, because a Python one would import pandas.
_ROCKETMQ = strings(["rocketmq"])[0]
_PARTITION_EVENT_NAMES = strings(sorted(PARTITION_EVENTS))


def totals_of(log_files: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Sums over all files, for `inputs.totals`."""
    rows = list(log_files)
    names = ("bytes_read", "lines", "records", "recognised", "unknown", "rejected")
    return {"files": len(rows), **{name: sum(row.get(name) or 0 for row in rows) for name in names}}


def _replay(reading: ReadingPass, options: AnalyzeOptions, analysis: AnalysisResult) -> None:
    nodes = {row["path"]: row["node"] for row in analysis.log_files if row["node"]}
    cluster_of = reading.names.cluster_of

    def sightings() -> Iterable[ClientSighting]:
        return reading.sightings if options.groups else sightings_in(reading.store.batches())

    ends = log_ends_of(analysis.log_files)
    of_clients = reading.events_without_group
    others = UnattributedLines()
    facts = cluster_facts(reading.cluster_events, cluster_of, ends, options.assume, of_clients, sightings, analysis.failures, others)
    analysis.warnings += trouble_notes(others.notes())
    analysis.incidents += unattributed_rows(others, options.limits)
    if options.groups:
        for known in facts.values():
            known.expiry_bursts = [assigned_to_one_of(burst, options.groups) for burst in known.expiry_bursts]
    readers: dict[str, Readers] = {}
    pool = reading.workers.pool
    if pool is not None:
        setting = ReplayInputs(nodes, reading.names, facts, options.limits)
        for done in replay_groups(pool, reading.store.groups(), reading.store.row_count, setting, reading.workers.folder):
            _take(done, analysis, readers)
    else:
        for group, batches in reading.store.groups():
            for history in group_histories(group, batches, nodes, cluster_of, facts, options.limits, readers):
                _add(analysis, rows_by_table(history, HISTORY_TABLES))
    for judged in rocket_histories(reading.rocket, cluster_of, rocket_ends_of(analysis.log_files), options.limits):
        _add(analysis, rows_by_table(judged, ROCKET_TABLES))

    with BatchStore() as partitions:
        for _, batches in reading.partitions.groups():
            for batch in batches:
                partitions.add(batch)
        for outages in cluster_outages(partitions.batches, nodes, cluster_of, facts, readers, options.limits.episode_gap_seconds):
            if outages.layout is not None:
                analysis.layouts.append(outages.layout)
            _add(analysis, rows_by_table(outages, [table for table in OUTAGE_TABLES if table not in LAYOUT_TABLES]))


def _add(analysis: AnalysisResult, rows: Mapping[str, Sequence[Any]]) -> None:
    """Add rows by table."""
    for table, table_rows in rows.items():
        getattr(analysis, _ATTRIBUTES.get(table, table)).extend(table_rows)


def _take(done: ReplayedFiles, analysis: AnalysisResult, readers: dict[str, Readers]) -> None:
    """Add the rows of groups that another process replayed."""
    for table, parts in done.files.items():
        for path, count in parts:
            getattr(analysis, _ATTRIBUTES.get(table, table)).adopt(Path(path), count)
    analysis.divergences.extend(done.divergences)
    analysis.incidents.extend(done.incidents)
    for cluster, known in done.readers.items():
        readers.setdefault(cluster, Readers()).take(known)
