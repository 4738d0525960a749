"""Rows that a replay made, and the stored ones that they replace."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from models.kafka.outages.affected_groups import FOLLOWING, Readers, RebalanceAfterOutage
from pipelines.jobs.replay.table_rows import TableRows
from pipelines.warehouse.rows import arrow_diff
from pipelines.warehouse.rows.predicates import NAMES_MAX, RowScope, among, nothing
from pipelines.warehouse.warehouse import Warehouse

NAMING = {"rebalance_members": "rebalance_id", "incidents": "rebalance_ids"}
"""Columns of other tables that name rebalances, checked by a gate."""


@dataclass(slots=True)
class ReplayedRows:
    """Rows by table, each with the scope of what they replace."""

    warehouse: Warehouse
    clusters: Collection[str]
    """Clusters with changes."""
    rows: dict[str, TableRows] = field(default_factory=dict)
    scopes: dict[str, RowScope] = field(default_factory=dict)

    def add(self, table: str, rows: TableRows, scope: RowScope) -> None:
        """Add rows of a stage; several stages may fill one table."""
        self.rows[table] = self.rows[table].joined(rows, self.warehouse.spark) if table in self.rows else rows
        self.scopes[table] = self.scopes[table] | scope if table in self.scopes else scope

    @property
    def tables(self) -> dict[str, DataFrame | pa.Table]:
        """Rows by table: few are in the driver, many in Spark."""
        spark = self.warehouse.spark
        return {table: rows.frame(spark) if rows.local is None else rows.local for table, rows in self.rows.items()}

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows by table."""
        return {table: rows.count for table, rows in self.rows.items()}

    def known_rebalances(self) -> DataFrame | pa.Table | None:
        """Ids of rebalances after the run: replayed ones, and stored ones that are named."""
        columns, spark = ("rebalance_id",), self.warehouse.spark
        replayed = self.rows.get("rebalances")
        parts: list[DataFrame | pa.Table] = []
        if replayed is not None:
            parts.append(replayed.frame(spark).select(*columns) if replayed.local is None else replayed.local.select(columns))
        if not self.warehouse.versions.is_known_empty("rebalances"):
            named = self._named_beside([part for part in parts if isinstance(part, pa.Table)])
            stay = self._staying() if named is None else self._staying() & among(columns[0], named)
            parts.append(self.warehouse.rows.as_either("rebalances", stay, columns))
        local_parts = [part for part in parts if isinstance(part, pa.Table)]
        if len(local_parts) == len(parts):
            return pa.concat_tables(local_parts) if parts else None
        return reduce(DataFrame.unionByName, [arrow_diff.to_frame(spark, part) if isinstance(part, pa.Table) else part for part in parts])

    def note_following(self, readers: dict[str, Readers]) -> None:
        """Note rebalances caused by a lost coordinator, for outages to name. They are few."""
        following = among("root_cause", FOLLOWING)
        columns = ("cluster", "group", "rebalance_id", "started_at", "joined_at")
        frames = [self.rows["rebalances"].chosen(following, columns, self.warehouse.spark)] if "rebalances" in self.rows else []
        if not self.warehouse.versions.is_known_empty("rebalances"):
            frames.append(self.warehouse.rows.as_arrow("rebalances", self._staying() & following, columns))
        for rows in frames:
            started = pc.coalesce(rows["started_at"], rows["joined_at"]).cast(pa.int64()).to_pylist()
            for at, cluster, group, key in zip(started, *(rows[name].to_pylist() for name in columns[:3]), strict=True):
                if at is not None:
                    readers.setdefault(cluster, Readers()).following.add(RebalanceAfterOutage(at, group, key))

    def _staying(self) -> RowScope:
        """Stored rebalances of these clusters that were not replayed."""
        return among("cluster", self.clusters) & ~self.scopes.get("rebalances", nothing())

    def _named_beside(self, known: Iterable[pa.Table]) -> set[str] | None:
        """Rebalances that rows of other tables name, beside known ones.

        None if there are many.
        """
        named: set[str] = set()
        for table in NAMING.keys() & self.rows.keys():
            rows = self.rows[table].local
            if rows is None:
                return None
            column = rows[NAMING[table]]
            names = (pc.list_flatten(column) if pa.types.is_nested(column.type) else column).drop_null()  # the gate reports nulls
            named.update(names.to_pylist())
        for rows in known:
            named.difference_update(rows["rebalance_id"].to_pylist())
        return named if len(named) <= NAMES_MAX else None
