"""The stages of a replay, run in the driver or by Spark."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.jobs.replay.table_rows import TableRows, by_table, in_declared_types, local_tables
from pipelines.spark.caching import persist_on_disk
from pipelines.spark.shuffle_partitions import partitions_of
from pipelines.transforms.group_replay import OrderedReplay, rows_of_replay
from pipelines.transforms.replay_checkpoints import prepend_checkpoints
from pipelines.warehouse.rows import arrow_diff
from pipelines.warehouse.rows.predicates import RowScope
from pipelines.warehouse.warehouse import Warehouse


@dataclass(slots=True)
class StageRunner:
    """Runs stages over stored events; keeps frames cached until `release`."""

    warehouse: Warehouse
    _persisted: list[DataFrame] = field(default_factory=list)

    def events(self, scope: RowScope) -> tuple[DataFrame | None, pa.Table | None]:
        """Stored events as a DataFrame, or in the driver if they are few."""
        local_rows = self.warehouse.rows.if_local("events", scope)
        return (self.warehouse.tables.frame("events").where(scope.column), None) if local_rows is None else (None, local_rows)

    def run(
        self,
        replay: OrderedReplay,
        events: tuple[DataFrame | None, pa.Table | None],
        checkpoints: DataFrame | pa.Table | None = None,
    ) -> dict[str, TableRows]:
        """Rows of a stage by table, small sets in the driver.

        `checkpoints` are those before the events, and contain earlier rows. Of events in the driver the result is
        usually small. If it is not, because one line may concern thousands of partitions, the stage runs again.
        """
        frame, local = events
        tables, most = replay.tables, arrow_diff.LOCAL_ROWS_MAX
        if local is not None and not isinstance(checkpoints, DataFrame):
            first = replay.in_process(local, most, checkpoints)
            if first is not None:
                return in_declared_types(first)
        if frame is None:
            frame = arrow_diff.to_frame(self.warehouse.spark, local)
        if checkpoints is not None:
            spread = arrow_diff.to_frame(self.warehouse.spark, checkpoints) if isinstance(checkpoints, pa.Table) else checkpoints
            frame = prepend_checkpoints(frame, spread, replay.keys)
        tagged = replay.by_spark(frame, partitions_of(self.warehouse.spark))
        persisted = self.cached(tagged)
        counts = dict.fromkeys(tables, 0) | {row["table"]: row["count"] for row in persisted.groupBy("table").count().collect()}
        local = local_tables(counts)
        local_table = (
            persisted.where(F.col("table").isin(*local)).toArrow() if any(map(counts.get, local)) else persisted.limit(0).toArrow()
        )
        return by_table(local_table, local) | {name: self._kept(name, counts[name], persisted) for name in tables if name not in local}

    def cached(self, frame: DataFrame) -> DataFrame:
        """Cache a frame on disk, so that several queries compute it once."""
        persisted = persist_on_disk(frame)
        self._persisted.append(persisted)
        return persisted

    def release(self) -> None:
        """Give the cached frames up."""
        for frame in self._persisted:
            frame.unpersist()

    def _kept(self, table: str, count: int, tagged: DataFrame) -> TableRows:
        """Cache one table's rows, so that its queries need not scan all tables."""
        rows = rows_of_replay(table, tagged)
        return TableRows(count, distributed=self.cached(rows) if count > arrow_diff.LOCAL_ROWS_MAX else rows)
