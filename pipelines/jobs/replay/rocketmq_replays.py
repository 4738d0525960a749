"""Replay of clusters with RocketMQ's events, always as a whole."""

from __future__ import annotations

from dataclasses import dataclass

from models.rocketmq.event_partitions import ROCKET_EVENTS
from models.rows import ROCKETMQ
from pipelines.analysis.stages import ROCKET_TABLES, rocket_ends_of
from pipelines.jobs.replay.replayed_rows import ReplayedRows
from pipelines.jobs.replay.stage_inputs import StageInputs
from pipelines.jobs.replay.stage_runner import StageRunner
from pipelines.transforms.group_replay import in_order_of_rocket
from pipelines.warehouse.rows.predicates import among, equals


@dataclass(frozen=True, slots=True)
class RocketReplays:
    """Chooses clusters that have, or had, RocketMQ's events, and replays them."""

    inputs: StageInputs
    runner: StageRunner

    def run(self, replayed: ReplayedRows) -> frozenset[str]:
        """Replay RocketMQ's clusters, always as a whole; return those with its events.

        Open episodes depend on the end of the files, so changed clusters with RocketMQ's events are always replayed.
        """
        cluster_names = {name for name in self.inputs.touched.clusters if self._may_have_rocket(name)}
        having = frozenset(self._with_rocket(cluster_names))
        clusters = having | self._without(cluster_names - having)
        if not clusters:
            return having
        wanted = among("cluster", clusters)
        ends, options = rocket_ends_of(self.inputs.files), self.inputs.options
        rocket = in_order_of_rocket(ends, options.limits, options.redaction)
        stage = self.runner.run(rocket, self.runner.events(wanted & among("event", ROCKET_EVENTS)))
        for table, rows in stage.items():
            replayed.add(table, rows, wanted & equals("system", ROCKETMQ))
        return having

    def _may_have_rocket(self, cluster: str) -> bool:
        """Return False if the cluster had no RocketMQ event before and got none.

        The file's own system is not enough, because applications write lines of several clients into one.
        """
        has_none = self.inputs.states.get(cluster, {}).get("rocketmq") is False and cluster not in self.inputs.touched.whole
        return not has_none or not ROCKET_EVENTS.isdisjoint(self.inputs.touched.events.get(cluster, ()))

    def _with_rocket(self, clusters: set[str]) -> set[str]:
        """The clusters with events of RocketMQ."""
        if not clusters or self.inputs.warehouse.versions.is_known_empty("events"):
            return set()
        of_rocketmq = among("cluster", clusters) & among("event", ROCKET_EVENTS)
        return {cluster for (cluster,) in self.inputs.warehouse.rows.distinct("events", of_rocketmq, ("cluster",))}

    def _without(self, clusters: set[str]) -> set[str]:
        """The clusters without events of RocketMQ that still have rows of it."""
        of_rocketmq = among("cluster", clusters) & equals("system", ROCKETMQ)
        rows, versions = self.inputs.warehouse.rows, self.inputs.warehouse.versions
        tables = [name for name in ROCKET_TABLES if not versions.is_known_empty(name)] if clusters else []
        return {cluster for name in tables for cluster in rows.as_arrow(name, of_rocketmq, ("cluster",))["cluster"].to_pylist()}
