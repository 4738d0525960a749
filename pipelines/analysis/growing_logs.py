"""Rebalances of logs that are still being written.

Events arrive in batches; each look replays the groups that have new ones, with the functions of every other analysis.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from models.events import Event
from parsers.arrow_arrays import strings
from pipelines.analysis.client_sightings import events_without_group_in, sightings_in
from pipelines.analysis.cluster_naming import ClusterHint, ClusterNames, name_clusters
from pipelines.analysis.in_process import AnalyzeOptions
from pipelines.analysis.spill import EventStore
from pipelines.analysis.stages import CLUSTER_EVENT_NAMES, cluster_facts, group_histories, logs_end_of
from pipelines.schema.row_conversion import events_of

GROUP_EVENTS_MAX = 20_000
"""Events held of a group; beyond them the older half is dropped.

A replay that begins in the middle of a group's life finds its place again by the generations.
"""

SHARED_EVENTS_MAX = 50_000
"""Events held of a cluster, and clients' lines without a group."""


@dataclass(slots=True)
class _GroupBatches:
    """Batches of one group, oldest first."""

    batches: deque[pa.RecordBatch] = field(default_factory=deque)
    rows: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)
        self.rows += batch.num_rows
        if self.rows > GROUP_EVENTS_MAX:
            while self.rows > GROUP_EVENTS_MAX // 2 and len(self.batches) > 1:
                self.rows -= self.batches.popleft().num_rows


@dataclass(slots=True)
class LiveReplay:
    """The events of followed logs, and the rebalances that they show."""

    options: AnalyzeOptions
    rocketmq_seen: bool = False
    failures: list[str] = field(default_factory=list)
    _groups: dict[str, _GroupBatches] = field(default_factory=dict)
    _changed: set[str] = field(default_factory=set)
    _cluster_events: deque[Event] = field(default_factory=lambda: deque(maxlen=SHARED_EVENTS_MAX))
    _events_without_group: deque[Event] = field(default_factory=lambda: deque(maxlen=SHARED_EVENTS_MAX))

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in the events of a chunk."""
        if not batch.num_rows:
            return
        theirs = pc.equal(batch["system"], strings(["rocketmq"])[0])
        if pc.any(theirs).as_py():
            self.rocketmq_seen = True
            batch = batch.filter(pc.invert(theirs))
        self._cluster_events.extend(events_of(batch.filter(pc.is_in(batch["event"], value_set=CLUSTER_EVENT_NAMES))))
        events_without_group = events_without_group_in(batch)
        self._events_without_group.extend(events_of(events_without_group))
        if events_without_group.num_rows:
            # A client's line without a group may belong to any.
            self._changed.update(self._groups)
        grouped = batch.filter(pc.and_(pc.is_valid(batch["group"]), pc.is_valid(batch["event"])))
        for group in grouped["group"].unique().to_pylist():
            self._groups.setdefault(group, _GroupBatches()).add(grouped.filter(pc.equal(grouped["group"], group)))
            self._changed.add(group)

    def replay_new_events(self, files: Iterable[Mapping[str, Any]]) -> list[Any]:
        """Rebalances of the groups with new events.

        `files` are rows of `log_files`.
        """
        changed, self._changed = self._changed, set()
        if not changed:
            return []
        listed = list(files)
        names = _named(listed)
        nodes = {row["path"]: row["node"] for row in listed if row["node"]}
        facts = cluster_facts(
            self._cluster_events,
            names.cluster_of,
            logs_end_of({**row, "cluster": names.cluster_of(row["path"])} for row in listed),
            self.options.assume,
            list(self._events_without_group),
            lambda: sightings_in(chain.from_iterable(store.batches for store in self._groups.values())),
            self.failures,
        )
        with EventStore() as store:
            for group in changed:
                for batch in self._groups[group].batches:
                    store.add(batch)
            return [
                row
                for group, batches in store.groups()
                for history in group_histories(group, batches, nodes, names.cluster_of, facts, self.options.limits)
                for row in history.rebalances
            ]


def _named(files: Iterable[Mapping[str, Any]]) -> ClusterNames:
    """Name the clusters of the files read so far."""
    return name_clusters(ClusterHint(row["path"], row["cluster_option"], tuple(row["cluster_ids"] or ())) for row in files)
