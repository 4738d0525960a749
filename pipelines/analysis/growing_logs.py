"""Rebalances of logs that are still being written.

Events arrive in batches; each look replays the groups that have new ones, with the functions of every other analysis.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from models.events import Event
from models.kafka.verdicts.history import GroupHistory
from models.rocketmq.rocketmq_history import RocketHistory
from parsers.arrow_arrays import strings
from pipelines.analysis.client_sightings import events_without_group_in, sightings_in
from pipelines.analysis.cluster_naming import ClusterHint, ClusterNames, name_clusters
from pipelines.analysis.in_process import AnalyzeOptions
from pipelines.analysis.replay_failures import failure_warnings
from pipelines.analysis.rocketmq_spill import RocketStore
from pipelines.analysis.spill import EventStore
from pipelines.analysis.stages import CLUSTER_EVENT_NAMES, cluster_facts, group_histories, log_ends_of, rocket_ends_of, rocket_histories
from pipelines.schema.row_conversion import events_of

GROUP_EVENTS_MAX = 20_000
"""Events held of a group; beyond them the older half is dropped.

A replay that begins in the middle of a group's life finds its place again by the generations.
"""

SHARED_EVENTS_MAX = 50_000
"""Events held of a cluster, and clients' lines without a group."""

ROCKETMQ_EVENTS_MAX = 50_000
"""Events held of RocketMQ; beyond them the older half is dropped."""


@dataclass(slots=True)
class _RecentBatches:
    """The last batches of a group or system, oldest first."""

    rows_max: int
    batches: deque[pa.RecordBatch] = field(default_factory=deque)
    rows: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)
        self.rows += batch.num_rows
        if self.rows > self.rows_max:
            while self.rows > self.rows_max // 2 and len(self.batches) > 1:
                self.rows -= self.batches.popleft().num_rows

    def by_file(self) -> Iterator[pa.RecordBatch]:
        """Their rows file by file, each file in its order."""
        if not self.batches:
            return
        table = pa.Table.from_batches(list(self.batches)).combine_chunks()
        for file in table["file"].unique():
            yield from table.filter(pc.equal(table["file"], file)).combine_chunks().to_batches()


@dataclass(slots=True)
class LiveReplay:
    """The events of followed logs, and the rebalances that they show."""

    options: AnalyzeOptions
    failures: list[str] = field(default_factory=list)
    _groups: dict[str, _RecentBatches] = field(default_factory=dict)
    _changed: set[str] = field(default_factory=set)
    _cluster_events: deque[Event] = field(default_factory=lambda: deque(maxlen=SHARED_EVENTS_MAX))
    _events_without_group: deque[Event] = field(default_factory=lambda: deque(maxlen=SHARED_EVENTS_MAX))
    _rocketmq: _RecentBatches = field(default_factory=lambda: _RecentBatches(ROCKETMQ_EVENTS_MAX))
    _is_rocketmq_changed: bool = False

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in the events of a chunk."""
        if not batch.num_rows:
            return
        theirs = pc.equal(batch["system"], strings(["rocketmq"])[0])
        if pc.any(theirs).as_py():
            self._rocketmq.add(batch.filter(theirs))
            self._is_rocketmq_changed = True
            batch = batch.filter(pc.invert(theirs))
        self._cluster_events.extend(events_of(batch.filter(pc.is_in(batch["event"], value_set=CLUSTER_EVENT_NAMES))))
        events_without_group = events_without_group_in(batch)
        self._events_without_group.extend(events_of(events_without_group))
        if events_without_group.num_rows:
            # A client's line without a group may belong to any.
            self._changed.update(self._groups)
        grouped = batch.filter(pc.and_(pc.is_valid(batch["group"]), pc.is_valid(batch["event"])))
        for group in grouped["group"].unique().to_pylist():
            self._groups.setdefault(group, _RecentBatches(GROUP_EVENTS_MAX)).add(grouped.filter(pc.equal(grouped["group"], group)))
            self._changed.add(group)

    def replay_new_events(self, files: Iterable[Mapping[str, Any]]) -> list[Any]:
        """Rebalances of the groups with new events.

        `files` are rows of `log_files`.
        """
        listed = list(files)
        names = _named(listed)
        rows = self._replay_rocketmq(listed, names) if self._is_rocketmq_changed else []
        changed, self._changed = self._changed, set()
        if not changed:
            return rows
        nodes = {row["path"]: row["node"] for row in listed if row["node"]}
        facts = cluster_facts(
            self._cluster_events,
            names.cluster_of,
            log_ends_of({**row, "cluster": names.cluster_of(row["path"])} for row in listed),
            self.options.assume,
            list(self._events_without_group),
            lambda: sightings_in(chain.from_iterable(store.batches for store in self._groups.values())),
            self.failures,
        )
        with EventStore() as store:
            for group in changed:
                for batch in self._groups[group].batches:
                    store.add(batch)
            histories = chain.from_iterable(
                group_histories(group, batches, nodes, names.cluster_of, facts, self.options.limits) for group, batches in store.groups()
            )
            return rows + list(self._rebalances(histories))

    def _replay_rocketmq(self, files: Sequence[Mapping[str, Any]], names: ClusterNames) -> list[Any]:
        """Rebalances of all RocketMQ groups, whose members share clients and brokers."""
        self._is_rocketmq_changed = False
        with RocketStore() as store:
            for batch in self._rocketmq.by_file():
                store.add(batch)
            histories = rocket_histories(
                store,
                names.cluster_of,
                rocket_ends_of({**row, "cluster": names.cluster_of(row["path"])} for row in files),
                self.options.limits,
            )
            return list(self._rebalances(histories))

    def _rebalances(self, histories: Iterable[GroupHistory | RocketHistory]) -> Iterator[Any]:
        """Their rebalances; failed replays become warnings."""
        for history in histories:
            self.failures += failure_warnings(history.divergences)
            yield from history.rebalances


def _named(files: Iterable[Mapping[str, Any]]) -> ClusterNames:
    """Name the clusters of the files read so far."""
    return name_clusters(ClusterHint(row["path"], row["cluster_option"], tuple(row["cluster_ids"] or ())) for row in files)
