"""From files to bronze and silver: records of new, grown and renamed files.

`log_files` is the ledger of files read and is written last. After a crash the next run reads the same files again;
tables that already have the rows stay unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa
from deltalake.exceptions import DeltaError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from models.kafka.partitions.event_fields import PARTITION_EVENTS
from parsers.reading.file_reports import whole_report
from parsers.reading.reader import Discovery, FileOptions, ReadOptions, SourceFile
from parsers.reading.resume import Start
from parsers.sources.content_checkpoints import checkpoint_parts
from parsers.sources.filesystems import ahead, map_concurrently
from pipelines.analysis.cluster_naming import HINT_COLUMNS, ClusterHint, ClusterNames, name_clusters
from pipelines.analysis.log_file_rows import LogFileRow, log_file_row, refused_row
from pipelines.jobs.ingest.file_rows import FileRows, bytes_of, clusters_of, plan_of
from pipelines.jobs.ingest.read_batch import BatchReading, StartedSources, read_planned
from pipelines.jobs.ingest.read_plan import Plan
from pipelines.jobs.overlay import Overlay
from pipelines.jobs.registry.resume_states import (
    FILE_STATE,
    STATE_COLUMNS,
    file_report,
    file_state,
    parse_state,
    state_rows,
    state_text,
    stored_states,
    without_start,
)
from pipelines.schema.tables import without_run
from pipelines.transforms.clusters import with_cluster, with_clusters
from pipelines.transforms.events import in_file_order
from pipelines.transforms.few_records import event_rows, rejected_rows, unknown_rows
from pipelines.transforms.read.kept_records import CarriedContent, kept_rows
from pipelines.transforms.read.records import Records, parse_files
from pipelines.transforms.rejected_records import rejected_records
from pipelines.transforms.unknown_messages import unknown_in_files, with_unknown_id
from pipelines.warehouse.delta.arrow_files import read_mapped
from pipelines.warehouse.rows import predicates as scopes
from pipelines.warehouse.rows.predicates import RowScope
from pipelines.warehouse.rows.spark_diff import RowChanges, Watch
from pipelines.warehouse.warehouse import Warehouse
from pipelines.warehouse.writes.direct_commit import WriteStamp

Values = TypeVar("Values", bound=Overlay[Any])

_BEFORE_ALL = -1

_EVENTS_A_FILE = 50_000
LOCAL_BYTES_MAX = 8 << 20
"""Maximum number of bytes with records that fit into the driver."""


@dataclass(slots=True)
class ChangedScope:
    """Groups and tables that the changed records concern, by cluster.

    `whole` clusters, or groups and names of events.
    """

    whole: set[str] = field(default_factory=set)
    groups: dict[str, set[str]] = field(default_factory=dict)
    events: dict[str, set[str]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    least: dict[tuple[str, str], int] = field(default_factory=dict)
    """First time (microseconds) of a changed record, by cluster and group.

    `_BEFORE_ALL` if a record has no time.
    """
    first_of_partitions: dict[str, int] = field(default_factory=dict)
    """First time of a changed record about partitions and brokers, by cluster."""

    @property
    def clusters(self) -> set[str]:
        return self.whole | self.events.keys() | self.unknown

    def note(self, cluster: str | None, group: str | None, event: str | None, at: int | None) -> None:
        """Add one kind of changed record."""
        if cluster is None:
            return
        self.events.setdefault(cluster, set()).add(event or "")
        first = at if at is not None else _BEFORE_ALL
        if group is not None and event is not None:
            self.groups.setdefault(cluster, set()).add(group)
            self.least[cluster, group] = min(first, self.least.get((cluster, group), first))
        if event in PARTITION_EVENTS:
            self.first_of_partitions[cluster] = min(first, self.first_of_partitions.get(cluster, first))


@dataclass(slots=True)
class IngestResult:
    """The result of an ingest.

    `known` are all rows of `log_files` afterwards, `present` the paths of those of this input. `scopes` are the rows that
    may have changed, by table, and `ledger` the paths with changed rows in `log_files`.
    """

    known: FileRows = field(default_factory=FileRows)
    present: set[str] = field(default_factory=set)
    touched: ChangedScope = field(default_factory=ChangedScope)
    read: list[str] = field(default_factory=list)
    changes: dict[str, RowChanges] = field(default_factory=dict)
    scopes: dict[str, RowScope] = field(default_factory=dict)
    ledger: set[str] = field(default_factory=set)
    missed: dict[str, str] = field(default_factory=dict)
    """Files that changed before they were read -> reason."""


def ingest(
    warehouse: Warehouse,
    discovery: Discovery,
    options: ReadOptions,
    stamp: WriteStamp,
    *,
    block_bytes: int,
    rebuild: bool = False,
    forget: bool = False,
    oldest: int | None = None,
) -> IngestResult:
    """Update bronze and silver from the files found.

    `forget` removes content that no input has; with `oldest` only if it is older.
    """
    stored = FileRows(_lookup_rows(warehouse, "log_files"))
    file_options = options.of_files(discovery.files)
    states = stored_states(_lookup_rows(warehouse, "state_snapshots", scopes.equals("kind", FILE_STATE), STATE_COLUMNS))

    def plan(files: Discovery) -> Plan:
        todo = plan_of(stored, states, files, file_options, rebuild=rebuild, oldest=oldest)
        if forget:
            todo.renamed.clear()
            todo.gone |= stored.keys() - {source.name for source, _ in todo.read}
        return todo

    def parse(sources: StartedSources) -> Records:
        return parse_files(warehouse.spark, sources, options, block_bytes, is_local=bytes_of(sources) <= LOCAL_BYTES_MAX)

    reading = read_planned(discovery, plan, parse)
    try:
        done = _Ingest(warehouse, reading, file_options, stamp, block_bytes, stored, states).do()
        done.missed = reading.missed
        if forget:
            done.touched.whole |= clusters_of(stored)
        return done
    finally:
        if reading.records is not None:
            reading.records.release()


def _lookup_rows(warehouse: Warehouse, name: str, scope: RowScope | None = None, columns: Sequence[str] | None = None) -> pa.Table:
    """Rows to look up, in a file of the driver if they are many."""
    delta_table = warehouse.tables.delta_table(name)
    if delta_table is not None:
        with suppress(DeltaError, OSError):  # delta-rs cannot read all that Spark can, and the disk may be full
            return read_mapped(delta_table, columns, None if scope is None else scope.arrow)
    return warehouse.rows.as_arrow(name, scope, columns)


@dataclass(slots=True)
class _Ingest:
    warehouse: Warehouse
    reading: BatchReading[Records]
    file_options: Mapping[str, FileOptions]
    stamp: WriteStamp
    block_bytes: int
    stored: FileRows
    states: Overlay[str]
    files: FileRows = field(default_factory=FileRows)
    names: ClusterNames = field(default_factory=ClusterNames)
    done: IngestResult = field(default_factory=IngestResult)

    @property
    def discovery(self) -> Discovery:
        return self.reading.discovery

    @property
    def todo(self) -> Plan:
        return self.reading.todo

    def do(self) -> IngestResult:
        done, todo = self.done, self.todo
        fresh, states = self._read_reports()
        done.known = self.files = self._after(fresh)
        self.names = name_clusters(ClusterHint(path, option, tuple(ids or ())) for path, option, ids in self.files.columns(*HINT_COLUMNS))
        for path, cluster in list(self.files.columns("path", "cluster")):
            if cluster != self.names.cluster_of(path):
                self.files[path] = self.files[path] | {"cluster": self.names.cluster_of(path)}
        done.read = [source.name for source, _ in todo.read]
        places = _Places(todo, self.stored, self.files)
        if places.any:
            self._replace_records(places)
        self._replace_states(states)
        self._replace_files()
        present = {todo.known.get(source.name, source.name) for source in self.discovery.files}
        done.present = (present | {skip.name for skip in self.discovery.skipped}) & self.files.keys()
        return done

    def _read_reports(self) -> tuple[dict[str, LogFileRow], Overlay[str]]:
        """Rows of `log_files` for the files read, and texts of all files' states afterwards."""
        todo = self.todo
        states = moved(self.states, todo)
        for source in self.discovery.files:
            if not source.is_plain and source.name in states:  # the path may have belonged to an uncompressed file before
                left = without_start(parse_state(states.pop(source.name)))
                if left is not None:
                    states[source.name] = state_text(left)
        former = {new: old for old, new in todo.renamed.items()}
        texts = {source.name: self.states.get(former.get(source.name, source.name)) for source, _ in todo.read}
        before = {name: parse_state(text) if text is not None else None for name, text in texts.items()}
        parts = self.reading.parts
        rows: dict[str, LogFileRow] = {}
        for source, start in todo.read:
            parts_of_file = parts[source.name]
            rows[source.name] = log_file_row(
                whole_report(file_report(before[source.name], start, parts_of_file)), self.file_options[source.name]
            )
        ahead({source.path: checkpoint_parts(source, rows[source.name]["bytes_read"]) for source, _ in todo.read})

        def state_of(file: tuple[SourceFile, Start | None]) -> str | None:
            source, start = file
            state = file_state(source, before[source.name], start, parts[source.name], rows[source.name]["bytes_read"])
            return state_text(state) if state is not None else None

        for (source, _), text in zip(todo.read, map_concurrently(state_of, todo.read, lambda file: file[0].path), strict=True):
            states.pop(source.name, None)
            if text is not None:
                states[source.name] = text
        return rows, states

    def _after(self, fresh: Mapping[str, LogFileRow]) -> FileRows:
        """All rows of `log_files` by path after this run, not yet with clusters."""
        todo = self.todo
        files = moved(self.stored, todo)
        for new in todo.renamed.values():
            files[new] = files[new] | {"path": new}
        for path, size in todo.sizes.items():
            files[path] = files[path] | {"size_bytes": size}
        files.update({skip.name: refused_row(skip) for skip in self.discovery.skipped if skip.name not in todo.unread})
        files.update(fresh)
        options = {path: self.file_options[path].cluster for path in todo.known.keys() & files.keys()}
        for path, option in list(files.columns("path", "cluster_option")):
            if path in options and option != options[path]:
                files[path] = files[path] | {"cluster_option": options[path]}
        return files

    def _replace_records(self, places: _Places) -> None:
        records, warehouse = self.reading.records, self.warehouse
        counts = _known_counts(records, places)
        is_local = records is not None and records.is_local and not places.kept
        names = {path: name for path, name in self.names.names.items() if path in places.paths}
        rows: Mapping[str, DataFrame | pa.Table]
        if records is not None and is_local:
            before = places.before(self.states)
            rows = {
                "unknown_in_files": unknown_rows(records.arrow("unknown"), self.block_bytes),
                "rejected_records": rejected_rows(with_clusters(records.arrow("rejected"), names)),
                "events": event_rows(with_clusters(records.arrow("events"), names), self.reading.parts, before),
            }
        else:
            rows = self._frames(places, names)
        touched = self.done.touched
        if warehouse.versions.is_known_empty("events"):
            touched.whole |= clusters_of(self.files)
        touched.whole |= places.other_clusters
        # Facts of a cluster are removed with the last of its files.
        touched.whole |= clusters_of(self.stored) - clusters_of(self.files)
        for table, wanted in rows.items():
            unit, position = (self.block_bytes, "block_number") if table == "unknown_in_files" else (1, "byte_offset")
            scope = self.done.scopes[table] = places.scope(position, unit)
            watch = Watch(("cluster", "group", "event"), "file_time_max_at", self._note_changes) if table == "events" else None
            count = counts.get(table)
            # Otherwise each reading task would write a file.
            if table == "events" and count and not is_local and warehouse.versions.is_known_empty(table):
                wanted = wanted.coalesce(-(-count // _EVENTS_A_FILE))
            changed = without_run(table).empty_table() if count == 0 else wanted
            self.done.changes[table] = warehouse.replace(table, changed, self.stamp, scope, count=count, watch=watch)
        if self.done.changes["unknown_in_files"]:
            touched.unknown |= places.clusters

    def _frames(self, places: _Places, names: Mapping[str, str]) -> dict[str, DataFrame]:
        """Rows of the tables of records, by Spark."""
        records = self.reading.records
        events = unknown = refused = None
        if records is not None:
            events = in_file_order(records.of_kind("events"), self.reading.parts, places.before(self.states))
            events = events.withColumn("cluster", F.lit(""))
            unknown = unknown_in_files(records.of_kind("unknown"), self.block_bytes).withColumn("unknown_in_file_id", F.lit(""))
            refused = records.of_kind("rejected").withColumns({"cluster": F.lit(""), "rejected_record_id": F.lit("")})
        in_files = self._rows("unknown_in_files", unknown, places, "block_number", self.block_bytes)
        rejected = with_cluster(self._rows("rejected_records", refused, places, "byte_offset"), names)
        return {
            "unknown_in_files": with_unknown_id(in_files),
            "rejected_records": rejected_records(rejected.drop("rejected_record_id")),
            "events": with_cluster(self._rows("events", events, places, "byte_offset"), names),
        }

    def _rows(self, table: str, fresh: DataFrame | None, places: _Places, position: str, unit: int = 1) -> DataFrame:
        columns = without_run(table).names
        if fresh is not None and not places.kept:
            return fresh.select(columns)
        kept = kept_rows(self.warehouse.tables.frame(table).select(columns), places.kept, position, unit)
        return kept if fresh is None else fresh.select(kept.columns).unionByName(kept)

    def _note_changes(self, changed: Iterable[tuple[Any, ...]]) -> None:
        """Note the groups and events of changed rows, before and after."""
        for cluster, group, event, at in changed:
            self.done.touched.note(cluster, group, event, at)

    def _replace_states(self, states: Overlay[str]) -> None:
        clusters = dict(self.stored.columns("path", "cluster"))
        changed = {
            path: states[path]
            for path, cluster in self.files.columns("path", "cluster")
            if path in states and (clusters.get(path) != cluster or (path in states.changed and self.states.get(path) != states[path]))
        }
        gone = self.states.keys() - states.keys()
        if changed or gone:
            cluster_of = {path: self.files[path]["cluster"] for path in changed}
            rows = state_rows(FILE_STATE, changed, cluster_of)
            scope = scopes.equals("kind", FILE_STATE) & scopes.among("subject", changed.keys() | gone)
            self.done.changes["state_snapshots"] = self.warehouse.replace("state_snapshots", rows, self.stamp, scope, part="/files")

    def _replace_files(self) -> None:
        files, stored = self.files, self.stored
        changed = [row for path, row in files.changed.items() if stored.get(path) != row]
        gone = stored.keys() - files.keys()
        self.done.changes["log_files"] = RowChanges()
        if changed or gone:
            rows = pa.Table.from_pylist(changed, schema=without_run("log_files"))
            self.done.ledger = {row["path"] for row in changed} | gone
            scope = self.done.scopes["log_files"] = scopes.among("path", self.done.ledger)
            self.done.changes["log_files"] = self.warehouse.replace("log_files", rows, self.stamp, scope)


def moved(values: Values, todo: Plan) -> Values:
    """Values by path after the plan: some gone, some under new names."""
    after = values.copy()
    for path in todo.gone & after.keys():
        del after[path]
    taken = {new: after.pop(old) for old, new in todo.renamed.items() if old in after}
    after.update(taken)
    return after


class _Places:
    """The stored rows affected by a plan.

    `kept` rows stay under some path; all others in the scope are replaced.
    """

    def __init__(self, todo: Plan, stored: FileRows, files: FileRows) -> None:
        self.kept: list[CarriedContent] = []
        self.tails: dict[str, int] = {}
        self.starts: dict[str, tuple[str, Start]] = {}
        """Path of a file with a start -> its former path and the start."""
        self.other_clusters: set[str] = set()
        self._files = {source.name for source, start in todo.read if start is None}
        self._files |= todo.gone | todo.renamed.keys() | set(todo.renamed.values())
        self._place_tails(todo, stored, files)
        for old, new in todo.renamed.items():
            if new not in self.starts:
                self._keep(stored, old, new)
        self._place_changed(todo, stored, files)
        self.paths = self._files | self.tails.keys()
        self.clusters = {cluster for part in (stored, files) for path, cluster in part.columns("path", "cluster") if path in self.paths}

    def _place_tails(self, todo: Plan, stored: FileRows, files: FileRows) -> None:
        """Set the start of files that are read from a position on."""
        former = {new: old for old, new in todo.renamed.items()}
        for source, start in todo.read:
            if start is None:
                continue
            old = former.get(source.name, source.name)
            self.starts[source.name] = (old, start)
            if old == source.name and stored[old]["cluster"] == files[old]["cluster"]:
                self.tails[old] = start.offset
            else:
                self._keep(stored, old, source.name, start.offset)

    def _place_changed(self, todo: Plan, stored: FileRows, files: FileRows) -> None:
        """Files that belong to another cluster or node than before."""
        read = {source.name for source, _ in todo.read}
        after = {path: (cluster, node) for path, cluster, node in files.columns("path", "cluster", "node")}
        for path, file_id, *before in stored.columns("path", "file_id", "cluster", "node"):
            new = todo.renamed.get(path, path)
            if path in todo.gone or new not in after or not file_id:
                continue
            # A change of a file's cluster or node affects all of its records.
            (cluster, node), (cluster_after, node_after) = before, after[new]
            if cluster != cluster_after:
                self.other_clusters |= {cluster, cluster_after}
                if new == path and path not in read:
                    self._keep(stored, path, path)
            elif node != node_after:
                self.other_clusters.add(cluster)

    def _keep(self, stored: FileRows, old: str, new: str, upto: int | None = None) -> None:
        content = stored[old]["file_id"]
        self.kept.append(CarriedContent(old, content, new, upto))
        # A killed run may have renamed the rows already, unless they belong to other content with the same beginning.
        if new not in stored or stored[new]["file_id"] != content:
            self.kept.append(CarriedContent(new, content, new, upto))
        self._files |= {old, new}

    @property
    def any(self) -> bool:
        return bool(self._files or self.tails)

    def before(self, states: Overlay[str]) -> dict[str, int]:
        """Greatest time in the earlier part of each file, if it has one."""
        times = {path: parse_state(states[old])["report"]["last_at"] for path, (old, _) in self.starts.items()}
        return {path: at for path, at in times.items() if at is not None}

    def scope(self, position: str, unit: int) -> RowScope:
        """Rows of a table that may change.

        The table has a `file` and a position in units of `unit` bytes.
        """
        whole = scopes.among("file", self._files)
        tails = [
            scopes.equals("file", path) & scopes.at_least(position, offset // unit)
            for path, offset in self.tails.items()
            if path not in self._files
        ]
        return scopes.any_of([whole, *tails])


def _known_counts(records: Records | None, places: _Places) -> dict[str, int]:
    """Rows that these tables will get, where that is known without making them."""
    if places.kept:
        return {}
    by_kind = Counter[str]() if records is None else records.counts()
    counts = {"rejected_records": by_kind["rejected"], "events": by_kind["events"]}
    return counts if by_kind["unknown"] else counts | {"unknown_in_files": 0}
