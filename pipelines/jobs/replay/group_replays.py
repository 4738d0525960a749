"""Replay of the groups whose records changed, or of whole clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from models.incidents.episodes import FAILURES
from models.rows import KAFKA
from pipelines.jobs.replay.group_snapshots import StoredCheckpoints, plan_resume
from pipelines.jobs.replay.incident_scopes import OF_GROUPS
from pipelines.jobs.replay.replayed_rows import ReplayedRows
from pipelines.jobs.replay.stage_inputs import StageInputs
from pipelines.jobs.replay.stage_runner import StageRunner
from pipelines.jobs.replay.table_rows import TableRows
from pipelines.transforms.group_replay import GroupReplay, in_order_of_groups
from pipelines.transforms.replay_checkpoints import HOLDS_NO_MORE, SNAPSHOTS
from pipelines.warehouse.rows.predicates import RowScope, among, equals, first_among, is_null


@dataclass(slots=True)
class GroupReplays:
    """Chooses groups, resumes them from checkpoints, and replays them."""

    inputs: StageInputs
    runner: StageRunner
    groups: dict[str, set[str]] = field(default_factory=dict)
    """Groups to replay in clusters that are not replayed as a whole."""
    snapshots: StoredCheckpoints = field(default_factory=StoredCheckpoints)
    taken: TableRows | None = None
    """New checkpoints."""

    def run(self, replayed: ReplayedRows) -> None:
        """Replay groups and add their rows."""
        inputs = self.inputs
        groups = self.groups = self._groups()
        if not inputs.whole and not groups:
            return
        options = inputs.options
        self.snapshots = plan_resume(inputs.warehouse, inputs.touched, inputs.facts, options.snapshots, groups, inputs.whole)
        replay = GroupReplay(inputs.facts, inputs.nodes, options.limits, options.redaction, self.snapshots.boundaries, options.snapshots)
        stage = self._groups_replayed(replay)
        self.taken = stage.pop(SNAPSHOTS)
        for table, rows in stage.items():
            names = partial(first_among, "groups") if table == "incidents" else partial(among, "group")
            of_stage = self.snapshots.later("final_at", groups, inputs.whole, names)
            if table == "incidents":
                of_stage = of_stage & OF_GROUPS
            elif table == "rebalances":
                of_stage = of_stage & equals("system", KAFKA)
            elif table == "divergences":  # divergences of brokers' clocks belong to no group
                of_stage = of_stage & ~is_null("group") & equals("system", KAFKA)
            replayed.add(table, rows, of_stage)

    def replaced(self, taken: pa.Table) -> RowScope:
        """The stored checkpoints that new ones replace."""
        return self.snapshots.replaced(taken, self.groups, self.inputs.whole)

    def _groups_replayed(self, replay: GroupReplay) -> dict[str, TableRows]:
        ordered = in_order_of_groups(replay)
        later = self.snapshots.later("file_time_max_at", self.groups, self.inputs.whole, partial(among, "group"))
        checkpoints = self.snapshots.rows(self.inputs.warehouse) if self.snapshots.chosen else None
        stage = self.runner.run(ordered, self.runner.events(later & ordered.wanted), checkpoints)
        if not self.snapshots.chosen:
            return stage
        unreadable = stage[SNAPSHOTS].chosen(equals("state", HOLDS_NO_MORE), ("cluster", "group"), self.inputs.warehouse.spark).to_pylist()
        for row in unreadable:
            self.snapshots.drop(row["cluster"], row["group"])
        return self._groups_replayed(replay) if unreadable else stage

    def _groups(self) -> dict[str, set[str]]:
        """Groups to replay in clusters that are not replayed as a whole."""
        touched, warehouse = self.inputs.touched, self.inputs.warehouse
        groups = {cluster: set(names) for cluster, names in touched.groups.items() if cluster not in self.inputs.whole}
        rest = sorted(touched.events.keys() - self.inputs.whole)
        if rest and not warehouse.versions.is_known_empty("rebalances"):
            lasting = among("cluster", rest) & ~is_null("at_least_seconds") & equals("system", KAFKA)
            for row in warehouse.rows.as_arrow("rebalances", lasting, ("cluster", "group")).to_pylist():
                groups.setdefault(row["cluster"], set()).add(row["group"])
            for cluster, group in self._empty_groups(rest):
                groups.setdefault(cluster, set()).add(group)
        return groups

    def _empty_groups(self, clusters: Sequence[str]) -> set[tuple[str, str]]:
        """Groups whose last members failed, and that may still be empty."""
        if self.inputs.warehouse.versions.is_known_empty("offset_expirations"):
            return set()
        failed = among("cluster", clusters) & among("cause", FAILURES) & equals("outcome", "empty")
        ends = self.inputs.warehouse.rows.distinct("offset_expirations", among("cluster", clusters), ("cluster", "group", "has_expired"))
        waiting = {(cluster, group) for cluster, group, has_expired in ends if not has_expired}
        return waiting.intersection(self.inputs.warehouse.rows.distinct("rebalances", failed, ("cluster", "group")))
