"""From `silver.events` to the gold tables of groups: group and incident stages.

Events arrive sorted by cluster, group and order, and are cut at changes of the key, so no group is ever in memory as a
whole. `applyInArrow` would load whole groups and guarantee no order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from models.clear_names import learn_names
from models.incidents.incidents import Limits
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.groups.group_memory import GroupMemory
from models.kafka.groups.group_stage import GroupStage
from models.rocketmq.event_partitions import ROCKET_EVENTS
from models.state_codec import UnreadableState
from parsers.arrow_arrays import repeated_text
from parsers.redaction.pseudonyms import Redaction
from parsers.redaction.records import opened
from parsers.schema import EVENT_SCHEMA
from pipelines.analysis.rocketmq_spill import RocketStore
from pipelines.analysis.stages import HISTORY_TABLES, ROCKET_TABLES, GuardedStage, MakeStage, rocket_histories, rows_by_table
from pipelines.gc_tuning import gc_throttled
from pipelines.schema.row_conversion import events_of, to_batch
from pipelines.schema.tables import TABLES, without_run
from pipelines.transforms.replay_checkpoints import (
    SNAPSHOTS,
    STATE,
    STATE_TABLES,
    CheckpointBoundary,
    CheckpointRecorder,
    CheckpointRules,
    CheckpointSeal,
    later_events,
    split_checkpoint,
    unreadable,
)
from pipelines.warehouse.rows.predicates import RowScope, among, is_null

_STAGE_TABLES = (*HISTORY_TABLES, SNAPSHOTS)
"""Tables filled by the replay of groups."""

ROWS_AT_ONCE = 500
"""Rows per output batch; evidence makes rows wide."""

ROWS_IN_A_RUN = 5_000
"""Rows of one table collected before they are output.

A batch has the columns of all tables and costs two milliseconds, however few rows it has. Thousands of small groups
would each pay that for every table.
"""

_EVENTS_AT_ONCE = 10_000
"""Events per batch, as Spark passes them."""

IN_TIME = ("file_time_max_at", "file", "byte_offset")
"""Order of events within a group or cluster."""

RowsByTable = Mapping[str, Sequence[object]]
TableBatch = tuple[str, pa.RecordBatch]
"""A table, and rows of it without `run_id`."""
LearnNames = Callable[[Mapping[str, str]], None]
"""Takes plaintexts by pseudonym."""
ReplayFunction = Callable[[str, str, Iterator[pa.RecordBatch]], Iterator[RowsByTable]]
"""Replays one group; arguments are cluster, group, and its ordered events as batches.

Yields final rows by table. A checkpoint may precede the events.
"""


@dataclass(frozen=True, slots=True)
class GroupReplay:
    """The models' replay of one group, sent to the workers."""

    facts: Mapping[str, ClusterFacts]
    node_of: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    redaction: Redaction | None = None
    boundaries: Mapping[str, Sequence[CheckpointBoundary]] = field(default_factory=dict)
    """Times at which checkpoints of groups are taken, by cluster."""
    rules: CheckpointRules = field(default_factory=CheckpointRules)
    make_stage: MakeStage = GroupStage

    def __call__(self, cluster: str, group: str, batches: Iterator[pa.RecordBatch]) -> Iterator[RowsByTable]:
        facts = self.facts.get(cluster) or ClusterFacts(cluster)
        stored, events = split_checkpoint(batches)
        seal = CheckpointSeal(self.redaction)
        try:
            resumed = None if stored is None else GroupMemory.resumed(cluster, group, facts, seal.open(stored), self.limits)
        except UnreadableState:  # the events that follow do not contain what was in the checkpoint
            yield {SNAPSHOTS: [unreadable(cluster, group)]}
            return
        stage = None if resumed is None else GuardedStage(cluster, group, GroupStage(resumed))
        taking = CheckpointRecorder(cluster, group, self.boundaries.get(cluster, ()), self.rules, seal)
        for batch in _opened(events, self.redaction, seal.learn):
            for event in events_of(batch, self.node_of):
                if event.name not in ROCKET_EVENTS:
                    stage = stage or GuardedStage(cluster, group, self.make_stage(GroupMemory(cluster, group, facts, self.limits)))
                    stage.feed(event, partial(taking.feed, stage.stage))
            if stage is not None:
                yield from (rows_by_table(history, HISTORY_TABLES) for history in stage.drain_final())
        if stage is not None:
            if stage.failure is None:
                taking.end(stage.stage)
            rows = rows_by_table(stage.close(), HISTORY_TABLES)
            yield rows | {SNAPSHOTS: [] if stage.failure is not None else taking.taken}


@dataclass(frozen=True, slots=True)
class OrderedReplay:
    """A replay of events, and checkpoints before them, in order with nulls first.

    Spark's workers replay a DataFrame, this process a table: of few events, starting workers takes longer than the
    replay.
    """

    wanted: RowScope
    keys: tuple[str, ...]
    order: tuple[str, ...]
    run: Callable[[Iterator[pa.RecordBatch]], Iterator[TableBatch]]
    tables: tuple[str, ...]

    def by_spark(self, events: DataFrame, partitions: int) -> DataFrame:
        """Rows of the replay by Spark's workers.

        Each has the name of its table, and the row in the column of that name.
        """
        if STATE not in events.columns:
            events = events.withColumn(STATE, F.lit(None).cast("string"))
        is_event = F.col(STATE).isNull()
        ordered = (
            events.where(self.wanted.column | ~is_event)
            .select("cluster", *EVENT_SCHEMA.names, STATE)
            .repartition(partitions, *self.keys)
            .sortWithinPartitions(*self.keys, is_event, *(F.col(name).asc_nulls_first() for name in self.order))
        )
        return ordered.mapInArrow(partial(_run_tagged, self.run, self.tables), tagged_schema(self.tables))

    def in_process(self, events: pa.Table, most: int, checkpoints: pa.Table | None = None) -> dict[str, pa.Table] | None:
        """Rows of the replay by table, in this process.

        None if there are more than `most`.
        """
        chosen = events.filter(self.wanted.arrow).select(["cluster", *EVENT_SCHEMA.names])
        if checkpoints is None:
            chosen = chosen.append_column(STATE, pa.nulls(chosen.num_rows, pa.string()))
        else:
            states = checkpoints.select([*self.keys, STATE])
            chosen = pa.concat_tables([later_events(chosen, checkpoints, self.keys), states], promote_options="default")
        chosen = chosen.combine_chunks()
        keys = {name: chosen[name] for name in self.keys} | {"is event": pc.is_null(chosen[STATE])}
        for name in self.order:
            keys |= {f"has {name}": pc.is_valid(chosen[name]), name: chosen[name]}
        chosen = chosen.take(pc.sort_indices(pa.table(keys), [(name, "ascending") for name in keys]))
        taken: dict[str, list[pa.RecordBatch]] = {table: [] for table in self.tables}
        count = 0
        for table, batch in self.run(iter(chosen.to_batches(max_chunksize=_EVENTS_AT_ONCE))):
            taken[table].append(batch)
            count += batch.num_rows
            if count > most:
                return None
        return {table: pa.Table.from_batches(batches, without_run(table)) for table, batches in taken.items()}


def in_order_of_groups(replay: ReplayFunction) -> OrderedReplay:
    """The replay of groups, with rows of `_STAGE_TABLES`."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[TableBatch]:
        rows = (rows for (cluster, group), parts in cut_at_keys(batches) for rows in replay(cluster, group, parts))
        with gc_throttled():
            yield from table_batches(rows)

    return OrderedReplay(~is_null("group") & ~is_null("event"), ("cluster", "group"), IN_TIME, run, _STAGE_TABLES)


def _named(cluster: str, _: str) -> str:
    return cluster


def _opened(batches: Iterator[pa.RecordBatch], redaction: Redaction | None, note: LearnNames = learn_names) -> Iterator[pa.RecordBatch]:
    """Return the batches unchanged, after the models have learned their pseudonyms."""
    for batch in batches:
        if redaction is not None:
            note(opened(redaction, batch))
        yield batch


def in_order_of_rocket(
    logs_end: Mapping[str, int] | None = None, limits: Limits | None = None, redaction: Redaction | None = None
) -> OrderedReplay:
    """The replay of RocketMQ's clients, together for each cluster, with rows of ROCKET_TABLES."""

    def rows_by_cluster(batches: Iterator[pa.RecordBatch]) -> Iterator[RowsByTable]:
        for (cluster,), parts in cut_at_keys(batches, ("cluster",)):
            with RocketStore() as store:
                for part in _opened(parts, redaction):
                    store.add(part)
                for history in rocket_histories(store, partial(_named, cluster), logs_end or {}, limits or Limits()):
                    yield rows_by_table(history, ROCKET_TABLES)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[TableBatch]:
        with gc_throttled():
            yield from table_batches(rows_by_cluster(batches))

    return OrderedReplay(among("event", ROCKET_EVENTS), ("cluster",), ("file", "byte_offset"), run, ROCKET_TABLES)


def rows_of_replay(table: str, tagged: DataFrame) -> DataFrame:
    """Rows of one table from the output of an `OrderedReplay`."""
    return tagged.where(F.col("table") == table).select(f"{table}.*")


def cut_at_keys(
    batches: Iterator[pa.RecordBatch], names: Sequence[str] = ("cluster", "group")
) -> Iterator[tuple[tuple[str, ...], Iterator[pa.RecordBatch]]]:
    """Split batches sorted by these columns at changes of the key.

    Each key's rows must be read to their end before the next key.
    """
    for key, parts in groupby(_uniform(batches, names), key=itemgetter(0)):
        yield key, (part for _, part in parts)


def _uniform(batches: Iterator[pa.RecordBatch], names: Sequence[str]) -> Iterator[tuple[tuple[str, ...], pa.RecordBatch]]:
    """Slices of batches with a constant key."""
    for batch in batches:
        ends: set[int] = set()
        for name in names:
            ends.update(pc.run_end_encode(batch[name]).run_ends.to_pylist())
        start = 0
        for end in sorted(ends):
            yield tuple(batch[name][start].as_py() for name in names), batch.slice(start, end - start)
            start = end


def _struct(table: str) -> pa.StructType:
    return pa.struct([field.remove_metadata() for field in TABLES[table].arrow_schema() if field.name != "run_id"])


def table_batches(results: Iterable[RowsByTable]) -> Iterator[TableBatch]:
    """Combine rows of several groups to batches of one table each.

    Checkpoints are large, so they are output at once.
    """
    pending: dict[str, list[object]] = {}
    for history in results:
        for table, rows in history.items():
            rows_of_table = pending.setdefault(table, [])
            rows_of_table.extend(rows)
            if len(rows_of_table) >= ROWS_IN_A_RUN or table in STATE_TABLES:
                yield from _batches(table, pending.pop(table))
    for table, rows_of_table in pending.items():
        yield from _batches(table, rows_of_table)


def _batches(table: str, rows: Sequence[object]) -> Iterator[TableBatch]:
    at_once = 1 if table in STATE_TABLES else ROWS_AT_ONCE
    for start in range(0, len(rows), at_once):
        yield table, to_batch(table, rows[start : start + at_once])


def _run_tagged(
    run: Callable[[Iterator[pa.RecordBatch]], Iterator[TableBatch]], tables: Sequence[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    kinds = {table: _struct(table) for table in tables}
    for table, batch in run(batches):
        row = pa.StructArray.from_arrays(batch.columns, fields=list(kinds[table]))
        columns = [row if name == table else pa.nulls(batch.num_rows, kind) for name, kind in kinds.items()]
        yield pa.RecordBatch.from_arrays([repeated_text(table, batch.num_rows), *columns], ["table", *tables])


def tagged_schema(tables: Sequence[str]) -> StructType:
    """Columns of a frame with rows of several tables."""
    structs = []
    for name in tables:
        fields = [StructField(field.name, field.dataType) for field in TABLES[name].spark_schema() if field.name != "run_id"]
        structs.append(StructField(name, StructType(fields)))
    return StructType([StructField("table", StringType()), *structs])
