"""Replay of groups by worker processes: groups are independent.

A task is a file with the events of some groups, in order; its rows come back in files, one for each table.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from models.incidents.incidents import Limits
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.outages.affected_groups import Readers
from models.rows import Divergence
from pipelines.analysis.cluster_naming import ClusterNames
from pipelines.analysis.parallel.pool import WorkerDeath, WorkerPool
from pipelines.analysis.replay_failures import lost_with_process
from pipelines.analysis.spill import write_rows
from pipelines.analysis.stages import HISTORY_TABLES, INCIDENTS, group_histories, rows_by_table

EVENTS_AT_ONCE = range(1_500, 8_001)
"""Least and greatest number of events of a task.

They are a fifth of a second of work, and a whole one. A larger group is a task by itself.
"""
TASKS_EACH = 8
"""Tasks for each process, where that makes none too small or too large."""
ROWS_AT_ONCE = 5_000
"""Rows of one table that a worker holds."""


@dataclass(frozen=True, slots=True)
class ReplayInputs:
    """Inputs shared by the replays of all groups, sent once as a file."""

    nodes: Mapping[str, str]
    names: ClusterNames
    facts: Mapping[str, ClusterFacts]
    limits: Limits


@dataclass(slots=True)
class ReplayedFiles:
    """Files with rows by table, in order, and what is held as objects."""

    files: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    incidents: list[Any] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)
    """Of groups whose processes died."""
    readers: dict[str, Readers] = field(default_factory=dict)


_settings: dict[str, ReplayInputs] = {}


@dataclass(frozen=True, slots=True)
class ReplayGroups:
    """Task: replay the groups of a file."""

    path: str
    setting: str
    groups: tuple[str, ...]

    def run(self, _report: Any) -> ReplayedFiles:
        if self.setting not in _settings:
            _settings[self.setting] = pickle.loads(Path(self.setting).read_bytes())  # noqa: S301 - from our own process
        setting = _settings[self.setting]
        done, table_rows = ReplayedFiles(), _Rows(self.path)
        with pa.OSFile(self.path, "rb") as source, pa.ipc.open_stream(source) as reader:
            for group, batches in groupby(reader, key=lambda batch: batch["group"][0].as_py()):
                for history in group_histories(
                    group, batches, setting.nodes, setting.names.cluster_of, setting.facts, setting.limits, done.readers
                ):
                    for table, rows in rows_by_table(history, HISTORY_TABLES).items():
                        if table == INCIDENTS:  # which an analysis holds as a list
                            done.incidents += rows
                        else:
                            table_rows.add(table, rows)
        done.files = table_rows.closed()
        return done

    def died(self, how: str, setting: ReplayInputs) -> ReplayedFiles:
        """The rows of groups whose processes died."""
        clusters = sorted(setting.facts) or [setting.names.cluster_of("")]
        return ReplayedFiles(divergences=[lost_with_process(cluster, group, how) for group in self.groups for cluster in clusters[:1]])


class _Rows:
    """Rows by table, written to files as they become many."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._pending: dict[str, list[Any]] = {}
        self._files: dict[str, list[tuple[str, int]]] = {}

    def add(self, table: str, rows: Iterable[Any]) -> None:
        batches = self._pending.setdefault(table, [])
        batches += rows
        if len(batches) > ROWS_AT_ONCE:
            self._write(table)

    def _write(self, table: str) -> None:
        files = self._files.setdefault(table, [])
        path = f"{self._path}-{table}-{len(files)}"
        write_rows(table, self._pending[table], Path(path))
        files.append((path, len(self._pending[table])))
        self._pending[table] = []

    def closed(self) -> dict[str, list[tuple[str, int]]]:
        """All files, by table."""
        for table, rows in self._pending.items():
            if rows:
                self._write(table)
        return self._files


def replay_groups(
    pool: WorkerPool, groups: Iterable[tuple[str, Iterator[pa.RecordBatch]]], event_count: int, setting: ReplayInputs, folder: str
) -> Iterator[ReplayedFiles]:
    """Replay groups, which have this number of events together.

    Yields their rows in the order in which the groups come.
    """
    events_at_once = min(max(event_count // (TASKS_EACH * pool.size), EVENTS_AT_ONCE[0]), EVENTS_AT_ONCE[-1])
    path = Path(folder) / "setting.pickle"
    path.write_bytes(pickle.dumps(setting, protocol=pickle.HIGHEST_PROTOCOL))
    tasks: list[ReplayGroups] = []

    def noted() -> Iterator[ReplayGroups]:
        for task in _tasks(groups, events_at_once, folder, str(path)):
            tasks.append(task)
            yield task

    for number, result in enumerate(pool.results(noted())):
        task = tasks[number]
        yield task.died(result.how, setting) if isinstance(result, WorkerDeath) else result
        os.unlink(task.path)


def _tasks(
    groups: Iterable[tuple[str, Iterator[pa.RecordBatch]]], events_at_once: int, folder: str, setting: str
) -> Iterator[ReplayGroups]:
    number, names, count = 0, list[str](), 0
    writer: pa.ipc.RecordBatchStreamWriter | None = None
    path = ""
    for group, batches in groups:
        names.append(group)
        for batch in batches:
            if writer is None:
                path = str(Path(folder) / f"groups-{number}.arrow")
                writer = pa.ipc.new_stream(path, batch.schema)
            writer.write_batch(batch)
            count += batch.num_rows
        if writer is not None and count >= events_at_once:
            writer.close()
            yield ReplayGroups(path, setting, tuple(names))
            number, names, count, writer = number + 1, [], 0, None
    if writer is not None:
        writer.close()
        yield ReplayGroups(path, setting, tuple(names))
